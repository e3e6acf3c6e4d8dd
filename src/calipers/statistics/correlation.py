"""Rank correlation and rank-biased overlap: the similarity of two orderings of the same things.

    tau-a = (c - d) / pairs
    tau-b = (c - d) / sqrt((pairs - tied in x) (pairs - tied in y))
    gamma = (c - d) / (c + d)

with c concordant and d discordant pairs. Larger scores rank higher.

Kendall, A new measure of rank correlation, Biometrika 1938. Yilmaz, Aslam & Robertson, A new rank correlation
coefficient for information retrieval, SIGIR 2008. Vigna, A weighted correlation index for rankings with ties,
WWW 2015. Urbano & Marrero, The treatment of ties in AP correlation, ICTIR 2017.

Rank-biased overlap compares the first ranks of two lists more than the later ones:

    RBO = (1 - p) sum over depths d of p^(d-1) A_d,   A_d = things that both lists have in their first d, divided by d

The lists end, and their continuation is unknown. `low` is RBO if they share nothing further, `high` if they share as
much as possible, `value` if the agreement stays as it was.

Webber, Moffat & Zobel, A similarity measure for indefinite rankings, TOIS 2010.
Corsi & Urbano, The treatment of ties in rank-biased overlap, SIGIR 2024.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.results.score_files import ScoresLike
from calipers.results.scores import Scores
from calipers.statistics.score_arrays import paired_values, system_means
from calipers.support.checks import check_between_0_and_1, check_choice, check_type, lower_case
from calipers.support.choices import RankCorrelation

ROWS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class PairCounts:
    """Numbers of pairs of things that two orderings agree on, disagree on, or tie."""

    concordant: int
    discordant: int
    tied_x: int  # pairs that are tied in x, including those that are tied in both
    tied_y: int
    pairs: int


def pair_counts(x: ScoresLike, y: ScoresLike) -> PairCounts:
    """Count the pairs that x and y put in the same order and in opposite order.

    >>> pair_counts([1, 2, 3], [1, 3, 2])
    PairCounts(concordant=2, discordant=1, tied_x=0, tied_y=0, pairs=3)
    """
    x, y = _both(x, y)
    n = len(x)
    alike = tied_x = tied_y = both = 0
    step = max(1, ROWS_AT_ONCE // max(n, 1))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        sign_x, sign_y = _signs(x[rows], x), _signs(y[rows], y)
        product = sign_x * sign_y
        alike += int(product.sum())
        both += int(np.count_nonzero(product))
        tied_x += int(np.count_nonzero(sign_x == 0))
        tied_y += int(np.count_nonzero(sign_y == 0))
    both //= 2  # each pair was counted twice, and each thing was compared with itself
    alike //= 2
    return PairCounts((both + alike) // 2, (both - alike) // 2, (tied_x - n) // 2, (tied_y - n) // 2, n * (n - 1) // 2)


def kendall_a(x: ScoresLike, y: ScoresLike) -> float:
    """Return Kendall's tau-a. A tied pair is neither concordant nor discordant, but counts in the denominator.

    >>> kendall_a([1, 2, 3, 4], [2, 1, 3, 4])
    0.6666666666666666
    """
    count = pair_counts(x, y)
    return _quotient(count.concordant - count.discordant, count.pairs)


def kendall_b(x: ScoresLike, y: ScoresLike) -> float:
    """Return Kendall's tau-b, which is 1 for two equal orderings with ties.

    SciPy's tau-b is rounded differently: equal orderings may have a tau slightly below 1.

    >>> kendall_b([1, 1, 2], [1, 1, 2])
    1.0
    """
    count = pair_counts(x, y)
    untied = (count.pairs - count.tied_x) * (count.pairs - count.tied_y)
    return _quotient(count.concordant - count.discordant, math.sqrt(untied))


def gamma(x: ScoresLike, y: ScoresLike) -> float:
    """Return Goodman and Kruskal's gamma. Tied pairs are not counted.

    >>> gamma([1, 1, 2], [1, 2, 3])
    1.0
    """
    count = pair_counts(x, y)
    return _quotient(count.concordant - count.discordant, count.concordant + count.discordant)


def spearman(x: ScoresLike, y: ScoresLike) -> float:
    """Return Spearman's rho: the linear correlation of the ranks. Tied things have their mean rank.

    >>> spearman([1, 2, 3], [1, 3, 2])
    0.5
    """
    from scipy.stats import rankdata

    x, y = _both(x, y)
    rank_x, rank_y = (rankdata(each) - (len(each) + 1) / 2 for each in (x, y))
    return _quotient(float(rank_x @ rank_y), math.sqrt(float(rank_x @ rank_x) * float(rank_y @ rank_y)))


def pearson(x: ScoresLike, y: ScoresLike) -> float:
    """Return Pearson's r: the linear correlation of the values.

    >>> pearson([1, 2, 3], [1, 3, 2])
    0.5
    """
    centred_x, centred_y = (each - each.mean() for each in map(_near_one, _both(x, y)))
    scale = math.sqrt(float(centred_x @ centred_x) * float(centred_y @ centred_y))
    return _quotient(float(centred_x @ centred_y), scale)


def _near_one(values: Floats) -> Floats:
    """Return values divided by a power of two, so that no sum of their squares is too large or too small."""
    return np.asarray(np.ldexp(values, -np.frexp(np.abs(values).max(initial=0.0))[1]))


def tau_ap(truth: ScoresLike, other: ScoresLike) -> float:
    """Return the AP correlation of an ordering with the true one: mistakes near the top cost more.

        tau_AP = 2 / (n - 1) sum over ranks i >= 2 of C(i) / (i - 1)  -  1
        C(i) = number of things above rank i that are also above in the true ordering

    It is not symmetric. Ties in the ordering are averaged over all their orders. Two things that are tied in the truth
    count as half right in either order.

    >>> tau_ap([4, 3, 2, 1], [3, 4, 2, 1])       # a b c d, as b a c d
    0.33333333333333326
    """
    truth, other = _both(truth, other)
    n = len(truth)
    if n < 2:
        return math.nan
    right = (_signs(truth, truth) + 1) / 2  # [above, below]: 1 if this order is true, 0 if false, 1/2 if tied
    above = other[:, None] > other
    tied = (other[:, None] == other) & ~np.eye(n, dtype=bool)
    before = above.sum(axis=0)
    peers = tied.sum(axis=0)
    right_above = (right * above).sum(axis=0)
    right_among = (right * tied).sum(axis=0) / np.maximum(peers, 1)  # expected value for a tied thing placed above
    # At rank before + j + 1, j tied things are above. Each j from 0 to peers is equally likely.
    j = np.arange(int(peers.max(initial=0)) + 1)
    over = before[:, None] + j
    share = (right_above[:, None] + j * right_among[:, None]) / np.maximum(over, 1)
    counted = (j <= peers[:, None]) & (over > 0)
    total = float((np.where(counted, share, 0.0).sum(axis=1) / (peers + 1)).sum())
    return 2 / (n - 1) * total - 1


def tau_ap_reversed(truth: ScoresLike, other: ScoresLike) -> float:
    """Return the AP correlation in the other direction: of the true ordering with the other one."""
    return tau_ap(other, truth)


def tau_ap_symmetric(x: ScoresLike, y: ScoresLike) -> float:
    """Return the mean of both directions of AP correlation."""
    return (tau_ap(x, y) + tau_ap(y, x)) / 2


def weighted_tau(x: ScoresLike, y: ScoresLike) -> float:
    """Return Vigna's weighted tau with hyperbolic weights: the mean of the weightings by x and by y."""
    from scipy.stats import weightedtau

    x, y = _both(x, y)
    return float(weightedtau(x, y).statistic) if len(x) > 1 else math.nan


