"""Judgments of a sample of the pool, drawn stratum by stratum: the qrels of TREC's sample_eval.

    query 0 document stratum grade      a line for each document of the pool; a grade below 0: not in the sample

What share of each stratum of a query was judged, the lines themselves say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from calipers.collection.id_codes import by_appearance, numbered
from calipers.collection.judgments import Judgments
from calipers.collection.reader import scan
from calipers.collection.subtopics import flat_columns
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Pool
from calipers.native.ids import Ids
from calipers.native.plain import LineScanner, number
from calipers.native.scan_error import ScanError

FIELDS = ("query", "0", "document", "stratum", "grade")


@dataclass(frozen=True, eq=False)
class SampledPool(Pool):
    """The pool of each query, in strata of which a part was judged: documents that were not have a grade below 0."""

    kind: ClassVar[str] = "samples"

    stratum: Ints = field(kw_only=True)  # of each row, numbered over all queries

    @cached_property
    def sizes(self) -> tuple[Ints, Ints]:
        """Of each stratum: how many documents it has, and how many of them are judged."""
        strata = int(self.stratum.max(initial=-1)) + 1
        judged = np.bincount(self.stratum[self.grade >= 0], minlength=strata)
        return np.bincount(self.stratum, minlength=strata), judged

    @cached_property
    def number(self) -> Ints:
        """The stratum of each row among those of its query, from 0."""
        first = np.full(self.queries, np.iinfo(np.int64).max)
        np.minimum.at(first, self.query, self.stratum)
        return np.asarray(self.stratum - first[self.query])

    @cached_property
    def weight(self) -> Floats:
        """For how many documents of its stratum each judged one stands: one over the share that was judged."""
        size, judged = self.sizes
        return np.where(self.grade >= 0, (size / np.maximum(judged, 1))[self.stratum], 0.0)

    @cached_property
    def pair_weight(self) -> Floats:
        """For how many others of its stratum each other judged document of it stands, beside one that is judged."""
        size, judged = self.sizes
        return np.where(self.grade >= 0, ((size - 1) / np.maximum(judged - 1, 1))[self.stratum], 0.0)


@dataclass(frozen=True, eq=False)
class SampledJudgments(Judgments):
    """Grades of a sample of each query's pool, and the stratum of every document of it.

    >>> found = SampledJudgments.from_strata({"q": {"top": {"a": 1, "b": 0}, "deep": {"c": 1, "d": -1, "e": -1}}})
    >>> found.queries, len(found), found.pool.weight.tolist()
    (('q',), 5, [1.0, 1.0, 3.0, 0.0, 0.0])
    """

    @classmethod
    def from_strata(
        cls, judgments: Mapping[str, Mapping[str, Mapping[str, float]]], name: str = "judgments"
    ) -> SampledJudgments:
        """From {query: {stratum: {document: grade}}}, with a grade below 0 for documents that were not sampled."""
        queries, strata, documents, grade = flat_columns(judgments, name)
        return cls.from_lines(queries, strata, documents, grade, name=name)

    @classmethod
    def from_lines(
        cls, query_ids: Ids, stratum_ids: Ids, document_ids: Ids, grade: Floats, *, line: Ints | None = None, name: str
    ) -> SampledJudgments:
        """From columns. A document has one stratum and one grade."""
        query, query_row = by_appearance(query_ids)
        stratum, _ = numbered(query, stratum_ids)
        document, document_row = numbered(query, document_ids)
        if len(document_row) < len(grade):
            seen = np.zeros(len(grade), bool)
            seen[document_row] = True
            row = int(np.flatnonzero(~seen)[0])
            raise CalipersError(
                f"document '{document_ids.text(row)}' of query '{query_ids.text(row)}' is there twice",
                file=name,
                line=None if line is None else int(line[row]),
            )
        order = np.argsort(document, kind="stable")
        pool = SampledPool(
            np.searchsorted(query[document_row], np.arange(len(query_row) + 1)),
            grade[order],
            stratum=stratum[order],
        )
        documents = document_ids.take(document_row)
        return cls(name, tuple(query_ids.take(query_row).texts()), pool, lambda: documents)


class SampleScanner(LineScanner):
    """Reads lines of `query 0 document stratum grade`."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: list[tuple[bytes, bytes, bytes]] = []
        self._grade: list[float] = []
        self._number: list[int] = []

    def _row(self, line: bytes) -> bool:
        fields = [each for each in line.replace(b"\t", b" ").split(b" ") if each]
        if len(fields) != len(FIELDS):
            raise ScanError(f"expected {len(FIELDS)} fields ({' '.join(FIELDS)}), found {len(fields)}")
        query, _, document, stratum, grade = fields
        self._texts.append((query, stratum, document))
        self._grade.append(number(grade, "grade"))
        self._number.append(self.lines + 1)
        return True

    def finish(self) -> tuple[list[tuple[bytes, bytes, bytes]], Floats, Ints]:
        """What the lines say: query, stratum and document; the grade; the line of each."""
        self._close()
        return self._texts, np.array(self._grade), np.array(self._number, np.int64)


def read_samples(source: str | Path, *, max_unpacked: int | None = None) -> SampledJudgments:
    """Judgments of a stratified sample from lines `query 0 document stratum grade`, as sample_eval reads them."""
    name = str(source)
    texts, grade, line = scan(name, SampleScanner, max_unpacked=max_unpacked)
    queries, strata, documents = (Ids.of(column) for column in zip(*texts, strict=True))
    return SampledJudgments.from_lines(queries, strata, documents, grade, line=line, name=name)
