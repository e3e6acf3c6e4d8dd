"""Conversion of scores to arrays, so that functions of arrays also take `Scores` of one measure."""

from __future__ import annotations

import numpy as np

from calipers.collection.frames import is_frame
from calipers.errors import CalipersError, UnknownName
from calipers.lists import Floats
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.scores import Scores
from calipers.results.tables import as_number
from calipers.support.checks import described


def matrix(scores: ScoresLike) -> Floats:
    """Return the scores of one measure as an array of system x query."""
    if is_frame(scores):
        scores = as_scores(scores)
    values = _one_measure(scores).values[0] if isinstance(scores, Scores) else _as_array(scores)
    if values.ndim != 2:
        raise CalipersError(f"expected scores of system x query, found an array of shape {values.shape}")
    return values


def system_means(scores: Scores) -> dict[str, float]:
    """Return the mean of each system, from scores under a single measure.

    >>> import calipers as cal
    >>> system_means(cal.as_scores([[0.25, 0.75], [0.0, 0.5]], systems=["new", "old"]))
    {'new': 0.5, 'old': 0.25}
    """
    values = _one_measure(scores).mean()[scores.measures[0]]
    return dict(zip(scores.systems, map(as_number, values), strict=True))


def paired_values(x: ScoresLike, y: ScoresLike) -> tuple[Floats, Floats]:
    """Return one value per system from x and from y. Of Scores, these are the means, paired by the systems' names."""
    if isinstance(x, Scores) and isinstance(y, Scores):
        first, second = system_means(x), system_means(y)
        if lacking := sorted({*first} ^ {*second}):
            raise UnknownName(f"the system '{lacking[0]}' is in only one of the two scores")
        return np.array([*first.values()]), np.array([second[system] for system in first])
    return one_each(x), one_each(y)


def one_each(scores: ScoresLike) -> Floats:
    """Return one value per system. For Scores, these are the means."""
    if isinstance(scores, Scores):
        return np.array([*system_means(scores).values()])
    return _as_array(scores)


def _as_array(scores: ScoresLike) -> Floats:
    try:
        return np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise CalipersError(
            f"expected Scores, as `evaluate` returns them, or numbers; found {described(scores)}"
        ) from None


def _one_measure(scores: Scores) -> Scores:
    if len(scores.measures) != 1:
        raise CalipersError(
            f"expected scores of one measure, found {', '.join(scores.measures)}: choose one with of_measures"
        )
    return scores
