"""Plans for a budget of judgments: many queries judged to a small depth, or few queries judged deeply.

The cost of a query at depth k is the size of its pool: the number of documents that any of the given runs has among its
first k. So a budget pays for budget / (mean pool size) queries. The power is estimated by subsampling the pilot:
queries are drawn with replacement, scores are computed from the judgments that a pool of that depth would have had, and
every pair of systems is tested by the paired t test. The power is the share of tests that are significant.

The pilot is itself a sample of queries. For the interval of the power, which is that of the basic bootstrap, the
queries of the pilot are resampled many times. The interval does not account for judgments that the pilot lacks.

Carterette & Smucker, Hypothesis testing with incomplete relevance judgments, CIKM 2007. Sakai, Topic set size design,
Information Retrieval Journal 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from os import cpu_count
from typing import Any

import numpy as np

from calipers.checks import (
    Pairs,
    check_alpha,
    check_level,
    check_number,
    check_pairs,
    check_seed,
    check_type,
    check_whole,
)
from calipers.collection.id_codes import as_words, coded, side_by_side
from calipers.collection.judgments import Judgments
from calipers.collection.runs import RememberedRun, Run, unwrapped
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.inputs import kind_read
from calipers.fusion.candidates import by_score_then_id, read_whole
from calipers.lists import Floats, Ints
from calipers.measures.registry import Measure
from calipers.metaevaluation.query_sets import HalfOfDocuments
from calipers.native.ids import encode
from calipers.native.scanner import rank_segments
from calipers.plurals import counted
from calipers.results.result import Result, Tables
from calipers.results.tables import Cell, Table
from calipers.stats.differences import ROUNDING, Differences, all_pairs
from calipers.stats.significance import SEED

COLUMNS = ("measure", "depth", "queries", "judgments", "power", "low", "high", "frontier")
DEPTHS = (5, 10, 20, 50, 100)  # used if no measure has a cutoff
SHARES = (0.25, 0.5, 1.0)  # shares of the budget for which plans are made
MOST_PAIRS = 200  # if there are more pairs, this many are drawn at random
TESTS = (60_000, 300, 4000)  # number of tests for one power; fewest and most subsamples of all pairs
PILOTS = 60  # resampled pilots for the intervals
TESTS_OF_EACH = (2_000, 10, 400)  # as TESTS, for each resampled pilot
MOST_QUERIES = 100_000
FEW_JUDGED = 0.9  # a smaller share of judged documents in a pool gives a warning


@dataclass(frozen=True, eq=False, repr=False)
class BudgetPlan(Result):
    """The power of each measure, depth and number of queries that a budget, or a part of it, allows."""

    measure: tuple[str, ...]
    depth: Ints
    queries: Ints
    judgments: Ints
    share: Floats  # share of the budget
    power: Floats
    low: Floats
    high: Floats
    pool: dict[int, float]  # {depth: mean number of documents to judge per query}
    judged: dict[int, float]  # {depth: share of these documents that are judged in the pilot}
    budget: int
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning if the pilot has judged too few documents of a pool."""
        missing = {depth: 1 - share for depth, share in self.judged.items() if share < FEW_JUDGED}
        if not missing:
            return ()
        depth, share = max(missing.items(), key=lambda each: each[1])
        return (
            f"{share:.1%} of the pool to depth {depth} are unjudged in the pilot, and count as not relevant: deeper "
            "pools look worse than they are",
        )

    @property
    def title(self) -> str:
        """The budget, the definition of the power, and the pilot."""
        about = self.metadata
        wanted = (
            "each pair's own difference" if about["difference"] is None else f"a difference of {about['difference']:g}"
        )
        tested = about["tested_pairs"]
        of = f" (drawn from {about['all_pairs']})" if tested < about["all_pairs"] else ""
        return (
            f"{counted(self.budget, 'judgment')}; power: share of paired t tests, of {counted(tested, 'pair')}{of}, "
            f"that find {wanted}; alpha {about['alpha'] / about['pairs']:.4g} for each test; pilot of "
            f"{counted(about['pilot_queries'], 'query')}, seed {about['seed']}"
        )

    @property
    def summary(self) -> str:
        """The plan with the highest power."""
        best = self.best
        pools = ", ".join(f"{size:.1f} to depth {depth}" for depth, size in self.pool.items())
        return (
            f"Best: {self.measure[best]} on {counted(self.queries[best], 'query')} to depth {self.depth[best]}, power "
            f"{self.power[best]:.3f} ({self.low[best]:.3f} to {self.high[best]:.3f}). Documents to judge per query: "
            f"{pools}."
        )

    @property
    def best(self) -> int:
        """The row with the highest power; the cheapest row if several have it."""
        return int(np.lexsort((self.judgments, -self.power))[0])

    @property
    def frontier(self) -> Any:
        """True for each row that has more power than every row of the same or a lower cost."""
        order = np.lexsort((-self.power, self.judgments))
        highest = np.maximum.accumulate(np.concatenate([[-1.0], self.power[order][:-1]]))
        found = np.zeros(len(order), bool)
        found[order] = self.power[order] > highest
        return found

    def plot(self) -> Any:
        """Draw all designs by cost and power. See `calipers.plot.budget_frontier`."""
        from calipers.plot import budget_frontier

        return budget_frontier(self)

    def tables(self) -> Tables:
        """Return the plans that spend the whole budget, and the best plans for less."""
        return Tables({"plans": self._plans, "frontier": self._cheapest_first})

    def _plans(self) -> Table:
        """Return the plans that spend the whole budget: a row per measure and depth, highest power first."""
        order = np.lexsort((self.judgments, -self.power)).tolist()
        return self._rows([i for i in order if self.share[i] == 1])

    def _cheapest_first(self) -> Table:
        """Return the plans that no cheaper plan beats, cheapest first."""
        on = self.frontier
        return self._rows([i for i in np.argsort(self.judgments, kind="stable").tolist() if on[i]])

    def _rows(self, rows: Sequence[int]) -> Table:
        on = self.frontier
        cells: list[tuple[Cell, ...]] = [
            (
                self.measure[i], int(self.depth[i]), int(self.queries[i]), int(self.judgments[i]), float(self.power[i]),
                float(self.low[i]), float(self.high[i]), bool(on[i]),
            )
            for i in rows
        ]  # fmt: skip
        return Table(COLUMNS, tuple(cells), self.metadata)


