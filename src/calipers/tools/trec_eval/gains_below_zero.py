"""Gains below 0, such as `-m ndcg.0=-1`: the list pays for its bad documents, and the ideal ranking leaves them out.

Our own measures refuse them, since a measure with losses has neither a worst ranking at 0 nor an ideal one that
holds all documents. Here they are worked out list by list, by trec_eval's definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from calipers.lists import Floats, Lists


@dataclass(frozen=True)
class _List:
    """One list: the gains of its judged documents, and those above 0 of all judged documents, largest first."""

    rank: Floats
    gain: Floats
    length: int
    best: Floats

    @property
    def discounted(self) -> Floats:
        return self.gain / np.log2(self.rank + 1.0)

    @property
    def dcg(self) -> float:
        return float(self.discounted.sum())

    @property
    def ideal(self) -> Floats:
        """The DCG of the ideal ranking down to each depth, from 0 on."""
        return np.concatenate([[0.0], np.cumsum(self.best / np.log2(np.arange(len(self.best)) + 2.0))])

    def ndcg(self) -> float:
        return self.dcg / float(self.ideal[-1])

    def ndcg_at_relevant(self) -> float:
        found = self.gain > 0
        depth = np.minimum(self.rank[found].astype(np.int64), len(self.best))
        at_found = float((np.cumsum(self.discounted)[found] / self.ideal[depth]).sum())
        total = at_found + (len(self.best) - int(found.sum())) * self.ndcg()
        return max(total, 0.0) / len(self.best)

    def ndcg_at_levels(self) -> float:
        depth = np.flatnonzero(np.append(self.best[1:] != self.best[:-1], True)) + 1
        reached = np.concatenate([[0.0], np.cumsum(self.discounted)])[np.searchsorted(self.rank, depth, "right")]
        shares = (reached / self.ideal[depth]).tolist()
        if self.length > len(self.best) + 1:
            shares.append(self.ndcg())
        return float(sum(shares)) / len(shares)

    def gain_behind_ideal(self) -> float:
        cost = np.concatenate([[0.0], np.cumsum(np.maximum(self.best, 1.0))])
        within = np.minimum(self.rank.astype(np.int64), len(self.best))
        behind = cost[within] + (self.rank - within) - np.cumsum(self.gain)
        return float((self.gain / np.log2(2.0 + behind)).sum() / self.best.sum())


_RATIOS: dict[str, Callable[[_List], float]] = {
    "ndcg": _List.ndcg,
    "ndcg_rel": _List.ndcg_at_relevant,
    "Rndcg": _List.ndcg_at_levels,
    "G": _List.gain_behind_ideal,
}


def score_with_losses(root: str, lists: Lists, gains: Mapping[float, float], *, rel: float, p: float) -> Floats:
    """The score of each list, of which ties are broken; 0 where no document has a gain above 0.

    gains: those of some grades; other grades from 0 on are gains themselves.
    """
    grade = lists.pool.grade
    gain = np.maximum(grade, 0.0)
    for level, worth in gains.items():
        gain = np.where(grade == level, worth, gain)
    relevant = lists.pool.relevant(rel)
    best = [
        -np.sort(-each[each > 0]) for each in np.split(gain, lists.pool.offsets[1:-1])
    ]  # of each query, its gains above 0
    largest = float(gain.max(initial=0.0)) or 1.0  # rbp takes shares of it
    scores = np.zeros(len(lists))
    for place, query in enumerate(lists.query.tolist()):
        rows = slice(lists.offsets[place], lists.offsets[place + 1])
        order = np.argsort(lists.first[rows], kind="stable")
        one = _List(
            lists.first[rows][order].astype(np.float64),
            gain[lists.document[rows]][order],
            int(lists.length[place]),
            best[query],
        )
        if root == "dcg":
            scores[place] = one.dcg
        elif root == "ideal_dcg":
            scores[place] = one.ideal[-1]
        elif root == "rbp":
            scores[place] = (one.gain * (1 - p) * p ** (one.rank - 1)).sum() / largest
        elif len(one.best) and (root != "Rndcg" or relevant[query]):
            scores[place] = _RATIOS[root](one)
    return scores
