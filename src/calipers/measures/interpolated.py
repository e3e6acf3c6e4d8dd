"""Interpolated precision, the points of the recall-precision curve.

    IPrec@c = the largest P@i at or below the rank where a share c of the relevant documents is found

Buckley & Voorhees, Retrieval system evaluation, in TREC: Experiment and Evaluation, 2005; as trec_eval counts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Ints, Lists
from calipers.measures.forms import Deterministic, Form
from calipers.measures.forms.wrappers import WithoutZeroGains
from calipers.measures.gains import AtLeast
from calipers.measures.parameters import REL, Parameter
from calipers.measures.registry import measure
from calipers.support.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _nearest(share: Floats) -> Floats:
    below = np.floor(share)
    return below + (share - below >= 0.5)


def _up(share: Floats) -> Floats:
    return np.floor(share + 0.9)


# How many documents "a share c of R" is: trec_eval 10.0 rounds, 9.x adds 0.9 and drops the fraction.
ROUNDINGS: dict[str, Callable[[Floats], Floats]] = {"nearest": _nearest, "up": _up}
RECALL = Parameter("The share of the relevant documents, written after the @.", "number", least=0, most=1).required
POINTS = Parameter("The levels of recall.", "list", [point / 10 for point in range(11)], least=0, most=1)
ROUNDING = Parameter(
    "How a share of the relevant documents is rounded to a number of documents.",
    "word",
    "nearest",
    tuple(ROUNDINGS),
)


@measure("IPrec", recall=RECALL, rel=REL, rounding=ROUNDING, at="recall", example="IPrec@0.1")
def interpolated_precision(recall: float, rel: float, rounding: str) -> Form:
    """The largest precision from the rank on at which this share of the relevant documents is found."""
    return _curve([recall], rel, rounding)


@measure("11pt_avg", points=POINTS, rel=REL, rounding=ROUNDING)
def eleven_point_average(points: list[float], rel: float, rounding: str) -> Form:
    """The mean of the interpolated precision at eleven points of recall."""
    return _curve(points, rel, rounding)


def _curve(points: list[float], rel: float, rounding: str) -> Form:
    return WithoutZeroGains(Deterministic(MeanPrecisionFrom(tuple(points), rel, rounding)), AtLeast(rel))


class MeanPrecisionFrom(Record):
    """The mean over some points of recall of the best precision from there on; reads relevant documents only."""

    points: tuple[float, ...]
    rel: float
    rounding: str

    def __call__(self, lists: Lists) -> Floats:
        best = lists.once("best precision from here", lambda: best_precision(lists))
        found = np.diff(lists.offsets)
        relevant = lists.pool.relevant(self.rel)[lists.query]
        total = np.zeros(len(lists))
        for point in reversed(self.points):  # as trec_eval adds them up, to the last bit
            share = np.asarray(point * relevant, np.float64)
            wanted = np.maximum(ROUNDINGS[self.rounding](share), 1).astype(np.int64)
            reached = wanted <= found
            total[reached] += best[lists.offsets[:-1][reached] + wanted[reached] - 1]
        return np.where(relevant > 0, total / len(self.points), np.nan)


def best_precision(lists: Lists) -> Floats:
    """Return for each relevant document the largest precision at it or at a relevant document below it."""
    place = np.arange(len(lists.first)) - lists.offsets[:-1][lists.list] + 1
    return _largest_from_here(place / lists.first, lists.list)


def _largest_from_here(values: Floats, segment: Ints) -> Floats:
    """Return the largest value from each row to the end of its segment, exact to the last bit."""
    order: NDArray[np.intp] = np.argsort(values, kind="stable")
    n = len(values)
    size = np.empty(n, np.int64)
    size[order] = np.arange(n)
    # Ranks of the values are integers, so that the segment fits into higher digits: one running maximum is enough.
    later_first = (int(segment[-1]) - segment[::-1]).astype(np.int64) * n if n else size
    largest = np.maximum.accumulate(later_first + size[::-1])[::-1] if n else size
    return np.asarray(values[order[largest % n]]) if n else values
