"""The shapes that are measured: what is generated, who runs on it, and what we want to reach.

The data is made once, in a cache folder, by a process of its own (`python -m benchmarks.shapes NAME FOLDER`).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

TREC_EVAL = "TREC_EVAL"  # environment variable with the path of a trec_eval program, which is left out without it
FILE_TOOLS = ("trec_eval", "pytrec_eval", "ir_measures", "ranx", "calipers")
MEMORY_TOOLS = FILE_TOOLS[1:]
# On the variants of the large file the slower tools have to be asked for (--tool).
VARIANT_TOOLS = ("trec_eval", "pytrec_eval", "calipers")


@dataclass(frozen=True)
class Shape:
    name: str
    title: str
    kind: str  # "files": the whole process is timed; "dicts", "arrays": timed inside, in memory
    lines: int
    rounds: int  # processes per tool; the best counts
    repeats: int  # calls inside one process, where timed inside
    tools: tuple[str, ...]
    against: str  # the tool that our ratio is to
    ratio: float | None = None  # at least this many times as fast
    megabytes: float | None = None  # at most this much resident
    simulation: dict[str, Any] = field(default_factory=dict)
    shuffle: bool = False

    @property
    def able(self) -> tuple[str, ...]:
        """The tools that can do this at all."""
        return FILE_TOOLS if self.kind == "files" else self.tools

    @property
    def recipe(self) -> dict[str, Any]:
        """What the generated data depends on."""
        return {name: asdict(self)[name] for name in ("name", "kind", "simulation", "shuffle")}


# A TREC-like pool, of which a run's thousand holds three hundred; and one like MS MARCO's, somewhat richer.
TREC = {"topics": 50, "pool": 500, "unjudged": 0.7, "retrieved": 1000}
MARCO = {"topics": 6980, "pool": 10, "retrieved": 1000, "systems": 1}

SHAPES = [
    Shape(
        "small",
        "1 run x 50 queries x 1,000",
        "files",
        50_000,
        7,
        0,
        FILE_TOOLS,
        "pytrec_eval",
        simulation=TREC | {"systems": 1},
    ),
    Shape(
        "large",
        "1 run x 6,980 x 1,000",
        "files",
        6_980_000,
        3,
        0,
        FILE_TOOLS,
        "pytrec_eval",
        ratio=15,
        megabytes=300,
        simulation=MARCO,
    ),
    Shape(
        "digits",
        "large, scores of 17 digits",
        "files",
        6_980_000,
        3,
        0,
        VARIANT_TOOLS,
        "pytrec_eval",
        ratio=15,
        megabytes=300,
        simulation=MARCO | {"decimals": None},
    ),
    Shape(
        "shuffled",
        "large, lines shuffled",
        "files",
        6_980_000,
        3,
        0,
        VARIANT_TOOLS,
        "pytrec_eval",
        simulation=MARCO,
        shuffle=True,
    ),
    Shape(
        "many",
        "100 runs x 50 x 1,000",
        "files",
        5_000_000,
        3,
        0,
        FILE_TOOLS,
        "pytrec_eval",
        ratio=8,
        simulation=TREC | {"systems": 100},
    ),
    Shape(
        "dicts",
        "1 run x 50 x 1,000, dicts in memory",
        "dicts",
        50_000,
        3,
        20,
        MEMORY_TOOLS,
        "pytrec_eval",
        ratio=2,
        simulation=TREC | {"systems": 1},
    ),
    Shape(
        "arrays",
        "8 systems x 10,000 x 120, arrays in memory, tied scores",
        "arrays",
        9_600_000,
        3,
        1,
        ("sklearn", "calipers"),
        "sklearn",
        ratio=12,
    ),
]


def generate(shape: Shape, folder: Path) -> None:
    """Write the shape's data."""
    folder.mkdir(parents=True, exist_ok=True)
    if shape.kind == "arrays":
        _arrays(folder)
    else:
        from calipers.collection.simulate import simulate

        simulate(**shape.simulation).write(folder, shuffle=shape.shuffle)
    (folder / "recipe.json").write_text(json.dumps(shape.recipe), encoding="utf-8")


def is_generated(shape: Shape, folder: Path) -> bool:
    recipe = folder / "recipe.json"
    return recipe.is_file() and json.loads(recipe.read_text(encoding="utf-8")) == json.loads(json.dumps(shape.recipe))


def _arrays(folder: Path, systems: int = 8, queries: int = 10_000, documents: int = 120) -> None:
    import numpy as np

    rng = np.random.default_rng(42)
    labels = rng.choice(5, size=(queries, documents), p=(0.5, 0.3, 0.12, 0.05, 0.03)).astype(np.float64)
    noise = rng.standard_normal((systems, queries, documents))
    # Two decimals leave about a quarter of the scores tied.
    scores = np.round(labels * np.linspace(0.2, 1, systems)[:, None, None] + noise, 2)
    np.save(folder / "labels.npy", labels)
    np.save(folder / "scores.npy", scores)


if __name__ == "__main__":
    generate(next(shape for shape in SHAPES if shape.name == sys.argv[1]), Path(sys.argv[2]))
