"""Simulation of judging: known judgments are hidden and given back one after the other.

Documents without a judgment count as not relevant from the start. For each way to judge, and after different numbers of
judgments, the result has the share of decided pairs and Kendall's tau with the order under all judgments.

    next   the batch that decides most between open pairs, computed again after each batch (see `next_to_judge`)
    depth  the first document of every system, then the second, ... (pooling)
    mtf    move to front: per query, the system that found relevant documents most recently goes on

Cormack, Palmer & Clarke, Efficient construction of large test collections, SIGIR 1998 (move-to-front pooling).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from calipers.checks import check_choice, check_whole
from calipers.collection.judgments import Judgments
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.inputs import notes_on_reading
from calipers.evaluation.options import ScoringOptions
from calipers.lists import Floats, Ints, Lists, Pool
from calipers.measures.registry import Measure
from calipers.plurals import counted
from calipers.results.result import Result, Tables
from calipers.results.tables import Table
from calipers.stats.correlation import kendall_b
from calipers.unjudged.next_to_judge import values_of, weighted_sum_of
from calipers.unjudged.open_lists import OpenLists, UnjudgedRanks, read_open_lists
from calipers.unjudged.open_scores import OpenScores, scores_of
from calipers.unjudged.pair_ranges import PairRanges, pair_ranges

Way = Literal["next", "depth", "mtf"]
WAYS: tuple[Way, ...] = get_args(Way)


@dataclass(frozen=True, eq=False, repr=False)
class JudgingSimulation(Result):
    """Shares of decided pairs, and tau, after different numbers of judgments."""

    measure: str
    documents: int  # that could be judged
    rows: tuple[tuple[str, int, float, float], ...]  # method, judgments, share of decided pairs, tau

    @property
    def title(self) -> str:
        """The subject of the result, with the number of documents."""
        return f"Simulated judging of {counted(self.documents, 'document')}, {self.measure}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        needed = ", ".join(
            f"{method} after {counted(count, 'judgment')}" if count is not None else f"{method} never"
            for method, count in self.needed().items()
        )
        return f"Tau of 0.9 with the order under all judgments is reached and kept: {needed}."

    def plot(self) -> Any:
        """Draw the progress of judging. See `calipers.plot.judging_curves`."""
        from calipers.plot import judging_curves

        return judging_curves(self)

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"judgments": self._judgments})

    def _judgments(self) -> Table:
        """Return one row per method and number of judgments: method, judged, decided, tau."""
        return Table(("method", "judged", "decided", "tau"), self.rows, {"measure": self.measure})

    def needed(self, tau: float = 0.9) -> dict[str, int | None]:
        """Return, per method, the number of judgments after which tau is reached and kept, or None if it never is."""
        found: dict[str, int | None] = {}
        for method in dict.fromkeys(row[0] for row in self.rows):
            mine = [row for row in self.rows if row[0] == method]
            below = [i for i, row in enumerate(mine) if not row[3] >= tau]
            after = below[-1] + 1 if below else 0
            found[method] = mine[after][1] if after < len(mine) else None
        return found


def simulate_judging(
    evaluation: Evaluation, *, ways: Sequence[Way] = WAYS, steps: int = 20, budget: int | None = None
) -> JudgingSimulation:
    """Hide judgments, give them back in several orders, and return how fast the order of the systems is settled.

    The experiment has one measure, nDCG or a weighted sum. Its scoring options are not used.
    steps: the number of times that the order is looked at, more often early on.
    budget: the number of judgments to stop after. The default is all of them.

    >>> import calipers as cal
    >>> runs = {"x": {"q": {"a": 2, "b": 1}}, "y": {"q": {"b": 2, "a": 1}}}
    >>> found = simulate_judging(cal.Experiment({"q": {"a": 1, "b": 0}}, runs, "nDCG@10"), steps=2)
    >>> found.needed()
    {'next': 2, 'depth': 2, 'mtf': 2}
    """
    check_whole("steps", steps)
    for way in ways:
        check_choice("way to judge", way, WAYS)
    if len(evaluation.measures) != 1:
        raise CalipersError(f"a simulation is of one measure, not of {', '.join(evaluation.measures)}")
    known = evaluation.known.by_name()  # orders of judging that tie go by name
    ((name, measure),) = evaluation.measures.items()
    definition = measure.bind(known.pool)
    read = sorted(evaluation.runs, key=lambda run: run.name)
    if len(read) < 2:
        only = f" ({read[0].name})" if read else ""
        raise CalipersError(f"there is only one system{only}: nothing to compare it with")
    warn_user(notes_on_reading(known, read), evaluation.warn)
    progress = evaluation.progress
    weighted_sum_of(name, definition)  # refuses other measures
    opened, _ = read_open_lists(known, read, ScoringOptions(), evaluation.jobs)
    world = _World(opened, name, definition)
    total = int(world.found.sum())
    most = total if budget is None else min(budget, total)
    steps = min(steps, max(2 * most, 1))  # more would find the same counts: every number of judgments
    counts = sorted({round(most * (i / steps) ** 2) for i in range(steps + 1)})
    rows = []
    for way in ways:
        order = None if way == "next" else _depth_order(world) if way == "depth" else _move_to_front(world)
        shown = np.zeros(len(known), bool)
        for count in counts:
            if order is not None:
                shown[order[:count]] = True
            elif count:
                shown[world.best(shown, count - int(shown.sum()))] = True
            decided, tau = world.state(shown)
            rows.append((way, count, decided, tau))
            if progress:
                progress(1)
    return JudgingSimulation(name, total, tuple(rows))


class _World:
    """All judgments, of which some are shown."""

    def __init__(self, opened: OpenLists, name: str, definition: Measure) -> None:
        self.opened, self.name, self.definition = opened, name, definition
        self.lists = opened.lists
        self.grades = np.unique(np.maximum(opened.judgments.pool.grade, 0.0))  # the grades that occur
        self.options = ScoringOptions(empty=0.0, missing=0.0)
        self.found = np.zeros(len(opened.judgments), bool)  # by any system
        self.found[self.lists.document] = True
        self._last: tuple[bytes, OpenScores, PairRanges] | None = None
        self.truth = self._scores(self.lists).mean(axis=1)

    def _scores(self, lists: Lists) -> Floats:
        return scores_of(self.definition, self.options, lists).reshape(self.opened.shape)

    def open_scores(self, shown: NDArray[np.bool_]) -> OpenScores:
        """Return what is known where only these documents are judged. Those that no system retrieves stay judged."""
        judged = shown | ~self.found
        pool, lists = self.lists.pool, self.lists
        number = np.cumsum(judged) - 1
        fewer = Pool(np.concatenate([[0], np.cumsum(judged)])[pool.offsets], pool.grade[judged])
        seen = judged[lists.document]
        kept = lists.where(seen)
        known = replace(kept, pool=fewer, document=number[kept.document], input_rank=None, memo={})
        row = np.flatnonzero(~seen)
        assert lists.docid_rank is not None
        ranks = UnjudgedRanks(
            np.searchsorted(row, lists.offsets), lists.first[row], lists.last[row], lists.docid_rank[row]
        )
        hidden = OpenLists(
            Judgments(self.opened.judgments.name, self.opened.judgments.queries, fewer, None),
            self.opened.systems,
            known,
            "average",
            ranks,
            lambda: (lists.document[row], self.opened.judgments.documents),
        )
        return OpenScores(self.name, self.definition, hidden, self.grades, 0, self.options)

    def state(self, shown: NDArray[np.bool_]) -> tuple[float, float]:
        """Return the share of decided pairs, and tau with the order under all judgments."""
        found, pairs = self._at(shown)
        return float(pairs.decided.mean()), kendall_b(self.truth, found.score.mean(axis=1))

    def _at(self, shown: NDArray[np.bool_]) -> tuple[OpenScores, PairRanges]:
        """Return the scores and the ranges of pairs. The last state is kept: the next batch is chosen from it."""
        key = shown.tobytes()
        if self._last is None or self._last[0] != key:
            found = self.open_scores(shown)
            self._last = key, found, pair_ranges(found)
        return self._last[1:]

    def best(self, shown: NDArray[np.bool_], count: int) -> Ints:
        """Return the documents to judge next: first those that decide most, then by rank."""
        found, pairs = self._at(shown)
        lists = found.lists
        open_pairs = np.zeros((len(lists.systems),) * 2, bool)
        open_pairs[pairs.a, pairs.b] = open_pairs[pairs.b, pairs.a] = ~pairs.decided
        rows = np.arange(len(lists.ranks.place))
        code, one = lists.codes(rows)
        value = values_of(found, rows, code, one, open_pairs, count)
        depth = np.full(len(one), np.iinfo(np.int64).max)
        np.minimum.at(depth, code, lists.ranks.place)
        return lists.document[one[np.lexsort((depth, -value))[:count]]]


def _depth_order(world: _World) -> Ints:
    """Return the judged documents, ordered by the best rank that any system gives them."""
    lists = world.lists
    assert lists.docid_rank is not None
    best = np.full(len(world.found), np.iinfo(np.int64).max)
    np.minimum.at(best, lists.document, lists.docid_rank)
    return np.argsort(best, kind="stable")[: int(world.found.sum())]


def _move_to_front(world: _World) -> Ints:
    """Return the documents in the order of move-to-front pooling.

    Queries take turns, one judgment each. Per query, the system with the highest priority goes on down its list. A
    system that meets a document that is not relevant loses priority.
    """
    lists, (systems, queries) = world.lists, world.opened.shape
    relevant = (lists.pool.grade >= 1).tolist()
    documents, offsets = lists.document.tolist(), lists.offsets.tolist()

    def of_query(q: int) -> list[int]:
        at = [offsets[s * queries + q] for s in range(systems)]
        end = [offsets[s * queries + q + 1] for s in range(systems)]
        priority = [0] * systems
        judged: dict[int, None] = {}
        left = {s for s in range(systems) if at[s] < end[s]}
        while left:
            s = max(left, key=lambda s: (priority[s], -s))
            while at[s] < end[s] and documents[at[s]] in judged:
                at[s] += 1
            if at[s] == end[s]:
                left.discard(s)
                continue
            judged[documents[at[s]]] = None
            if not relevant[documents[at[s]]]:
                priority[s] -= 1
        return list(judged)

    turns = [of_query(q) for q in range(queries)]
    longest = max(map(len, turns))
    return np.array([turn[i] for i in range(longest) for turn in turns if i < len(turn)], np.int64)
