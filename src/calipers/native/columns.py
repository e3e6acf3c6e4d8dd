"""Columns that scanners return, with one row per line or one row per judged document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.native.ids import Ids
from calipers.support.choices import Precision as Precision

Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Columns:
    """Every line of a file of judgments or of a run, in the order of the file."""

    queries: Ids  # distinct, in order of first appearance
    query: NDArray[np.int32]  # row of `queries`
    documents: Ids
    value: NDArray[np.float64]  # the grade, or the score
    line: NDArray[np.int64]
    second: Ids | None = None  # the iteration (or subtopic) of judgments, if it was asked for
    tag: bytes = b""  # the tag in the first line of the run


@dataclass(frozen=True)
class TieSpans:
    """The ties of some lists: the ranks that two or more documents of the same score share, judged or not."""

    offsets: NDArray[np.int64]  # list i has the ties offsets[i]:offsets[i + 1], by rank
    first: Ints
    last: Ints

    @classmethod
    def none(cls, lists: int) -> TieSpans:
        """Return the ties of lists without ties."""
        return cls(np.zeros(lists + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))

    @classmethod
    def of(cls, tie: Ints, first: Ints, last: Ints, lists: int) -> TieSpans:
        """Return the ties of documents that are sorted by list and rank.

        tie: the list of each document. first, last: the ranks that its tie spans.
        """
        start = np.flatnonzero((first < last) & np.append(True, (tie[1:] != tie[:-1]) | (first[1:] != first[:-1])))
        return cls(np.searchsorted(tie[start], np.arange(lists + 1)).astype(np.int64), first[start], last[start])

    @classmethod
    def joined(cls, parts: Sequence[TieSpans]) -> TieSpans:
        """Return the ties of several blocks of lists, one after another."""
        counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
        none = np.zeros(0, np.int32)
        first, last = (np.concatenate([none, *(getattr(part, name) for part in parts)]) for name in ("first", "last"))
        return cls(np.cumsum(counts), first, last)

    def take(self, lists: Ints) -> TieSpans:
        """Return the ties of some lists, in this order."""
        counts = np.diff(self.offsets)[lists]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][lists] - offsets[:-1], counts)
        return TieSpans(offsets, self.first[rows], self.last[rows])


@dataclass(frozen=True)
class Retrieved:
    """The judged documents of a run and their ranks, which is all that measures need.

    There is one segment per judged query of the run, in order of first appearance. A segment has one row per judged
    document, sorted by `docid_rank`. Ranks start at 1 and count unjudged documents too.
    """

    query: NDArray[np.int32]  # row of the judged queries
    length: NDArray[np.int32]  # documents retrieved, after the depth cut
    tied: NDArray[np.int32]  # number of documents that share their score with another document
    offsets: NDArray[np.int64]  # segment s has the rows offsets[s]:offsets[s + 1]

    document: Ints  # row of the judged documents, over all queries
    score: NDArray[np.float64]
    first: Ints  # the ranks that the document's tie spans, inclusive
    last: Ints
    docid_rank: Ints | None  # by score, then id descending (trec_eval); None without ids
    input_rank: Ints  # score descending, then order of input
    all_ties: TieSpans  # ties of each segment, including unjudged documents

    tag: bytes  # the tag in the first line of the run
    unjudged: Ids  # queries of the run without judgments
    scattered: bool  # the lines of a judged query are not consecutive

    @property
    def unjudged_queries(self) -> int:
        return len(self.unjudged)


@dataclass(frozen=True)
class Labels:
    """All lines of a LETOR (SVMlight) file without their features, in the order of the file."""

    queries: Ids  # distinct, in order of first appearance
    query: NDArray[np.int32]
    label: NDArray[np.float64]
    documents: Ids | None  # from the comments `#docid = X`, if every line has one
    line: NDArray[np.int64]
