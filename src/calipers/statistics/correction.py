"""Corrections for testing many pairs: adjusted p values, over the last axis. Undefined p values are not counted.

Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 1979.
Benjamini & Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical Society B 1995.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calipers.lists import Floats
from calipers.support.checks import check_choice, lower_case


def none(p: Floats) -> Floats:
    """Return the p values without a correction."""
    return np.array(p, dtype=np.float64)


def bonferroni(p: Floats) -> Floats:
    """Return m p for m tests: the probability of any false alarm stays below alpha.

    >>> bonferroni(np.array([0.01, 0.2, np.nan])).tolist()
    [0.02, 0.4, nan]
    """
    return np.minimum(p * _tests(p), 1.0)


def holm(p: Floats) -> Floats:
    """Return the running maximum of (m - i + 1) p_(i): the guarantee of Bonferroni's correction, with more power.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """

    def adjusted(ordered: Floats, rank: Floats, m: Floats) -> Floats:
        return np.asarray(np.maximum.accumulate(ordered * np.maximum(m - rank, 1), axis=-1))

    return _in_order(p, adjusted)


def benjamini_hochberg(p: Floats) -> Floats:
    """Return the running minimum, from the largest p, of m p_(i) / i.

    The expected share of false alarms among the significant tests stays below alpha.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.04, 0.04]
    """

    def adjusted(ordered: Floats, rank: Floats, m: Floats) -> Floats:
        scaled = ordered * m / (rank + 1)
        return np.asarray(np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1])

    return _in_order(p, adjusted)


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "none": none,
    "bonferroni": bonferroni,
    "holm": holm,
    "bh": benjamini_hochberg,
}
TIMES_TESTS = frozenset({"bonferroni", "holm"})  # corrections that multiply the smallest p by the number of tests
_OTHER_NAMES = {"fdr_bh": "bh", "benjamini-hochberg": "bh", "fdr": "bh"}


def correction_name(name: str | None) -> str:
    """Return the name of a correction as `CORRECTIONS` has it."""
    return check_choice("correction", "none" if name is None else lower_case(name), CORRECTIONS, _OTHER_NAMES)


def _tests(p: Floats) -> Floats:
    return np.asarray((~np.isnan(p)).sum(axis=-1, keepdims=True), dtype=np.float64)


def _in_order(p: Floats, adjust: Callable[[Floats, Floats, Floats], Floats]) -> Floats:
    """Adjust the sorted p values, and return them in the original order."""
    order = np.argsort(p, axis=-1)
    ordered = np.take_along_axis(p, order, axis=-1)
    undefined = np.isnan(ordered)
    rank = np.arange(p.shape[-1], dtype=np.float64)
    adjusted = np.minimum(adjust(np.where(undefined, np.inf, ordered), rank, _tests(p)), 1.0)
    result = np.empty_like(adjusted)
    np.put_along_axis(result, order, np.where(undefined, np.nan, adjusted), axis=-1)
    return result
