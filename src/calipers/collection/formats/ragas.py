"""Datasets of RAGAS, as JSON, JSON lines, CSV or Parquet: judgments, and a run.

{"user_input": ..., "retrieved_context_ids": ["d7", "d2"], "reference_context_ids": ["d2"], "response": ..., ...}

The query is `user_input` (older datasets: `question`). A run has the documents of `retrieved_context_ids` in their
order, and judgments have the documents of `reference_context_ids` with grade 1. Without ids, the texts of
`retrieved_contexts` (older: `contexts`) and `reference_contexts` are the ids. `ground_truth` and `reference` are
answers, not documents.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
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

QUERY = ("user_input", "question")
DOCUMENTS = {
    "score": ("retrieved_context_ids", "retrieved_contexts", "contexts"),
    "grade": ("reference_context_ids", "reference_contexts"),
}
_LISTS = {name for names in DOCUMENTS.values() for name in names}
_START = re.compile(
    rb'(?=.*"(?:user_input|question)"\s*:)'
    rb'.*"(?:retrieved_context_ids|reference_context_ids|retrieved_contexts|reference_contexts|contexts)"\s*:\s*[\[n]',
    re.DOTALL,
)


def read_ragas(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """Return the retrieved documents (value="score") or the relevant ones (value="grade") of all samples."""
    return rows_of_samples(rows_of_file(path, max_unpacked=max_unpacked), value, columns)


def rows_of_samples(samples: Iterable[NamedRow], value: str, columns: Mapping[str, str] | None) -> Rows:
    """Return the rows of samples, such as those of `dataset.to_list()`.

    >>> from calipers.collection.formats.named_rows import rows_of_mappings
    >>> samples = [{"user_input": "red shoes", "retrieved_context_ids": ["d7", "d2"], "reference_context_ids": ["d2"]}]
    >>> rows_of_samples(rows_of_mappings(samples), "grade", None).documents.texts()
    ['d2']
    """
    collector = _Samples(value, columns, "")
    for sample in samples:
        collector.add_sample(sample)
    return collector.rows()


def has_samples(names: Collection[str]) -> bool:
    """Return True for the names of fields of RAGAS.

    >>> has_samples({"question": "Why?", "contexts": ["Because."]}), has_samples(["query", "doc"])
    (True, False)
    """
    return not _LISTS.isdisjoint(names) and not {*QUERY}.isdisjoint(names)


def contents_of_ragas(path: Path, **options: Any) -> Contents:
    """Return notes about how samples were read. Reads the whole file."""
    return Contents.of(read_ragas(path, **options))


@dataclass
class _Samples(RowCollector):
    """Documents of the samples so far."""

    samples: dict[str, dict[str, Any]] = field(default_factory=dict)  # by query

    def add_sample(self, row: NamedRow) -> None:
        """Add the lists of documents of a sample."""
        self.file = row.file or "dataset"
        query = self._query(row)
        lists = {name: value_in_text(row.cells.get(name)) for name in self._names}
        self.samples[query] = {name: found for name, found in lists.items() if found is not None}
        for name, found in self.samples[query].items():
            if not isinstance(found, list):
                raise row.error(f"{name}: expected a list, found {shown(found)}")

    @property
    def _names(self) -> Sequence[str]:
        """Names of the fields that may hold the documents, the best one first."""
        given = (self.columns or {}).get("document")
        return DOCUMENTS[self.value] if given is None else (given,)

    def _query(self, row: NamedRow) -> str:
        name = (self.columns or {}).get("query") or next((name for name in QUERY if name in row.cells), QUERY[0])
        query = row.cells.get(name)
        if isinstance(query, list):
            raise row.error(f"{name} is a conversation of {counted(len(query), 'message')}, not one question")
        if query is None or query == "":
            raise row.error(f"there is no {name}")
        if str(query) in self.samples:
            raise row.error(f"the {name} {shown(query)} appears twice")
        return str(query)

    def rows(self) -> Rows:
        """Return all documents, with a note on what stands for their ids."""
        name = next((name for name in self._names if any(found.get(name) for found in self.samples.values())), None)
        if name is None:
            kind = "relevant documents" if self.value == "grade" else "retrieved documents"
            answer = "; ground_truth and reference are answers, not documents" if self.value == "grade" else ""
            raise CalipersError(f"samples of RAGAS without {kind} ({', '.join(self._names)}){answer}", file=self.file)
        for query, found in self.samples.items():
            documents = found.get(name, ())
            distinct = [*dict.fromkeys(map(str, documents))]
            self.repeated_documents += len(documents) - len(distinct)
            self.queries[query] = None
            for rank, document in enumerate(distinct, 1):
                self.add_document(query, document, 1.0 if self.value == "grade" else -float(rank))
        if not name.endswith("ids") and not self.columns:
            self.notes.append(f"{self.file}: the texts of {name} are taken as the ids of documents")
        return super().rows()


def _matches(start: bytes) -> bool:
    return _START.match(start) is not None if is_json(start) else has_samples(cells_of(first_content(start))[0])


RAGAS = Format(
    name="ragas",
    holds="table",
    line='{"user_input": ..., "retrieved_context_ids": [...], "reference_context_ids": [...]}',
    noun="a dataset of RAGAS",
    matches=_matches,
    read=read_ragas,
    contents=contents_of_ragas,
    columns=has_samples,
)
