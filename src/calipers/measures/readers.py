"""The model of the reader behind a measure: C, W and L of the ranks of one list, and the readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Pool
from calipers.measures.browsing import DEPTH, READER_DEPTH, browser_of
from calipers.measures.forms.browsing import READINGS, Read, staged, tallied
from calipers.measures.grammar import parse
from calipers.measures.registry import Measure
from calipers.support.checks import described


@dataclass(frozen=True, eq=False)
class UserModel:
    """The reader of a measure on one list. C, W and L have one number per rank.

    >>> model = user_model("RBP(p=0.5)", [1, 0, 1])
    >>> model.C[:2], model.W[:3], model.readings["ED"]
    (array([0.5, 0.5]), array([0.5  , 0.25 , 0.125]), 2.0)
    """

    measure: Measure
    gain: Floats
    cost: Floats
    C: Floats  # the probability to go on from the rank
    W: Floats  # the share of the attention of the rank
    L: Floats  # the probability that the rank is the last one
    readings: dict[str, float]  # EU, ETU, EC, ETC and ED


def user_model(
    measure: str | Measure, grades: Sequence[float], *, costs: Sequence[float] | None = None, depth: int = DEPTH
) -> UserModel:
    """Return how the reader of a measure reads a list of documents with these grades.

    measure: a measure with decreasing weights of ranks, or with a probability to go on from each rank: RBP, INST, P@10,
        nDCG@10, AP, RR, BPM, IFT-C1 ...
    costs: the costs of the documents, 1 each by default.
    depth: the number of ranks that are followed. Ranks below the list have no gain and cost 1.

    >>> user_model("RR", [0, 1, 0]).L[:3]
    array([0., 1., 0.])
    """
    parsed = measure if isinstance(measure, Measure) else parse(measure)
    try:
        grade = np.asarray(grades, np.float64)
    except (TypeError, ValueError):
        raise CalipersError(f"grades: expected numbers, one for each rank, found {described(grades)}") from None
    if grade.ndim != 1 or not len(grade) or not np.isfinite(grade).all():
        raise CalipersError("the grades of a list must be finite numbers, one for each rank")
    paid = np.ones(len(grade)) if costs is None else np.asarray(costs, np.float64)
    if paid.shape != grade.shape or not (np.isfinite(paid) & (paid > 0)).all():
        raise CalipersError("costs must be numbers above 0, one for each grade")
    bound = parsed.bind(Pool(np.array([0, len(grade)]), grade))
    READER_DEPTH.check("user_model", "depth", depth)
    browser, ranks = browser_of(bound), depth
    gain, cost = np.zeros((1, ranks)), np.ones((1, ranks))
    shown = min(len(grade), ranks)
    gain[0, :shown], cost[0, :shown] = browser.value(grade)[:shown], paid[:shown]
    at = staged(gain, cost)
    goes_on = Read(browser, "ED", ranks).goes_on(at)
    seen = np.cumprod(np.append(1.0, goes_on[0, :-1]))
    readings = {what: float(tallied(what, at, goes_on).value(what)[0]) for what in READINGS}
    return UserModel(bound, gain[0], cost[0], goes_on[0], seen / seen.sum(), seen * (1.0 - goes_on[0]), readings)
