"""How long information takes: `python -m benchmarks.information --data FOLDER`.

The 129 runs of TREC-8's ad hoc task (trec/trec8-adhoc in that folder): the information difference of all 8,256 pairs,
the joint RIC of ten systems over 50 topics beside its null value, and groups of ten systems as table 3 of Golbus &
Aslam (2013) draws them. Best of the rounds, in one process. Targets are of the time on the clock of a quiet machine,
and nothing is said about them on a busy one; the time of the processors, over all threads, depends less on what else
the machine does.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.__main__ import BUSY
from benchmarks.report import publish, seconds, verdict

ROUNDS = 3
GROUPS = 24


def best(function: Callable[[], Any]) -> tuple[float, float]:
    """The least time on the clock, and the least of the processors."""
    found = []
    for _ in range(ROUNDS):
        clock, used = time.perf_counter(), time.process_time()
        function()
        found.append((time.perf_counter() - clock, time.process_time() - used))
    return min(clock for clock, _ in found), min(used for _, used in found)


def main() -> None:
    import calipers as cal
    from calipers.questions.information.information_difference import difference_of
    from calipers.questions.information.joint_information import joint_of
    from research.golbus2013 import tables as paper
    from research.golbus2013.fusion_study import FUSIONS
    from research.golbus2013.groups import joint_of_groups, rics_of_groups

    parser = argparse.ArgumentParser(prog="python -m benchmarks.information", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, help="write the table there too")
    options = parser.parse_args()
    known = paper.collection(options.data, "TREC 8")
    if known is None:
        raise SystemExit(f"{options.data} has no {paper.FOLDERS['TREC 8']}")
    load = os.getloadavg()[0]
    lines = [
        f"Best of {ROUNDS}, one process, {os.cpu_count()} cores; load {load:.1f} before it started.",
        "",
        "| what | on the clock | target | | of the processors |",
        "|---|---:|---:|---|---:|",
    ]

    def measured(what: str, run: Callable[[], Any], target: float | None = None) -> None:
        clock, used = best(run)
        asked = "" if target is None else seconds(target)
        said = verdict(clock, target) if load < BUSY else "" if target is None else "busy"
        lines.append(f"| {what} | {seconds(clock)} | {asked} | {said} | {seconds(used)} |")

    place = options.data / paper.FOLDERS["TREC 8"]
    files = sorted((place / "runs").iterdir())
    qrels = place / "qrels.txt"
    measured(
        "information difference of 8,256 pairs, from 129 packed files",
        lambda: cal.questions.information.difference(cal.Experiment(qrels, files, warn=False)),
        6.0,
    )
    ten = files[::13][:10]
    measured(
        "joint RIC of ten systems, 50 topics, 20 draws of its null value, its correction, from ten packed files",
        lambda: cal.questions.information.joint(cal.Experiment(qrels, ten, warn=False)),
    )
    rankings = known.rankings("average")
    ap = np.zeros((len(rankings.systems), len(known.judgments.queries)))
    measured("the 8,256 differences, files read before", lambda: difference_of(rankings, ap), 6.0)
    some = replace(rankings, systems=rankings.systems[::13][:10], rank=rankings.rank[::13][:10])
    measured("the joint RIC, its null value and its correction, files read before", lambda: joint_of(some), 1.0)
    groups = paper.groups_of_systems(known, GROUPS)
    measured("the joint RIC alone", lambda: joint_of_groups(rankings, groups[:1]), 1.0)
    measured(f"the joint RIC of {GROUPS} groups of ten", lambda: joint_of_groups(rankings, groups))
    wanted = [paper.fusion_under(name, paper.BEST_3) for name in FUSIONS]
    scored = {wanted[0].unjudged: known.scored(wanted[0].unjudged)}
    shown = [paper.shown_under(paper.BEST_3)]
    measured(
        f"RIC of six fusions of {GROUPS} groups",
        lambda: rics_of_groups(scored, known.judgments.pool, wanted, groups, shown),
    )
    publish(lines, options.output)


if __name__ == "__main__":
    main()
