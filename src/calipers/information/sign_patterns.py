"""Patterns of signs: which of several lists put the first of two things above the second.

A pattern is written as one number in balanced ternary, the sum of s_i 3^i with s_i = 1 (above), -1 (below) or 0 (tied,
or neither is there). So the same pair the other way round has the negative number.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints

Signs = NDArray[np.int8]

MOST_LISTS = 40  # (3^40 - 1) / 2 is the largest number of this kind in 64 bits
COUNTED_DIRECTLY = 12  # lists whose 3^m patterns are an array to count in


def check_number_of_lists(count: int, what: str = "systems") -> None:
    """Refuse what does not fit one number, and would say nothing if it did."""
    if count > MOST_LISTS:
        raise CalipersError(
            f"{count} {what} at once are more than {MOST_LISTS}: their patterns of preferences do not fit 64 bits, and "
            "so few pairs of documents would share one that any systems would seem to know everything; choose some"
        )


def written(signs: Iterable[Signs], lists: int, size: int) -> Ints:
    """The pattern of each pair, from the signs that each list gives to all of them."""
    # Small numbers are several times faster; (3^20 - 1) / 2 still fits 32 bits.
    code: Ints = np.zeros(size, np.int32 if lists <= 20 else np.int64)
    for i, sign in enumerate(signs):
        code += sign * code.dtype.type(3**i)
    return code


def tally(codes: Ints, lists: int) -> tuple[Ints, Ints]:
    """The distinct patterns, and how many pairs have each."""
    if lists <= COUNTED_DIRECTLY:
        middle = (3**lists - 1) // 2
        count = np.bincount(codes + middle, minlength=3**lists)
        found = np.flatnonzero(count)
        return found - middle, count[found]
    return np.unique(codes, return_counts=True)


def merged(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Counts of several blocks of pairs as one."""
    if len(parts) == 1:
        return parts[0]
    pattern, place = np.unique(np.concatenate([codes for codes, _ in parts]), return_inverse=True)
    return pattern, np.bincount(place.reshape(-1), np.concatenate([count for _, count in parts])).astype(np.int64)


def told(pattern: Ints, count: Floats | Ints) -> float:
    """What patterns tell about the order of a pair, in bits: the sum of f(s) lg(2 f(s) / (f(s) + f(-s))).

    The pairs are all oriented the right way round; f(s) is the share of those with pattern s.

    >>> told(np.array([4, -2, 2]), np.array([4, 1, 1])).hex() == (2 / 3).hex()
    True
    """
    order = np.argsort(pattern)
    pattern, count = pattern[order], np.asarray(count, np.float64)[order]
    place = np.minimum(np.searchsorted(pattern, -pattern), len(pattern) - 1)
    opposite = np.where(pattern[place] == -pattern, count[place], 0.0)
    return float((count * np.log2(2 * count / (count + opposite))).sum() / count.sum())
