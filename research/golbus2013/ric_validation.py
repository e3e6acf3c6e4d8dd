"""Figure 2 of Golbus & Aslam (2013) for any runs: rank correlations of RIC with AP, nDCG and GAP."""

from __future__ import annotations

import numpy as np

from calipers import Table
from calipers.questions.information import OTHERS, RicStudy
from calipers.results import Cell
from calipers.statistics import rank_correlation

TOP = 10


def correlations(study: RicStudy, top: int = TOP) -> Table:
    """Return tau and rho of RIC with other measures, over all systems and over the best ones by the other measure."""
    pairs = [("RIC", name) for name in OTHERS] + [("signed", name) for name in OTHERS] + [("AP", "nDCG")]
    rows: list[tuple[Cell, ...]] = []
    for one, other in pairs:
        x, y = study.mean(one), study.mean(other)
        best = np.argsort(-y, kind="stable")[:top]
        cells = [
            rank_correlation(x[some], y[some], kind) for some in (slice(None), best) for kind in ("tau-b", "spearman")
        ]
        rows.append((one, other, *cells))
    columns = ("measure", "against", "tau", "rho", f"tau top {top}", f"rho top {top}")
    return Table(columns, tuple(rows), {**study.metadata, "systems": len(study.systems)})
