"""Sums over pairs of ranks: each relevant document counts the relevant ones above it."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calipers.lists import Floats, Lists, Population
from calipers.measures.forms.base import Form
from calipers.measures.gains import AtLeast

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[Any]


class Paired(Form):
    """SP@k: the sum over ranks i <= k of rel_i * P@i.

        rel_i * P@i = (1 / i) * (sum over j <= i of rel_i * rel_j).

    In a tie of m documents, r of them relevant, after s ranks with B relevant documents, rank i = s + j gets
    (1 / i) (r / m) (B + 1 + (j - 1) (r - 1) / (m - 1)): the chance that i is relevant, times what is expected
    at and above it. Summed over j that needs only differences of harmonic numbers.
    """

    rel: float
    cutoff: int | None = None

    def score(self, lists: Lists) -> Floats:
        found = lists.with_gain(AtLeast(self.rel))
        if not found.tied:
            precision = found.once("precision", lambda: _precision(found))
            return found.sum(precision if self.cutoff is None else np.where(found.first <= self.cutoff, precision, 0.0))
        groups = found.groups
        relevant = np.bincount(groups.row_group, minlength=len(groups)).astype(np.float64)
        above = groups.above(relevant)
        return groups.sum_by_list(tie_precision(groups.before, groups.size, relevant, above, self.cutoff))

    def variance(self, population: Population) -> Floats:
        """E[SP^2] - E[SP]^2, from the chances p_m that m given ranks all hold relevant documents.

        E[SP^2] = sum over i of a_i + 2 * sum over i < j of b_ij
        a_i  = (1 / i^2) (p1 + 3 (i - 1) p2 + (i - 1) (i - 2) p3)
        b_ij = (1 / (i j)) (2 p2 + (j - 2) p3 + (i - 1) (3 p3 + (j - 3) p4))
        """
        lists = population.shuffled
        n = population.size.astype(np.float64)
        relevant = lists.count(lists.grade >= self.rel).astype(np.float64)
        p1, p2, p3, p4 = _falling_ratios(relevant, n)
        j = np.arange(1, int(n.max(initial=0)) + 1, dtype=np.float64)
        above = np.cumsum(1 / j) - 1 / j  # H_(j-1)
        last = np.minimum(n, self.cutoff or n).astype(np.int64)

        def up_to_last(terms: Floats) -> Floats:
            return np.concatenate([[0.0], np.cumsum(terms)])[last]

        alone = (
            p1 * up_to_last(1 / j**2) + 3 * p2 * up_to_last((j - 1) / j**2) + p3 * up_to_last((j - 1) * (j - 2) / j**2)
        )
        pairs = (
            2 * p2 * up_to_last(above / j)
            + p3 * up_to_last((j - 2) * above / j + 3 * (j - 1 - above) / j)
            + p4 * up_to_last((j - 3) * (j - 1 - above) / j)
        )
        return np.maximum(alone + 2 * pairs - self.expected(population) ** 2, 0.0)

    def published(self, population: Population, what: Literal["ideal", "expected"]) -> Floats:
        """Return the published values.

        Expected: k p^2, which takes P@i and rel_i as independent and is always too small. Ideal: k, even if fewer
        documents are relevant.
        """
        n = population.size.astype(np.float64)
        depth = n if self.cutoff is None else np.full(len(n), float(self.cutoff))
        relevant = population.shuffled.count(population.shuffled.grade >= self.rel)
        if what == "ideal":
            return np.where(relevant > 0, depth, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(n > 0, depth * (relevant / n) ** 2, 0.0)

    @property
    def reach(self) -> int | None:
        return self.cutoff

    def formula(self, letters: dict[str, str]) -> str:
        letters["rel_i"] = AtLeast(self.rel).formula
        return "sum over ranks i <= k of rel_i * P@i"

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(grade >= self.rel)


@singledispatch
def precision_sum_level(form: Form) -> float | None:
    """Return the smallest grade of a relevant document if the form is a sum of precisions, or None for other forms."""
    return None


@precision_sum_level.register(Paired)
def precision_sum_level_of_paired(form: Paired) -> float:
    return form.rel


def _precision(relevant: Lists) -> Floats:
    """Return the precision at each relevant document of lists without ties."""
    place = np.arange(1, len(relevant.first) + 1) - relevant.offsets[:-1][relevant.list]
    return np.asarray(place / relevant.first)


def _falling_ratios(relevant: Floats, n: Floats) -> list[Floats]:
    """R (R - 1) ... (R - m + 1) / (n (n - 1) ... (n - m + 1)) for m = 1 to 4."""
    ratios, product = [], np.ones_like(n)
    for m in range(4):
        product = product * np.maximum(relevant - m, 0.0) / np.maximum(n - m, 1.0)
        ratios.append(product)
    return ratios


def tie_precision(before: Numbers, size: Numbers, relevant: Floats, above: Floats, cutoff: int | None) -> Floats:
    """Return what a tie of `size` documents after `before` others adds to the sum of precisions, down to the cutoff."""
    end = before + size
    if cutoff is not None:
        end = np.minimum(end, cutoff)
    shown = np.maximum(end - before, 0)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(end.max(initial=0)) + 1))])
    inverse = np.where(
        shown > 0, harmonic[end.astype(np.int64)] - harmonic[np.minimum(before, end).astype(np.int64)], 0.0
    )
    alone = size == 1  # no pair inside, and 1/i itself rather than a difference of sums: as where nothing is tied
    within = np.where(alone, 0.0, (relevant - 1.0) / np.maximum(size - 1.0, 1.0)) * (shown - (before + 1.0) * inverse)
    mixed = relevant / size * ((above + 1.0) * inverse + within)
    return np.asarray(np.where(alone & (shown > 0), relevant * (above + 1.0) / (before + 1.0), mixed))
