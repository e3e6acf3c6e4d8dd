"""The gain of a document, as a function of its grade.

Gains are values: named, hashable, and passed to a form. Each says what is known of it: its formula, and the facts that
proofs of a measure's properties use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.record import Record


class Value(Protocol):
    """The worth of a judged document, from its grade. Unjudged documents are worth nothing."""

    def __call__(self, grade: Floats) -> Floats: ...


class Gain(Record):
    """A value that says what is known of it."""

    unit: ClassVar[bool] = False  # whether grades from 0 to 1 are worth 0 to 1, never less
    rising: ClassVar[bool] = True  # whether a better document is worth more
    chance: ClassVar[bool] = False  # whether it is a probability, whatever the grade
    certain: ClassVar[bool] = True  # whether that may be 1
    adds: ClassVar[bool] = True  # whether a document adds its worth to a score; otherwise documents are sorted by it
    measures_judging: ClassVar[bool] = False  # whether it tells of the judgments themselves: judging more changes it

    @property
    def level(self) -> float | None:
        """The grade from which on a document is worth 1, where all others are worth 0; None for other worths."""
        return None

    @property
    def only_grades(self) -> tuple[float, ...] | None:
        """The grades above nothing that it has a worth for, where others are refused; None where any grade will do."""
        return None

    @property
    def formula(self) -> str:
        """The worth as text."""
        return "a given worth of the grade"

    def __call__(self, grade: Floats) -> Floats:
        raise TypeError(f"{type(self).__name__} does not say what a grade is worth")


class GivenGain(Gain):
    """A user's function of grades, of which nothing is known."""

    function: Value

    def __call__(self, grade: Floats) -> Floats:
        return self.function(grade)


def as_gain(value: Value) -> Gain:
    """What is known of a value."""
    return value if isinstance(value, Gain) else GivenGain(value)


class Grade(Gain):
    """The grade as it is."""

    adds = False

    def __call__(self, grade: Floats) -> Floats:
        return grade


class Negative(Gain):
    """A worth turned round."""

    of: Value

    def __call__(self, grade: Floats) -> Floats:
        return -self.of(grade)


class LinearGain(Gain):
    """The grade itself; grades below 0 are worth 0."""

    unit = True
    formula = "the grade, 0 if it is negative"

    def __call__(self, grade: Floats) -> Floats:
        return np.maximum(grade, 0.0)


class ExponentialGain(Gain):
    """2^grade - 1; grades below 0 are worth 0."""

    unit = True
    formula = "2^grade - 1, 0 if it is negative"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):  # what is infinite is refused by those who ask
            return np.exp2(np.maximum(grade, 0.0)) - 1.0


class TableGain(Gain):
    """A worth for each grade; a grade of 0 or less that the table lacks is worth 0."""

    formula = "the gain that a table gives the grade"
    table: tuple[tuple[float, float], ...]

    @property
    def only_grades(self) -> tuple[float, ...]:
        return tuple(grade for grade, gain in self.table if gain > 0)

    def __call__(self, grade: Floats) -> Floats:
        grades = np.array([entry[0] for entry in self.table])
        gains = np.array([entry[1] for entry in self.table])
        place = np.minimum(np.searchsorted(grades, grade), len(grades) - 1)
        listed = grades[place] == grade
        missing = grade[~listed & (grade > 0)]
        if len(missing):
            raise CalipersError(f"the gain table has no entry for grade {missing[0]:g}")
        return np.where(listed, gains[place], 0.0)


class Except(Gain):
    """A gain, but another worth for some grades."""

    gain: Value
    table: tuple[tuple[float, float], ...]

    def __call__(self, grade: Floats) -> Floats:
        worth = self.gain(grade)
        for level, gain in self.table:
            worth = np.where(grade == level, gain, worth)
        return worth


class GainFrom(Gain):
    """The gain of a relevant document, one whose grade reaches the relevance level; nothing for the others."""

    gain: Value
    rel: float = 1

    @property
    def formula(self) -> str:
        return f"{as_gain(self.gain).formula}; nothing for a grade below {self.rel:g}"

    def __call__(self, grade: Floats) -> Floats:
        return np.where(grade >= self.rel, self.gain(grade), 0.0)


