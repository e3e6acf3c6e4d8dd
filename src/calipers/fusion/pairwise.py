"""Fusion by majorities: of two documents, which do more runs put above the other?

A document that a run does not retrieve stands below all that it does; about two that it lacks the run says nothing.
Majorities can form a cycle (a over b, b over c, c over a), so there may be no order that respects them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.fusion.candidates import Ballots
from calipers.lists import Floats, Ints
from calipers.native.scanner import sort_by_votes as sort_by_votes

CELLS_AT_ONCE = 1 << 20  # of a block of pairs: what fits a cache
NOISE = 1e-12  # of a sum of weights that means no majority


def condorcet_order(ballots: Ballots, weight: Floats, start: Ints) -> Floats:
    """CondorcetFuse: the candidates of each query, sorted by majority; n for the first of n, 1 for the last.

    A stable merge sort from the order `start`: a document goes before one that stands above it only where runs of more
    weight want it so. Majorities being no order, another sort may give another result; but in this one each document
    has the majority, or half, over the next.
    """
    return sorted_by_votes(ballots, start, weight, NOISE * weight.sum())


def sorted_by_votes(ballots: Ballots, start: Ints, weight: Floats, *comparator: Any) -> Floats:
    """n for the first of the n candidates of a query, 1 for the last, in the order of a merge sort by votes.

    comparator: what `sort_by_votes` takes after the weights.
    """
    return places(ballots, sort_by_votes(start, ballots.offsets, ballots.rank_rows, weight, *comparator))


def places(ballots: Ballots, order: Ints) -> Floats:
    """n for the first of the n candidates of a query, 1 for the last."""
    score = np.empty(len(order))
    score[order] = np.repeat(ballots.offsets[1:], np.diff(ballots.offsets)) - np.arange(len(order))
    return score


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
