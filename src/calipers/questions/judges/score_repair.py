"""Scores repaired by few human judgments: prediction-powered inference.

y_i is the score of query i under the human's labels (n queries), f_i under a cheap judge's (the same n, and N others):

    theta = mean_n(y - l f) + l mean_N(f)        var = var_n(y - l f) / n + l^2 var_N(f) / N
    l*    = cov(y, f) / ((1 + n/N) var(f)), between 0 and 1

theta is unbiased for any fixed weight l, however good the judge is; l = 0 is the human's part alone. A weight tuned
on the same queries has a bias of order 1/n, so it is cross-fitted: the queries of either half are weighed by what the
other half says. For differences of systems, y and f are differences.

Student's interval of so few queries errs in three ways, and the judge, who labelled all queries, tells how far. With
c = y - l f on the n queries, and var, skewness g and kurtosis k of f over all n + N queries:

1. The human-judged queries may vary less, or more, than queries do: similar systems differ on a few queries only, and
   those may be missing. The variance of c over all queries is estimated by regression (Anderson),

       var(c) = var_n(c) + b^2 (var(f) - var_n(f)),        b = cov_n(c, f) / var_n(f)

2. Scores are skewed: most queries near 0, or near 1, and few far from it. With T = (theta - truth) / error and A the
   skewness of theta, Hall's monotone transformation

       g(T) = T + A T^2 / 3 + A^2 T^3 / 27 + A / 6

   is symmetric about 0 to the order of 1/n. Few queries say little of a skewness, so that of c is the mean of its own
   and the judge's, each weighed by its number of queries.

3. The variance is itself uncertain, the more so the heavier the tails. Of the relative variance of a sample variance,
   (k - 1)/n, the share g^2/n goes with the mean, which is what Hall's transformation removes; by the rest, following
   Satterthwaite, the degrees of freedom are 2 / ((k - 3 - g^2)/n + 2/(n - 1)), at most n - 1.

Where a few queries have nearly all of the variance, this does not suffice: a kurtosis k means that about 1 in k queries
carries the variance, and n queries miss all of those with a chance of (1 - 1/k)^n. A row is called sparse where that is
more than the interval may miss (5% at the level of 95%), or k is above 6 (tails heavier than those of Laplace's
distribution), be it of the human's scores or of all the judge's; or where the judge's scores vary more than twice as
much as the human's (in standard deviations), so that the human's n queries may be those without a difference.

The interval of a sparse row allows for a query that was missed, by its chance: either end is that of n + w queries, of
which w, the part of a query, lies a away from the mean, at that end of the range of the measure (0 or 1, and for
differences -1 or 1), with the skewness as before:

    w = (1 - 1/k)^n, at least 5% (at the level of 95%)
    theta' = theta + w a / (n + w)        var'(c) = ((n - 1) var(c) + n w a^2 / (n + w)) / (n + w - 1)

Where all of the human's scores are the same, 1/k counts as 0 and w is 1, so there is an interval there too: from 15
queries, it ends 0.196 of the range away from their score, where the binomial distribution has 0.218 (1 - 0.025^(1/15)).
Where the range is not known, a whole query (w = 1) lies as far out as any does by the human's or the judge's scores,
and where no score varies, there is no interval.

Where few queries have scores unlike the rest, intervals must be conservative. If m of Q queries do, by the same amount,
n queries tell how many of the m they hold, which is binomial. They hold none with a chance of (1 - m/Q)^n; where that
is above 2.5%, an equal-tailed 95% interval holds the truth there, misses on one side only, and covers at least 97.5%.

Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, Prediction-powered inference, Science 2023.
Angelopoulos, Duchi & Zrnic, PPI++: Efficient prediction-powered inference, 2023 (the weight).
Anderson, Maximum likelihood estimates for a multivariate normal distribution when some observations are missing,
Journal of the American Statistical Association, 1957 (the variance).
Hall, On the removal of skewness by transformation, Journal of the Royal Statistical Society B, 1992 (the interval).
Agresti & Coull, Approximate is better than "exact" for interval estimation of binomial proportions, The American
Statistician, 1998; Gaffke, Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable, Mathematical Methods of Statistics, 2005 (observations added at the ends of the range).
Joanes & Gill, Comparing measures of sample skewness and kurtosis, The Statistician, 1998 (the kurtosis of few queries).
Satterthwaite, An approximate distribution of estimates of variance components, Biometrics Bulletin, 1946.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.statistics.bounded_intervals import Range
from calipers.statistics.significance import SEED

FEWEST = 4  # human-judged queries: a weight is tuned on either half of them
TRUSTED = 15  # human-judged queries from which on the intervals are known to cover
# Round numbers; research/judges.md says on which collections they were chosen, and on which tested.
HEAVIEST_TAILS = 6.0  # kurtosis, that of Laplace's distribution, beyond which a row is sparse
WIDER_JUDGE = 2.0  # times the standard deviation of the human's scores, beyond which the judge's make a row sparse
LOOK_AHEAD = 100  # times the queries at hand, within which an interval of half the width is looked for


@dataclass(frozen=True, eq=False)
class RepairedMeans:
    """Means repaired by prediction-powered inference. Arrays are in the order of the given rows."""

    human: Floats  # the mean of the human-judged queries alone
    judged: Floats  # the mean of all queries under the judge's labels
    value: Floats
    low: Floats  # NaN, as the other end, where no score varies and the range of the measure is not known
    high: Floats
    human_low: Floats  # of the human-judged queries alone; NaN where all their scores are the same
    human_high: Floats
    weight: Floats  # of the judge: 0 where its scores say nothing of the human's, at most 1
    worth: Floats  # how many human-judged queries more the judge is as good as; below 0 where it costs some
    to_halve: Floats  # human-judged queries more that would halve the interval; NaN where nothing near would
    carried_by: Floats  # how many of the n queries carry the variance: by the human's scores, or fewer by the judge's
    sparse: NDArray[np.bool_]  # whether n queries may miss those, which the interval allows for
    n: int
    others: int


@dataclass(frozen=True)
class _Shape:
    """Variation of a judge's scores over all queries: one number per row."""

    variance: Floats
    skewness: Floats  # 0 where nothing varies
    excess: Floats  # of the kurtosis over what a normal distribution, and the skewness, account for; at least 0
    kurtosis: Floats
    size: int

    @classmethod
    def of(cls, values: Floats) -> _Shape:
        variance, kurtosis = _cumulant(values, values), _kurtosis(values)
        skewness = _skewness(variance, _cumulant(values, values, values))
        return cls(variance, skewness, np.maximum(kurtosis - 3 - skewness**2, 0.0), kurtosis, values.shape[-1])


