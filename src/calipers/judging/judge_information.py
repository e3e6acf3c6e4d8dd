"""Information of a system's order of documents about the preferences of judges, in bits.

    I(R_S; Q_1 .. Q_m) = sum over patterns q of f(q) lg(2 f(q) / (f(q) + f(-q)))

The sum is over the pairs of documents that at least one judge orders. The document that the system ranks higher comes
first. f(q) is the share of pairs that the judges order by the pattern q: 1, -1, or 0 if a judge gives equal grades or
has no label. Pairs of which the system shows neither document count in the total. This is the joint relevance
information correlation (RIC) with the roles of systems and judges exchanged. As for RIC, lists are cut after the last
document that any judge calls relevant. Many judges seem to have much information by chance, so each value comes with
the value of shuffled lists.

Golbus & Aslam, A mutual information-based framework for the analysis of information retrieval systems, SIGIR 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.checks import check_seed, check_type, check_whole
from calipers.collection.preferences import Preferences
from calipers.collection.runs import Run
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.errors import CalipersError
from calipers.evaluation.inputs import as_judgments
from calipers.information.rankings import MISSING, QueryRankings, Rankings
from calipers.information.sign_patterns import check_number_of_lists, written
from calipers.judging.judge_table import JudgeTable
from calipers.lists import Floats, Ints
from calipers.measures.information import order_information
from calipers.results.scores import order_of
from calipers.results.tables import Cell, Table
from calipers.stats.significance import SEED

DRAWS = 5
ALL = "all together"


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Information of each judge and of all judges together in bits. Means over queries, for each system."""

    judges: tuple[str, ...]  # the last row of each array is for all judges together
    systems: tuple[str, ...]
    bits: Floats  # [judge, system]
    null: Floats  # [draw, judge, system]: bits of shuffled lists
    queries: int
    skipped: int  # number of queries without a pair that a judge orders
    metadata: dict[str, Any] = field(default_factory=dict)

    def table(self) -> Table:
        """judge, bits (the mean over systems), null_mean, null_sd, above_null, best_system."""
        rows: list[tuple[Cell, ...]] = []
        for j, name in enumerate((*self.judges, ALL)):
            of_draws = self.null[:, j].mean(axis=1)
            bits = float(self.bits[j].mean())
            spread = float(of_draws.std(ddof=1)) if len(of_draws) > 1 else float("nan")
            best = self.systems[int(self.bits[j].argmax())]
            rows.append((name, bits, float(of_draws.mean()), spread, bits - float(of_draws.mean()), best))
        return Table(("judge", "bits", "null_mean", "null_sd", "above_null", "best_system"), tuple(rows), self.metadata)

    def by_system(self) -> Table:
        """system, and the bits of each judge and of all together."""
        rows = [(system, *self.bits[:, s].tolist()) for s, system in enumerate(self.systems)]
        return Table(("system", *self.judges, ALL), tuple(rows), self.metadata)


def knowledge_of(
    judge_table: JudgeTable,
    runs: Sequence[Run],
    *,
    rel: float = 1.0,
    draws: int = DRAWS,
    seed: int = SEED,
    progress: Callable[[int], None] | None = None,
    **how: Any,
) -> Knowledge:
    """Return the information of each judge, including the human, about the order of each system's documents."""
    check_number_of_lists(len(judge_table.names), "judges")
    check_whole("draws", draws)
    check_seed(seed)
    rankings = Rankings.of(judge_table.whole, runs, **how)
    bits, null, counted = [], [], 0
    for draw, q in enumerate(order_of(judge_table.queries)):
        name, span = judge_table.queries[q], judge_table.whole.rows_of(q)
        labels = judge_table.grade[:, span]
        labels = np.where(labels >= 0, labels, np.nan)  # a grade below 0 means not judged
        if np.isnan(labels).all(axis=1).any():
            continue  # not judged by all judges
        relevant = np.nan_to_num(labels).max(axis=0) >= rel
        pairs = OrderedByJudges.of(labels)
        if pairs is not None and relevant.any():
            counted += 1
            seen = QueryRankings(name, q, rankings.rank[:, span], relevant, (), draw, rankings.by_name)
            bits.append(pairs.told(seen.until_last_relevant()))
            null.append(_told_by_chance(pairs, seen, draws, [seed, draw]))
        if progress:
            progress(1)
    if not counted:
        raise CalipersError("no query that all judges have contains documents that a judge orders")
    return Knowledge(
        judges=judge_table.names,
        systems=rankings.systems,
        bits=np.mean(bits, axis=0),
        null=np.mean(null, axis=0),
        queries=counted,
        skipped=len(judge_table.queries) - counted,
        metadata={"draws": draws, "seed": seed, "queries": counted},
    )


