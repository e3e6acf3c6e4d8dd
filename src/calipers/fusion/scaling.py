"""Scores of different runs on one scale, list by list. A list in which all scores are the same gets 1 throughout.

minmax   (s - min) / (max - min)
z        (s - mean) / standard deviation
rank     1 - (rank - 1) / documents of the list
sum      (s - min) / sum of (s - min)
none     s
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.fusion.candidates import Ballots
from calipers.lists import Floats

Scaling = Callable[[Ballots], Floats]


def minmax(ballots: Ballots) -> Floats:
    """From 1 for the first document of a list to 0 for the last."""
    low, high = _ends(ballots)
    above = ballots.score - ballots.of_list(low)
    above /= ballots.of_list(_or_one(high - low))
    return above


def z(ballots: Ballots) -> Floats:
    """How many standard deviations above the mean of its list."""
    mean = _sums(ballots, ballots.score) / ballots.length
    apart = ballots.score - ballots.of_list(mean)
    apart /= ballots.of_list(_or_one(np.sqrt(_sums(ballots, apart**2) / ballots.length)))
    return apart


def rank(ballots: Ballots) -> Floats:
    """By rank alone: 1 for the first document, 1/n for the last of n."""
    return 1.0 - (ballots.rank - 1) / ballots.of_list(ballots.length)


def share(ballots: Ballots) -> Floats:
    """Shares of the whole list: they add up to 1."""
    low, _ = _ends(ballots)
    above = ballots.score - ballots.of_list(low)
    above /= ballots.of_list(_or_one(_sums(ballots, above)))
    return above


def plain(ballots: Ballots) -> Floats:
    """As they are."""
    return ballots.score


SCALINGS: dict[str, Scaling] = {"minmax": minmax, "z": z, "rank": rank, "sum": share, "none": plain}


def scaled(ballots: Ballots, how: str) -> Floats:
    """The score of each ballot on one scale."""
    if how not in SCALINGS:
        raise CalipersError(f"unknown normalisation '{how}'; expected one of {', '.join(SCALINGS)}")
    with np.errstate(over="ignore", invalid="ignore"):
        scores = SCALINGS[how](ballots)
    if not np.isfinite(scores).all():
        raise CalipersError(f"scores are too large for the normalisation '{how}'; use rank")
    if how not in ("rank", "none") and (same := constant(ballots)).any():
        scores[ballots.of_list(same)] = 1.0
    return scores


def constant(ballots: Ballots) -> NDArray[np.bool_]:
    """The lists in which all documents have one score."""
    low, high = _ends(ballots)
    return np.asarray(low == high)


def _ends(ballots: Ballots) -> tuple[Floats, Floats]:
    """The lowest and the highest score of each list: they are sorted."""
    return ballots.score[ballots.starts[1:] - 1], ballots.score[ballots.starts[:-1]]


def _sums(ballots: Ballots, values: Floats) -> Floats:
    return np.add.reduceat(values, ballots.starts[:-1])


def _or_one(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)
