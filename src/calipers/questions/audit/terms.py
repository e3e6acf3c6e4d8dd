"""The parts of a score that an explanation shows: one rule per form.

The default shows what each rank adds to the score. A rule says more: gains and weights of documents, a form inside
another one, or a rank below which nothing is added.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from calipers.lists import Floats, Lists, Population
from calipers.measures.forms import (
    BinaryPreference,
    Denominator,
    Form,
    JudgedOnly,
    Linear,
    MeanOverCutoffs,
    OwnIdeal,
    RelevantPrefix,
    Share,
    ZeroIfShort,
)
from calipers.measures.forms.browsing import Browsed
from calipers.measures.forms.denominators import BestRanking
from calipers.measures.normalisation import Normalised
from calipers.measures.trec_eval import Unjudged
from calipers.support.plurals import counted
from calipers.support.record import Record


class InnerForm(Record):
    """A form inside another: the lists that it reads, and values and remarks of the outer form."""

    form: Form
    lists: Lists
    values: tuple[tuple[str, float], ...] = ()
    remark: str = ""


@singledispatch
def inner_form(form: Form, lists: Lists) -> InnerForm | None:
    """Return the form inside a form that only changes its score, or None if the form scores by itself.

    lists: one list.
    """
    return None


@inner_form.register(JudgedOnly)
def inner_form_of_judged_only(form: JudgedOnly, lists: Lists) -> InnerForm:
    return InnerForm(form.of, form.judged(lists))


@inner_form.register(ZeroIfShort)
def inner_form_of_zero_if_short(form: ZeroIfShort, lists: Lists) -> InnerForm:
    shown = int(lists.length[0])
    short = f"{counted(shown, 'document')}, fewer than {form.cutoff}: 0" if shown < form.cutoff else ""
    return InnerForm(form.of, lists, remark=short)


@inner_form.register(Normalised)
def inner_form_of_normalised(form: Normalised, lists: Lists) -> InnerForm:
    limits = form.limits(lists)
    values = (("ideal", limits.ideal), ("expected", limits.expected))
    shown = tuple((f"{what}, of the measure inside", float(of[0])) for what, of in values)
    return InnerForm(form.base, lists, shown)


@singledispatch
def gains_and_weights(form: Form, lists: Lists) -> tuple[Floats, Floats] | None:
    """Return the gain and the weight of each document if the score is the sum of their products, else None."""
    return None


@gains_and_weights.register(Linear)
def gains_and_weights_of_linear(form: Linear, lists: Lists) -> tuple[Floats, Floats]:
    return lists.gains(form.value), form.weight.mean(lists.first, lists.last)


@gains_and_weights.register(MeanOverCutoffs)
def gains_and_weights_of_mean_over_cutoffs(form: MeanOverCutoffs, lists: Lists) -> tuple[Floats, Floats]:
    return lists.gains(form.of.value), form.weights(lists)


@singledispatch
def remark_on_terms(form: Form) -> str:
    """Return a remark about the terms of a form, or an empty string if they need none."""
    return ""


@remark_on_terms.register(MeanOverCutoffs)
def remark_on_terms_of_mean_over_cutoffs(form: MeanOverCutoffs) -> str:
    return "the weights are means over all cutoffs"


@singledispatch
def deepest_rank(form: Form) -> int | None:
    """Return the rank below which no document adds to the score, or None if every document may."""
    return form.reach


@deepest_rank.register(BinaryPreference)
@deepest_rank.register(RelevantPrefix)
@deepest_rank.register(Unjudged)
def deepest_rank_of_binary_preference(form: BinaryPreference | RelevantPrefix | Unjudged) -> int | None:
    return form.cutoff


@deepest_rank.register(MeanOverCutoffs)
def deepest_rank_of_mean_over_cutoffs(form: MeanOverCutoffs) -> int | None:
    return form.of.weight.cutoff


@deepest_rank.register(Browsed)
def deepest_rank_of_browsed(form: Browsed) -> int | None:
    cutoff, depth = form.browser.cutoff, form.reading.depth
    return depth if cutoff is None else min(cutoff, depth)


@singledispatch
def order_reach(form: Form) -> int | None:
    """Return the rank below which the order of documents does not matter, or None if the whole order matters.

    Which documents stand below that rank may still matter: those of `Lists.to_sort`.
    """
    return form.reach


@order_reach.register(Share)
def order_reach_of_share(form: Share) -> int | None:
    return form.of.reach if form.by.within_reach or form.by.sorts else None


@order_reach.register(ZeroIfShort)
def order_reach_of_zero_if_short(form: ZeroIfShort) -> int | None:
    """Keep the rank of the form inside: lists keep their lengths."""
    return order_reach(form.of)


@singledispatch
def best_lists(by: Denominator, form: Form, lists: Lists) -> Lists | None:
    """Return the rankings whose scores a divisor is, or None if it is not the score of a ranking."""
    return None


@best_lists.register(BestRanking)
def best_lists_of_best_ranking(by: BestRanking, form: Form, lists: Lists) -> Lists:
    pool = lists.pool
    size = pool.size[lists.query]
    offsets = np.concatenate([[0], np.cumsum(size)])
    documents = np.arange(offsets[-1]) + np.repeat(pool.offsets[lists.query] - offsets[:-1], size)
    return Population(pool, lists.query, size, offsets, documents).best_first(form.gain)


@best_lists.register(OwnIdeal)
def best_lists_of_own_ideal(by: OwnIdeal, form: Form, lists: Lists) -> Lists:
    return lists.all_shuffled().best_first(form.gain)
