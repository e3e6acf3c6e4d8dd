"""Corrections for testing many pairs: adjusted p values, over the last axis. Undefined ones stay out of the count.

Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 1979.
Benjamini & Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical Society B 1995.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calipers.checks import check_choice, lower_case
from calipers.lists import Floats


def none(p: Floats) -> Floats:
    """No correction: each test for itself."""
    return np.array(p, dtype=np.float64)


def bonferroni(p: Floats) -> Floats:
    """m p: the chance of even one false alarm stays below alpha.

    >>> bonferroni(np.array([0.01, 0.2, np.nan])).tolist()
    [0.02, 0.4, nan]
    """
    return np.minimum(p * _tests(p), 1.0)


def holm(p: Floats) -> Floats:
    """(m - i + 1) p_(i), never falling: the same guarantee as Bonferroni's, with more power.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """

    def adjusted(ordered: Floats, rank: Floats, m: Floats) -> Floats:
        return np.asarray(np.maximum.accumulate(ordered * np.maximum(m - rank, 1), axis=-1))

    return _in_order(p, adjusted)


def benjamini_hochberg(p: Floats) -> Floats:
    """m p_(i) / i, never rising from the right: the expected share of false alarms among the alarms stays below alpha.

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
TIMES_TESTS = frozenset({"bonferroni", "holm"})  # which multiply the smallest p value by the number of tests
_OTHER_NAMES = {"fdr_bh": "bh", "benjamini-hochberg": "bh", "fdr": "bh"}


def correction_name(name: str | None) -> str:
    """Return the name of a correction as `CORRECTIONS` has it."""
    return check_choice("correction", "none" if name is None else lower_case(name), CORRECTIONS, _OTHER_NAMES)


def _tests(p: Floats) -> Floats:
    return np.asarray((~np.isnan(p)).sum(axis=-1, keepdims=True), dtype=np.float64)


def _in_order(p: Floats, adjust: Callable[[Floats, Floats, Floats], Floats]) -> Floats:
    """Adjust the ascending p values, and put them back in their places."""
    order = np.argsort(p, axis=-1)
    ordered = np.take_along_axis(p, order, axis=-1)
    undefined = np.isnan(ordered)
    rank = np.arange(p.shape[-1], dtype=np.float64)
    adjusted = np.minimum(adjust(np.where(undefined, np.inf, ordered), rank, _tests(p)), 1.0)
    result = np.empty_like(adjusted)
    np.put_along_axis(result, order, np.where(undefined, np.nan, adjusted), axis=-1)
    return result
