"""A chart of plans: power by the number of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.plot.drawing import RULE, altair, chart, numbers, palette, rows_of

if TYPE_CHECKING:
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
