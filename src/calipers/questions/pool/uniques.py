"""Leave-out-uniques: the scores of runs if the documents that only they found had never been judged.

A test collection is reusable if it treats systems fairly that did not contribute to its pool. So each run, and each
group of similar runs, is scored as if it had not contributed: without the judgments of documents that no other run, or
no other group, retrieves.

Zobel, How reliable are the results of large-scale information retrieval experiments?, SIGIR 1998.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calipers.collection.run_names import distinct_names
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.inputs import in_batches, notes_on_reading
from calipers.evaluation.options import ScoringOptions
from calipers.evaluation.scoring import score_lists
from calipers.lists import Floats, Ints, Lists, Pool
from calipers.measures.registry import Measure
from calipers.native.columns import Retrieved
from calipers.results.result import Result, Tables
from calipers.results.scores import AVERAGES
from calipers.results.tables import Cell, Table
from calipers.statistics.correlation import kendall_b
from calipers.support.checks import check_whole
from calipers.support.plurals import counted


@dataclass(frozen=True, eq=False, repr=False)
class Uniques(Result):
    """Losses of runs and groups without the judgments of documents that only they found."""

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    groups: tuple[str, ...]  # of each system
    uniques: Ints  # [system]: judged documents that it alone retrieves
    relevant: Ints  # [system]: of them with a grade of at least 1
    group_uniques: Ints  # [system]: judged documents that its group alone retrieves
    score: Floats  # [measure, system]
    without_run: Floats
    without_group: Floats

    @property
    def title(self) -> str:
        """The subject of the result, with numbers of systems and groups."""
        return (
            f"Unique documents of {counted(len(self.systems), 'system')} in {counted(len(set(self.groups)), 'group')}"
        )

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        loss = self.score - self.without_group
        worst = int(np.argmax(np.nan_to_num(np.abs(loss[0]))))
        return (
            f"{self.measures[0]}: {self.systems[worst]} changes most without the uniques of its group, by "
            f"{-loss[0, worst]:+.4f}; tau of the two orders is {self.tau()[self.measures[0]]:.3f}."
        )

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"systems": self._systems})

    def _systems(self) -> Table:
        """Return one row per system and measure: mean scores with and without uniques of the system and its group."""
        columns = (
            "system",
            "group",
            "measure",
            "score",
            "without_run",
            "loss_run",
            "without_group",
            "loss_group",
            "uniques",
            "relevant_uniques",
            "group_uniques",
        )
        rows: list[tuple[Cell, ...]] = []
        for s, (system, group) in enumerate(zip(self.systems, self.groups, strict=True)):
            for m, measure in enumerate(self.measures):
                score, run, of_group = (
                    float(each[m, s]) for each in (self.score, self.without_run, self.without_group)
                )
                counts = (int(each[s]) for each in (self.uniques, self.relevant, self.group_uniques))
                rows.append((system, group, measure, score, run, score - run, of_group, score - of_group, *counts))
        return Table(columns, tuple(rows))

    def tau(self) -> dict[str, float]:
        """Kendall's tau between the order of the systems and that in which each group is scored without its uniques."""
        return {
            name: kendall_b(score, without)
            for name, score, without in zip(self.measures, self.score, self.without_group, strict=True)
        }