CORRELATIONS: dict[str, Callable[[ScoresLike, ScoresLike], float]] = {
    "tau-a": kendall_a,
    "tau-b": kendall_b,
    "gamma": gamma,
    "tau_AP": tau_ap,
    "tau_AP-reversed": tau_ap_reversed,
    "tau_AP-symmetric": tau_ap_symmetric,
    "spearman": spearman,
    "weighted-tau": weighted_tau,
    "pearson": pearson,
}
_OTHER_NAMES = {"tau": "tau-b", "kendall": "tau-b", "rho": "spearman", "tau-ap": "tau_AP"}


def rank_correlation(x: ScoresLike, y: ScoresLike, kind: RankCorrelation = "tau-b") -> float:
    """Return the rank correlation of two arrays with one value per system, or of two Scores of one measure each.

    kind: tau-a, tau-b, gamma, tau_AP (y against the truth x), tau_AP-reversed, tau_AP-symmetric, spearman,
        weighted-tau, or pearson, which is about values instead of ranks.

    Of Scores, the means are correlated, paired by the names of the systems.

    >>> rank_correlation([1, 2, 3, 4], [2, 1, 3, 4], "tau-a")
    0.6666666666666666
    """
    return CORRELATIONS[correlation_name(kind)](x, y)


def correlation_name(kind: str) -> str:
    """Return the name of a correlation as `CORRELATIONS` has it."""
    other_names = {**{name.lower(): name for name in CORRELATIONS}, **_OTHER_NAMES}
    return check_choice("rank correlation", lower_case(kind), CORRELATIONS, other_names)


