"""Which judge knows most: what the order of a system's documents tells about judges' preferences, in bits.

    I(R_S; Q_1 .. Q_m) = sum over patterns q of f(q) lg(2 f(q) / (f(q) + f(-q)))

Pairs of documents that at least one judge orders, the one that the system shows higher first; f(q) is the share of
those that the judges order as q says (1, -1, or 0 where a judge calls them equal or lacks a label), pairs of which the
system shows neither document counting in the whole. It is the joint relevance information correlation with the roles of
systems and judges exchanged; lists are cut as for RIC, after the last document that any judge calls relevant. Many
judges seem to know much by chance: beside each value stands that of lists that are shuffled.

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
    """Bits per judge, and of all judges together: means over queries, system by system."""

    judges: tuple[str, ...]  # the last line of each array is all of them together
    systems: tuple[str, ...]
    bits: Floats  # [judge, system]
    null: Floats  # [draw, judge, system]: of shuffled lists
    queries: int
    skipped: int  # queries that no judge orders anything of
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
    """What each judge of a judge_table, the human included, knows of the order of each system's documents."""
    check_number_of_lists(len(judge_table.names), "judges")
    check_whole("draws", draws)
    check_seed(seed)
    rankings = Rankings.of(judge_table.whole, runs, **how)
    bits, null, counted = [], [], 0
    for draw, q in enumerate(order_of(judge_table.queries)):
        name, span = judge_table.queries[q], judge_table.whole.rows_of(q)
        labels = judge_table.grade[:, span]
        labels = np.where(labels >= 0, labels, np.nan)  # a grade below 0 is none
        if np.isnan(labels).all(axis=1).any():
            continue  # a query that not all have judged
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
        raise CalipersError("no query of all judges has documents that one of them tells apart")
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
    """What several judges at once know of the order of each system's documents: grades, preferences, a ranking.

    A judge is anything that orders documents: judgments (files, frames, {query: {document: grade}}), `Preferences`, or
    a run, such as that of a gold-standard ranker, which says for any two documents that some other judge has judged
    which one it shows first. Queries that only some of the judges have are skipped.

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
        raise CalipersError("at least one judge must have judged documents: rankings alone do not say which count")
    graded = {
        name: (judge.judgments if isinstance(judge, Preferences) else judge).to_dict() for name, judge in known.items()
    }
    shared = sorted(set.intersection(*(set(each) for each in graded.values())))  # draws are made over this order
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
        raise CalipersError("no query of all judges has documents that one of them tells apart")
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
    """[document, document]: 1 where the first was preferred more often than the second, -1 less often, else 0."""
    q = judge.queries.index(query)
    start = int(judge.pool.offsets[q])
    at = np.array([place[name] for name in judge.document_names[start : int(judge.pool.offsets[q + 1])]])
    won = np.zeros((len(place), len(place)))
    better, worse = judge.pairs_of(q)
    np.add.at(won, (at[better], at[worse]), 1.0)
    return np.sign(won - won.T).astype(np.int8)


@dataclass(frozen=True, eq=False)
class OrderedByJudges:
    """The pairs of one query's documents that at least one judge orders, those of one pattern together.

    A pattern and its reverse are one: the documents of each pair stand in the order that makes them so.
    """

    one: Ints
    other: Ints
    sign: NDArray[np.int8]  # [judge, pair]: 1 where the judge prefers the first document, -1 the second
    start: Ints  # of each pattern, its first pair

    @classmethod
    def of(cls, labels: Floats) -> OrderedByJudges | None:
        """From labels of [judge, document]; None where nobody orders anything."""
        one, other = np.triu_indices(labels.shape[1], 1)
        apart = labels[:, one] - labels[:, other]
        return cls.of_signs(one, other, np.sign(np.nan_to_num(apart)).astype(np.int8))

    @classmethod
    def of_signs(cls, one: Ints, other: Ints, sign: NDArray[np.int8]) -> OrderedByJudges | None:
        """From what each judge says about each pair of documents: 1 for the first, -1 for the second, 0 for neither."""
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
        """[judge and all together, system]: bits that the order of documents tells, from ranks [system, document]."""
        above, below = rank[:, self.one], rank[:, self.other]
        higher, lower = above < below, above > below
        half = ((above == below) & (above != MISSING)) / np.float32(2)  # a tie is taken half each way
        up, down = higher + half, lower + half
        liked, disliked = (self.sign > 0).astype(np.float32), (self.sign < 0).astype(np.float32)
        right, wrong = up @ liked.T + down @ disliked.T, down @ liked.T + up @ disliked.T  # [system, judge]
        alone = order_information(right.T.astype(np.float64), wrong.T.astype(np.float64))
        of_patterns = (np.add.reduceat(each, self.start, axis=1, dtype=np.float64) for each in (up, down))
        together = order_information(*of_patterns).sum(axis=1)
        return np.vstack([alone, together]) / len(self.one)


def _told_by_chance(pairs: OrderedByJudges, seen: QueryRankings, draws: int, seed: list[int]) -> list[Floats]:
    """What the same rankings tell about the judges' pairs after their ranks were shuffled, draw by draw."""
    random = np.random.default_rng(seed)
    shuffled = (seen.shuffled(random) for _ in range(draws))
    return [pairs.told(seen.until_last_relevant(rank)) for rank in shuffled]
