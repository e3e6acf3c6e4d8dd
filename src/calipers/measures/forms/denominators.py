"""Denominators of forms: the ideal score, the number of relevant documents, the cutoff and others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Lists
from calipers.measures.forms.base import Form
from calipers.measures.forms.linear import Linear, weighted_sum
from calipers.measures.forms.shares import Denominator


class BestRanking(Denominator, final=False):
    """The score of a best ranking."""

    within_reach = True
    formula = "the same for the best ranking"

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return form.ideal(lists.pool.everything)[lists.query]


class Ideal(BestRanking):
    """The score of the best ranking of the judged documents."""


class OwnIdeal(BestRanking):
    """The score of the best ranking of the documents that the list retrieved."""

    of_list = True
    sorts = True
    within_reach = False
    formula = "the same for the best ranking of what the list retrieved"

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return form.ideal(lists.to_sort())


class WholeIdeal(Denominator):
    """Score of the best ranking of all judged documents, without a cutoff."""

    of_query = True
    formula = "the same for the best ranking of all judged documents, without a cutoff"

    def __call__(self, form: Form, lists: Lists) -> Floats:
        linear = weighted_sum(form)
        if linear is None:
            raise CalipersError("only a linear form can be divided by the ideal without a cutoff")
        return Linear(linear.weight.up_to(None), linear.value).ideal(lists.pool.everything)[lists.query]


class TotalWeight(Denominator):
    """The score of documents of gain 1 at every rank down to the cutoff."""

    of_cutoff = True
    formula = "sum over ranks i <= k of w_i"

    def __call__(self, form: Form, lists: Lists) -> float:
        linear = weighted_sum(form)
        if linear is None:
            raise CalipersError("only a linear form can be divided by its total weight")
        return linear.weight.total()


IDEAL = Ideal()
WHOLE_IDEAL = WholeIdeal()
TOTAL_WEIGHT = TotalWeight()


class RELEVANT(Denominator):
    """R: how many documents of the query are relevant."""

    of_query = True
    counts_relevant = True
    formula = "R"
    rel: float = 1

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return lists.pool.relevant(self.rel)[lists.query].astype(np.float64)


class WeightedDepth(Denominator):
    """(k + beta^2 R) / (1 + beta^2): what relevant documents in the top k are divided by in F@k; 0 without any there
    could be.
    """

    counts_relevant = True
    within_reach = True
    cutoff: int
    beta: float = 1
    rel: float = 1

    @property
    def formula(self) -> str:
        return "((k + R) / 2)" if self.beta == 1 else f"((k + {self.beta:g}^2 R) / (1 + {self.beta:g}^2))"

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return self.of_relevant(lists.pool.relevant(self.rel)[lists.query])

    def of_relevant(self, relevant: Ints) -> Floats:
        """Return the denominator for queries with these numbers of relevant documents."""
        square = float(self.beta) ** 2
        return np.where(relevant > 0, (self.cutoff + square * relevant) / (1.0 + square), 0.0)


class OwnRelevant(Denominator):
    """The number of relevant documents that the list retrieved."""

    of_list = True
    formula = "relevant documents in the list"
    rel: float = 1

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return lists.count(lists.grade >= self.rel).astype(np.float64)


class TotalValue(Denominator):
    """The sum of a gain over all judged documents of the query."""

    of_query = True
    formula = "the most that all judged documents could give"
    value: Callable[[Floats], Floats]

    def __call__(self, form: Form, lists: Lists) -> Floats:
        pool = lists.pool
        return pool.once(("total", self), lambda: pool.sum(pool.gains(self.value)))[lists.query]


class CUTOFF(Denominator):
    """k itself, even where the list or the pool is shorter."""

    of_cutoff = True
    formula = "k"
    cutoff: int

    @property
    def constant(self) -> float:
        return float(self.cutoff)

    def __call__(self, form: Form, lists: Lists) -> float:
        return self.constant


class FOUND(Denominator):
    """The number of documents of the list, at most the cutoff."""

    formula = "documents shown"
    cutoff: int | None = None

    def __call__(self, form: Form, lists: Lists) -> Floats:
        length = lists.length.astype(np.float64)
        return length if self.cutoff is None else np.minimum(length, self.cutoff)


class Smaller(Denominator):
    """The smaller of two denominators."""

    one: Denominator
    other: Denominator

    @property
    def of_list(self) -> bool:  # type: ignore[override]  # it depends on the parts
        return self.one.of_list or self.other.of_list

    @property
    def within_reach(self) -> bool:
        return self.one.within_reach and self.other.within_reach

    @property
    def formula(self) -> str:
        return f"min({self.one.formula}, {self.other.formula})"

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return np.minimum(self.one(form, lists), self.other(form, lists))
