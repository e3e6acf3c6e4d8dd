"""Golbus & Aslam (2013): information tau (table 1), discriminative power by Sakai's paired bootstrap (table 2),
information difference (table 4). Only the AP of TREC 8's systems is public; a folder can hold the
rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calipers.metaeval.power import discriminative_power
from calipers.papers.printed_figures import EXACT, NEEDS_DATA, Figure, judged
from calipers.papers.registry import printed, reproduction

FILES = {("TREC 8", "AP"): "adhoc8_ap.csv"}
SEEDS = 10
DATA = "AP of the systems of TREC 8"
LAYOUT = (
    "adhoc8_ap.csv: AP of the systems of TREC 8's ad hoc task, one row per topic and one column per system "
    "(published with Urbano, Lima & Hanjalic, SIGIR 2019)"
)


@reproduction("golbus2013/table-2", "Discriminative power of AP, nDCG and RIC on TREC 8 and 9", DATA, LAYOUT)
def _table_2(folder: Path | None) -> Sequence[Figure]:
    found = []
    for collection, figures in printed("golbus2013")["table-2"]["cells"].items():
        for measure, figure in figures.items():
            cell = f"{collection}, {measure}"
            file = FILES.get((collection, measure))
            path = None if folder is None or file is None else folder / file
            if path is None or not path.is_file():
                why = "" if file else "needs the runs, not only scores of AP"
                found.append(Figure(cell, figure, None, NEEDS_DATA, why))
            else:
                found.append(_power(cell, figure, path))
    return found


def _power(cell: str, figure: str, path: Path) -> Figure:
    """Sakai's bootstrap, 1,000 samples, two-sided, as the paper says; and how much that depends on the samples."""
    from calipers.results.score_files import read_scores

    scores = read_scores(path, measures="AP")
    power = [discriminative_power(scores, "bootstrap", samples=1000, seed=seed)["AP"] for seed in range(42, 42 + SEEDS)]
    low, high = min(power), max(power)
    about = f"{len(scores.systems)} systems, {len(scores.queries)} topics; {SEEDS} seeds give {low:.4f} to {high:.4f}"
    student = discriminative_power(scores)["AP"]
    result = judged(cell, figure, power[0], (low, high), about, about)
    if result.verdict == EXACT:
        return result
    why = (
        f"chance of resampling: {about}, {np.mean(power):.4f} in the mean; the paired t test gives {student:.4f}. "
        "These scores have four digits"
    )
    return Figure(cell, figure, result.computed, result.verdict, why)


# -- tables 1 and 4 ----------------------------------------------------------------------------------


@reproduction(
    "golbus2013/table-1",
    "Information tau of diversity measures, given ad hoc measures",
    "scores of the systems of TREC's web tracks",
    "web2010/ and web2011/ with ERR-IA.csv, alpha-nDCG.csv, D#-nDCG.csv, ERR.csv and nDCG.csv: at rank 20, "
    "one row per topic and one column per system",
)
def _table_1(folder: Path | None) -> Sequence[Figure]:
    found = []
    for collection, figures in printed("golbus2013")["table-1"]["cells"].items():
        place = None if folder is None else folder / f"web{collection.split()[1]}"
        for row, figure in figures.items():
            cell = f"{collection}, {row}"
            if place is None or not place.is_dir():
                found.append(Figure(cell, figure, None, NEEDS_DATA))
                continue
            both, _, given = row.partition(" | ")
            names = [name.strip() for name in (*both.split(";"), *given.split(",")) if name.strip()]
            found.append(judged(cell, figure, _information_tau(place, names)))
    return found


def _information_tau(folder: Path, names: Sequence[str]) -> float:
    from calipers.information.tau import tau_of_measures
    from calipers.results.score_files import read_scores

    scores = read_scores([folder / f"{name}.csv" for name in names], measures=names)
    x, y, *given = names
    return float(np.nanmean(tau_of_measures(scores, x, y, given)[x, y, *given]))


@reproduction(
    "golbus2013/table-4",
    "Information difference and difference in AP of systems of TREC 8",
    "runs of TREC 8's ad hoc task",
    "trec8/qrels.txt and trec8/runs/ with the ten pairs of runs of the table",
)
def _table_4(folder: Path | None) -> Sequence[Figure]:
    cells = printed("golbus2013")["table-4"]["cells"]
    computed: dict[str, tuple[float, float]] = {}
    if folder is not None and (folder / "trec8/qrels.txt").is_file():
        from calipers.information.difference import information_difference

        known = information_difference(folder / "trec8/qrels.txt", str(folder / "trec8/runs"))
        place = {name: i for i, name in enumerate(known.systems)}
        for pair in cells:
            one, other = (place.get(name) for name in pair.split(", "))
            if one is not None and other is not None:
                computed[pair] = float(known.matrix[one, other]), abs(float(known.ap[one] - known.ap[other]))
    found = []
    for pair, figures in cells.items():
        for i, (what, figure) in enumerate(zip(("id", "|delta AP|"), figures, strict=True)):
            if pair not in computed:
                found.append(Figure(f"{pair}: {what}", figure, None, NEEDS_DATA, "the runs are not public"))
            else:
                found.append(judged(f"{pair}: {what}", figure, computed[pair][i]))
    return found
