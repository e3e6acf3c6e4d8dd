"""Agreement of two judges, computed from the confusion matrix of their grades.

    kappa  = 1 - sum(w o) / sum(w e)       o: observed shares of pairs of grades; e: products of the marginal shares
                                           w: 0/1, |i - j| or (i - j)^2 between the i-th and the j-th grade
    alpha  = 1 - D_o / D_e                 from the coincidence matrix of all labels of a document
    AC     = (a - c) / (1 - c)             a: (weighted) agreement; c = T/(q(q - 1)) sum of p_k (1 - p_k), T the sum of
                                           the weights, p_k the mean share of grade k, q grades

Every function takes matrices [..., grade of the first judge, grade of the second judge], so that one call handles all
queries or all resamples. Undefined values are NaN.

Cohen, A coefficient of agreement for nominal scales, Educational and Psychological Measurement 1960.
Cohen, Weighted kappa, Psychological Bulletin 1968.
Krippendorff, Content analysis: an introduction to its methodology, Sage 2004.
Gwet, Computing inter-rater reliability and its variance in the presence of high agreement, British Journal of
Mathematical and Statistical Psychology 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.questions.judges.judge_table import JudgeTable
from calipers.results.scores import order_of
from calipers.results.tables import Cell, Table
from calipers.statistics.score_arrays import times_drawn
from calipers.statistics.significance import SEED

WEIGHTS = ("none", "linear", "quadratic")
LEVELS = ("nominal", "ordinal", "interval")
DRAWS = 1_000
CELLS_AT_ONCE = 4_000_000


def agreed(counts: Floats) -> Floats:
    """Return the share of documents with equal labels."""
    return _ratio(np.trace(counts, axis1=-2, axis2=-1), _total(counts))


def kappa(counts: Floats, weights: str = "none") -> Floats:
    """Return Cohen's kappa. It is undefined if both judges gave the same grade to all documents.

    The weights use the positions of the grades among the grades that occur, as in scikit-learn and statsmodels.

    >>> round(float(kappa(np.array([[20.0, 5], [10, 15]]))), 12)
    0.4
    """
    apart = _apart(counts.shape[-1], weights)
    rows, columns = counts.sum(-1), counts.sum(-2)
    observed = (apart * counts).sum((-1, -2)) * _total(counts)
    by_chance = np.einsum("...i,ij,...j->...", rows, apart, columns)
    return 1.0 - _ratio(observed, by_chance)


def gwet(counts: Floats, weights: str = "none") -> Floats:
    """Return Gwet's AC1, or AC2 with weights. A frequent grade changes them less than kappa.

    >>> round(float(gwet(np.array([[118.0, 5], [2, 0]]))), 4)
    0.9408
    """
    size = counts.shape[-1]
    if size < 2:
        return np.full(counts.shape[:-2], np.nan)
    apart = _apart(size, weights)
    alike = 1.0 - apart / apart.max()
    total = _total(counts)
    share = _ratio(counts.sum(-1) + counts.sum(-2), 2 * total[..., None])
    by_chance = alike.sum() / (size * (size - 1)) * (share * (1 - share)).sum(-1)
    return _ratio(_ratio((alike * counts).sum((-1, -2)), total) - by_chance, 1 - by_chance)


def alpha(coincidence: Floats, grades: Floats, level: str = "ordinal") -> Floats:
    """Return Krippendorff's alpha. The coincidence matrix of two judges is their confusion matrix plus its transpose.

    >>> counts = np.array([[20.0, 5], [10, 15]])
    >>> round(float(alpha(counts + counts.T, np.array([0.0, 1.0]), "nominal")), 6)
    0.4
    """
    margin = coincidence.sum(-1)
    if level == "nominal":
        apart = 1.0 - np.eye(len(grades))
    elif level == "interval":
        apart = (grades[:, None] - grades) ** 2
    elif level == "ordinal":  # the number of labels between two grades; labels of these two grades count half
        middle = np.cumsum(margin, axis=-1) - margin / 2
        apart = (middle[..., :, None] - middle[..., None, :]) ** 2
    else:
        raise CalipersError(f"level={level} is not one of {', '.join(LEVELS)}")
    observed = (coincidence * apart).sum((-1, -2)) * (margin.sum(-1) - 1)
    return 1.0 - _ratio(observed, (margin[..., :, None] * margin[..., None, :] * apart).sum((-1, -2)))


def krippendorff_alpha(labels: Floats, level: str = "ordinal") -> float:
    """Return alpha for several judges. labels: [judge, document], NaN for missing labels.

    >>> nan = np.nan
    >>> round(krippendorff_alpha(np.array([[1, 2, 3, 3], [1, 2, 3, nan], [nan, 3, 3, nan]]), "nominal"), 6)
    0.65
    """
    known = ~np.isnan(labels)
    grades = np.unique(labels[known])
    count = np.zeros((labels.shape[1], len(grades)))
    place = np.searchsorted(grades, labels[known])
    np.add.at(count, (np.broadcast_to(np.arange(labels.shape[1]), labels.shape)[known], place), 1.0)
    several = count[count.sum(axis=1) > 1]
    if not len(several):
        return float("nan")
    pairs = several / (several.sum(axis=1, keepdims=True) - 1)
    coincidence = pairs.T @ several - np.diag(pairs.sum(axis=0))
    used = coincidence.sum(axis=1) > 0
    return float(alpha(coincidence[np.ix_(used, used)], grades[used], level))


def spearman(counts: Floats) -> Floats:
    """Return Spearman's rho with mean ranks for equal labels. It is undefined if a judge gave only one grade."""
    rows, columns = counts.sum(-1), counts.sum(-2)
    total = _total(counts)[..., None]
    x, y = (np.cumsum(margin, axis=-1) - margin / 2 - total / 2 for margin in (rows, columns))
    product = np.einsum("...i,...ij,...j->...", x, counts, y)
    return _ratio(product, np.sqrt((rows * x**2).sum(-1) * (columns * y**2).sum(-1)))


