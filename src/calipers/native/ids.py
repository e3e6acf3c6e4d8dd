"""A column of ids, kept as the bytes of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray


class Ids(Sequence[bytes]):
    """An immutable column of byte strings: one block of bytes, and the offset of each id in it.

    >>> ids = Ids.of(["d1", b"d22"])
    >>> ids[1], ids.text(0), len(ids)
    (b'd22', 'd1', 2)
    """

    __slots__ = ("data", "offsets")

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def of(cls, ids: Iterable[bytes | str]) -> Ids:
        given = [*ids]
        if {*map(type, given)} == {str} and (text := "".join(given)).isascii():  # type: ignore[arg-type]  # text
            lengths, data = [*map(len, given)], text.encode()
        else:
            encoded = [encode(identifier) for identifier in given]
            lengths, data = [*map(len, encoded)], b"".join(encoded)
        offsets = np.zeros(len(given) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(np.frombuffer(data, np.uint8), offsets)

    @classmethod
    def joined(cls, parts: Sequence[Ids]) -> Ids:
        """Return the ids of several columns, one after another."""
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
        data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls(np.concatenate([np.zeros(0, np.uint8), *data]), np.cumsum(sizes))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> bytes: ...
    @overload
    def __getitem__(self, i: slice) -> Ids: ...
    def __getitem__(self, i: int | slice) -> bytes | Ids:
        if isinstance(i, slice):
            return Ids.of(self[j] for j in range(*i.indices(len(self))))
        if i < 0:
            i += len(self)
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.tolist())

    def text(self, i: int) -> str:
        """Return an id as a string. Bytes that are not UTF-8 survive a round trip (surrogateescape)."""
        return decode(self[i])

    def tolist(self) -> list[bytes]:
        whole, ends = self.data.tobytes(), self.offsets.tolist()
        return [whole[start:end] for start, end in pairwise(ends)]

    def texts(self) -> list[str]:
        whole = self.data.tobytes()
        if not whole.isascii():
            return [decode(identifier) for identifier in self.tolist()]
        text = whole.decode("ascii")
        return [text[start:end] for start, end in pairwise(self.offsets.tolist())]

    def take(self, rows: NDArray[np.integer]) -> Ids:
        """Return the ids of these rows, in this order."""
        starts = self.offsets[:-1][rows]
        lengths = self.offsets[1:][rows] - starts
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        shift = np.repeat(starts - offsets[:-1], lengths)
        return Ids(self.data[np.arange(offsets[-1]) + shift], offsets)


def encode(identifier: bytes | str) -> bytes:
    return identifier if isinstance(identifier, bytes) else identifier.encode("utf-8", "surrogateescape")


def decode(identifier: bytes) -> str:
    return identifier.decode("utf-8", "surrogateescape")
