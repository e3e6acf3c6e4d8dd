"""Consistency of measures: agreement of their order of systems on other queries, documents or collections.

Voorhees & Buckley, The effect of topic set size on retrieval experiment error, SIGIR 2002.
Sakai, Evaluating evaluation metrics based on the bootstrap, SIGIR 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.results.score_files import ScoresLike
from calipers.results.scores import Scores
from calipers.results.tables import Table
from calipers.statistics.correlation import pair_counts
from calipers.statistics.differences import all_pairs
from calipers.statistics.score_arrays import descending_ranks, matrix, one_each, paired_values, times_drawn
from calipers.statistics.significance import SEED
from calipers.support.choices import PadDenominator
from calipers.support.plurals import counted

CELLS_AT_ONCE = 2_000_000


def swap_rate(x: ScoresLike, y: ScoresLike) -> float:
    """Return the share of pairs of systems that two orderings put in opposite order: (1 - tau) / 2 if nothing is tied.

    x and y have one score per system, or are Scores of one measure, of which the means are used. This is not the swap
    rate of `split_half_swap_rate`.

    >>> swap_rate([3, 2, 1], [3, 1, 2])
    0.3333333333333333
    """
    count = pair_counts(x, y)
    return count.discordant / count.pairs if count.pairs else float("nan")


@dataclass(frozen=True, eq=False)
class SplitHalf:
    """Swaps between disjoint halves of the queries, by the size of the difference in the first half."""

    edges: Floats  # lower ends of the bins of the absolute difference
    pairs: Ints  # number of pairs of systems in each bin, over all trials
    swaps: Ints  # number of these pairs that the other half puts in opposite order
    trials: int
    size: int  # queries in each half
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """The share of all pairs that swap."""
        return float(self.swaps.sum() / max(self.pairs.sum(), 1))

    def needed(self, rate: float = 0.05) -> float:
        """Return the smallest difference above which no bin has a larger share of swaps, or NaN.

        Bins without pairs are ignored.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            too_often = self.swaps / self.pairs > rate
        last = np.flatnonzero(too_often)
        if len(last) == 0:
            return float(self.edges[0])
        above = self.edges[last[-1] + 1 :]
        return float(above[0]) if len(above) and self.pairs[last[-1] + 1 :].any() else float("nan")

    def table(self) -> Table:
        rows = [
            (float(low), int(pairs), int(swaps), swaps / pairs if pairs else float("nan"))
            for low, pairs, swaps in zip(self.edges, self.pairs.tolist(), self.swaps.tolist(), strict=True)
        ]
        return Table(("difference from", "pairs", "swaps", "rate"), tuple(rows), self.metadata)

    def __repr__(self) -> str:
        return (
            f"<SplitHalf: {self.trials} splits into {self.size} and {counted(self.size, 'query')}, swap rate "
            f"{self.rate:.4f}>"
        )


