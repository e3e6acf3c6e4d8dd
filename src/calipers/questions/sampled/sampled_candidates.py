"""Scores of rankings in which the irrelevant items are only a sample, as in many papers about recommenders.

Krichene & Rendle, On sampled metrics for item recommendation, KDD 2020.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from calipers.collection.document_facts import Popularity, read_popularity
from calipers.collection.judgments import Judgments
from calipers.collection.mismatch import no_query_in_common
from calipers.collection.runs import ArrayRun, Run, ScoreFile, unwrapped
from calipers.errors import CalipersError, chosen_measure, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.inputs import kind_read, notes_on_reading
from calipers.lists import Floats, Lists, Population
from calipers.measures.registry import Measure
from calipers.questions.sampled.sampled_ranks import RankTerms, SampledRanks, rank_terms, sampled_ranks
from calipers.results.result import Result, Tables
from calipers.results.tables import Cell, Table
from calipers.support.checks import check_choice, check_seed, check_whole
from calipers.support.plurals import counted, shape, verb

SAMPLED_MEASURES = "nDCG@10 RR Success@10"
MOST_NEGATIVES = 1_000_000
MOST_DRAWS = 100_000
Missing = Literal["error", "last"]
MISSING: tuple[Missing, ...] = get_args(Missing)


@dataclass(frozen=True)
class Sampling:
    """Settings for drawing irrelevant items, and for simulating draws."""

    negatives: tuple[int, ...]
    items: int
    replacement: bool
    draws: int
    seed: int


@dataclass(frozen=True, eq=False, repr=False)
class SampledScores(Result):
    """Expected scores with sampled irrelevant items, next to the scores of the full rankings.

    `full` is [measure, system, query]; `expected` and `variance` are [measure, number of negatives, system, query].
    The variance is over draws of the sampled items. `random` is [measure, number of negatives, query]: the expected
    score of a random ranking of the relevant and the sampled items.
    """

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    sampling: Sampling
    full: Floats
    expected: Floats
    variance: Floats
    random: Floats
    simulated: bool  # the expected scores, because items were drawn by their popularity
    warnings: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """The warnings, and what was simulated."""
        return (*self.warnings, *self.remarks)

    @property
    def negatives(self) -> tuple[int, ...]:
        """The numbers of sampled items."""
        return self.sampling.negatives

    @property
    def title(self) -> str:
        """The subject of the result, with numbers of measures, systems and queries."""
        size = shape(measure=len(self.measures), system=len(self.systems), query=len(self.queries))
        return f"Expected scores with sampled irrelevant items: {size}"

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables(
            {"means": self._means, "queries": self.per_query, "pairs": self.pairs, "random": self.random_ranking}
        )

    def _means(self) -> Table:
        """Return means over queries: system, measure, negatives, full, expected, sd.

        sd is the standard deviation, over draws, of the mean of a system.
        """
        count = len(self.queries)
        rows: list[tuple[Cell, ...]] = []
        for s, system in enumerate(self.systems):
            for m, name in enumerate(self.measures):
                for n, negatives in enumerate(self.negatives):
                    sd = float(np.sqrt(self.variance[m, n, s].sum())) / count
                    means = (float(self.full[m, s].mean()), float(self.expected[m, n, s].mean()))
                    rows.append((system, name, negatives, *means, sd))
        return Table(("system", "measure", "negatives", "full", "expected", "sd"), tuple(rows), self._metadata)

    def per_query(self) -> Table:
        """Return one row per system, query, measure and number of negatives."""
        rows: list[tuple[Cell, ...]] = []
        for s, system in enumerate(self.systems):
            for q, query in enumerate(self.queries):
                for m, name in enumerate(self.measures):
                    for n, negatives in enumerate(self.negatives):
                        found = (self.full[m, s, q], self.expected[m, n, s, q], np.sqrt(self.variance[m, n, s, q]))
                        rows.append((system, query, name, negatives, *map(float, found)))
        columns = ("system", "query", "measure", "negatives", "full", "expected", "sd")
        return Table(columns, tuple(rows), self._metadata)

    def pairs(self, measure: str | None = None) -> Table:
        """Return the differences of all pairs of systems, with full and with sampled rankings.

        Columns: system_a, system_b, measure, negatives, full, expected, order. order is `same`, or `changed` where the
        expected sampled scores order the two systems differently.
        """
        chosen = range(len(self.measures)) if measure is None else [chosen_measure(measure, self.measures)]
        rows: list[tuple[Cell, ...]] = []
        for m in chosen:
            full = self.full[m].mean(axis=1)
            for n, negatives in enumerate(self.negatives):
                expected = self.expected[m, n].mean(axis=1)
                for a, b in combinations(range(len(self.systems)), 2):
                    differences = (float(full[a] - full[b]), float(expected[a] - expected[b]))
                    order = "changed" if differences[0] * differences[1] < 0 else "same"
                    names = (self.systems[a], self.systems[b], self.measures[m], negatives)
                    rows.append((*names, *differences, order))
        columns = ("system_a", "system_b", "measure", "negatives", "full", "expected", "order")
        return Table(columns, tuple(rows), self._metadata)

    def random_ranking(self) -> Table:
        """Return the expected score of a random ranking of the relevant and the sampled items, per measure."""
        rows = tuple(
            (name, negatives, float(self.random[m, n].mean()))
            for m, name in enumerate(self.measures)
            for n, negatives in enumerate(self.negatives)
        )
        return Table(("measure", "negatives", "expected"), rows, self._metadata)

    @property
    def summary(self) -> str:
        """A sentence on the number of pairs of systems that change their order."""
        if len(self.systems) < 2:
            return f"Expected scores with {_listed(self.negatives)} sampled irrelevant items per query."
        rows = self.pairs().rows
        total = len({row[:2] for row in rows})
        changed = {row[:3] for row in rows if row[-1] == "changed"}
        parts = [f"{sum(row[2] == name for row in changed)} of {total} under {name}" for name in self.measures]
        return f"Pairs of systems that sampling orders differently from the full rankings: {', '.join(parts)}."

    @property
    def _metadata(self) -> dict[str, Any]:
        exactness = dict.fromkeys(self.measures, "sampled") if self.simulated else {}
        return {"items": self.sampling.items, "replacement": self.sampling.replacement, "exactness": exactness}


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number:,}" for number in numbers)


def sampled(
    evaluation: Evaluation,
    *,
    negatives: int | Sequence[int] = 100,
    items: int,
    replacement: bool = False,
    missing: Missing = "error",
    popularity: Popularity | None = None,
    draws: int = 50,
    seed: int = 42,
) -> SampledScores:
    """Return the expected score of each system if its relevant items were ranked among sampled irrelevant items.

    Users are queries and items are documents. Items with a grade above 0 are relevant, and always ranked. The runs of
    the experiment are rankings of the whole catalogue.

    negatives: the number of irrelevant items that are drawn for each user; one number or several. Rankings that have
        exactly this number of irrelevant items are sampled candidates already, and are refused: see `estimate_full`.
    items: the size of the catalogue, relevant items included: at least the items that are ranked or relevant.
    replacement: True if an irrelevant item may be drawn more than once.
    missing: `error` if a ranking lacks a relevant item; `last` places it below all other items.
    popularity: {item: weight}, or a file of lines `item weight`, if irrelevant items are drawn in proportion to their
        weight. Without replacement, the expected scores are then means over simulated draws, and a note says so. Tied
        items are ordered by id.
    draws, seed: for everything that is simulated: the standard deviation if several items of a user count, and the
        expected score with `popularity`.

    Expected scores are exact for weighted sums of gains (P, Recall, DCG, RBP), nDCG, AP, RR, ERR, Success and HIT. A
    uniform draw does not change the expected AUC, which is refused for that reason. Users without a relevant item
    count 0.

    >>> import calipers as cal
    >>> exp = cal.Experiment({"u": {"a": 1}}, {"u": {"x": 4, "a": 3, "y": 2, "z": 1}}, "RR", warn=False)
    >>> print(cal.sampled(exp, negatives=1, items=4).table())
    system  measure  negatives    full  expected      sd
    ------  -------  ---------  ------  --------  ------
    run     RR               1  0.5000    0.8333  0.2357
    <BLANKLINE>
    """
    if kind_read(evaluation.measures.values()) != "grades":
        raise CalipersError("sampled rankings need one grade per item: measures of diversity have none")
    if evaluation.options.depth is not None or evaluation.options.condensed:
        raise CalipersError("sampled rankings need the whole rankings: leave out depth and condensed")
    if not evaluation.runs:
        raise CalipersError("there is no run to evaluate")
    wanted = tuple(dict.fromkeys(check_whole("negatives", each, 1, MOST_NEGATIVES) for each in _several(negatives)))
    check_whole("items", items, 2)
    check_choice("way to treat missing items", missing, MISSING)
    check_whole("draws", draws, 2, MOST_DRAWS)
    check_seed(seed)
    weights = None if popularity is None else read_popularity(popularity)
    known = evaluation.known.by_name()  # draws are made in the order of names
    by_name = sorted(zip(evaluation.systems, evaluation.runs, strict=True), key=lambda each: each[0])
    names, systems = tuple(name for name, _ in by_name), [run for _, run in by_name]
    retrieved = [run.retrieved(known) for run in systems]
    if not any(len(found.query) for found in retrieved):
        raise no_query_in_common(known, (found.unjudged for found in retrieved))
    lists = Lists.of(known.pool, retrieved).under("docid" if weights is not None else evaluation.options.ties)

    def name(place: int) -> str:
        return f"{names[place // len(known.queries)]}, '{known.queries[place % len(known.queries)]}'"

    ranks = sampled_ranks(lists, items, name, missing)
    _check_negatives(ranks, max(wanted), items, replacement, name)
    _refuse_candidates(ranks, lists, wanted, items, names)
    refuse_small_catalogue(evaluation, items, weights or ())
    if weights is not None:
        ranks = _by_popularity(ranks, known, systems, weights, max(wanted), replacement)
    bound = {label: measure.bind(known.pool) for label, measure in evaluation.measures.items()}
    warnings = _warnings(known, systems, lists, ranks)
    warn_user(warnings, evaluation.warn)
    sampling = Sampling(wanted, items, replacement, draws, seed)
    return _of_ranks(ranks, bound, (names, known.queries), sampling, warnings)


def _several(negatives: int | Sequence[int]) -> Sequence[int]:
    found = negatives if isinstance(negatives, Sequence | np.ndarray) else [negatives]
    if len(found) == 0:
        raise CalipersError("negatives is empty: name at least one number of sampled items")
    return found


def _check_negatives(ranks: SampledRanks, most: int, items: int, replacement: bool, name: Any) -> None:
    left = items - ranks.relevant
    short = left < (1 if replacement else most)
    if short.any():
        worst = int(np.argmax(short))
        raise CalipersError(
            f"{name(worst)}: {most:,} items cannot be drawn from the {int(left[worst]):,} irrelevant items of the "
            "catalogue; draw fewer, or name the true number of items"
        )


def _refuse_candidates(
    ranks: SampledRanks, lists: Lists, negatives: Sequence[int], items: int, names: Sequence[str]
) -> None:
    """Refuse a system whose every list has its relevant items and as many others as would be drawn."""
    others = lists.length - ranks.relevant
    whole = np.diff(lists.where(lists.grade > 0).offsets) == ranks.relevant
    for s, name in enumerate(names):
        own = np.arange(len(lists)).reshape(len(names), -1)[s]
        own = own[ranks.relevant[own] > 0]
        drawn = np.unique(others[own])
        if len(drawn) == 1 and drawn[0] in negatives and whole[own].all() and (lists.length[own] < items).all():
            raise CalipersError(
                f"{name}: all rankings have the relevant items and {counted(int(drawn[0]), 'other')}, of {items:,} "
                "items in the catalogue: these are sampled candidates already. Rank the whole catalogue, or estimate "
                "full scores from the candidates (estimate_full)",
                parameter="estimate",
            )


def refuse_small_catalogue(evaluation: Evaluation, items: int, others: Iterable[str] = ()) -> None:
    """Refuse a size of the catalogue that is below the number of items that are relevant, ranked, or in `others`."""
    if evaluation.known.names is None:  # items of arrays have no ids
        return
    seen = set(others)
    for query in evaluation.known.to_dict().values():
        seen.update(item for item, grade in query.items() if grade > 0)
    for run in evaluation.runs:
        if not isinstance(unwrapped(run), ArrayRun | ScoreFile):  # they score the judged items
            seen.update(*run.to_dict().values())
    if len(seen) > items:
        raise CalipersError(
            f"{len(seen):,} different items are ranked or relevant, more than the {items:,} items of the catalogue; "
            "give the size of the whole catalogue",
            parameter="items",
        )


def _warnings(known: Judgments, systems: Sequence[Run], lists: Lists, ranks: SampledRanks) -> tuple[str, ...]:
    notes = [*notes_on_reading(known, systems)]
    lacking = ranks.relevant - np.diff(lists.where(lists.grade > 0).offsets)
    if lacking.any():
        notes.append(
            f"{counted(int(lacking.sum()), 'relevant item')} of {counted(int((lacking > 0).sum()), 'ranking')} "
            f"{verb(int(lacking.sum()), 'is', 'are')} missing and stand below all other items"
        )
    empty = int((known.pool.count(known.pool.grade > 0) == 0).sum())
    if empty:
        notes.append(f"{counted(empty, 'query')} without a relevant item {verb(empty, 'counts', 'count')} 0")
    return tuple(notes)


def _of_ranks(
    ranks: SampledRanks,
    measures: Mapping[str, Measure],
    names: tuple[tuple[str, ...], tuple[str, ...]],
    sampling: Sampling,
    warnings: tuple[str, ...],
) -> SampledScores:
    """Return the result for relevant items whose ranks are known. names: of the systems and of the queries."""
    systems, queries = names
    simulated = bool(ranks.masses) and not sampling.replacement
    shape = (len(systems), len(queries))
    full = np.zeros((len(measures), *shape))
    expected, variance = (np.zeros((len(measures), len(sampling.negatives), *shape)) for _ in range(2))
    random = np.zeros((len(measures), len(sampling.negatives), len(queries)))
    drawn_for: dict[str, None] = {}
    whole = ranks.full(sampling.items)
    for n, negatives in enumerate(sampling.negatives):
        among = ranks.among(negatives)
        inexact: dict[int, Measure] = {}
        for m, (name, measure) in enumerate(measures.items()):
            terms = _terms(name, measure, among)
            full[m] = _defined(measure.form.score(whole)).reshape(shape)
            random[m, n] = _random(measure, ranks, negatives)
            if not simulated:
                mean, square = _moments(terms, ranks, negatives, sampling.replacement)
                expected[m, n] = mean.reshape(shape)
                with np.errstate(over="ignore", invalid="ignore"):
                    variance[m, n] = np.maximum(square - mean**2, 0.0).reshape(shape)
            if simulated or not (terms.exclusive or (ranks.relevant <= 1).all()):
                inexact[m] = measure
                drawn_for[name] = None
        drawn = _simulated(ranks, inexact, negatives, sampling) if inexact else {}
        for m, (mean, spread) in drawn.items():
            if simulated:
                expected[m, n] = mean.reshape(shape)
            several = (simulated | (ranks.relevant > 1)).reshape(shape)
            variance[m, n] = np.where(several, spread.reshape(shape), variance[m, n])
    remarks: tuple[str, ...] = ()
    if drawn_for:
        of = "expected scores and standard deviations" if simulated else "standard deviations"
        how = f"{of} are simulated from {sampling.draws} draws, seed {sampling.seed}"
        remarks = (f"{', '.join(drawn_for)}: {how}",)
    return SampledScores(
        tuple(measures), systems, queries, sampling, full, expected, variance, random, simulated, warnings, remarks
    )


def _terms(name: str, measure: Measure, among: Lists) -> RankTerms:
    """Return the measure as a sum over places, or an error that names it."""
    if measure.declaration.average == "geometric":
        raise CalipersError(f"{name}: a geometric mean over queries has no expected sampled score; ask for AP")
    try:
        return rank_terms(measure.form, among)
    except CalipersError as error:
        raise CalipersError(f"{name}: {error.message}", parameter=error.parameter) from None


def _defined(score: Floats) -> Floats:
    """Return scores in which a user without relevant items counts 0."""
    return np.where(np.isnan(score), 0.0, score)


def _moments(terms: RankTerms, ranks: SampledRanks, negatives: int, replacement: bool) -> tuple[Floats, Floats]:
    """Return the expected score of each list, and that of its square where one item of the list counts."""
    lists = ranks.ranking
    mean, square = ranks.expected_weights(terms.weight, negatives, replacement)
    coefficient = _defined(terms.coefficient)
    with np.errstate(over="ignore", invalid="ignore"):  # gains beyond 1e154 have no variance
        factor = coefficient if terms.exclusive else coefficient**2
        return lists.sum(coefficient * mean), lists.sum(factor * square)


def _random(measure: Measure, ranks: SampledRanks, negatives: int) -> Floats:
    """Return the expected score of a random ranking of the relevant items and `negatives` other items, per query."""
    pool = ranks.ranking.pool
    population = Population(
        pool, np.arange(pool.queries), pool.size + negatives, pool.offsets, np.arange(len(pool.grade))
    )
    return _defined(measure.form.expected(population))


def _simulated(
    ranks: SampledRanks, measures: Mapping[int, Measure], negatives: int, sampling: Sampling
) -> dict[int, tuple[Floats, Floats]]:
    """Return the mean and the variance of the score of each list over draws."""
    draws = sampling.draws
    total, squares = ({m: np.zeros(len(ranks.ranking)) for m in measures} for _ in range(2))
    for lists in ranks.draws(negatives, sampling.replacement, draws, sampling.seed):
        for m, measure in measures.items():
            score = _defined(measure.form.score(lists))
            total[m] += score
            with np.errstate(over="ignore"):  # scores beyond 1e154 have no variance
                squares[m] += score**2
    with np.errstate(over="ignore", invalid="ignore"):
        spread = {m: np.maximum(squares[m] - total[m] ** 2 / draws, 0.0) / (draws - 1) for m in measures}
    return {m: (total[m] / draws, spread[m]) for m in measures}


def _by_popularity(
    ranks: SampledRanks,
    known: Judgments,
    systems: Sequence[Run],
    popularity: Mapping[str, float],
    most: int,
    replacement: bool,
) -> SampledRanks:
    """Return the ranks with the probability of each irrelevant item, in the order of each ranking.

    Items that a ranking lacks stand below those that it has.
    """
    masses: list[Floats] = []
    share = np.zeros(len(ranks.above))
    offsets = ranks.ranking.offsets.tolist()
    grade = known.to_dict()
    for run in systems:
        documents = run.to_dict()
        for query in known.queries:
            relevant = {item for item, value in grade.get(query, {}).items() if value > 0}
            ranked = documents.get(query, {})
            order = sorted(sorted(ranked, reverse=True), key=lambda item: -ranked[item])
            rest = [item for item in popularity if item not in ranked]
            mass = np.array([popularity.get(item, 0.0) for item in (*order, *rest) if item not in relevant])
            i = len(masses)
            rows = slice(offsets[i], offsets[i + 1])
            if not replacement and rows.start < rows.stop and np.count_nonzero(mass) < most:
                raise CalipersError(
                    f"'{query}': {most:,} irrelevant items cannot be drawn, only {np.count_nonzero(mass):,} have a "
                    "popularity above 0"
                )
            if rows.start < rows.stop and not mass.any():
                raise CalipersError(f"'{query}': no irrelevant item has a popularity above 0")
            total = np.concatenate([[0.0], np.cumsum(mass)])
            share[rows] = total[np.minimum(ranks.above[rows], len(mass))] / max(total[-1], np.finfo(float).tiny)
            masses.append(mass)
    return replace(ranks, share=share, masses=tuple(masses))
