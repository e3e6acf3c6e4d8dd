"""Charts of judges: what they call each grade, how systems move under them, and which orders survive their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import chosen_measure
from calipers.plot.drawing import (
    BETTER,
    COLOURS,
    NEITHER,
    WORSE,
    altair,
    cell_size,
    chart,
    label_expression,
    matrix_axis,
    numbers,
    palette,
    rows_of,
)  # fmt: skip
from calipers.results.tables import as_number
from calipers.stats.row_ranks import descending_ranks

if TYPE_CHECKING:
    from calipers.judging.agreement import Confusion
    from calipers.judging.effects_on_systems import Effects
    from calipers.judging.judge_study import JudgeStudy

NAMED = 6  # number of lines with colours: the systems that move most


@chart
def confusion(found: Confusion) -> Any:
    """Draw how often a judge gave each grade, for each grade of the human. Darker: a larger share of the row."""
    alt = altair()
    share = found.counts / np.maximum(found.counts.sum(axis=1, keepdims=True), 1)
    rows = [
        {"human": f"{row:g}", "judge": f"{column:g}", "labels": int(found.counts[i, j]), "share": float(share[i, j])}
        for i, row in enumerate(found.rows)
        for j, column in enumerate(found.columns)
    ]
    step = alt.Step(cell_size(len(found.columns), 360))
    base = alt.Chart(rows_of(rows)).encode(
        x=alt.X("judge:N", title=f"grade by {found.judge}", sort=[f"{c:g}" for c in found.columns],
                axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("human:N", title="grade by the human", sort=[f"{r:g}" for r in found.rows]),
        tooltip=[alt.Tooltip("human:N"), alt.Tooltip("judge:N"), alt.Tooltip("labels:Q"),
                 *numbers("share=of the human's", format=".1%")],
    )  # fmt: skip
    scale = alt.Scale(domain=[0, 1], range=["#f4f6f8", COLOURS[0]])
    squares = base.mark_rect(stroke="white").encode(
        color=alt.Color("share:Q", title="of the human's", scale=scale, legend=alt.Legend(format="%"))
    )
    ink = alt.condition("datum.share > 0.5", alt.value("white"), alt.value("#333333"))
    text = base.mark_text(fontSize=11).encode(text=alt.Text("labels:Q"), color=ink)
    layers = [squares, text] if len(found.columns) <= 10 else [squares]
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


@chart
def survival(study: JudgeStudy, judge: str, measure: str | None = None, **draws: Any) -> Any:
    """Draw the chance that the system of the row still beats the system of the column, given the errors of a judge.

    The errors follow the confusion matrix of the judge. The best systems by the judge's labels come first. Blue: the
    order is safe. Grey: both orders have the same chance.
    """
    alt = altair()
    names = study.effect.systems
    name = study.effect.measures[chosen_measure(measure, study.effect.measures)]
    mean, chance = study.survival(judge, name, **draws)
    best_first = np.argsort(descending_ranks(mean[None])[0], kind="stable").tolist()
    order = [names[s] for s in best_first]
    rows = [
        {"row": names[a], "column": names[b], "chance": float(chance[a, b])}
        for a in best_first for b in best_first if a != b
    ]  # fmt: skip
    places, axis = alt.Scale(domain=tuple(order)), matrix_axis(order)
    scale = alt.Scale(domain=[0, 0.5, 1], range=[WORSE, "#eef0f2", BETTER], interpolate="rgb")
    base = alt.Chart(rows_of(rows)).encode(
        x=alt.X("column:N", scale=places, title=None, axis=axis),
        y=alt.Y("row:N", scale=places, title=None, axis=axis),
        tooltip=[alt.Tooltip("row:N"), alt.Tooltip("column:N"), *numbers("chance", format=".0%")],
    )
    squares = base.mark_rect(stroke="white", strokeWidth=1 if len(order) <= 60 else 0).encode(
        color=alt.Color("chance:Q", title="the row's is better", scale=scale, legend=alt.Legend(format="%"))
    )
    text = base.mark_text(fontSize=10, color=NEITHER if len(order) > 12 else "#333333").encode(
        text=alt.Text("chance:Q", format=".0%")
    )
    step = alt.Step(cell_size(len(order), 700))
    layers = [squares, text] if len(order) <= 12 else [squares]
    return alt.layer(*layers).properties(
        width=step, height=step, title=f"{judge}, {name}: orders that survive its errors"
    )
