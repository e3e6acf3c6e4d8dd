"""Memory that was used once is kept for what is computed next."""

from __future__ import annotations

import sys

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # parameters of glibc's mallopt
LARGEST = 1 << 30


def keep_memory() -> None:
    """For a large command, whose process soon ends: glibc keeps the memory of large arrays, which the system would have
    to clear before the next one gets it. A library must not do this to the process that uses it.
    """
    if sys.platform != "linux":
        return
    from ctypes import CDLL

    mallopt = getattr(CDLL(None), "mallopt", None)  # musl has none
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, LARGEST)
        mallopt(TRIM_THRESHOLD, LARGEST)
