"""Mutants: the source broken in one place at a time, in a copy of the tree, to see the tests turn red.

    make mutants                       all of them (compiled ones are rebuilt, which takes a minute each)
    python -m laws.mutants --only "log2"

Prints a table; exits with 1 where a mutant survives, or where the place that it would break is no longer there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "src/calipers/collection"
NATIVE = "src/calipers/native"
WAYS = ("tests/laws/test_ways.py",)
ACCIDENTS = ("tests/laws/test_hostile.py", "-k", "whole")


@dataclass(frozen=True)
class Mutant:
    what: str
    file: str
    old: str  # found exactly once
    new: str
    tests: tuple[str, ...] = WAYS

    @property
    def is_compiled(self) -> bool:
        return self.file.endswith((".pyx", ".hpp"))


MUTANTS = (
    # The compiled scanner.
    Mutant("compiled: no byte order mark", f"{NATIVE}/_scanner.pyx", "p[0] == 0xEF and p[1]", "p[0] == 0xEE and p[1]"),
    Mutant(
        "compiled: a query that comes back is not noticed",
        f"{NATIVE}/_scanner.pyx",
        "self.is_scattered = True",
        "self.is_scattered = False",
    ),
    # Its plain twin.
    Mutant(
        "twin: the last line is lost without a newline",
        f"{NATIVE}/plain.py",
        "if self._tail:\n                self._line",
        "if False:\n                self._line",
    ),
    Mutant("twin: a carriage return stays", f"{NATIVE}/plain.py", 'line.removesuffix(b"\\r")', "line"),
    Mutant("twin: every line may be a comment", f"{NATIVE}/plain.py", 'not line.startswith(b"#")', 'b"#" not in line'),
    # Readers.
    Mutant(
        "reader: the second member of a packed file",
        f"{COLLECTION}/files.py",
        'at -= len(stream.unused_data or b"")',
        "at -= 0",
    ),
    Mutant(
        "reader: a query in two parts",
        f"{COLLECTION}/reader.py",
        "len({*query.tolist()}) < len(query)",
        "False",
    ),
    Mutant(
        "judgments: a document judged twice",
        f"{COLLECTION}/judgments.py",
        "if grouped.pool.grade[earlier] == grouped.pool.grade[row]:",
        "if True:",
    ),
    # Forms and sums.
    Mutant(
        "form: ties at their best",
        "src/calipers/measures/forms/linear.py",
        "top.gains(self.value) * self.weight.mean(top.first, top.last)",
        "top.gains(self.value) * self.weight.mean(top.first, top.first)",
    ),
    Mutant(
        "form: pairs inside a tie",
        "src/calipers/measures/forms/paired.py",
        "(relevant - 1.0) / np.maximum(size - 1.0, 1.0)",
        "relevant / np.maximum(size - 1.0, 1.0)",
    ),
    Mutant(
        "mean: what additions lose is lost",
        "src/calipers/results/scores.py",
        "e[:, half : 2 * half] + lost",
        "e[:, half : 2 * half]",
        ("tests/results/test_numbers.py",),
    ),
    Mutant(
        "drop_in: double precision",
        "src/calipers/tools/pytrec_eval.py",
        "precision=self.rules.precision",
        'precision="double"',
    ),
    # What others read.
    Mutant(
        "escape: & in LaTeX",
        "src/calipers/results/tables.py",
        '"&%$#_{}"',
        '"%$#_{}"',
        ("tests/results/test_tables.py",),
    ),
    Mutant(
        "escape: < in a script",
        "src/calipers/plot/vega.py",
        'for character in "<>&\\u2028\\u2029":',
        'for character in ">&\\u2028\\u2029":',
        ("tests/report/test_report.py", "-k", "script"),
    ),
    Mutant(
        "output: written in place", "src/calipers/support/atomic_files.py", "yield temporary", "yield output", ACCIDENTS
    ),
)


def copy_tree(folder: Path) -> None:
    """The tracked files, as they are now, and the compiled scanner."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    built = [str(file.relative_to(ROOT)) for file in (ROOT / NATIVE).glob("_scanner*.so")]
    for name in filter(None, [*listed, *built]):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def tested(folder: Path, tests: tuple[str, ...]) -> tuple[bool, str]:
    """Whether tests pass there, and what pytest said last."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder / "tests")]),
        "PYTHONHASHSEED": "0",
    }
    data = environment.get("CALIPERS_DATA", "../shared/data")
    environment["CALIPERS_DATA"] = str((ROOT / data).resolve())
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
    )
    lines = run.stdout.strip().splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return run.returncode == 0, (failed or lines or [run.stderr[-200:]])[0 if failed else -1]


def build(folder: Path) -> None:
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, "CFLAGS": "-O0"})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="those whose description holds this")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only is None or options.only in mutant.what]
    survived = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        copy_tree(folder)
        green = set()
        for tests in dict.fromkeys(mutant.tests for mutant in chosen):
            passes, said = tested(folder, tests)
            print(f"unchanged {' '.join(tests)}: {said}", flush=True)
            if passes:
                green.add(tests)
        for mutant in sorted(chosen, key=lambda mutant: mutant.is_compiled):
            path = folder / mutant.file
            before = path.read_text(encoding="utf-8") if path.is_file() else ""
            start = time.monotonic()
            if mutant.tests not in green:
                survived += 1
                print(f"UNKNOWN   {mutant.what}: its tests fail without it", flush=True)
                continue
            if before.count(mutant.old) != 1:
                survived += 1
                print(
                    f"GONE      {mutant.what}: {mutant.file} has {before.count(mutant.old)} of {mutant.old!r}",
                    flush=True,
                )
                continue
            path.write_text(before.replace(mutant.old, mutant.new), encoding="utf-8")
            if mutant.is_compiled:
                build(folder)
            passes, said = tested(folder, mutant.tests)
            path.write_text(before, encoding="utf-8")
            survived += passes
            said = re.sub(r"^FAILED |^ERROR | - .*", "", said)
            print(
                f"{'SURVIVED' if passes else 'red':9} {mutant.what:50} {time.monotonic() - start:4.0f} s  {said}",
                flush=True,
            )
    print(f"{len(chosen)} mutants, {survived} not found")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
