"""Fusion methods. Each computes a score per candidate from the lists of the runs.

s is a run's normalised score of the document, times the weight of the run. Runs that do not retrieve the document are
left out of the sums.

    combsum    sum of s                          combmin, combmax, combmed   smallest, largest, median s
    combmnz    sum of s * runs that retrieve it  combanz                     sum of s / runs that retrieve it
    borda      sum of (n - rank + 1) for n candidates of the query; candidates that a run lacks share its other points
    rrf        sum of 1 / (k + rank)
    isr        sum of 1 / rank^2 * runs that retrieve it
    rbc        sum of (1 - p) p^(rank - 1)
    condorcet  merge sort by the majority of runs                           copeland   pairs won - pairs lost

Fox & Shaw, Combination of multiple searches, TREC-2 1993 (comb*). Aslam & Montague, Models for metasearch, SIGIR 2001
(borda). Montague & Aslam, Condorcet fusion for improved retrieval, CIKM 2002 (condorcet). Cormack, Clarke & Büttcher,
Reciprocal rank fusion, SIGIR 2009 (rrf). Mourão, Martins & Magalhães, Multimodal medical information retrieval with
unsupervised rank fusion, CMIG 2015 (isr). Bailey, Moffat, Scholer & Thomas, Retrieval consistency in the presence of
query variations, SIGIR 2017 (rbc).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.evaluation.candidates import ScoredCandidates
from calipers.lists import Floats, Ints
from calipers.native.scanner import sort_by_votes as sort_by_votes


@dataclass(frozen=True, eq=False)
class Votes:
    """Input of a fusion method: entries of the runs, weights and parameters."""

    scored: ScoredCandidates
    weight: Floats  # of each run
    normalize: str
    k: float = 60.0  # of rrf
    p: float = 0.8  # of rbc

    @property
    def scores(self) -> Floats:
        """Normalised score of each entry, times the weight of its run."""
        return scaled(self.scored, self.normalize) * self.weights

    @property
    def weights(self) -> Floats:
        """Weight of each entry's run."""
        return self.scored.of_list(self.weight[self.scored.run])

    def summed(self, values: NDArray[np.floating[Any]]) -> Floats:
        """Return the weighted sum per candidate of a value that is given for each entry."""
        return self.scored.sum(values * self.weights)


@dataclass(frozen=True)
class Method:
    """Fusion method with a description."""

    sentence: str
    fuse: Callable[[Votes], Floats] = field(repr=False)
    reads_scores: bool = False  # False: reads ranks only, so that normalisation changes nothing


def _by_candidate(votes: Votes) -> tuple[Floats, Ints, Ints]:
    """Return scores sorted by candidate and ascending score, the start of each candidate, and its number of scores."""
    scored, scores = votes.scored, votes.scores
    order = np.lexsort((scores, scored.candidate))
    start = np.cumsum(scored.count) - scored.count
    return scores[order], start, scored.count


def combsum(votes: Votes) -> Floats:
    return votes.scored.sum(votes.scores)


def combmnz(votes: Votes) -> Floats:
    return combsum(votes) * votes.scored.count


def combanz(votes: Votes) -> Floats:
    return combsum(votes) / votes.scored.count


def combmin(votes: Votes) -> Floats:
    scores, start, _ = _by_candidate(votes)
    return np.asarray(scores[start])


def combmax(votes: Votes) -> Floats:
    scores, start, count = _by_candidate(votes)
    return np.asarray(scores[start + count - 1])


