"""Systems and scores: the means of all systems with their intervals."""

from __future__ import annotations

import math
from typing import Any

from calipers import plot
from calipers.report.material import Material
from calipers.report.section import Cell, Column, Detail, Grid, Row, Section, by_measure, name, number
from calipers.statistics.bounded_intervals import mean_intervals
from calipers.support.plurals import counted, plural_of

LEVEL = 0.95


def section(material: Material, detail: Detail) -> Section:
    """Return the section with the means of all systems."""
    scores = material.scores
    best = scores.systems[material.order[0]]
    top = material.scores.mean()[best, material.measure]
    extreme = "lowest" if material.measure in scores.lower else "highest"
    sentence = f"{best} has the {extreme} mean {material.measure}, {top:.4f}. "
    if material.measure in scores.lower:
        sentence += "Smaller values are better. "
    if len(scores.queries) > 1:
        sentence += (
            f"The small figures are half the width of the {LEVEL:.0%} interval of the mean over "
            f"{counted(len(scores.queries), material.unit)}. Two systems can differ significantly although their "
            "intervals overlap."
        )
    else:
        sentence += f"There is only one {material.unit}, so there are no intervals."
    charts = {m: plot.means(scores, m, LEVEL) for m in scores.measures if _defined(material, m)}
    return Section(
        sentence,
        values={"grid": _grid(material)},
        charts={"means": by_measure(charts)},
    )


def _defined(material: Material, measure: str) -> bool:
    return any(value == value for value in material.scores.mean()[measure])


def _grid(material: Material) -> Grid:
    scores = material.scores
    mean, (low, high) = scores.mean(), mean_intervals(scores, level=LEVEL)
    columns = [Column("system", numeric=False)]
    columns += [Column(m, interval=True, title=f"mean over the {plural_of(material.unit)}") for m in scores.measures]
    ends = [_ends(_floats(mean[m]), m in scores.lower) for m in scores.measures]
    rows = []
    for s in material.order:
        cells = [name(scores.systems[s])]
        for m, (best, most) in enumerate(ends, 1):
            at, least, greatest = _floats((mean.rows[s][m], low.rows[s][m], high.rows[s][m]))
            cells.append(_score(at, least, greatest, best, most))
        rows.append(Row(tuple(cells)))
    ascending = material.measure in scores.lower
    return Grid("systems", tuple(columns), tuple(rows), "systems", sorted_by=1, ascending=ascending)


def _ends(means: list[float], lower: bool) -> tuple[float, float]:
    """Return the best mean and the largest mean."""
    known = [mean for mean in means if mean == mean]
    if not known:
        return math.nan, math.nan
    return min(known) if lower else max(known), max(known)


def _score(mean: float, low: float, high: float, best: float, most: float) -> Cell:
    known = high == high
    return number(
        mean,
        kind="best" if mean == best else "",
        bar=None if mean != mean or most <= 0 else min(max(mean / max(most, 1.0), 0.0), 1.0),
        low=repr(low) if known else "",
        high=repr(high) if known else "",
        note=f"±{(high - low) / 2:.4f}" if known else "",
        title=f"{LEVEL:.0%} interval {low:.4f} to {high:.4f}" if known else "",
    )


def _floats(values: Any) -> list[float]:
    return [float(value) for value in values]