@dataclass(frozen=True)
class _Varied:
    """Variation of a repaired mean: one number per row."""

    spread: Floats  # variance of a human-judged query, corrected by the judge's
    skewness: Floats
    rest: Floats  # variance of the mean that comes from the queries that only the judge labelled
    rest_third: Floats  # the third cumulant of the same
    excess: Floats  # of a _Shape
    share: Floats  # of all queries, which n may miss
    below: Floats  # how far below the mean a missed query may lie; 0 where none is allowed for
    above: Floats

    def interval(self, mean: Floats, n: Floats | int, level: float) -> tuple[Floats, Floats]:
        """Return both ends, from n human-judged queries. If only one end varies, the other is the mean."""
        low, high = self._hall(mean, n, -self.below, level)[0], self._hall(mean, n, self.above, level)[1]
        return np.where(np.isnan(high), low, np.fmin(low, mean)), np.where(np.isnan(low), high, np.fmax(high, mean))

    def _hall(self, mean: Floats, n: Floats | int, away: Floats, level: float) -> tuple[Floats, Floats]:
        """Return Hall's interval from n queries. Unless away is 0, part of one more query at that distance is added."""
        part = np.where(away != 0, np.maximum(chance_to_miss(self.share, n), 1 - level), 0.0)
        shift, spread = with_part_of_a_query(self.spread, n, part, away)
        size = n + part
        variance = spread / size + self.rest
        third = self.skewness * self.spread**1.5 / size**2 + self.rest_third
        return skewed_interval(mean + shift, variance, third, _degrees(self.excess, size), level)


