"""Holes filled: a judge's labels where people gave none, and how much of a score rests on either.

The share that rests on people is what the lists would score if the documents that only the judge labelled were taken
out of them (the ideal, and the number of relevant documents, stay those of all labels), as a share of the score. For
sums over documents (P, DCG, nDCG, RBP) that is exactly the part that those documents add; for others (AP, RR, ERR) the
share of the judge also holds what its documents add to the worth of the human's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from calipers.collection.judgments import Judgments
from calipers.collection.runs import Run, RunView
from calipers.evaluation.evaluation import Measures, Policies, evaluate
from calipers.judging.effects_on_systems import means
from calipers.judging.panel import OneJudge, Panel
from calipers.metaevaluation.query_sets import only_documents
from calipers.native.columns import Precision, Retrieved
from calipers.results.scores import Scores
from calipers.results.tables import Cell, Table

COLUMNS = (
    "judge", "measure", "system", "score", "human_share", "judge_share", "human_only", "labels_human", "labels_judge",
)  # fmt: skip


@dataclass(eq=False)
class SeenByPeople(RunView):
    """A run of which only the documents that people labelled count as judged."""

    people: NDArray[np.bool_]  # whether each row of the judgments was labelled by people

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        return only_documents(self.run.retrieved(judgments, depth, precision, jobs), self.people)


def filled(panel: Panel, judge: str | int) -> OneJudge:
    """The human's labels, and the judge's where the human gave none, on the queries of the human."""
    place = panel.place(judge)
    asked = panel.asked(0)[panel.whole.pool.query]
    grade = np.where(panel.given[0], panel.grade[0], panel.grade[place])
    chosen = panel.given[0] | (panel.given[place] & asked)
    return OneJudge(panel.whole, chosen, f"human and {panel.names[place]}", grade)


def filled_scores(
    panel: Panel, judge: str | int, runs: Sequence[Run], measures: Measures, **policies: Unpack[Policies]
) -> tuple[Scores, Scores]:
    """The scores with the holes filled, and the part of them that rests on documents that people labelled."""
    view = filled(panel, judge)
    people = panel.given[0][view.chosen]
    known, seen = view.judgments, [view.run(run) for run in runs]
    whole = evaluate(known, seen, measures, warn=False, **policies)
    partial: Policies = {**policies, "unmatched": "warn"}
    return whole, evaluate(known, [SeenByPeople(run, people) for run in seen], measures, warn=False, **partial)


def filled_table(
    panel: Panel,
    runs: Sequence[Run],
    measures: Measures,
    human: Scores,
    judges: Sequence[str],
    **policies: Unpack[Policies],
) -> Table:
    """One row per judge, measure and system: the score with the holes filled, what share of it rests on people and on
    the judge, and the score from the human's labels alone.
    """
    rows: list[tuple[Cell, ...]] = []
    alone = means(human)
    for judge in judges:
        whole, part = filled_scores(panel, judge, runs, measures, **policies)
        scores, ours = means(whole), means(replace(part, values=np.where(np.isnan(whole.values), np.nan, part.values)))
        view = filled(panel, judge)
        labels = int(panel.given[0].sum()), int((view.chosen & ~panel.given[0]).sum())
        for m, measure in enumerate(whole.measures):
            for s, system in enumerate(whole.systems):
                score = float(scores[m, s])
                share = float(ours[m, s]) / score if score > 0 else math.nan
                rows.append((judge, measure, system, score, share, 1 - share, float(alone[m, s]), *labels))
    return Table(COLUMNS, tuple(rows))
