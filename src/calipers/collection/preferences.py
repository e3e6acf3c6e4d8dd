"""Preferences: judgments of which document is the better one, instead of a grade for each.

    query document document                  the better document first
    query group subgroup document level      trec_eval's prefs: in one subgroup the larger level is preferred

A subgroup is what one person ordered at one time, and a group what belongs together (a person, an aspect); levels of
different subgroups are not compared. A pair is a subgroup of two documents, in a group of its own name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from calipers.collection.id_codes import as_words, coded
from calipers.collection.model import Judgments
from calipers.collection.reader import scan
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Pool
from calipers.native.ids import Ids, decode, encode
from calipers.native.plain import LineScanner, number
from calipers.native.scan_error import ScanError, shown

PAIR = ("query", "document", "document")
PREFS = ("query", "group", "subgroup", "document", "level")
BETTER, WORSE = 2.0, 1.0  # the levels of a pair: 0 would say that the second document is not relevant


@dataclass(frozen=True, eq=False)
class Preferences:
    """Which documents of each query are preferred to which.

    >>> found = Preferences.from_pairs([("q", "a", "b"), ("q", "a", "c"), ("q", "b", "c")])
    >>> found.queries, len(found), found.judgments.to_dict()
    (('q',), 3, {'q': {'a': 1.0, 'b': 1.0, 'c': 0.0}})
    """

    name: str
    judgments: Judgments  # the documents of each query: 1 for those that are preferred to some other one, else 0
    group: Ints  # of each line, numbered over all queries
    subgroup: Ints  # of each line, numbered over all queries and groups
    document: Ints  # of each line: a row of the judgments
    level: Floats  # of each line
    line: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # of the file

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str, str]], name: str = "preferences") -> Preferences:
        """From (query, better document, worse document)."""
        lines = _Lines()
        for row, (query, better, worse) in enumerate(pairs, 1):
            try:
                lines.pair(encode(query), encode(better), encode(worse), row)
            except ScanError as error:
                raise CalipersError(error.message, file=name) from None
        if not lines.level:
            raise CalipersError("there are no preferences", file=name)
        return lines.preferences(name)

    @property
    def queries(self) -> tuple[str, ...]:
        return self.judgments.queries

    def __len__(self) -> int:
        """How many ordered pairs there are; what is judged twice counts twice."""
        return len(self.pairs[0])

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """The better and the worse document of each ordered pair, as rows of the judgments, query by query."""
        return ordered_pairs(self.subgroup, self.document, self.level)

    def pairs_of(self, query: int) -> tuple[Ints, Ints]:
        """The same for one query, with its documents counted from 0."""
        better, worse = self.pairs
        start, end = (int(self.judgments.pool.offsets[query + i]) for i in (0, 1))
        low, high = np.searchsorted(better, [start, end])
        return better[low:high] - start, worse[low:high] - start

    def __repr__(self) -> str:
        return f"<Preferences {self.name}: {len(self.queries)} queries, {len(self)} ordered pairs>"


def read_preferences(source: str | Path, *, max_unpacked: int | None = None) -> Preferences:
    """Preferences from a file of lines `query document document`, the better one first, or of trec_eval's prefs.

    How many fields the first line has says which of the two it is.
    """
    return scan(str(source), lambda: PreferenceScanner(str(source)), max_unpacked=max_unpacked)


def ordered_pairs(subgroup: Ints, document: Ints, level: Floats) -> tuple[Ints, Ints]:
    """The pairs of documents of one subgroup whose levels differ, better one first, by ascending better document."""
    order = np.lexsort((-level, subgroup))
    subgroup, document, level = subgroup[order], document[order], level[order]
    starts = np.flatnonzero(np.append(True, subgroup[1:] != subgroup[:-1]))
    size = np.diff(np.append(starts, len(subgroup)))
    better, worse = [], []
    for n in np.unique(size[size > 1]).tolist():  # the subgroups of one size together
        rows = starts[size == n][:, None] + np.arange(n)
        step = max(1, 4_000_000 // (n * n))
        one, other = np.triu_indices(n, 1)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            apart = level[part[:, one]] > level[part[:, other]]
            better.append(document[part[:, one]][apart])
            worse.append(document[part[:, other]][apart])
    if not better:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    first, second = np.concatenate(better), np.concatenate(worse)
    order = np.lexsort((second, first))
    return first[order], second[order]


class _Lines:
    """What the lines of a file say, one by one."""

    def __init__(self) -> None:
        self.queries: dict[bytes, int] = {}
        self.groups: dict[tuple[int, bytes], int] = {}
        self.subgroups: dict[tuple[int, bytes], int] = {}
        self.query: list[int] = []
        self.group: list[int] = []
        self.subgroup: list[int] = []
        self.document: list[bytes] = []
        self.level: list[float] = []
        self.line: list[int] = []

    def add(self, query: bytes, group: bytes, subgroup: bytes, document: bytes, level: float, line: int) -> None:
        q = self.queries.setdefault(query, len(self.queries))
        g = self.groups.setdefault((q, group), len(self.groups))
        self.query.append(q)
        self.group.append(g)
        self.subgroup.append(self.subgroups.setdefault((g, subgroup), len(self.subgroups)))
        self.document.append(document)
        self.level.append(level)
        self.line.append(line)

    def pair(self, query: bytes, better: bytes, worse: bytes, line: int) -> None:
        if better == worse:
            raise ScanError(f"document {shown(better)} is preferred to itself")
        for document, level in ((better, BETTER), (worse, WORSE)):
            self.add(query, b"pairs", b"%d" % line, document, level, line)

    def preferences(self, name: str) -> Preferences:
        query, documents = np.array(self.query, np.int64), Ids.of(self.document)
        code, one = coded(query, as_words(documents))
        by_query = np.lexsort((one, query[one]))
        place = np.empty_like(by_query)
        place[by_query] = np.arange(len(by_query))
        row, one = place[code], one[by_query]
        group, subgroup = np.array(self.group, np.int64), np.array(self.subgroup, np.int64)
        level, line = np.array(self.level), np.array(self.line, np.int64)
        _refuse_repetitions(subgroup, row, line, documents)
        grade = np.zeros(len(one))
        grade[ordered_pairs(subgroup, row, level)[0]] = 1.0
        names = documents.take(one)
        offsets = np.searchsorted(query[one], np.arange(len(self.queries) + 1))
        judgments = Judgments(name, tuple(map(decode, self.queries)), Pool(offsets, grade), lambda: names)
        return Preferences(name, judgments, group, subgroup, row, level, line)


def _refuse_repetitions(subgroup: Ints, row: Ints, line: Ints, documents: Ids) -> None:
    order = np.lexsort((line, row, subgroup))
    again = (subgroup[order[1:]] == subgroup[order[:-1]]) & (row[order[1:]] == row[order[:-1]])
    if again.any():
        at = int(order[1:][again].min())
        raise ScanError(f"document {shown(documents[at])} appears twice in one subgroup", line=int(line[at]))


class PreferenceScanner(LineScanner):
    """Reads lines of three fields (pairs) or of five (prefs); the first line decides."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._fields: tuple[str, ...] | None = None
        self._lines = _Lines()

    def _row(self, line: bytes) -> bool:
        fields = [each for each in line.replace(b"\t", b" ").split(b" ") if each]
        if self._fields is None:
            self._fields = PREFS if len(fields) == len(PREFS) else PAIR
            if len(fields) not in (len(PREFS), len(PAIR)):
                raise ScanError(
                    f"expected preferences ({' '.join(PAIR)}, the better one first, or {' '.join(PREFS)}), found "
                    f"{len(fields)} fields"
                )
        if len(fields) != len(self._fields):
            raise ScanError(f"expected {len(self._fields)} fields ({' '.join(self._fields)}), found {len(fields)}")
        if self._fields is PAIR:
            query, better, worse = fields
            self._lines.pair(query, better, worse, self.lines + 1)
        else:
            query, group, subgroup, document, level = fields
            self._lines.add(query, group, subgroup, document, number(level, "level"), self.lines + 1)
        return True

    def finish(self) -> Preferences:
        self._close()
        if not self.rows:
            raise ScanError("nothing but comments and empty lines", line=max(1, self.lines))
        return self._lines.preferences(self._name)
