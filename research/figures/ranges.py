"""Writes the figures of research/ranges.md: `python -m research.figures.ranges DATA`.

DATA is a folder with trec/covid-round1 and trec/trec8-adhoc.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import calipers as cal
from calipers import Table, plot
from calipers.questions.pool import leave_out_uniques
from research.figures.pages import DOCS, RESEARCH, replace

IMAGES = DOCS / "images"
MEASURE = "nDCG@10"


def of_ranges(found: cal.questions.ranges.Ranges) -> str:
    """The runs ranked 1st, 36th, 72nd, 108th and last."""
    rows = []
    order = np.argsort(-found.score[MEASURE].mean(axis=1), kind="stable")
    for s in order[[0, 35, 71, 107, -1]].tolist():
        for name in found.measures:
            low, score, high = (float(ends[name][s].mean()) for ends in (found.low, found.score, found.high))
            rows.append((found.systems[s], name, low, score, high))
    return Table(("system", "measure", "low", "score", "high"), tuple(rows)).to_markdown()


def of_pairs(found: cal.questions.ranges.Ranges) -> str:
    """How much is decided, and three pairs: one that no judgment tells apart, one that is open, one that is decided."""
    lines = []
    for name in (MEASURE, "P@10", "RR"):
        pairs = found.pair_ranges(name)
        significant, turning = found.significant(name)
        lines.append((name, len(pairs.a), int(pairs.decided.sum()), significant, turning, pairs.exactness))
    pairs = found.pair_ranges(MEASURE)
    difference, low, high = pairs.means
    good = found.score[MEASURE].mean(axis=1)
    good = (good[pairs.a] > 0.3) & (good[pairs.b] > 0.3)
    width = high - low
    alike = int(np.argmin(np.where(good & ~pairs.decided & (width > 0.001), width, np.inf)))  # not the same list twice
    open_pairs = good & ~pairs.decided & (np.abs(difference) > 0.05)
    could = int(np.argmax(np.where(open_pairs, width, -np.inf)))
    sure = int(np.argmax(np.where(good & pairs.decided, width, -np.inf)))
    chosen = [(found.systems[pairs.a[i]], found.systems[pairs.b[i]]) for i in (alike, could, sure)]
    plot.save(plot.difference_ranges(found, chosen, MEASURE), str(IMAGES / "ranges-pairs.png"))
    columns = ("measure", "pairs", "decided", "significant (t, Holm)", "of these open", "ranges")
    said = [
        (f"{a} − {b}", float(difference[i]), float(low[i]), float(high[i]), "decided" if pairs.decided[i] else "open")
        for (a, b), i in zip(chosen, (alike, could, sure), strict=True)
    ]
    shown = Table(("pair", "difference", "low", "high", "verdict"), tuple(said)).to_markdown()
    return f"{Table(columns, tuple(lines)).to_markdown()}\n{shown}"


def of_uniques(folder: Path) -> str:
    with (folder / "runs.csv").open(newline="") as lines:
        groups = {row["run"]: row["group"] for row in csv.DictReader(lines)}
    qrels = next(path for path in folder.iterdir() if path.name.startswith("qrels"))
    found = leave_out_uniques(cal.Experiment(qrels, folder / "runs", ["AP", "P@10"]), groups=groups, depth=100)
    rows = []
    for m, name in enumerate(found.measures):
        loss = found.score[m] - found.without_group[m]
        share = loss / np.maximum(found.score[m], 1e-9)
        worst = int(np.argmax(share))
        rows.append(
            (name, f"{share.mean():.2%}", f"{share[worst]:.1%}", found.systems[worst], f"{found.tau()[name]:.4f}")
        )
    return Table(("measure", "mean loss", "largest loss", "of", "tau"), tuple(rows)).to_markdown()


def main(data: Path) -> None:
    covid = data / "trec/covid-round1"
    found = cal.Experiment(covid / "qrels-rnd1.txt", covid / "runs", [MEASURE, "AP", "RR", "P@10"]).ranges()
    replace(RESEARCH / "ranges.md", "covid-ranges", of_ranges(found))
    replace(RESEARCH / "ranges.md", "covid-pairs", of_pairs(found))
    replace(RESEARCH / "ranges.md", "trec8-uniques", of_uniques(data / "trec/trec8-adhoc"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
