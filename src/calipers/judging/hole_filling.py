"""Hole filling: a judge's labels for documents without human labels, and the share of a score from each.

The share that rests on people is what the lists would score if the documents that only the judge labelled were taken
out of them (the ideal, and the number of relevant documents, stay those of all labels), as a share of the score. For
sums over documents (P, DCG, nDCG, RBP) that is exactly the part that those documents add; for others (AP, RR, ERR) the
share of the judge also holds what its documents add to the worth of the human's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calipers.collection.judgments import Judgments
from calipers.collection.runs import RunView
from calipers.evaluation.evaluation import Evaluation
from calipers.judging.effects_on_systems import means
from calipers.judging.judge_table import JudgeTable, OneJudge
from calipers.metaevaluation.query_sets import only_documents
from calipers.native.columns import Precision, Retrieved
from calipers.results.scores import Scores
from calipers.results.tables import Cell, Table

COLUMNS = (
    "judge", "measure", "system", "score", "human_share", "judge_share", "human_only", "labels_human", "labels_judge",
)  # fmt: skip


@dataclass(eq=False)
class SeenByPeople(RunView):
    """Run in which only documents with human labels count as judged."""

    people: NDArray[np.bool_]  # whether each row of the judgments was labelled by people

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        return only_documents(self.run.retrieved(judgments, depth, precision, jobs), self.people)


def filled(judge_table: JudgeTable, judge: str | int) -> OneJudge:
    """Return the human's labels, or the judge's if the human gave none, for the queries of the human."""
    place = judge_table.place(judge)
    asked = judge_table.asked(0)[judge_table.whole.pool.query]
    grade = np.where(judge_table.given[0], judge_table.grade[0], judge_table.grade[place])
    chosen = judge_table.given[0] | (judge_table.given[place] & asked)
    return OneJudge(judge_table.whole, chosen, f"human and {judge_table.names[place]}", grade)


def filled_scores(judge_table: JudgeTable, judge: str | int, evaluation: Evaluation) -> tuple[Scores, Scores]:
    """Return the scores with filled holes, and the part of them from documents with human labels."""
    view = filled(judge_table, judge)
    people = judge_table.given[0][view.chosen]
    seen = tuple(view.run(run) for run in evaluation.runs)
    whole = evaluation.changed(judgments=view.judgments, runs=seen, progress=None, warn=False)
    part = whole.changed(runs=tuple(SeenByPeople(run, people) for run in seen), unmatched="warn")
    return whole.scores, part.scores


def filled_table(judge_table: JudgeTable, evaluation: Evaluation, human: Scores, judges: Sequence[str]) -> Table:
    """Return one row per judge, measure and system.

    A row has the score with filled holes, the shares of it that rest on people and on the judge, and the score from
    the human's labels alone.
    """
    rows: list[tuple[Cell, ...]] = []
    alone = means(human)
    for judge in judges:
        whole, part = filled_scores(judge_table, judge, evaluation)
        scores, ours = means(whole), means(replace(part, values=np.where(np.isnan(whole.values), np.nan, part.values)))
        view = filled(judge_table, judge)
        labels = int(judge_table.given[0].sum()), int((view.chosen & ~judge_table.given[0]).sum())
        for m, measure in enumerate(whole.measures):
            for s, system in enumerate(whole.systems):
                score = float(scores[m, s])
                share = float(ours[m, s]) / score if score > 0 else math.nan
                rows.append((judge, measure, system, score, share, 1 - share, float(alone[m, s]), *labels))
    return Table(COLUMNS, tuple(rows))