def split_half_swap_rate(
    scores: ScoresLike,
    trials: int = 1000,
    *,
    size: int | None = None,
    width: float = 0.01,
    bins: int = 21,
    seed: int = SEED,
) -> SplitHalf:
    """Count how often two disjoint random sets of queries order a pair of systems differently (Voorhees and Buckley).

    scores: scores of one measure, system x query, as an array or as Scores.
    size: number of queries in each set, by default half of the queries.
    width, bins: width and number of the bins of differences. The last bin has no upper end.

    >>> split_half_swap_rate(np.array([[0.9, 0.8, 0.7, 0.8], [0.1, 0.2, 0.1, 0.2]])).rate
    0.0
    """
    scores = matrix(scores.by_name() if isinstance(scores, Scores) else scores)
    systems, queries = scores.shape
    if systems < 2:
        raise CalipersError("there is only one system: nothing can swap")
    half = queries // 2 if size is None else size
    if not 0 < 2 * half <= queries:
        raise CalipersError(f"{queries} queries cannot be split into two sets of {half}")
    random = np.random.default_rng(seed)
    a, b = all_pairs(systems)
    pairs, swaps = np.zeros(bins, np.int64), np.zeros(bins, np.int64)
    step = max(1, CELLS_AT_ONCE // len(a))
    for start in range(0, trials, step):
        rows = min(step, trials - start)
        order = random.permuted(np.broadcast_to(np.arange(queries), (rows, queries)), axis=1)
        first = means_over(scores, times_drawn(order[:, :half], queries))
        second = means_over(scores, times_drawn(order[:, half : 2 * half], queries))
        one, other = first[:, a] - first[:, b], second[:, a] - second[:, b]
        bin_of = np.minimum(np.nan_to_num(np.abs(one) / width + 1e-9).astype(np.int64), bins - 1)
        pairs += np.bincount(bin_of.ravel(), minlength=bins)
        swaps += np.bincount(bin_of[one * other < 0], minlength=bins)
    about = {"trials": trials, "seed": seed, "size": half}
    return SplitHalf(np.asarray(np.arange(bins) * width, dtype=np.float64), pairs, swaps, trials, half, about)


@dataclass(frozen=True, eq=False)
class Stability:
    """Ranking of systems over bootstrap samples of the queries."""

    systems: tuple[str, ...]
    mean: Floats  # mean of each system
    rank: Floats  # rank over all queries; 1 is the best, and tied systems have their mean rank
    low: Floats  # lower end of the interval of the rank
    high: Floats  # upper end
    first: Floats  # share of samples in which each system is the best
    tau: float  # mean tau-a between the ranking of a sample and the ranking over all queries
    swaps: float  # mean share of pairs in opposite order
    metadata: dict[str, Any] = field(default_factory=dict)

    def table(self) -> Table:
        """Return one row per system, the best first: system, mean, rank, low, high, first."""
        order = np.argsort(self.rank, kind="stable")
        columns = (self.mean, self.rank, self.low, self.high, self.first)
        rows = tuple((self.systems[s], *(float(column[s]) for column in columns)) for s in order)
        return Table(("system", "mean", "rank", "low", "high", "first"), rows, self.metadata)

    def __repr__(self) -> str:
        return f"<Stability: tau {self.tau:.4f}, swaps {self.swaps:.4f}>\n{self.table()}"


def stability(
    scores: ScoresLike,
    systems: Sequence[str] | None = None,
    samples: int = 1000,
    *,
    level: float = 0.95,
    size: int | None = None,
    seed: int = SEED,
) -> Stability:
    """Rank systems over bootstrap samples of the queries: intervals of ranks, and the agreement of the samples.

    scores: scores of one measure, system x query, as an array or as Scores.
    size: number of queries in a sample, by default the number of queries.

    >>> stability(np.array([[0.9, 0.8, 0.7, 0.8], [0.1, 0.2, 0.1, 0.2]]), ("good", "bad")).high.tolist()
    [1.0, 2.0]
    """
    if isinstance(scores, Scores):
        scores = scores.by_name()
        systems = scores.systems
    scores = matrix(scores)
    count, queries = scores.shape
    names = tuple(systems or (f"system{i}" for i in range(1, count + 1)))
    if count < 2:
        raise CalipersError("there is only one system: it has no rank")
    if queries < 2:
        raise CalipersError("there are fewer than two queries: nothing can be sampled")
    random = np.random.default_rng(seed)
    drawn = size or queries
    whole = means_over(scores, np.ones((1, queries)))[0]
    a, b = all_pairs(count)
    true_sign = np.sign(whole[a] - whole[b])
    ranks = []
    agreement = swapped = 0.0
    step = max(1, CELLS_AT_ONCE // max(len(a), queries))
    for start in range(0, samples, step):
        rows = min(step, samples - start)
        mean = means_over(scores, times_drawn(random.integers(0, queries, (rows, drawn)), queries))
        ranks.append(descending_ranks(mean))
        sign = np.sign(mean[:, a] - mean[:, b]) * true_sign
        agreement += float(np.nansum(sign))
        swapped += float(np.count_nonzero(sign < 0))
    rank = np.concatenate(ranks)
    ends = np.quantile(rank, ((1 - level) / 2, (1 + level) / 2), axis=0, method="inverted_cdf")
    tests = samples * len(a)
    return Stability(
        systems=names,
        mean=whole,
        rank=descending_ranks(whole[None])[0],
        low=ends[0],
        high=ends[1],
        first=np.asarray((rank == rank.min(axis=1, keepdims=True)).mean(axis=0)),
        tau=agreement / tests,
        swaps=swapped / tests,
        metadata={"samples": samples, "seed": seed, "level": level, "size": drawn},
    )


def means_over(scores: Floats, weights: Floats) -> Floats:
    """Return the mean of the defined scores of each system under each weighting of the queries: [weighting, system]."""
    defined = ~np.isnan(scores)
    if defined.all():
        return np.asarray(weights @ scores.T / weights.sum(axis=1, keepdims=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weights @ np.where(defined, scores, 0.0).T) / (weights @ defined.T.astype(np.float64)))


DENOMINATORS = get_args(PadDenominator)


def percentage_absolute_difference(scores: ScoresLike, denominator: PadDenominator = "absolute") -> float:
    """Return the PAD: the mean over the pairs of systems of 100 |a - b| / max(a, b), with one score per system.

    Of Scores of one measure, the means are used. A pair is left out if its larger score is 0.

    denominator: `absolute` takes |max(a, b)|, so that two negative scores have a positive distance. `literal` is the
        formula as printed, under which their distance is negative.

    Karmaker & Feng, Joint upper and lower bound normalization for IR evaluation, 2022, equation 8.

    >>> percentage_absolute_difference([0.5, 0.25])
    50.0
    """
    if denominator not in DENOMINATORS:
        raise CalipersError(f"unknown denominator '{denominator}' of PAD; expected absolute or literal")
    values = one_each(scores)
    values = values[~np.isnan(values)]
    a, b = all_pairs(len(values))
    larger = np.maximum(values[a], values[b])
    by = np.abs(larger) if denominator == "absolute" else larger
    counted = by != 0
    if not counted.any():
        return float("nan")
    return float(np.mean(100 * np.abs(values[a] - values[b])[counted] / by[counted]))


def percentage_absolute_increase(new: ScoresLike, base: ScoresLike, zero: str = "points") -> Floats:
    """Return the PAI: 100 (new - base) / |base|.

    zero: if the base is 0, `points` gives 100 (new - base), as in the tables of Feng's dissertation, and `undefined`
        gives NaN.

    >>> percentage_absolute_increase([0.25, 0.03], [0.2, 0.0]).round(9).tolist()
    [25.0, 3.0]
    """
    if zero not in ("points", "undefined"):
        raise CalipersError(f"unknown rule '{zero}' for a base of 0; expected points or undefined")
    after, before = paired_values(new, base)
    by = np.where(before == 0, 1.0 if zero == "points" else np.nan, np.abs(before))
    return np.asarray(100 * (after - before) / by)
