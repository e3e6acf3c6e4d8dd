"""Searches for counterexamples: for each property the smallest state that breaks it, or none.

Undefined states are skipped. Scores that differ by less than rounding count as the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists
from calipers.questions.properties.examined_measures import Subject
from calipers.questions.properties.small_rankings import Indices, Space, lists_of

Ranking = tuple[float | None, ...]  # grades by rank; None is an unjudged document
Bools = NDArray[np.bool_]

NOISE = 1e-12
SLACK = 1e-9  # of sums over thousands of documents, by which a bound is not exceeded
LONGEST = 12  # lists of 2^0 to 2^12 perfect documents are tried as well


@dataclass(frozen=True)
class State:
    """A ranking at a cutoff, and its score; a cutoff of None is the whole list."""

    ranking: Ranking
    k: int | None
    score: float


@dataclass(frozen=True)
class Finding:
    """Two states that break a property, or one that does alone; `same` where a score stays that should rise."""

    before: State
    after: State | None = None
    same: bool = False


@dataclass(frozen=True)
class Scored:
    """A measure's scores of every state of a space."""

    subject: Subject
    space: Space
    scores: Floats  # [k - 1, ranking]
    perfect: Floats  # of 2^0, 2^1, ... perfect documents, all of them shown

    def state(self, k: int, row: int) -> State:
        return State(self.space.ranking(row), k, float(self.scores[k - 1, row]))


def scored(subject: Subject, space: Space, perfect: Floats | None = None) -> Scored:
    """Return all scores of a measure. `perfect` are its scores of perfect lists, if they are known."""
    if perfect is None:
        perfect = perfect_lists(subject, space.grades[-1])
    return Scored(subject, space, subject.scores(space), perfect)


def tells_apart(many: Scored) -> bool:
    """Return True if the measure distinguishes a middle grade from both the lowest and the highest grade.

    A measure with a relevance level distinguishes only two kinds of documents. It is examined on two grades.
    """
    levels = len(many.space.grades)
    for level in range(1, levels - 1):
        for instead in (0, levels - 1):
            if _same(many.scores, many.scores[:, many.space.without(level, instead)]).all():
                break
        else:
            return True
    return False


# -- the seven properties ----------------------------------------------------------------------------


def bounded(many: Scored, bound: float) -> Finding | None:
    """Search for a score above the bound or below minus the bound, at any k and R."""
    for scores in (many.scores, -many.scores):
        found = _first((scores > bound * (1 + SLACK)).T)
        if found is not None:
            return Finding(many.state(found[1] + 1, found[0]))
    return None


def monotone(many: Scored, bound: float) -> Finding | None:
    """Search for a ranking that scores less if one more of its documents is shown."""
    falls = _below(many.scores[1:], many.scores[:-1])
    found = _first(falls.T)
    if found is None:
        return None
    row, k = found[0], found[1] + 1
    return Finding(many.state(k, row), many.state(k + 1, row))


def convergent(many: Scored, bound: float) -> Finding | None:
    """Search for a swap of a better document outside the top k with a worse one inside that raises no score."""
    return _swaps(many, lambda i, j, k: i <= k < j)


def top_weighted(many: Scored, bound: float) -> Finding | None:
    """Search for a swap of a better document in the top k with a worse one above it that raises no score."""
    return _swaps(many, lambda i, j, k: j <= k)


def localized(many: Scored, bound: float) -> Finding | None:
    """Search for two rankings with the same top k and different scores, or with only one of the scores defined."""
    references = [_references(many, k) for k in range(1, many.space.depth + 1)]
    reference = np.stack(references)
    against = np.take_along_axis(many.scores, reference, axis=1)
    differs = ~_same(many.scores, against)
    both = ~np.isnan(many.scores) & ~np.isnan(against)
    found = _first((differs & both).T)
    if found is None:
        found = _first((differs & many.space.possible).T)
    if found is None:
        return None
    row, k = found[0], found[1] + 1
    return Finding(many.state(k, int(reference[k - 1, row])), many.state(k, row))


def complete(many: Scored, bound: float) -> Finding | None:
    """Search for a ranking without relevant documents whose score is undefined."""
    nothing = (many.space.counts[:, 1:].sum(axis=1) == 0) & many.space.possible
    found = _first((nothing & np.isnan(many.scores)).T)
    return None if found is None else Finding(many.state(found[1] + 1, found[0]))


