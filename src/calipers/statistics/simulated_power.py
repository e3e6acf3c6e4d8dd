"""Simulated power of a test that has no closed form: experiments are drawn from the pilot and tested.

An experiment is a pair of systems, drawn at random, and n of its paired differences, drawn with replacement. Their mean
is subtracted, they are multiplied by sqrt(n0 / (n0 - 1)) so that their variance is that of the pilot, and the
difference to detect is added. The power is measured at a few sizes around the answer. A probit line is fitted to these
points, and the answer is where the line has the wanted power. This needs far fewer experiments than a search. The
standard error of the answer is that of the line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.statistics.differences import Differences
from calipers.statistics.significance import TESTS, Settings

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
