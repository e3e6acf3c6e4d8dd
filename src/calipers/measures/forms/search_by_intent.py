"""The parts that the search for extreme orders by intent asks of a plain form: one rule per form."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Pool
from calipers.measures.forms.base import Form
from calipers.measures.forms.cascade import Cascade
from calipers.measures.forms.linear import Linear
from calipers.measures.forms.paired import Paired
from calipers.measures.gains import AtLeast

if TYPE_CHECKING:
    from calipers.measures.forms.extreme_orders import SearchTerm


@singledispatch
def gain_alone(form: Form, pool: Pool) -> Floats:
    """Return what each judged document adds with no other document above it, apart from the weight of its rank."""
    raise CalipersError(f"no order is known that would be ideal for {type(form).__name__} by intent")


@gain_alone.register(Linear)
def gain_alone_of_linear(form: Linear, pool: Pool) -> Floats:
    return pool.gains(form.value)


@gain_alone.register(Cascade)
def gain_alone_of_cascade(form: Cascade, pool: Pool) -> Floats:
    return pool.gains(form.stop)


@gain_alone.register(Paired)
def gain_alone_of_paired(form: Paired, pool: Pool) -> Floats:
    return np.asarray(AtLeast(form.rel)(pool.grade) / np.maximum(pool.relevant(form.rel), 1)[pool.query])


@singledispatch
def search_term(form: Form, ranks: int, value: Floats, gain: Floats, best: bool) -> SearchTerm | None:
    """Return the part of a search for the best (or worst) order of `ranks` documents, or None if no search is known.

    value: how much each intent counts. gain: what a document of each kind adds to each intent alone, [kind, intent].
    """
    return None


@search_term.register(Linear)
def search_term_of_linear(form: Linear, ranks: int, value: Floats, gain: Floats, best: bool) -> SearchTerm | None:
    from calipers.measures.forms.extreme_orders import Added

    falling = form.weight.falling(ranks, above=best)
    if falling is None:
        return None
    weight = form.weight.of_ranks(ranks)
    true = None if falling[1] else np.append(weight, np.zeros(ranks - len(weight)))
    return Added(falling[0], gain @ value, true)


@search_term.register(Cascade)
def search_term_of_cascade(form: Cascade, ranks: int, value: Floats, gain: Floats, best: bool) -> SearchTerm | None:
    from calipers.measures.forms.extreme_orders import Satisfied

    weight = form.weight.falling(ranks, above=best)
    return None if weight is None else Satisfied(weight[0], value, gain, exact=weight[1])


@search_term.register(Paired)
def search_term_of_paired(form: Paired, ranks: int, value: Floats, gain: Floats, best: bool) -> SearchTerm | None:
    from calipers.measures.forms.extreme_orders import Precise

    return Precise(value * gain.max(axis=0), np.asarray(gain > 0, np.float64))


@singledispatch
def fades_until(form: Form) -> int | None:
    """Return the rank down to which a document adds less if a document above it had a gain.

    0: what a document adds does not depend on the documents above it. None: it does at every rank.
    """
    return 0


@fades_until.register(Cascade)
def fades_until_of_cascade(form: Cascade) -> int | None:
    return form.weight.cutoff
