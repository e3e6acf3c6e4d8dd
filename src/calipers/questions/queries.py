"""Types of queries, by how far systems get above a random ranking.

A query is *informative* where systems score clearly above what a random ranking of its documents would, *ideal*
where the difference is the largest, *uninformative* where they hardly do: *hard* where both score low, *easy*
where both score high.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError, UnknownName
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats, Ints
from calipers.measures.exactness import exactness_notes
from calipers.measures.normalisation import NOISE
from calipers.measures.populations import DEFAULT_POPULATION, what_is_shuffled
from calipers.questions.bounds import Bounds, bounds_of
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores
from calipers.results.tables import Table
from calipers.support.checks import check_type
from calipers.support.plurals import counted

__all__ = ["QueryTypes", "Thresholds", "queries", "query_types"]


@dataclass(frozen=True)
class Thresholds:
    """Thresholds between the types of queries, all as shares of the ideal score."""

    uninformative: float = 0.1  # a difference of at most this
    ideal: float = 0.5  # a difference of at least this
    hard: float = 0.3  # an actual share of at most this
    easy: float = 0.7  # an expected share of at least this


@dataclass(frozen=True, eq=False, repr=False)
class QueryTypes(Result):
    """The type of each query, with what decided it: shares of the ideal score, means over systems and measures."""

    queries: tuple[str, ...]
    types: tuple[str, ...]  # informative, ideal, uninformative, hard, easy, or undefined
    actual: Floats
    expected: Floats
    notes: tuple[str, ...] = ()  # on measures left out, random rankings, and scores that are not exact

    @property
    def difference(self) -> Floats:
        return self.actual - self.expected

    def counts(self) -> dict[str, int]:
        """Return the number of queries per type. Hard and easy queries are uninformative, too."""
        return {t: self.types.count(t) for t in ("ideal", "informative", "uninformative", "hard", "easy", "undefined")}

    def smallest(self, count: int, absolute: bool = False) -> tuple[str, ...]:
        """Return the queries with the smallest difference, signed or absolute: the papers' uninformative set."""
        return self._first(count, np.abs(self.difference) if absolute else self.difference)

    def largest(self, count: int, absolute: bool = False) -> tuple[str, ...]:
        """Return the queries with the largest difference: the papers' ideal set."""
        return self._first(count, -np.abs(self.difference) if absolute else -self.difference)

    def _first(self, count: int, key: Floats) -> tuple[str, ...]:
        defined = int((~np.isnan(key)).sum())
        if not 0 < count <= defined:
            raise CalipersError(f"{counted(count, 'query')}, not between 1 and the {defined} that have a type")
        order: Ints = np.argsort(key, kind="stable")  # NaN last
        return tuple(self.queries[q] for q in order[:count])

    @property
    def title(self) -> str:
        """The subject of the result, with the number of queries."""
        return f"Types of {counted(len(self.queries), 'query')}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        found = ", ".join(f"{count} {name}" for name, count in self.counts().items() if count)
        return f"Of {counted(len(self.queries), 'query')}: {found}."

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"queries": self._queries, "counts": self._counts})

    def _counts(self) -> Table:
        return Table(("type", "queries"), tuple(self.counts().items()))

    def _queries(self) -> Table:
        """Return one row per query: query, type, actual, expected, difference."""
        columns = zip(self.queries, self.types, self.actual, self.expected, self.difference, strict=True)
        rows = tuple((q, t, float(a), float(e), float(d)) for q, t, a, e, d in columns)
        return Table(("query", "type", "actual", "expected", "difference"), rows)


def queries(
    evaluation: Evaluation, *, population: str = DEFAULT_POPULATION, thresholds: Thresholds | None = None
) -> QueryTypes:
    """Return the type of each query (ideal, easy, hard, ...) from the scores of all systems and the bounds.

    population: the documents that random rankings shuffle, as in `bounds`. Normalised measures are left out.

    >>> import calipers as cal
    >>> qrels = {"q1": {"a": 1, "b": 0, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}}
    >>> run = {"q1": {"a": 2, "b": 1}, "q2": {"c": 2, "b": 1}}
    >>> cal.Experiment(qrels, run, "P@1").queries().types
    ('ideal', 'hard')
    """
    limits = bounds_of(evaluation, population=population)
    return query_types(evaluation.scores.of_measures(limits.measures), limits, thresholds)


def query_types(scores: Scores, bounds: Bounds, thresholds: Thresholds | None = None) -> QueryTypes:
    """Return the type of each query, from the scores of systems and the bounds of the same measures.

    For each query, A/U and E/U are averaged over the measures (mostly one measure at several cutoffs) and A/U
    over the systems.

    >>> import calipers as cal
    >>> qrels = {"q1": {"a": 1, "b": 0, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}}
    >>> scores = cal.evaluate(qrels, {"q1": {"a": 2, "b": 1}, "q2": {"c": 2, "b": 1}}, ["P@1"])
    >>> cal.query_types(scores, cal.bounds(qrels, ["P@1"])).types
    ('ideal', 'hard')
    """
    thresholds = thresholds or Thresholds()
    check_type("scores", scores, Scores, "Scores, as `evaluate` returns them")
    check_type("bounds", bounds, Bounds, "Bounds, as `bounds` returns them")
    check_type("thresholds", thresholds, Thresholds, "Thresholds")
    if scores.queries != bounds.queries:
        raise CalipersError("the scores and the bounds are not of the same queries")
    unknown = [name for name in scores.measures if name not in bounds.ideal]
    if unknown:
        raise UnknownName(f"there are no bounds of {', '.join(unknown)}")
    with np.errstate(divide="ignore", invalid="ignore"):
        ideal = np.stack([bounds.ideal[name] for name in scores.measures])
        ideal = np.where(ideal > 0, ideal, np.nan)
        room = ideal if ideal.ndim == 3 else ideal[:, None]
        actual = _mean(scores.values / room, (0, 1))
        expected = np.stack([bounds.expected[name] for name in scores.measures]) / ideal
        expected = _mean(expected, (0, 1) if expected.ndim == 3 else (0,))
    inexact = exactness_notes(scores.exactness | bounds.inexact, scores.errors | bounds.largest_errors)
    notes = (*bounds.left_out, *inexact, what_is_shuffled(bounds.population))
    return QueryTypes(scores.queries, tuple(_types(actual, expected, thresholds)), actual, expected, notes)


def _mean(values: Floats, axes: tuple[int, ...]) -> Floats:
    defined = ~np.isnan(values)
    total = np.where(defined, values, 0.0).sum(axis=axes)
    return np.where(defined.any(axis=axes), total / np.maximum(defined.sum(axis=axes), 1), np.nan)


def _types(actual: Floats, expected: Floats, t: Thresholds) -> list[str]:
    difference = actual - expected
    near: NDArray[np.bool_] = difference <= t.uninformative + NOISE
    types: list[str] = np.select(
        [
            np.isnan(difference),
            near & (expected >= t.easy - NOISE),
            near & (actual <= t.hard + NOISE),
            near,
            difference >= t.ideal - NOISE,
        ],
        ["undefined", "easy", "hard", "uninformative", "ideal"],
        "informative",
    ).tolist()
    return types