def plan_budget(
    evaluation: Evaluation,
    *,
    budget: int,
    depths: Sequence[int] | None = None,
    difference: float | None = None,
    alpha: float = 0.05,
    pairs: Pairs = 1,
    level: float = 0.95,
    seed: int = SEED,
) -> BudgetPlan:
    """Return how to spend a number of judgments: on how many queries, how deep, and for which measure.

    evaluation: the pilot, an experiment whose measures are compared.
    budget: the number of judgments.
    depths: depths of the pools. Without them, the cutoffs of the measures, or 5 to 100.
    difference: the difference to detect between any two systems. Without it, each pair has the difference that it has
        in the pilot, and the power is the share of pairs that would be significant.
    pairs: the number of pairs that share alpha, or `all`.
    level: level of the intervals of the power.

    >>> import calipers as cal
    >>> pilot = cal.simulate(topics=20, systems=4, pool=30, retrieved=30, seed=1)
    >>> found = plan_budget(cal.Experiment(pilot.qrels, pilot.runs, "nDCG@{5,10}", warn=False), budget=600)
    >>> found.table().columns == COLUMNS, len(found.table().rows)
    (True, 4)
    """
    check_type("evaluation", evaluation, Evaluation, "an Experiment")
    if kind_read(evaluation.measures.values()) != "grades":
        raise CalipersError(
            "plan_budget needs one grade per document; it does not take subtopics, preferences or judges"
        )
    budget, alpha, level, seed = check_whole("budget", budget), check_alpha(alpha), check_level(level), check_seed(seed)
    difference = None if difference is None else check_number("difference", difference, above=0)
    pairs = check_pairs(pairs)
    known, read = evaluation.judgments, [unwrapped(run) for run in evaluation.runs]
    if len(read) < 2:
        only = ", ".join(evaluation.systems)
        raise CalipersError(f"there is only one run ({only}): nothing to compare it with")
    at = pool_depths(depths, [*evaluation.measures.values()])
    names = list(evaluation.measures)
    size = pool_sizes(read, known, at, evaluation.jobs)
    remembered = [RememberedRun(run) for run in read]
    reached = _first_ranks(known, remembered, evaluation.jobs)
    a, b = _some_pairs(len(read), seed)
    count = len(read) * (len(read) - 1) // 2
    tests = count if pairs == "all" else pairs
    rows: list[tuple[Any, ...]] = []
    for depth in at:
        half = HalfOfDocuments(known, reached <= depth)
        runs = tuple(half.run(run) for run in remembered)
        part = evaluation.changed(judgments=half.judgments, runs=runs, unmatched="warn", warn=False, progress=None)
        scores = part.scores.by_name()
        per_query = float(size[depth].mean())
        for share in SHARES:
            n = min(int(share * budget / per_query), MOST_QUERIES) if per_query else 0
            if n < 2:
                continue
            for name, values in zip(names, scores.values, strict=True):
                found = subsampled_power(Differences.of(values, a, b), n, alpha / tests, difference, level, seed)
                rows.append((name, depth, n, round(n * per_query), share, *found))
        if evaluation.progress:
            evaluation.progress(1)
    if not any(row[4] == 1 for row in rows):
        least = min(float(each.mean()) for each in size.values())
        raise CalipersError(f"a budget of {budget} judgments is less than two queries cost ({2 * least:.0f})")
    columns = list(zip(*rows, strict=True))
    fields = ["depth", "queries", "judgments", "share", "power", "low", "high"]
    plan = BudgetPlan(
        measure=columns[0],
        **{name: np.array(column) for name, column in zip(fields, columns[1:], strict=True)},
        pool={depth: float(each.mean()) for depth, each in size.items()},
        judged={depth: float((reached <= depth).sum() / max(each.sum(), 1)) for depth, each in size.items()},
        budget=budget,
        metadata={
            "budget": budget, "alpha": alpha, "pairs": tests, "difference": difference, "level": level, "seed": seed,
            "pilot_queries": len(known.queries), "tested_pairs": len(a), "all_pairs": count,
        },
    )  # fmt: skip
    warn_user(plan.notes, evaluation.warn)
    return plan


