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
from dataclasses import dataclass

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.statistics.correction import deviation_nodes
from calipers.statistics.differences import Differences, all_pairs, differences_of, root_of_squares
from calipers.statistics.significance import TESTS, Settings

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


SIMULATED = ("randomization", "bootstrap")
EXPERIMENTS = (80, 400)  # fewest and most experiments at each size; fewer if they are large
WORK = 200_000_000  # experiments x samples x queries at each size
BATCHES = 4  # batches of experiments, each with its own samples; fewer if drawing takes long
DRAWN = 1_000_000  # samples x queries drawn at each size
SAMPLES = 1_000  # samples of each test; more if a small alpha needs them
MOST_SAMPLES = 20_000
AROUND = (0.75, 0.87, 1.0, 1.15, 1.3)  # sizes as shares of the expected answer
ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Pilot:
    """Centred differences of each pair of systems in the pilot."""

    centred: Floats  # [pair, query]; shared queries come first
    size: Ints  # number of shared queries of each pair

    @classmethod
    def of(cls, values: Floats, a: Ints, b: Ints) -> Pilot:
        differences = Differences.of(values, a, b)
        enough = np.flatnonzero(differences.n > 1)
        if not len(enough):
            raise CalipersError("no two systems share two queries: there is nothing to draw experiments from")
        n = differences.n[enough]
        first = np.argsort(~differences.shared[enough], axis=1, kind="stable")
        centred = np.take_along_axis(differences.centred[enough], first, axis=1)
        return cls(centred * np.sqrt(n / (n - 1))[:, None], n)

    def drawn(self, experiments: int, n: int, random: np.random.Generator) -> Floats:
        """Draw the differences of some experiments, with mean 0: [experiment, query]."""
        pair = random.integers(0, len(self.size), experiments)
        place = (random.random((experiments, n)) * self.size[pair][:, None]).astype(np.int64)
        return self.centred[pair[:, None], place]


@dataclass(frozen=True)
class Estimate:
    """A figure with the standard error of its simulation."""

    value: float
    error: float
    experiments: int = 0


@dataclass(frozen=True, eq=False)
class SimulatedExperiments:
    """Simulated experiments with one test."""

    pilot: Pilot
    test: str
    alpha: float
    seed: int
    samples: int

    @classmethod
    def of(cls, pilot: Pilot, test: str, alpha: float, seed: int, samples: int | None = None) -> SimulatedExperiments:
        least = math.ceil(10 / alpha)  # with fewer samples, p would hardly ever be below alpha
        if samples is not None and samples + 1 < 1 / alpha:
            raise CalipersError(f"{samples} samples cannot show a p value below {alpha:.2g}; give at least {least}")
        if samples is None and least > MOST_SAMPLES:
            raise CalipersError(
                f"with alpha {alpha:.2g} for each pair, the {test} test needs {least} samples in each experiment; plan "
                "with the t test, or for fewer pairs"
            )
        return cls(pilot, test, alpha, seed, max(SAMPLES, least) if samples is None else samples)

    def power(self, difference: float, n: int) -> Estimate:
        """Return the share of experiments in which the test detects this difference."""
        fewest, most = EXPERIMENTS
        batches = min(max(DRAWN // (self.samples * n), 1), BATCHES)
        rows = min(max(WORK // (self.samples * n), fewest), most) // batches
        random = np.random.default_rng([self.seed, n])
        found = 0
        for batch in range(batches):
            drawn = self.pilot.drawn(rows, n, random) + difference
            systems = np.concatenate([drawn, np.zeros((1, n))])
            settings = Settings(0.95, self.samples, self.seed + 1 + batch)
            p = TESTS[self.test](systems, np.arange(rows), np.full(rows, rows), settings).p
            found += int((p < self.alpha).sum())
        total = rows * batches
        share = found / total
        return Estimate(share, math.sqrt(max(share * (1 - share), 0.5 / total) / total), total)

    def queries(self, difference: float, power: float, expected: int) -> Estimate:
        """Return the number of queries that gives the power. The search starts at `expected`."""

        def at(root: float) -> Estimate:
            return self.power(difference, max(3, round(root * root)))

        found = _crossing(at, power, math.sqrt(max(expected, 4)), lowest=math.sqrt(3))
        return Estimate(found.value**2, 2 * found.value * found.error)

    def difference(self, n: int, power: float, expected: float) -> Estimate:
        """Return the difference that n queries detect with this power. The search starts at `expected`."""
        return _crossing(lambda difference: self.power(difference, n), power, expected)


def _crossing(at: Callable[[float], Estimate], power: float, expected: float, lowest: float = 0.0) -> Estimate:
    """Return the place where a probit line, fitted to powers around the expected place, has the wanted power."""
    from scipy.special import ndtr, ndtri

    wanted = float(ndtri(power))
    points: dict[float, Estimate] = {}
    for _ in range(ROUNDS):
        for share in AROUND:
            place = max(expected * (math.sqrt(share) if lowest else share), lowest)
            points[place] = at(place)
        x, total = np.array(list(points)), np.array([each.experiments for each in points.values()])
        p = np.clip([each.value for each in points.values()], 0.5 / total, 1 - 0.5 / total)
        z = ndtri(p)
        density = np.exp(-np.square(z) / 2) / math.sqrt(2 * math.pi)
        weight = total * np.square(density) / (p * (1 - p))
        design = np.stack([np.ones(len(x)), x], axis=1)
        spread = np.linalg.pinv(design.T * weight @ design)
        a, b = spread @ (design.T * weight @ z)
        if b > 0:
            found = float((wanted - a) / b)
            if found <= lowest and p.min() >= power:  # even the smallest size has more power
                return Estimate(lowest, 0.0)
            if x.min() * 0.9 <= found <= x.max() * 1.1:
                gradient = np.array([-1 / b, -found / b])
                return Estimate(found, math.sqrt(float(gradient @ spread @ gradient)))
            expected = min(max(found, 0.5 * expected, lowest), 2 * expected)
        else:
            expected *= 2 if float(ndtr(z.mean())) < power else 0.5
    raise CalipersError(
        f"the simulated power does not reach {power:g}: the pilot may have too few queries; use a larger pilot or a "
        "design in closed form (t, anova, anova2)"
    )
