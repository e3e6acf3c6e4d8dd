"""Longest common subsequences, 64 places of a reference at a time.

A bit of V for each place of the reference is 1 as long as no step of the dynamic programme has been taken there. With
M the places of the reference that hold the candidate's next word,

    V <- (V + (V & M)) | (V & ~M),        length = zeros of V

Crochemore, Iliopoulos, Pinzon & Reid, A fast and practical bit-vector algorithm for the longest common subsequence
problem, IPL 2001.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calipers.lists import Ints

Words = NDArray[np.uint64]
BITS = 64


def places(references: Sequence[Sequence[int]], words: int) -> Words:
    """Of each word and reference the places where it stands, as bits: [word, reference, 64 places]. Words are 1, 2, ...

    Word 0 stands nowhere.
    """
    longest = max((len(each) for each in references), default=0)
    found = np.zeros((words + 1, len(references), max(1, -(-longest // BITS))), dtype=np.uint64)
    for j, reference in enumerate(references):
        for place, word in enumerate(reference):
            found[word, j, place // BITS] |= np.uint64(1 << (place % BITS))
    return found


def common(candidates: Ints, where: Words, lengths: Ints) -> Ints:
    """How long the common subsequences are: [candidate, length, reference].

    `candidates` are rows of words (0 for one that no reference has); `lengths`, ascending, says after how many words
    of each row to look. So one pass serves every prefix.
    """
    rows, steps = candidates.shape
    _, references, parts = where.shape
    state = np.full((parts, rows, references), ~np.uint64(0))
    found = np.zeros((rows, len(lengths), references), dtype=np.int64)
    wanted: dict[int, list[int]] = {}
    for at, length in enumerate(lengths.tolist()):
        wanted.setdefault(length, []).append(at)
    by_part = np.ascontiguousarray(np.moveaxis(where, -1, 0))
    for step in range(min(steps, int(lengths.max(initial=0)))):
        _advance(state, by_part[:, candidates[:, step]])
        for at in wanted.get(step + 1, ()):
            found[:, at] = (BITS - _ones(state)).sum(axis=0)
    return found


def _advance(state: Words, met: Words) -> None:
    """One word further, in place; what overflows 64 places is carried into the next ones."""
    carry: Words | None = None
    for v, m in zip(state, met, strict=True):
        taken = v & m
        total = v + taken
        over = total < v
        if carry is not None:
            total += carry
            over |= total < carry
        if len(state) > 1:
            carry = over.astype(np.uint64)
        np.bitwise_xor(v, taken, out=v)  # V & ~M
        np.bitwise_or(v, total, out=v)


if hasattr(np, "bitwise_count"):

    def _ones(words: Words) -> Ints:
        return np.asarray(np.bitwise_count(words), dtype=np.int64)

else:  # NumPy before 2.0
    _OF_16 = np.array([bin(i).count("1") for i in range(1 << 16)], dtype=np.int64)

    def _ones(words: Words) -> Ints:
        halves = np.ascontiguousarray(words).view(np.uint16).reshape(*words.shape, 4)
        return np.asarray(_OF_16[halves].sum(axis=-1))


def union_matches(reference: Sequence[Sequence[str]], candidate: Sequence[Sequence[str]]) -> int:
    """The words of a reference's sentences that are in a common subsequence with some sentence of the candidate.

    Each word counts at most as often as either text has it (ROUGE-Lsum).
    """
    from collections import Counter

    left = Counter(word for sentence in reference for word in sentence)
    right = Counter(word for sentence in candidate for word in sentence)
    matched = 0
    for sentence in reference:
        hit = sorted(set().union(*(_one_subsequence(sentence, other) for other in candidate)))
        for place in hit:
            word = sentence[place]
            if left[word] > 0 and right[word] > 0:
                left[word] -= 1
                right[word] -= 1
                matched += 1
    return matched


def _one_subsequence(one: Sequence[str], other: Sequence[str]) -> set[int]:
    """The places in `one` of a longest common subsequence; of several, the one found from the end, ties going back in
    `other` first, as the ROUGE packages do."""
    rows = [[0] * (len(other) + 1)]
    for word in one:
        above, row = rows[-1], [0]
        for j, beside in enumerate(other):
            row.append(above[j] + 1 if word == beside else max(above[j + 1], row[-1]))
        rows.append(row)
    found = set()
    i, j = len(one), len(other)
    while i and j:
        if one[i - 1] == other[j - 1]:
            found.add(i - 1)
            i, j = i - 1, j - 1
        elif rows[i][j - 1] > rows[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return found