def information_of_judges(
    judges: Mapping[str, JudgmentsLike | Run],
    runs: RunsLike,
    *,
    rel: float = 1.0,
    draws: int = DRAWS,
    seed: int = SEED,
    progress: Callable[[int], None] | None = None,
    **how: Any,
) -> Knowledge:
    """Return the information of several judges about the order of each system's documents.

    judges: judgments (files, frames, {query: {document: grade}}), `Preferences`, or runs, by name. A run, for example
    of a gold-standard ranker, orders all documents that another judge has judged. Queries that some judges lack are
    skipped.

    >>> from calipers.collection.runs import DictRun
    >>> grades = {"q": {"a": 1, "b": 0, "c": 0}}
    >>> gold = DictRun({"q": {"a": 3, "b": 2, "c": 1}})
    >>> found = information_of_judges({"grades": grades, "gold": gold}, {"s": {"q": {"a": 3, "c": 2, "b": 1}}})
    >>> [(judge, round(bits, 3)) for judge, bits, *_ in found.table().rows]
    [('grades', 0.667), ('gold', 0.667), ('all together', 0.667)]
    """
    check_type("judges", judges, Mapping, "{name: judgments or run}")
    check_number_of_lists(len(judges), "judges")
    if not judges:
        raise CalipersError("there are no judges")
    rankers = {name: judge for name, judge in judges.items() if hasattr(judge, "retrieved")}
    known = {name: as_judgments(judge) for name, judge in judges.items() if name not in rankers}  # type: ignore[arg-type]  # no run
    if not known:
        raise CalipersError(
            "at least one judge must have judgments: rankings alone do not tell which documents are judged"
        )
    graded = {
        name: (judge.judgments if isinstance(judge, Preferences) else judge).to_dict() for name, judge in known.items()
    }
    shared = sorted(set.intersection(*(set(each) for each in graded.values())))  # random draws use this order
    whole = {
        query: {d: float(any(each[query].get(d, -1.0) >= rel for each in graded.values())) for d in documents}
        for query in shared
        if (documents := sorted({d for each in graded.values() for d, g in each[query].items() if g >= 0}))
    }
    if not whole:
        raise CalipersError("no query in common to all judges")
    together = as_judgments(whole)
    rankings = Rankings.of(together, runs, **how)
    gold = Rankings.of(together, list(rankers.values()), **how) if rankers else None  # type: ignore[arg-type]  # runs
    offsets, names = together.pool.offsets.tolist(), together.document_names
    bits, null = [], []
    for q, query in enumerate(together.queries):
        span = slice(offsets[q], offsets[q + 1])
        place = {document: i for i, document in enumerate(names[span])}
        one, other = np.triu_indices(len(place), 1)
        said = []
        for name in judges:
            if gold is not None and name in rankers:
                line = gold.rank[list(rankers).index(name), span].astype(np.int64)
                said.append(np.sign(line[other] - line[one]))
            elif isinstance(judge := known[name], Preferences):
                said.append(_preferred(judge, query, place)[one, other])
            else:
                line = np.array([graded[name][query].get(document, np.nan) for document in place])
                line = np.where(line >= 0, line, np.nan)
                said.append(np.sign(np.nan_to_num(line[one] - line[other])))
        pairs = OrderedByJudges.of_signs(one, other, np.array(said, np.int8))
        seen = QueryRankings(query, q, rankings.rank[:, span], together.pool.grade[span] >= 1, (), q, rankings.by_name)
        if pairs is not None and seen.relevant.any():
            bits.append(pairs.told(seen.until_last_relevant()))
            null.append(_told_by_chance(pairs, seen, draws, [seed, q]))
        if progress:
            progress(1)
    if not bits:
        raise CalipersError("no query that all judges have contains documents that a judge orders")
    return Knowledge(
        judges=tuple(judges),
        systems=rankings.systems,
        bits=np.mean(bits, axis=0),
        null=np.mean(null, axis=0),
        queries=len(bits),
        skipped=max(map(len, graded.values())) - len(bits),
        metadata={"draws": draws, "seed": seed, "queries": len(bits)},
    )


