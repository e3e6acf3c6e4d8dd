"""Search responses of Elasticsearch, OpenSearch and Solr, one per query.

{"hits": {"hits": [{"_id": ..., "_score": ...}, ...]}}        Elasticsearch, OpenSearch
{"response": {"docs": [{"id": ..., "score": ...}, ...]}}      Solr
{"responses": [..., ...]}                                     _msearch

As one object, a list, or one per line; as {query: response}; or in an object that also names the query. Without
that, the queries are those of a list of ids, in its order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calipers.collection.files import Path
from calipers.collection.formats.format import Contents, Format
from calipers.collection.formats.json import RowCollector
from calipers.collection.json_values import collect, is_json, shown
from calipers.collection.table_rows import Rows
from calipers.errors import CalipersError
from calipers.support.plurals import counted, verb

QUERY = ("query_id", "qid", "query", "id")  # names of the field that names the query of a response
_RESPONSE = re.compile(rb'"(?:hits|docs)"\s*:\s*\[|"responses"\s*:\s*\[\s*[{\]]')


def read_responses(
    path: Path,
    *,
    value: str = "score",
    columns: Mapping[str, str] | None = None,
    query_ids: Sequence[str] | None = None,
    max_unpacked: int | None = None,
) -> Rows:
    """Return all documents of all responses, with their scores, or in their order if they have no scores."""
    return collect(path, lambda name: _Responses(value, columns, name, ids=query_ids), max_unpacked=max_unpacked).rows()


def contents_of_responses(path: Path, **options: Any) -> Contents:
    """Return notes about a response file. Reads the whole file."""
    return Contents.of(read_responses(path, **options))


@dataclass
class _Responses(RowCollector):
    """Documents of the responses so far."""

    ids: Sequence[str] | None = None  # of the queries, in the order of the responses
    met: int = 0  # responses
    partial: list[str] = field(default_factory=list)  # queries whose responses the engine calls incomplete

    def add(self, item: Any, number: int | None) -> None:
        """Take a response, several of them, or {query: response}."""
        if isinstance(item, dict) and isinstance(item.get("responses"), list):
            for response in item["responses"]:
                self._take(response, None, number)
        elif isinstance(item, dict) and item and _documents(item) is None and all(map(_inner, item.values())):
            for query, response in item.items():
                self._take(response, query, number)
        else:
            self._take(item, None, number)

    def _take(self, item: Any, query: str | None, number: int | None) -> None:
        self.met += 1
        place = f"response {self.met}"
        if not isinstance(item, dict):
            raise self.error(f"{place}: expected a response, found {shown(item)}", number)
        if (query is None) and (named := _query_of(item)) is not None:
            query = str(named)
        response = _inner(item)
        if response is None:
            why = item.get("error")
            said = f"the engine answered with an error, {shown(why)}" if why is not None else f"found {shown(item)}"
            raise self.error(f"{place}: there are no hits (hits.hits) or documents (response.docs): {said}", number)
        if query is None:
            query = self._next_id(place, number)
        self.queries[query] = None  # also if nothing was found
        if _is_partial(response):
            self.partial.append(query)
        for rank, document in enumerate(_documents(response) or (), 1):
            if not isinstance(document, dict):
                raise self.error(f"{place}: expected a document, found {shown(document)}", number)
            score = document.get("_score", document.get("score"))
            self.add_ranked_document(query, self._document(document, place, number), score, rank)

    def _next_id(self, place: str, number: int | None) -> str:
        if self.ids is None:
            raise self.error(
                f"{place} does not name its query ({', '.join(QUERY)}): "
                "give the ids in the order of the responses with query_ids",
                number,
                parameter="query_ids",
            )
        if self.met > len(self.ids):
            raise self.error(f"more responses than the {len(self.ids)} ids of queries", number)
        return self.ids[self.met - 1]

    def _document(self, document: dict[str, Any], place: str, number: int | None) -> Any:
        name = (self.columns or {}).get("document")
        inner = document.get("_source")
        found: Any = None
        if name is not None:
            found = document.get(name, inner.get(name) if isinstance(inner, dict) else None)
        else:
            found = document.get("_id", document.get("id"))
        if isinstance(found, list) and len(found) == 1:  # as Solr has it where a field may have several values
            found = found[0]
        if found is None:
            raise self.error(f"{place}: a document has no '{name or '_id'}' ({shown(document)})", number)
        return found

    def rows(self) -> Rows:
        if self.ids is not None and self.met < len(self.ids):
            raise CalipersError(f"{self.met} responses for {len(self.ids)} ids of queries", file=self.file)
        if self.partial:
            self.notes.append(
                f"{self.file}: {len(self.partial)} of {counted(self.met, 'response')} "
                f"{verb(len(self.partial), 'is', 'are')} incomplete: a search timed out, or shards failed "
                f"(query {', '.join(self.partial[:3])}{' ...' if len(self.partial) > 3 else ''})"
            )
        return super().rows()


def documents_in(item: Any) -> Iterator[dict[str, Any]]:
    """Yield the documents of all responses inside a JSON value."""
    if isinstance(item, list):
        for each in item:
            yield from documents_in(each)
    elif isinstance(item, dict):
        documents = _documents(item)
        if documents is not None:
            yield from (document for document in documents if isinstance(document, dict))
        else:
            yield from documents_in([*item.values()])


def _query_of(item: dict[str, Any]) -> Any:
    return next((item[name] for name in QUERY if isinstance(item.get(name), str | int)), None)


def _documents(item: dict[str, Any]) -> list[Any] | None:
    """Return the documents of a response, or None for other objects."""
    for outer, inner in (("hits", "hits"), ("response", "docs")):
        if isinstance(item.get(outer), dict) and isinstance(item[outer].get(inner), list):
            found: list[Any] = item[outer][inner]
            return found
    return None


def _is_partial(response: Mapping[str, Any]) -> bool:
    """Return True if the engine says that a search did not see all documents."""
    shards, header = response.get("_shards"), response.get("responseHeader")
    failed = isinstance(shards, dict) and bool(shards.get("failed"))
    solr = isinstance(header, dict) and header.get("partialResults") in (True, "true")
    return response.get("timed_out") is True or failed or solr


def _inner(item: Any) -> dict[str, Any] | None:
    """Return the response itself, or the first response inside an object."""
    if not isinstance(item, dict):
        return None
    if _documents(item) is not None:
        return item
    inner = (value for value in item.values() if isinstance(value, dict))
    return next((value for value in inner if _documents(value) is not None), None)


RESPONSES = Format(
    name="responses",
    holds="table",
    line='{"query_id": ..., "hits": {"hits": [{"_id": ..., "_score": ...}]}}',
    noun="a file of search responses",
    matches=lambda start: is_json(start) and _RESPONSE.search(start) is not None,
    values=("score",),
    read=read_responses,
    contents=contents_of_responses,
)
