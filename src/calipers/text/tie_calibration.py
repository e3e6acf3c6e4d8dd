"""How often a measure puts two texts, or two systems, in the order in which people do.

    acc = (pairs that both order alike + pairs that both call equal) / all pairs

A measure calls two texts equal where its scores differ by at most epsilon. Tie calibration takes the epsilon under
which acc is largest, so that measures whose scores hardly ever coincide are not punished for what people tie, and
measures with few distinct scores not rewarded for it. Acc changes at observed differences only: all of them are tried,
by sorting.

Soft pairwise accuracy compares how sure both are that one system is better than another: with p one-sided p values of
paired permutation tests, it is the mean over pairs of systems of 1 - |p of people - p of the measure|.

Deutsch, Foster & Freitag, Ties matter: meta-evaluating modern metrics with pairwise accuracy and tie calibration, EMNLP
2023. Thompson et al., Improving statistical significance in human evaluation of automatic metrics via soft pairwise
accuracy, WMT 2024. Kocmi et al., To ship or not to ship: an extensive evaluation of automatic metrics for machine
translation, WMT 2021 (systems).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.random_rankings import SEED
from calipers.stats.differences import all_pairs
from calipers.text.human_agreement import DIGITS, LEVELS, both_defined

FLIPS = 1000  # sign flips of a paired permutation test
MOST_PAIRS = 50_000_000
NOISE = 1e-9  # sums of differences that agree so far are the same, added up in another order


@dataclass(frozen=True)
class PairwiseAccuracy:
    """The accuracy under the best epsilon, and without one."""

    accuracy: float
    epsilon: float
    at_zero: float  # where only equal scores are equal
    pairs: int
    tied_by_people: float  # share of the pairs
    groups: int  # documents with a pair at the summary level, else 1


def pairwise_accuracy(scores: Floats, human: Floats, level: str = "summary") -> PairwiseAccuracy:
    """Pairwise accuracy with tie calibration; scores and human are [system, document], and more is better in both.

    level: `system` (pairs of systems, by their means), `summary` (pairs of summaries of one document; the mean over
    documents, under one epsilon for all) or `pooled` (all pairs of summaries).

    >>> found = pairwise_accuracy(np.array([[0.5], [0.48], [0.1]]), np.array([[3.0], [3.0], [1.0]]))
    >>> round(found.at_zero, 4), found.accuracy, round(found.epsilon, 4)
    (0.6667, 1.0, 0.02)
    """
    x, y = both_defined(scores, human)
    differences, people, weight, groups = _pairs(x, y, level)
    if not len(differences):
        return PairwiseAccuracy(np.nan, np.nan, np.nan, 0, np.nan, 0)
    size, agrees = np.abs(differences), np.sign(differences) == people
    right_apart = (people != 0) & agrees
    # As epsilon grows past a pair's difference, the pair becomes a tie of the measure.
    gained = np.where(people == 0, weight, np.where(right_apart, -weight, 0.0))
    order = np.argsort(size, kind="stable")
    epsilons = size[order]
    last = np.append(epsilons[1:] != epsilons[:-1], True)
    accuracy = (weight[right_apart].sum() + np.cumsum(gained[order]))[last]
    epsilons = epsilons[last]
    if epsilons[0] > 0:
        epsilons, accuracy = np.append(0.0, epsilons), np.append(weight[right_apart].sum(), accuracy)
    best = int(np.argmax(accuracy >= accuracy.max() - NOISE))  # the smallest that does it
    return PairwiseAccuracy(
        float(accuracy[best]), float(epsilons[best]), float(accuracy[0]), len(differences),
        float((people == 0).mean()), groups,
    )  # fmt: skip


def _pairs(x: Floats, y: Floats, level: str) -> tuple[Floats, Floats, Floats, int]:
    """Of each pair: the difference under the measure, its sign for people, and its weight, of which the sum is 1."""
    if level not in LEVELS:
        raise CalipersError(f"unknown level '{level}'; there are {', '.join(LEVELS)}")
    if level == "system":
        means = [system_means(each) for each in (x, y)]
        there = ~np.isnan(means[0])
        columns = [each[there][:, None] for each in means]
    elif level == "pooled":
        there = ~np.isnan(x)
        if (pairs := int(there.sum()) * (int(there.sum()) - 1) // 2) > MOST_PAIRS:
            raise CalipersError(f"the pooled level has {pairs:,} pairs of summaries; take the others")
        columns = [each[there][:, None] for each in (x, y)]
    else:
        columns = [x, y]
    a, b = all_pairs(len(columns[0]))
    differences, people = (each[a] - each[b] for each in columns)
    known = ~np.isnan(differences)
    in_group = known.sum(axis=0)
    groups = int((in_group > 0).sum())
    with np.errstate(divide="ignore"):
        weight = np.broadcast_to(1 / in_group / max(groups, 1), known.shape)
    return differences[known], np.sign(people[known]), weight[known], groups


def system_means(values: Floats) -> Floats:
    """The mean of each system; NaN where it has none."""
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.round(np.where(there, values, 0.0).sum(axis=1) / there.sum(axis=1), DIGITS))


def soft_pairwise_accuracy(scores: Floats, human: Floats, samples: int = FLIPS, seed: int = SEED) -> float:
    """Soft pairwise accuracy over pairs of systems; scores and human are [system, document], more is better in both.

    The p values come from sign flips of the differences, the same ones for both: all of them where there are no more
    than `samples`.

    >>> soft_pairwise_accuracy(np.array([[2.0, 3.0], [1.0, 1.0]]), np.array([[5.0, 4.0], [4.0, 3.0]]))
    1.0
    """
    x, y = both_defined(scores, human)
    flips = sign_flips(x.shape[1], samples, seed)
    p = [one_sided_p(each, flips) for each in (x, y)]
    known = ~np.isnan(p[0])
    return float((1 - np.abs(p[0] - p[1]))[known].mean()) if known.any() else np.nan


def sign_flips(units: int, samples: int, seed: int) -> Floats:
    """Signs of so many units, [flip, unit]: all ways where there are no more than `samples`."""
    if samples < 1:
        raise CalipersError(f"samples {samples} is not a whole number of at least 1")
    if units < 30 and 2**units <= samples:
        bits = np.arange(2**units)[:, None] >> np.arange(units)
    else:
        bits = np.random.default_rng(seed).integers(0, 2, size=(samples, units))
    return np.asarray(1.0 - 2.0 * (bits & 1))


def one_sided_p(values: Floats, flips: Floats) -> Floats:
    """Of each pair of systems: how many flips of its differences have a sum that is at least the observed one."""
    a, b = all_pairs(len(values))
    differences = values[a] - values[b]
    there = ~np.isnan(differences)
    differences = np.where(there, differences, 0.0)
    observed = differences.sum(axis=1)
    room = NOISE * np.abs(differences).sum(axis=1)
    found = np.empty(len(a))
    for block in _blocks(len(a), len(flips)):
        found[block] = (flips @ differences[block].T >= observed[block] - room[block]).mean(axis=0)
    return np.where(there.any(axis=1), found, np.nan)


def _blocks(pairs: int, flips: int) -> Sequence[slice]:
    step = max(1, 4_000_000 // flips)
    return [slice(start, start + step) for start in range(0, pairs, step)]
