"""Patterns of signs. A pattern says which of several lists rank the first of two documents above the second.

A pattern is one number in balanced ternary: the sum of s_i 3^i with s_i = 1 (above), -1 (below) or 0 (tied, or list i
has neither document). The reversed pair has the negative number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.native.scanner import count_patterns, pattern_bits

Ranks = NDArray[np.signedinteger[Any]]

MOST_LISTS = 40  # (3^40 - 1) / 2 is the largest number of this kind in 64 bits
MOST_NATIVE = 10  # largest number of lists for the compiled counter
COUNTED_DIRECTLY = 12  # up to this number m of lists, patterns are counted in an array of 3^m numbers
MOST_SHORT = 2**30  # with fewer pairs, each counted at most twice, counts fit into 32 bits


def check_number_of_lists(count: int, what: str = "systems") -> None:
    """Refuse too many lists: a pattern would not fit into 64 bits, and the result would be meaningless."""
    if count > MOST_LISTS:
        raise CalipersError(
            f"{count} {what} are too many: use at most {MOST_LISTS}. With more, almost every pair has its own pattern, "
            f"and even random {what} seem to have all information"
        )


def patterns_of_ranks(better: Ranks, worse: Ranks) -> Ints:
    """Return the pattern of each pair, from numbers [list, ...]. The document with the smaller number is above."""
    shape = np.broadcast_shapes(better.shape[1:], worse.shape[1:])
    lists = len(better)
    kind: type[np.signedinteger[Any]] = np.int16 if lists <= 10 else np.int32 if lists <= 20 else np.int64
    kind = max(kind, better.dtype.type, key=lambda each: np.dtype(each).itemsize)
    better, worse = better.astype(kind, copy=False), worse.astype(kind, copy=False)
    code, sign = np.zeros(shape, kind), np.empty(shape, kind)
    for i in reversed(range(lists)):
        np.subtract(worse[i], better[i], out=sign)
        np.clip(sign, -1, 1, out=sign)
        code *= 3
        code += sign
    return code.reshape(-1)


class Tally:
    """Number of pairs per pattern."""

    def __init__(self, lists: int, pairs: int) -> None:
        """Start empty. `pairs` is the largest number of pairs that are counted, each once or twice."""
        self.lists = lists
        self._middle = (3**lists - 1) // 2
        kind = np.int32 if pairs < MOST_SHORT else np.int64
        self._dense: NDArray[np.int32 | np.int64] | None = (
            np.zeros(3**lists, kind) if lists <= COUNTED_DIRECTLY else None
        )
        self._parts: list[tuple[Ints, Ints]] = []
        self._total = 0

    def clear(self) -> None:
        """Set all counts to 0."""
        self._parts.clear()
        self._total = 0
        if self._dense is not None:
            self._dense.fill(0)

    def add(self, better: Ranks, worse: Ranks) -> None:
        """Count pairs of documents, given as numbers [list, ...]. The document with the smaller number is above."""
        self._total += math.prod(np.broadcast_shapes(better.shape[1:], worse.shape[1:]))
        if self.lists <= MOST_NATIVE and better.dtype == np.int16 and better.ndim == 3:
            assert self._dense is not None
            count_patterns(better[:, :, 0], worse[:, 0, :], self._dense)
            return
        codes = patterns_of_ranks(better, worse)
        if self._dense is None:
            self._parts.append(np.unique(codes, return_counts=True))
        else:
            place = codes.astype(np.intp)
            place += self._middle
            self._dense += np.bincount(place, minlength=len(self._dense)).astype(self._dense.dtype)

    def counts(self) -> tuple[Ints, Ints, Ints]:
        """Return the distinct patterns, the number of pairs with each, and the number of pairs with its opposite."""
        if self._dense is not None:
            found = np.flatnonzero(self._dense)
            known = self._dense.astype(np.int64)
            return found - self._middle, known[found], known[len(known) - 1 - found]
        pattern, place = np.unique(np.concatenate([codes for codes, _ in self._parts]), return_inverse=True)
        count = np.bincount(place.reshape(-1), np.concatenate([count for _, count in self._parts])).astype(np.int64)
        at = np.minimum(np.searchsorted(pattern, -pattern), len(pattern) - 1)
        return pattern, count, np.where(pattern[at] == -pattern, count[at], 0)

    def told(self) -> float:
        """Return the information of the patterns about the order of a pair, in bits."""
        if self._dense is not None:
            return pattern_bits(self._dense) / self._total
        _, count, opposite = self.counts()
        return told(count, opposite)


def told(count: Floats | Ints, opposite: Floats | Ints) -> float:
    """Return the information of patterns about the order of a pair, in bits.

    This is the sum of f(s) lg(2 f(s) / (f(s) + f(-s))). The better document comes first in each pair. f(s) is the share
    of pairs with pattern s.

    >>> told(np.array([4, 1, 1]), np.array([0, 1, 1])).hex() == (2 / 3).hex()
    True
    """
    both = opposite > 0  # a pattern without its opposite gives the full bit
    one, other = count[both].astype(np.float64), opposite[both]
    total = float(count.sum())
    return float((total - one.sum() + (one * np.log2(2 * one / (one + other))).sum()) / total)
