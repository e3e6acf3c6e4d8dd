"""Virtual environments in which nothing of the source tree, or of the outer test run, shows through."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from conftest import ROOT
from time_limit import TIME_LIMIT

CONSTRAINTS = ROOT / "requirements" / "constraints.txt"


def environment() -> dict[str, str]:
    """Return this environment without what would let the source tree, or the outer test run, show through."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CI", "CALIPERS_DATA", "CALIPERS_DATA_REQUIRED")
    inner = {
        name: value
        for name, value in os.environ.items()
        if name not in hidden and not name.startswith(("PYTEST_", "COV_"))
    }
    # Older pips pin a build's tools by the first of these, newer ones by the second.
    pinned = {"PIP_CONSTRAINT": str(CONSTRAINTS), "PIP_BUILD_CONSTRAINT": str(CONSTRAINTS)}
    return inner | pinned | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "HYPOTHESIS_PROFILE": "quick"}


def run(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a command that must succeed. Return what it printed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment() if env is None else env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_LIMIT,
    )
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, command))}\n{done.stdout[-6000:]}", pytrace=False)
    return done.stdout


def venv(python: Path, folder: Path) -> Path:
    """Make a virtual environment. Return its Python."""
    run(python, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    return folder / "bin" / "python"


def install(python: Path, *packages: str | Path) -> None:
    """Install packages for this Python by our own pip: a new pip in each environment would take longer than they do."""
    command = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", *packages)
    run(*command, cwd=python.parent)
