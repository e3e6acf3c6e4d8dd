"""Scores repaired by few human judgments: prediction-powered inference.

y_i is the score of query i under the human's labels (n queries), f_i under a cheap judge's (the same n, and N others):

    theta = mean_n(y - l f) + l mean_N(f)        var = var_n(y - l f) / n + l^2 var_N(f) / N
    l*    = cov(y, f) / ((1 + n/N) var(f)), between 0 and 1

theta is unbiased for any fixed weight l, whatever the judge is worth; l = 0 is the human's part alone. A weight tuned
on the same queries has a bias of order 1/n, so it is cross-fitted: the queries of either half are weighed by what the
other half says. Few queries say little of l*, so half of it is used, which keeps three quarters of what it
saves. For differences of systems, y and f are differences.

Scores are skewed: most queries near 0, or near 1, and few far from it. Student's interval then misses the truth on the
far side too often. With T = (theta - truth) / error and A the skewness of theta, Hall's monotone transformation

    g(T) = T + A T^2 / 3 + A^2 T^3 / 27 + A / 6

is symmetric about 0 to the order of 1/n, and the interval is where g(T) is within Student's quantiles (n - 1 degrees of
freedom). A is itself estimated: it lengthens the one end by all of it, and shortens the other by what is beyond half a
standard error of it. Differences have no tail to expect on either side: half of their A counts, and shortens by what is
beyond two standard errors.

Two similar systems differ on a few queries only, which few human-judged queries may miss: the variance of their
differences is then far too small. Two things that are known besides correct it, each by a power of a ratio:

    var' = var (var_all(f) / var_n(f))^(1/2) (apart / n var)^(1/2n)

The judge labelled all queries, so it is known whether its scores vary more over all of them than over the human-judged
ones (the ratio is kept between 1/2 and 9). And apart, the sum of both systems' variances, is how much the difference of
unrelated systems would vary; its weight in the logarithm of the variance is 1/2n, so that it counts for less the more
queries people judged.

Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, Prediction-powered inference, Science 2023.
Angelopoulos, Duchi & Zrnic, PPI++: Efficient prediction-powered inference, 2023 (the weight).
Hall, On the removal of skewness by transformation, Journal of the Royal Statistical Society B, 1992 (the interval).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calipers.errors import CalipersError
from calipers.judging.effects_on_systems import Effects, on_queries
from calipers.lists import Floats
from calipers.plurals import counted
from calipers.results.tables import Cell, Table
from calipers.stats.differences import all_pairs
from calipers.stats.significance import SEED

FEWEST = 4  # human-judged queries: a weight is tuned on either half of them
TRUSTED = 15  # human-judged queries from which on the intervals are known to cover
SHARE = 0.5  # of the tuned weight: saves 1 - (1 - 0.5)^2 = three quarters of the variance that all of it would
DOUBT, DOUBT_OF_DIFFERENCES = 0.5, 2.0  # standard errors of the skewness that do not shorten an interval
SKEWNESS_SHARE = 0.5  # of the skewness of differences
JUDGES_SHARE = 0.5  # power of the ratio of the judge's variances, over all queries and over the human-judged ones
RATIOS = 0.5, 9.0  # least and greatest such ratio
UNRELATED_SHARE = 0.5  # power, over n, of the ratio of the variance of unrelated systems to that of the pair
HEAVY = 0.5  # share of the variance on one query from which on an interval may be too narrow
LOOK_AHEAD = 100  # times the queries at hand, within which an interval of half the width is looked for

COLUMNS = (
    "judge", "measure", "system", "human", "judged", "corrected", "low", "high", "human_low", "human_high",
    "weight", "n", "others", "worth", "to_halve", "heaviest",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class RepairedMeans:
    """Means repaired by prediction-powered inference; arrays are in the order of the rows given."""

    human: Floats  # the mean of the human-judged queries alone
    judged: Floats  # the mean of all queries under the judge's labels
    value: Floats
    low: Floats  # NaN, as the other ends, where all the human's scores are the same: they do not say how scores vary
    high: Floats
    human_low: Floats
    human_high: Floats
    weight: Floats  # of the judge: 0 where its scores say nothing of the human's, at most 1
    worth: Floats  # how many human-judged queries more the judge is as good as; below 0 where it costs some
    to_halve: Floats  # human-judged queries more that would halve the interval; NaN where nothing near would
    heaviest: Floats  # largest share of the variance on one query: of the human's scores, or of all the judge's
    n: int
    others: int


def prediction_powered(
    y: Floats,
    f: Floats,
    others: Floats,
    level: float = 0.95,
    seed: int = SEED,
    ahead: int = LOOK_AHEAD,
    apart: Floats | None = None,
) -> RepairedMeans:
    """The repaired mean of each row: y and f of [row, query], both known; others of [row, query], only judged cheaply.

    ahead: how many times the queries at hand are looked at for an interval of half the width.
    apart: if the rows are differences of systems, the sum of both systems' variances over the human-judged queries.

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
    mean_weight = weight.mean(axis=1)
    value, human, alone = corrected.mean(axis=1), y.mean(axis=1), _cumulant(y, y) / n
    variance, third = (
        _cumulant(*[corrected] * k) / n ** (k - 1) + mean_weight**k * _cumulant(*[others] * k) / size ** (k - 1)
        for k in (2, 3)
    )
    ratio = None if apart is None else _judges_ratio(f, others)
    low, high = _interval(value, variance, third, n, level, apart, ratio)
    human_low, human_high = _interval(human, alone, _cumulant(y, y, y) / n**2, n, level, apart)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(variance > 0, n * (alone / variance - 1), 0.0)
    return RepairedMeans(
        human=human,
        judged=np.concatenate([f, others], axis=1).mean(axis=1),
        value=value,
        low=low,
        high=high,
        human_low=human_low,
        human_high=human_high,
        weight=mean_weight,
        worth=worth,
        to_halve=_to_halve(y, f, others, (high - low) / 2, level, ahead, apart),
        heaviest=np.maximum(_heaviest(y), _heaviest(np.concatenate([f, others], axis=1))),
        n=n,
        others=size,
    )


