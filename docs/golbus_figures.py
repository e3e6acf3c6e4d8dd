"""Writes the pictures of Golbus & Aslam's (2013) figures: `python docs/golbus_figures.py DATA [2] [3] [5]`.

DATA is a folder with trec/trec8-adhoc and trec/trec9-web. Figure 3 takes minutes: 100 groups of ten systems are fused.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from calipers import plot
from calipers.information.ric_validation import ric_study
from calipers.papers import golbus2013 as paper
from calipers.plot.drawing import altair

IMAGES = Path(__file__).resolve().parent / "images"


def collection(data: Path, name: str) -> paper.Collection:
    found = paper.collection(data, name)
    assert found is not None, f"{data} lacks {paper.FOLDERS[name]}"
    return found


def figure_2(data: Path) -> Any:
    """RIC against AP and nDCG on TREC 8, GAP and nDCG on TREC 9."""
    charts = []
    for name, measures in (("TREC 8", ("AP", "nDCG")), ("TREC 9", ("GAP", "nDCG"))):
        known = collection(data, name)
        study = ric_study(known.judgments, list(known.runs), ties="docid")
        charts += [plot.ric_scatter(study, measure).properties(title=f"{name}, {measure}") for measure in measures]
    return altair().concat(*charts, columns=2)


def figure_3(data: Path) -> Any:
    """RIC of fusions against the joint RIC of ten systems of TREC 8."""
    drawn = paper.drawn_groups(collection(data, "TREC 8"), paper.BEST_3)
    return plot.fusion_scatter(cast("Any", SimpleNamespace(joint=drawn.joint, ric=drawn.ric)))


def figure_5(data: Path) -> Any:
    """Information difference against |delta AP| of TREC 8's pairs of systems."""
    return plot.difference_scatter(paper.differences(collection(data, "TREC 8"), paper.BEST_4))


if __name__ == "__main__":
    folder, *wanted = sys.argv[1:]
    for number, draw in (("2", figure_2), ("3", figure_3), ("5", figure_5)):
        if not wanted or number in wanted:
            plot.save(draw(Path(folder)), str(IMAGES / f"golbus-figure-{number}.png"))
