"""How often each test errs, and how often it finds a difference: `python -m benchmarks.error_rates [--collections N]`.

Collections have a fixed seed. A score is 1 / (1 + exp(-(difficulty of the query + luck of the system on it))):
between 0 and 1, skewed where queries are hard, and correlated between systems. Under the null hypothesis systems are
exchangeable; else the first has gained what is to be found. A test of many pairs errs where any pair is significant,
and finds a difference where the pair that has one is. Alpha is 0.05 throughout. research/error_rates.md has the table.

Sampled tests draw so many samples that 5% of them and the observed one are just above a whole number: fewer would lose
up to half a percent to "below alpha".
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import publish
from calipers.questions.plan.repeats import repeated_runs
from calipers.results.score_files import as_scores
from calipers.statistics.correction import critical_value
from calipers.statistics.differences import residual_deviation
from calipers.statistics.equivalence_tests import bayes, non_inferiority_limits, p_equivalence
from calipers.statistics.power import power_t
from calipers.statistics.significance import TESTS, Settings, tukey

ALPHA = 0.05
COLLECTIONS = 10_000
QUERIES = 50
EFFECT = 0.4  # the difference to be found, in standard deviations of the paired differences
AT_ONCE = 500  # collections that share the samples of a test
Array = np.ndarray


@dataclass(frozen=True)
class Rate:
    """The share of collections in which a test is significant: without a difference, and with one."""

    test: str
    design: str
    error: float
    power: float
    claimed: bool = True  # whether the test claims to err in 5% of collections, neither more nor less


def drawn(random: np.random.Generator, collections: int, systems: int, queries: int) -> Array:
    """Scores of exchangeable systems: [collection, system, query]."""
    difficulty = random.normal(-0.5, 1.2, (collections, 1, queries))
    return 1 / (1 + np.exp(-(difficulty + random.normal(0, 0.8, (collections, systems, queries)))))


def deviation() -> float:
    """The standard deviation of the paired differences of such scores."""
    scores = drawn(np.random.default_rng(1), 2_000, 2, QUERIES)
    return float((scores[:, 0] - scores[:, 1]).std())


def stacked(scores: Array) -> tuple[Array, Array, Array]:
    """Two systems of each collection as pairs among many systems."""
    count = len(scores)
    return scores.reshape(2 * count, -1), np.arange(0, 2 * count, 2), np.arange(1, 2 * count, 2)


def shares(
    collections: int,
    found: Callable[[Array, int], Array],
    gain: float,
    systems: int = 2,
    queries: int = QUERIES,
    null: float = 0.0,
    seed: int = 42,
) -> tuple[float, float]:
    """How often something is found where the first system has gained `null`, and where it has gained `gain`."""
    random = np.random.default_rng(seed)
    hits = [0, 0]
    for start in range(0, collections, AT_ONCE):
        scores = drawn(random, min(AT_ONCE, collections - start), systems, queries)
        for i, moved in enumerate((null, gain)):
            changed = scores.copy()
            changed[:, 0] += moved
            hits[i] += int(found(changed, start).sum())
    return hits[0] / collections, hits[1] / collections


def pairwise(collections: int, sd: float) -> list[Rate]:
    design = f"2 systems, {QUERIES} queries"
    rates = []
    for name in ("t", "wilcoxon", "sign", "randomization", "bootstrap"):

        def significant(scores: Array, start: int, name: str = name) -> Array:
            return TESTS[name](*stacked(scores), Settings(samples=1001, seed=start)).p < ALPHA

        rates.append(Rate(name, design, *shares(collections, significant, EFFECT * sd), name != "sign"))

    def better(scores: Array, start: int) -> Array:
        return bayes(*stacked(scores), Settings(rope=0.01)).p < ALPHA

    rates.append(Rate("bayes, P > 0.95, rope 0.01", design, *shares(collections, better, EFFECT * sd), False))
    return rates


def many(collections: int, sd: float) -> list[Rate]:
    systems, queries = 4, 20
    design = f"{systems} systems, {queries} queries"
    pairs = np.triu_indices(systems, 1)
    lowest: list[Array] = []

    def by_tukey(scores: Array, start: int) -> Array:
        p = np.array([tukey(each, *pairs, Settings(samples=201, seed=start + i)).p for i, each in enumerate(scores)])
        lowest.append(p[:, 0] < ALPHA)  # the first two systems
        return np.asarray((p < ALPHA).any(axis=1))

    error, _ = shares(collections, by_tukey, sd, systems, queries)
    rates = [Rate("tukey", design, error, float(np.concatenate(lowest[1::2]).mean()))]
    critical = critical_value(ALPHA, systems - 1, (systems - 1) * (queries - 1))
    first: list[Array] = []

    def by_dunnett(scores: Array, start: int) -> Array:
        mean = scores.mean(axis=2)
        spread = np.array([residual_deviation(each)[0] for each in scores]) * np.sqrt(2 / queries)
        found = np.abs(mean[:, :-1] - mean[:, -1:]) > critical * spread[:, None]
        first.append(found[:, 0])
        return found.any(axis=1)

    error, _ = shares(collections, by_dunnett, sd, systems, queries)
    rates.append(Rate("dunnett", design, error, float(np.concatenate(first[1::2]).mean())))
    return rates


def margins(collections: int, sd: float) -> list[Rate]:
    """Where the true difference is the margin itself, and where it is 0."""
    margin = 0.5 * sd

    def equal(scores: Array, start: int) -> Array:
        return p_equivalence(*stacked(scores), margin) < ALPHA

    def not_worse(scores: Array, start: int) -> Array:
        return non_inferiority_limits(*stacked(scores), ALPHA) > -margin

    design = f"2 systems, {QUERIES} queries, margin 0.5 sd"
    return [
        Rate("equivalence", design, *shares(collections, equal, 0.0, null=margin)),
        Rate("non-inferiority", design, *shares(collections, not_worse, 0.0, null=-margin)),
    ]


def repeated(collections: int, sd: float) -> list[Rate]:
    """Two systems of three runs each, whose luck moves all scores of a run."""
    random = np.random.default_rng(7)
    names = [f"{system}-{repeat}" for system in "ab" for repeat in (1, 2, 3)]
    luck = 0.3 * sd
    hits, plain = [0, 0], 0
    for _ in range(collections):
        difficulty = random.normal(0, 0.25, (1, QUERIES))
        own = np.repeat(random.normal(0, 0.5 * sd, (2, QUERIES)), 3, axis=0)
        scores = difficulty + own + random.normal(0, 0.5 * sd, (6, QUERIES)) + random.normal(0, luck, (6, 1))
        for i, gain in enumerate((0.0, EFFECT * sd)):
            moved = scores.copy()
            moved[:3] += gain
            found = repeated_runs(as_scores(moved, systems=names), repeats="{system}-{repeat}")
            hits[i] += bool(found.comparison.p[0, 0] < ALPHA)
            if not i:
                means = moved.reshape(2, 3, QUERIES).mean(axis=1)
                plain += bool(TESTS["t"](means, np.array([0]), np.array([1]), Settings()).p[0] < ALPHA)
    design = f"2 systems x 3 runs, {QUERIES} queries"
    return [
        Rate("repeated runs", design, hits[0] / collections, hits[1] / collections),
        Rate("t on means of repeated runs", design, plain / collections, float("nan"), False),
    ]


def rates(collections: int = COLLECTIONS) -> list[Rate]:
    """Of every test."""
    sd = deviation()
    few = max(collections // 5, 1)  # each of these is a comparison of its own
    return [*pairwise(collections, sd), *many(collections, sd), *margins(collections, sd), *repeated(few, sd)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.error_rates", description=__doc__)
    parser.add_argument("--collections", type=int, default=COLLECTIONS)
    parser.add_argument("--output", type=Path, help="write the table there too")
    options = parser.parse_args()
    few = f"{options.collections:,} collections (repeated runs: {options.collections // 5:,})"
    planned = power_t(EFFECT, QUERIES, ALPHA)
    lines = [
        f"{few}, alpha {ALPHA:g}, seed 42; the noncentral t distribution gives the t test a power of {planned:.1%}.",
        "",
        "| test | collections of | type I error | power |",
        "|---|---|---:|---:|",
    ]
    for rate in rates(options.collections):
        power = "" if rate.power != rate.power else f"{rate.power:.1%}"
        lines.append(f"| {rate.test} | {rate.design} | {rate.error:.1%} | {power} |")
    publish(lines, options.output)


if __name__ == "__main__":
    main()
