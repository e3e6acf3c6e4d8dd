"""One run of 7 million rows as Parquet, CSV and TREC lines, against polars reading it: `python -m benchmarks.formats`.

As for all files, whole processes are timed: the start of the interpreter and all imports included, ours and polars'.
Below them, what the same calls take in a process that has everything loaded. They take turns; the best counts. The
table goes into benchmarks/formats.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import measure
from benchmarks.report import fill_in, seconds
from benchmarks.start import CALIPERS, compile_bytecode

HERE = Path(__file__).resolve().parent
QUERIES, DEPTH, JUDGED = 7000, 1000, 10
MEASURES = ["nDCG@10", "AP", "P@10", "Recall@1000", "RR", "RBP(p=0.8)"]
ENDINGS = ("parquet", "csv", "txt")
MOST = 1.5  # times polars reading the Parquet


def generate(folder: Path) -> None:
    """A run with ids as text and scores of full precision, and judgments of some of its documents."""
    import numpy as np
    import polars as pl

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(42)
    query = np.repeat(np.arange(1, QUERIES + 1), DEPTH).astype(str)
    # Steps of a random size from a random start, modulo a prime: distinct within a query without looking.
    start, step = rng.integers(1, 5_000_000, (2, QUERIES, 1))
    document = (start + np.arange(DEPTH) * step) % 10_000_019
    score = -np.sort(-rng.normal(10, 3, (QUERIES, DEPTH)), axis=1)
    run = pl.DataFrame({"query_id": query, "doc_id": document.ravel().astype(str), "score": score.ravel()})
    run = run.with_columns(doc_id="d" + pl.col("doc_id"))
    rank = rng.permuted(np.tile(np.arange(DEPTH), (QUERIES, 1)), axis=1)[:, :JUDGED]
    judged = run[np.sort((rank + np.arange(QUERIES)[:, None] * DEPTH).ravel())].drop("score")
    qrels = judged.with_columns(relevance=pl.Series(rng.integers(0, 3, len(judged))))
    run.write_parquet(folder / "run.parquet")
    run.write_csv(folder / "run.csv")
    lines = run.select("query_id", pl.lit("Q0").alias("0"), "doc_id", pl.lit(1).alias("1"), "score", pl.lit("s"))
    lines.write_csv(folder / "run.txt", separator=" ", include_header=False)
    qrels.write_parquet(folder / "qrels.parquet")
    (folder / "done").touch()


def inside(folder: Path, rounds: int) -> dict[str, float]:
    """Seconds of the calls alone."""
    import polars as pl

    import calipers as cal

    qrels, run = folder / "qrels.parquet", folder / "run.parquet"
    judgments, frame = cal.read_judgments(qrels), pl.read_parquet(run)
    tasks: dict[str, Callable[[], Any]] = {
        "polars.read_parquet": lambda: pl.read_parquet(run),
        "evaluate, Parquet": lambda: cal.evaluate(qrels, run, MEASURES),
        "evaluate, polars frame": lambda: cal.evaluate(judgments, frame, MEASURES),
    }
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def processes(folder: Path, rounds: int) -> dict[str, tuple[float, float, float]]:
    """Wall clock, CPU time and megabytes of whole processes."""
    reading = f"import polars; polars.read_parquet({str(folder / 'run.parquet')!r})"
    commands = {"polars.read_parquet": [sys.executable, "-c", reading]}
    for ending in ENDINGS:
        files = [str(folder / "qrels.parquet"), str(folder / f"run.{ending}")]
        commands[f"evaluate, {ending}"] = [CALIPERS, "evaluate", *files, "-m", " ".join(MEASURES), "--format", "csv"]
    best: dict[str, tuple[float, float, float]] = {}
    answers: dict[str, str] = {}
    for _ in range(rounds):
        for name, command in commands.items():
            measured = measure(command)
            now = (measured.seconds, measured.cpu, measured.megabytes)
            best[name] = min(best.get(name, now), now)
            answers[name] = measured.output.partition("\n")[2].partition(",")[2]
    if len({answers[f"evaluate, {ending}"] for ending in ENDINGS}) > 1:
        raise SystemExit(f"the formats disagree: {answers}")
    return best


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formats", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=HERE.parent / ".bench", help="folder of generated data")
    parser.add_argument("--only", choices=("generate", "inside"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.cache / "formats"
    if options.only == "generate":
        return generate(folder)
    if options.only == "inside":
        return print(json.dumps(inside(folder, options.rounds)))

    if os.getloadavg()[0] > 0.5:
        print("other programs are running: the figures will not be comparable", file=sys.stderr)
    again = [sys.executable, "-m", "benchmarks.formats", "--cache", str(options.cache), "--rounds", str(options.rounds)]
    if not (folder / "done").is_file():
        measure([*again, "--only", "generate"])
    compile_bytecode()
    whole = processes(folder, options.rounds)
    loaded = json.loads(measure([*again, "--only", "inside"]).output)

    base, alone = whole["polars.read_parquet"][0], loaded["polars.read_parquet"]
    rows = [
        f"| {name}, whole process | {seconds(wall)} | {seconds(cpu)} | {memory:.0f} MB | {wall / base:.2f}x |"
        for name, (wall, cpu, memory) in whole.items()
    ]
    rows += [f"| {name}, the call alone | {seconds(wall)} | | | {wall / alone:.2f}x |" for name, wall in loaded.items()]
    head = [
        f"{QUERIES * DEPTH:,} rows, {os.cpu_count()} cores, best of {options.rounds}.",
        "",
        "| what | time | CPU time | memory | polars = 1 |",
        "|---|---:|---:|---:|---:|",
    ]
    table = "\n".join([*head, *rows]) + "\n"
    print(table)
    for what, ratio in (
        ("whole processes", whole["evaluate, parquet"][0] / base),
        ("the calls alone", loaded["evaluate, Parquet"] / alone),
    ):
        print(f"{'met' if ratio <= MOST else 'NOT MET'}: Parquet to scores, {what}: {ratio:.2f} times (target: {MOST})")
    fill_in(HERE / "formats.md", "formats", table)
    return None


if __name__ == "__main__":
    main()
