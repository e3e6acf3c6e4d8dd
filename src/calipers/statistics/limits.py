"""Limits of the mean of bounded values, for decisions that promise an error of at most alpha.

    lower limit = alpha-quantile of  w_1 x_1 + ... + w_n x_n + w_{n+1} worst,  w ~ Dirichlet(1, ..., 1) of n + 1 parts

is the mean, under random weights, of the values and of one unseen query with the worst possible value. No variance is
estimated, so that values without spread are not taken for certainty. For values of two kinds it is the limit of Clopper
and Pearson, and for n equal values x it is worst + (x - worst) alpha^(1/n). That its error is at most alpha is proved
for values of two kinds, and no case with a larger error is known for others. Only one end of the range is needed: the
lower limit needs the lowest possible value, the upper limit the highest.

The quantile is computed, not drawn. A sum of values with Dirichlet weights is at most t if the sum of the differences
x_j - t with weights from Gamma(m_j) is at most 0, where m_j copies have the value x_j. Its moment generating function
is M(s), so that

    Pr(sum w x <= t) = -(1 / (2 pi i)) integral of M(s) / s ds,  M(s) = prod_j (1 - (x_j - t) s)^(-m_j)

along any path from -i infinity to i infinity that crosses the real axis at some c < 0 in the domain of M. This path
crosses at the saddle point, where M(c) / |c| is smallest, and goes on in straight pieces, each in the direction in
which |M(s) / s| falls fastest, so that nothing oscillates. Its two halves are mirror images.

Gaffke, Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable, 2005.
Phan, Thomas & Learned-Miller, Towards practical mean bounds for small samples, ICML 2021.
Lugannani & Rice, Saddle point approximation for the distribution of the sum of independent random variables, 1980.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from calipers.errors import CalipersError
from calipers.lists import Floats

ABSCISSAS, WEIGHTS = np.polynomial.legendre.leggauss(16)  # Gauss's rule, for each piece of the path
REACH = 0.7  # the longest piece of the path, in distances to the nearest singularity
FALL = 4.0  # log |M(s) / s| falls by about this much along a piece, if its length allows
NEGLIGIBLE = 1e-17  # of the integral
HALVINGS = 40  # of the interval in which the saddle point is; any point inside gives the same integral
MOST_QUERIES = 1_000_000


def dirichlet_cdf(threshold: float, points: Floats, copies: Floats) -> float:
    """Return the probability that the mean of the points, with weights from Dirichlet(copies), is at most a threshold.

    copies: a positive number for each point, not necessarily whole, with a sum of at least 1. The order of the points
        does not matter.

    >>> round(dirichlet_cdf(0.5, np.array([0.0, 1.0]), np.array([2.0, 1.0])), 12)  # Pr(Beta(1, 2) <= 1/2)
    0.75
    """
    order = np.lexsort((copies, points))
    away, copies = (points - threshold)[order], copies[order]
    if away[0] >= 0:
        return float(away[-1] == 0)
    if away[-1] <= 0:
        return 1.0
    away = away / -away[0]  # so that M is defined for -1 < c < 0
    negative = away < 0
    low = 1 / (1 - (copies * away)[negative].sum())
    high = 1 - 1 / (1 + (1 + copies[away > 0].sum()) / copies[0])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        before = (copies * away * middle / (1 + away * middle)).sum() > -1  # the derivative of log M(s) / |s|, times s
        low, high = (middle, high) if before else (low, middle)
    c = -(low + high) / 2
    at_saddle = float(-(copies * np.log1p(-away * c)).sum()) - math.log(-c)
    total, s, direction = 0.0, complex(c), 1j
    singular = np.append(1 / away[away != 0], 0.0)
    while True:
        ratios = away / (1 - away * s)
        slope = complex((copies * ratios).sum() - 1 / s)  # of log M(s) / s, and its derivative
        bend = complex((copies * ratios**2).sum() + (1 / s) ** 2)
        length = min(REACH * np.abs(s - singular).min(), math.sqrt(2 * FALL / abs(bend)))
        if s.imag > 0:
            direction = -slope.conjugate() / abs(slope)
            length = min(length, FALL / abs(slope))
        places = s + direction * length * (1 + ABSCISSAS) / 2
        log_m = -(copies * np.log(1 - away * places[:, None])).sum(axis=1)
        heights = np.exp(log_m - np.log(-places) - at_saddle)
        total += float(((WEIGHTS * heights).sum() * direction).imag) * length / 2
        s += direction * length
        if abs(heights[-1] * (s - c)) <= NEGLIGIBLE * total:
            return float(min(max(total / math.pi * math.exp(at_saddle), 0.0), 1.0))


def lower_limit(values: ArrayLike, worst: float, alpha: float) -> float:
    """Return the lower limit of the mean behind the values, with an error of at most alpha.

    worst: the lowest possible value.

    >>> round(lower_limit([1.0] * 10, 0.0, 0.05), 4) == round(0.05 ** (1 / 10), 4)
    True
    """
    points, copies = _with_unseen(values, worst)
    if len(points) == 1:
        return float(worst)
    from scipy.optimize import brentq

    width = points[-1] - points[0]
    share = brentq(lambda share: dirichlet_cdf(worst + share * width, points, copies) - alpha, 0.0, 1.0, xtol=1e-14)
    return float(worst + share * width)


def upper_limit(values: ArrayLike, best: float, alpha: float) -> float:
    """Return the upper limit of the mean behind the values, with an error of at most alpha.

    best: the highest possible value.

    >>> round(upper_limit([0.0] * 25, 1.0, 0.05), 3)  # nothing changed on 25 queries: up to 11% of others could
    0.113
    """
    return -lower_limit(-np.asarray(values, dtype=float), -best, alpha)


def shown_above(values: ArrayLike, threshold: float, worst: float, alpha: float) -> bool:
    """Return True if the lower limit is above the threshold: the mean behind the values is shown to be above it.

    >>> shown_above([1.0] * 28, 0.9, 0.0, 0.05), shown_above([1.0] * 29, 0.9, 0.0, 0.05)
    (False, True)
    """
    return dirichlet_cdf(threshold, *_with_unseen(values, worst)) < alpha


def shown_below(values: ArrayLike, threshold: float, best: float, alpha: float) -> bool:
    """Return True if the upper limit is below the threshold: the mean behind the values is shown to be below it."""
    return shown_above(-np.asarray(values, dtype=float), -threshold, -best, alpha)


def queries_to_show(value: float, threshold: float, worst: float, alpha: float) -> int | None:
    """Return the fewest queries that show a mean above the threshold if all of their values are equal.

        smallest n with worst + (value - worst) alpha^(1/n) > threshold

    With the highest possible value, no result on fewer queries can show it. None: no number of queries can.

    >>> [queries_to_show(0.0, -drop, -1.0, 0.05) for drop in (0.01, 0.02, 0.05, 0.1)]  # differences that are all 0
    [299, 149, 59, 29]
    """
    if threshold >= value:
        return None
    if threshold <= worst:
        return 1
    return math.floor(math.log(alpha) / math.log((threshold - worst) / (value - worst))) + 1


def queries_needed(values: ArrayLike, threshold: float, worst: float, alpha: float, power: float) -> int | None:
    """Return the number of queries that would probably show that the mean is above the threshold.

    The smallest N, at least the number n of the values, with

        Pr(sum w x <= threshold + z_power s / sqrt(N)) < alpha,  w ~ Dirichlet(N/n, ..., N/n, 1)

    where s is the standard deviation of the values. None: the mean is not above the threshold, there are fewer than two
    values, or the number is above 1,000,000.

    >>> queries_needed([0.0] * 50, -0.02, -1.0, 0.05, 0.8)
    149
    """
    from scipy.special import ndtri

    values = np.sort(np.asarray(values, dtype=float))
    n = len(values)
    if n < 2 or values.mean() <= threshold:
        return None
    shift = float(ndtri(power)) * values.std(ddof=1) * (values[0] < values[-1])
    points, copies = np.unique(values, return_counts=True)
    points = np.append(points, worst)

    def enough(queries: int) -> bool:
        weights = np.append(copies * (queries / n), 1.0)
        return dirichlet_cdf(threshold + shift / math.sqrt(queries), points, weights) < alpha

    low, high = n - 1, n
    while not enough(high):
        low, high = high, 2 * high
        if low >= MOST_QUERIES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high if high <= MOST_QUERIES else None


def _with_unseen(values: ArrayLike, worst: float) -> tuple[Floats, Floats]:
    """Return the values and the worst possible value, with the number of copies of each."""
    points, copies = np.unique(np.append(np.asarray(values, dtype=float), worst), return_counts=True)
    if not (np.isfinite(points).all() and points[0] == worst):
        raise CalipersError(f"the values must be numbers of at least {worst:g}, the lowest possible value")
    return points, copies.astype(float)