def realizable(many: Scored, bound: float) -> Finding | None:
    """Search for a k and a collection with a perfect document in which no ranking has the largest possible score."""
    best, row = best_rankings(many)
    largest = _nearly(largest_score(many))
    has_perfect = many.space.counts[many.space.representative, -1] > 0
    short = _below(best, np.full_like(best, largest)) & has_perfect
    found = _first(short.T)
    if found is None:
        return None
    collection, k = found[0], found[1] + 1
    before = many.state(k, int(row[k - 1, collection]))
    better = _first(_below(np.full_like(many.scores, before.score), many.scores).T)
    if better is None:
        return Finding(before, _perfect_state(many, int(np.nanargmax(many.perfect))))
    return Finding(before, many.state(better[1] + 1, better[0]))


PROPERTIES: dict[str, Callable[[Scored, float], Finding | None]] = {
    "bounded": bounded,
    "monotone": monotone,
    "convergent": convergent,
    "top-weighted": top_weighted,
    "localized": localized,
    "complete": complete,
    "realizable": realizable,
}


# -- two more ----------------------------------------------------------------------------------------


def tie_invariant(many: Scored, bound: float) -> Finding | None:
    """Search for tied documents whose order changes the score. Measures without a cutoff are tried on whole lists."""
    whole = many.subject.whole is not None
    for k, scores in _whole_or_cut(many):
        for swap in many.space.swaps:
            if swap.j != swap.i + 1:
                continue
            changes = swap.applies & ~_same(scores, scores[swap.result])
            if changes.any():
                row = int(np.flatnonzero(changes)[0])
                shown = None if whole else k
                after = int(swap.result[row])
                return Finding(
                    State(many.space.ranking(row), shown, float(scores[row])),
                    State(many.space.ranking(after), shown, float(scores[after])),
                )
    return None


def only_across_the_cutoff(many: Scored) -> bool:
    """Return True if only ties across the cutoff change the score, and ties inside the top k do not."""
    return all(
        _same(scores[swap.applies], scores[swap.result][swap.applies]).all()
        for k, scores in enumerate(many.scores, start=1)
        for swap in many.space.swaps
        if swap.j <= k
    )


def insensitive_to_unjudged(many: Scored, bound: float) -> Finding | None:
    """Leaving unjudged documents out changes nothing. On whole lists where the measure does without a cutoff."""
    subject = many.subject
    for missing in (False, True) if subject.whole is not None else (False,):
        rankings, with_gaps, without = _with_unjudged(many.space.grades, missing)
        for k in [None] if subject.whole is not None else range(1, many.space.depth + 1):
            kept = subject.score(with_gaps, k)
            left_out = subject.score(without, k)
            found = np.flatnonzero(~_same(kept, left_out))
            if len(found):
                row = int(found[0])
                ranking = rankings[row]
                condensed = tuple(grade for grade in ranking if grade is not None)
                shown = [len(each) - 1 if missing else k for each in (ranking, condensed)]
                return Finding(
                    State(ranking, shown[0], float(kept[row])), State(condensed, shown[1], float(left_out[row]))
                )
    return None


EXTRA: dict[str, Callable[[Scored, float], Finding | None]] = {
    "tie-invariant": tie_invariant,
    "insensitive-to-unjudged": insensitive_to_unjudged,
}


# -- the largest scores ------------------------------------------------------------------------------


def perfect_lists(subject: Subject, top: float) -> Floats:
    """Return the scores of lists of 2^0 to 2^12 perfect documents. NaN means that a population is too small."""
    lengths = [2**power for power in range(LONGEST + 1)]
    if not subject.cuts:
        return subject.score(lists_of([(top,) * k for k in lengths]), None)
    scores = np.full(len(lengths), np.nan)
    for power, k in enumerate(lengths):
        try:
            scores[power] = subject.score(lists_of([(top,) * k]), k)[0]
        except CalipersError:
            if power == 0:
                raise
            break
    return scores


def beyond(many: Scored, bound: float) -> Finding | None:
    """Return the shortest list of perfect documents that scores more than the bound."""
    found = np.flatnonzero(many.perfect > bound * (1 + SLACK))
    return Finding(_perfect_state(many, int(found[0]))) if len(found) else None


def largest_score(many: Scored) -> float:
    return float(np.nanmax(np.append(many.scores, many.perfect)))


def _nearly(largest: float) -> float:
    return largest - abs(largest) * SLACK


def _perfect_state(many: Scored, power: int) -> State:
    return State((many.space.grades[-1],) * 2**power, 2**power, float(many.perfect[power]))


def best_rankings(many: Scored) -> tuple[Floats, Indices]:
    """Return the largest score of any ranking, [k - 1, collection], and the ranking. NaN means that all are undefined.

    If several rankings have the largest score, the one with the better documents first is returned.
    """
    collections = len(many.space.representative)
    best = np.full((many.space.depth, collections), np.nan)
    row = np.zeros((many.space.depth, collections), np.int64)
    for k in range(many.space.depth):
        scores = np.where(np.isnan(many.scores[k]), -np.inf, many.scores[k])
        order = np.lexsort((np.arange(len(scores)), np.round(scores, 12), many.space.collection))
        last = np.searchsorted(many.space.collection[order], np.arange(collections), side="right") - 1
        row[k] = order[last]
        best[k] = scores[row[k]]
    best[np.isneginf(best)] = np.nan
    return best, row


