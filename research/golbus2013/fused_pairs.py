"""Counts of document pairs in fused lists, and of documents that groups of systems find together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calipers.lists import Floats, Ints
from calipers.questions.fuse import sort_by_votes

NOT_RETRIEVED = 0xFFFF  # rank of a document in a list that does not have it
BITS_IN_BYTE = np.array([byte.bit_count() for byte in range(256)], np.uint8)


class FusionRule(NamedTuple):
    """A fusion by scores, or by votes where `scale` is -1.

    By scores: the sum of the scores of a document on that scale, times its number of lists to this power (-1, 0 or 1).
    By votes: a merge sort that begins with the order `start` (0 ids, 1 Borda counts, 2 grades). `votes` is 0 for no
    votes, 1 for plain votes and 2 for votes with grades; the other fields are those of `sort_by_votes`.
    """

    scale: int
    power: int = 0
    start: int = 0
    votes: int = 0
    needed: float = 0.0
    share: bool = False
    half_stays: bool = False


class RankedLists(NamedTuple):
    """The lists of one query. List i has the entries starts[i] to starts[i + 1], best first."""

    starts: Ints
    document: Ints  # [entry], numbered by descending id
    score: Floats  # [scale, entry]
    grade: Floats  # [document]
    level: Ints  # [document]: the place of its grade among those that count, or -1
    size: Ints  # [level]: judged documents of this level


def fused_pairs(
    lists: RankedLists, groups: Ints, rules: Sequence[FusionRule], shown: Sequence[tuple[int, int]]
) -> Floats:
    """Return [group, rule, shown, 2]: judged pairs of each fused list in the right and in the wrong order.

    A tied pair counts half in each order. A document that is not shown stands below all that are. groups: [group,
    member], places of lists. shown: a number of documents (-1 for all), and a level: the list ends after the last
    document of this level or a higher one.
    """
    found = np.empty((len(groups), len(rules), len(shown), 2))
    for g, group in enumerate(groups.tolist()):
        entries = [slice(int(lists.starts[i]), int(lists.starts[i + 1])) for i in group]
        own, place = np.unique(np.concatenate([lists.document[each] for each in entries]), return_inverse=True)
        rank = np.full((len(own), len(group)), NOT_RETRIEVED, np.uint16)
        borda = np.zeros(len(own))
        begin = 0
        for i, each in enumerate(entries):
            length = each.stop - each.start
            here = place[begin : begin + length]
            rank[here, i] = np.arange(1, length + 1)
            borda[here] += len(own) + 1 + length - 2 * np.arange(1, length + 1)
            begin += length
        count = (rank != NOT_RETRIEVED).sum(axis=1)
        for r, rule in enumerate(rules):
            has_ties = rule.scale >= 0
            if has_ties:
                scores = np.concatenate([lists.score[rule.scale, each] for each in entries])
                summed: Floats = np.bincount(place, scores, len(own)).astype(np.float64, copy=False)
                by: Floats = summed * count if rule.power > 0 else summed / count if rule.power < 0 else summed
            else:
                by = (np.zeros(len(own)), borda, lists.grade[own])[rule.start]
            order = np.argsort(-by, kind="stable")
            if rule.votes:
                worth = lists.grade[own] if rule.votes == 2 else None
                votes = (rank, np.ones(len(group)), rule.needed, worth, rule.share, rule.half_stays)
                order = sort_by_votes(order, np.array([0, len(own)]), *votes)
            tie = -by[order] if has_ties else np.arange(len(own))
            for s, (length, least) in enumerate(shown):
                found[g, r, s] = _ordered_pairs(lists.level[own[order]], tie, lists.size, length, least)
    return found


def _ordered_pairs(level: Ints, tie: NDArray[Any], size: Ints, length: int, least: int) -> tuple[float, float]:
    """Count pairs in the right and in the wrong order in one list of levels; equal values of `tie` are tied."""
    if length >= 0:
        level, tie = level[:length], tie[:length]
    if least > 0:
        kept = tie <= tie[level >= least].max() if (level >= least).any() else np.zeros(len(tie), bool)
        level, tie = level[kept], tie[kept]
    right = wrong = 0.0
    for better in range(1, len(size)):
        for worse in range(better):
            below, above = (np.sort(tie[level == each]) for each in (better, worse))
            before = (np.searchsorted(above, below, "left").sum() + np.searchsorted(above, below, "right").sum()) / 2
            right += len(below) * int(size[worse]) - before
            wrong += before + (int(size[better]) - len(below)) * len(above)
    return right, wrong


def union_sizes(bits: NDArray[np.uint64], groups: Ints) -> NDArray[np.int64]:
    """Return, for each group, the number of bits that at least one of its rows has. Rows are 64-bit words.

    >>> union_sizes(np.array([[3], [6]], np.uint64), np.array([[0, 0], [0, 1]])).tolist()
    [2, 3]
    """
    union = bits[groups[:, 0]]
    for member in groups.T[1:]:
        union |= bits[member]
    return np.asarray(BITS_IN_BYTE[union.view(np.uint8)].sum(axis=1, dtype=np.int64))
