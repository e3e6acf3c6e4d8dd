"""A chart of plans: power by the number of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.plot.drawing import Chart
from calipers.plot.specifications import RULE, category, labels, layer, line_at, mark, numbers, palette, quantity

if TYPE_CHECKING:
    from calipers.questions.plan.sample_size import SampleSizePlan


def power_curves(plan: SampleSizePlan) -> Chart:
    """Draw the power of each measure by the number of queries. The dashed line is the wanted power."""
    curve = plan.curve()
    rows = [dict(zip(curve.columns, row, strict=True)) for row in curve.rows]
    names = list(plan.measures)
    differences = {f"{difference:.4g}" for difference in plan.difference}
    of = f" to detect a difference of {differences.pop()}" if len(differences) == 1 else ""
    channels = {
        "x": quantity("queries", title="queries"),
        "y": quantity("power", title="power", scale={"domain": [0, 1]}),
        "color": category("measure", sort=names, scale=palette(names)),
    }
    tooltip = [*labels("measure"), quantity("queries")]
    lines = layer(mark("line", strokeWidth=2), **channels, tooltip=[*tooltip, *numbers("power")])
    needed = layer(
        mark("circle", size=70, opacity=1),
        [
            {"measure": name, "queries": n, "power": plan.power, "difference": difference}
            for name, n, difference in zip(names, plan.queries, plan.difference, strict=True)
        ],
        **channels,
        tooltip=[*tooltip, *numbers("difference")],
    )
    at_hand = layer(
        mark("rule", strokeDash=[2, 3], color=RULE),
        [{"hand": n} for n in sorted(set(plan.at_hand))],
        x=quantity("hand"),
    )
    title = f"Power{of} by queries; dotted: the queries of the pilot data"
    wanted = line_at("y", plan.power, "wanted")
    return Chart.of(rows, wanted, at_hand, lines, needed, width=480, height=320, title=title)