def pool_sizes(
    runs: Sequence[Run], known: Judgments, depths: Sequence[int], jobs: int | None = None
) -> dict[int, Ints]:
    """Return for each depth the number of documents in the pool of each judged query.

    >>> from calipers.evaluation.inputs import as_judgments, as_runs
    >>> known = as_judgments({"q": {"a": 1}})
    >>> runs = as_runs({"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"a": 9, "c": 8}}})
    >>> {depth: sizes.tolist() for depth, sizes in pool_sizes(runs, known, [1, 2]).items()}
    {1: [1], 2: [3]}
    """
    deepest = max(depths)
    place = {encode(name): i for i, name in enumerate(known.queries)}
    queries, words, ranks = [], [], []
    for whole in read_whole(runs, jobs):
        of = np.array([place.get(query, -1) for query in whole.queries], np.int64)[whole.query]
        rows = np.argsort(of, kind="stable")
        rows = rows[np.searchsorted(of[rows], 0) :]  # without queries that have no judgments
        starts = np.searchsorted(of[rows], np.arange(len(known.queries) + 1))
        order, first, _ = rank_segments(np.ascontiguousarray(whole.score[rows]), starts)
        rows = rows[order[first <= deepest]]  # including all documents tied with the last one
        starts = np.searchsorted(of[rows], np.arange(len(known.queries) + 1))
        word = as_words(whole.documents.take(rows))
        rows_in_order = by_score_then_id(whole.score[rows], starts, word.__getitem__)
        rank = np.arange(1, len(rows) + 1) - np.repeat(starts[:-1], np.diff(starts))
        kept = rank <= deepest
        queries.append(of[rows][rows_in_order][kept])
        words.append(word[rows_in_order][kept])
        ranks.append(rank[kept])
    query, rank = np.concatenate(queries), np.concatenate(ranks)
    candidate, one = coded(query, side_by_side(words))
    first = np.full(len(one), deepest + 1)
    np.minimum.at(first, candidate, rank)
    return {depth: np.bincount(query[one][first <= depth], minlength=len(known.queries)) for depth in depths}


