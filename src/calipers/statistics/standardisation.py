"""Standardised scores: the distance of a score from the mean of reference systems on the same query.

    z = (score - mean) / sd        over the reference systems, for each query and measure
    standardised = Phi(z)          the share of a normal distribution below z: from 0 to 1

The mean score over queries then gives every query the same weight, also under measures without a bound such as DCG.

Webber, Moffat & Zobel, Score standardization for inter-collection comparison of retrieval systems, SIGIR 2008.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calipers.errors import CalipersError, UnknownName
from calipers.results.scores import Reason, Scores
from calipers.support.checks import check_type
from calipers.support.plurals import counted

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
