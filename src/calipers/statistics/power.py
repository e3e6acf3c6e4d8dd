"""The power of a planned test, in closed form.

    t       two-sided paired t:    Pr(|T'_{n-1}| > t_{1-alpha/2, n-1}),  T' noncentral by D sqrt(n) / s
            (one-sided, for a gate: Pr(T'_{n-1} > t_{1-alpha, n-1}))
    anova   one-way, m systems:    Pr(F'_{m-1, m(n-1)} > F_{1-alpha}),  F' noncentral by n D^2 / (2 sigma^2)
    anova2  queries as blocks:     as anova, with (m - 1)(n - 1) error degrees of freedom

D is the difference of the two systems, or of the best and the worst of m systems with all others midway, which is the
case that is hardest to detect. s is the standard deviation of the paired differences. sigma is the standard deviation
of the scores within a system (one-way), or of the residuals without the effects of systems and queries (two-way), where
s^2 = 2 sigma^2.

Sakai, Topic set size design, Information Retrieval Journal 2016. Cohen, Statistical power analysis for the behavioral
sciences, 1988.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.statistics.differences import all_pairs, differences_of, root_of_squares
from calipers.statistics.correction import deviation_nodes

MOST_QUERIES = 2**50


def power_t(effect: float, n: int, alpha: float, systems: int = 2) -> float:
    """Return the power of the two-sided paired t test on n queries. effect: the difference in standard deviations.

    >>> round(power_t(0.5, 34, 0.05), 6)
    0.807778
    """
    from scipy.special import nctdtr, stdtrit

    critical = -float(stdtrit(n - 1, alpha / 2))  # 1 - alpha / 2 would lose the digits of a small alpha
    shift = effect * math.sqrt(n)
    if shift > critical + 40:  # the power rounds to 1
        return 1.0
    right = float(nctdtr(n - 1, -shift, -critical))
    left = float(nctdtr(n - 1, shift, -critical))
    if math.isnan(right):  # happens with two queries and a tiny alpha
        return _integrated(shift, n - 1, critical)
    return right + (0.0 if math.isnan(left) else left)  # NaN if the tail is too small for the series


def power_one_sided(effect: float, n: int, alpha: float, systems: int = 2) -> float:
    """Return the power of the one-sided paired t test: Pr(T'_{n-1} > t_{1-alpha, n-1}).

    >>> round(power_one_sided(0.5, 27, 0.05), 6)
    0.811832
    """
    from scipy.special import nctdtr, stdtrit

    critical = -float(stdtrit(n - 1, alpha))
    shift = effect * math.sqrt(n)
    if shift > critical + 40:  # the power rounds to 1
        return 1.0
    right = float(nctdtr(n - 1, -shift, -critical))
    return _integrated(shift, n - 1, critical, both=False) if math.isnan(right) else right


def _integrated(shift: float, freedom: int, critical: float, both: bool = True) -> float:
    """Return Pr(|T'| > critical), or Pr(T' > critical), as an integral over the estimated standard deviation."""
    from scipy.special import ndtr

    s, weight = deviation_nodes(freedom)
    return float(weight @ (ndtr(shift - critical * s) + (ndtr(-shift - critical * s) if both else 0.0)))


def power_anova(effect: float, n: int, alpha: float, systems: int) -> float:
    """Return the power of the one-way analysis of variance on n queries. effect: the range in standard deviations.

    >>> round(power_anova(0.5, 60, 0.05, 3), 6)
    0.679747
    """
    return _power_f(effect, n, alpha, systems, systems * (n - 1))


def power_anova2(effect: float, n: int, alpha: float, systems: int) -> float:
    """Return the power of the two-way analysis of variance on n queries, with queries as blocks."""
    return _power_f(effect, n, alpha, systems, (systems - 1) * (n - 1))


def _power_f(effect: float, n: int, alpha: float, systems: int, freedom: int) -> float:
    from scipy.special import betaincinv, ncfdtr

    shift = n * effect**2 / 2
    share = float(betaincinv(freedom / 2, (systems - 1) / 2, alpha))  # upper tail of F from lower tail of beta
    critical = freedom / (systems - 1) * (1 - share) / share
    below = float(ncfdtr(systems - 1, freedom, shift, critical))
    if math.isnan(below):  # too far in a tail for the series
        below = float(shift < (systems - 1) * critical)
    return 1.0 - below


Power = Callable[[float, int, float, int], float]
DESIGNS: dict[str, Power] = {"t": power_t, "anova": power_anova, "anova2": power_anova2}


def smallest_n(effect: float, power: float, alpha: float, design: str | Power = "t", systems: int = 2) -> int:
    """Return the smallest number of queries with at least this power. effect: the difference in standard deviations.

    >>> smallest_n(0.5, 0.8, 0.05)
    34
    """
    of = DESIGNS[design] if isinstance(design, str) else design
    if effect == math.inf:
        return 2
    low, high = 1, 2
    while of(effect, high, alpha, systems) < power:
        low, high = high, 2 * high
        if high > MOST_QUERIES:
            raise CalipersError(f"the difference is too small: it needs more than {MOST_QUERIES:,} queries")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if of(effect, middle, alpha, systems) >= power else (middle, high)
    return high


def smallest_effect(n: int, power: float, alpha: float, design: str = "t", systems: int = 2) -> float:
    """Return the smallest difference, in standard deviations, that n queries detect with this power.

    >>> round(smallest_effect(34, 0.8, 0.05), 4)
    0.495
    """
    of = DESIGNS[design]
    low, high = 0.0, 1.0
    while of(high, n, alpha, systems) < power:
        low, high = high, 2 * high
        if high == math.inf:
            raise CalipersError(f"{n} queries detect no difference with alpha {alpha:g}; plan with a larger alpha")
    while low < (middle := (low + high) / 2) < high:  # until no double lies between low and high
        low, high = (low, middle) if of(middle, n, alpha, systems) >= power else (middle, high)
    return high


# -- standard deviation of the pilot -----------------------------------------------------------------------------------


def deviation(values: Floats, design: str) -> tuple[float, int]:
    """Return the standard deviation that a design needs, from scores of system x query, and its degrees of freedom.

    For the t test it is the standard deviation of the paired differences. With more than two systems it is the root
    mean square over all pairs, with the degrees of freedom of one pair.
    """
    defined = ~np.isnan(values)
    if design == "anova":
        n = defined.sum(axis=1)
        enough = n > 1
        with np.errstate(invalid="ignore"):
            mean = np.where(defined, values, 0.0).sum(axis=1) / np.maximum(n, 1)
        own = root_of_squares(np.where(defined, values - mean[:, None], 0.0))[enough] / np.sqrt(n[enough] - 1)
        return _root_mean_square(own), int((n[enough] - 1).sum())
    a, b = all_pairs(len(values))
    found = [*differences_of(values, a, b)]
    deviations = np.concatenate([each.deviation for each in found])
    most = int(max(each.n.max(initial=0) for each in found))
    s = _root_mean_square(deviations[~np.isnan(deviations)])
    return (s, most - 1) if design != "anova2" else (s / math.sqrt(2), (len(values) - 1) * (most - 1))


def _root_mean_square(values: Floats) -> float:
    return float(root_of_squares(values[None])[0]) / math.sqrt(len(values)) if len(values) else math.nan


def upper_limit(freedom: int, level: float) -> float:
    """Return the upper confidence limit of a standard deviation as a multiple of its estimate.

        sqrt(freedom / chi^2_{1-level, freedom})

    >>> round(0.2 * upper_limit(49, 0.8), 4)
    0.2199
    """
    from scipy.special import chdtri

    return math.sqrt(freedom / float(chdtri(freedom, level)))