def subsampled_power(
    differences: Differences, n: int, alpha: float, difference: float | None, level: float = 0.95, seed: int = SEED
) -> tuple[float, float, float]:
    """Return the share of significant paired t tests on n queries drawn from the pilot, and its interval."""
    random = np.random.default_rng([seed, n])
    queries = differences.value.shape[1]
    even = np.full((1, queries), 1 / queries)
    samples, of_each = (
        min(max(tests // max(len(differences.n), 1), fewest), most) for tests, fewest, most in (TESTS, TESTS_OF_EACH)
    )
    power = float(_significant(differences, random, even, samples, n, alpha, difference)[0])
    pilots = random.multinomial(queries, even[0], PILOTS) / queries
    again = _significant(differences, random, pilots, of_each, n, alpha, difference)
    low, high = np.quantile(again, [(1 - level) / 2, (1 + level) / 2])
    return power, float(np.clip(2 * power - high, 0, power)), float(np.clip(2 * power - low, power, 1))


def _significant(
    differences: Differences, random: np.random.Generator, chances: Floats, samples: int, n: int, alpha: float,
    difference: float | None,
) -> Floats:  # fmt: skip
    """Return for each pilot the share of significant tests over samples and pairs.

    chances: [pilot, query], the probability that a query is drawn.
    """
    from scipy.special import stdtrit

    pilots = len(chances)
    drawn = random.multinomial(n, np.repeat(chances, samples, axis=0)).astype(np.float64)
    value, shared = differences.value, differences.shared.astype(np.float64)
    weight = chances @ shared.T
    with np.errstate(divide="ignore", invalid="ignore"):
        own = (chances @ value.T) / weight  # the mean difference of each pilot and pair
        count = drawn @ shared.T
        mean = (drawn @ value.T) / count
        square = np.maximum((drawn @ np.square(value).T) / count - np.square(mean), 0.0)
        mean = mean.reshape(pilots, samples, -1)
        # The differences of a sample vary a little less than those of its population.
        size = differences.n.astype(np.float64)
        spread = np.sqrt(size / np.maximum(size - 1, 1))
        centred = (mean - own[:, None]) * spread
        moved = centred + (own[:, None] if difference is None else difference)
        count = count.reshape(pilots, samples, -1)
        square[square < ROUNDING * np.square(mean).reshape(square.shape)] = 0.0
        error = np.sqrt(square.reshape(pilots, samples, -1) / np.maximum(count - 1, 1)) * spread
        critical = stdtrit(np.arange(-1, n), 1 - alpha / 2)[count.astype(np.int64)]  # by number of shared queries
        found = (np.abs(moved) > critical * error) & (error > 0)  # a sample of equal differences shows nothing
    return np.asarray(found.mean(axis=(1, 2)))


def _first_ranks(known: Judgments, runs: Sequence[RememberedRun], jobs: int | None) -> Ints:
    """Return the best rank of each judged document in any run."""
    first = np.full(len(known), np.iinfo(np.int64).max)
    with ThreadPoolExecutor(jobs or cpu_count() or 1) as pool:
        for found in pool.map(lambda run: run.retrieved(known), runs):
            rank = found.input_rank if found.docid_rank is None else found.docid_rank
            np.minimum.at(first, found.document, rank)
    return first


def pool_depths(depths: Sequence[int] | None, measures: Sequence[Measure]) -> list[int]:
    """Return the given depths, or the cutoffs of the measures, or DEPTHS if no measure has a cutoff."""
    if depths is not None:
        if not depths or min(depths) < 1:
            raise CalipersError("the depths of pools are whole numbers of at least 1")
        return sorted({int(depth) for depth in depths})
    found = {cutoff for measure in measures if (cutoff := _cutoff(measure)) is not None}
    return sorted(found or DEPTHS)


def _cutoff(measure: Measure) -> int | None:
    """Return the cutoff of a measure, or of the measure that it normalises, or None."""
    of = measure.parameters.get("of")
    cutoff = measure.parameters.get("cutoff")
    if isinstance(of, Measure):
        return _cutoff(of)
    return cutoff if isinstance(cutoff, int) and measure.declaration.at == "cutoff" else None


def _some_pairs(systems: int, seed: int) -> tuple[Ints, Ints]:
    a, b = all_pairs(systems)
    if len(a) <= MOST_PAIRS:
        return a, b
    chosen = np.sort(np.random.default_rng(seed).choice(len(a), MOST_PAIRS, replace=False))
    return a[chosen], b[chosen]