def combmed(votes: Votes) -> Floats:
    scores, start, count = _by_candidate(votes)
    return np.asarray((scores[start + (count - 1) // 2] + scores[start + count // 2]) / 2)


def borda(votes: Votes) -> Floats:
    scored = votes.scored
    candidates = np.diff(scored.offsets)
    # The points that a list does not give to its documents are shared by the candidates that it lacks:
    # (n - length + 1) / 2 points each. Here all candidates get this share, and candidates on the list the difference.
    of_list = (candidates[scored.query] - scored.length + 1) / 2
    points = scored.of_list(candidates[scored.query] + 1 - of_list) - scored.rank
    share = np.bincount(scored.query, of_list * votes.weight[scored.run], len(candidates))
    silent = votes.weight.sum() - np.bincount(scored.query, votes.weight[scored.run], len(candidates))
    share += silent * (candidates + 1) / 2  # runs without the query
    return votes.summed(points) + np.repeat(share, candidates)


def rrf(votes: Votes) -> Floats:
    return votes.summed(1.0 / (votes.k + votes.scored.rank))


def isr(votes: Votes) -> Floats:
    return votes.summed(1.0 / votes.scored.rank.astype(np.float64) ** 2) * votes.scored.count


def rbc(votes: Votes) -> Floats:
    return votes.summed((1.0 - votes.p) * votes.p ** (votes.scored.rank - 1.0))


def condorcet(votes: Votes) -> Floats:
    """Merge sort by majority, starting from the order of borda. Pairs without a majority keep that order."""
    start = votes.scored.ordered(borda(votes))
    return condorcet_order(votes.scored, votes.weight, start)


def copeland(votes: Votes) -> Floats:
    return copeland_score(votes.scored, votes.weight)


METHODS: dict[str, Method] = {
    "combsum": Method("the sum of scores", combsum, True),
    "combmnz": Method("the sum of scores, times the number of runs that retrieve the document", combmnz, True),
    "combanz": Method("the mean score over the runs that retrieve the document", combanz, True),
    "combmin": Method("the smallest score", combmin, True),
    "combmax": Method("the largest score", combmax, True),
    "combmed": Method("the median score", combmed, True),
    "borda": Method("points by rank", borda),
    "condorcet": Method("majorities, sorted", condorcet),
    "copeland": Method("pairs won less pairs lost", copeland),
    "rrf": Method("reciprocal ranks", rrf),
    "rbc": Method("rank-biased centroid", rbc),
    "isr": Method("inverse square ranks", isr),
}


def method(name: str) -> Method:
    """Return the method with this name."""
    known = METHODS.get(name.lower()) if isinstance(name, str) else None
    if known is None:
        raise CalipersError(f"unknown method '{name}'; expected one of {', '.join(METHODS)}")
    return known


Scaling = Callable[[ScoredCandidates], Floats]


def minmax(scored: ScoredCandidates) -> Floats:
    """Scale scores linearly from 1 for the first document of a list to 0 for the last."""
    low, high = _ends(scored)
    above = scored.score - scored.of_list(low)
    above /= scored.of_list(_or_one(high - low))
    return above


def z(scored: ScoredCandidates) -> Floats:
    """Scale scores to standard deviations above the mean of their list."""
    mean = _sums(scored, scored.score) / scored.length
    apart = scored.score - scored.of_list(mean)
    apart /= scored.of_list(_or_one(np.sqrt(_sums(scored, apart**2) / scored.length)))
    return apart


def rank(scored: ScoredCandidates) -> Floats:
    """Replace scores by values from 1 for the first of n documents to 1/n for the last."""
    return 1.0 - (scored.rank - 1) / scored.of_list(scored.length)


def share(scored: ScoredCandidates) -> Floats:
    """Scale the scores above the minimum so that they add up to 1."""
    low, _ = _ends(scored)
    above = scored.score - scored.of_list(low)
    above /= scored.of_list(_or_one(_sums(scored, above)))
    return above


def plain(scored: ScoredCandidates) -> Floats:
    """Return the scores unchanged."""
    return scored.score


SCALINGS: dict[str, Scaling] = {"minmax": minmax, "z": z, "rank": rank, "sum": share, "none": plain}


def scaled(scored: ScoredCandidates, how: str) -> Floats:
    """Return the normalised score of each entry."""
    if how not in SCALINGS:
        raise CalipersError(f"unknown normalisation '{how}'; expected one of {', '.join(SCALINGS)}")
    with np.errstate(over="ignore", invalid="ignore"):
        scores = SCALINGS[how](scored)
    if not np.isfinite(scores).all():
        raise CalipersError(f"scores are too large for the normalisation '{how}'; use the normalisation 'rank'")
    if how not in ("rank", "none") and (same := constant(scored)).any():
        scores[scored.of_list(same)] = 1.0
    return scores


def constant(scored: ScoredCandidates) -> NDArray[np.bool_]:
    """Return True for lists in which all documents have the same score."""
    low, high = _ends(scored)
    return np.asarray(low == high)


def _ends(scored: ScoredCandidates) -> tuple[Floats, Floats]:
    """Return the lowest and the highest score of each list. Lists are sorted by score."""
    return scored.score[scored.starts[1:] - 1], scored.score[scored.starts[:-1]]


def _sums(scored: ScoredCandidates, values: Floats) -> Floats:
    return np.add.reduceat(values, scored.starts[:-1])


def _or_one(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)


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
