"""Charts of what the tools would say of the same rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.plot.drawing import Chart
from calipers.plot.specifications import by_name, category, labels, layer, mark, numbers, palette, quantity

if TYPE_CHECKING:
    from calipers.questions.audit.tool_audit import Audit


def tool_causes(audit: Audit, measure: str | None = None) -> Chart:
    """Draw the causes that move the scores of each tool away from the reference, as means over the systems."""
    table = audit.causes(measure)
    parts = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    rows = [
        {"tools": row["tools"], "cause": row["cause"], "part": row["part"], "lists": row["lists"]}
        for row in parts
        if row["cause"] != "difference"
    ]
    causes = list(dict.fromkeys(str(row["cause"]) for row in rows))
    order = list(dict.fromkeys(str(row["tools"]) for row in parts))
    bars = layer(
        mark("bar"),
        x=quantity("part", title=f"change of the mean against {audit.reference.name}"),
        y=category("tools", **by_name(order)),
        color=category("cause", title="because of", scale=palette(causes)),
        tooltip=[
            *labels("tools", "cause"),
            *numbers("part", format="+.4f"),
            *numbers("lists=lists concerned", format="d"),
        ],
    )
    title = "Causes of the differences between tools"
    return Chart.of(rows, bars, width=480, height=max(60, 26 * len(order)), title=title)


def tool_scores(audit: Audit, measure: str | None = None) -> Chart:
    """Draw the score of each system under each tool's conventions: one row per system, one colour per tool."""
    table = audit.figures(measure)
    tools = table.columns[1:]
    rows = [
        {"system": str(row[0]), "tool": tool, "score": value}
        for row in table.rows
        for tool, value in zip(tools, row[1:], strict=True)
        if isinstance(value, float)
    ]
    order = [str(row[0]) for row in sorted(table.rows, key=lambda row: -float(str(row[1])))]
    points = layer(
        mark("point", filled=True, size=60, opacity=0.8),
        x=quantity("score", title=f"mean {measure or audit.measures[0]}", scale={"zero": False}),
        y=category("system", **by_name(order)),
        color=category("tool", title="as", scale=palette(tools)),
        tooltip=[*labels("system", "tool"), *numbers("score")],
    )
    title = "The same rankings under each tool's conventions"
    return Chart.of(rows, points, width=480, height=max(60, 22 * len(order)), title=title)
