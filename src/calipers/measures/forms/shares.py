"""A form divided by something: what every denominator offers, and the share that comes of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from calipers.lists import Floats, Lists, Population
from calipers.measures.forms.base import Exactness, Form, Wrapper
from calipers.measures.gains import Value
from calipers.support.record import FinalRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Denominator(FinalRecord, final=False):
    """A denominator of a form. It may depend on the query, but never on the order of the list."""

    of_list: ClassVar[bool] = False  # whether it depends on what the list retrieved
    sorts: ClassVar[bool] = False  # whether that is all it reads of a list, from `Lists.to_sort`
    of_cutoff: ClassVar[bool] = False  # whether it depends on k alone
    of_query: ClassVar[bool] = False  # whether it depends on the query alone, not on k
    counts_relevant: ClassVar[bool] = False  # of the query

    @property
    def within_reach(self) -> bool:
        """True if it reads no more of a list than the form that it divides."""
        return self.of_cutoff or self.of_query

    @property
    def constant(self) -> float | None:
        """Its value, where that is the same for all lists and rankings; None where it depends on them."""
        return None

    @property
    def formula(self) -> str:
        """The divisor as text."""
        return "a divisor"

    def __call__(self, form: Form, lists: Lists) -> Floats | float:
        raise TypeError(f"{type(self).__name__} does not say what it divides by")


class GivenDenominator(Denominator):
    """A user's function, of which nothing is known."""

    function: Callable[[Form, Lists], Floats | float]

    def __call__(self, form: Form, lists: Lists) -> Floats | float:
        return self.function(form, lists)


def as_denominator(by: Denominator | Callable[[Form, Lists], Floats | float]) -> Denominator:
    return by if isinstance(by, Denominator) else GivenDenominator(by)


class Quotient(Wrapper, final=False):
    """A form divided by something that the order of the documents does not change."""

    by: Denominator

    def exactness(self, population: Population | None = None) -> Exactness:
        return self.of.exactness(population)

    def _divisor(self, lists: Lists) -> Floats:
        """Return the denominator of each list, NaN if it is 0."""
        by = np.asarray(self.by(self.of, lists), dtype=np.float64)
        return np.where(by > 0, by, np.nan)

    def error(self, lists: Lists) -> Floats:
        return self.of.error(lists) / self._divisor(lists)

    def score(self, lists: Lists) -> Floats:
        return self.of.score(lists) / self._divisor(lists)

    @property
    def gain(self) -> Value:
        return self.of.gain

    def extreme_order(self, population: Population, best: bool) -> Lists:
        return self.of.extreme_order(population, best)

    def undefined_for_any_ranking(self, lists: Lists) -> NDArray[np.bool_]:
        always = super().undefined_for_any_ranking(lists)
        if not self.by.of_list:
            return always
        return always | ((np.asarray(self.by(self.of, lists)) <= 0) & (lists.length > 0))

    def variance(self, population: Population) -> Floats | None:
        variance = self.of.variance(population)
        if variance is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # as the variance of what is divided
            return np.asarray(variance / self._divisor(population.shuffled) ** 2)

    def published(self, population: Population, what: Literal["ideal", "expected"]) -> Floats:
        return self.of.published(population, what) / self._divisor(population.shuffled)

    @property
    def reach(self) -> int | None:
        return self.of.reach if self.by.within_reach else None

    def formula(self, letters: dict[str, str]) -> str:
        return f"{self.of.formula(letters)} / {self.by.formula}"


class Share(Quotient):
    """A form of one grade per document, as a share of something."""


@singledispatch
def numerator_and_denominator(form: Form) -> tuple[Form, Denominator | None]:
    """Return the form that is divided and its divisor. The divisor is None if the form is not a quotient."""
    return form, None


@numerator_and_denominator.register(Quotient)
def numerator_and_denominator_of_quotient(form: Quotient) -> tuple[Form, Denominator]:
    return form.of, form.by
