"""Datasets of RAGAS, as JSON, JSON lines or CSV: judgments, and a run.

{"user_input": ..., "retrieved_context_ids": ["d7", "d2"], "reference_context_ids": ["d2"], "response": ..., ...}

The query is `user_input` (older datasets: `question`). A run has the documents of `retrieved_context_ids` in their
order, and judgments have the documents of `reference_context_ids` with grade 1. Without ids, the texts of
`retrieved_contexts` (older: `contexts`) and `reference_contexts` are the ids. `ground_truth` and `reference` are
answers, not documents.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from calipers.collection.files import Path, start_of
from calipers.collection.first_line import cells_of, first_content
from calipers.collection.formats.csv import TextTable
from calipers.collection.formats.format import Contents, Format
from calipers.collection.formats.json import RowCollector
from calipers.collection.json_values import collect, is_json, shown
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
    if is_json(start_of(path, max_unpacked=max_unpacked)):
        return collect(path, lambda name: _Samples(value, columns, name), max_unpacked=max_unpacked).rows()
    table = TextTable.of_columns(path, max_unpacked)
    samples = _Samples(value, columns, table.file, listed=True)
    for number, row in enumerate(table.dictionaries(), 1):
        samples.add({name: _parsed(cell) if name in _LISTS else cell for name, cell in row.items()}, number)
    return samples.rows()


def rows_of_samples(samples: Iterable[Mapping[str, Any]], value: str, columns: Mapping[str, str] | None) -> Rows:
    """Return the rows of samples in memory, such as `dataset.to_list()`.

    >>> samples = [{"user_input": "red shoes", "retrieved_context_ids": ["d7", "d2"], "reference_context_ids": ["d2"]}]
    >>> rows_of_samples(samples, "grade", None).documents.texts()
    ['d2']
    """
    collector = _Samples(value, columns, "dataset", listed=True)
    for number, sample in enumerate(samples, 1):
        collector.add(dict(sample), number)
    return collector.rows()


def is_sample(value: Any) -> bool:
    """Return True for a dictionary with the fields of a RAGAS sample.

    >>> is_sample({"question": "Why?", "contexts": ["Because."]}), is_sample({"query": "q1", "doc": "d1"})
    (True, False)
    """
    return isinstance(value, Mapping) and any(name in value for name in QUERY) and any(name in value for name in _LISTS)


def contents_of_ragas(path: Path, **options: Any) -> Contents:
    """Return notes about how samples were read. Reads the whole file."""
    return Contents.of(read_ragas(path, **options))


@dataclass
class _Samples(RowCollector):
    """Documents of the samples so far."""

    samples: dict[str, dict[str, Any]] = field(default_factory=dict)  # by query

    def add(self, item: Any, number: int | None) -> None:
        """Add the lists of documents of a sample."""
        if not isinstance(item, dict):
            raise self.error(f"expected a sample of RAGAS, found {shown(item)}", number)
        query = self._query(item, number)
        names = [name for name in self._names if item.get(name) is not None]
        wrong = next((name for name in names if not isinstance(item[name], list | tuple)), None)
        if wrong is not None:
            raise self.error(f"{wrong}: expected a list, found {shown(item[wrong])}", number)
        self.samples[query] = {name: item[name] for name in names}

    @property
    def _names(self) -> Sequence[str]:
        """Names of the fields that may hold the documents, the best one first."""
        given = (self.columns or {}).get("document")
        return DOCUMENTS[self.value] if given is None else (given,)

    def _query(self, item: dict[str, Any], number: int | None) -> str:
        name = (self.columns or {}).get("query") or next((name for name in QUERY if name in item), QUERY[0])
        query = item.get(name)
        if isinstance(query, list):
            raise self.error(f"{name} is a conversation of {counted(len(query), 'message')}, not one question", number)
        if query is None or query == "":
            raise self.error(f"there is no {name}", number)
        if str(query) in self.samples:
            raise self.error(f"the {name} {shown(query)} appears twice", number)
        return str(query)

    def rows(self) -> Rows:
        """Return all documents, with a note on what stands for their ids."""
        name = next((name for name in self._names if any(found.get(name) for found in self.samples.values())), None)
        if name is None:
            kind = "relevant documents" if self.value == "grade" else "retrieved documents"
            answer = "; ground_truth and reference are answers, not documents" if self.value == "grade" else ""
            raise CalipersError(f"samples of RAGAS without {kind} ({', '.join(self._names)}){answer}", file=self.file)
        twice = 0
        for query, found in self.samples.items():
            documents = found.get(name, ())
            distinct = [*dict.fromkeys(map(str, documents))]
            twice += len(documents) - len(distinct)
            self.queries[query] = None
            for rank, document in enumerate(distinct, 1):
                self.add_document(query, document, 1.0 if self.value == "grade" else -float(rank))
        if not name.endswith("ids") and not self.columns:
            self.notes.append(f"{self.file}: the texts of {name} are taken as the ids of documents")
        if twice:
            again = counted(twice, "document")
            self.notes.append(f"{self.file}: {again} listed more than once for a query; the first place counts")
        return super().rows()


def _parsed(cell: str) -> Any:
    """Return the list that a cell of a CSV file holds, as JSON or as Python writes it; the cell itself if neither."""
    if not cell.strip():
        return None
    try:
        return json.loads(cell)
    except ValueError:
        pass
    try:
        tokens = [token.type for token in tokenize.generate_tokens(io.StringIO(cell).readline)]
        if (tokenize.STRING, tokenize.STRING) in pairwise(tokens):
            return cell  # an array of NumPy, ['a' 'b'], in which Python would join the two texts
        return ast.literal_eval(cell)
    except (ValueError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError):
        return cell


def _matches(start: bytes) -> bool:
    if is_json(start):
        return _START.match(start) is not None
    cells, _ = cells_of(first_content(start))
    return not _LISTS.isdisjoint(cells) and not {*QUERY}.isdisjoint(cells)


RAGAS = Format(
    name="ragas",
    holds="table",
    line='{"user_input": ..., "retrieved_context_ids": [...], "reference_context_ids": [...]}',
    noun="a dataset of RAGAS",
    matches=_matches,
    read=read_ragas,
    contents=contents_of_ragas,
)
