"""Probabilities of the grades of unjudged documents.

    given   {grade: probability}; grade 0 has the remaining probability
    pool    the share of each grade among the judged documents of the query
    run     the share of each grade among the judged documents of the run at similar ranks (1, 2-3, 4-7, 8-15, ...)

The shares of a query, or of a stretch of ranks, are smoothed: one document with the shares of all judgments is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.checks import is_number
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.unjudged.gradings import Unknown
from calipers.unjudged.open_lists import OpenLists

PRIORS = ("run", "pool")
SMOOTHING = 1.0  # documents with the shares of all judgments that are added to those that were counted
Prior = str | Mapping[float, float]


@dataclass(frozen=True, eq=False)
class GradeChances:
    """The probabilities of the possible grades of unjudged documents. One table per list, by stretches of ranks."""

    grades: Floats
    table: Floats  # [list, stretch, grade]

    @property
    def same_for_all_ranks(self) -> bool:
        """True if all documents of a list have the same probabilities."""
        return bool(self.table.shape[1] == 1)

    def of(self, unknown: Unknown) -> Floats:
        """Return the probabilities of each unknown document, [document, grade]."""
        return self.table[unknown.list, self._stretch(unknown)]

    def _stretch(self, unknown: Unknown) -> Ints:
        last = self.table.shape[1] - 1
        return np.asarray(np.where(unknown.seen, np.minimum(_stretch_of(unknown.first), last), last))


def _stretch_of(rank: Ints) -> Ints:
    """Return 0 for rank 1, 1 for ranks 2 and 3, 2 for ranks 4 to 7, and so on."""
    return np.asarray(np.frexp(np.maximum(rank, 1).astype(np.float64))[1] - 1)


def check_prior(prior: Any) -> Prior:
    """Return a prior: run, pool, or the probability of each grade.

    >>> check_prior("1=0.2, 2=0.1")
    {1.0: 0.2, 2.0: 0.1}
    """
    if isinstance(prior, str) and "=" in prior:
        try:
            pairs = [part.split("=") for part in prior.split(",")]
            prior = {float(grade): float(chance) for grade, chance in pairs}
        except ValueError:
            raise CalipersError(f"prior '{prior}' is not a list of GRADE=PROBABILITY, as in 1=0.2,2=0.1") from None
    if isinstance(prior, str):
        if prior not in PRIORS:
            raise CalipersError(f"unknown prior '{prior}'; expected run, pool, or GRADE=PROBABILITY,...")
        return prior
    if not isinstance(prior, Mapping) or not prior:
        raise CalipersError("a prior is run, pool, or {grade: probability}")
    if not all(is_number(grade) and is_number(chance) and chance >= 0 for grade, chance in prior.items()):
        raise CalipersError("a prior gives grades probabilities of at least 0")
    if sum(prior.values()) > 1 + 1e-9:
        raise CalipersError(f"the probabilities of the prior add up to {sum(prior.values()):g}, more than 1")
    return {float(grade): float(chance) for grade, chance in prior.items()}


def grade_chances(prior: Prior, opened: OpenLists, grades: Floats) -> GradeChances:
    """Return the probabilities of the possible grades of the unjudged documents of each list."""
    if isinstance(prior, Mapping):
        return GradeChances(grades, np.tile(_given(prior, grades), (len(opened.lists), 1, 1)))
    pool = opened.judgments.pool
    place = _places(pool.grade, grades)
    by_query = np.zeros((pool.queries, len(grades)))
    np.add.at(by_query, (pool.query, place), 1.0)
    overall = by_query.sum(axis=0) / max(by_query.sum(), 1.0)
    if prior == "pool":
        return GradeChances(grades, _smoothed(by_query, overall)[opened.lists.query][:, None])
    lists, (systems, queries) = opened.lists, opened.shape
    deepest = int(_stretch_of(np.append(lists.length, 1)).max()) + 1
    counts = np.zeros((systems, deepest, len(grades)))
    np.add.at(counts, (lists.list // queries, _stretch_of(lists.first), _places(lists.grade, grades)), 1.0)
    return GradeChances(grades, np.repeat(_smoothed(counts, overall), queries, axis=0))


def _given(prior: Mapping[float, float], grades: Floats) -> Floats:
    chance = np.zeros(len(grades))
    for grade, probability in prior.items():
        here = np.flatnonzero(grades == grade)
        if not len(here):
            known = ", ".join(f"{each:g}" for each in grades.tolist())
            raise CalipersError(f"the prior names grade {grade:g}, and unjudged documents may get {known}")
        chance[here[0]] += probability
    chance[0] += max(0.0, 1.0 - chance.sum())
    return chance


def _places(grade: Floats, grades: Floats) -> Ints:
    """Return the place of each grade among the possible ones. Grades below 0 count as 0, those above as the largest."""
    return np.searchsorted(grades, np.clip(grade, grades[0], grades[-1]))


def _smoothed(counts: Floats, overall: Floats) -> Floats:
    return np.asarray((counts + SMOOTHING * overall) / (counts.sum(axis=-1, keepdims=True) + SMOOTHING))
