"""Measures by trec_eval's own arithmetic, for parameters that ours are not defined for.

Our own measures refuse gains below 0, since a measure with losses has neither a worst ranking at 0 nor an ideal one
that holds all documents, and weights that are infinite or below 0. Here such measures are worked out list by list, by
trec_eval's definitions: the list pays for its bad documents, and the ideal ranking leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calipers.lists import Floats, Lists
from calipers.measures.forms import Counted, Deterministic, Form
from calipers.measures.forms.wrappers import Worthy
from calipers.measures.interpolated import ROUNDINGS, MeanPrecisionFrom, best_precision
from calipers.measures.trec import Utility
from calipers.measures.values import AtLeast
from calipers.record import Record
from calipers.tools.trec_eval.measure_parameters import is_usual
from calipers.tools.trec_eval.request import Request

UNJUDGED, JUDGED_BELOW_ZERO = -1, -2  # what trec_eval codes such documents of a list as
FARTHEST = 2.0**31  # beyond any share or multiple of R


class OwnFormula(Form):
    """A score whose infinite values and NaNs are printed as they are."""

    printed_as_it_is: ClassVar[bool] = True


def printed_as_it_is(form: Form | None) -> bool:
    """Whether NaNs of this form are printed, and not counted as 0."""
    return getattr(form, "printed_as_it_is", False)


def own_formula(
    root: str, parameters: Mapping[str, Any], request: Request, *, rounding: str, given: bool
) -> Form | None:
    """How trec_eval scores where our measure refuses the parameters, or reads them otherwise; None where it does not.

    given: by the call, so that they are part of the measure's name.
    """
    rel = max(request.level, 0)
    if root in _OF_LISTS or root == "rbp":
        gains = parameters.get("gains", ())
        untaken = bool(gains) if root == "rbp" else root == "Rndcg" and (given or rel < 1)
        if untaken or _refused(gains) or not is_usual(parameters):
            return WithGains(root, gains, rel, parameters.get("p", 0.0))
    elif root == "rbp_resid" and given:
        return Residual(parameters["p"])
    elif root == "set_F" and given:
        return OfCounts(WeightedF(parameters["weight"]), rel)
    elif root == "utility" and given:
        return OfCounts(Utility(tuple(parameters["weights"]), request.documents), rel)
    elif root in ("iprec_at_recall", "11pt_avg") and given:
        points = tuple(min(max(point, -1.0), FARTHEST) for point in parameters.get("points") or [parameters["recall"]])
        if not is_usual(parameters) or list(points) != sorted(points):
            return Worthy(Deterministic(PrecisionsInTurn(points, rel, rounding)), AtLeast(rel))
    return None


def _refused(gains: Sequence[tuple[int, float]]) -> bool:
    """Whether our measures refuse gains: some are below 0, are those of unjudged documents, or are given twice."""
    levels = [level for level, _ in gains]
    return any(gain < 0 for _, gain in gains) or min(levels, default=0) < 0 or len(set(levels)) < len(levels)


class OfCounts(OwnFormula):
    """A function of how many documents are retrieved, how many of them relevant, and how many relevant there are."""

    function: Callable[[Floats, Floats, Floats], Floats]
    rel: float

    def score(self, lists: Lists) -> Floats:
        return Counted(self.function, self.rel).score(lists)


class WeightedF(Record):
    """set_F with any weight of recall: (x + 1) P R / (x P + R), 0 where nothing relevant is retrieved."""

    weight: float

    def __call__(self, retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
        precision, recall = found / retrieved, found / relevant
        score = (self.weight + 1.0) * precision * recall / (self.weight * precision + recall)
        return np.asarray(np.where(found > 0, score, 0.0))


class PrecisionsInTurn(MeanPrecisionFrom):
    """The same as trec_eval goes through the points, from the last one to the first while it goes up the list.

    A point that it has passed by then, or that is not above 0, counts as 0, and so do those before it.
    """

    @property
    def plan(self) -> None:
        return None

    def __call__(self, lists: Lists) -> Floats:
        best = best_precision(lists)
        found = np.diff(lists.offsets)
        relevant = lists.pool.relevant(self.rel)[lists.query]
        total, height = np.zeros(len(lists)), found.copy()
        started, passed = np.zeros((2, len(lists)), bool)
        for point in reversed(self.points):
            wanted = ROUNDINGS[self.rounding](np.asarray(point * relevant, np.float64)).astype(np.int64)
            started |= wanted <= found
            passed |= started & ((wanted < 1) | (wanted > height))
            height = np.where(started & ~passed, wanted, height)
            counted = started & (found > 0)
            row = lists.offsets[:-1] + np.where(passed, 1, height) - 1
            total[counted] += best[row[counted]]
        return np.where(relevant > 0, total / len(self.points), np.nan)


class Residual(OwnFormula):
    """rbp_resid with any persistence: the weights of unjudged ranks, and of all ranks below the list."""

    p: float

    def score(self, lists: Lists) -> Floats:
        with np.errstate(all="ignore"):
            return np.array([self._of(each) for each in _codes(lists)])

    def _of(self, codes: Floats) -> float:
        weight = (1.0 - self.p) * self.p ** np.arange(len(codes))
        return float(weight[codes < 0].sum() + self.p ** np.float64(len(codes)))


class WithGains(OwnFormula):
    """A measure of gains, with any gains; other grades from 0 on are gains themselves.

    A grade that is given twice has its smallest gain in the list, and its first one in the ideal ranking. The grade -1
    is that of unjudged documents, and -2 that of documents judged below 0, in the list only.
    """

    root: str
    gains: tuple[tuple[int, float], ...]
    rel: float
    p: float = 0.0

    def score(self, lists: Lists) -> Floats:
        """The score of each list, of which ties are broken."""
        first = dict(reversed(self.gains))
        smallest = {level: min(gain for other, gain in self.gains if other == level) for level in first}
        grade = lists.pool.grade
        ideal = _gain(np.maximum(grade, 0.0), {level: gain for level, gain in first.items() if level >= 0})
        ideal[grade < 0] = 0.0
        best = [-np.sort(-each[each > 0]) for each in np.split(ideal, lists.pool.offsets[1:-1])]
        largest = float(ideal.max(initial=0.0)) or 1.0  # rbp takes shares of it
        relevant = lists.pool.relevant(self.rel)
        scores = np.zeros(len(lists))
        with np.errstate(all="ignore"):
            for place, (query, codes) in enumerate(zip(lists.query.tolist(), _codes(lists), strict=True)):
                one = _List(_gain(codes, {UNJUDGED: 0.0, JUDGED_BELOW_ZERO: 0.0, **smallest}), best[query])
                if self.root == "rbp":
                    weight = (1.0 - self.p) * self.p ** (one.rank - 1.0)
                    scores[place] = np.where(one.gain != 0, one.gain * weight, 0.0).sum() / largest
                elif self.root != "Rndcg" or relevant[query]:
                    scores[place] = _OF_LISTS[self.root](one)
        return scores


def _codes(lists: Lists) -> list[Floats]:
    """Of each list the grades down its ranks, -1 where nobody judged and -2 where a grade is below 0."""
    grade = np.where(lists.grade < 0, JUDGED_BELOW_ZERO, lists.grade)
    codes = [np.full(length, float(UNJUDGED)) for length in lists.length.tolist()]
    for place, each in enumerate(codes):
        rows = slice(lists.offsets[place], lists.offsets[place + 1])
        each[lists.first[rows] - 1] = grade[rows]
    return codes


def _gain(codes: Floats, gains: Mapping[int, float]) -> Floats:
    gain = codes.copy()
    for level, worth in gains.items():
        gain[codes == level] = worth
    return gain


@dataclass(frozen=True)
class _List:
    """One list: the gains down its ranks, and those above 0 of all judged documents, largest first."""

    gain: Floats
    best: Floats

    @property
    def rank(self) -> Floats:
        return np.arange(1.0, len(self.gain) + 1.0)

    @property
    def discounted(self) -> Floats:
        return np.asarray(self.gain / np.log2(self.rank + 1.0))

    @property
    def dcg(self) -> np.float64:
        return np.float64(self.discounted.sum())

    @property
    def ideals(self) -> Floats:
        """The DCG of the ideal ranking down to each depth, from 0 on."""
        return np.concatenate([[0.0], np.cumsum(self.best / np.log2(np.arange(len(self.best)) + 2.0))])

    @property
    def ideal_dcg(self) -> np.float64:
        return np.float64(self.ideals[-1])

    def ndcg(self) -> np.float64:
        return self.dcg / self.ideal_dcg if len(self.best) else np.float64(0.0)

    def ndcg_at_relevant(self) -> np.float64:
        found = self.gain > 0
        depth = np.minimum(self.rank[found].astype(np.int64), len(self.best))
        at_found = (np.cumsum(self.discounted)[found] / self.ideals[depth]).sum()
        total = at_found + (len(self.best) - int(found.sum())) * self.dcg / self.ideal_dcg
        return total / len(self.best) if total > 0 else np.float64(0.0)

    def ndcg_at_levels(self) -> np.float64:
        depth = np.flatnonzero(self.best != np.append(self.best[1:], 0.0)) + 1
        reached = np.append(0.0, np.cumsum(self.discounted))[np.minimum(depth, len(self.gain))]
        total, points = (reached / self.ideals[depth]).sum(), len(depth)
        if len(self.best) and len(self.gain) > len(self.best) + 1:
            total, points = total + self.ndcg(), points + 1
        return np.float64(total) / points

    def gain_behind_ideal(self) -> np.float64:
        if not len(self.best):
            return np.float64(0.0)
        cost = np.append(0.0, np.cumsum(np.maximum(self.best, 1.0)))
        within = np.minimum(self.rank.astype(np.int64), len(self.best))
        behind = 2.0 + cost[within] + (self.rank - within) - np.cumsum(self.gain)
        return np.float64(np.where(self.gain != 0, self.gain / np.log2(behind), 0.0).sum() / self.best.sum())


_OF_LISTS: dict[str, Callable[[_List], np.float64]] = {
    "dcg": lambda one: one.dcg,
    "ideal_dcg": lambda one: one.ideal_dcg,
    "ndcg": _List.ndcg,
    "ndcg_rel": _List.ndcg_at_relevant,
    "Rndcg": _List.ndcg_at_levels,
    "G": _List.gain_behind_ideal,
}