def mean_error(counts: Floats, grades: Floats) -> Floats:
    """Return the mean absolute difference of the grades."""
    return _ratio((counts * np.abs(grades - grades[:, None])).sum((-1, -2)), _total(counts))


def bias(counts: Floats, grades: Floats) -> Floats:
    """Return the mean grade of the second judge minus the mean grade of the first judge."""
    return _ratio((counts * (grades - grades[:, None])).sum((-1, -2)), _total(counts))


Statistic = Callable[[Floats, Floats], Floats]

STATISTICS: dict[str, Statistic] = {
    "agreement": lambda counts, grades: agreed(counts),
    "kappa": lambda counts, grades: kappa(counts),
    "kappa_linear": lambda counts, grades: kappa(counts, "linear"),
    "kappa_quadratic": lambda counts, grades: kappa(counts, "quadratic"),
    "alpha_nominal": lambda counts, grades: alpha(_both_ways(counts), grades, "nominal"),
    "alpha": lambda counts, grades: alpha(_both_ways(counts), grades, "ordinal"),
    "alpha_interval": lambda counts, grades: alpha(_both_ways(counts), grades, "interval"),
    "ac1": lambda counts, grades: gwet(counts),
    "ac2": lambda counts, grades: gwet(counts, "quadratic"),
    "spearman": lambda counts, grades: spearman(counts),
    "mae": mean_error,
    "bias": bias,
}
COLUMNS = ("agreement", "kappa", "kappa_linear", "kappa_quadratic", "alpha", "bias")


@dataclass(frozen=True, eq=False)
class Confusion:
    """Confusion matrix of a judge and the human, for each query."""

    judge: str
    grades: Floats  # all that either of the two uses
    by_query: Floats  # [query, grade of the human, grade of the judge]
    queries: tuple[str, ...]  # queries with labels of both

    @classmethod
    def of(cls, judge_table: JudgeTable, judge: str | int) -> Confusion:
        """Count the labels of one judge."""
        place = judge_table.place(judge)
        chosen = np.flatnonzero(judge_table.common(place))
        first, second = judge_table.grade[0, chosen], judge_table.grade[place, chosen]
        grades = np.union1d(first, second)
        size = len(grades)
        asked, query = np.unique(judge_table.whole.pool.query[chosen], return_inverse=True)
        cell = (query * size + np.searchsorted(grades, first)) * size + np.searchsorted(grades, second)
        counts = np.bincount(cell, minlength=len(asked) * size**2)
        return cls(
            judge=judge_table.names[place],
            grades=grades,
            by_query=counts.reshape(len(asked), size, size).astype(np.float64),
            queries=tuple(judge_table.queries[q] for q in asked.tolist()),
        )

    @cached_property
    def counts(self) -> Floats:
        """[grade of the human, grade of the judge]."""
        return np.asarray(self.by_query.sum(axis=0))

    def table(self) -> Table:
        """Return one row per human grade: judge, human (the grade), and the number of labels per grade of the judge."""
        lines = zip(self.grades.tolist(), self.counts.tolist(), strict=True)
        rows = tuple((self.judge, _grade(grade), *map(int, line)) for grade, line in lines)
        return Table(("judge", "human", *(f"{grade:g}" for grade in self.grades.tolist())), rows)

    def statistics(self) -> dict[str, float]:
        """Return all statistics, computed from all labels."""
        return {name: float(of(self.counts, self.grades)) for name, of in STATISTICS.items()}

    def resampled(self, draws: int = DRAWS, seed: int = SEED) -> dict[str, Floats]:
        """Return all statistics in `draws` resamples of the queries with replacement. They may be undefined in some."""
        size = len(self.queries)
        random = np.random.default_rng(seed)
        flat = self.by_query[order_of(self.queries)].reshape(size, -1)
        parts: list[dict[str, Floats]] = []
        step = max(1, CELLS_AT_ONCE // max(flat.shape[1], size))
        for start in range(0, draws, step):
            times = times_drawn(random.integers(0, size, (min(step, draws - start), size)), size)
            counts = (times @ flat).reshape(-1, *self.by_query.shape[1:])
            parts.append({name: of(counts, self.grades) for name, of in STATISTICS.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in STATISTICS}


def percentiles(draws: Floats, level: float) -> tuple[float, float]:
    """Return the percentile interval of the draws. Undefined draws are left out.

    >>> percentiles(np.array([1.0, 2.0, 3.0, np.nan]), 0.5)
    (1.5, 2.5)
    """
    known = draws[~np.isnan(draws)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


# -- pieces ------------------------------------------------------------------------------------------


def _apart(size: int, weights: str) -> Floats:
    place = np.arange(size, dtype=np.float64)
    distance = np.abs(place[:, None] - place)
    if weights not in WEIGHTS:
        raise CalipersError(f"weights={weights} is not one of {', '.join(WEIGHTS)}")
    return {"none": (distance > 0).astype(np.float64), "linear": distance, "quadratic": distance**2}[weights]


def _both_ways(counts: Floats) -> Floats:
    return counts + np.swapaxes(counts, -1, -2)


def _total(counts: Floats) -> Floats:
    return np.asarray(counts.sum((-1, -2)))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(denominator != 0, numerator / denominator, np.nan))


def _grade(value: float) -> Cell:
    """Return the grade, as an int if it is a whole number."""
    return int(value) if value.is_integer() else value
