"""Any measure under any convention, as something to optimise: a function of scores, fast for many of them at once.

Rankers try thousands of scorings of the same documents. So what does not depend on the scores is worked out once: the
judgments, the measure bound to them, and the queries on which every ranking scores the same. Those are left out of the
sorting; their score is a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.choices import TieRule
from calipers.collection.judgments import Judgments
from calipers.conventions import Convention, convention
from calipers.errors import CalipersError
from calipers.evaluation.inputs import NEEDS, kind_read
from calipers.evaluation.options import ScoringOptions
from calipers.evaluation.scoring import score_lists
from calipers.lists import Floats, Ints, Lists, Pool
from calipers.measures.grammar import parse_all
from calipers.measures.registry import Measure
from calipers.native.scanner import rank_segments
from calipers.results.scores import AVERAGES

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
        named = parse_all(measure, self.rules.defaults)
        if len(named) != 1:
            raise CalipersError(f"'{measure}' names {len(named)} measures; expected one")
        self.name, self.measure = named[0]
        if (kind := kind_read([self.measure])) != "grades":
            raise CalipersError(f"{self.name} needs {NEEDS[kind]}: labels of documents cannot be optimised for it")
        self.label = self.name if like is None else f"{self.name}, like {self.rules.name}"

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
        self.name = judgments.name
        judgments = goal.rules.judgments(judgments)
        self.pool = judgments.pool
        self.measure = goal.measure.bind(self.pool)
        self._options = ScoringOptions(like=goal.rules, ties=_tie_rule(goal.rules))
        goal.rules.check(judgments, [self.measure])
        grade = self.pool.grade
        best, worst = self._scored(np.stack([grade, -grade]), self.pool)
        same = np.isclose(best, worst, rtol=0, atol=SAME, equal_nan=True)
        self.best = best
        self.moving = ~same
        self.counts = ~np.isnan(best)
        self._constant = worst
        self._rows = np.flatnonzero(np.repeat(self.moving, self.pool.size))
        offsets = np.concatenate([[0], np.cumsum(self.pool.size[self.moving])])
        self._moving_pool = Pool(offsets, grade[self._rows])

    def require_moving(self) -> None:
        """Refuse data on which there is nothing to optimise."""
        if not self.moving.any():
            raise CalipersError(
                f"{self.goal.label} says the same of every ranking of these queries: nothing can be learnt from it",
                file=self.name,
            )

    def of(self, scores: Any) -> Floats:
        """Return scores [scoring, query] from [scoring, document], under the convention's policies; NaN if skipped."""
        scores = np.atleast_2d(np.asarray(scores, np.float64))
        found = np.tile(self._constant, (len(scores), 1))
        rows = max(1, len(self._rows))
        step = max(1, ROWS_AT_ONCE // rows)
        for start in range(0, len(scores), step):
            part = np.take(scores[start : start + step], self._rows, axis=1)
            if part.size:
                found[start : start + step, self.moving] = self._scored(part, self._moving_pool)
        return found

    def mean(self, scores: Any) -> Floats:
        """Return the mean of each scoring over the queries that count, or the aggregate that the measure defines."""
        found = self.of(scores)[:, self.counts]
        if not found.shape[1]:
            raise CalipersError(f"{self.goal.label} is undefined for every query", file=self.name)
        average = self.measure.declaration.average
        if average == "arithmetic":
            return np.asarray(found.mean(axis=1))
        return np.array([AVERAGES[average](row) for row in found])

    def _scored(self, scores: Floats, pool: Pool) -> Floats:
        """Rank one pool by many scorings, each as a system, and score the lists."""
        if self.goal.rules.precision == "single":
            scores = scores.astype(np.float32).astype(np.float64)
        rules = self.goal.rules
        lists = _ranked(pool, scores, by_input=rules.ties == "input")
        found = score_lists(lists, [self.measure], self._options)
        return found.values.reshape(len(scores), pool.queries)


def _tie_rule(rules: Convention) -> TieRule:
    """Return the tie rule for lists that `_ranked` has ranked. It breaks ties by the order of the input itself.

    Labels have no document ids. An id says nothing of relevance anyway: all orders of a tie count.
    """
    return "average" if rules.ties in ("input", "docid", "docid-ascending") else rules.ties


def _ranked(pool: Pool, scores: Floats, by_input: bool) -> Lists:
    """Rank all documents of all queries by each scoring in turn. by_input: ties keep the order of the input."""
    many, documents = scores.shape
    sizes: Ints = np.tile(pool.size, many)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    row, first, last = rank_segments(np.ascontiguousarray(scores).ravel(), offsets)
    if many > 1:
        row = row - np.repeat(np.arange(many) * documents, documents)
    if by_input:  # rows come by score, and inside ties in the order of the input
        first = last = np.tile(pool.place, many)
    return Lists(
        pool=pool,
        query=np.tile(np.arange(pool.queries), many),
        length=sizes,
        offsets=offsets,
        document=row,
        first=first,
        last=last,
    )
