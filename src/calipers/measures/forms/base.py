"""What every form of measure offers, and the ways to build one form from others."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists, Population
from calipers.measures.values import Grade, Negative, Value
from calipers.record import Record

# exact: by a closed form. enumerated: all cases gone through. sampled: some drawn at random. sorted: of the documents
# by grade, which is not known to be extreme. greedy: the best, or worst, document at each rank, which need not be.
Exactness = Literal["exact", "enumerated", "sampled", "sorted", "greedy"]


class Form(Record):
    """A function from lists to scores, NaN where it is undefined, that averages itself over ties."""

    reads_judged_only = False  # whether it leaves unjudged documents out by itself

    @property
    def exactness(self) -> Exactness:
        """How the average over ties, and so the expected score, is taken."""
        return "exact"

    @property
    def extremes(self) -> Exactness:
        """How the ideal and the worst ranking are found."""
        return "exact"

    @property
    def has_variance(self) -> bool:
        """Whether `variance` has a closed form."""
        return type(self).variance is not Form.variance

    @property
    def can_be_negative(self) -> bool:
        """Whether some ranking may score less than 0."""
        return False

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
        return population.once(("ideal", self), lambda: self.score(population.best_first(self.worth)))

    def worst(self, population: Population) -> Floats:
        """The score of the worst ranking for which the form is defined."""
        return population.once(("worst", self), lambda: self.score(population.worst_first(self.worth)))

    def expected(self, population: Population) -> Floats:
        """The mean score of a random ranking."""
        return population.once(("expected", self), lambda: self.score(population.shuffled))

    def error(self, lists: Lists) -> Floats:
        """The standard error of `score`: 0 where that is not sampled."""
        return np.zeros(len(lists))

    def expected_error(self, population: Population) -> Floats:
        """The standard error of `expected`: 0 where that is not sampled."""
        return self.error(population.shuffled)

    def variance(self, population: Population) -> Floats | None:
        """The variance of the score of a random ranking, where there is a closed form."""
        return None

    def counted_as(self, score: float, lists: Lists) -> Floats:
        """The score of lists for which the form is undefined and which a policy counts as `score`."""
        return np.full(len(lists), score)

    def hopeless(self, lists: Lists) -> NDArray[np.bool_]:
        """The lists for whose queries the form is undefined whatever the ranking."""
        return np.asarray(np.isnan(self.ideal(lists.pool.everything))[lists.query])

    def __truediv__(self, by: Denominator) -> Form:
        return Share(self, by)


class Denominator(Protocol):
    """What a form is divided by; may depend on the query, never on the order of the list."""

    def __call__(self, form: Form, lists: Lists) -> Floats | float: ...


def inexact(*words: Exactness) -> tuple[Exactness, ...]:
    """Each word once that is not `exact` or, as good, `enumerated`."""
    return tuple(word for word in dict.fromkeys(words) if word not in ("exact", "enumerated"))


class Wrapper(Form):
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
    def may_draw_ties(self) -> bool:
        return self.of.may_draw_ties

    @property
    def rests_on(self) -> tuple[Exactness, ...]:
        return self.of.rests_on


class Share(Wrapper):
    """A form divided by something that the order of the documents does not change."""

    by: Denominator

    def error(self, lists: Lists) -> Floats:
        by = np.asarray(self.by(self.of, lists), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(by > 0, self.of.error(lists) / by, np.nan)

    def score(self, lists: Lists) -> Floats:
        by = np.asarray(self.by(self.of, lists), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(by > 0, self.of.score(lists) / by, np.nan)

    @property
    def worth(self) -> Value:
        return self.of.worth

    def hopeless(self, lists: Lists) -> NDArray[np.bool_]:
        always = super().hopeless(lists)
        if not getattr(self.by, "of_list", False):
            return always
        return always | ((np.asarray(self.by(self.of, lists)) <= 0) & (lists.length > 0))

    def variance(self, population: Population) -> Floats | None:
        variance = self.of.variance(population)
        if variance is None:
            return None
        by = np.asarray(self.by(self.of, population.shuffled), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(by > 0, variance / by**2, np.nan)


class Mixture(Form):
    """The weighted sum of several forms."""

    parts: tuple[tuple[float, Form], ...]

    @property
    def exactness(self) -> Exactness:
        return next((form.exactness for _, form in self.parts if form.exactness != "exact"), "exact")

    def score(self, lists: Lists) -> Floats:
        return np.asarray(sum(weight * form.score(lists) for weight, form in self.parts))


class Complement(Wrapper):
    """One minus a form."""

    def error(self, lists: Lists) -> Floats:
        return self.of.error(lists)

    def score(self, lists: Lists) -> Floats:
        return 1.0 - self.of.score(lists)

    @property
    def worth(self) -> Value:
        return Negative(self.of.worth)

    def variance(self, population: Population) -> Floats | None:
        return self.of.variance(population)


class JudgedOnly(Wrapper):
    """A form of the lists without their unjudged documents. A grade below 0 says: in the pool, but not judged."""

    def error(self, lists: Lists) -> Floats:
        return self.of.error(self._judged(lists))

    def score(self, lists: Lists) -> Floats:
        return self.of.score(self._judged(lists))

    @property
    def worth(self) -> Value:
        return self.of.worth

    def hopeless(self, lists: Lists) -> NDArray[np.bool_]:
        return self.of.hopeless(self._judged(lists))

    def _judged(self, lists: Lists) -> Lists:
        return lists.once("judged only", lambda: lists.where(lists.grade >= 0).condensed())


# -- denominators ------------------------------------------------------------------------------------


def IDEAL(form: Form, lists: Lists) -> Floats:
    """What the best ranking of the judged documents would get."""
    return form.ideal(lists.pool.everything)[lists.query]


class OwnIdeal(Record):
    """What the best ranking of the documents that the list itself retrieved would get."""

    of_list: ClassVar[bool] = True

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return form.ideal(lists.all_shuffled())


def TOTAL_WEIGHT(form: Form, lists: Lists) -> float:
    """What a document of worth 1 at every rank down to the cutoff would give."""
    total: Callable[[], float] | None = getattr(getattr(form, "weight", None), "total", None)
    if total is None:
        raise CalipersError("only a linear form can be divided by its total weight")
    return total()


class RELEVANT(Record):
    """R: how many documents of the query are relevant."""

    rel: float = 1

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return lists.pool.relevant(self.rel)[lists.query].astype(np.float64)


class OwnRelevant(Record):
    """How many relevant documents the list itself retrieved."""

    rel: float = 1
    of_list: ClassVar[bool] = True

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return lists.count(lists.grade >= self.rel).astype(np.float64)


class TotalValue(Record):
    """The sum of a worth over everything judged for the query."""

    value: Callable[[Floats], Floats]

    def __call__(self, form: Form, lists: Lists) -> Floats:
        pool = lists.pool
        return pool.once(("total", self), lambda: pool.sum(pool.worth(self.value)))[lists.query]


class CUTOFF(Record):
    """k itself, even where the list or the pool is shorter."""

    cutoff: int

    def __call__(self, form: Form, lists: Lists) -> float:
        return float(self.cutoff)


class FOUND(Record):
    """How many documents the list has, down to the cutoff."""

    cutoff: int | None = None

    def __call__(self, form: Form, lists: Lists) -> Floats:
        length = lists.length.astype(np.float64)
        return length if self.cutoff is None else np.minimum(length, self.cutoff)


class Smaller(Record):
    """The smaller of two denominators."""

    one: Denominator
    other: Denominator

    @property
    def of_list(self) -> bool:
        return any(getattr(each, "of_list", False) for each in (self.one, self.other))

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return np.minimum(self.one(form, lists), self.other(form, lists))