def prediction_powered(
    y: Floats,
    f: Floats,
    others: Floats,
    level: float = 0.95,
    seed: int = SEED,
    ahead: int = LOOK_AHEAD,
    within: Range | None = None,
) -> RepairedMeans:
    """Return the repaired mean of each row.

    y, f: scores under the human's and the judge's labels, [row, query]. others: scores of queries that only the judge
        labelled, [row, query].

    ahead: up to this many times the given queries are considered for an interval of half the width.
    within: the smallest and the largest possible score, or difference, if known.

    >>> y = np.array([[0.2, 0.5, 0.4, 0.7, 0.6, 0.3]])
    >>> found = prediction_powered(y, y + 0.3, np.array([[0.6, 0.8, 0.7, 0.9, 0.8, 0.7, 0.5, 1.0]]))
    >>> round(float(found.human[0]), 3), round(float(found.judged[0]), 3), round(float(found.value[0]), 3)
    (0.45, 0.75, 0.45)
    """
    n, size = y.shape[1], others.shape[1]
    if n < FEWEST:
        raise CalipersError(f"at least {FEWEST} human-judged queries are needed to correct by, not {n}")
    if size < 2:
        raise CalipersError(
            "the judge labelled fewer than two queries that the human did not: there is nothing to correct"
        )
    weight = cross_fitted(y, f, others, seed)
    corrected = y - weight * (f - others.mean(axis=1, keepdims=True))
    used, everywhere = weight.mean(axis=1), np.concatenate([f, others], axis=1)
    judge, value, human = _Shape.of(everywhere), corrected.mean(axis=1), y.mean(axis=1)
    share = np.minimum(carrying_share(y), 1 / np.maximum(judge.kurtosis, 1.0))
    sparse = is_sparse(share, n, level) | (_cumulant(y, y) < judge.variance / WIDER_JUDGE**2)
    below, above = np.where(sparse, _farthest(corrected, everywhere, within), 0.0)
    varied = _Varied(
        spread=_over_all_queries(corrected, f, judge),
        skewness=_pooled_skewness(corrected, judge),
        rest=used**2 * _cumulant(others, others) / size,
        rest_third=used**3 * _cumulant(others, others, others) / size**2,
        excess=judge.excess,
        share=np.zeros_like(share) if within is None else share,  # without a range, a whole query is allowed for
        below=below,
        above=above,
    )
    low, high = varied.interval(value, n, level)
    human_low, human_high = skewed_interval(human, _cumulant(y, y) / n, _cumulant(y, y, y) / n**2, n - 1, level)
    variance = varied.spread / n + varied.rest
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(variance > 0, _over_all_queries(y, f, judge) / variance - n, 0.0)
    to_halve = _to_halve(y, f, others, varied, (high - low) / 2, level, ahead)
    if within is not None:
        low, high = _inside(value, low, high, within)
        human_low, human_high = _inside(human, human_low, human_high, within)
    return RepairedMeans(
        human=human,
        judged=everywhere.mean(axis=1),
        value=value,
        low=low,
        high=high,
        human_low=human_low,
        human_high=human_high,
        weight=used,
        worth=worth,
        to_halve=to_halve,
        carried_by=n * share,
        sparse=sparse,
        n=n,
        others=size,
    )