def leave_out_uniques(
    evaluation: Evaluation, *, groups: Mapping[str, str] | None = None, depth: int | None = None
) -> Uniques:
    """Score each run without the judgments of documents that only it, or only its group, retrieves.

    The scoring options of the experiment are not used.
    groups: {system: group}. A system without a group is its own group.
    depth: the depth of the pools. A document counts as found by a run if it is among the run's first `depth` documents.

    >>> import calipers as cal
    >>> runs = {"x": {"q": {"a": 2, "b": 1}}, "y": {"q": {"b": 2, "c": 1}}}
    >>> exp = cal.Experiment({"q": {"a": 1, "b": 1}}, runs, "P@1")
    >>> print(leave_out_uniques(exp).to_csv(), end="")
    system,group,measure,score,without_run,loss_run,without_group,loss_group,uniques,relevant_uniques,group_uniques
    x,x,P@1,1.0,0.0,1.0,0.0,1.0,1,1,1
    y,y,P@1,1.0,1.0,0.0,1.0,0.0,0,0,0
    """
    if depth is not None:
        check_whole("depth", depth)
    known, systems = evaluation.known, evaluation.runs
    if not systems:
        raise CalipersError("there is no run to evaluate")
    warn_user(notes_on_reading(known, systems), evaluation.warn)
    found = []
    for batch in in_batches(systems, known, jobs=evaluation.jobs):
        found += batch
        if evaluation.progress:
            evaluation.progress(len(batch))
    names = tuple(name for name, _ in distinct_names(systems))
    unknown = sorted(set(groups or {}) - set(names))
    if groups is not None and len(unknown) == len(groups):
        raise CalipersError(f"the groups name none of the systems ({names[0]}, ...), but {unknown[0]}, ...")
    of_group = [(groups or {}).get(name, name) for name in names]
    number = {group: i for i, group in enumerate(dict.fromkeys(of_group))}
    group = np.array([number[each] for each in of_group])
    bound = {name: measure.bind(known.pool) for name, measure in evaluation.measures.items()}
    by_run, by_group = _only(found, np.arange(len(found)), len(known), depth), _only(found, group, len(known), depth)
    relevant = known.pool.grade >= 1
    shape = (len(bound), len(found))
    score, without_run, without_group = np.empty(shape), np.empty(shape), np.empty(shape)
    for s, run in enumerate(found):
        score[:, s] = _means(known.pool, run, bound, None)
        without_run[:, s] = _means(known.pool, run, bound, by_run == s)
        same = len(by_group) == 0 or ((by_group == group[s]) == (by_run == s)).all()
        without_group[:, s] = without_run[:, s] if same else _means(known.pool, run, bound, by_group == group[s])
    return Uniques(
        tuple(bound),
        names,
        tuple(of_group),
        np.bincount(by_run[by_run >= 0], minlength=len(found)),
        np.bincount(by_run[(by_run >= 0) & relevant], minlength=len(found)),
        np.bincount(by_group[by_group >= 0], minlength=len(number))[group],
        score,
        without_run,
        without_group,
    )


def _only(found: list[Retrieved], owner: Ints, documents: int, depth: int | None) -> Ints:
    """Return, per judged document, the owner of all runs that retrieve it, or -1 if there is not exactly one."""
    first, several = np.full(documents, -1), np.zeros(documents, bool)
    for run, own in zip(found, owner.tolist(), strict=True):
        rank = run.input_rank if run.docid_rank is None else run.docid_rank
        mine = run.document if depth is None else run.document[rank <= depth]
        several[mine] |= (first[mine] >= 0) & (first[mine] != own)
        first[mine] = np.where(first[mine] < 0, own, first[mine])
    return np.where(several, -1, first)


def _means(pool: Pool, run: Retrieved, measures: Mapping[str, Measure], left_out: NDArray[np.bool_] | None) -> Floats:
    """Return the mean scores of one run if some documents are unjudged."""
    lists = Lists.of(pool, [run])
    if left_out is not None and left_out.any():
        lists = without(lists, left_out)
    options = ScoringOptions(empty=0.0, missing=0.0, degenerate=0.0)
    found = score_lists(lists, measures.values(), options).values
    return np.array(
        [AVERAGES[m.declaration.average](values) for m, values in zip(measures.values(), found, strict=True)]
    )


def without(lists: Lists, left_out: NDArray[np.bool_]) -> Lists:
    """Return the lists with these documents of the pool unjudged."""
    pool = lists.pool
    number = np.cumsum(~left_out) - 1
    fewer = Pool(np.concatenate([[0], np.cumsum(~left_out)])[pool.offsets], pool.grade[~left_out])
    kept = lists.where(~left_out[lists.document])
    return replace(kept, pool=fewer, document=number[kept.document], memo={})
