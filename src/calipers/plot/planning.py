"""Charts of plans: power by the number of queries, and power by a budget of judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.plot.drawing import RULE, altair, chart, numbers, palette, rows_of

if TYPE_CHECKING:
    from calipers.planning.budget import BudgetPlan
    from calipers.planning.sample_size import SampleSizePlan


@chart
def power_curves(plan: SampleSizePlan) -> Any:
    """Draw the power of each measure by the number of queries. The dashed line is the wanted power."""
    alt = altair()
    curve = plan.curve()
    rows = [dict(zip(curve.columns, row, strict=True)) for row in curve.rows]
    names = list(plan.measures)
    differences = {f"{difference:.4g}" for difference in plan.difference}
    of = f" to detect a difference of {differences.pop()}" if len(differences) == 1 else ""
    lines = (
        alt.Chart(rows_of(rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("queries:Q", title="queries"),
            y=alt.Y("power:Q", title="power", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("measure:N", sort=names, scale=palette(names)),
            tooltip=[alt.Tooltip("measure:N"), alt.Tooltip("queries:Q"), *numbers("power")],
        )
    )
    points = [
        {"measure": name, "queries": n, "power": plan.power, "difference": difference}
        for name, n, difference in zip(names, plan.queries, plan.difference, strict=True)
    ]
    needed = (
        alt.Chart(rows_of(points))
        .mark_circle(size=70, opacity=1)
        .encode(
            x=alt.X("queries:Q"), y=alt.Y("power:Q"), color=alt.Color("measure:N", sort=names, scale=palette(names)),
            tooltip=[alt.Tooltip("measure:N"), alt.Tooltip("queries:Q"), *numbers("difference")],
        )
    )  # fmt: skip
    wanted = (
        alt.Chart(rows_of([{"wanted": plan.power}]))
        .mark_rule(strokeDash=[4, 4], color=RULE)
        .encode(y=alt.Y("wanted:Q"))
    )
    at_hand = [{"hand": n} for n in sorted(set(plan.at_hand))]
    hand = alt.Chart(rows_of(at_hand)).mark_rule(strokeDash=[2, 3], color=RULE).encode(x=alt.X("hand:Q"))
    return (wanted + hand + lines + needed).properties(
        width=480, height=320, title=f"Power{of} by queries; dotted: the queries of the pilot data"
    )


@chart
def budget_frontier(plan: BudgetPlan) -> Any:
    """Draw each design (measure, depth, queries) by its cost and power. The line joins the best for each cost."""
    alt = altair()
    on = plan.frontier
    rows = [
        {
            "measure": plan.measure[i], "depth": int(plan.depth[i]), "queries": int(plan.queries[i]),
            "judgments": int(plan.judgments[i]), "power": float(plan.power[i]), "low": float(plan.low[i]),
            "high": float(plan.high[i]), "best": i == plan.best,
        }
        for i in range(len(plan.measure))
    ]  # fmt: skip
    names = list(dict.fromkeys(plan.measure))
    depths = sorted({int(depth) for depth in plan.depth})
    tooltip = [
        *(alt.Tooltip(f"{name}:N") for name in ("measure", "depth", "queries", "judgments")),
        *numbers("power", "low", "high"),
    ]
    x = alt.X("judgments:Q", title="judgments")
    y = alt.Y("power:Q", title="power", scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color("measure:N", sort=names, scale=palette(names))
    base = alt.Chart(rows_of(rows))
    points = base.mark_point(filled=True, size=60, opacity=0.8).encode(
        x=x, y=y, color=colour, shape=alt.Shape("depth:N", sort=depths, title="pool depth"), tooltip=tooltip
    )
    best = base.transform_filter("datum.best").mark_point(size=260, strokeWidth=2, color="#000000").encode(x=x, y=y)
    whiskers = (
        base.transform_filter("datum.best").mark_rule(color=RULE).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    )
    order = np.argsort(plan.judgments, kind="stable").tolist()
    line = alt.Chart(rows_of([rows[i] for i in order if on[i]])).mark_line(color=RULE, interpolate="step-after")
    return (line.encode(x=x, y=y) + whiskers + points + best).properties(
        width=480,
        height=340,
        title=f"Power for {plan.budget:,} judgments; circle: the best design, with its interval",
    )
