"""Runs a command in this process, or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from typing import NamedTuple
from unittest.mock import patch

import pytest

from calipers.cli import main
from time_limit import TIME_LIMIT


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def calipers(*arguments: object) -> Ended:
    """Run a command in this process, where what it imports is kept for the next."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        patch.multiple(sys, argv=["calipers", *map(str, arguments)], stdout=out, stderr=err),
        warnings.catch_warnings(action="default"),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    printed = (stream.buffer.getvalue().decode() for stream in (out, err))
    return Ended(int(ended.value.code or 0), *printed)


def process(*arguments: object, stdin: bytes = b"", **environment: str) -> Ended:
    """The same in a process of its own, with something on its standard input or in its environment."""
    done = subprocess.run(
        [sys.executable, "-c", "from calipers.cli import main; main()", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=TIME_LIMIT,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
