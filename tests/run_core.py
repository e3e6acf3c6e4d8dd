"""Run the core tests against the installed package, not the source tree: `python tests/run_core.py PROJECT`.

A copy of the tests runs in a temporary folder, so that nothing of the tree can be imported. It needs pytest and
hypothesis only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main(project: Path) -> int:
    """Return pytest's exit code."""
    core = (project / "tests" / "core.txt").read_text(encoding="utf-8").split()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(project / "tests", Path(folder, "tests"), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(project / "docs", Path(folder, "docs"))  # examples that tests read
        shutil.copy(project / "pyproject.toml", folder)
        marks = "not (slow or peers or data or browser or java)"
        command = [sys.executable, "-m", "pytest", "-q", "-m", marks, *core]
        # Without CI, tests whose tools are missing are skipped.
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        return subprocess.run(command, cwd=folder, env=environment | {"HYPOTHESIS_PROFILE": "quick"}).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
