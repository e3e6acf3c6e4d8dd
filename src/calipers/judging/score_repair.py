"""Scores repaired by few human judgments: prediction-powered inference.

y_i is the score of query i under the human's labels (n queries), f_i under a cheap judge's (the same n, and N others):

    theta = mean_n(y - l f) + l mean_N(f)        var = var_n(y - l f) / n + l^2 var_N(f) / N
    l*    = cov(y, f) / ((1 + n/N) var(f)), between 0 and 1

theta is unbiased for any fixed weight l, whatever the judge is worth; l = 0 is the human's part alone. A weight tuned
on the same queries has a bias of order 1/n, so it is cross-fitted: the queries of either half are weighed by what the
other half says. The interval is Student's with n - 1 degrees of freedom. For differences of systems, y and f are
differences.

Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, Prediction-powered inference, Science 2023.
Angelopoulos, Duchi & Zrnic, PPI++: Efficient prediction-powered inference, 2023 (the weight).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calipers.errors import CalipersError
from calipers.judging.effects_on_systems import Effects, on_queries
from calipers.lists import Floats
from calipers.results.tables import Cell, Table
from calipers.stats.differences import all_pairs
from calipers.stats.significance import SEED

FEWEST = 4  # human-judged queries: a weight is tuned on either half of them
TRUSTED = 15  # human-judged queries from which on the intervals are known to cover
LOOK_AHEAD = 100  # times the queries at hand, within which an interval of half the width is looked for

COLUMNS = (
    "judge", "measure", "system", "human", "judged", "corrected", "low", "high", "human_low", "human_high",
    "weight", "n", "others", "worth", "to_halve",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class RepairedMeans:
    """Means repaired by prediction-powered inference; arrays are in the order of the rows given."""

    human: Floats  # the mean of the human-judged queries alone
    judged: Floats  # the mean of all queries under the judge's labels
    value: Floats
    low: Floats
    high: Floats
    human_low: Floats
    human_high: Floats
    weight: Floats  # of the judge: 0 where its scores say nothing of the human's, at most 1
    worth: Floats  # how many human-judged queries more the judge is as good as; below 0 where it costs some
    to_halve: Floats  # human-judged queries more that would halve the interval; NaN where nothing near would
    n: int
    others: int


def prediction_powered(
    y: Floats, f: Floats, others: Floats, level: float = 0.95, seed: int = SEED, ahead: int = LOOK_AHEAD
) -> RepairedMeans:
    """The repaired mean of each row: y and f of [row, query], both known; others of [row, query], only judged cheaply.

    ahead: how many times the queries at hand are looked at for an interval of half the width.

    >>> y = np.array([[0.2, 0.5, 0.4, 0.7, 0.6, 0.3]])
    >>> found = prediction_powered(y, y + 0.3, np.array([[0.6, 0.8, 0.7, 0.9, 0.8, 0.7, 0.5, 1.0]]))
    >>> round(float(found.human[0]), 3), round(float(found.judged[0]), 3), round(float(found.value[0]), 3)
    (0.45, 0.75, 0.45)
    """
    from scipy.special import stdtrit

    n, size = y.shape[1], others.shape[1]
    if n < FEWEST:
        raise CalipersError(f"at least {FEWEST} human-judged queries are needed to correct by, not {n}")
    if size < 2:
        raise CalipersError(
            "the judge labelled fewer than two queries that the human did not: there is nothing to correct"
        )
    weight = cross_fitted(y, f, others, seed)
    rest = others.mean(axis=1, keepdims=True)
    corrected = y - weight * (f - rest)
    mean_weight = weight.mean(axis=1)
    spread = others.var(axis=1, ddof=1)
    variance = corrected.var(axis=1, ddof=1) / n + mean_weight**2 * spread / size
    alone = y.var(axis=1, ddof=1) / n
    reach = float(stdtrit(n - 1, (1 + level) / 2))
    value, width = corrected.mean(axis=1), reach * np.sqrt(variance)
    human, human_width = y.mean(axis=1), reach * np.sqrt(alone)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(variance > 0, n * (alone / variance - 1), 0.0)
    return RepairedMeans(
        human=human,
        judged=np.concatenate([f, others], axis=1).mean(axis=1),
        value=value,
        low=value - width,
        high=value + width,
        human_low=human - human_width,
        human_high=human + human_width,
        weight=mean_weight,
        worth=worth,
        to_halve=_to_halve(y, f, others, width / 2, level, ahead),
        n=n,
        others=size,
    )


def best_weight(y: Floats, f: Floats, n: int, others: int) -> Floats:
    """l* of each row, for n human-judged queries and so many others."""
    ours, theirs = y - y.mean(axis=-1, keepdims=True), f - f.mean(axis=-1, keepdims=True)
    covariance, variance = (ours * theirs).sum(axis=-1), (theirs**2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = covariance / ((1 + n / others) * variance)
    return np.clip(np.where(variance > 0, best, 0.0), 0.0, 1.0)


def cross_fitted(y: Floats, f: Floats, others: Floats, seed: int = SEED) -> Floats:
    """The weight of each row and query: tuned on the half of the human-judged queries that the query is not in."""
    n = y.shape[-1]
    half = np.random.default_rng(seed).permutation(n) % 2 == 0
    weight = np.empty(y.shape)
    for here in (half, ~half):
        weight[..., here] = best_weight(y[..., ~here], f[..., ~here], n, others.shape[-1])[..., None]
    return weight


def _to_halve(y: Floats, f: Floats, others: Floats, target: Floats, level: float, ahead: int) -> Floats:
    """How many more human-judged queries would bring the interval to the target.

    They come from those that the judge labelled already, as long as there are some, and are new ones after that; how
    much scores vary stays as it is here.
    """
    from scipy.special import stdtrit

    n, size = y.shape[1], others.shape[1]
    more = np.arange(1, ahead * (n + size) + 1)
    many = n + more
    left = np.maximum(size - more, 0)
    ours, theirs = y - y.mean(axis=1, keepdims=True), f - f.mean(axis=1, keepdims=True)
    vy, vf, c = ((a * b).sum(axis=1) / (n - 1) for a, b in ((ours, ours), (theirs, theirs), (ours, theirs)))
    reach = stdtrit(many - 1, (1 + level) / 2)
    found = np.full(len(y), np.nan)
    for row in range(len(y)):
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.where((left > 0) & (vf[row] > 0), c[row] / ((1 + many / left) * vf[row]), 0.0)
            weight = np.clip(np.nan_to_num(best), 0.0, 1.0)
            rest = np.where(left > 0, weight**2 * vf[row] / left, 0.0)
        width = reach * np.sqrt((vy[row] - 2 * weight * c[row] + weight**2 * vf[row]) / many + rest)
        enough = np.flatnonzero(width <= target[row])
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
            y, f, others = (part[a] - part[b] for part in _split(effects, judge, m))
            found = prediction_powered(y, f, others, level, seed)
            names = [(effects.systems[i], effects.systems[j]) for i, j in zip(a.tolist(), b.tolist(), strict=True)]
            rows += [(judge, measure, *pair, *_cells(found, p)) for p, pair in enumerate(names)]
    columns = (*COLUMNS[:2], "system_a", "system_b", *COLUMNS[3:])
    return Table(columns, tuple(rows), {"level": level, "seed": seed})


def helped(table: Table) -> list[str]:
    """What each judge was worth, in words: one line per judge and measure."""
    said = []
    place = {name: table.columns.index(name) for name in ("judge", "measure", "worth", "n", "others", "to_halve")}
    kinds = dict.fromkeys((row[place["judge"]], row[place["measure"]]) for row in table.rows)
    for judge, measure in kinds:
        rows = [row for row in table.rows if (row[place["judge"]], row[place["measure"]]) == (judge, measure)]
        n, others = rows[0][place["n"]], rows[0][place["others"]]
        worth = float(np.median([float(row[place["worth"]] or 0.0) for row in rows]))
        halve = [float(row[place["to_halve"]]) for row in rows if row[place["to_halve"]] is not None]  # type: ignore[arg-type]
        helps = (
            f"its labels of {others} more queries are worth {worth:.1f} more human-judged queries"
            if worth >= 1
            else f"it hardly helps: its labels of {others} more queries are worth {max(worth, 0.0):.1f}"
        )
        more = f"; {np.median(halve):.0f} more human-judged queries would halve the interval" if halve else ""
        said.append(f"{judge}, {measure}: {n} queries judged by people; {helps}{more} (medians over the rows)")
        if int(n) < TRUSTED:  # type: ignore[arg-type]  # a count
            said.append(f"warning: {judge}, {measure}: intervals are only known to hold from {TRUSTED} queries on")
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
        *(float(array[row]) for array in arrays),
        float(found.weight[row]),
        found.n,
        found.others,
        float(found.worth[row]),
        None if np.isnan(halve) else int(halve),
    )
