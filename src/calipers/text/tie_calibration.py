"""Pairwise accuracy: how often a measure orders two texts, or two systems, as people do.

    acc = (pairs that both order alike + pairs that both call equal) / all pairs

A measure calls two texts equal if its scores differ by at most epsilon. Tie calibration takes the epsilon under which
acc is largest. So a measure whose scores are hardly ever equal is not punished for ties of people, and a measure with
few distinct scores is not rewarded for its ties. Acc changes at observed differences only, so all of them are tried.

Soft pairwise accuracy compares the confidence of people and of the measure that one system is better than another. It
is the mean over pairs of systems of 1 - |p of people - p of the measure|, with one-sided p values of paired permutation
tests.

Deutsch, Foster & Freitag, Ties matter: meta-evaluating modern metrics with pairwise accuracy and tie calibration, EMNLP
2023. Thompson et al., Improving statistical significance in human evaluation of automatic metrics via soft pairwise
accuracy, WMT 2024. Kocmi et al., To ship or not to ship: an extensive evaluation of automatic metrics for machine
translation, WMT 2021 (systems).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.measures.random_rankings import SEED
from calipers.stats.differences import all_pairs
from calipers.text.human_agreement import DIGITS, LEVELS, both_defined

FLIPS = 1000  # sign flips of a paired permutation test
MOST_PAIRS = 50_000_000
CELLS = 8_000_000  # pairs times samples that are computed at once
ROUNDING = 1e-11  # smaller gaps between differences are rounding errors: means have 12 digits
NOISE = 1e-9  # smaller relative gaps between sums are rounding errors


@dataclass(frozen=True)
class PairwiseAccuracy:
    """Pairwise accuracy under the best epsilon, and with epsilon 0."""

    accuracy: float
    epsilon: float
    at_zero: float  # accuracy with epsilon 0
    pairs: int
    tied_by_people: float  # share of the pairs
    groups: int  # documents with a pair at the summary level, else 1


def pairwise_accuracy(scores: Floats, human: Floats, level: str = "summary") -> PairwiseAccuracy:
    """Return pairwise accuracy with tie calibration. Both arrays are [system, document], higher is better.

    level: `system` (pairs of systems, by their means), `summary` (pairs of summaries of one document; the mean over
    documents, under one epsilon for all) or `pooled` (all pairs of summaries).

    >>> found = pairwise_accuracy(np.array([[0.5], [0.48], [0.1]]), np.array([[3.0], [3.0], [1.0]]))
    >>> round(found.at_zero, 4), found.accuracy, round(found.epsilon, 4)
    (0.6667, 1.0, 0.02)
    """
    x, y = both_defined(scores, human)
    pairs = _pairs(x, y, level)
    if not len(pairs.differences):
        return PairwiseAccuracy(np.nan, np.nan, np.nan, 0, np.nan, 0)
    weight = pairs.weights
    size, right_apart, turn = pairs.turns()
    gained, at_zero = turn * weight, float(weight @ right_apart)
    order = np.argsort(size, kind="stable")
    epsilons = size[order]
    last = _last_of_equals(epsilons)
    accuracy = (at_zero + np.cumsum(gained[order]))[last]
    epsilons = epsilons[last]
    if epsilons[0] > 0:
        epsilons, accuracy = np.append(0.0, epsilons), np.append(at_zero, accuracy)
    best = int(np.argmax(accuracy >= accuracy.max() - NOISE))  # the smallest that does it
    return PairwiseAccuracy(
        float(accuracy[best]), float(epsilons[best]), float(accuracy[0]), len(pairs.differences),
        float((pairs.people == 0).mean()), pairs.groups,
    )  # fmt: skip


def accuracies_under(scores: Floats, human: Floats, weights: Floats, level: str = "summary") -> Floats:
    """Return pairwise accuracy per row of `weights` (how often documents count), each with its own epsilon.

    A document that counts twice is included twice; a text makes no pair with itself.

    >>> x, y = np.array([[0.5, 0.1], [0.4, 0.3], [0.1, 0.2]]), np.array([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
    >>> accuracies_under(x, y, np.array([[1, 1], [2, 0], [0, 2]])).round(4).tolist()
    [0.8333, 1.0, 0.6667]
    """
    x, y = both_defined(scores, human)
    if level == "system":
        return _of_systems(x, y, weights)
    pairs = _pairs(x, y, level)
    if not len(pairs.differences):
        return np.full(len(weights), np.nan)
    size, right_apart, turn = pairs.turns()
    moving = np.flatnonzero(turn)  # the others are wrong under every epsilon
    moving = moving[np.argsort(size[moving], kind="stable")]
    epsilons = size[moving]
    last = _last_of_equals(epsilons)
    found = np.empty(len(weights))
    step = max(1, CELLS // len(pairs.differences))
    for start in range(0, len(weights), step):
        weight = pairs.weighted(weights[start : start + step])
        right = weight @ right_apart
        change = np.cumsum(weight[:, moving] * turn[moving], axis=1)[:, last].max(axis=1, initial=-np.inf)
        if not len(moving) or epsilons[0] > 0:
            change = np.maximum(change, 0.0)  # epsilon 0
        found[start : start + step] = np.minimum(right + change, 1.0)  # but for rounding
    return found


def _last_of_equals(epsilons: Floats) -> NDArray[np.bool_]:
    """Return True for the last of each run of values that are equal up to rounding."""
    return np.append(np.diff(epsilons) > ROUNDING, True)[: len(epsilons)]


def _of_systems(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return pairwise accuracy over means of systems per row of weights."""
    present = (~np.isnan(x)).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [np.round(weights @ np.nan_to_num(each).T / (weights @ present.T), DIGITS) for each in (x, y)]
    rows = zip(*means, strict=True)
    return np.array([pairwise_accuracy(a[:, None], b[:, None], "system").accuracy for a, b in rows], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of texts: difference under the measure, sign for people, and documents."""

    differences: Floats
    people: Floats
    documents: tuple[Ints, Ints]
    by_document: bool  # average the accuracies of documents, instead of counting all pairs alike
    number: int  # of documents

    @property
    def groups(self) -> int:
        return len(np.unique(self.documents[0])) if self.by_document else 1

    @property
    def weights(self) -> Floats:
        """Weight of each pair. Weights sum to 1."""
        return np.asarray(self.weighted(np.ones((1, self.number)))[0])

    def weighted(self, weights: Floats) -> Floats:
        """Return the weights of pairs for each row of document weights."""
        first, second = self.documents
        if self.by_document:
            each = weights / np.maximum(np.bincount(first, minlength=self.number), 1)
            found = each[:, first]
        else:
            found = weights[:, first] * weights[:, second]
        with np.errstate(invalid="ignore"):
            return np.asarray(found / found.sum(axis=1, keepdims=True))

    def turns(self) -> tuple[Floats, Floats, Floats]:
        """Return the size of each difference, whether its order is right, and the gain of making it a tie.

        As epsilon grows past a pair's difference, the pair becomes a tie of the measure.
        """
        right = ((self.people != 0) & (np.sign(self.differences) == self.people)).astype(np.float64)
        return np.abs(self.differences), right, np.where(self.people == 0, 1.0, -right)


def _pairs(x: Floats, y: Floats, level: str) -> _Pairs:
    if level not in LEVELS:
        raise CalipersError(f"unknown level '{level}'; there are {', '.join(LEVELS)}")
    if level == "system":
        means = [system_means(each) for each in (x, y)]
        present = ~np.isnan(means[0])
        columns = [each[present][:, None] for each in means]
        place = np.zeros((len(columns[0]), 1), dtype=np.int64)
    elif level == "pooled":
        present = ~np.isnan(x)
        if (pairs := int(present.sum()) * (int(present.sum()) - 1) // 2) > MOST_PAIRS:
            raise CalipersError(f"the pooled level has {pairs:,} pairs of texts; use the level system or summary")
        columns = [each[present][:, None] for each in (x, y)]
        place = np.nonzero(present)[1][:, None]
    else:
        columns = [x, y]
        place = np.broadcast_to(np.arange(x.shape[1]), x.shape)
    a, b = all_pairs(len(columns[0]))
    differences, people = (each[a] - each[b] for each in columns)
    known = ~np.isnan(differences)
    documents = place[a][known], place[b][known]
    return _Pairs(differences[known], np.sign(people[known]), documents, level == "summary", x.shape[1])


def system_means(values: Floats) -> Floats:
    """Return the mean of each system, NaN if it has no score."""
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.round(np.where(present, values, 0.0).sum(axis=1) / present.sum(axis=1), DIGITS))


def soft_pairwise_accuracy(scores: Floats, human: Floats, samples: int = FLIPS, seed: int = SEED) -> float:
    """Return soft pairwise accuracy over pairs of systems. Both arrays are [system, document], higher is better.

    The p values come from sign flips of the differences, the same flips for both. If there are at most `samples` flips,
    all of them are used.

    >>> soft_pairwise_accuracy(np.array([[2.0, 3.0], [1.0, 1.0]]), np.array([[5.0, 4.0], [4.0, 3.0]]))
    1.0
    """
    x, y = both_defined(scores, human)
    flips = sign_flips(x.shape[1], samples, seed)
    return _agreement_of_p(one_sided_p(x, flips), one_sided_p(y, flips))


def soft_accuracies_under(
    values: Floats, human: Mapping[str, Floats], weights: Floats, samples: int = FLIPS, seed: int = SEED
) -> dict[str, Floats]:
    """Return soft pairwise accuracy of each measure per row of `weights`, by aspect of human judgment: [measure, row].

    values: [measure, system, document]. human: by aspect, [system, document]. weights: how often each document counts,
    [row, document]. A document that counts twice is included twice, and each copy has its own sign flip.
    """
    flips = sign_flips(int(weights[0].sum()), samples, seed)
    pairs = {(m, aspect): both_defined(each, y) for m, each in enumerate(values) for aspect, y in human.items()}
    found = {aspect: np.empty((len(values), len(weights))) for aspect in human}
    for row, times in enumerate(weights):
        drawn = np.repeat(np.arange(len(times)), times.astype(np.int64))
        known: dict[tuple[int | str, bytes], Floats] = {}  # p values by measure or aspect, and missing scores
        for (m, aspect), (x, y) in pairs.items():
            p_values = []
            for name, scores in ((m, x), (aspect, y)):
                key = name, np.isnan(scores).tobytes()
                if key not in known:
                    known[key] = one_sided_p(scores[:, drawn], flips)
                p_values.append(known[key])
            found[aspect][m, row] = _agreement_of_p(*p_values)
    return found


def _agreement_of_p(measure: Floats, people: Floats) -> float:
    known = ~np.isnan(measure)
    return float((1 - np.abs(measure - people))[known].mean()) if known.any() else np.nan


def sign_flips(units: int, samples: int, seed: int) -> Floats:
    """Return sign flips of the units, [flip, unit]: all of them if there are at most `samples`."""
    if samples < 1:
        raise CalipersError(f"samples {samples} is not a whole number of at least 1")
    if units < 30 and 2**units <= samples:
        bits = np.arange(2**units)[:, None] >> np.arange(units)
    else:
        bits = np.random.default_rng(seed).integers(0, 2, size=(samples, units))
    return np.asarray(1.0 - 2.0 * (bits & 1))


def one_sided_p(values: Floats, flips: Floats) -> Floats:
    """Return one-sided p values per pair of systems, from flipped signs of the differences."""
    a, b = all_pairs(len(values))
    differences = values[a] - values[b]
    present = ~np.isnan(differences)
    differences = np.where(present, differences, 0.0)
    observed = differences.sum(axis=1)
    rounding = NOISE * np.abs(differences).sum(axis=1)
    found = np.empty(len(a))
    # If no score is missing, the flipped differences follow from the flipped scores, of which there are far fewer.
    flipped = np.ascontiguousarray((flips @ values.T).T) if present.all() else None
    for block in _blocks(len(a), len(flips)):
        if flipped is None:
            sums = differences[block] @ flips.T
        else:
            sums = flipped[a[block]]
            sums -= flipped[b[block]]
        found[block] = np.count_nonzero(sums >= (observed - rounding)[block, None], axis=1) / len(flips)
    return np.where(present.any(axis=1), found, np.nan)


def _blocks(pairs: int, flips: int) -> Sequence[slice]:
    step = max(1, 4_000_000 // flips)
    return [slice(start, start + step) for start in range(0, pairs, step)]
