"""Tests of the difference between two systems over the same queries, for all pairs at once.

Every test is two-sided. The docstring of each function has the formula of its test and what the test assumes. `TESTS`
lists the tests by name.

If all differences of a pair are 0, p is 1 and the interval is [0, 0]. If they are all equal and not 0, they say nothing
about their spread: Student's interval, the effect in standard deviations, and the p values of the t test and of the
bootstrap are undefined (NaN). The p values of `sign`, `wilcoxon` and `randomization` are not.

Carterette, Multiple testing in statistical analysis of systems-based information retrieval experiments, TOIS 2012.
Sakai, Evaluating evaluation metrics based on the bootstrap, SIGIR 2006.
Smucker, Allan & Carterette, A comparison of statistical significance tests for information retrieval evaluation,
CIKM 2007.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations_with_replacement

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.results.result import protect_arrays
from calipers.results.score_files import ScoresLike
from calipers.statistics.differences import (
    ROUNDING,
    Differences,
    differences_of,
    differences_of_means,
    ratio,
    residual_deviation,
)
from calipers.statistics.score_arrays import matrix, ranks_of_sorted, times_drawn
from calipers.support.checks import Samples as Samples, check_choice, lower_case
from calipers.support.plurals import counted, plural_of

SEED = 42
SAMPLES_AT_ONCE = 1_000_000  # sampled statistics that are held in memory at once
TIED = 1e-9  # a sampled statistic with at most this relative difference from the observed one is equal to it
MOST_ENUMERATED = 2_000_000


@dataclass(frozen=True)
class Settings:
    """Settings of a test."""

    level: float = 0.95  # confidence level of the interval
    samples: Samples = 10_000
    seed: int = SEED
    rope: float = 0.0  # half the width of the region of practical equivalence


USUAL = Settings()


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of a test for each pair of systems, as arrays in the order of the pairs."""

    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    effect: Floats
    n: Ints
    more: Mapping[str, Floats] = field(default_factory=dict)  # columns that only this test has, by name

    def __post_init__(self) -> None:
        protect_arrays(self)


Test = Callable[[ScoresLike, Ints, Ints, Settings], Outcome]  # takes an array, or Scores of one measure


def student(scores: ScoresLike, a: Ints, b: Ints, settings: Settings = USUAL) -> Outcome:
    """Perform Student's paired t test.

        t = mean(d) / (sd(d) / sqrt(n)),  n - 1 degrees of freedom

    The test assumes that the mean difference is normally distributed. With a few dozen queries it nearly is.

    >>> x = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]])
    >>> round(float(student(x, np.array([0]), np.array([1])).p[0]), 6)
    0.162733
    """
    return blockwise(_student, scores, a, b, settings)


def wilcoxon(scores: ScoresLike, a: Ints, b: Ints, settings: Settings = USUAL) -> Outcome:
    """Perform Wilcoxon's signed-rank test on the sum of the ranks of |d| over the queries where a is better.

    Differences are rounded before they are ranked (0.3 - 0.1 and 0.5 - 0.3 tie), and queries without a difference are
    dropped. The p value is exact for up to 50 remaining differences, with or without ties. For more differences it is
    the normal approximation, corrected for ties. The test is about the symmetry of the differences, not about their
    mean. The interval is Student's.

    Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1945.

    >>> x = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]])
    >>> float(wilcoxon(x, np.array([0]), np.array([1])).p[0])
    0.25
    """
    return blockwise(_wilcoxon, scores, a, b, settings)


def sign(scores: ScoresLike, a: Ints, b: Ints, settings: Settings = USUAL) -> Outcome:
    """Perform the sign test: is a better on more queries than a fair coin would make it?

        p = 2 Pr(X <= min(better, worse)), at most 1,  X ~ Binomial(better + worse, 1/2)

    Queries without a difference (apart from rounding) are dropped. The test is about the median of the differences and
    makes no other assumption. With few queries, p has few possible values, so that the type I error is below alpha. The
    interval is Student's.

    Dixon & Mood, The statistical sign test, Journal of the American Statistical Association 1946.

    >>> x = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]])
    >>> float(sign(x, np.array([0]), np.array([1])).p[0])
    0.625
    """
    return blockwise(_sign, scores, a, b, settings)


