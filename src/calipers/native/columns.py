"""What the scanners hand over: plain columns, one row per line or one row per judged document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.choices import Precision as Precision
from calipers.native.ids import Ids

Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Columns:
    """Every line of a file of judgments or of a run, in the order of the file."""

    queries: Ids  # distinct, in order of first appearance
    query: NDArray[np.int32]  # row of `queries`
    documents: Ids
    value: NDArray[np.float64]  # the grade, or the score
    line: NDArray[np.int64]
    second: Ids | None = None  # the iteration (or subtopic) of judgments, where asked for
    tag: bytes = b""  # of the run's first line
    exponents: bool = False  # whether a value is written with an exponent, as 1e3
    odd_blanks: bool = False  # whether a field holds \v, \f or \r, which C takes for a blank


@dataclass(frozen=True)
class TieSpans:
    """The ties of some lists, of judged documents or not: the ranks that two or more documents of one score span."""

    offsets: NDArray[np.int64]  # list i has the ties offsets[i]:offsets[i + 1], by rank
    first: Ints
    last: Ints

    @classmethod
    def none(cls, lists: int) -> TieSpans:
        """Of so many lists, none of which has a tie."""
        return cls(np.zeros(lists + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))

    @classmethod
    def of(cls, tie: Ints, first: Ints, last: Ints, lists: int) -> TieSpans:
        """Of documents by list and rank, each with its list and the ranks that it could take."""
        start = np.flatnonzero((first < last) & np.append(True, (tie[1:] != tie[:-1]) | (first[1:] != first[:-1])))
        return cls(np.searchsorted(tie[start], np.arange(lists + 1)).astype(np.int64), first[start], last[start])

    @classmethod
    def joined(cls, parts: Sequence[TieSpans]) -> TieSpans:
        """The lists of several, one after another."""
        counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
        none = np.zeros(0, np.int32)
        first, last = (np.concatenate([none, *(getattr(part, name) for part in parts)]) for name in ("first", "last"))
        return cls(np.cumsum(counts), first, last)

    def take(self, lists: Ints) -> TieSpans:
        """The ties of these lists, in this order."""
        counts = np.diff(self.offsets)[lists]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][lists] - offsets[:-1], counts)
        return TieSpans(offsets, self.first[rows], self.last[rows])


@dataclass(frozen=True)
class Retrieved:
    """What the measures need of a run: the judged documents, and where they rank.

    One segment a judged query that the run has, in order of first appearance; inside a segment one row a judged
    document, by `docid_rank`. Ranks count from 1 and count unjudged documents too.
    """

    query: NDArray[np.int32]  # row of the judged queries
    length: NDArray[np.int32]  # documents retrieved, after the depth cut
    tied: NDArray[np.int32]  # documents that share their score with another
    offsets: NDArray[np.int64]  # segment s has the rows offsets[s]:offsets[s + 1]

    document: Ints  # row of the judged documents, over all queries
    score: NDArray[np.float64]
    first: Ints  # the ranks that the document's tie spans, inclusive
    last: Ints
    docid_rank: Ints | None  # by score, then id descending (trec_eval); None without ids
    input_rank: Ints  # score descending, then order of input
    all_ties: TieSpans  # of each segment, those of unjudged documents too

    tag: bytes  # of the run's first line
    unjudged: Ids  # the run's queries without judgments
    scattered: bool  # a judged query came back after another one
    odd_blanks: bool = False  # a field holds \v, \f or \r, which C takes for a blank

    @property
    def unjudged_queries(self) -> int:
        return len(self.unjudged)


@dataclass(frozen=True)
class Labels:
    """Every line of a LETOR (SVMlight) file but its features, in the order of the file."""

    queries: Ids  # distinct, in order of first appearance
    query: NDArray[np.int32]
    label: NDArray[np.float64]
    documents: Ids | None  # from the comments `#docid = X`, where every line has one
    line: NDArray[np.int64]


@dataclass(frozen=True)
class Features:
    """The features of every line of a LETOR (SVMlight) file, row by row as a CSR matrix has them."""

    start: NDArray[np.int64]  # row i has the entries start[i]:start[i + 1]
    index: NDArray[np.int32] | None  # the column of each entry, from 0; None where every row has all of them, in order
    value: NDArray[np.float64]
    width: int  # columns: the largest index that occurs
