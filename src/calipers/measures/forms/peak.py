"""The form of the largest gain among the first documents."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Lists, Population
from calipers.measures.forms.base import Form
from calipers.measures.gains import Value, as_gain
from calipers.support.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Squared(Record):
    """The square of a value."""

    of: Value

    def __call__(self, grade: Floats) -> Floats:
        return np.asarray(self.of(grade)) ** 2


class Peak(Form):
    """The largest value in the top k.

    Only a tie that straddles k leaves it open. If h of its m documents are shown, the t-th best of them is the
    best one shown with chance C(m - t, h - 1) / C(m, h).
    """

    value: Value
    cutoff: int | None = None

    def score(self, lists: Lists) -> Floats:
        worthy = lists.top_with_gain(self.value, self.cutoff)
        value = worthy.gains(self.value)
        whole = np.ones(len(value), bool) if self.cutoff is None else worthy.last <= self.cutoff
        best = np.zeros(len(lists))
        np.maximum.at(best, worthy.list[whole], value[whole])
        if self.cutoff is not None and not whole.all():
            self._straddling(worthy.where(~whole), value[~whole], best)
        return best

    @property
    def gain(self) -> Value:
        return self.value

    def variance(self, population: Population) -> Floats:
        """E[X^2] - E[X]^2: the square of the largest value is the largest of the squares, no value being below 0."""
        squares = Peak(Squared(self.value), self.cutoff).expected(population)
        return np.maximum(squares - self.expected(population) ** 2, 0.0)

    @property
    def reach(self) -> int | None:
        return self.cutoff

    def formula(self, letters: dict[str, str]) -> str:
        letters["v_i"] = as_gain(self.value).formula
        return "max over ranks i <= k of v_i"

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(self.gain(grade) != 0)

    def _straddling(self, tie: Lists, value: Floats, best: Floats) -> None:
        """Raise `best` to its mean over what the straddling tie, at most one per list, may show."""
        assert self.cutoff is not None
        order = np.lexsort((-value, tie.list))
        value, member = value[order], tie.list
        place = np.arange(len(value)) - tie.offsets[:-1][member]  # t - 1
        size = (tie.last - tie.first + 1).astype(np.float64)
        shown = (self.cutoff - tie.first + 1).astype(np.float64)
        chance = shown / size  # of the best one
        previous = place - 1.0
        step = np.where(
            place == 0,
            chance,
            np.maximum(size - shown - previous, 0.0) / np.maximum(size - previous - 1.0, 1.0),
        )
        by_place = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place))
        for start, end in pairwise(ends.tolist()):  # the next place of every list that has one
            row = by_place[start:end]
            chance[row] = chance[row - 1] * step[row]
        changed = np.flatnonzero(np.diff(tie.offsets))
        gain = tie.sum(chance * np.maximum(value - best[member], 0.0))
        best[changed] += gain[changed]
