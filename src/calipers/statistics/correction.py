"""Corrections for testing many pairs: adjusted p values, over the last axis. Undefined p values are not counted.

Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 1979.
Benjamini & Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical Society B 1995.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.results.score_files import ScoresLike
from calipers.statistics.differences import differences_of_means, ratio, residual_deviation
from calipers.statistics.score_arrays import matrix
from calipers.statistics.significance import USUAL, Outcome, Settings
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


NODES = 160  # nodes of the quadrature in each of its two dimensions; enough for twelve digits


def dunnett(scores: ScoresLike, a: Ints, b: Ints, settings: Settings = USUAL) -> Outcome:
    """Compare every system with the baseline. The p values and intervals hold for all comparisons together.

    Queries that are undefined for any system are left out of every comparison. The effect is the difference in
    residual standard deviations of the two-way analysis of variance. If there are no residuals, because each system
    differs equally from the baseline on all queries, p, interval and effect of each difference other than 0 are
    undefined.

    >>> x = np.array([[0.9, 0.8, 0.7, 0.9], [0.1, 0.2, 0.1, 0.3], [0.2, 0.1, 0.3, 0.2]])
    >>> (dunnett(x, np.array([0, 2]), np.array([1, 1])).p < 0.05).tolist()
    [True, False]
    """
    if len(np.unique(b)) > 1 and len(np.unique(a)) > 1:
        raise CalipersError("Dunnett's test compares systems with one baseline: name it", parameter="baseline")
    used = np.unique(np.concatenate([a, b]))
    values = matrix(scores)
    complete = values[:, ~np.isnan(values[used]).any(axis=0)]
    n = complete.shape[1]
    if n < 2:
        raise CalipersError(
            "fewer than two queries are defined for every system, which Dunnett's test needs; leave out the systems "
            "that lack queries"
        )
    difference = differences_of_means(complete.mean(axis=1), a, b, np.abs(complete[used]).max())
    spread, freedom = residual_deviation(complete[used])
    error = spread * math.sqrt(2 / n)
    statistic = np.abs(ratio(difference, np.full(len(difference), error)))
    width = np.where(np.isnan(statistic), np.nan, critical_value(1 - settings.level, len(a), freedom) * error)
    return Outcome(
        difference=difference,
        low=difference - width,
        high=difference + width,
        p=np.where(statistic == 0, 1.0, beyond(statistic, len(a), freedom)),
        effect=ratio(difference, np.full(len(difference), spread)),
        n=np.full(len(difference), n),
    )


def beyond(statistic: Floats, comparisons: int, freedom: int) -> Floats:
    """Return Pr(max |T| >= statistic) over a number of comparisons with one baseline.

        1 - E over S, Z of (Phi(Z + sqrt(2) t S) - Phi(Z - sqrt(2) t S))^k,  S^2 ~ chi^2 / freedom, Z ~ N(0, 1)

    >>> round(float(beyond(np.array([2.0]), 1, 10)[0]), 6)      # one comparison: Student's two tails
    0.073388
    """
    from scipy.special import ndtr

    z, weight_z = _normal_nodes()
    s, weight_s = deviation_nodes(freedom)
    found = np.empty(len(statistic))
    for i, t in enumerate(statistic.tolist()):
        reach = math.sqrt(2) * t * s[:, None]
        inside = np.maximum(ndtr(z + reach) - ndtr(z - reach), 1e-300)
        missed = -np.expm1(comparisons * np.log(inside))
        found[i] = weight_s @ missed @ weight_z
    return np.clip(found, 0.0, 1.0)


def critical_value(alpha: float, comparisons: int, freedom: int) -> float:
    """Return the statistic that has the p value alpha."""
    from scipy.optimize import brentq

    def excess(t: float) -> float:
        return float(beyond(np.array([t]), comparisons, freedom)[0]) - alpha

    high = 2.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-10))


def _normal_nodes() -> tuple[Floats, Floats]:
    """Return nodes and weights for a standard normal variable."""
    x, weight = np.polynomial.legendre.leggauss(NODES)
    weight = weight * np.exp(-np.square(8.5 * x) / 2)
    return 8.5 * x, weight / weight.sum()


def deviation_nodes(freedom: int) -> tuple[Floats, Floats]:
    """Return nodes and weights for an estimated standard deviation in units of the true one: sqrt(chi^2 / freedom)."""
    from scipy.special import chdtri

    x, weight = np.polynomial.legendre.leggauss(NODES)
    low, high = (math.sqrt(chdtri(freedom, tail) / freedom) for tail in (1 - 1e-15, 1e-15))
    s = (high - low) / 2 * x + (high + low) / 2
    logarithm = (freedom - 1) * np.log(s) - freedom * np.square(s) / 2  # of the density, up to a constant factor
    weight = weight * np.exp(logarithm - logarithm.max())
    return s, weight / weight.sum()
