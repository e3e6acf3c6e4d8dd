"""Forms made from other forms: weighted sums, complements, and forms of only some of the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Lists, Population
from calipers.measures.forms.base import READS_PRECISIONS, Exactness, Form, Inner, Proofs, Wrapper, deepest, number
from calipers.measures.forms.shares import Denominator
from calipers.measures.values import Negative, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from calipers.measures.forms.browsing import Browser


class Mixture(Form):
    """The weighted sum of several forms."""

    parts: tuple[tuple[float, Form], ...]

    @property
    def exactness(self) -> Exactness:
        return next((form.exactness for _, form in self.parts if form.exactness != "exact"), "exact")

    def score(self, lists: Lists) -> Floats:
        return np.asarray(sum(weight * form.score(lists) for weight, form in self.parts))

    @property
    def reach(self) -> int | None:
        return deepest(part for _, part in self.parts)

    def proved(self) -> Proofs:
        if not self.parts or any(weight <= 0 for weight, _ in self.parts):
            return {}
        each = [part.proved() for _, part in self.parts]
        return {
            name: f"every part of the sum is so: {each[0][name]}"
            for name in ("monotone", "convergent", "top-weighted", "localized", "complete")
            if all(name in proved for proved in each)
        }

    @property
    def levels(self) -> tuple[tuple[float, float | None], ...] | None:
        if not all(part.sums_precisions for _, part in self.parts):
            return None
        return tuple((weight, part.level) for weight, part in self.parts)

    def formula(self, letters: dict[str, str]) -> str:
        if self.levels is None:
            return " + ".join(f"{number(weight)} * ({part.formula(letters)})" for weight, part in self.parts)
        letters["SP_j"] = "SP@k with grades of at least j as relevant"
        letters["t_j"] = ", ".join(f"{number(weight)} for j = {number(level)}" for weight, level in self.levels)
        return "sum over levels j of t_j * SP_j"

    def reader_of_share(self, by: Denominator) -> str:
        return READS_PRECISIONS

    @property
    def sorted_is_best(self) -> bool:
        return all(weight >= 0 and part.sorted_is_best for weight, part in self.parts)

    def matters(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(np.any([form.matters(grade) for weight, form in self.parts if weight], axis=0))


class Complement(Wrapper):
    """One minus a form."""

    reader = "None: it is what is not known of another score."

    def error(self, lists: Lists) -> Floats:
        return self.of.error(lists)

    def score(self, lists: Lists) -> Floats:
        return 1.0 - self.of.score(lists)

    @property
    def worth(self) -> Value:
        return Negative(self.of.worth)

    def variance(self, population: Population) -> Floats | None:
        return self.of.variance(population)

    @property
    def reach(self) -> int | None:
        return self.of.reach

    def formula(self, letters: dict[str, str]) -> str:
        return f"1 - {self.of.formula(letters)}"


class JudgedOnly(Wrapper):
    """A form of the lists without their unjudged documents. A grade below 0 says: in the pool, but not judged."""

    ignores_unjudged = True

    def inner(self, lists: Lists) -> Inner:
        return Inner(self.of, self._judged(lists))

    def error(self, lists: Lists) -> Floats:
        return self.of.error(self._judged(lists))

    def uncertainty(self, lists: Lists) -> Floats:
        return self.of.uncertainty(self._judged(lists))

    def score(self, lists: Lists) -> Floats:
        return self.of.score(self._judged(lists))

    @property
    def worth(self) -> Value:
        return self.of.worth

    def hopeless(self, lists: Lists) -> NDArray[np.bool_]:
        return self.of.hopeless(self._judged(lists))

    def proved(self) -> Proofs:
        return self.of.proved()  # all that is tried is judged

    def formula(self, letters: dict[str, str]) -> str:
        return f"{self.of.formula(letters)}, unjudged documents left out"

    @property
    def reader(self) -> str:
        return self.of.reader

    def _judged(self, lists: Lists) -> Lists:
        return lists.once("judged only", lambda: lists.where(lists.grade >= 0).condensed())


class Worthy(Wrapper, final=False):
    """A form of the documents that are worth something alone: where the others stand shows in the ranks.

    Fewer rows also mean fewer orders of a tie to go through.
    """

    value: Value

    def error(self, lists: Lists) -> Floats:
        return self.of.error(lists.worthy(self.value))

    def score(self, lists: Lists) -> Floats:
        return self.of.score(lists.worthy(self.value))

    @property
    def browser(self) -> Browser | None:
        return self.of.browser

    @property
    def reader(self) -> str:
        return self.of.reader

    @property
    def worth(self) -> Value:
        return self.value
