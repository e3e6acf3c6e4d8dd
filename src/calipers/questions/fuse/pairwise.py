"""Fusion by majority: a document goes above another if more runs rank it higher.

A document that a run does not retrieve ranks below all documents of that run. A run that retrieves neither of two
documents does not vote on them. Majorities can form a cycle (a over b, b over c, c over a). Then no order respects all
of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.evaluation.candidates import ScoredCandidates
from calipers.lists import Floats, Ints
from calipers.native.scanner import sort_by_votes as sort_by_votes

CELLS_AT_ONCE = 1 << 20  # pairs per block, so that a block fits into the cache
NOISE = 1e-12  # a smaller difference, as a share of the sum of weights, is no majority


def condorcet_order(scored: ScoredCandidates, weight: Floats, start: Ints) -> Floats:
    """Sort the candidates of each query by majority (CondorcetFuse). Return n for the first of n, 1 for the last.

    This is a stable merge sort that starts from the order `start`. Two documents change places only if the runs that
    want this have more weight than the runs that do not. Majorities can form cycles, so another sort algorithm may give
    another result. In this result, at least half of the weight supports each document over the next.
    """
    return sorted_by_votes(scored, start, weight, NOISE * weight.sum())


def sorted_by_votes(scored: ScoredCandidates, start: Ints, weight: Floats, *comparator: Any) -> Floats:
    """Merge sort the candidates of each query by votes. Return n for the first of n candidates, 1 for the last.

    comparator: arguments of `sort_by_votes` after the weights.
    """
    return places(scored, sort_by_votes(start, scored.offsets, scored.rank_rows, weight, *comparator))


def places(scored: ScoredCandidates, order: Ints) -> Floats:
    """Return n for the first of the n candidates of a query in this order, and 1 for the last."""
    score = np.empty(len(order))
    score[order] = np.repeat(scored.offsets[1:], np.diff(scored.offsets)) - np.arange(len(order))
    return score


def copeland_score(scored: ScoredCandidates, weight: Floats) -> Floats:
    """Return how many candidates of the query each candidate beats, minus how many beat it. Takes quadratic time."""
    rank = scored.all_ranks()
    score = np.zeros(len(scored))
    uniform = bool((weight == weight[0]).all() and weight[0] > 0)
    for start, end in zip(scored.offsets[:-1].tolist(), scored.offsets[1:].tolist(), strict=True):
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
            # Pairs inside the block are counted from both sides, other pairs from one side.
            score[start + a : start + rows.stop] += won.sum(axis=1)
            score[start + rows.stop : end] -= won[:, rows.stop - a :].sum(axis=0)
    return score
