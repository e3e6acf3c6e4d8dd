"""Correctly rounded sums and means, which do not depend on the order of the terms.

The exact sum of doubles is represented by a few doubles without overlap. `math.fsum`, which rounds correctly, computes
the remainder after each of them (Shewchuk, Adaptive precision floating-point arithmetic and fast robust geometric
predicates, Discrete & Computational Geometry 1997).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from calipers.collection.query_facts import QueryGroups, QueryWeights, read_query_groups
from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.results.tables import Cell, Table
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.results.scores import Scores


def expansion(values: Sequence[float]) -> list[float]:
    """Return a few numbers with exactly the same sum as the values.

    >>> expansion([0.1] * 10)
    [1.0, 5.551115123125783e-17]
    """
    parts: list[float] = []
    while rest := math.fsum(chain(values, (-part for part in parts))):
        parts.append(rest)
        if not math.isfinite(rest):
            break
    return parts


def total(values: Sequence[float]) -> float:
    """Return the sum, rounded once."""
    return _divided(values, 1)


def mean(values: Sequence[float], count: int | None = None) -> float:
    """Return the mean, rounded once, or NaN if there are no values.

    count: the number of original values, if `values` is their `expansion`.

    >>> mean([0.1, 0.2, 0.3]), sum([0.1, 0.2, 0.3]) / 3
    (0.2, 0.20000000000000004)
    """
    count = len(values) if count is None else count
    return _divided(values, count) if count else math.nan


def known_mean(values: Floats, axis: int) -> Floats:
    """Return the mean of the values that are not NaN along an axis. The mean is NaN if all values are.

    >>> known_mean(np.array([[1.0, np.nan], [2.0, np.nan]]), axis=0)
    array([1.5, nan])
    """
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    sums = np.where(known, values, 0.0).sum(axis=axis)
    return np.asarray(np.divide(sums, count, out=np.full(np.shape(sums), np.nan), where=count > 0))


def _divided(values: Sequence[float], count: int) -> float:
    try:
        ratios = [part.as_integer_ratio() for part in expansion(values)]
        below = max((denominator for _, denominator in ratios), default=1)  # all are powers of two
        return sum(above * (below // denominator) for above, denominator in ratios) / (below * count)
    except (OverflowError, ValueError):  # an infinite value, or a sum that is too large for a double
        return sum(value / count for value in values)


ALL = "(all)"  # stands for all queries in tables of groups


class ScoresByGroup(Mapping[str, "Scores"]):
    """The scores of each group of queries, by the name of the group.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.1, 0.3, 0.8]], ["bm25"], ["q1", "q2", "q3"], "AP")
    >>> groups = scores.by({"q1": "long", "q2": "long", "q3": "short"})
    >>> groups["long"].queries
    ('q1', 'q2')
    >>> print(groups.mean())
    group  queries  system      AP
    -----  -------  ------  ------
    (all)        3  bm25    0.4000
    long         2  bm25    0.2000
    short        1  bm25    0.8000
    <BLANKLINE>
    """

    def __init__(self, scores: Scores, groups: QueryGroups) -> None:
        self.all = scores
        wanted = read_query_groups(groups)
        known = frozenset(scores.queries)
        chosen = {group: [query for query in queries if query in known] for group, queries in wanted.items()}
        self._scores = {group: scores.of_queries(queries) for group, queries in chosen.items() if queries}
        if not self._scores:
            raise CalipersError("no query of the scores belongs to a group: do both files use the same query ids?")
        grouped = {query for queries in chosen.values() for query in queries}
        lacking = len(scores.queries) - len(grouped)
        empty = [group for group, queries in chosen.items() if not queries]
        self.notes = tuple(
            note
            for note, applies in (
                (f"{counted(lacking, 'query')} of {len(scores.queries)} in no group", lacking),
                (f"no query of the scores in {counted(len(empty), 'group')}: {', '.join(empty[:3])}", empty),
            )
            if applies
        )

    def __getitem__(self, group: str) -> Scores:
        return self._scores[group]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def mean(self, query_weights: QueryWeights | None = None) -> Table:
        """Return the means of each group, one row per group and system."""
        return self.stacked(lambda scores: scores.mean(query_weights))

    def stacked(self, table_of: Callable[[Scores], Table]) -> Table:
        """Return the tables of all queries and of each group below each other, with the columns group and queries."""
        tables: dict[tuple[Cell, ...], Table] = {
            (group, len(scores.queries)): table_of(scores) for group, scores in {ALL: self.all, **self}.items()
        }
        return stacked(("group", "queries"), tables)


def stacked(names: tuple[str, ...], tables: Mapping[tuple[Cell, ...], Table]) -> Table:
    """Return the tables below each other. The first cells of each row are the key of its table.

    >>> parts = {("long",): Table(("system", "AP"), (("a", 0.5),)), ("short",): Table(("system", "AP"), (("a", 0.3),))}
    >>> print(stacked(("group",), parts).to_csv(), end="")
    group,system,AP
    long,a,0.5
    short,a,0.3
    """
    first = next(iter(tables.values()))
    rows = tuple((*key, *row) for key, table in tables.items() for row in table.rows)
    return Table((*names, *first.columns), rows, first.metadata)
