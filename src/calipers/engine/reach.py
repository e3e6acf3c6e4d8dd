"""How deep a measure looks into a list: what is below need not be moved, sorted or sent.

A document that has k documents above it by score alone (its tie starts below rank k) cannot change a measure that
reads the first k ranks: such rows may be dropped before anything else is done with them. The rest of a tie that
starts at or above rank k must stay whole, for a measure averages over all its orders.
"""

from __future__ import annotations

from collections.abc import Iterable

from calipers.limits.normalisation import Normalised
from calipers.measures.forms import (
    CUTOFF,
    IDEAL,
    IDEAL_TO_THE_END,
    RELEVANT,
    TOTAL_WEIGHT,
    Cascade,
    Complement,
    Denominator,
    Form,
    Linear,
    Mixture,
    Paired,
    Peak,
    SelfNormalisedGain,
    SelfNormalisedPrecision,
    Share,
    Smaller,
    TotalValue,
    ZeroIfShort,
)
from calipers.measures.precision import WhereRelevant
from calipers.measures.values import Weights

# These depend on the pool alone, or, as the last one, on whether a list ends before the cutoff of the form.
_OF_THE_POOL = (RELEVANT, TotalValue, CUTOFF)
_FUNCTIONS = (IDEAL, TOTAL_WEIGHT, IDEAL_TO_THE_END)


def reach(form: Form) -> int | None:
    """The rank below which a form reads nothing, neither documents nor how many there are; None where it reads all.

    >>> import calipers as cal
    >>> reach(cal.parse("nDCG@10").form), reach(cal.parse("V2(AP@100)").form), reach(cal.parse("AP").form)
    (10, 100, None)
    """
    kind = type(form)  # a form that derives from one of these may read more
    if isinstance(form, Normalised):
        # Bounds over what a list retrieved need all of it, and a collection must not be smaller than the list.
        return reach(form.base) if form.population == "pool" else None
    if isinstance(form, Share):
        return reach(form.of) if _of_the_pool(form.by) else None
    if isinstance(form, ZeroIfShort):
        inner = reach(form.of)
        return None if inner is None else max(inner, form.cutoff)
    if isinstance(form, Complement):
        return reach(form.of)
    if isinstance(form, Mixture):
        return deepest(part for _, part in form.parts)
    if kind in (Linear, Cascade, SelfNormalisedGain):
        weight: Weights = form.weight  # type: ignore[attr-defined]  # they have it
        return weight.cutoff
    if kind in (Paired, Peak, SelfNormalisedPrecision):
        cutoff: int | None = form.cutoff  # type: ignore[attr-defined]  # likewise
        return cutoff
    return None


def deepest(forms: Iterable[Form]) -> int | None:
    """The reach of several forms together."""
    found = [reach(form) for form in forms]
    return None if not found or None in found else max(depth for depth in found if depth is not None)


def _of_the_pool(by: Denominator) -> bool:
    if isinstance(by, Smaller):
        return _of_the_pool(by.one) and _of_the_pool(by.other)
    if isinstance(by, WhereRelevant):
        return _of_the_pool(by.of) and _of_the_pool(by.relevant)
    return isinstance(by, _OF_THE_POOL) or any(by is function for function in _FUNCTIONS)
