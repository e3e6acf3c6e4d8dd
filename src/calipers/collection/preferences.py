"""Judgments of which document is the better one, instead of a grade for each. Measures of information read them.

query document document        the better document first
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.reader import scan
from calipers.errors import CalipersError
from calipers.lists import Ints, Pool
from calipers.native.ids import decode
from calipers.native.plain import RowScanner
from calipers.native.scan_error import ScanError
from calipers.support.checks import check_type

PAIR = "(query, better document, worse document)"


@dataclass(frozen=True, eq=False)
class PreferencePool(Pool):
    """Documents of judged pairs. The grade is 1 for documents that are preferred to some other one, else 0."""

    kind: ClassVar[str] = "preferences"


@dataclass(frozen=True, eq=False)
class Preferences(Judgments):
    """Preferences between the documents of each query.

    >>> found = Preferences.from_pairs([("q", "a", "b"), ("q", "b", "c")])
    >>> found.judgments.to_dict()
    {'q': {'a': 1.0, 'b': 1.0, 'c': 0.0}}
    """

    # The better and the worse document of each judged pair, as rows of the pool, query by query. A pair that was judged
    # twice is there twice.
    pairs: tuple[Ints, Ints] = field(kw_only=True, repr=False)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str, str]], name: str = "preferences") -> Preferences:
        """Return preferences from (query, better document, worse document)."""
        check_type("pairs", pairs, Iterable, f"a list of {PAIR}")
        graded: dict[str, dict[str, float]] = {}
        rows = []
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 3:
                raise CalipersError(f"{pair!r:.60} is not {PAIR}", file=name)
            query, better, worse = map(str, pair)
            if better == worse:
                raise CalipersError(f"document '{better}' of query '{query}' is preferred to itself", file=name)
            of_query = graded.setdefault(query, {})
            of_query[better] = 1.0
            of_query.setdefault(worse, 0.0)
            rows.append((query, better, worse))
        known = Judgments.from_dict(graded, name)
        queries = (known.queries[q] for q in known.pool.query.tolist())
        place = {key: row for row, key in enumerate(zip(queries, known.document_names, strict=True))}
        ends = np.array([(place[query, better], place[query, worse]) for query, better, worse in rows])
        better_rows, worse_rows = ends[np.lexsort(ends.T[::-1])].T
        pool = PreferencePool(known.pool.offsets, known.pool.grade)
        return cls(name, known.queries, pool, known.names, known.texts, pairs=(better_rows, worse_rows))

    @cached_property
    def judgments(self) -> Judgments:
        """The documents of each query: 1 for those that are preferred to some other one, else 0."""
        return Judgments(self.name, self.queries, Pool(self.pool.offsets, self.pool.grade), self.names, self.texts)

    def pairs_of(self, query: int) -> tuple[Ints, Ints]:
        """Return the judged pairs of one query, with its documents counted from 0."""
        better, worse = self.pairs
        start, end = self.pool.offsets[query : query + 2].tolist()
        low, high = np.searchsorted(better, [start, end])
        return better[low:high] - start, worse[low:high] - start


def read_preferences(source: str | Path, *, max_unpacked: int | None = None) -> Preferences:
    """Preferences from a file of lines `query document document`, the better one first."""
    name = str(source)
    rows = scan(name, lambda: RowScanner(_pair), max_unpacked=max_unpacked)
    return Preferences.from_pairs([(query, better, worse) for query, better, worse, _ in rows], name)


def _pair(line: bytes) -> tuple[str, ...]:
    fields = line.split()
    if len(fields) != 3:
        raise ScanError(f"expected 3 fields (query document document, the better one first), found {len(fields)}")
    if fields[1] == fields[2]:
        raise ScanError(f"document '{decode(fields[1])}' is preferred to itself")
    return tuple(map(decode, fields))
