"""Pairs of documents of one query with different labels, as differences of their features."""

from __future__ import annotations

import numpy as np

from calipers import CalipersError
from calipers.lists import Ints
from research.rankers.training_examples import Examples


def ordered_pairs(train: Examples, most: int, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return all pairs of rows of a query with different labels, larger label first, or a sample of `most` pairs."""
    squares = train.size.astype(np.int64) ** 2
    if squares.sum() <= 4 * most:
        first, second = _all_pairs(train, squares)
        if len(first) > most:
            kept = np.sort(random.permutation(len(first))[:most])
            first, second = first[kept], second[kept]
    else:
        first, second = _drawn_pairs(train, squares, most, random)
    if not len(first):
        raise CalipersError("no query has documents with different labels: nothing can be learnt", file=train.name)
    return first, second


def _all_pairs(train: Examples, squares: Ints) -> tuple[Ints, Ints]:
    query = np.repeat(np.arange(len(train.size)), squares)
    place = np.arange(len(query)) - np.repeat(np.cumsum(squares) - squares, squares)
    first = train.start[query] + place // train.size[query]
    second = train.start[query] + place % train.size[query]
    right = train.y[first] > train.y[second]
    return first[right], second[right]


def _drawn_pairs(train: Examples, squares: Ints, most: int, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Drawn with the same chance each, a few at a time, until there are enough."""
    share = squares / squares.sum()
    firsts: list[Ints] = []
    seconds: list[Ints] = []
    found = 0
    for _ in range(100):  # unless nearly all labels are the same, a few rounds do
        query = random.choice(len(squares), size=2 * most, p=share)
        one, other = (
            train.start[query] + (random.random(len(query)) * train.size[query]).astype(np.int64) for _ in "ab"
        )
        right = train.y[one] > train.y[other]
        firsts.append(one[right])
        seconds.append(other[right])
        found += int(right.sum())
        if found >= most:
            break
    return np.concatenate(firsts)[:most], np.concatenate(seconds)[:most]
