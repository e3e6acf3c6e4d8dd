"""A plain install, without optional packages: CSV, JSON and TREC files are evaluated, inspected and compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT

FILES = {
    "qrels.txt": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n",
    "qrels.csv": "query,doc,grade\nq1,d1,1\nq1,d2,0\nq2,d3,1\n",
    "qrels.json": '{"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 1}}',
    "new.txt": "q1 Q0 d2 1 2.5 new\nq1 Q0 d1 2 1.5 new\nq2 Q0 d3 1 2.5 new\n",
    "new.csv": "query,doc,score\nq1,d2,2.5\nq1,d1,1.5\nq2,d3,2.5\n",
    "new.json": '{"q1": {"d2": 2.5, "d1": 1.5}, "q2": {"d3": 2.5}}',
}
BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in NAMES:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Blocked())
from calipers.cli import main
main()
"""


def optional_modules() -> set[str]:
    """Return the modules of all extras in pyproject.toml."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    names = {re.split(r"[<>=;\[ ]", each)[0].lower() for extra in extras.values() for each in extra}
    modules = {"vl-convert-python": "vl_convert", "backports.zstd": "backports"}
    return {modules.get(name, name.replace("-", "_")) for name in names}


@pytest.mark.parametrize("ending", ["txt", "csv", "json"])
@pytest.mark.parametrize("command", ["evaluate", "inspect"])
def test_a_plain_install_reads_csv_json_and_trec(command: str, ending: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    blocked = optional_modules() | {"sklearn", "lightgbm"}  # for these, users bring the library themselves
    assert {"pandas", "polars", "pyarrow", "narwhals", "vl_convert"} <= blocked
    options = ["-m", "RR"] if command == "evaluate" else []
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"NAMES = {sorted(blocked)!r}\n{BLOCKED}",
            command,
            f"qrels.{ending}",
            f"new.{ending}",
            *options,
            "--format",
            "csv",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    if command == "evaluate":
        assert done.stdout == "system,RR\nnew,0.75\n"
