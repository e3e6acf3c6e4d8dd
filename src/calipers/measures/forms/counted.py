"""Measures of the retrieved set: the order does not matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Lists
from calipers.measures.forms.base import Form
from calipers.measures.forms.gradings import Steps, Unknown, parts_of
from calipers.measures.values import AtLeast

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Counted(Form):
    """A function of how many documents are retrieved, how many of them relevant, and how many relevant there are."""

    reader = "Takes all that is retrieved, in no order."
    function: Callable[[Floats, Floats, Floats], Floats]
    rel: float = 1

    @property
    def can_be_negative(self) -> bool:
        return bool(getattr(self.function, "can_be_negative", False))

    def score(self, lists: Lists) -> Floats:
        retrieved = lists.length.astype(np.float64)
        found = lists.count(lists.grade >= self.rel).astype(np.float64)
        relevant = lists.pool.relevant(self.rel)[lists.query].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.function(retrieved, found, relevant), dtype=np.float64)

    def matters(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(grade >= self.rel)

    def extreme(self, unknown: Unknown, largest: bool) -> Floats:
        """All numbers of relevant documents among the unknown ones are tried: a that are retrieved, b that are not."""
        steps = Steps.of(AtLeast(self.rel), unknown.grades, unknown.lists.pool)
        grade = unknown.all(steps.grade[0])
        if not len(steps):
            return grade
        lists = unknown.lists
        found = lists.count(lists.grade >= self.rel)
        relevant = lists.pool.relevant(self.rel)[lists.query]
        shown = np.bincount(unknown.list[unknown.seen], minlength=len(lists))
        hidden = unknown.count - shown
        place = np.arange(len(unknown)) - unknown.offsets[:-1][unknown.list]
        for start, stop in parts_of((shown + 1) * (hidden + 1)):
            here = slice(start, stop)
            a = np.arange(int(shown[here].max()) + 1)[:, None]
            b = np.arange(int(hidden[here].max()) + 1)
            inside = (a <= shown[here, None, None]) & (b <= hidden[here, None, None])
            size = np.broadcast_to(lists.length[here, None, None], inside.shape)
            more = np.broadcast_to(found[here, None, None] + a, inside.shape)
            with np.errstate(divide="ignore", invalid="ignore"):
                score = self.function(
                    size.astype(np.float64),
                    more.astype(np.float64),
                    (relevant[here, None, None] + a + b).astype(np.float64),
                )
            worst = -np.inf if largest else np.inf
            score = np.where(inside & ~np.isnan(score), score, worst).reshape(stop - start, -1)
            best = score.argmax(axis=1) if largest else score.argmin(axis=1)
            rows = slice(unknown.offsets[start], unknown.offsets[stop])
            member = unknown.list[rows] - start
            seen, at = unknown.seen[rows], place[rows]
            taken = np.where(seen, at < (best // len(b))[member], at - shown[here][member] < (best % len(b))[member])
            grade[rows] = np.where(taken, steps.grade[-1], grade[rows])
        return grade
