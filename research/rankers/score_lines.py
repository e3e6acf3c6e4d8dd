"""Score files: one number per line, in the order of the test file, so that they are read back to the last bit."""

from __future__ import annotations

from pathlib import Path

from calipers.lists import Floats
from calipers.support.atomic_files import write_whole


def score_lines(scores: Floats) -> str:
    """Return one line per score, with as many digits as are needed to read it back.

    >>> import numpy as np
    >>> score_lines(np.array([0.1, -2.0]))
    '0.1\\n-2.0\\n'
    """
    return "".join(f"{score!r}\n" for score in scores.tolist())


def write_score_lines(scores: Floats, path: str | Path) -> None:
    """Write one line per score. A failure leaves no partial file."""
    write_whole(path, score_lines(scores).encode("ascii"))