def skewed_interval(
    mean: Floats, variance: Floats, third: Floats, n: Floats | int, level: float = 0.95, doubt: float = DOUBT
) -> tuple[Floats, Floats]:
    """Both ends of Hall's interval of a mean, from its variance and third cumulant; NaN where it does not vary.

    >>> x = np.array([[0.1, 0.2, 0.3, 0.4, 0.5]])
    >>> low, high = skewed_interval(x.mean(axis=1), x.var(axis=1, ddof=1) / 5, np.zeros(1), 5)  # Student's
    >>> round(float(low[0]), 4), round(float(high[0]), 4)
    (0.1037, 0.4963)
    """
    from scipy.special import stdtrit

    reach = stdtrit(np.asarray(n) - 1, (1 + level) / 2)
    error = np.where(variance > (1e-12 * np.maximum(np.abs(mean), 1)) ** 2, np.sqrt(np.maximum(variance, 0)), np.nan)
    skewness = third / error**3
    by_chance = doubt * np.sqrt(6) / np.asarray(n)  # its standard error is that of n normal values, over root n
    sure = np.sign(skewness) * np.maximum(np.abs(skewness) - by_chance, 0)
    low = mean - error * _untransformed(np.where(skewness > 0, sure, skewness), reach)
    high = mean - error * _untransformed(np.where(skewness > 0, skewness, sure), -reach)
    return low, high


def _judges_ratio(f: Floats, others: Floats) -> Floats:
    """How much more the judge's scores vary over all queries than over the human-judged ones, within RATIOS."""
    everywhere, here = np.concatenate([f, others], axis=1).var(axis=1, ddof=1), _cumulant(f, f)
    least, greatest = RATIOS
    small = np.maximum(everywhere / greatest, 1e-24)
    return np.clip(np.where(everywhere > 1e-24, everywhere / np.maximum(here, small), 1.0), least, greatest)


def _steadied(variance: Floats, n: Floats | int, apart: Floats, ratio: Floats | float) -> Floats:
    """The variance of a mean difference, corrected by the judge's variances and by that of unrelated systems."""
    by_judge = variance * ratio**JUDGES_SHARE
    known = (by_judge > 0) & (apart > 0)
    steadied: Floats = by_judge * np.where(known, apart / np.where(known, n * by_judge, 1.0), 1.0) ** (
        UNRELATED_SHARE / n
    )
    return steadied


