"""Measures of the retrieved set: the order does not matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Lists
from calipers.measures.forms.base import Form, Traits

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Counted(Form):
    """A function of how many documents are retrieved, how many of them relevant, and how many relevant there are."""

    function: Callable[[Floats, Floats, Floats], Floats]
    rel: float = 1

    @property
    def traits(self) -> Traits:
        return Traits(can_be_negative=bool(getattr(self.function, "can_be_negative", False)))

    def score(self, lists: Lists) -> Floats:
        retrieved = lists.length.astype(np.float64)
        found = lists.count(lists.grade >= self.rel).astype(np.float64)
        relevant = lists.pool.relevant(self.rel)[lists.query].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.function(retrieved, found, relevant), dtype=np.float64)

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(grade >= self.rel)
