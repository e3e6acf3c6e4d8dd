"""How long fusion and the measures of diversity take: `python -m benchmarks.fusion [--data FOLDER]`.

Ten simulated runs of 50 topics x 1,000 documents from their files, and with --data the 143 runs of TREC-COVID round 1
(trec/covid-round1 in that folder), packed as they are; measures of diversity of one run of 50 x 1,000 on simulated
judgments by subtopic. Best of the rounds, in one process, reading included, writing not. 126 such runs (6.3 million
lines) are fused by a process of its own, for its memory.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

from benchmarks.measure import measure
from benchmarks.report import publish, seconds, verdict
from benchmarks.stats import best

ROUNDS = 3
FAST = ("combsum", "combmnz", "combmed", "borda", "rrf", "condorcet")
SLOW = ("copeland", "naive", "pareto", "majoritarian")  # no target: pairs of documents, or graphs of them
TIME, MEMORY = attrgetter("seconds"), attrgetter("megabytes")
LARGE = 126  # runs
FUSE = "import sys, calipers; calipers.fuse(sys.argv[1:]).load()"
DIVERSITY = "ERR-IA@20 nERR-IA@20 alpha-DCG@20 alpha-nDCG@20 NRBP P-IA@20 AP-IA StRecall@20 D-nDCG@20 D#-nDCG@20"


def fusions(qrels: Path, runs: list[Path], methods: tuple[str, ...]) -> Iterator[tuple[str, Callable[[], Any]]]:
    import calipers as cal
    from calipers.questions.fuse.oracles import BOUNDS

    for name in methods:
        if name in BOUNDS:
            yield name, lambda name=name: cal.questions.fuse.fusion_bound(qrels, runs, name)
        else:
            yield name, lambda name=name: cal.fuse(runs, name)


def diversity() -> Callable[[], Any]:
    """One run of 50 x 1,000, eight subtopics a topic."""
    import numpy as np

    import calipers as cal

    made = cal.simulate(50, pool=300, systems=1, retrieved=1000)
    random = np.random.default_rng(42)
    judged = {
        query: {
            str(i): {d: int(random.random() < 0.3) * g for d, g in graded.items()}
            for i, graded in enumerate([graded] * 8, 1)
        }
        for query, graded in made.qrels.items()
    }
    run = next(iter(made.runs.values()))
    return lambda: cal.evaluate(cal.SubtopicJudgments.from_subtopics(judged), run, DIVERSITY)


def main() -> None:
    import calipers as cal

    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion", description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path, help="write the table there too")
    options = parser.parse_args()
    lines = [
        f"Best of {ROUNDS}, one process; load {os.getloadavg()[0]:.1f} before it started.",
        "",
        "| what | how | time | target | |",
        "|---|---|---:|---:|---|",
    ]

    def measured(what: str, how: str, run: Callable[[], Any], target: float | None, rounds: int = ROUNDS) -> None:
        took = best(run, rounds)
        asked = "" if target is None else seconds(target)
        lines.append(f"| {what} | {how} | {seconds(took)} | {asked} | {verdict(took, target)} |")

    with tempfile.TemporaryDirectory() as folder:
        qrels, runs = cal.simulate(50, pool=500, systems=10, retrieved=1000).write(folder)
        for name, run in fusions(qrels, runs, FAST):
            measured("10 runs of 50 x 1,000", name, run, 0.5)
        for name, run in fusions(qrels, runs, SLOW):
            measured("10 runs of 50 x 1,000", name, run, None, 1)
    with tempfile.TemporaryDirectory() as folder:
        _, runs = cal.simulate(50, pool=500, systems=LARGE, retrieved=1000, unjudged=0.7).write(folder)
        found = [measure([sys.executable, "-c", FUSE, *map(str, runs)]) for _ in range(ROUNDS)]
        took, most = (min(map(of, found)) for of in (TIME, MEMORY))
        what = f"{LARGE} runs of 50 x 1,000"
        lines.append(f"| {what} | combmnz, a process | {seconds(took)} | {seconds(2.1)} | {verdict(took, 2.1)} |")
        lines.append(f"| {what} | combmnz, its memory | {most:.0f} MB | 435 MB | {verdict(most, 435)} |")
    if options.data:
        here = options.data / "trec/covid-round1"
        files = sorted((here / "runs").iterdir())
        for name, run in fusions(here / "qrels-rnd1.txt", files, ("combmnz", "rrf", "condorcet")):
            measured("143 runs of TREC-COVID", name, run, 10.0, 1)
    measured("diversity, one run of 50 x 1,000", "ten measures", diversity(), 1.0)
    publish(lines, options.output)


if __name__ == "__main__":
    main()
