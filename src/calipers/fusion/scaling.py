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
    return (ballots.score - low[ballots.of_list]) / _or_one(high - low)[ballots.of_list]


def z(ballots: Ballots) -> Floats:
    """How many standard deviations above the mean of its list."""
    mean = _sums(ballots, ballots.score) / ballots.length
    apart = ballots.score - mean[ballots.of_list]
    return apart / _or_one(np.sqrt(_sums(ballots, apart**2) / ballots.length))[ballots.of_list]


def rank(ballots: Ballots) -> Floats:
    """By rank alone: 1 for the first document, 1/n for the last of n."""
    return 1.0 - (ballots.rank - 1) / ballots.length[ballots.of_list]


def share(ballots: Ballots) -> Floats:
    """Shares of the whole list: they add up to 1."""
    low, _ = _ends(ballots)
    above = ballots.score - low[ballots.of_list]
    return above / _or_one(_sums(ballots, above))[ballots.of_list]


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
    if how in ("rank", "none"):
        return scores
    return np.where(constant(ballots)[ballots.of_list], 1.0, scores)


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
