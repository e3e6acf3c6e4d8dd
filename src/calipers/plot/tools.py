"""Charts of what the tools would say of the same rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.plot.drawing import altair, chart, name_axis, numbers, palette, rows_of

if TYPE_CHECKING:
    from calipers.auditing.tool_audit import Audit


@chart
def tool_causes(audit: Audit, measure: str | None = None) -> Any:
    """Draw the causes that move the scores of each tool away from the reference, as means over the systems."""
    alt = altair()
    table = audit.causes(measure)
    parts = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    causes = [str(row["cause"]) for row in parts if row["cause"] != "difference"]
    names = list(dict.fromkeys(causes))
    rows = [
        {"tools": row["tools"], "cause": row["cause"], "part": row["part"], "lists": row["lists"]}
        for row in parts
        if row["cause"] != "difference"
    ]
    order = list(dict.fromkeys(str(row["tools"]) for row in parts))
    return (
        alt.Chart(rows_of(rows))
        .mark_bar()
        .encode(
            x=alt.X("part:Q", title=f"change of the mean against {audit.reference.name}"),
            y=alt.Y("tools:N", title=None, scale=alt.Scale(domain=tuple(order)), axis=name_axis(order)),
            color=alt.Color("cause:N", title="because of", scale=palette(names)),
            tooltip=[
                alt.Tooltip("tools:N"),
                alt.Tooltip("cause:N"),
                *numbers("part", format="+.4f"),
                *numbers("lists=lists concerned", format="d"),
            ],
        )
        .properties(width=480, height=max(60, 26 * len(order)), title="Causes of the differences between tools")
    )


@chart
def tool_scores(audit: Audit, measure: str | None = None) -> Any:
    """Draw the score of each system under each tool's conventions: one row per system, one colour per tool."""
    alt = altair()
    table = audit.figures(measure)
    tools = table.columns[1:]
    rows = [
        {"system": str(row[0]), "tool": tool, "score": value}
        for row in table.rows
        for tool, value in zip(tools, row[1:], strict=True)
        if isinstance(value, float)
    ]
    order = [str(row[0]) for row in sorted(table.rows, key=lambda row: -float(str(row[1])))]
    return (
        alt.Chart(rows_of(rows))
        .mark_point(filled=True, size=60, opacity=0.8)
        .encode(
            x=alt.X("score:Q", title=f"mean {measure or audit.measures[0]}", scale=alt.Scale(zero=False)),
            y=alt.Y("system:N", title=None, scale=alt.Scale(domain=order), axis=name_axis(order)),
            color=alt.Color("tool:N", title="as", scale=palette(tools)),
            tooltip=[alt.Tooltip("system:N"), alt.Tooltip("tool:N"), *numbers("score")],
        )
        .properties(width=480, height=max(60, 22 * len(order)), title="The same rankings under each tool's conventions")
    )
