"""Charts of judges: what they call each grade, and how systems move under them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import chosen_measure
from calipers.plot.drawing import (
    COLOURS,
    altair,
    cell_size,
    chart,
    label_expression,
    numbers,
    palette,
    rows_of,
)  # fmt: skip
from calipers.results.tables import as_number

if TYPE_CHECKING:
    from calipers.judging.agreement import Confusion
    from calipers.judging.effects_on_systems import Effects

NAMED = 6  # number of lines with colours: the systems that move most


@chart
def confusion(found: Confusion) -> Any:
    """Draw how often a judge gave each grade, for each grade of the human. Darker: a larger share of the row."""
    alt = altair()
    share = found.counts / np.maximum(found.counts.sum(axis=1, keepdims=True), 1)
    rows = [
        {"human": f"{row:g}", "judge": f"{column:g}", "labels": int(found.counts[i, j]), "share": float(share[i, j])}
        for i, row in enumerate(found.grades)
        for j, column in enumerate(found.grades)
    ]
    step = alt.Step(cell_size(len(found.grades), 360))
    base = alt.Chart(rows_of(rows)).encode(
        x=alt.X("judge:N", title=f"grade by {found.judge}", sort=[f"{c:g}" for c in found.grades],
                axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("human:N", title="grade by the human", sort=[f"{r:g}" for r in found.grades]),
        tooltip=[alt.Tooltip("human:N"), alt.Tooltip("judge:N"), alt.Tooltip("labels:Q"),
                 *numbers("share=of the human's", format=".1%")],
    )  # fmt: skip
    scale = alt.Scale(domain=[0, 1], range=["#f4f6f8", COLOURS[0]])
    squares = base.mark_rect(stroke="white").encode(
        color=alt.Color("share:Q", title="of the human's", scale=scale, legend=alt.Legend(format="%"))
    )
    ink = alt.condition("datum.share > 0.5", alt.value("white"), alt.value("#333333"))
    text = base.mark_text(fontSize=11).encode(text=alt.Text("labels:Q"), color=ink)
    layers = [squares, text] if len(found.grades) <= 10 else [squares]
    return alt.layer(*layers).properties(
        width=step, height=step, title=f"Grades by {found.judge} for each grade by the human"
    )


@chart
def slopes(effects: Effects, measure: str | None = None) -> Any:
    """Draw the rank of each system under the human's labels and under each judge's, as one line per system.

    The systems that move most have colours.
    """
    alt = altair()
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
    scale = palette([*map(str, named)], others)
    order = [human, *effects.judges]
    judge_axis = alt.Axis(labelAngle=-20, labelLimit=0, orient="top", **label_expression(order))
    legend = alt.Legend(labelLimit=0, **label_expression([*map(str, named)]))
    base = alt.Chart(rows_of(rows)).encode(
        x=alt.X("judge:N", sort=order, title=None, axis=judge_axis),
        y=alt.Y(
            "rank:Q",
            scale=alt.Scale(reverse=True, domain=[1, len(effects.systems)]),
            title=f"rank by {effects.measures[m]}",
        ),
        detail=alt.Detail("system:N"),
        color=alt.Color("line:N", scale=scale, title="moves most", legend=legend),
        tooltip=[alt.Tooltip("system:N"), alt.Tooltip("judge:N"), alt.Tooltip("rank:Q")],
    )
    height = max(160, min(14 * len(effects.systems), 900))
    return alt.layer(base.mark_line(strokeWidth=1.5, opacity=0.8), base.mark_circle(size=30)).properties(
        width=max(220, 110 * len(order)), height=height, title=f"{effects.measures[m]}: the systems under each judge"
    )
