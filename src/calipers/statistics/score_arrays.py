"""Conversion of scores to arrays, so that functions of arrays also take `Scores` of one measure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calipers.collection.frames import is_frame
from calipers.errors import CalipersError, UnknownName
from calipers.lists import Floats, Ints
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.scores import Reason, Scores
from calipers.results.tables import as_number
from calipers.support.checks import check_type, described
from calipers.support.plurals import counted


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


def ranks_of_sorted(ascending: Floats) -> tuple[Floats, Floats]:
    """Return the rank of each value in its ascending row, and the number of values that share the rank.

    Equal values have their mean rank.

    >>> ranks_of_sorted(np.array([[0.1, 0.2, 0.2]]))
    (array([[1. , 2.5, 2.5]]), array([[1., 2., 2.]]))
    """
    width = ascending.shape[1]
    place = np.arange(1, width + 1)
    starts = np.ones(ascending.shape, bool)
    starts[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    ends = np.ones(ascending.shape, bool)
    ends[:, :-1] = starts[:, 1:]
    last = np.minimum.accumulate(np.where(ends, place, width + 1)[:, ::-1], axis=1)[:, ::-1]
    return (first + last) / 2, (last - first + 1).astype(np.float64)


def descending_ranks(values: Floats) -> Floats:
    """Return the rank of each value in its row. The largest value has rank 1, and undefined values are last.

    >>> descending_ranks(np.array([[0.2, 0.5, 0.2, np.nan]]))
    array([[2.5, 1. , 2.5, 4. ]])
    """
    turned = -np.nan_to_num(values, nan=-np.inf)
    order = np.argsort(turned, axis=1)
    rank = np.empty(values.shape)
    np.put_along_axis(rank, order, ranks_of_sorted(np.take_along_axis(turned, order, axis=1))[0], axis=1)
    return rank


def times_drawn(drawn: Ints, things: int) -> Floats:
    """Count how often each thing occurs in each row of draws.

    >>> times_drawn(np.array([[0, 0, 2]]), 3)
    array([[2., 0., 1.]])
    """
    row = np.arange(len(drawn))[:, None] * things
    return np.bincount((drawn + row).ravel(), minlength=len(drawn) * things).reshape(-1, things).astype(np.float64)


NO_SPREAD = 1e-12  # standard deviation of scores that are the same


def standardise(scores: Scores, reference: Scores | None = None, *, z: bool = False) -> Scores:
    """Return scores standardised by the mean and standard deviation of reference systems on each query.

    reference: scores of the reference systems under the same measures; without it, the systems themselves.
    z: leave out the normal distribution and return (score - mean) / sd.

    Measures are named S(AP), or Z(AP) with z. A query is skipped if all reference systems have the same score, or if
    the reference lacks it.

    >>> from calipers import as_scores
    >>> scores = as_scores([[0.2], [0.4], [0.6]], ["a", "b", "c"], ["q"], "DCG")
    >>> standardise(scores).values.round(4).tolist()
    [[[0.1587], [0.5], [0.8413]]]
    """
    from scipy.special import ndtr

    known = scores if reference is None else reference
    for what, given in (("scores", scores), ("reference", known)):
        check_type(what, given, Scores, "Scores, as `evaluate` returns them")
    if len(known.systems) < 2:
        raise CalipersError("scores are standardised by at least two reference systems")
    if lacking := [name for name in scores.measures if name not in known.measures]:
        raise UnknownName(f"the reference systems have no scores under {lacking[0]}")
    place = {query: i for i, query in enumerate(known.queries)}
    if not place.keys() & set(scores.queries):
        raise CalipersError("the reference systems have no query in common with the scores")
    values = np.full(scores.values.shape, np.nan)
    own = [q for q, query in enumerate(scores.queries) if query in place]
    theirs = [place[scores.queries[q]] for q in own]
    for m, name in enumerate(scores.measures):
        of_reference = known[name][:, theirs]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean, spread = of_reference.mean(axis=0), of_reference.std(axis=0, ddof=1)
            found = np.where(spread > NO_SPREAD, (scores.values[m][:, own] - mean) / spread, np.nan)
        values[m][:, own] = found if z else ndtr(found)
    fresh = np.isnan(values) & ~np.isnan(scores.values)
    skipped = int(fresh.any(axis=(0, 1)).sum())
    note = f"{counted(skipped, 'query')} without a spread of reference scores; skipped"
    return replace(
        scores,
        measures=tuple(f"{'Z' if z else 'S'}({name})" for name in scores.measures),
        values=values,
        reasons=np.where(fresh, np.uint8(Reason.DEGENERATE), scores.reasons),
        definitions=(),
        coverage=None,
        notes=(*scores.notes, note) if skipped else scores.notes,
    )
