"""Normalisations of the scores of each list. If all scores of a list are equal, all become 1.

minmax   (s - min) / (max - min)
z        (s - mean) / standard deviation
rank     1 - (rank - 1) / number of documents in the list
sum      (s - min) / sum of (s - min)
none     s
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.evaluation.candidates import ScoredCandidates
from calipers.lists import Floats

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