def _interval(
    mean: Floats,
    variance: Floats,
    third: Floats,
    n: Floats | int,
    level: float,
    apart: Floats | None,
    ratio: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Both ends of the interval of a mean or, where it is known how unrelated systems would vary, of a difference."""
    if apart is None:
        return skewed_interval(mean, variance, third, n, level)
    steadied = _steadied(variance, n, apart, 1.0 if ratio is None else ratio)
    return skewed_interval(mean, steadied, SKEWNESS_SHARE * third, n, level, DOUBT_OF_DIFFERENCES)


def _heaviest(values: Floats) -> Floats:
    """The largest share of the variance of each row that one query has; 0 where nothing varies."""
    squares = (values - values.mean(axis=1, keepdims=True)) ** 2
    total = squares.sum(axis=1)
    share: Floats = np.where(total > 1e-24, squares.max(axis=1) / np.where(total > 0, total, 1.0), 0.0)
    return share


def _untransformed(skewness: Floats, x: Floats) -> Floats:
    """The T for which Hall's g(T) is x."""
    a = np.where(np.abs(skewness) < 1e-6, 1e-6, skewness)
    inverse: Floats = 3 * (np.cbrt(1 + a * (x - a / 6)) - 1) / a
    return np.where(np.abs(skewness) < 1e-6, x, inverse)


def _cumulant(*arrays: Floats) -> Floats:
    """The unbiased joint cumulant of each row of two or three arrays: variance, covariance, third cumulant."""
    n = arrays[0].shape[-1]
    product: Floats = np.ones(1)
    for array in arrays:
        product = product * (array - array.mean(axis=-1, keepdims=True))
    cumulant: Floats = product.sum(axis=-1) / (n - 1 if len(arrays) == 2 else (n - 1) * max(n - 2, 1) / n)
    return cumulant


def best_weight(y: Floats, f: Floats, n: int, others: int, variance: Floats | None = None) -> Floats:
    """l* of each row, for n human-judged queries and so many others; the variance of f over more queries, if known."""
    spread = _cumulant(f, f) if variance is None else variance
    with np.errstate(divide="ignore", invalid="ignore"):
        best = _cumulant(y, f) / ((1 + n / others) * spread)
    return np.clip(np.where(spread > 0, best, 0.0), 0.0, 1.0)


def cross_fitted(y: Floats, f: Floats, others: Floats, seed: int = SEED) -> Floats:
    """The weight of each row and query: by the half of the human-judged queries that the query is not in.

    The judge labelled all queries, so all of them say how its scores vary.
    """
    n = y.shape[-1]
    half = np.random.default_rng(seed).permutation(n) % 2 == 0
    spread = np.concatenate([f, others], axis=-1).var(axis=-1, ddof=1)
    weight = np.empty(y.shape)
    for here in (half, ~half):
        tuned = best_weight(y[..., ~here], f[..., ~here], n, others.shape[-1], spread)
        weight[..., here] = SHARE * tuned[..., None]
    return weight


def _to_halve(
    y: Floats, f: Floats, others: Floats, target: Floats, level: float, ahead: int, apart: Floats | None
) -> Floats:
    """How many more human-judged queries would bring the interval to the target.

    They come from those that the judge labelled already, as long as there are some, and are new ones after that; how
    much scores vary stays as it is here.
    """
    n, size = y.shape[1], others.shape[1]
    found = np.full(len(y), np.nan)
    if not ahead:
        return found
    more = np.arange(1, ahead * (n + size) + 1)
    many = n + more
    left = np.maximum(size - more, 0)
    vy, vf, c = _cumulant(y, y), _cumulant(f, f), _cumulant(y, f)
    ratio = None if apart is None else _judges_ratio(f, others)
    yyy, yyf, yff, fff = _cumulant(y, y, y), _cumulant(y, y, f), _cumulant(y, f, f), _cumulant(f, f, f)
    for row in range(len(y)):
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.where((left > 0) & (vf[row] > 0), c[row] / ((1 + many / left) * vf[row]), 0.0)
            weight = SHARE * np.clip(np.nan_to_num(best), 0.0, 1.0)
            rest, rest_third = (np.where(left > 0, weight**k * v / left ** (k - 1), 0.0)
                                for k, v in ((2, vf[row]), (3, fff[row])))  # fmt: skip
        variance = (vy[row] - 2 * weight * c[row] + weight**2 * vf[row]) / many + rest
        third = yyy[row] - 3 * weight * yyf[row] + 3 * weight**2 * yff[row] - weight**3 * fff[row]
        of_row = (None, None) if apart is None or ratio is None else (apart[[row]], ratio[[row]])
        low, high = _interval(np.zeros(len(many)), variance, third / many**2 + rest_third, many, level, *of_row)
        enough = np.flatnonzero(high - low <= target[row])
        if len(enough):
            found[row] = more[enough[0]]
    return found


# -- over judges, measures and systems ---------------------------------------------------------------


def corrected_means(effects: Effects, level: float = 0.95, seed: int = SEED) -> Table:
    """The repaired mean of each system under each measure, with each judge: one row each."""
    rows: list[tuple[Cell, ...]] = []
    for judge in effects.judges:
        for m, measure in enumerate(effects.measures):
            y, f, others = _split(effects, judge, m)
            found = prediction_powered(y, f, others, level, seed)
            rows += [(judge, measure, system, *_cells(found, s)) for s, system in enumerate(effects.systems)]
    return Table(COLUMNS, tuple(rows), {"level": level, "seed": seed})


def corrected_differences(effects: Effects, level: float = 0.95, seed: int = SEED) -> Table:
    """The repaired difference of each two systems: one row per judge, measure and pair."""
    a, b = all_pairs(len(effects.systems))
    rows: list[tuple[Cell, ...]] = []
    for judge in effects.judges:
        for m, measure in enumerate(effects.measures):
            scores = _split(effects, judge, m)
            spread = _cumulant(scores[0], scores[0])
            y, f, others = (part[a] - part[b] for part in scores)
            found = prediction_powered(y, f, others, level, seed, apart=spread[a] + spread[b])
            names = [(effects.systems[i], effects.systems[j]) for i, j in zip(a.tolist(), b.tolist(), strict=True)]
            rows += [(judge, measure, *pair, *_cells(found, p)) for p, pair in enumerate(names)]
    columns = (*COLUMNS[:2], "system_a", "system_b", *COLUMNS[3:])
    return Table(columns, tuple(rows), {"level": level, "seed": seed})


def helped(table: Table) -> list[str]:
    """What each judge was worth, in words: one line per judge and measure."""
    said = []
    names = ("judge", "measure", "worth", "n", "others", "to_halve", "human_low", "heaviest")
    differences = "system_a" in table.columns
    place = {name: table.columns.index(name) for name in names}
    kinds = dict.fromkeys((row[place["judge"]], row[place["measure"]]) for row in table.rows)
    for judge, measure in kinds:
        rows = [row for row in table.rows if (row[place["judge"]], row[place["measure"]]) == (judge, measure)]
        what = f"{judge}, {'differences of ' if differences else ''}{measure}"
        n, others = rows[0][place["n"]], rows[0][place["others"]]
        worth = float(np.median([float(row[place["worth"]] or 0.0) for row in rows]))
        halve = [float(row[place["to_halve"]]) for row in rows if row[place["to_halve"]] is not None]  # type: ignore[arg-type]
        helps = (
            f"its labels of {others} more queries are worth {worth:.1f} more human-judged queries"
            if worth >= 1
            else f"it hardly helps: its labels of {others} more queries are worth {max(worth, 0.0):.1f}"
        )
        more = f"; {np.median(halve):.0f} more human-judged queries would halve the interval" if halve else ""
        said.append(f"{what}: {counted(n, 'query')} judged by people; {helps}{more} (medians over the rows)")
        if int(n) < TRUSTED:  # type: ignore[arg-type]  # a count
            said.append(f"warning: {what}: intervals are only known to hold from {TRUSTED} queries on")
        alike = sum(row[place["human_low"]] is None for row in rows)
        if alike:
            said.append(
                f"warning: {what}: {alike} of {len(rows)} rows have the same human score on all {n} "
                "queries: there is no interval, because the scores do not say how far others could be"
            )
        heavy = sum(float(row[place["heaviest"]] or 0.0) > HEAVY for row in rows)
        if heavy:
            said.append(
                f"warning: {what}: in {heavy} of {len(rows)} rows one query has more than {HEAVY:.0%} of the variance "
                "(column heaviest): the interval may be too narrow, because other such queries may be missing"
            )
    return list(dict.fromkeys(said))


def _split(effects: Effects, judge: str, m: int) -> tuple[Floats, Floats, Floats]:
    """Scores on the queries of both, under either's labels, and on those that only the judge labelled."""
    ours, theirs = effects.common(judge)
    known = effects.scores[effects.names.index(judge)]
    human = set(effects.scores[0].queries)
    rest = on_queries(known, [query for query in known.queries if query not in human])
    y, f, others = ours.values[m], theirs.values[m], rest.values[m]
    both = ~(np.isnan(y) | np.isnan(f)).any(axis=0)
    return y[:, both], f[:, both], others[:, ~np.isnan(others).any(axis=0)]


def _cells(found: RepairedMeans, row: int) -> tuple[Cell, ...]:
    halve = float(found.to_halve[row])
    arrays = (found.human, found.judged, found.value, found.low, found.high, found.human_low, found.human_high)
    return (
        *(None if np.isnan(array[row]) else float(array[row]) for array in arrays),
        float(found.weight[row]),
        found.n,
        found.others,
        float(found.worth[row]),
        None if np.isnan(halve) else int(halve),
        float(found.heaviest[row]),
    )
