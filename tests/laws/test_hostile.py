"""A few hundred of the commands of `make fuzz`: hostile input, and accidents while something is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from time_limit import TIME_LIMIT

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def counts_of(module: str, *arguments: str) -> dict[str, int]:
    """What a run of a law counted, none of it broken. It forks, so it has a process of its own."""
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    counts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 100_001])
def test_no_input_causes_a_traceback_or_a_hang(seed: int) -> None:
    counts = counts_of("laws.hostile", "--n", "120", "--seed", str(seed))
    assert counts["exit 0"] > 10
    assert counts["exit 2"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 200_001])
def test_no_options_cause_a_traceback_a_hang_or_a_warning_of_a_library(seed: int) -> None:
    """600 commands in all, with options of every command."""
    counts = counts_of("laws.hostile", "--kind", "options", "--n", "300", "--seed", str(seed))
    assert counts["exit 0"] > 30
    assert counts["exit 2"] > 30


@pytest.mark.slow
def test_an_output_is_old_or_new_and_whole() -> None:
    counts = counts_of("laws.kills", "--rounds", "1", "--seconds", str(TIME_LIMIT))
    assert counts["killed"] >= 4
    assert counts["full"] >= 14
    assert counts["closed"] >= 4