def randomization(scores: ScoresLike, a: Ints, b: Ints, settings: Settings = USUAL) -> Outcome:
    """Perform Fisher's randomisation test.

        p = (b + 1) / (B + 1),  b = flips with a mean at least as far from 0 as the observed mean

    If the systems are exchangeable, the sign of each query's difference is a coin flip. The same flips are used for
    every pair. With samples="all", each of the 2^n flips is used once, and p is b / 2^n.

    >>> x = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]])
    >>> float(randomization(x, np.array([0]), np.array([1]), Settings(samples="all")).p[0])     # 4 of 16
    0.25
    """
    return blockwise(_randomization, scores, a, b, settings)


def bootstrap(scores: ScoresLike, a: Ints, b: Ints, settings: Settings = USUAL) -> Outcome:
    """Perform Sakai's paired bootstrap test, studentised.

        z = x - y,  t = mean(z) / (sd(z) / sqrt(n)),  w = z - mean(z);  resample n of w:  t* = mean* / (sd* / sqrt(n))
        p = (b + 1) / (B + 1),  b = resamples with |t*| >= |t|

    A resample of equal values has t* = 0 if they are 0, and an infinite t* otherwise. The interval is the inversion of
    the test: it contains 0 exactly if p >= 1 - level. If there are too few samples for the level, or if more than 1 -
    level of the resamples have an infinite t*, there is no interval.
    With samples="all", each of the n^n resamples is used once, and p is b / n^n.

    >>> x = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]])
    >>> float(bootstrap(x, np.array([0]), np.array([1]), Settings(samples="all")).p[0]) * 256
    40.0
    """
    return blockwise(_bootstrap, scores, a, b, settings)


def tukey(scores: ScoresLike, a: Ints, b: Ints, settings: Settings = USUAL) -> Outcome:
    """Perform the randomised two-way Tukey HSD test.

        p = (b + 1) / (B + 1),  b = permutations of each query's scores over the systems in which the difference of the
            best and the worst mean is at least as large as the difference of these two systems

    The p value is already corrected for all pairs, and the interval holds for all pairs together. Queries that are
    undefined for any system are left out of every pair. The effect is the difference in residual standard deviations of
    the two-way analysis of variance.

    >>> x = np.array([[0.9, 0.8, 0.7, 0.9], [0.1, 0.2, 0.1, 0.3], [0.2, 0.1, 0.3, 0.2]])
    >>> (tukey(x, np.array([0, 0, 1]), np.array([1, 2, 2])).p < 0.05).tolist()
    [True, True, False]
    """
    values = matrix(scores)
    complete = values[:, ~np.isnan(values).any(axis=0)]
    n = complete.shape[1]
    if n == 0:
        raise CalipersError(
            "no query is defined for every system, which Tukey's test needs; leave out the systems that lack queries"
        )
    if settings.samples == "all":
        raise CalipersError("the permutations of Tukey's test are too many to enumerate; give a number of samples")
    size = np.abs(complete).max()
    difference = differences_of_means(complete.mean(axis=1), a, b, size)
    largest = np.sort(_largest_ranges(complete, settings.samples, settings.seed))
    largest[largest < ROUNDING * size] = 0.0
    beyond = len(largest) - np.searchsorted(largest, np.abs(difference) * (1 - TIED), side="left")
    width = largest[min(len(largest) - 1, math.ceil(settings.level * (len(largest) + 1)) - 1)]
    spread, _ = residual_deviation(complete)
    return Outcome(
        difference=difference,
        low=difference - width,
        high=difference + width,
        p=(beyond + 1) / (len(largest) + 1),
        effect=ratio(difference, np.full(len(difference), spread)),
        n=np.full(len(difference), n),
    )


