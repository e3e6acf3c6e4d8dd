"""Rank-biased overlap (RBO): the similarity of two lists that may hold different things.

    RBO = (1 - p) sum over depths d of p^(d-1) A_d,   A_d = things that both lists have in their first d, divided by d

The lists end, and their continuation is unknown. `low` is RBO if they share nothing further, `high` if they share as
much as possible, `value` if the agreement stays as it was.

Webber, Moffat & Zobel, A similarity measure for indefinite rankings, TOIS 2010.
Corsi & Urbano, The treatment of ties in rank-biased overlap, SIGIR 2024.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.results.scores import Scores
from calipers.statistics.score_arrays import system_means
from calipers.support.checks import check_between_0_and_1, check_type

TIES = ("average", "corrected", "shared")
Ranking = Sequence[Any] | Mapping[Any, float] | Scores


@dataclass(frozen=True)
class Overlap:
    """Rank-biased overlap with its lower and upper bound."""

    value: float  # extrapolated
    low: float
    high: float


def rbo(a: Ranking, b: Ranking, p: float = 0.9, ties: str = "average") -> Overlap:
    """Return the rank-biased overlap of two lists.

    A list is a sequence, best first, or {thing: score}. A set inside a sequence is a tie. Scores of one measure are
    the list of their systems, ordered by their means.

    p: the probability that the reader goes on to the next depth.
    ties: `average`, over all orders of tied things (RBO^a); `corrected`, so that equal ties in both lists are
        agreement (RBO^b); `shared`, so that all tied things have the first rank of the tie (RBO^w, Webber's).

    >>> rbo(["a", "b", "c"], ["a", "b", "c"]).value
    1.0
    >>> overlap = rbo(["a", "b", "c"], ["b", "a", "d"], p=0.5)
    >>> round(overlap.low, 4), round(overlap.value, 4), round(overlap.high, 4)
    (0.3863, 0.4167, 0.4583)
    """
    check_between_0_and_1("p", p)
    for what, given in (("a", a), ("b", b)):
        check_type(what, given, (Iterable, Scores), "a ranking: a list of ids, {id: score}, or Scores")
    if ties not in TIES:
        raise CalipersError(f"unknown rule for ties '{ties}'; expected one of {', '.join(TIES)}")
    long, short = sorted((_spans(a), _spans(b)), key=len, reverse=True)
    if not short:
        both_empty = not long
        return Overlap(1.0 if both_empty else 0.0, 1.0 if both_empty else 0.0, 1.0)
    seen, overlap = _agreement(long, short, ties)
    l, s = len(long), len(short)  # noqa: E741  the paper's letters
    depth = np.arange(1, l + 1)
    weight = (1 - p) * p ** (depth - 1.0)
    unseen = np.maximum(depth - s, 0) / depth  # of the short list
    likely = seen + unseen * seen[s - 1]
    value = float(weight @ likely) + p**l * float(likely[-1])
    low = float(weight @ seen) + overlap * _tail(p, l)
    high = float(weight @ (seen + unseen)) + _best_tail(p, l, s, overlap)
    return Overlap(min(value, 1.0), min(low, 1.0), min(high, 1.0))


def _spans(ranking: Ranking) -> dict[Hashable, tuple[int, int]]:
    """Return for each thing the number of things ranked above its tie, and the size of the tie."""
    groups: list[list[Hashable]]
    if isinstance(ranking, Scores):
        ranking = system_means(ranking)
    if isinstance(ranking, Mapping):
        by_score: dict[float, list[Hashable]] = {}
        for thing, score in ranking.items():
            if math.isnan(score):
                raise CalipersError(f"the score of '{thing}' is not a number")
            by_score.setdefault(score, []).append(thing)
        groups = [by_score[score] for score in sorted(by_score, reverse=True)]
    else:
        groups = [sorted(g, key=str) if isinstance(g, set | frozenset | list | tuple) else [g] for g in ranking]
    spans: dict[Hashable, tuple[int, int]] = {}
    above = 0
    for group in groups:
        for thing in group:
            if thing in spans:
                raise CalipersError(f"'{thing}' is in the list twice")
            spans[thing] = above, len(group)
        above += len(group)
    return spans


def _agreement(
    long: Mapping[Hashable, tuple[int, int]], short: Mapping[Hashable, tuple[int, int]], ties: str
) -> tuple[Floats, float]:
    """Return the known agreement at each depth of the longer list, and the number of things shared at its end."""
    depth = np.arange(1, len(long) + 1, dtype=np.float64)
    shared = [thing for thing in long if thing in short]
    together = np.zeros(len(depth))
    for thing in shared:
        together += _share(long[thing], depth, ties) * _share(short[thing], depth, ties)
    if ties == "average":
        return together / depth, float(len(shared))
    unseen = np.maximum(depth - len(short), 0)
    sizes = [
        sum((_share(span, depth, ties) ** 2 for span in spans.values()), np.zeros(len(depth)))
        for spans in (long, short)
    ]
    if ties == "corrected":
        return together / np.sqrt(sizes[0] * (sizes[1] + unseen)), float(len(shared))
    return 2 * together / (sizes[0] + sizes[1] + unseen), float(len(shared))


def _share(span: tuple[int, int], depth: Floats, ties: str) -> Floats:
    """Return how much of a thing is among the first d: 0 or 1 for shared ranks, otherwise its probability."""
    above, size = span
    if ties == "shared":
        return (depth > above).astype(np.float64)
    return np.clip((depth - above) / size, 0.0, 1.0)


def _tail(p: float, depth: int) -> float:
    """Return (1 - p) times the sum of p^(d-1) / d over all d beyond a depth."""
    d = np.arange(1, depth + 1)
    whole = -math.log1p(-p) / p
    return (1 - p) * max(whole - float(np.sum(p ** (d - 1.0) / d)), 0.0)


def _best_tail(p: float, long: int, short: int, overlap: float) -> float:
    """Return the contribution of depths beyond the longer list if each unseen thing is shared as early as possible."""
    full = int(long + short - overlap)  # from this depth on the lists may hold the same things
    d = np.arange(long + 1, full + 1)
    most = np.minimum(d, overlap + 2 * d - short - long)
    return float(np.sum((1 - p) * p ** (d - 1.0) * most / d)) + p ** max(full, long)
