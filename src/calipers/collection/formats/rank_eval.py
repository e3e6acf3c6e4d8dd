"""Ranking evaluation of Elasticsearch and OpenSearch (`_rank_eval`): requests are judgments, responses are a run.

{"requests": [{"id": "shoes", "request": {...}, "ratings": [{"_index": "i", "_id": "B01", "rating": 3}]}]}
{"metric_score": 0.4, "details": {"shoes": {"hits": [{"hit": {"_id": "B01", "_score": 2.5}, "rating": 3}]}}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calipers.collection.files import Path
from calipers.collection.formats.format import Contents, Format
from calipers.collection.formats.json import RowCollector
from calipers.collection.json_values import collect, is_json, shown
from calipers.collection.table_rows import Rows
from calipers.support.plurals import counted

_REQUEST = re.compile(rb'"requests"\s*:\s*\[\s*\{')
_RESPONSE = re.compile(rb'(?=.*"details"\s*:\s*\{).*"metric_score"\s*:', re.DOTALL)


def read_rank_eval_request(
    path: Path, *, value: str = "grade", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """Return the ratings of all requests. The id of a request is the query."""
    return collect(path, lambda name: _Requests(value, columns, name), max_unpacked=max_unpacked).rows()


def read_rank_eval_response(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """Return the hits of all queries."""
    return collect(path, lambda name: _Hits(value, columns, name), max_unpacked=max_unpacked).rows()


def contents_of_response(path: Path, **options: Any) -> Contents:
    """Return notes about failed searches. Reads the whole file."""
    return Contents.of(read_rank_eval_response(path, **options))


@dataclass
class _Requests(RowCollector):
    """Ratings of the requests so far."""

    def add(self, item: Any, number: int | None) -> None:
        """Add the ratings of all requests of a body."""
        requests = item.get("requests") if isinstance(item, dict) else None
        if not isinstance(requests, list):
            raise self.error(f"expected requests of _rank_eval, found {shown(item)}", number)
        for request in requests:
            ratings = request.get("ratings") if isinstance(request, dict) else None
            if not isinstance(ratings, list) or "id" not in request:
                raise self.error(f"expected a request with id and ratings, found {shown(request)}", number)
            for rating in ratings:
                if not isinstance(rating, dict) or "_id" not in rating or "rating" not in rating:
                    message = f"request '{request['id']}': expected _id and rating, found {shown(rating)}"
                    raise self.error(message, number)
                self.add_document(request["id"], rating["_id"], rating["rating"])


@dataclass
class _Hits(RowCollector):
    """Hits of the queries so far."""

    def add(self, item: Any, number: int | None) -> None:
        """Add the hits of all queries of a response."""
        details = item.get("details") if isinstance(item, dict) else None
        if not isinstance(details, dict):
            raise self.error(f"expected a response of _rank_eval with details, found {shown(item)}", number)
        for query, detail in details.items():
            hits = detail.get("hits") if isinstance(detail, dict) else None
            if not isinstance(hits, list):
                raise self.error(f"query '{query}': expected hits, found {shown(detail)}", number)
            self.queries[query] = None
            for rank, found in enumerate(hits, 1):
                hit = found.get("hit") if isinstance(found, dict) else None
                if not isinstance(hit, dict) or "_id" not in hit:
                    raise self.error(f"query '{query}': expected a hit with _id, found {shown(found)}", number)
                self.add_ranked_document(query, hit["_id"], hit.get("_score"), rank)
        if isinstance(failures := item.get("failures"), dict) and failures:
            some = ", ".join([*failures][:3]) + (" ..." if len(failures) > 3 else "")
            self.notes.append(f"{self.file}: the search failed for {counted(len(failures), 'query')} ({some})")


RANK_EVAL_REQUEST = Format(
    name="rank-eval",
    holds="table",
    line='{"requests": [{"id": ..., "ratings": [{"_id": ..., "rating": ...}]}]}',
    noun="a request of _rank_eval",
    matches=lambda start: is_json(start) and _REQUEST.search(start) is not None,
    values=("grade",),
    read=read_rank_eval_request,
)
RANK_EVAL_RESPONSE = Format(
    name="rank-eval-response",
    holds="table",
    line='{"metric_score": ..., "details": {query: {"hits": [{"hit": {"_id": ..., "_score": ...}}]}}}',
    noun="a response of _rank_eval",
    matches=lambda start: is_json(start) and _RESPONSE.match(start) is not None,
    values=("score",),
    read=read_rank_eval_response,
    contents=contents_of_response,
)
