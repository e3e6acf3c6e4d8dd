"""Forms made from other forms: weighted sums, complements, and forms of only some of the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Lists, Population
from calipers.measures.forms.base import ComputationMethod, Exactness, Form, Traits, Wrapper, deepest, number
from calipers.measures.forms.paired import precision_sum_level
from calipers.measures.gains import Negative, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Mixture(Form):
    """The weighted sum of several forms."""

    parts: tuple[tuple[float, Form], ...]

    def exactness(self, population: Population | None = None) -> Exactness:
        each = [form.exactness() for _, form in self.parts]
        ties: ComputationMethod = next((part.ties for part in each if part.ties != "exact"), "exact")
        expected: ComputationMethod = next((part.expected for part in each if part.expected != "exact"), "exact")
        return Exactness(ties=ties, expected=expected)

    def score(self, lists: Lists) -> Floats:
        return np.asarray(sum(weight * form.score(lists) for weight, form in self.parts))

    @property
    def reach(self) -> int | None:
        return deepest(part for _, part in self.parts)

    @property
    def precision_levels(self) -> tuple[tuple[float, float], ...] | None:
        """The weight and the relevance level of each part if all parts are sums of precisions, else None."""
        levels = [(weight, precision_sum_level(part)) for weight, part in self.parts]
        known = tuple((weight, level) for weight, level in levels if level is not None)
        return known if len(known) == len(levels) else None

    def formula(self, letters: dict[str, str]) -> str:
        levels = self.precision_levels
        if levels is None:
            return " + ".join(f"{number(weight)} * ({part.formula(letters)})" for weight, part in self.parts)
        letters["SP_j"] = "SP@k with grades of at least j as relevant"
        letters["t_j"] = ", ".join(f"{number(weight)} for j = {number(level)}" for weight, level in levels)
        return "sum over levels j of t_j * SP_j"

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(np.any([form.grade_affects_score(grade) for weight, form in self.parts if weight], axis=0))


class Complement(Wrapper):
    """One minus a form."""

    def error(self, lists: Lists) -> Floats:
        return self.of.error(lists)

    def exactness(self, population: Population | None = None) -> Exactness:
        inner = super().exactness()
        return inner.changed(ideal=inner.worst, worst=inner.ideal)

    def score(self, lists: Lists) -> Floats:
        return 1.0 - self.of.score(lists)

    @property
    def gain(self) -> Value:
        return Negative(self.of.gain)

    def variance(self, population: Population) -> Floats | None:
        return self.of.variance(population)

    @property
    def reach(self) -> int | None:
        return self.of.reach

    def formula(self, letters: dict[str, str]) -> str:
        return f"1 - {self.of.formula(letters)}"


class JudgedOnly(Wrapper):
    """A form of the lists without their unjudged documents. A grade below 0 says: in the pool, but not judged."""

    def error(self, lists: Lists) -> Floats:
        return self.of.error(self.judged(lists))

    @property
    def traits(self) -> Traits:
        return self.of.traits.changed(ignores_unjudged=True)

    def score(self, lists: Lists) -> Floats:
        return self.of.score(self.judged(lists))

    @property
    def gain(self) -> Value:
        return self.of.gain

    def undefined_for_any_ranking(self, lists: Lists) -> NDArray[np.bool_]:
        return self.of.undefined_for_any_ranking(self.judged(lists))

    def formula(self, letters: dict[str, str]) -> str:
        return f"{self.of.formula(letters)}, unjudged documents left out"

    def judged(self, lists: Lists) -> Lists:
        """Return the lists without their unjudged documents."""
        return lists.once("judged only", lambda: lists.where(lists.grade >= 0).condensed())


class WithoutZeroGains(Wrapper, final=False):
    """A form that reads only documents with a gain. Other documents matter only through ranks.

    Fewer rows also mean fewer orders of a tie.
    """

    value: Value

    def error(self, lists: Lists) -> Floats:
        return self.of.error(lists.with_gain(self.value))

    def score(self, lists: Lists) -> Floats:
        return self.of.score(lists.with_gain(self.value))

    @property
    def gain(self) -> Value:
        return self.value
