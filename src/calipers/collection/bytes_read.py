"""Count of the bytes that were read from files, for progress bars.

Files that are read while somebody watches count what is read from them. One that has to be read again, because its
queries turn out to be in no order, counts again.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

LOOKS = 4 << 16  # bytes of a file that are looked at before and after it is read


class Meter:
    """Bytes done and to do, and somebody to tell."""

    def __init__(self, paths: Sequence[str], tell: Callable[[int, int], None]) -> None:
        self._sizes = {os.path.realpath(path): os.path.getsize(path) for path in paths if os.path.isfile(path)}
        self._read = dict.fromkeys(self._sizes, 0)
        self._tell, self._lock = tell, threading.Lock()

    @property
    def done(self) -> int:
        return sum(self._read.values())

    @property
    def total(self) -> int:
        """Each file once, or as often as it has been begun."""
        times = {path: -(-max(self._read[path] - LOOKS, 0) // max(size, 1)) for path, size in self._sizes.items()}
        return sum(size * max(times[path], 1) for path, size in self._sizes.items())

    def add(self, path: str, count: int) -> None:
        with self._lock:
            self._read[path] += count
            self._tell(min(self.done, self.total), self.total)

    def knows(self, path: str) -> bool:
        return path in self._sizes


_watching: Meter | None = None


@contextmanager
def watched(paths: Sequence[str], tell: Callable[[int, int], None]) -> Iterator[Meter]:
    """Call `tell` with (bytes read, bytes in all) while files are read inside the `with` block."""
    global _watching
    before, _watching = _watching, Meter(paths, tell)
    try:
        yield _watching
    finally:
        _watching = before


def opened(path: str) -> BinaryIO:
    """Open a file without a buffer. Its bytes are counted if a progress bar is shown."""
    if _watching is None or not _watching.knows(real := os.path.realpath(path)):
        return open(path, "rb", buffering=0)
    return _CountedFile(path, real, _watching)


class _CountedFile(io.FileIO):
    def __init__(self, path: str, real: str, meter: Meter) -> None:
        super().__init__(path, "rb")
        self._real, self._meter = real, meter

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(-1 if size is None else size) or b""
        self._meter.add(self._real, len(content))
        return content

    def readinto(self, buffer, /):  # type: ignore[no-untyped-def]  # any buffer
        count = super().readinto(buffer)
        self._meter.add(self._real, count or 0)
        return count
