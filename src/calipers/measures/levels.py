"""Gains of 0 or 1: relevance levels."""

from __future__ import annotations

import numpy as np

from calipers.lists import Floats
from calipers.measures.gains import Gain


class AtLeast(Gain):
    """1 for a relevant document: one whose grade reaches the relevance level."""

    unit = True
    chance = True
    rel: float = 1

    @property
    def level(self) -> float:
        return self.rel

    @property
    def formula(self) -> str:
        return f"1 for a grade of at least {self.rel:g}, else 0"

    def __call__(self, grade: Floats) -> Floats:
        return (grade >= self.rel).astype(np.float64)


class Judged(Gain):
    """1 for every judged document."""

    unit = True
    rising = False
    measures_judging = True
    formula = "1 for a judged document, else 0"

    def __call__(self, grade: Floats) -> Floats:
        return np.ones_like(grade)
