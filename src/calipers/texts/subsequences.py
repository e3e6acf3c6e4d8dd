"""Lengths of longest common subsequences, computed with bit vectors.

V has one bit for each place of the reference, which is 1 until the dynamic programme takes a step at that place. M has
the bits of the places that hold the next word of the candidate. For each word,

    V <- (V + (V & M)) | (V & ~M),        length = zeros of V

Many candidates are computed together, in 64-bit integers. A long text is computed alone, in one long integer.

Crochemore, Iliopoulos, Pinzon & Reid, A fast and practical bit-vector algorithm for the longest common subsequence
problem, IPL 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.lists import Ints

Words = NDArray[np.uint64]
BITS = 64
LONGEST = 200_000  # words of a text; time grows with the square
ALONE = 40  # with fewer texts and references per 64 places, one at a time is faster
OFTEN = 64  # the bits of words that occur at least so often are kept
MOST_CELLS = 25_000_000  # words of a sentence times words of another


class Places:
    """Places of each word in some references. Words are 1, 2, ...; word 0 occurs nowhere."""

    def __init__(self, references: Sequence[Sequence[int]], words: int) -> None:
        self.references, self.words = references, words
        self.longest = max((len(each) for each in references), default=0)
        if self.longest > LONGEST:
            raise CalipersError(f"a reference of {self.longest:,} words: common subsequences go up to {LONGEST:,}")
        self.parts = max(1, -(-self.longest // BITS))

    @cached_property
    def bits(self) -> Words:
        """Places as bits: [word, reference, 64 places]."""
        found = np.zeros((self.words + 1, len(self.references), self.parts), dtype=np.uint64)
        for j, reference in enumerate(self.references):
            for place, word in enumerate(reference):
                found[word, j, place // BITS] |= np.uint64(1 << (place % BITS))
        return found

    @cached_property
    def lists(self) -> list[dict[int, list[int]]]:
        """Places as lists, by reference and word."""
        found: list[dict[int, list[int]]] = [{} for _ in self.references]
        for by_word, reference in zip(found, self.references, strict=True):
            for place, word in enumerate(reference):
                by_word.setdefault(word, []).append(place)
        return found


def common(candidates: Ints, where: Places, lengths: Ints) -> Ints:
    """Return the lengths of the longest common subsequences: [candidate, length, reference].

    candidates: rows of numbered words (0 for a word that no reference has). lengths: numbers of words, ascending; the
    result is given for each of these prefixes of a row.
    """
    rows, steps = candidates.shape
    if steps > LONGEST:
        raise CalipersError(f"a text of {steps:,} words: common subsequences go up to {LONGEST:,}")
    wanted: dict[int, list[int]] = {}
    for at, length in enumerate(lengths.tolist()):
        wanted.setdefault(length, []).append(at)
    found = np.zeros((rows, len(lengths), len(where.references)), dtype=np.int64)
    if where.parts > 1 and rows * len(where.references) < ALONE * where.parts:
        for j, by_word in enumerate(where.lists):
            for i, row in enumerate(candidates):
                _one_by_one(row, by_word, len(where.references[j]), wanted, found[i, :, j])
        return found
    bits = where.bits
    state = np.full((where.parts, rows, len(where.references)), ~np.uint64(0))
    by_part = np.ascontiguousarray(np.moveaxis(bits, -1, 0))
    for step in range(min(steps, int(lengths.max(initial=0)))):
        _advance(state, by_part[:, candidates[:, step]])
        for at in wanted.get(step + 1, ()):
            found[:, at] = (BITS - _ones(state)).sum(axis=0)
    return found


def _one_by_one(row: Ints, by_word: dict[int, list[int]], size: int, wanted: dict[int, list[int]], found: Ints) -> None:
    """Compare one text with one reference, using an integer with one bit per place."""
    everything = (1 << size) - 1
    state = everything
    masks: dict[int, int] = {}
    for step, word in enumerate(row[: max(wanted, default=0)].tolist(), 1):
        if (places := by_word.get(word)) is not None:
            met = masks.get(word)
            if met is None:
                met = _mask(places, size)
                if len(places) >= OFTEN:
                    masks[word] = met
            taken = state & met
            state = ((state + taken) | (state ^ taken)) & everything
        for at in wanted.get(step, ()):
            found[at] = size - state.bit_count()


def _mask(places: list[int], size: int) -> int:
    if len(places) == 1:
        return 1 << places[0]
    bits = bytearray(size // 8 + 1)
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "little")


def _advance(state: Words, met: Words) -> None:
    """Advance the state by one word, in place. Overflow of 64 places is carried into the next ones."""
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
    """Count the words of a reference that are in a common subsequence with a sentence of the candidate.

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
    """Return the places in `one` of a longest common subsequence.

    Of several, it is the one that a search from the end finds if ties go back in `other` first, as in ROUGE packages.
    """
    if len(one) * len(other) > MOST_CELLS:
        raise CalipersError(
            f"a sentence of {len(one):,} words and one of {len(other):,} are too long for ROUGE-Lsum: put each "
            "sentence on a line of its own, or use ROUGE-L"
        )
    rows = [[0] * (len(other) + 1)]
    for word in one:
        above, row = rows[-1], [0]
        for j, other_word in enumerate(other):
            row.append(above[j] + 1 if word == other_word else max(above[j + 1], row[-1]))
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
