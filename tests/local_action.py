"""Runs the steps of a composite GitHub Action on this machine, as far as a test needs it: steps with `run`.

    python tests/local_action.py action.yml judgments=qrels.txt run=new.run baseline=old.run max-drop=0.01 package=

Each step gets its own variables and GitHub's files for outputs and summaries; `if: inputs.NAME != ''` is understood.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INPUT = re.compile(r"\$\{\{\s*inputs\.([\w-]+)\s*\}\}")
ASKED = re.compile(r"inputs\.([\w-]+) != ''")


@dataclass(frozen=True)
class Ran:
    """How an action ended, and what it left."""

    code: int
    said: str
    outputs: dict[str, str]
    summary: str


def run_action(path: Path, given: dict[str, str], cwd: Path, environment: dict[str, str] | None = None) -> Ran:
    """Run an action with these inputs."""
    import yaml

    action: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    inputs = _inputs(action, given)
    said = ""
    with tempfile.TemporaryDirectory() as temporary:
        files = {name: Path(temporary, name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        code = 0
        for step in action["runs"]["steps"]:
            if condition := step.get("if"):
                (name,) = ASKED.fullmatch(condition).groups()
                if not inputs[name]:
                    continue
            own = {name: INPUT.sub(lambda found: inputs[found[1]], value) for name, value in step["env"].items()}
            assert "${{" not in step["run"] + "".join(own.values())
            done = subprocess.run(
                [step["shell"], "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=cwd,
                env={**os.environ, **(environment or {}), **{name: str(file) for name, file in files.items()}, **own}
                | {"RUNNER_TEMP": temporary, "GITHUB_ACTION_PATH": str(path.parent)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
            )
            said += done.stdout
            if code := done.returncode:
                break
        output, summary = (file.read_text(encoding="utf-8") for file in files.values())
    return Ran(code, said, dict(line.split("=", 1) for line in output.splitlines()), summary)


def _inputs(action: dict[str, Any], given: dict[str, str]) -> dict[str, str]:
    known = action["inputs"]
    assert set(given) <= set(known), set(given) - set(known)
    missing = [name for name, what in known.items() if what.get("required") and name not in given]
    assert not missing, missing
    return {name: str(given.get(name, what.get("default", ""))) for name, what in known.items()}


if __name__ == "__main__":
    ran = run_action(Path(sys.argv[1]), dict(word.split("=", 1) for word in sys.argv[2:]), Path.cwd())
    print(ran.said, ran.outputs, ran.summary, sep="\n")
    sys.exit(ran.code)