TESTS: dict[str, Test] = {
    "t": student,
    "wilcoxon": wilcoxon,
    "sign": sign,
    "randomization": randomization,
    "bootstrap": bootstrap,
    "tukey": tukey,
}
STUDENTISED = frozenset({"t", "bootstrap", "dunnett", "bayes"})  # undefined for differences that are equal and not 0
CORRECTED = frozenset({"tukey"})  # tests whose p values need no further correction
DEFAULT_SAMPLES = {"randomization": 10_000, "bootstrap": 1_000, "tukey": 1_000}
MOST_DRAWN = 5_000_000  # largest default of samples x queries
_OTHER_NAMES = {
    "student": "t",
    "ttest": "t",
    "randomisation": "randomization",
    "permutation": "randomization",
    "sakai": "bootstrap",
    "hsd": "tukey",
}


def test_name(name: str, among: Collection[str] = TESTS) -> str:  # noqa: PT028  no test of pytest
    """Return the name of a test as `TESTS`, or another collection of tests, has it."""
    return check_choice("test", lower_case(name), among, _OTHER_NAMES)


def samples_for(test: str, tests: int, queries: int, alpha: float) -> int:
    """Return how many samples a test draws by default if p values are multiplied by the number of tests.

    There are at least 2 tests / alpha samples, so that a difference that one sample exceeds can be significant, but at
    most MOST_DRAWN / queries, to limit the time.

    >>> samples_for("randomization", 1, 50, 0.05), samples_for("randomization", 1711, 50, 0.05)
    (10000, 68440)
    """
    return max(DEFAULT_SAMPLES[test], min(math.ceil(2 * tests / alpha), MOST_DRAWN // max(queries, 1)))


def smallest_p(test: str, queries: int, systems: int = 2) -> float:
    """Return the smallest p value that a test can give with a number of queries, if no samples are drawn; 0 for others.

    Signs of n differences have 2^n flips, of which two are as extreme as the observed ones can be. Of the n^n resamples
    of the bootstrap, those of one query only have an infinite t*, unless its difference is the mean. Of m systems, each
    query has m (m - 1) pairs of a best and a worst system.

    >>> smallest_p("sign", 5), smallest_p("bootstrap", 3), smallest_p("tukey", 3, 4), smallest_p("t", 2)
    (0.0625, 0.07407407407407407, 0.006944444444444444, 0.0)
    """
    if test in {"sign", "wilcoxon", "randomization"}:
        return 2.0 ** (1 - queries)
    if test == "bootstrap":
        return 0.5 if queries == 2 else (queries - 1) / float(queries) ** queries
    if test == "tukey":
        return float(systems * (systems - 1)) ** (1 - queries)
    return 0.0


def equal_differences(where: str, test: str, queries: int, unit: str = "query") -> str:
    """Return a sentence about pairs whose differences are all equal and not 0.

    >>> equal_differences("new and old under AP", "sign", 2)
    'new and old under AP: the difference is the same on all queries, so the interval and the effect are undefined'
    """
    what = "the effect is undefined" if test in CORRECTED else "the interval and the effect are undefined"
    if test in STUDENTISED:
        what = (
            f"p, interval and effect are undefined under the {test} test; the tests sign and randomization have a p "
            f"(with {counted(queries, unit)} at least {smallest_p('sign', queries):.2g})"
        )
    return f"{where}: the difference is the same on all {plural_of(unit)}, so {what}"


# -- one block of pairs ------------------------------------------------------------------------------


def blockwise(
    test: Callable[[Differences, Settings], Outcome], scores: ScoresLike, a: Ints, b: Ints, settings: Settings
) -> Outcome:
    """Run a test on blocks of pairs, and join the results."""
    parts = [test(each, settings) for each in differences_of(scores, a, b)]
    names = ("difference", "low", "high", "p", "effect", "n")
    more = {name: np.concatenate([part.more[name] for part in parts]) for name in parts[0].more} if parts else {}
    return Outcome(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}, more=more)


def outcome_of(differences: Differences, p: Floats, width: Floats) -> Outcome:
    """Return the outcome from p values and half widths of intervals.

    Pairs with fewer than two queries have neither a p value nor an interval, and pairs whose differences are all equal
    and not 0 have no interval.
    """
    mean, enough = differences.mean, differences.n > 1
    width = np.where(enough & ~differences.constant, width, np.nan)
    return Outcome(
        difference=mean,
        low=mean - width,
        high=mean + width,
        p=np.where(enough, p, np.nan),
        effect=differences.standardised,
        n=differences.n,
    )


def students_width(differences: Differences, level: float) -> Floats:
    """Return half the width of Student's interval of each mean difference."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.maximum(differences.n - 1, 1), (1 + level) / 2) * differences.error)


def _student(differences: Differences, settings: Settings) -> Outcome:
    from scipy.special import stdtr

    p = 2 * stdtr(np.maximum(differences.n - 1, 1), -np.abs(differences.student))
    return outcome_of(differences, np.minimum(p, 1.0), students_width(differences, settings.level))


def _sign(differences: Differences, settings: Settings) -> Outcome:
    from scipy.special import bdtr

    better = np.count_nonzero(differences.value > 0, axis=1)
    worse = np.count_nonzero(differences.value < 0, axis=1)
    p = 2 * bdtr(np.minimum(better, worse), better + worse, 0.5)
    return outcome_of(differences, np.minimum(p, 1.0), students_width(differences, settings.level))


def _randomization(differences: Differences, settings: Settings) -> Outcome:
    queries = differences.value.shape[1]
    observed = np.abs(differences.scaled.sum(axis=1))
    scale = np.abs(differences.scaled).sum(axis=1)
    reached = observed - TIED * scale
    beyond = np.zeros(len(observed), np.int64)
    total = 0
    for flips in _flips(queries, settings, max(1, SAMPLES_AT_ONCE // max(len(observed), 1))):
        mean = flips @ differences.scaled.T
        np.abs(mean, out=mean)
        beyond += np.count_nonzero(mean >= reached, axis=0)
        total += len(flips)
    p = beyond / total if settings.samples == "all" else (beyond + 1) / (total + 1)
    return outcome_of(differences, p, students_width(differences, settings.level))


def _flips(queries: int, settings: Settings, at_once: int) -> Iterator[Floats]:
    """Yield rows of +1 and -1, a few at a time. A query that a pair lacks has the difference 0 under either sign."""
    if settings.samples == "all":
        if 2**queries > MOST_ENUMERATED:
            raise CalipersError(f"2^{queries} flips are too many to enumerate; give a number of samples")
        place = np.arange(queries)
        for start in range(0, 2**queries, at_once):
            code = np.arange(start, min(start + at_once, 2**queries))
            yield (1 - 2 * ((code[:, None] >> place) & 1)).astype(np.float64)
        return
    random = np.random.default_rng(settings.seed)
    at_once = max(1, min(at_once, 4 * SAMPLES_AT_ONCE // max(queries, 1)))
    # 64-bit integers are drawn, so that the flips do not depend on how many rows fit into memory.
    for start in range(0, settings.samples, at_once):
        rows = min(at_once, settings.samples - start)
        yield (2 * random.integers(0, 2, (rows, queries), dtype=np.int64) - 1).astype(np.float64)


def _bootstrap(differences: Differences, settings: Settings) -> Outcome:
    p = np.full(len(differences.n), np.nan)
    width = np.full(len(differences.n), np.nan)
    for rows, queries in pairs_by_queries(differences):
        n = len(queries)
        if n < 2:
            continue
        counts, weight = resamples_of(n, settings)
        step = max(1, 4 * SAMPLES_AT_ONCE // len(counts))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            centred = differences.centred[np.ix_(part, queries)]
            squared = _squared_students(counts, centred)
            p[part], reached = achieved(squared, weight, differences.student[part], 1 - settings.level)
            width[part] = reached * differences.error[part]
    return outcome_of(differences, p, width)


def pairs_by_queries(differences: Differences) -> Iterator[tuple[Ints, Ints]]:
    """Yield the pairs that share the same queries, together with these queries. Usually all pairs share all queries."""
    if differences.shared.all():
        yield np.arange(len(differences.n)), np.arange(differences.shared.shape[1])
        return
    packed = np.packbits(differences.shared, axis=1)
    _, group = np.unique(packed, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group.ravel()[order])) + 1):
        yield rows, np.flatnonzero(differences.shared[rows[0]])


def resamples_of(n: int, settings: Settings) -> tuple[Floats, Floats | None]:
    """Return how often each query is in each resample, and the probabilities of resamples that were enumerated."""
    if settings.samples == "all":
        if math.comb(2 * n - 1, n) > MOST_ENUMERATED // 20:
            raise CalipersError(f"the resamples of {n} queries are too many to enumerate; give a number of samples")
        drawn = np.array(list(combinations_with_replacement(range(n), n)))
        counts = times_drawn(drawn, n)
        ways = [math.factorial(n) // math.prod(map(math.factorial, row)) for row in counts.astype(int).tolist()]
        return counts, np.array(ways) / float(n**n)
    random = np.random.default_rng(settings.seed)
    return times_drawn(random.integers(0, n, (settings.samples, n)), n), None


def _squared_students(counts: Floats, centred: Floats) -> Floats:
    """Return t*^2 for each resample and pair."""
    n = centred.shape[1]
    scale = np.abs(centred).max(axis=1, initial=0.0)
    scaled = centred / np.where(scale > 0, scale, 1.0)[:, None]  # makes rounding errors equally large for all pairs
    scaled[np.abs(scaled) < 1e-12] = 0.0
    total = counts @ scaled.T
    squares = counts @ np.square(scaled).T
    np.square(total, out=total)
    spread = squares - total / n
    constant = spread <= 1e-12 * squares
    with np.errstate(divide="ignore", invalid="ignore"):
        result = total * (n - 1) / (n * spread)
    if constant.any():
        result[constant] = np.where(total[constant] > (1e-12 * n) ** 2, np.inf, 0.0)
    return np.asarray(result)


def achieved(squared: Floats, weight: Floats | None, observed: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return the p value of each pair, and the |t| above which it is below alpha (NaN if no |t| is large enough).

    An observed t that is undefined has no p value.
    """
    reached = squared >= np.square(observed) * (1 - TIED)
    undefined = np.isnan(observed)
    if weight is None:
        samples = len(squared)
        p = np.where(undefined, np.nan, (np.count_nonzero(reached, axis=0) + 1) / (samples + 1))
        least = math.ceil(alpha * (samples + 1) - 1e-9) - 1  # with this many resamples beyond |t|, p is at least alpha
        if least < 1:
            return p, np.full(len(p), np.nan)
        place = samples - least
        return p, _finite_root(np.partition(squared, place, axis=0)[place])
    p = np.where(undefined, np.nan, weight @ reached)
    order = np.argsort(-squared, axis=0)
    tail = np.cumsum(weight[order], axis=0)
    first = (tail >= alpha - 1e-12).argmax(axis=0)
    return p, _finite_root(np.take_along_axis(np.take_along_axis(squared, order, axis=0), first[None], axis=0)[0])


def _finite_root(squared: Floats) -> Floats:
    return np.sqrt(np.where(np.isfinite(squared), squared, np.nan))


def _largest_ranges(scores: Floats, samples: int, seed: int) -> Floats:
    """Return the range of the systems' means in each sample. A sample permutes the scores of each query."""
    random = np.random.default_rng(seed)
    systems, queries = scores.shape
    at_once = max(1, SAMPLES_AT_ONCE // scores.size)
    by_query = np.ascontiguousarray(scores.T)
    ranges = []
    for start in range(0, samples, at_once):
        rows = min(at_once, samples - start)
        dealt = random.permuted(np.broadcast_to(by_query, (rows, queries, systems)), axis=2)
        mean = dealt.mean(axis=1)
        ranges.append(np.ptp(mean, axis=1))
    return np.concatenate(ranges)


# -- signed ranks ------------------------------------------------------------------------------------

EXACT_UP_TO = 50  # number of differences up to which Wilcoxon's p value is exact


def signed_ranks(differences: Differences) -> tuple[Floats, Floats, Floats]:
    """Return the ascending ranks of the rounded absolute differences of each pair, the sizes of ties, and the signs.

    Zeros and queries that a pair lacks come last and have the sign 0.
    """
    value = differences.rounded
    size = np.where(value == 0, np.inf, np.abs(value))
    order = np.argsort(size, axis=1)
    rank, group = ranks_of_sorted(np.take_along_axis(size, order, axis=1))
    return rank, group, np.sign(np.take_along_axis(value, order, axis=1))


def _wilcoxon(differences: Differences, settings: Settings) -> Outcome:
    from scipy.special import ndtr

    rank, group, signs = signed_ranks(differences)
    used = np.count_nonzero(signs, axis=1)
    counted = signs != 0
    better = np.where(signs > 0, rank, 0.0).sum(axis=1)
    ties = np.where(counted, np.square(group) - 1.0, 0.0).sum(axis=1)

    mean = used * (used + 1) / 4
    variance = (used * (used + 1) * (2 * used + 1) - ties / 2) / 24
    p = 2 * ndtr(-np.abs(ratio(better - mean, np.sqrt(variance))))

    few = np.flatnonzero(used <= EXACT_UP_TO)
    ranks = np.where(counted, rank, 0.0)[few, :EXACT_UP_TO]  # the zeros are last
    p[few] = _signed_rank_tails(ranks, better[few])
    return outcome_of(differences, np.minimum(p, 1.0), students_width(differences, settings.level))


def _signed_rank_tails(ranks: Floats, observed: Floats) -> Floats:
    """Return both tails of the sum of each row's ranks under all flips of their signs."""
    doubled = np.rint(2 * ranks).astype(np.int64)  # mean ranks are whole or half
    at = np.rint(2 * observed).astype(np.int64)
    different, which = np.unique(doubled, axis=0, return_inverse=True)  # pairs without ties have the same ranks
    order = np.argsort(which.ravel(), kind="stable")
    starts = np.searchsorted(which.ravel()[order], np.arange(len(different) + 1))
    found = np.empty(len(ranks))
    for row, start, end in zip(different, starts[:-1], starts[1:], strict=True):
        members = order[start:end]
        subsets = _subsets_by_sum(row[row > 0])
        below = np.cumsum(subsets)
        above = below[-1] - below + subsets
        found[members] = 2 * np.minimum(below, above)[at[members]] / below[-1]
    return np.minimum(found, 1.0)


def _subsets_by_sum(values: Ints) -> Ints:
    """Return how many subsets of some whole numbers have each sum. The counts are exact for up to 62 numbers.

    >>> _subsets_by_sum(np.array([1, 2, 3])).tolist()
    [1, 1, 1, 2, 1, 1, 1]
    """
    subsets = np.zeros(int(values.sum()) + 1, np.int64)
    subsets[0] = 1
    largest = 0
    for value in values.tolist():
        largest += value
        subsets[value : largest + 1] += subsets[: largest + 1 - value]
    return subsets