class ShareOfLargest(Gain):
    """A gain as a share of what the largest grade is worth, so that it lies in [0, 1]."""

    unit = True
    chance = True
    gain: Value
    max_grade: float

    @property
    def formula(self) -> str:
        return f"{as_gain(self.gain).formula}, as a share of what the largest grade is worth"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):
            largest = float(self.gain(np.array([self.max_grade]))[0])
            gain = self.gain(_not_above(grade, self.max_grade))
        if largest <= 0:
            return np.zeros_like(grade)
        return _share(gain, largest, self.max_grade)


class StopProbability(Gain):
    """(2^grade - 1) / 2^max_grade: how likely a reader is satisfied and stops."""

    unit = True
    chance = True
    certain = False
    max_grade: float

    formula = "(2^grade - 1) / 2^(largest grade)"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):
            most = float(np.exp2(self.max_grade))
        return _share(ExponentialGain()(_not_above(grade, self.max_grade)), most, self.max_grade)


class StopByGain(Gain):
    """gain / (gain of the largest grade + 1): how likely a reader is satisfied and stops."""

    unit = True
    chance = True
    certain = False
    gain: Value
    max_grade: float

    @property
    def formula(self) -> str:
        return f"g / (G + 1), g being {as_gain(self.gain).formula}, and G that of the largest grade"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):
            most = float(self.gain(np.array([self.max_grade]))[0]) + 1.0
            return _share(self.gain(_not_above(grade, self.max_grade)), most, self.max_grade)


class ShareOf(Gain):
    """The grade, which is a gain already, over the gain of the largest grade + 1."""

    formula = "what it gains / (the gain of the largest grade + 1)"
    gain: Value
    max_grade: float

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):
            most = float(self.gain(np.array([self.max_grade]))[0]) + 1.0
        return _share(np.maximum(grade, 0.0), most, self.max_grade)


def _share(gain: Floats, most: float, max_grade: float) -> Floats:
    """The gains by what the largest grade is worth. Infinite ones stay so, and are refused by those who ask."""
    if np.isfinite(most):
        return np.asarray(gain / most)
    if not np.isinf(gain).any():
        raise CalipersError(f"max_grade={max_grade:g}: its gain is not a finite number; take another gain")
    return np.where(np.isinf(gain), gain, 0.0)


def _not_above(grade: Floats, max_grade: float) -> Floats:
    if len(grade) and grade.max() > max_grade:
        raise CalipersError(f"grade {grade.max():g} is above max_grade={max_grade:g}")
    return grade


GAINS: dict[str, Value] = {"linear": LinearGain(), "exp": ExponentialGain()}


def gain_of(gain: str | Mapping[float, float] | Value, gains: Mapping[float, float] | None = None) -> Value:
    """The gain that parameters name: a name, a table {grade: gain}, or a function of an array of grades.

    gains: a table of exceptions to it, as in trec_eval and ir_measures.
    """
    if gains is not None and gains != {}:
        if not isinstance(gains, Mapping) or not all(value >= 0 for value in gains.values()):
            raise CalipersError(f"gains={gains} is not a table of a gain of at least 0 for some grades")
        return Except(gain_of(gain), tuple(sorted((float(grade), float(value)) for grade, value in gains.items())))
    if isinstance(gain, str):
        if gain not in GAINS:
            raise CalipersError(f"unknown gain '{gain}'; expected a table or one of {', '.join(sorted(GAINS))}")
        return GAINS[gain]
    if isinstance(gain, Mapping):
        if not gain:
            raise CalipersError("the gain table is empty")
        return TableGain(tuple(sorted((float(grade), float(value)) for grade, value in gain.items())))
    if not callable(gain):
        raise CalipersError(f"gain={gain!r} is neither a table nor one of {', '.join(sorted(GAINS))}")
    return gain
