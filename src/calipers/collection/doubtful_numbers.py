"""Columns of numbers that are not what they look like: ranks or distances as scores, ids as grades, thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.lists import Floats, Pool

LARGE = 1000  # grades above it are ids or counts
MANY = 20  # grades from which on ids and counts look different
NEARLY_ALL = 0.9  # share of different grades from which on they are ids
LISTS, LONG = 3, 3  # lists whose scores are 1, 2, ..., and documents of such a list, from which on scores are ranks
OPPOSITE = (
    "ranks and scores order most lists in opposite ways, and scores decide: the largest comes first. If a smaller "
    "score is better, as of distances, read the ranks (rank=NAME in the columns of a table), or negate the scores"
)

_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_BELOW = re.compile(r"[+-]?\d{1,3}")


def notes_on_large_grades(pool: Pool, file: str) -> list[str]:
    """Return a note on grades above 1,000. Refuse grades that are nearly all different whole numbers above 1,000."""
    grade = pool.grade
    if pool.kind != "grades" or grade.max(initial=0) <= LARGE:
        return []
    different = len(np.unique(grade))
    are_ids = len(grade) >= MANY and different >= NEARLY_ALL * len(grade) and grade.min() > LARGE
    if are_ids and (grade == np.rint(grade)).all():
        raise CalipersError(
            f"the grades look like ids: {different:,} different whole numbers above {LARGE:,}, such as {grade[0]:.0f}. "
            "If they are grades, name their column with columns, as grade=NAME, or name the format",
            file=file,
            parameter="columns",
        )
    return [f"{file}: grades go up to {grade.max():,g}; they count as grades, also if they are clicks or ids"]


def are_ranks(group: NDArray[np.integer], score: Floats) -> bool:
    """Return True if scores are 1, 2, ..., n down every list of three or more documents, and three lists are so long.

    group: the list of each score.

    >>> are_ranks(np.repeat([0, 1, 2], 3), np.array([1.0, 2, 3] * 3))
    True
    >>> are_ranks(np.repeat([0, 1, 2], 3), np.array([3.0, 2, 1] * 3))
    False
    """
    if len(score) < LISTS * LONG or score.min() != 1:
        return False
    order = np.argsort(group, kind="stable")
    group = group[order]
    start = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    length = np.diff(np.append(start, len(group)))
    place = np.arange(len(group)) - np.repeat(start, length) + 1
    others = np.add.reduceat(score[order] != place, start)[length >= LONG]
    return len(others) >= LISTS and not others.any()


def are_opposite(group: NDArray[np.integer], rank: Floats, score: Floats) -> bool:
    """Return True if, in most lists of three or more documents, scores never fall and sometimes rise from rank to rank.

    group: the list of each document.

    >>> are_opposite(np.zeros(3, int), np.array([1.0, 2, 3]), np.array([0.1, 0.4, 0.9]))
    True
    """
    order = np.lexsort((rank, group))
    group, rank, score = group[order], rank[order], score[order]
    next_rank = (group[1:] == group[:-1]) & (rank[1:] > rank[:-1])
    rises = np.bincount(group[1:], next_rank & (score[1:] > score[:-1]))
    falls = np.bincount(group[1:], next_rank & (score[1:] < score[:-1]))
    long = np.bincount(group[1:]) >= LONG - 1
    return 2 * int(np.count_nonzero(long & (rises > 0) & (falls == 0))) > int(np.count_nonzero(long))


def thousands(cells: Sequence[str]) -> str | None:
    """Return a warning if points among numbers may separate thousands: the others have no point and are smaller.

    >>> thousands(["1.065", "922"])
    "'1.065' next to '922': the point is read as a decimal point. If it separates thousands, write 1065"
    >>> thousands(["1.065", "0.922"])
    """
    with_point = [cell for cell in cells if "." in cell]
    without = next((cell for cell in cells if _BELOW.fullmatch(cell)), None)
    if not with_point or without is None or not all(map(_THOUSANDS.fullmatch, with_point)):
        return None
    return (
        f"'{with_point[0]}' next to '{without}': the point is read as a decimal point. If it separates thousands, "
        f"write {with_point[0].replace('.', '')}"
    )
