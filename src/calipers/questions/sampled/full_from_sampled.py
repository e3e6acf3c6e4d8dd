"""Estimates of scores over all items from ranks among sampled items: one relevant item per ranking.

The relevant item has the full rank r among N items and the sampled rank s among itself and m of the others. Two
estimates of the mean of f(r):

    unbiased rank:  the mean of f(1 + (N - 1) (s - 1) / m). The rank is unbiased, its score is not.
    least squares:  the mean of f^(s), with the values f^(1), ..., f^(m + 1) that minimise
                    sum over r of p(r) [ (E[f^(s) | r] - f(r))^2 + gamma Var(f^(s) | r) ]

Krichene & Rendle, On sampled metrics for item recommendation, KDD 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from calipers.errors import CalipersError
from calipers.evaluation.evaluation import Evaluation, Measures, check_evaluation
from calipers.evaluation.inputs import kind_read
from calipers.lists import Floats, Ints, Lists, Pool
from calipers.measures.grammar import parse_all
from calipers.measures.hypergeometric import hypergeometric
from calipers.measures.registry import Measure
from calipers.questions.sampled.sampled_candidates import SAMPLED_MEASURES
from calipers.questions.sampled.sampled_ranks import CELLS, binomial
from calipers.results.result import Result, Tables
from calipers.results.tables import Cell, Table
from calipers.support.checks import check_choice, check_number, check_whole
from calipers.support.plurals import shape

TiesInOrder = Literal["docid", "docid-ascending", "input"]
METHODS = ("sampled", "rank", "least squares")
LARGEST_CATALOGUE = 10_000_000
LARGEST_SAMPLE = 2000  # for which the least-squares problem is solved
MOST_CHANCES = 500_000_000  # of a sampled rank for a full one, in all
LARGEST_GAMMA = 1e6


@dataclass(frozen=True, eq=False, repr=False)
class FullEstimates(Result):
    """Estimates of full scores from sampled ranks, per system and measure.

    `estimate` and `error` are [system, measure, method]. The method `sampled` is the mean of the sampled scores
    themselves, which estimates no full score. Standard errors are over users and their draws.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    estimate: Floats
    error: Floats
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The subject of the result, with numbers of measures and systems."""
        size = shape(measure=len(self.measures), system=len(self.systems))
        return f"Full scores estimated from sampled ranks: {size}"

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"estimates": self._estimates})

    def _estimates(self) -> Table:
        """Return system, measure, method, estimate, standard_error."""
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (system, name, method, float(self.estimate[s, m, k]), float(self.error[s, m, k]))
            for s, system in enumerate(self.systems)
            for m, name in enumerate(self.measures)
            for k, method in enumerate(METHODS)
        )
        return Table(("system", "measure", "method", "estimate", "standard_error"), rows)

    @property
    def summary(self) -> str:
        """A sentence on what the estimates can tell."""
        return self.notes[-1]


def candidate_ranks(evaluation: Evaluation, *, ties: TiesInOrder = "docid") -> dict[str, Ints]:
    """Return the rank of the one relevant item of each user in rankings of candidates, per system.

    Every ranking has its user's relevant item (grade above 0).
    ties: the order of items with equal scores: `docid`, `docid-ascending` or `input`.

    >>> import calipers as cal
    >>> candidate_ranks(cal.Experiment({"u": {"a": 1}}, {"u": {"x": 2, "a": 1}}))
    {'run': array([2])}
    """
    check_choice("tie rule", ties, get_args(TiesInOrder))
    check_evaluation(evaluation)
    known = evaluation.known
    positive = known.pool.grade > 0
    counts = known.pool.count(positive)
    if (counts != 1).any():
        user = known.queries[int(np.argmax(counts != 1))]
        raise CalipersError(f"'{user}' has {int(counts[counts != 1][0])} relevant items: estimates need exactly one")
    found: dict[str, Ints] = {}
    for run, name in zip(evaluation.runs, evaluation.systems, strict=True):
        lists = Lists.of(known.pool, [run.retrieved(known)]).under(ties)
        relevant = lists.where(lists.grade > 0)
        lacking = np.diff(relevant.offsets) == 0
        if lacking.any():
            user = known.queries[int(np.argmax(lacking))]
            raise CalipersError(f"{name}, '{user}': the relevant item is not among the ranked candidates")
        found[name] = relevant.first.astype(np.int64)
    return found


def estimate_full(
    ranks: Sequence[int] | Ints | Mapping[str, Sequence[int] | Ints],
    measures: Measures = SAMPLED_MEASURES,
    *,
    negatives: int,
    items: int,
    replacement: bool = False,
    gamma: float = 0.1,
    prior: Sequence[float] | Floats | None = None,
) -> FullEstimates:
    """Estimate scores over the whole catalogue from ranks among sampled items.

    ranks: the rank of the relevant item of each user among itself and the sampled items (1 to negatives + 1), or
        {system: ranks}. `candidate_ranks` returns them from rankings of candidates.
    negatives: how many irrelevant items were drawn for each user, uniformly. items: the size of the catalogue.
    gamma: weighs variance against bias in the least-squares estimate. 0 is least biased; larger values vary less.
    prior: p(r), the weight of the errors at each full rank 1, ..., items; all the same by default.

    >>> estimate_full([1, 2, 2, 1], "RR", negatives=3, items=4, gamma=0).table()["run", "estimate"]
    0.75
    """
    named = dict(parse_all(measures))
    if kind_read(named.values()) != "grades":
        raise CalipersError("estimates need measures of one grade per item, not of diversity")
    check_whole("items", items, 2, LARGEST_CATALOGUE)
    check_whole("negatives", negatives, 1, LARGEST_SAMPLE if replacement else min(LARGEST_SAMPLE, items - 1))
    check_number("gamma", gamma, least=0, most=LARGEST_GAMMA)
    if items * (negatives + 1) > MOST_CHANCES:
        raise CalipersError(
            f"{items:,} items and {negatives:,} sampled ones are too many: their product may be {MOST_CHANCES:,}"
        )
    of_systems = ranks if isinstance(ranks, Mapping) else {"run": ranks}
    checked = {name: _checked(name, column, negatives) for name, column in of_systems.items()}
    pool = Pool(np.array([0, 1]), np.ones(1))
    bound = {name: measure.bind(pool) for name, measure in named.items()}
    full = np.array([rank_scores(measure, items) for measure in bound.values()])
    corrected = least_squares(full, negatives, replacement, gamma, _weights(prior, items))
    place = 1 + (items - 1) * np.arange(negatives + 1) / negatives
    estimate, error = (np.empty((len(checked), len(bound), len(METHODS))) for _ in range(2))
    for m, measure in enumerate(bound.values()):
        among = rank_scores(measure, negatives + 1)
        by_rank = np.interp(place, np.arange(1, items + 1), full[m])
        for s, column in enumerate(checked.values()):
            for k, score in enumerate((among, by_rank, corrected[m])):
                found = score[column - 1]
                estimate[s, m, k] = found.mean()
                error[s, m, k] = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return FullEstimates(tuple(checked), tuple(bound), estimate, error, _notes(negatives, items, replacement, gamma))


def _checked(name: str, column: Sequence[int] | Ints, negatives: int) -> Ints:
    ranks = np.asarray(column)
    whole = ranks.ndim == 1 and len(ranks) and np.issubdtype(ranks.dtype, np.number) and (ranks == np.rint(ranks)).all()
    if not whole or ranks.min() < 1 or ranks.max() > negatives + 1:
        raise CalipersError(f"{name}: ranks must be whole numbers from 1 to {negatives + 1}, the candidates of a user")
    return ranks.astype(np.int64)


def _weights(prior: Sequence[float] | Floats | None, items: int) -> Floats:
    if prior is None:
        return np.full(items, 1.0 / items)
    weights = np.asarray(prior, np.float64)
    if weights.shape != (items,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise CalipersError(f"prior must have a weight of at least 0 for each of the {items:,} ranks")
    return np.asarray(weights / weights.sum())


def _notes(negatives: int, items: int, replacement: bool, gamma: float) -> tuple[str, ...]:
    first = chances(np.array([min(10, items)]), items, negatives, replacement)[0, 0]
    return (
        f"least squares with gamma {gamma:g}; standard errors are over users and draws, and leave out the bias",
        f"With {negatives:,} of {items - 1:,} irrelevant items no estimate is unbiased for all measures: an item at "
        f"full rank {min(10, items)} has sampled rank 1 with probability {first:.2f}, and nothing tells it from an "
        "item at full rank 1.",
    )


def rank_scores(measure: Measure, items: int) -> Floats:
    """Return the score of a ranking whose one relevant item has rank 1, 2, ..., `items`."""
    rank = np.arange(1, items + 1)
    none = np.zeros(items, np.int64)
    lists = Lists(
        pool=Pool(np.array([0, 1]), np.ones(1)),
        query=none,
        length=np.full(items, items),
        offsets=np.arange(items + 1),
        document=none,
        first=rank,
        last=rank,
    )
    score = measure.form.score(lists)
    return np.where(np.isnan(score), 0.0, score)


def chances(full: Ints, items: int, negatives: int, replacement: bool) -> Floats:
    """Return the chances of the sampled ranks 1, ..., negatives + 1 of items with these full ranks."""
    if replacement:
        return binomial(negatives, (full - 1) / (items - 1))
    size = np.full(len(full), items - 1)
    chance, least = hypergeometric(size, full - 1, np.full(len(full), negatives))
    found = np.zeros((len(full), negatives + 1))
    row, column = np.nonzero(chance)
    found[row, least[row] + column] = chance[row, column]
    return found


def least_squares(full: Floats, negatives: int, replacement: bool, gamma: float, prior: Floats) -> Floats:
    """Return the values of the sampled ranks, one row per row of full scores.

    The sum that is minimised is quadratic in f^, with A the chances of sampled ranks and P the prior:
    f^' (A'PA + gamma (D - A'PA)) f^ - 2 f^' A'P f, D being the diagonal of the chances of each sampled rank.
    """
    items = full.shape[1]
    product = np.zeros((negatives + 1, negatives + 1))
    mixed = np.zeros((negatives + 1, len(full)))
    total = np.zeros(negatives + 1)
    step = max(1, CELLS // (negatives + 1))
    for start in range(0, items, step):
        rank = np.arange(start, min(start + step, items))
        chance = chances(rank + 1, items, negatives, replacement)
        weighted = chance * prior[rank, None]
        product += chance.T @ weighted
        mixed += weighted.T @ full[:, rank].T
        total += weighted.sum(axis=0)
    matrix = product + gamma * (np.diag(total) - product)
    return np.asarray(np.linalg.lstsq(matrix, mixed, rcond=1e-13)[0].T)