def _both(x: ScoresLike, y: ScoresLike) -> tuple[Floats, Floats]:
    """Return two arrays, without the things that are undefined in x or in y."""
    first, second = paired_values(x, y)
    if first.shape != second.shape or first.ndim != 1:
        raise CalipersError(f"expected two lists of scores of one length, found {first.shape} and {second.shape}")
    defined = ~(np.isnan(first) | np.isnan(second))
    return first[defined], second[defined]


def _signs(some: Floats, others: Floats) -> Floats:
    """Return the sign of each difference between two arrays: [one of some, one of others]."""
    with np.errstate(over="ignore"):  # an infinite difference has the right sign
        return np.asarray(np.sign(some[:, None] - others))


def _quotient(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.nan


TIES = ("average", "corrected", "shared")
Ranking = Sequence[Any] | Mapping[Any, float] | Scores


@dataclass(frozen=True)
class Overlap:
    """Rank-biased overlap with its lower and upper bound."""

    value: float  # extrapolated
    low: float
    high: float


def rbo(a: Ranking, b: Ranking, p: float = 0.9, ties: str = "average") -> Overlap:
    """Return the rank-biased overlap of two lists.

    A list is a sequence, best first, or {thing: score}. A set inside a sequence is a tie. Scores of one measure are
    the list of their systems, ordered by their means.

    p: the probability that the reader goes on to the next depth.
    ties: `average`, over all orders of tied things (RBO^a); `corrected`, so that equal ties in both lists are
        agreement (RBO^b); `shared`, so that all tied things have the first rank of the tie (RBO^w, Webber's).

    >>> rbo(["a", "b", "c"], ["a", "b", "c"]).value
    1.0
    >>> overlap = rbo(["a", "b", "c"], ["b", "a", "d"], p=0.5)
    >>> round(overlap.low, 4), round(overlap.value, 4), round(overlap.high, 4)
    (0.3863, 0.4167, 0.4583)
    """
    check_between_0_and_1("p", p)
    for what, given in (("a", a), ("b", b)):
        check_type(what, given, (Iterable, Scores), "a ranking: a list of ids, {id: score}, or Scores")
    if ties not in TIES:
        raise CalipersError(f"unknown rule for ties '{ties}'; expected one of {', '.join(TIES)}")
    long, short = sorted((_spans(a), _spans(b)), key=len, reverse=True)
    if not short:
        both_empty = not long
        return Overlap(1.0 if both_empty else 0.0, 1.0 if both_empty else 0.0, 1.0)
    seen, overlap = _agreement(long, short, ties)
    l, s = len(long), len(short)  # noqa: E741  the paper's letters
    depth = np.arange(1, l + 1)
    weight = (1 - p) * p ** (depth - 1.0)
    unseen = np.maximum(depth - s, 0) / depth  # of the short list
    likely = seen + unseen * seen[s - 1]
    value = float(weight @ likely) + p**l * float(likely[-1])
    low = float(weight @ seen) + overlap * _tail(p, l)
    high = float(weight @ (seen + unseen)) + _best_tail(p, l, s, overlap)
    return Overlap(min(value, 1.0), min(low, 1.0), min(high, 1.0))


def _spans(ranking: Ranking) -> dict[Hashable, tuple[int, int]]:
    """Return for each thing the number of things ranked above its tie, and the size of the tie."""
    groups: list[list[Hashable]]
    if isinstance(ranking, Scores):
        ranking = system_means(ranking)
    if isinstance(ranking, Mapping):
        by_score: dict[float, list[Hashable]] = {}
        for thing, score in ranking.items():
            if math.isnan(score):
                raise CalipersError(f"the score of '{thing}' is not a number")
            by_score.setdefault(score, []).append(thing)
        groups = [by_score[score] for score in sorted(by_score, reverse=True)]
    else:
        groups = [sorted(g, key=str) if isinstance(g, set | frozenset | list | tuple) else [g] for g in ranking]
    spans: dict[Hashable, tuple[int, int]] = {}
    above = 0
    for group in groups:
        for thing in group:
            if thing in spans:
                raise CalipersError(f"'{thing}' is in the list twice")
            spans[thing] = above, len(group)
        above += len(group)
    return spans


def _agreement(
    long: Mapping[Hashable, tuple[int, int]], short: Mapping[Hashable, tuple[int, int]], ties: str
) -> tuple[Floats, float]:
    """Return the known agreement at each depth of the longer list, and the number of things shared at its end."""
    depth = np.arange(1, len(long) + 1, dtype=np.float64)
    shared = [thing for thing in long if thing in short]
    together = np.zeros(len(depth))
    for thing in shared:
        together += _share(long[thing], depth, ties) * _share(short[thing], depth, ties)
    if ties == "average":
        return together / depth, float(len(shared))
    unseen = np.maximum(depth - len(short), 0)
    sizes = [
        sum((_share(span, depth, ties) ** 2 for span in spans.values()), np.zeros(len(depth)))
        for spans in (long, short)
    ]
    if ties == "corrected":
        return together / np.sqrt(sizes[0] * (sizes[1] + unseen)), float(len(shared))
    return 2 * together / (sizes[0] + sizes[1] + unseen), float(len(shared))


def _share(span: tuple[int, int], depth: Floats, ties: str) -> Floats:
    """Return how much of a thing is among the first d: 0 or 1 for shared ranks, otherwise its probability."""
    above, size = span
    if ties == "shared":
        return (depth > above).astype(np.float64)
    return np.clip((depth - above) / size, 0.0, 1.0)


def _tail(p: float, depth: int) -> float:
    """Return (1 - p) times the sum of p^(d-1) / d over all d beyond a depth."""
    d = np.arange(1, depth + 1)
    whole = -math.log1p(-p) / p
    return (1 - p) * max(whole - float(np.sum(p ** (d - 1.0) / d)), 0.0)


def _best_tail(p: float, long: int, short: int, overlap: float) -> float:
    """Return the contribution of depths beyond the longer list if each unseen thing is shared as early as possible."""
    full = int(long + short - overlap)  # from this depth on the lists may hold the same things
    d = np.arange(long + 1, full + 1)
    most = np.minimum(d, overlap + 2 * d - short - long)
    return float(np.sum((1 - p) * p ** (d - 1.0) * most / d)) + p ** max(full, long)
