"""What every form of measure offers, and a form made from another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists, Population
from calipers.measures.values import Grade, Value
from calipers.record import FinalRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from calipers.measures.forms.shares import Denominator

# exact: by a closed form. enumerated: all cases gone through. sampled: some drawn at random. sorted: of the documents
# by grade, which is not known to be extreme. greedy: the best, or worst, document at each rank, which need not be.
# bound: the best, or worst, ranking that there is, or where the search for it was stopped, what none passes.
Exactness = Literal["exact", "enumerated", "sampled", "sorted", "greedy", "bound"]
OPAQUE = "a function of the ranked grades"


def number(value: float | None) -> str:
    """A number as formulas show it."""
    if value is None or math.isnan(value):
        return "undefined"
    return f"{0.0 if abs(value) < 1e-15 else value:.4g}"


class Form(FinalRecord, final=False):
    """A function from lists to scores, NaN where it is undefined, that averages itself over ties.

    A form also says what is known of it. The defaults are what holds of every form: it reads everything, nothing is
    proved of it, and it has no formula. Forms are final: a subclass of a weighted sum with another score would inherit
    bounds and ranges that do not hold for it.
    """

    normalised: ClassVar[bool] = False  # whether it is a score between bounds, which is not normalised again

    @property
    def exactness(self) -> Exactness:
        """How the average over ties, and so the expected score, is taken."""
        return "exact"

    @property
    def extremes(self) -> Exactness:
        """How the ideal and the worst ranking are found."""
        return "exact"

    def extremes_of(self, population: Population, best: bool) -> Exactness:
        """The same for the ideal or the worst ranking of these sets of documents."""
        return self.extremes

    @property
    def has_variance(self) -> bool:
        """Whether `variance` has a closed form."""
        return type(self).variance is not Form.variance

    @property
    def can_be_negative(self) -> bool:
        """Whether some ranking may score less than 0."""
        return False

    @property
    def averages_attention(self) -> bool:
        """Whether a tie is scored by the attention that its documents get on average, not by the mean over its orders.

        Then so is a random ranking, which is one tie, and a tie may score less, or more, than each of its orders.
        """
        return False

    @property
    def smaller_is_better(self) -> bool:
        """Whether the ideal ranking has the smallest score, and the worst one the largest."""
        return False

    def unfit_for(self, normalisation: str) -> str:
        """Why a normalisation, as V2, says nothing of the form; empty where it does."""
        return ""

    @property
    def may_draw_ties(self) -> bool:
        """Whether the average over ties is drawn where there are many orders."""
        return False

    @property
    def rests_on(self) -> tuple[Exactness, ...]:
        """What is not exact of the values that every score is made from, whether or not there are ties."""
        return ()

    def score(self, lists: Lists) -> Floats:
        """The score of each list."""
        raise TypeError(f"{type(self).__name__} does not say how it scores")

    @property
    def worth(self) -> Value:
        """What the ideal ranking sorts by."""
        return Grade()

    def ideal(self, population: Population) -> Floats:
        """The score of the best ranking of each set of documents."""
        return population.once(("ideal", self), lambda: self.score(self.best_order(population)))

    def greedy(self, population: Population) -> Floats:
        """The score of the ranking that takes at each rank the document that adds most."""
        return self.ideal(population)

    def worst(self, population: Population) -> Floats:
        """The score of the worst ranking for which the form is defined."""
        return population.once(("worst", self), lambda: self.score(self.worst_order(population)))

    def best_order(self, population: Population) -> Lists:
        """The best ranking of each set of documents, or the best that is known."""
        return population.best_first(self.worth)

    def worst_order(self, population: Population) -> Lists:
        """The worst ranking of each set of documents, or the worst that is known."""
        return population.worst_first(self.worth)

    def expected(self, population: Population) -> Floats:
        """The mean score of a random ranking."""
        return population.once(("expected", self), lambda: self.score(population.shuffled))

    def error(self, lists: Lists) -> Floats:
        """The standard error of `score`: 0 where that is not sampled."""
        return np.zeros(len(lists))

    def uncertainty(self, lists: Lists) -> Floats:
        """The standard error of `score`, from all that was drawn for it: orders of ties, and bounds."""
        return self.error(lists)

    def expected_error(self, population: Population) -> Floats:
        """The standard error of `expected`: 0 where that is not sampled."""
        return self.error(population.shuffled)

    def variance(self, population: Population) -> Floats | None:
        """The variance of the score of a random ranking, where there is a closed form."""
        return None

    def degenerate(self, lists: Lists) -> NDArray[np.bool_]:
        """The lists whose documents leave no room between random and ideal, where that matters to the form."""
        return np.zeros(len(lists), bool)

    def published(self, population: Population, what: Literal["ideal", "expected"]) -> Floats:
        """The ideal or expected score that papers print where it is not the true one."""
        raise CalipersError(f"a published {what} value exists for SP and AP only")

    def counted_as(self, score: float, lists: Lists) -> Floats:
        """The score of lists for which the form is undefined and which a policy counts as `score`."""
        return np.full(len(lists), score)

    def hopeless(self, lists: Lists) -> NDArray[np.bool_]:
        """The lists for whose queries the form is undefined whatever the ranking."""
        return np.asarray(np.isnan(self.ideal(lists.pool.everything))[lists.query])

    def __truediv__(self, by: Denominator | Callable[[Form, Lists], Floats | float]) -> Form:
        from calipers.measures.forms.shares import Share, as_denominator  # made of forms itself

        return Share(self, as_denominator(by))

    # -- what the form is made of ---------------------------------------------------------------------

    @property
    def population_of_bounds(self) -> str | None:
        """The documents whose bounds the score is put between; None where it is not put between bounds."""
        return None

    @property
    def reads_costs(self) -> bool:
        """Whether it depends on what documents cost, where that is known."""
        return False

    @property
    def reads_groups(self) -> bool:
        """Whether it is of groups of documents, and undefined where these are not known."""
        return False

    # -- what is known of the form -------------------------------------------------------------------

    @property
    def reach(self) -> int | None:
        """The rank below which nothing is read, neither documents nor how many there are; None where all is.

        A document that has k documents above it by score alone (its tie starts below rank k) cannot change a measure
        that reads the first k ranks: it may be dropped before anything else is done. The rest of a tie that starts
        at or above rank k must stay whole, for a measure averages over all its orders.
        """
        return None

    def formula(self, letters: dict[str, str]) -> str:
        """The form as text; what its letters stand for is added to `letters`."""
        return OPAQUE

    # -- what the unjudged documents could still change ---------------------------------------------

    @property
    def ignores_unjudged(self) -> bool:
        """Whether unjudged documents are left out by definition, so that the score has no range."""
        return False

    def matters(self, grade: Floats) -> NDArray[np.bool_]:
        """Whether a document of such a grade can make a difference to the score, other than by the ranks it takes."""
        return np.ones(len(grade), bool)


def deepest(forms: Iterable[Form]) -> int | None:
    """The reach of several forms together.

    >>> import calipers as cal
    >>> deepest([cal.parse("nDCG@10").form, cal.parse("V2(AP@100, population=pool)").form])
    100
    """
    found = [form.reach for form in forms]
    return None if not found or None in found else max(depth for depth in found if depth is not None)


def inexact(*words: Exactness) -> tuple[Exactness, ...]:
    """Each word once that is not `exact` or, as good, `enumerated`."""
    return tuple(word for word in dict.fromkeys(words) if word not in ("exact", "enumerated"))


class Wrapper(Form, final=False):
    """A form made from another, as exact as that one."""

    of: Form

    @property
    def exactness(self) -> Exactness:
        return self.of.exactness

    @property
    def extremes(self) -> Exactness:
        return self.of.extremes

    @property
    def has_variance(self) -> bool:
        return type(self).variance is not Form.variance and self.of.has_variance

    @property
    def can_be_negative(self) -> bool:
        return self.of.can_be_negative

    @property
    def averages_attention(self) -> bool:
        return self.of.averages_attention

    @property
    def smaller_is_better(self) -> bool:
        return self.of.smaller_is_better

    def unfit_for(self, normalisation: str) -> str:
        return self.of.unfit_for(normalisation)

    @property
    def may_draw_ties(self) -> bool:
        return self.of.may_draw_ties

    @property
    def rests_on(self) -> tuple[Exactness, ...]:
        return self.of.rests_on

    @property
    def ignores_unjudged(self) -> bool:
        return self.of.ignores_unjudged

    def matters(self, grade: Floats) -> NDArray[np.bool_]:
        return self.of.matters(grade)

    @property
    def reads_costs(self) -> bool:
        return self.of.reads_costs

    @property
    def reads_groups(self) -> bool:
        return self.of.reads_groups
