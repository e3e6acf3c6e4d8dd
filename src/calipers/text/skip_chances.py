"""How often a random text contains a pair of words in order, others between them: the chances of at least 1, 2, ...

Words are drawn independently, w with chance c(w) / n. A pair (a, b) with at most d words between is counted once for
each b and each a among the d + 1 words before it, so that what a text has to remember is

    at most d words between      which of the last d + 1 words were a: 2^(d + 1) states
    any number                   how many words were a, no further than anyone asks for pairs: from there on, the next
                                 b brings all that are asked for

and beside it the count so far. A pair of a word with itself, (a, a), is counted the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from calipers.lists import Floats, Ints
from calipers.text.ngram_chances import Gram, at_least
from calipers.text.rouge_scores import Skips

WIDEST = 6  # words between, from which on there are too many states, unless any number may be

Moves = tuple[tuple[int, int], ...]  # of each state: the next one, and how many pairs a word completes


def countable(skips: Skips) -> bool:
    """Whether the chances of such pairs are worked out here."""
    return skips.most is None or skips.most <= WIDEST


def skip_tails(pairs: Sequence[Gram], most: Ints, source: Mapping[str, int], lengths: Ints, skips: Skips) -> Floats:
    """The chance that a random text holds a pair at least t times: [pair, t - 1, length], t to the largest `most`.

    `source` counts the words that are drawn from. Beyond a pair's own `most`, chances are not worked out, but 0.

    >>> found = skip_tails([("a", "b")], np.array([2]), {"a": 1, "b": 1}, np.array([2, 3]), Skips(None, False))
    >>> found.tolist()
    [[[0.25, 0.5], [0.0, 0.25]]]
    """
    found = np.zeros((len(pairs), int(most.max(initial=0)), len(lengths)))
    total = sum(source.values())
    # Chances depend on how often the words are there, not on which they are.
    alike: dict[tuple[bool, int], dict[tuple[int, int], list[int]]] = {}
    for place, (first, second) in enumerate(pairs):
        counts = source.get(first, 0), source.get(second, 0)
        if all(counts):
            alike.setdefault((first == second, int(most[place])), {}).setdefault(counts, []).append(place)
    for (same, cap), members in alike.items():
        chance = np.array(list(members)) / total
        tail = _counted(_moves(skips.most, cap), chance, same, cap, lengths)
        for same_counts, each in zip(members.values(), tail, strict=True):
            found[same_counts, :cap] = each
    return found


@cache
def _moves(between: int | None, cap: int) -> tuple[Moves, Moves]:
    """Where a state goes by the first word of a pair, and by any other; and the pairs that the second completes."""
    if between is None:
        return tuple((min(k + 1, cap), k) for k in range(cap + 1)), tuple((k, k) for k in range(cap + 1))
    width = 1 << (between + 1)
    by_first = tuple(((state << 1 | 1) % width, state.bit_count()) for state in range(width))
    return by_first, tuple(((state << 1) % width, state.bit_count()) for state in range(width))


def _counted(moves: tuple[Moves, Moves], chance: Floats, same: bool, cap: int, lengths: Ints) -> Floats:
    """All pairs that are asked for equally often; chance: [pair, word of it]. Found: [pair, t - 1, length]."""
    by_first, by_other = moves
    first = chance[:, 0, None]
    second = np.zeros_like(first) if same else chance[:, 1, None]
    others = np.maximum(1 - first - second, 0.0)
    now = np.zeros((len(by_first), len(chance), cap + 1))
    now[0, :, 0] = 1.0
    found = np.zeros((len(chance), cap, len(lengths)))
    wanted = set(lengths.tolist())
    for length in range(1, int(lengths.max(initial=0)) + 1):
        later = np.zeros_like(now)
        for state, ((on_first, complete), (on_other, _)) in enumerate(zip(by_first, by_other, strict=True)):
            _arrive(later[on_first], now[state] * first, complete if same else 0)
            later[on_other] += now[state] * others
            if not same:
                _arrive(later[on_other], now[state] * second, complete)
        now = later
        if length in wanted:
            found[:, :, lengths == length] = at_least(now.sum(axis=0))[:, 1:, None]
    return found


def _arrive(target: Floats, flow: Floats, more: int) -> None:
    """Add chances, the count along the last axis going up, no further than its end."""
    if more == 0:
        target += flow
        return
    more = min(more, flow.shape[-1] - 1)
    target[..., more:] += flow[..., : flow.shape[-1] - more]
    target[..., -1] += flow[..., flow.shape[-1] - more :].sum(axis=-1)
