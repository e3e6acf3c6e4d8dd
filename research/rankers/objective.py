"""Any measure under any convention, as something to optimise: a function of scores, for many of them at once.

Rankers try thousands of scorings of the same documents. Each scoring is a system, which `evaluate` scores. Queries on
which every ranking scores the same are scored once; their score is a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers import CalipersError, Judgments, Measure, Scores, evaluate, parse
from calipers.conventions import Convention, convention
from calipers.lists import Floats
from calipers.support.choices import TieRule

ROWS_AT_ONCE = 2_000_000  # documents that are ranked in one go
SAME = 1e-12  # scores that differ by less are the same


class Goal:
    """A measure under a convention, not yet bound to data.

    >>> goal = Goal("nDCG@10", "yahoo")
    >>> goal.label, goal.on([2, 0, 0, 0], [2, 2]).mean([[1.0, 2.0, 1.0, 2.0]]).round(4).tolist()
    ('nDCG@10, like yahoo', [0.8155])
    """

    def __init__(self, measure: str | Measure, like: str | Convention | None = None) -> None:
        self.rules = convention(like)
        self.measure = parse(measure, self.rules.defaults) if isinstance(measure, str) else measure
        self.label = str(measure) if like is None else f"{measure}, like {self.rules.name}"

    def on(self, labels: Any, group: Any, name: str = "data") -> Objective:
        """Return this objective for some data: labels of documents, query by query, and the size of each query."""
        return Objective(self, Judgments.from_arrays(labels, group=group, name=name))


class Objective:
    """A measure on some data: scores of documents in, scores of queries out.

    moving: the queries on which it matters how their documents are ranked. Under `letor4` those with fewer documents
    than the cutoff are not among them, which is why they teach nothing there.
    """

    def __init__(self, goal: Goal, judgments: Judgments) -> None:
        self.goal = goal
        self.judgments = judgments
        grade = judgments.pool.grade
        ends = self._evaluated(goal.measure, judgments, np.stack([grade, -grade]))
        (self.measure,) = ends.definitions  # bound to the largest grade of all queries
        self.best, self._constant = ends.values[0]
        self.moving = ~np.isclose(self.best, self._constant, rtol=0, atol=SAME, equal_nan=True)
        self.counts = ~np.isnan(self.best)
        self._rows = np.flatnonzero(self.moving[judgments.pool.query])
        self._moving = Judgments.from_arrays(
            grade[self._rows], group=judgments.pool.size[self.moving], name=judgments.name
        )

    def require_moving(self) -> None:
        """Refuse data on which there is nothing to optimise."""
        if not self.moving.any():
            raise CalipersError(
                f"{self.goal.label} says the same of every ranking of these queries: nothing can be learnt from it",
                file=self.judgments.name,
            )

    def of(self, scores: Any) -> Floats:
        """Return scores [scoring, query] from [scoring, document], under the convention's policies; NaN if skipped."""
        scores = np.atleast_2d(np.asarray(scores, np.float64))
        found = np.tile(self._constant, (len(scores), 1))
        step = max(1, ROWS_AT_ONCE // max(1, len(self._rows)))
        if self.moving.any():
            for start in range(0, len(scores), step):
                part = scores[start : start + step, self._rows]
                found[start : start + step, self.moving] = self._evaluated(self.measure, self._moving, part).values[0]
        return found

    def mean(self, scores: Any) -> Floats:
        """Return the mean of each scoring over the queries that count, or the aggregate that the measure defines."""
        if not self.counts.any():
            raise CalipersError(f"{self.goal.label} is undefined for every query", file=self.judgments.name)
        if self.measure.declaration.average == "arithmetic":
            return np.asarray(self.of(scores)[:, self.counts].mean(axis=1))
        means = self._evaluated(self.measure, self.judgments, np.atleast_2d(scores)).mean()
        return np.array([mean for _, mean in means.rows], np.float64)

    def _evaluated(self, measure: Measure, judgments: Judgments, scores: Floats) -> Scores:
        """Score all scorings, each as a system."""
        rules = self.goal.rules
        runs = {str(place): each for place, each in enumerate(scores)}
        return evaluate(judgments, runs, measure, like=rules, ties=_tie_rule(rules), jobs=1, warn=False)


def _tie_rule(rules: Convention) -> TieRule:
    """Return the tie rule in training.

    Labels have no document ids. An id says nothing of relevance anyway: all orders of a tie count.
    """
    return "average" if rules.ties in ("docid", "docid-ascending") else rules.ties
