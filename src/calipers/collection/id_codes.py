"""Ids as numbers: to find equal ones among millions, and to sort them, without an object for each."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.native.ids import Ids
from calipers.native.scanner import number_distinct

Ints = NDArray[np.integer[Any]]
Words = NDArray[np.uint64]


def as_words(ids: Ids) -> Words:
    """Return each id as a row of 64-bit numbers, padded with zeros. Rows sort like the bytes of the ids."""
    length = np.diff(ids.offsets)
    width = max(-(-int(length.max(initial=1)) // 8), 1)
    padded = np.zeros((len(ids), 8 * width), np.uint8)
    data = ids.data[ids.offsets[0] : ids.offsets[-1]]
    if len(ids) and (length == length[0]).all():
        padded[:, : length[0]] = data.reshape(len(ids), length[0])
    else:
        padded[np.arange(8 * width) < length[:, None]] = data
    return padded.view(">u8").astype(np.uint64)


def coded(query: Ints, word: Words) -> tuple[Ints, Ints]:
    """Return a number for each pair of query and document, and a row with that pair. Hashes are verified."""
    code: Ints
    one: Ints
    code, one = number_distinct(mixed(query, word))
    same = one[code]
    if all((column == column[same]).all() for column in (query, *word.T)):  # one by one, to hold little
        return code, one
    # Two pairs share a hash: sort them instead.
    order = np.lexsort((*word.T[::-1], query))
    fresh = np.ones(len(order), bool)
    fresh[1:] = (query[order[1:]] != query[order[:-1]]) | (word[order[1:]] != word[order[:-1]]).any(axis=1)
    code = np.empty(len(order), np.int64)
    code[order] = np.cumsum(fresh) - 1
    return code, order[fresh]


def mixed(query: Ints, word: Words) -> Words:
    """Return a hash of each pair of query and document."""
    hashed = (query.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for column in word.T:
        hashed = (hashed ^ column) * np.uint64(0xFF51AFD7ED558CCD)
        hashed ^= hashed >> np.uint64(32)
    return hashed


def by_appearance(ids: Ids) -> tuple[Ints, Ints]:
    """Return a number for each id, in order of first appearance, and a row with that id."""
    code, row = numbered(np.zeros(len(ids), np.int64), ids)
    first = np.full(len(row), len(ids))
    np.minimum.at(first, code, np.arange(len(ids)))
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place[code], first[order]


def texts_by_group(ids: Ids, starts: Ints) -> tuple[tuple[str, ...], ...]:
    """Return the ids as text in groups. starts: the first row of each group, and the end."""
    texts = ids.texts()
    return tuple(tuple(texts[start:end]) for start, end in pairwise(starts.tolist()))


def numbered(outer: Ints, ids: Ids) -> tuple[Ints, Ints]:
    """Return a number for each pair of an outer number and an id, in the order of both, and a row with that pair."""
    words = as_words(ids)
    order = np.lexsort((*words.T[::-1], outer))
    fresh = np.ones(len(order), bool)
    fresh[1:] = (outer[order[1:]] != outer[order[:-1]]) | (words[order[1:]] != words[order[:-1]]).any(axis=1)
    code = np.empty(len(order), np.int64)
    code[order] = np.cumsum(fresh) - 1
    return code, order[fresh]
