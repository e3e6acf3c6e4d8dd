"""Retrieval spans of OpenInference, as Phoenix and OpenTelemetry export them: a run.

{"attributes": {"input.value": "red shoes", "retrieval.documents.0.document.id": "B01",
                "retrieval.documents.0.document.score": 2.5}}

The names may be nested instead ({"retrieval": {"documents": [{"document": {"id": ...}}]}}), or a list of keys and
values as in OTLP. Spans come one per line, in a list, in OTLP's resourceSpans, or as rows of a table of Phoenix (CSV,
Parquet, a frame). The query is `input.value`. Documents without ids have their texts as ids. Spans without documents,
such as calls of a model, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.collection.files import Path
from calipers.collection.first_line import cells_of, first_content
from calipers.collection.formats.format import Contents, Format
from calipers.collection.formats.json import RowCollector
from calipers.collection.formats.named_rows import NamedRow, rows_of_file, value_in_text
from calipers.collection.json_values import is_json, shown
from calipers.collection.table_rows import Rows
from calipers.errors import CalipersError
from calipers.support.plurals import counted

_FLAT = rb'retrieval\.documents(?:\.\d+\.document\.(?:id|score|content)|"\s*:\s*\[)'
_NESTED = rb'"retrieval"\s*:\s*\{\s*"documents"\s*:\s*\[|"openinference[."]'
_SPAN = re.compile(_FLAT + rb"|" + _NESTED)
_PARSED = ("retrieval.documents", "document.score")  # columns whose cells may hold a list or a number as text
_DOCUMENT = re.compile(r"retrieval\.documents\.(\d+)\.document\.(id|score|content)")


def read_spans(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """Return the documents of all retrieval spans, with their scores or in their order."""
    return rows_of_spans(rows_of_file(path, max_unpacked=max_unpacked), value, columns)


def rows_of_spans(spans: Iterable[NamedRow], value: str, columns: Mapping[str, str] | None) -> Rows:
    """Return the documents of spans, such as the rows of a frame of Phoenix."""
    if value == "grade":
        raise CalipersError("spans hold retrieved documents, not judgments")
    collector = _Spans(value, columns, "")
    for row in spans:
        collector.add_row(row)
    return collector.rows()


def has_spans(names: Iterable[str]) -> bool:
    """Return True for the names of a span's fields, or for the columns of a table of spans.

    >>> has_spans(["name", "attributes.input.value", "attributes.retrieval.documents"]), has_spans(["query", "doc"])
    (True, False)
    """
    return any(str(name).removeprefix("attributes.").startswith("retrieval.documents") for name in names)


def contents_of_spans(path: Path, **options: Any) -> Contents:
    """Return notes about how spans were read. Reads the whole file."""
    return Contents.of(read_spans(path, **options))


@dataclass
class _Spans(RowCollector):
    """Documents of the retrieval spans so far."""

    spans: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)  # documents by place, for each query
    repeated: dict[str, None] = field(default_factory=dict)  # queries of several spans

    def add_row(self, row: NamedRow) -> None:
        """Add a span, or all spans of OTLP's resourceSpans."""
        self.file = row.file or "spans"
        cells = {name: value_in_text(cell) if name.endswith(_PARSED) else cell for name, cell in row.cells.items()}
        for span in _spans_in(cells):
            attributes = dict(_flat(_attributes(span)))
            documents: dict[int, dict[str, Any]] = {}
            for name, cell in attributes.items():
                if cell is not None and (found := _DOCUMENT.fullmatch(name)):
                    documents.setdefault(int(found[1]), {})[found[2]] = cell
            kind = attributes.get("openinference.span.kind", attributes.get("span_kind"))
            if not documents and kind != "RETRIEVER":
                continue
            query = attributes.get((self.columns or {}).get("query", "input.value"))
            if query is None:
                raise row.error(f"a retrieval span has no query (input.value): {shown(attributes)}")
            query = str(query)
            if query in self.spans:
                self.repeated[query] = None
            self.spans[query] = documents

    def rows(self) -> Rows:
        """Return the documents of the last span of each query."""
        every = [document for documents in self.spans.values() for document in documents.values()]
        key = "id" if any("id" in document for document in every) else "content"
        for query, documents in self.spans.items():
            self.queries[query] = None
            listed: dict[Any, Any] = {}
            for place, document in sorted(documents.items()):
                if key not in document:
                    raise self.error(f"query '{query}': document {place} has no id (document.id)", None)
                listed.setdefault(document[key], document.get("score"))
            self.repeated_documents += len(documents) - len(listed)
            for rank, (document, score) in enumerate(listed.items(), 1):
                self.add_ranked_document(query, document, score, rank)
        if every and key == "content":
            self.notes.append(f"{self.file}: the texts of documents are taken as their ids")
        if self.repeated:
            count = len(self.repeated)
            self.notes.append(f"{self.file}: {counted(count, 'query')} with several spans; the last span counts")
        return super().rows()


def _spans_in(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a span itself, or the spans inside OTLP's resourceSpans or scopeSpans."""
    inner = next((item[name] for name in ("resourceSpans", "scopeSpans", "spans") if name in item), None)
    if not isinstance(inner, list):
        yield item
        return
    for each in inner:
        if isinstance(each, dict):
            yield from _spans_in(each)


def _attributes(span: dict[str, Any]) -> Any:
    """Return the attributes of a span by name."""
    attributes = span.get("attributes", span)
    if isinstance(attributes, list):  # OTLP: [{"key": ..., "value": {"stringValue": ...}}]
        return {
            each["key"]: next(iter(each["value"].values()), None)
            for each in attributes
            if isinstance(each, dict) and "key" in each and isinstance(each.get("value"), dict)
        }
    return attributes


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values inside objects and lists, with names such as retrieval.documents.0.document.id."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield name.removeprefix("attributes."), value
        return
    for key, inner in items:
        yield from _flat(inner, f"{name}.{key}" if name else str(key))


def _matches(start: bytes) -> bool:
    return _SPAN.search(start) is not None if is_json(start) else has_spans(cells_of(first_content(start))[0])


OPENINFERENCE = Format(
    name="openinference",
    holds="table",
    line='{"attributes": {"input.value": ..., "retrieval.documents.0.document.id": ...}}',
    noun="a file of OpenInference spans",
    matches=_matches,
    values=("score",),
    read=read_spans,
    contents=contents_of_spans,
    columns=has_spans,
)
