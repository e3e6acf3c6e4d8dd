"""Runs `python -m research` in a process of its own, or in this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from research.__main__ import main
from time_limit import TIME_LIMIT

ROOT = Path(__file__).resolve().parent.parent
Inside = Callable[..., subprocess.CompletedProcess[str]]


def research(*arguments: object, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own. before: Python code that runs first."""
    code = f"{before}\nimport sys; from research.__main__ import main; sys.exit(main(sys.argv[1:]))"
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False, env={**os.environ, "PYTHONPATH": path}
    )


def inside_of(capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return a function that runs a command in this process, which is quicker."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        code = main([*map(str, arguments)])
        printed = capsys.readouterr()
        return subprocess.CompletedProcess([], code, printed.out, printed.err)

    return run