def attained(many: Scored) -> tuple[Bools, Indices, Indices]:
    """Return for each k and collection with a perfect document: True if a ranking has the largest score, k, and R."""
    best, _ = best_rankings(many)
    relevant = many.space.counts[many.space.representative, 1:].sum(axis=1)
    chosen = ~np.isnan(best) & (many.space.counts[many.space.representative, -1] > 0)
    k = np.broadcast_to(np.arange(1, many.space.depth + 1)[:, None], best.shape)
    reached = best >= _nearly(largest_score(many))
    return reached[chosen], k[chosen], np.broadcast_to(relevant, best.shape)[chosen]


def ever_falls(many: Scored) -> bool:
    """Return True if a swap that moves a better document up lowers some score."""
    return any(
        _below(scores[swap.result], scores)[swap.applies].any()
        for k, scores in enumerate(many.scores, start=1)
        for swap in many.space.swaps
        if swap.i <= k
    )


# -- pieces ------------------------------------------------------------------------------------------


def _swaps(many: Scored, concerned: Callable[[int, int, int], bool]) -> Finding | None:
    """Return the first swap that should raise the score and does not, in the order of ranking, k and ranks."""
    first: tuple[int, int, int, int] | None = None
    rise: tuple[int, bool] = (0, False)
    for k, scores in enumerate(many.scores, start=1):
        for swap in many.space.swaps:
            if not concerned(swap.i, swap.j, k):
                continue
            after = scores[swap.result]
            fails = swap.applies & ~np.isnan(scores) & ~np.isnan(after) & ~_below(scores, after)
            rows = np.flatnonzero(fails)
            if len(rows) and (first is None or (int(rows[0]), k, swap.i, swap.j) < first):
                row = int(rows[0])
                first = (row, k, swap.i, swap.j)
                rise = (int(swap.result[row]), bool(_same(scores[row], after[row])))
    if first is None:
        return None
    return Finding(many.state(first[1], first[0]), many.state(first[1], rise[0]), same=rise[1])


def _references(many: Scored, k: int) -> Indices:
    """Return for each ranking the first ranking with the same top k and a defined score, or else the first of these."""
    prefix, scores = many.space.prefix(k), many.scores[k - 1]
    order = np.lexsort((np.arange(len(prefix)), np.isnan(scores), prefix))
    starts = np.ones(len(order), bool)
    starts[1:] = prefix[order][1:] != prefix[order][:-1]
    reference = np.empty(len(order), np.int64)
    reference[order] = order[np.flatnonzero(starts)][np.cumsum(starts) - 1]
    return reference


def _whole_or_cut(many: Scored) -> list[tuple[int, Floats]]:
    if many.subject.whole is None:
        return list(enumerate(many.scores, start=1))
    return [(many.space.depth, many.subject.score(many.space.lists, None))]


@lru_cache(maxsize=32)
def _with_unjudged(grades: tuple[float, ...], missing: bool = False) -> tuple[list[Ranking], Lists, Lists]:
    """Return all short rankings of these grades that contain unjudged documents, as lists with and without these.

    missing: the last document of each ranking is a perfect one that the list does not retrieve.
    """
    kinds = (None, *grades)
    depth = 5 if len(kinds) <= 3 else 4 if len(kinds) == 4 else 3
    every = (ranking for length in range(1, depth + 1) for ranking in product(kinds, repeat=length))
    rankings: list[Ranking] = [ranking for ranking in every if set(ranking) != {None}]
    if missing:
        rankings = [(*ranking, grades[-1]) for ranking in rankings]
    lists = lists_of(rankings)
    if missing:
        lists = replace(lists.where(lists.first < lists.length[lists.list]), length=lists.length - 1, memo={})
    return rankings, lists, lists.condensed()


def _first(broken: Bools) -> tuple[int, int] | None:
    """Line and column of the first true cell."""
    places = np.flatnonzero(broken)
    return divmod(int(places[0]), broken.shape[1]) if len(places) else None


def _same(one: Floats, other: Floats) -> Bools:
    """Equal up to rounding; undefined in both is equal too."""
    return np.asarray(np.isclose(one, other, rtol=NOISE, atol=NOISE, equal_nan=True))


def _below(one: Floats, other: Floats) -> Bools:
    """Return True where the first score is smaller by more than rounding, and False where a score is undefined."""
    return np.asarray((one < other) & ~_same(one, other))
