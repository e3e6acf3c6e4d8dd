"""How often a random text contains an n-gram: the chances of at least 1, 2, ... times, for every length of the text.

The text is read by the automaton that recognises the n-gram (Knuth, Morris & Pratt): its state is how many words of the
n-gram the text ends with. Beside the state goes the count so far, no further than anyone asks. Words are drawn
independently, w with chance c(w) / n. A single word is the n-gram of a one-state automaton: its counts are binomial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from calipers.lists import Floats, Ints

Gram = tuple[str, ...]
Shape = tuple[int, ...]  # which words of an n-gram are the same, as 0, 1, 0
Moves = tuple[tuple[tuple[int, bool], ...], ...]  # [state][word]: the next state, and whether the n-gram is complete


def tails(grams: Sequence[Gram], most: Ints, source: Mapping[str, int], lengths: Ints) -> Floats:
    """The chance that a random text holds an n-gram at least t times: [n-gram, t - 1, length], t to the largest `most`.

    `source` counts the words that are drawn from. Beyond an n-gram's own `most`, chances are not worked out, but 0.

    >>> tails([("a",)], np.array([2]), {"a": 1, "b": 1}, np.array([1, 2])).tolist()
    [[[0.5, 0.75], [0.0, 0.25]]]
    """
    found = np.zeros((len(grams), int(most.max(initial=0)), len(lengths)))
    shapes: dict[Shape, list[int]] = {}
    for g, gram in enumerate(grams):
        if all(word in source for word in gram):
            shapes.setdefault(_shape(gram), []).append(g)
    total = sum(source.values())
    for shape, members in shapes.items():
        counts = np.array([[source[word] for word in dict.fromkeys(grams[g])] for g in members])
        cap = most[members]
        found[members, : cap.max()] = _independent(shape, counts / total, int(cap.max()), lengths)
    found[np.arange(found.shape[1]) >= most[:, None]] = 0.0
    return found


def _shape(gram: Gram) -> Shape:
    first = {word: i for i, word in enumerate(dict.fromkeys(gram))}
    return tuple(first[word] for word in gram)


@cache
def _moves(shape: Shape) -> Moves:
    """The automaton of an n-gram; the last word of each state stands for all that the n-gram does not have."""
    n, words = len(shape), max(shape) + 2

    def longest(text: Shape) -> int:
        return next(k for k in range(min(len(text), n - 1), -1, -1) if text[len(text) - k :] == shape[:k])

    return tuple(
        tuple((longest((*shape[:state], word)), (*shape[:state], word) == shape) for word in range(words))
        for state in range(n)
    )


def _independent(shape: Shape, chance: Floats, most: int, lengths: Ints) -> Floats:
    """All n-grams of one shape at once; chance: [n-gram, word of it]."""
    moves = _moves(shape)
    every = np.concatenate([chance, np.maximum(1 - chance.sum(axis=1, keepdims=True), 0.0)], axis=1)
    now = np.zeros((len(moves), len(chance), most + 1))
    now[0, :, 0] = 1.0
    found = np.zeros((len(chance), most, len(lengths)))
    wanted = set(lengths.tolist())
    for length in range(1, int(lengths.max(initial=0)) + 1):
        later = np.zeros_like(now)
        for state, of_state in enumerate(moves):
            for word, (target, complete) in enumerate(of_state):
                flow = now[state] * every[:, word, None]
                _arrive(later[target], flow, complete)
        now = later
        if length in wanted:
            found[:, :, lengths == length] = at_least(now.sum(axis=0))[:, 1:, None]
    return found


def _arrive(target: Floats, flow: Floats, complete: bool) -> None:
    """Add chances, the count along the last axis going up by one where the n-gram is complete."""
    if complete:
        target[..., 1:] += flow[..., :-1]
        target[..., -1] += flow[..., -1]
    else:
        target += flow


def at_least(chance: Floats) -> Floats:
    return np.asarray(chance[..., ::-1].cumsum(axis=-1)[..., ::-1])