def _preferred(judge: Preferences, query: str, place: Mapping[str, int]) -> NDArray[np.int8]:
    """Return [document, document]: 1 if the first was preferred more often than the second, -1 if less, else 0."""
    q = judge.queries.index(query)
    start = int(judge.pool.offsets[q])
    at = np.array([place[name] for name in judge.document_names[start : int(judge.pool.offsets[q + 1])]])
    won = np.zeros((len(place), len(place)))
    better, worse = judge.pairs_of(q)
    np.add.at(won, (at[better], at[worse]), 1.0)
    return np.sign(won - won.T).astype(np.int8)


@dataclass(frozen=True, eq=False)
class OrderedByJudges:
    """Pairs of one query's documents that at least one judge orders, sorted by pattern.

    A pattern and its reverse are the same pattern. The documents of each pair are swapped if needed.
    """

    one: Ints
    other: Ints
    sign: NDArray[np.int8]  # [judge, pair]: 1 if the judge prefers the first document, -1 the second
    start: Ints  # first pair of each pattern

    @classmethod
    def of(cls, labels: Floats) -> OrderedByJudges | None:
        """Return the ordered pairs, or None if no judge orders any. labels: [judge, document]."""
        one, other = np.triu_indices(labels.shape[1], 1)
        apart = labels[:, one] - labels[:, other]
        return cls.of_signs(one, other, np.sign(np.nan_to_num(apart)).astype(np.int8))

    @classmethod
    def of_signs(cls, one: Ints, other: Ints, sign: NDArray[np.int8]) -> OrderedByJudges | None:
        """Return the ordered pairs, or None if no judge orders any.

        sign: [judge, pair], 1 if the judge prefers document `one`, -1 if `other`, 0 if neither.
        """
        ordered = np.flatnonzero(sign.any(axis=0))
        if not len(ordered):
            return None
        code = written(sign[:, ordered], len(sign), len(ordered))
        ordered = ordered[np.argsort(np.abs(code), kind="stable")]
        code = np.sort(np.abs(code), kind="stable")
        one, other, sign = one[ordered], other[ordered], sign[:, ordered]
        turned = written(sign, len(sign), len(ordered)) < 0
        one, other = np.where(turned, other, one), np.where(turned, one, other)
        start = np.flatnonzero(np.append(True, code[1:] != code[:-1]))
        return cls(one, other, np.where(turned, -sign, sign).astype(np.int8), start)

    def told(self, rank: NDArray[np.int32]) -> Floats:
        """Return bits as [judge, system], with a last row for all judges together. rank: [system, document]."""
        above, below = rank[:, self.one], rank[:, self.other]
        higher, lower = above < below, above > below
        half = ((above == below) & (above != MISSING)) / np.float32(2)  # a tie counts half each way
        up, down = higher + half, lower + half
        liked, disliked = (self.sign > 0).astype(np.float32), (self.sign < 0).astype(np.float32)
        right, wrong = up @ liked.T + down @ disliked.T, down @ liked.T + up @ disliked.T  # [system, judge]
        alone = order_information(right.T.astype(np.float64), wrong.T.astype(np.float64))
        of_patterns = (np.add.reduceat(each, self.start, axis=1, dtype=np.float64) for each in (up, down))
        together = order_information(*of_patterns).sum(axis=1)
        return np.vstack([alone, together]) / len(self.one)


def _told_by_chance(pairs: OrderedByJudges, seen: QueryRankings, draws: int, seed: list[int]) -> list[Floats]:
    """Return the bits of the rankings with shuffled ranks, for each draw."""
    random = np.random.default_rng(seed)
    shuffled = (seen.shuffled(random) for _ in range(draws))
    return [pairs.told(seen.until_last_relevant(rank)) for rank in shuffled]
