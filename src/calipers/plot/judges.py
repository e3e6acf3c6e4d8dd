"""Charts of judges: what they call each grade, and how systems move under them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import chosen_measure
from calipers.plot.drawing import Chart
from calipers.plot.specifications import (
    COLOURS,
    category,
    cell_size,
    condition,
    label_expression,
    labels,
    layer,
    mark,
    numbers,
    palette,
    quantity,
)
from calipers.results.tables import as_number

if TYPE_CHECKING:
    from calipers.questions.judges.agreement import Confusion
    from calipers.questions.judges.effects_on_systems import Effects

NAMED = 6  # number of lines with colours: the systems that move most


def confusion(found: Confusion) -> Chart:
    """Draw how often a judge gave each grade, for each grade of the human. Darker: a larger share of the row."""
    share = found.counts / np.maximum(found.counts.sum(axis=1, keepdims=True), 1)
    rows = [
        {"human": f"{row:g}", "judge": f"{column:g}", "labels": int(found.counts[i, j]), "share": float(share[i, j])}
        for i, row in enumerate(found.grades)
        for j, column in enumerate(found.grades)
    ]
    places = {
        "x": category(
            "judge",
            title=f"grade by {found.judge}",
            sort=[f"{c:g}" for c in found.grades],
            axis={"labelAngle": 0, "orient": "top"},
        ),
        "y": category("human", title="grade by the human", sort=[f"{r:g}" for r in found.grades]),
        "tooltip": [
            *labels("human", "judge"),
            quantity("labels"),
            *numbers("share=of the human's", format=".1%"),
        ],
    }
    scale = {"domain": [0, 1], "range": ["#f4f6f8", COLOURS[0]]}
    colour = quantity("share", title="of the human's", scale=scale, legend={"format": "%"})
    layers = [layer(mark("rect", stroke="white"), **places, color=colour)]
    if len(found.grades) <= 10:
        ink = condition("datum.share > 0.5", "white", "#333333")
        layers.append(layer(mark("text", fontSize=11), **places, text=quantity("labels"), color=ink))
    step = {"step": cell_size(len(found.grades), 360)}
    title = f"Grades by {found.judge} for each grade by the human"
    return Chart.of(rows, *layers, width=step, height=step, title=title)


def slopes(effects: Effects, measure: str | None = None) -> Chart:
    """Draw the rank of each system under the human's labels and under each judge's, as one line per system.

    The systems that move most have colours.
    """
    m = chosen_measure(measure, effects.measures)
    ranks = [
        (row[2], row[0], as_number(row[5]), as_number(row[6]))
        for row in effects.ranks().rows
        if row[1] == effects.measures[m]
    ]
    human = effects.names[0]
    rows = [{"system": s, "judge": human, "rank": ours} for s, judge, ours, _ in ranks if judge == effects.judges[0]]
    rows += [{"system": s, "judge": judge, "rank": theirs} for s, judge, _, theirs in ranks]
    moved: dict[Any, float] = {}
    for system, _, ours, theirs in ranks:
        moved[system] = max(moved.get(system, 0.0), abs(ours - theirs))
    named = sorted(moved, key=lambda system: -moved[system])[:NAMED]
    others = "the other systems"
    for row in rows:
        row["line"] = row["system"] if row["system"] in named else others
    order = [human, *effects.judges]
    colours = [*map(str, named)]
    channels = {
        "x": category(
            "judge",
            sort=order,
            title=None,
            axis={"labelAngle": -20, "labelLimit": 0, "orient": "top", **label_expression(order)},
        ),
        "y": quantity(
            "rank",
            scale={"reverse": True, "domain": [1, len(effects.systems)]},
            title=f"rank by {effects.measures[m]}",
        ),
        "detail": category("system"),
        "color": category(
            "line",
            scale=palette(colours, others),
            title="moves most",
            legend={"labelLimit": 0, **label_expression(colours)},
        ),
        "tooltip": [*labels("system", "judge"), quantity("rank")],
    }
    lines = layer(mark("line", strokeWidth=1.5, opacity=0.8), **channels)
    dots = layer(mark("circle", size=30), **channels)
    height = max(160, min(14 * len(effects.systems), 900))
    title = f"{effects.measures[m]}: the systems under each judge"
    return Chart.of(rows, lines, dots, width=max(220, 110 * len(order)), height=height, title=title)
