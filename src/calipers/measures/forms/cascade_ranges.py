"""Between which values a cascade, as a share of its ideal, lies whatever the grades of unknown documents (nERR).

Where weights fall with the rank, a document that satisfies more readers is worth more the higher it stands. So with n_j
unknown documents of each grade, the best ones stand highest in the best case and lowest in the worst, and the ideal
depends on these numbers alone: they are tried where there are few. Else, and where documents are tied, only how many
are worth something is tried, which gives an outer range: the list gets at most what the best grade gives, the ideal at
least what the least one gives, and the other way round.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Ints
from calipers.measures.forms.blended_ranges import packed_ranks
from calipers.measures.forms.gradings import NoRange, Steps, Unknown
from calipers.record import Record

if TYPE_CHECKING:
    from calipers.measures.forms.cascade import Cascade

MOST_CELLS = 1 << 23  # of a table of numbers of documents and ranks: else there is no range
MOST_PROFILES = 20_000  # numbers of documents of each grade that are tried


class OpenCascade(Record):
    """One list: the documents that may satisfy, and what may become of the unknown ones."""

    first: Ints  # of the judged documents that satisfy: the ranks of their ties
    last: Ints
    stop: Floats
    pool: Floats  # of all judged documents of the query that satisfy, the largest first
    row: Ints  # unknown documents that the list has down to the cutoff
    unknown_first: Ints
    unknown_last: Ints
    hidden: Ints  # other unknown documents, so many as an ideal list has ranks
    steps: Steps

    @classmethod
    def of(cls, form: Cascade, unknown: Unknown, i: int, steps: Steps) -> OpenCascade:
        lists, far = unknown.lists, form.weight.cutoff or np.iinfo(np.int64).max
        judged = np.arange(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        stop = lists.worth(form.stop)[judged]
        kept = (stop > 0) & (lists.first[judged] <= far)
        q = int(lists.query[i])
        pool = lists.pool.worth(form.stop)[int(lists.pool.offsets[q]) : int(lists.pool.offsets[q + 1])]
        rows = np.arange(int(unknown.offsets[i]), int(unknown.offsets[i + 1]))
        near = unknown.seen[rows] & (unknown.first[rows] <= far)
        judged, hidden, rows = judged[kept], rows[~near], rows[near]
        rows = rows[np.argsort(unknown.first[rows], kind="stable")]
        return cls(
            lists.first[judged].astype(np.int64),
            lists.last[judged].astype(np.int64),
            stop[kept],
            np.sort(pool[pool > 0])[::-1][: min(far, len(pool))],
            rows,
            unknown.first[rows].astype(np.int64),
            unknown.last[rows].astype(np.int64),
            hidden[: min(far, len(hidden))],
            steps,
        )

    @property
    def tied(self) -> bool:
        return bool((self.first != self.last).any() or (self.unknown_first != self.unknown_last).any())

    def ideals(self, form: Cascade, more: Floats) -> Floats:
        """Of the best ranking of the pool and some more documents, [number, document]."""
        every = np.hstack([np.broadcast_to(self.pool, (len(more), len(self.pool))), more])
        every = np.sort(every, axis=1)[:, ::-1]
        if form.weight.cutoff is not None:
            every = every[:, : form.weight.cutoff]
        return _cascaded(form, every, np.arange(1, every.shape[1] + 1))


def extreme_share(form: Cascade, one: OpenCascade, largest: bool) -> tuple[Ints, Floats]:
    """Rows of unknown documents, and grades, under which the share of the ideal of a list without ties is extreme."""
    steps, count, levels = one.steps, len(one.row) + len(one.hidden), len(one.steps)
    rows = np.concatenate([one.row, one.hidden]) if largest else np.concatenate([one.hidden, one.row[::-1]])
    number = comb(count + levels, levels)
    if one.tied or number > MOST_PROFILES or number * (len(one.pool) + count + 1) > MOST_CELLS:
        raise NoRange("its lists have ties, or its unjudged documents too many numbers of each grade")
    if not levels or not count:
        return rows, np.full(len(rows), steps.grade[0])
    reached = np.array(list(combinations_with_replacement(range(count, -1, -1), levels)))  # m_1 >= m_2 >= ...
    level = (reached[:, :, None] > np.arange(count)).sum(axis=1)  # [number, document in the order of rows]
    stop = steps.worth[level]
    shown = stop[:, : len(one.row)] if largest else stop[:, len(one.hidden) :][:, ::-1]
    rank = np.concatenate([one.first, one.unknown_first])
    order = np.argsort(rank, kind="stable")
    inside = np.hstack([np.broadcast_to(one.stop, (len(stop), len(one.stop))), shown])[:, order]
    ideal = one.ideals(form, stop)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(ideal > 0, _cascaded(form, inside, rank[order]) / ideal, np.nan)
    if np.isnan(value).all():
        return rows, np.full(len(rows), steps.grade[0])
    return rows, steps.grade[level[int(np.nanargmax(value) if largest else np.nanargmin(value))]]


def outer_share(form: Cascade, one: OpenCascade, largest: bool) -> float:
    """What no share of the ideal passes; NaN where there is no ideal."""
    worth = one.steps.worth[one.steps.worth > 0]
    count, shown = len(one.row) + len(one.hidden), len(one.row)
    if (count + 1) * (len(one.pool) + count + 1) > MOST_CELLS:
        raise NoRange("no range is known where lists have so many unjudged documents")
    numbers = np.arange(count + 1) if len(worth) else np.zeros(1, np.int64)
    if one.steps.worth[0] > 0:
        numbers = numbers[-1:]
    there, elsewhere = (worth.max(initial=0.0), worth.min(initial=1.0)) if largest else (
        worth.min(initial=1.0), worth.max(initial=0.0))  # fmt: skip
    member = np.concatenate([np.full(len(one.first), -1), np.arange(shown)])
    first, last = np.concatenate([one.first, one.unknown_first]), np.concatenate([one.last, one.unknown_last])
    stop = np.concatenate([one.stop, np.full(shown, there)])
    order = np.lexsort((-stop if largest else stop, first))
    member, first, last, stop = member[order], first[order], last[order], stop[order]
    taken = np.minimum(numbers, shown) if largest else np.maximum(numbers - len(one.hidden), 0)
    held = (member < 0) | ((member if largest else shown - 1 - member) < taken[:, None])
    rank = packed_ranks(first, last, np.cumsum(held, axis=1), largest)
    ideal = one.ideals(form, np.where(np.arange(count) < numbers[:, None], elsewhere, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(ideal > 0, np.minimum(_cascaded(form, np.where(held, stop, 0.0), rank) / ideal, 1.0), np.nan)
    if np.isnan(value).all():
        return np.nan
    return float(np.nanmax(value) if largest else np.nanmin(value))


def _cascaded(form: Cascade, stop: Floats, rank: Ints) -> Floats:
    """[case, document]: what readers get who stop at these documents, which stand at these ranks."""
    if not stop.shape[1]:
        return np.zeros(len(stop))
    through = np.cumprod(1.0 - stop, axis=1)
    comes = np.hstack([np.ones((len(stop), 1)), through[:, :-1]])
    weight = np.append(form.weight.of_ranks(int(rank.max(initial=1))), 0.0)
    return np.asarray((weight[np.minimum(rank, len(weight)) - 1] * stop * comes).sum(axis=1))
