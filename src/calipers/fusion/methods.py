"""Ways to fuse: a score for each candidate from what the runs say about it. s is a run's normalised score of the
document, times the weight of the run; a run that does not retrieve the document says nothing.

    combsum    sum of s                          combmin, combmax, combmed   smallest, largest, median s
    combmnz    sum of s * runs that retrieve it  combanz                     sum of s / runs that retrieve it
    borda      sum of (n - rank + 1), n being the candidates of the query; what a run lacks shares what it has left
    rrf        sum of 1 / (k + rank)
    isr        sum of 1 / rank^2 * runs that retrieve it
    rbc        sum of (1 - p) p^(rank - 1)
    condorcet  an order in which neighbours stand as more runs have them    copeland   pairs won - pairs lost

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
from calipers.fusion.candidates import Ballots
from calipers.fusion.pairwise import condorcet_order, copeland_score
from calipers.fusion.scaling import scaled
from calipers.lists import Floats, Ints


@dataclass(frozen=True, eq=False)
class Votes:
    """Ballots with what a method may want to know of them."""

    ballots: Ballots
    weight: Floats  # of each run
    normalize: str
    k: float = 60.0  # of rrf
    p: float = 0.8  # of rbc

    @property
    def scores(self) -> Floats:
        """Of each ballot: its normalised score, times the weight of its run."""
        return scaled(self.ballots, self.normalize) * self.weights

    @property
    def weights(self) -> Floats:
        """Of each ballot: the weight of its run."""
        return self.ballots.of_list(self.weight[self.ballots.run])

    def summed(self, of_rank: NDArray[np.floating[Any]]) -> Floats:
        """The weighted sum over runs of something that a ballot's rank decides."""
        return self.ballots.sum(of_rank * self.weights)


@dataclass(frozen=True)
class Method:
    """A way to fuse."""

    sentence: str
    fuse: Callable[[Votes], Floats] = field(repr=False)
    reads_scores: bool = False  # otherwise ranks alone, and a normalisation changes nothing


def _by_candidate(votes: Votes) -> tuple[Floats, Ints, Ints]:
    """The scores of each candidate side by side, ascending; where each candidate starts, and how many it has."""
    ballots, scores = votes.ballots, votes.scores
    order = np.lexsort((scores, ballots.candidate))
    start = np.cumsum(ballots.count) - ballots.count
    return scores[order], start, ballots.count


def combsum(votes: Votes) -> Floats:
    return votes.ballots.sum(votes.scores)


def combmnz(votes: Votes) -> Floats:
    return combsum(votes) * votes.ballots.count


def combanz(votes: Votes) -> Floats:
    return combsum(votes) / votes.ballots.count


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
    ballots = votes.ballots
    candidates = np.diff(ballots.offsets)
    # What a list leaves over goes to the candidates that it lacks, in equal parts: (n - length + 1) / 2 each. All
    # candidates are given that, and those that the list has the difference.
    of_list = (candidates[ballots.query] - ballots.length + 1) / 2
    points = ballots.of_list(candidates[ballots.query] + 1 - of_list) - ballots.rank
    share = np.bincount(ballots.query, of_list * votes.weight[ballots.run], len(candidates))
    silent = votes.weight.sum() - np.bincount(ballots.query, votes.weight[ballots.run], len(candidates))
    share += silent * (candidates + 1) / 2  # runs without the query
    return votes.summed(points) + np.repeat(share, candidates)


def rrf(votes: Votes) -> Floats:
    return votes.summed(1.0 / (votes.k + votes.ballots.rank))


def isr(votes: Votes) -> Floats:
    return votes.summed(1.0 / votes.ballots.rank.astype(np.float64) ** 2) * votes.ballots.count


def rbc(votes: Votes) -> Floats:
    return votes.summed((1.0 - votes.p) * votes.p ** (votes.ballots.rank - 1.0))


def condorcet(votes: Votes) -> Floats:
    """Merge sort from the order of borda; where as many runs say one thing as the other, that order stays."""
    start = votes.ballots.ordered(borda(votes))
    return condorcet_order(votes.ballots, votes.weight, start)


def copeland(votes: Votes) -> Floats:
    return copeland_score(votes.ballots, votes.weight)


METHODS: dict[str, Method] = {
    "combsum": Method("the sum of scores", combsum, True),
    "combmnz": Method("the sum of scores, times the runs that retrieve the document", combmnz, True),
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
    """The method of this name."""
    known = METHODS.get(name.lower()) if isinstance(name, str) else None
    if known is None:
        raise CalipersError(f"unknown method '{name}'; expected one of {', '.join(METHODS)}")
    return known
