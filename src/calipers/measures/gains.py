"""The gain of a document, as a function of its grade.

Gains are values: named, hashable, and passed to a form. Each says what is known of it: its formula, and the facts that
proofs of a measure's properties use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Protocol

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.support.record import Record


class Value(Protocol):
    """A function from the grades of judged documents to their gains. Unjudged documents have no gain."""

    def __call__(self, grade: Floats) -> Floats: ...


class Gain(Record):
    """A gain with facts for proofs."""

    unit: ClassVar[bool] = False  # grades from 0 to 1 have gains from 0 to 1, and no gain is negative
    rising: ClassVar[bool] = True  # a better document has a larger gain
    chance: ClassVar[bool] = False  # the gain is a probability for every grade
    certain: ClassVar[bool] = True  # the probability may be 1
    adds: ClassVar[bool] = True  # a document adds its gain to a score; otherwise the gain is only used for sorting
    measures_judging: ClassVar[bool] = False  # the gain is about the judgments themselves: judging more changes it

    @property
    def level(self) -> float | None:
        """The lowest grade with gain 1, if all lower grades have gain 0. None for other gains."""
        return None

    @property
    def only_grades(self) -> tuple[float, ...] | None:
        """The grades with a positive gain, if other positive grades are refused. None if all grades are taken."""
        return None

    @property
    def formula(self) -> str:
        """The gain as text."""
        return "a given gain of the grade"

    def __call__(self, grade: Floats) -> Floats:
        raise TypeError(f"{type(self).__name__} does not define the gain of a grade")


class GivenGain(Gain):
    """A function of grades by a user. No facts about it are known."""

    function: Value

    def __call__(self, grade: Floats) -> Floats:
        return self.function(grade)


def as_gain(value: Value) -> Gain:
    """Return a value as a gain with known facts."""
    return value if isinstance(value, Gain) else GivenGain(value)


class Grade(Gain):
    """The grade itself."""

    adds = False

    def __call__(self, grade: Floats) -> Floats:
        return grade


class Negative(Gain):
    """A negated gain."""

    of: Value

    def __call__(self, grade: Floats) -> Floats:
        return -self.of(grade)


class LinearGain(Gain):
    """The grade itself. Grades below 0 have gain 0."""

    unit = True
    formula = "the grade, 0 if it is negative"

    def __call__(self, grade: Floats) -> Floats:
        return np.maximum(grade, 0.0)


class ExponentialGain(Gain):
    """2^grade - 1. Grades below 0 have gain 0."""

    unit = True
    formula = "2^grade - 1, 0 if it is negative"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):  # callers refuse infinite gains
            return np.exp2(np.maximum(grade, 0.0)) - 1.0


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


class TableGain(Gain):
    """A gain for each grade. A grade of 0 or less that the table lacks has gain 0."""

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
    """A gain with other values for some grades."""

    gain: Value
    table: tuple[tuple[float, float], ...]

    def __call__(self, grade: Floats) -> Floats:
        worth = self.gain(grade)
        for level, gain in self.table:
            worth = np.where(grade == level, gain, worth)
        return worth


class GainFrom(Gain):
    """The gain of documents that reach the relevance level, and 0 for other documents."""

    gain: Value
    rel: float = 1

    @property
    def formula(self) -> str:
        return f"{as_gain(self.gain).formula}; 0 for a grade below {self.rel:g}"

    def __call__(self, grade: Floats) -> Floats:
        return np.where(grade >= self.rel, self.gain(grade), 0.0)


class ShareOfLargest(Gain):
    """A gain divided by the gain of the largest grade, so that it lies in [0, 1]."""

    unit = True
    chance = True
    gain: Value
    max_grade: float

    @property
    def formula(self) -> str:
        return f"{as_gain(self.gain).formula}, divided by the gain of the largest grade"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):
            largest = float(self.gain(np.array([self.max_grade]))[0])
            gain = self.gain(_not_above(grade, self.max_grade))
        if largest <= 0:
            return np.zeros_like(grade)
        return _share(gain, largest, self.max_grade)


class StopProbability(Gain):
    """The probability (2^grade - 1) / 2^max_grade that a reader is satisfied and stops."""

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
    """The probability gain / (gain of the largest grade + 1) that a reader is satisfied and stops."""

    unit = True
    chance = True
    certain = False
    gain: Value
    max_grade: float

    @property
    def formula(self) -> str:
        return f"g / (G + 1), where g is {as_gain(self.gain).formula}, and G is g of the largest grade"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):
            most = float(self.gain(np.array([self.max_grade]))[0]) + 1.0
            return _share(self.gain(_not_above(grade, self.max_grade)), most, self.max_grade)


def _share(gain: Floats, most: float, max_grade: float) -> Floats:
    """Divide gains by the gain of the largest grade. Infinite gains stay infinite; callers refuse them."""
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
RELEVANT = r"rel(-?\d+(?:\.\d+)?)"  # `rel4` is 1 for grades of 4 and more, and 0 for others


def gain_of(gain: str | Mapping[float, float] | Value, gains: Mapping[float, float] | None = None) -> Value:
    """Return the gain for a parameter: a name, a table {grade: gain}, or a function of an array of grades.

    gains: a table with other gains for some grades, as in trec_eval and ir_measures.

    >>> gain_of("rel4")(np.array([0.0, 3.0, 4.0, 5.0]))
    array([0., 0., 1., 1.])
    """
    if gains is not None and gains != {}:
        if not isinstance(gains, Mapping) or not all(value >= 0 for value in gains.values()):
            raise CalipersError(f"gains={gains} is not a table of a gain of at least 0 for some grades")
        return Except(gain_of(gain), tuple(sorted((float(grade), float(value)) for grade, value in gains.items())))
    if isinstance(gain, str):
        if relevant := re.fullmatch(RELEVANT, gain):
            return AtLeast(float(relevant[1]))
        if gain not in GAINS:
            raise CalipersError(f"unknown gain '{gain}'; expected a table, rel4 or one of {', '.join(sorted(GAINS))}")
        return GAINS[gain]
    if isinstance(gain, Mapping):
        if not gain:
            raise CalipersError("the gain table is empty")
        return TableGain(tuple(sorted((float(grade), float(value)) for grade, value in gain.items())))
    if not callable(gain):
        raise CalipersError(f"gain={gain!r} is neither a table nor one of {', '.join(sorted(GAINS))}")
    return gain
