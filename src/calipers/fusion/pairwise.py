"""Fusion by majorities: of two documents, which do more runs put above the other?

A document that a run does not retrieve stands below all that it does; about two that it lacks the run says nothing.
Majorities can form a cycle (a over b, b over c, c over a), so there may be no order that respects them all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calipers.fusion.candidates import Ballots
from calipers.lists import Floats, Ints

CELLS_AT_ONCE = 1 << 20  # of a block of pairs: what fits a cache
NOISE = 1e-12  # of a sum of weights that means no majority


def condorcet_order(ballots: Ballots, weight: Floats, start: Ints) -> Floats:
    """CondorcetFuse: the candidates of each query, sorted by majority; n for the first of n, 1 for the last.

    A stable merge sort from the order `start`: a document goes before one that stands above it only where runs of more
    weight want it so. Majorities being no order, another sort may give another result; but in this one each document
    has the majority, or half, over the next.
    """
    rank, total = ballots.all_ranks().T.copy(), weight.sum()  # a candidate's ranks side by side

    def second_first(one: Ints, other: Ints) -> NDArray[np.bool_]:
        above, below = rank[one], rank[other]
        sign = (above < below).view(np.int8) - (above > below).view(np.int8)
        return np.asarray(sign @ weight < -NOISE * total)

    order = merge_sorted(start, ballots.offsets, second_first)
    begin, end = ballots.offsets[:-1], ballots.offsets[1:]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    query = np.repeat(np.arange(len(begin)), end - begin)
    return (end[query] - place).astype(np.float64)


def merge_sorted(start: Ints, offsets: Ints, second_first: Callable[[Ints, Ints], NDArray[np.bool_]]) -> Ints:
    """A stable merge sort of each segment by a comparator of rows, all merges of one level a row each at a time."""
    order = start.copy()
    begin, end = offsets[:-1], offsets[1:]
    width = 1
    while width < int((end - begin).max(initial=0)):
        left = np.concatenate([np.arange(b, e, 2 * width) for b, e in zip(begin.tolist(), end.tolist(), strict=True)])
        stop = np.repeat(end, -(-(end - begin) // (2 * width)))
        paired = left + width < stop
        left, stop = left[paired], stop[paired]
        order = _merged(order, second_first, left, left + width, np.minimum(left + 2 * width, stop))
        width *= 2
    return order


def _merged(
    order: Ints, second_first: Callable[[Ints, Ints], NDArray[np.bool_]], left: Ints, middle: Ints, right: Ints
) -> Ints:
    """Merge order[left:middle] with order[middle:right], for all of them."""
    place = np.arange(len(order))
    # Where the right part runs out first, what is left of the left part goes behind all of it.
    rows = np.repeat(left, middle - left) + _counted(middle - left)
    place[rows] += np.repeat(right - middle, middle - left)
    i, j = left.copy(), middle.copy()
    while len(i):
        later = second_first(order[i], order[j])  # the one from the right part comes first
        taken = np.where(later, j, i)
        place[taken] = taken + np.where(later, i - middle, j - middle)
        i += ~later
        j += later
        alive = (i < middle) & (j < right)
        if not alive.all():
            i, j, middle, right = i[alive], j[alive], middle[alive], right[alive]
    fresh = np.empty_like(order)
    fresh[place] = order
    return fresh


def _counted(sizes: Ints) -> Ints:
    """0, 1, ... for each size, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


def copeland_score(ballots: Ballots, weight: Floats) -> Floats:
    """How many other candidates of the query each beats, less those that beat it. Quadratic in the candidates."""
    rank = ballots.all_ranks()
    score = np.zeros(len(ballots))
    uniform = bool((weight == weight[0]).all() and weight[0] > 0)
    for start, end in zip(ballots.offsets[:-1].tolist(), ballots.offsets[1:].tolist(), strict=True):
        here = np.ascontiguousarray(rank[:, start:end])
        size = end - start
        step = max(1, CELLS_AT_ONCE // max(size, 1))
        for a in range(0, size, step):
            rows = slice(a, min(a + step, size))
            votes = np.zeros((rows.stop - a, size - a), np.int16 if uniform else np.float64)
            for each, counts in zip(here, weight.tolist(), strict=True):
                above, below = each[rows, None] < each[None, a:], each[rows, None] > each[None, a:]
                if uniform:
                    votes += above
                    votes -= below
                else:
                    votes += counts * (above.view(np.int8) - below.view(np.int8))
            won = np.sign(votes) if uniform else np.sign(votes) * (np.abs(votes) > NOISE * weight.sum())
            # Pairs inside the rows are met from both sides, the others from one.
            score[start + a : start + rows.stop] += won.sum(axis=1)
            score[start + rows.stop : end] -= won[:, rows.stop - a :].sum(axis=0)
    return score
