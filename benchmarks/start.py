"""What it costs to start: importing the package, and the commands that compute nothing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from benchmarks.measure import measure

CALIPERS = str(Path(sys.executable).parent / "calipers")
COMMANDS = {
    "python, nothing": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import calipers": [sys.executable, "-c", "import calipers"],
    "import calipers, and evaluate": [sys.executable, "-c", "import calipers; calipers.evaluate"],
    "calipers --version": [CALIPERS, "--version"],
    "calipers --help": [CALIPERS, "--help"],
}
MOST = 1.3  # times `import numpy`


def compile_bytecode() -> None:
    """Uncompiled modules would make every import look three times as slow as users see it.

    In a process of its own: the memory that compiling takes would be measured with every child (measure.py).
    """
    found = [importlib.util.find_spec(name) for name in ("calipers", "numpy", "click")]
    folders = [str(Path(each.origin).parent) for each in found if each is not None and each.origin is not None]
    measure([sys.executable, "-m", "compileall", "-qq", *folders])


def start_up(rounds: int = 15) -> dict[str, float]:
    """Seconds of each command, the whole process, best of the rounds; the commands take turns."""
    compile_bytecode()
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            times[name].append(measure(command).seconds)
    return {name: min(seconds) for name, seconds in times.items()}


def import_ratio(times: dict[str, float]) -> float:
    """`import calipers` as a multiple of `import numpy`, the interpreter's own start taken off both."""
    bare = times["python, nothing"]
    return (times["import calipers"] - bare) / (times["import numpy"] - bare)
