"""Sums and means that are correctly rounded, so that they do not depend on who adds, in which order, or on what else.

The exact sum of doubles is held as a few doubles without overlap; what is left after each is found by `math.fsum`,
which rounds correctly (Shewchuk, Adaptive precision floating-point arithmetic and fast robust geometric predicates,
Discrete & Computational Geometry 1997).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np

from calipers.lists import Floats


def expansion(values: Sequence[float]) -> list[float]:
    """A few numbers with exactly the same sum.

    >>> expansion([0.1] * 10)
    [1.0, 5.551115123125783e-17]
    """
    parts: list[float] = []
    while rest := math.fsum(chain(values, (-part for part in parts))):
        parts.append(rest)
        if not math.isfinite(rest):
            break
    return parts


def total(values: Sequence[float]) -> float:
    """The sum, rounded once."""
    return _divided(values, 1)


def mean(values: Sequence[float], count: int | None = None) -> float:
    """The mean, rounded once; `count`: of how many, where the values are their `expansion`. NaN of nothing.

    >>> mean([0.1, 0.2, 0.3]), sum([0.1, 0.2, 0.3]) / 3
    (0.2, 0.20000000000000004)
    """
    count = len(values) if count is None else count
    return _divided(values, count) if count else math.nan


def known_mean(values: Floats, axis: int) -> Floats:
    """Return the mean along an axis of the values that are not NaN. NaN where all are.

    >>> known_mean(np.array([[1.0, np.nan], [2.0, np.nan]]), axis=0)
    array([1.5, nan])
    """
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    sums = np.where(known, values, 0.0).sum(axis=axis)
    return np.asarray(np.divide(sums, count, out=np.full(np.shape(sums), np.nan), where=count > 0))


def _divided(values: Sequence[float], count: int) -> float:
    try:
        ratios = [part.as_integer_ratio() for part in expansion(values)]
        below = max((denominator for _, denominator in ratios), default=1)  # all are powers of two
        return sum(above * (below // denominator) for above, denominator in ratios) / (below * count)
    except (OverflowError, ValueError):  # an infinite value, or a sum that no double holds
        return sum(value / count for value in values)
