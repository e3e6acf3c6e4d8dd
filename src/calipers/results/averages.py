"""Correctly rounded sums and means, which do not depend on the order of the terms.

The exact sum of doubles is represented by a few doubles without overlap. `math.fsum`, which rounds correctly, computes
the remainder after each of them (Shewchuk, Adaptive precision floating-point arithmetic and fast robust geometric
predicates, Discrete & Computational Geometry 1997).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np

from calipers.lists import Floats


def expansion(values: Sequence[float]) -> list[float]:
    """Return a few numbers with exactly the same sum as the values.

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
    """Return the sum, rounded once."""
    return _divided(values, 1)


def mean(values: Sequence[float], count: int | None = None) -> float:
    """Return the mean, rounded once, or NaN if there are no values.

    count: the number of original values, if `values` is their `expansion`.

    >>> mean([0.1, 0.2, 0.3]), sum([0.1, 0.2, 0.3]) / 3
    (0.2, 0.20000000000000004)
    """
    count = len(values) if count is None else count
    return _divided(values, count) if count else math.nan


def known_mean(values: Floats, axis: int) -> Floats:
    """Return the mean of the values that are not NaN along an axis. The mean is NaN if all values are.

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
    except (OverflowError, ValueError):  # an infinite value, or a sum that is too large for a double
        return sum(value / count for value in values)