def skewed_interval(
    mean: Floats, variance: Floats, third: Floats, degrees: Floats | int, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return both ends of Hall's interval of a mean, from its variance and third cumulant; NaN if it does not vary.

    >>> x = np.array([[0.1, 0.2, 0.3, 0.4, 0.5]])
    >>> low, high = skewed_interval(x.mean(axis=1), x.var(axis=1, ddof=1) / 5, np.zeros(1), 4)  # Student's
    >>> round(float(low[0]), 4), round(float(high[0]), 4)
    (0.1037, 0.4963)
    """
    from scipy.special import stdtrit

    reach = stdtrit(degrees, (1 + level) / 2)
    error = np.where(variance > (1e-12 * np.maximum(np.abs(mean), 1)) ** 2, np.sqrt(np.maximum(variance, 0)), np.nan)
    skewness = third / error**3
    return mean - error * _untransformed(skewness, reach), mean - error * _untransformed(skewness, -reach)


def with_part_of_a_query(
    variance: Floats, n: Floats | int, part: Floats | float, away: Floats
) -> tuple[Floats, Floats]:
    """Return the shift of the mean of n queries, and their variance, with part of one more query.

    part: the weight of that query. away: its distance from the mean.

    >>> x, more = np.array([[0.0, 0.0, 1.0, 3.0]]), np.array([[0.0, 0.0, 1.0, 3.0, 6.0]])  # 5 away from the mean
    >>> with_part_of_a_query(x.var(axis=1, ddof=1), 4, 1.0, np.array([5.0]))
    (array([1.]), array([6.5]))
    >>> more.mean(axis=1) - x.mean(axis=1), more.var(axis=1, ddof=1)
    (array([1.]), array([6.5]))
    """
    size = n + part
    return part * away / size, ((n - 1) * variance + n * part / size * away**2) / (size - 1)


def chance_to_miss(share: Floats, n: Floats | int) -> Floats:
    """Return the probability that n queries hold none of this share of all queries."""
    return np.asarray((1 - np.minimum(share, 1.0)) ** n)


def is_sparse(share: Floats, n: int, level: float = 0.95) -> NDArray[np.bool_]:
    """Return True if the share of queries that carries the variance is too small for an interval from n queries.

    >>> is_sparse(np.array([1 / 3, 0.18, 0.15]), 15).tolist(), is_sparse(np.array([1 / 3, 0.18, 0.15]), 30).tolist()
    ([False, True, True], [False, False, True])
    """
    return np.asarray((chance_to_miss(share, n) > 1 - level) | (share < 1 / HEAVIEST_TAILS))


def carrying_share(sample: Floats) -> Floats:
    """Return the share of queries that carries the variance, from a sample: 1 / kurtosis, or 0 if nothing varies.

    The kurtosis of a few queries is too small on average, so it is the unbiased one (Joanes & Gill's G2 + 3).

    >>> carrying_share(np.array([[1.0, 0.0, 0.0, 0.0, 0.0], [1.0, -1.0, 1.0, -1.0, 0.0]])).round(3).tolist()
    [0.125, 1.0]
    """
    n, kurtosis = sample.shape[-1], _kurtosis(sample)
    unbiased = 3 + (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (kurtosis - 3) + 6)
    return np.where(kurtosis > 0, 1 / np.maximum(unbiased, 1.0), 0.0)


def _degrees(excess: Floats, n: Floats | int) -> Floats:
    """Return the degrees of freedom of the variance of n human-judged queries, from the excess of a _Shape."""
    return np.asarray(np.maximum(2 / (excess / n + 2 / (np.asarray(n) - 1)), 1.0))


def _farthest(values: Floats, judged: Floats, within: Range | None) -> Floats:
    """Return how far from the mean of the values an unjudged query may lie, [below or above, row].

    As far as the range allows; without a range, as far as any query does, by these values or by the judge's.
    """
    if within is not None:
        mean = values.mean(axis=1)
        return np.maximum([mean - within[0], within[1] - mean], 0.0)
    seen = np.maximum(*(np.abs(each - each.mean(axis=1, keepdims=True)).max(axis=1) for each in (values, judged)))
    return np.array([seen, seen])


def _inside(mean: Floats, low: Floats, high: Floats, within: Range) -> tuple[Floats, Floats]:
    """Return the ends, cut at the range of scores. A mean outside the range stays inside the interval."""
    return np.maximum(low, np.minimum(mean, within[0])), np.minimum(high, np.maximum(mean, within[1]))


def _over_all_queries(values: Floats, f: Floats, judge: _Shape) -> Floats:
    """Return the variance of each row over all queries, by regression on the judge's scores."""
    here = _cumulant(f, f)
    known = here > 1e-24
    slope = np.where(known, _cumulant(values, f) / np.where(known, here, 1.0), 0.0)
    return np.maximum(_cumulant(values, values) + slope**2 * (judge.variance - here), 0.0)


def _pooled_skewness(values: Floats, judge: _Shape) -> Floats:
    """Return the skewness of rows and judge's scores, weighted by queries; of the rows if the judge's do not vary."""
    n = values.shape[-1]
    own = _skewness(_cumulant(values, values), _cumulant(values, values, values))
    return np.where(judge.variance > 1e-24, (n * own + judge.size * judge.skewness) / (n + judge.size), own)


def _skewness(variance: Floats, third: Floats) -> Floats:
    varies = variance > 1e-24
    return np.where(varies, third / np.where(varies, variance, 1.0) ** 1.5, 0.0)


def _kurtosis(values: Floats) -> Floats:
    """Return the fourth central moment divided by the square of the second, or 0 if nothing varies."""
    squares = (values - values.mean(axis=-1, keepdims=True)) ** 2
    second = squares.mean(axis=-1)
    varies = second > 1e-24
    return np.where(varies, (squares**2).mean(axis=-1) / np.where(varies, second, 1.0) ** 2, 0.0)


def _untransformed(skewness: Floats, x: Floats) -> Floats:
    """Return the T for which Hall's g(T) is x."""
    a = np.where(np.abs(skewness) < 1e-6, 1e-6, skewness)
    inverse: Floats = 3 * (np.cbrt(1 + a * (x - a / 6)) - 1) / a
    return np.where(np.abs(skewness) < 1e-6, x, inverse)


def _cumulant(*arrays: Floats) -> Floats:
    """Return the unbiased joint cumulant of each row of two or three arrays: variance, covariance or third cumulant."""
    n = arrays[0].shape[-1]
    product: Floats = np.ones(1)
    for array in arrays:
        product = product * (array - array.mean(axis=-1, keepdims=True))
    cumulant: Floats = product.sum(axis=-1) / (n - 1 if len(arrays) == 2 else (n - 1) * max(n - 2, 1) / n)
    return cumulant


def best_weight(y: Floats, f: Floats, n: int, others: int, variance: Floats | None = None) -> Floats:
    """Return the best weight l* of each row, for n human-judged queries and `others` other queries.

    variance: variance of f over more queries, if known.
    """
    spread = _cumulant(f, f) if variance is None else variance
    with np.errstate(divide="ignore", invalid="ignore"):
        best = _cumulant(y, f) / ((1 + n / others) * spread)
    return np.clip(np.where(spread > 0, best, 0.0), 0.0, 1.0)


def cross_fitted(y: Floats, f: Floats, others: Floats, seed: int = SEED) -> Floats:
    """Return the weight of each row and query, computed from the half of the human-judged queries without the query.

    The judge labelled all queries, so the variance of its scores comes from all of them. The weight is 0 if all other
    queries have the same score. Otherwise a judge that is right on all human-judged queries by chance would leave no
    variance.
    """
    n = y.shape[-1]
    half = np.random.default_rng(seed).permutation(n) % 2 == 0
    spread = np.concatenate([f, others], axis=-1).var(axis=-1, ddof=1)
    weight = np.empty(y.shape)
    for here in (half, ~half):
        tuned = best_weight(y[..., ~here], f[..., ~here], n, others.shape[-1], spread)
        weight[..., here] = tuned[..., None]
    return np.where(np.ptp(others, axis=-1, keepdims=True) > 1e-12, weight, 0.0)


def _to_halve(
    y: Floats, f: Floats, others: Floats, varied: _Varied, target: Floats, level: float, ahead: int
) -> Floats:
    """Return how many more human-judged queries bring the interval to the target width. Found by bisection.

    The queries come first from those that only the judge labelled. After these, they are new queries. The variance of
    scores is taken to stay the same. A sparse row stays sparse, but more queries are less likely to miss a rare score.
    """
    if ahead == 0:
        return np.full(len(y), np.nan)
    n, size = y.shape[1], others.shape[1]
    judge = _Shape.of(np.concatenate([f, others], axis=1))
    vf, here = judge.variance, _cumulant(f, f)
    slope = np.where(here > 1e-24, _cumulant(y, f) / np.where(here > 1e-24, here, 1.0), 0.0)
    vy, third_of_rest = _over_all_queries(y, f, judge), _cumulant(others, others, others)

    def suffices(more: Ints) -> NDArray[np.bool_]:
        many, left = n + more, np.maximum(size - more, 0)
        some = np.maximum(left, 1)
        weight = np.where(left > 0, np.clip(slope / (1 + many / some), 0.0, 1.0), 0.0)
        then = replace(
            varied,
            spread=np.maximum(vy + (weight**2 - 2 * weight * slope) * vf, 0.0),
            rest=weight**2 * vf / some,
            rest_third=weight**3 * third_of_rest / some**2,
        )
        low, high = then.interval(np.zeros(len(y)), many, level)
        return np.asarray(high - low <= target)

    too_few, enough = np.zeros(len(y), int), np.full(len(y), ahead * (n + size))
    found = suffices(enough)
    while np.any(enough - too_few > 1):
        middle = (too_few + enough + 1) // 2  # of two neighbours, the larger one, which is known to suffice
        yes = suffices(middle)
        too_few, enough = np.where(yes, too_few, middle), np.where(yes, middle, enough)
    return np.where(found, enough, np.nan)
