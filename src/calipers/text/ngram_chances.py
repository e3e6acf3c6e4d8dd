"""How often a random text contains an n-gram: the chances of at least 1, 2, ... times, for every length of the text.

The text is read by the automaton that recognises the n-gram (Knuth, Morris & Pratt): its state is how many words of the
n-gram the text ends with. Beside the state goes the count so far, no further than anyone asks:

    with replacement       words are drawn independently, w with chance c(w) / n:     state x count
    without replacement    words of the source are drawn and not put back:            state x count x words used up

A single word is the n-gram of a one-state automaton: its counts are binomial and hypergeometric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.measures.hypergeometric import hypergeometric

MOST_CELLS = 5_000_000  # of one n-gram drawn without replacement

Gram = tuple[str, ...]
Shape = tuple[int, ...]  # which words of an n-gram are the same, as 0, 1, 0
Moves = tuple[tuple[tuple[int, bool], ...], ...]  # [state][word]: the next state, and whether the n-gram is complete


def tails(
    grams: Sequence[Gram], most: Ints, source: Mapping[str, int], lengths: Ints, replacement: bool = True
) -> Floats:
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
        if replacement:
            found[members, : cap.max()] = _independent(shape, counts / total, int(cap.max()), lengths)
        elif len(shape) == 1:
            found[members, : cap.max()] = _drawn_words(counts[:, 0], total, int(cap.max()), lengths)
        else:
            # Chances depend on how often the words are there, not on which they are.
            alike: dict[tuple[int, ...], list[int]] = {}
            for g, count in zip(members, counts.tolist(), strict=True):
                alike.setdefault(tuple(count), []).append(g)
            for count, same in alike.items():
                largest = int(most[same].max())
                found[same, :largest] = _used_up(shape, np.array(count), total, largest, lengths)
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


def _drawn_words(counts: Ints, total: int, most: int, lengths: Ints) -> Floats:
    """Single words without replacement: hypergeometric."""
    found = np.zeros((len(counts), most, len(lengths)))
    for at, length in enumerate(lengths.tolist()):
        chance, least = hypergeometric(np.full(len(counts), total), counts, np.full(len(counts), length))
        times = least[:, None] + np.arange(chance.shape[1])
        for t in range(1, most + 1):
            found[:, t - 1, at] = np.where(times >= t, chance, 0.0).sum(axis=1)
    return found


def _used_up(shape: Shape, counts: Ints, total: int, most: int, lengths: Ints) -> Floats:
    """One n-gram without replacement; [state][word used, ..., count]."""
    moves = _moves(shape)
    used = tuple(int(count) + 1 for count in counts)
    if len(moves) * np.prod(used) * (most + 1) > MOST_CELLS:
        raise CalipersError(
            f"drawing {len(shape)}-grams without replacement takes too much memory for a source of {total} words; "
            "draw with replacement"
        )
    now = np.zeros((len(moves), *used, most + 1))
    now[(0,) * now.ndim] = 1.0
    left = [
        (count - np.arange(count + 1)).reshape([-1 if axis == i else 1 for axis in range(len(used) + 1)])
        for i, count in enumerate(counts.tolist())
    ]
    spent = sum(count - each for count, each in zip(counts.tolist(), left, strict=True))
    found = np.zeros((most, len(lengths)))
    for drawn in range(int(lengths.max(initial=0))):
        # Of the other words, drawn - spent have gone.
        others = np.clip(total - int(counts.sum()) - (drawn - spent), 0, None)
        later = np.zeros_like(now)
        for state, of_state in enumerate(moves):
            for word, (target, complete) in enumerate(of_state):
                if word == len(used):
                    _arrive(later[target], now[state] * (others / (total - drawn)), complete)
                else:
                    flow = now[state] * (left[word] / (total - drawn))
                    before, after = _one_more(word, len(used))
                    _arrive(later[target][after], flow[before], complete)
        now = later
        at = lengths == drawn + 1
        if at.any():
            found[:, at] = at_least(now.reshape(-1, most + 1).sum(axis=0))[1:, None]
    return found


def _one_more(word: int, words: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Where a count of used words comes from, and where it goes, when one more is used."""
    before = tuple(slice(None, -1) if i == word else slice(None) for i in range(words))
    after = tuple(slice(1, None) if i == word else slice(None) for i in range(words))
    return before, after
