"""Forms: the formulas of measures. A form that is made from another form is a wrapper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists, Population
from calipers.measures.gains import Grade, Value
from calipers.support.record import FinalRecord, Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from calipers.measures.forms.shares import Denominator

# exact: by a closed form. enumerated: all cases were tried. sampled: some cases were drawn at random. sorted: by the
# documents in the order of their gain, which is not known to be extreme. greedy: by the best (or worst) document at
# each rank, which need not be extreme. bound: by a search; where it was stopped, a score that no ranking exceeds.
ComputationMethod = Literal["exact", "enumerated", "sampled", "sorted", "greedy", "bound"]
OPAQUE = "a function of the ranked grades"


def number(value: float | None) -> str:
    """Return a number as formulas show it."""
    if value is None or math.isnan(value):
        return "undefined"
    return f"{0.0 if abs(value) < 1e-15 else value:.4g}"


class Exactness(Record):
    """The methods by which the numbers of a form are computed."""

    ties: ComputationMethod = "exact"  # the average over the orders of tied documents
    ideal: ComputationMethod = "exact"
    worst: ComputationMethod = "exact"
    expected: ComputationMethod = "exact"
    has_variance: bool = False  # `variance` has a closed form
    samples_ties: bool = False  # orders of tied documents are drawn at random if there are many
    inexact_bounds: tuple[
        ComputationMethod, ...
    ] = ()  # all that is not exact of the bounds that a normalised score is made from


class Traits(Record):
    """Facts about a form."""

    can_be_negative: bool = False
    reads_costs: bool = False  # the score depends on the costs of documents
    ignores_unjudged: bool = False  # unjudged documents are left out by definition
    is_normalised: bool = False  # the score lies between bounds, and is not normalised again


PLAIN = Traits()


class Form(FinalRecord, final=False):
    """The formula of a measure: scores whole blocks of lists, averaged over the orders of tied documents.

    A new form must implement `score`. Everything else has a default that is correct for every form. Forms are final: a
    subclass of a weighted sum with another score would inherit bounds and ranges that do not hold for it.
    """

    def score(self, lists: Lists) -> Floats:
        """Return the score of each list, NaN where the form is undefined."""
        raise TypeError(f"{type(self).__name__} does not say how it scores")

    def error(self, lists: Lists) -> Floats:
        """Return the standard error of each score: 0 where nothing was drawn at random for it."""
        return np.zeros(len(lists))

    def ideal(self, population: Population) -> Floats:
        """Return the score of the best ranking of each set of documents."""
        return population.once(("ideal", self), lambda: self.score(self.extreme_order(population, best=True)))

    def worst(self, population: Population) -> Floats:
        """Return the score of the worst ranking of each set of documents for which the form is defined."""
        return population.once(("worst", self), lambda: self.score(self.extreme_order(population, best=False)))

    def expected(self, population: Population) -> Floats:
        """Return the mean score of all rankings of each set of documents."""
        return population.once(("expected", self), lambda: self.score(population.shuffled))

    def variance(self, population: Population) -> Floats | None:
        """Return the variance of the score over all rankings of each set, or None if no closed form is known."""
        return None

    def exactness(self, population: Population | None = None) -> Exactness:
        """Return how scores under ties, and the bounds, are found for these sets of documents, or for any sets."""
        return Exactness(has_variance=type(self).variance is not Form.variance)

    @property
    def gain(self) -> Value:
        """The gain of a grade, by which ideal rankings are sorted."""
        return Grade()

    def extreme_order(self, population: Population, best: bool) -> Lists:
        """Return the best (or the worst) ranking of each set of documents, or the best that is known."""
        return population.best_first(self.gain) if best else population.worst_first(self.gain)

    def published(self, population: Population, what: Literal["ideal", "expected"]) -> Floats:
        """Return the ideal or expected score that papers print, where it is not the true one."""
        raise CalipersError(f"a published {what} value exists for SP and AP only")

    def undefined_for_any_ranking(self, lists: Lists) -> NDArray[np.bool_]:
        """Return True for lists whose query leaves the form undefined for every ranking (no relevant document)."""
        return np.asarray(np.isnan(self.ideal(lists.pool.everything))[lists.query])

    def is_degenerate(self, lists: Lists) -> NDArray[np.bool_]:
        """Return True for lists whose documents score the same in random and ideal order, if that matters here."""
        return np.zeros(len(lists), bool)

    def substitute(self, score: float, lists: Lists) -> Floats:
        """Return what an undefined score counts if a policy counts it as `score`."""
        return np.full(len(lists), score)

    @property
    def reach(self) -> int | None:
        """The rank below which nothing is read, neither documents nor their number. None if all ranks are read.

        A document that has k documents above it by score alone (its tie starts below rank k) cannot change a form that
        reads the first k ranks. It may be dropped before anything else is done. The rest of a tie that starts at or
        above rank k must stay whole, because a form averages over all orders of the tie.
        """
        return None

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        """Return True for grades whose documents can change the score, other than by the ranks that they take."""
        return np.ones(len(grade), bool)

    def formula(self, letters: dict[str, str]) -> str:
        """Return the form as text, and add to `letters` what its letters stand for."""
        return OPAQUE

    @property
    def traits(self) -> Traits:
        """Facts about the form."""
        return PLAIN

    def __truediv__(self, by: Denominator | Callable[[Form, Lists], Floats | float]) -> Form:
        """Return the form divided by something: a `Denominator`, or a function of the form and the lists."""
        from calipers.measures.forms.shares import Share, as_denominator  # made of forms itself

        return Share(self, as_denominator(by))


class Wrapper(Form, final=False):
    """A form made from another form, as exact as the other one."""

    of: Form

    def exactness(self, population: Population | None = None) -> Exactness:
        """Return the exactness of the form inside for any documents: it may read other documents than this form."""
        inner = self.of.exactness()
        return inner.changed(has_variance=inner.has_variance and type(self).variance is not Form.variance)

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return self.of.grade_affects_score(grade)

    @property
    def traits(self) -> Traits:
        return self.of.traits


def deepest(forms: Iterable[Form]) -> int | None:
    """Return the largest reach of several forms.

    >>> import calipers as cal
    >>> deepest([cal.parse("nDCG@10").form, cal.parse("V2(AP@100, population=pool)").form])
    100
    """
    found = [form.reach for form in forms]
    return None if not found or None in found else max(depth for depth in found if depth is not None)


def inexact(*words: ComputationMethod) -> tuple[ComputationMethod, ...]:
    """Return each word once that is neither `exact` nor `enumerated`."""
    return tuple(word for word in dict.fromkeys(words) if word not in ("exact", "enumerated"))
