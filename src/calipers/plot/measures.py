"""Charts of measures: user models, discriminative power, agreement with people, conventions of other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.plot.drawing import Chart
from calipers.plot.specifications import (
    COLOURS,
    DASHED,
    Part,
    by_name,
    category,
    labels,
    layer,
    line_at,
    mark,
    numbers,
    palette,
    quantity,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calipers.measures.browsing import UserModel
    from calipers.questions.audit.tool_audit import Audit
    from calipers.questions.metaeval.human_agreement import HumanCorrelation
    from calipers.questions.metaeval.meta_evaluation import MetaEvaluation
    from calipers.questions.metaeval.power import DiscriminativePower


POINTS = 1000  # number of points of a curve; more would look the same


def significance_curves(power: DiscriminativePower, points: int = POINTS) -> Chart:
    """Draw the sorted p values of each measure. The lower the curve, the more pairs the measure tells apart."""
    rows = []
    for family, levels in zip(power.families, power.levels, strict=True):
        step = max(1, len(levels) // points)
        rows += [
            {"measure": family.name, "share": (i + 1) / len(levels), "p": float(levels[i])}
            for i in range(0, len(levels), step)
        ]
    curves = layer(
        mark("line", interpolate="step-after"),
        x=quantity("share", title="pairs of systems, by descending p", axis={"format": "%"}),
        y=quantity("p", title="achieved significance level"),
        color=_by_measure([family.name for family in power.families]),
        tooltip=[*labels("measure"), *numbers("share", format=".1%"), *numbers("p")],
    )
    title = "Discriminative power: pairs below the dashed line differ significantly"
    return Chart.of(rows, curves, line_at("y", power.alpha, "alpha"), width=420, height=300, title=title)


def system_scores(meta: MetaEvaluation, of_set: str = "all") -> Chart:
    """Draw the mean score of each system under each measure, with the systems in the order of the first measure."""
    averages = meta.averages[of_set]
    order = sorted(range(len(meta.systems)), key=lambda s: -averages[0][s])
    names = [family.name for family in meta.families]
    rows = [
        {"system": meta.systems[s], "measure": name, "score": float(averages[f][s]), "place": place}
        for place, s in enumerate(order, 1)
        for f, name in enumerate(names)
    ]
    lines = layer(
        mark("line", point=True),
        x=quantity("place", title=f"systems, by {names[0]}"),
        y=quantity("score", title="mean score"),
        color=_by_measure(names),
        tooltip=[*labels("system", "measure"), *numbers("score")],
    )
    return Chart.of(rows, lines, width=420, height=300, title=f"Mean scores of the systems, {of_set} queries")


def user_models(models: Sequence[UserModel], ranks: int = 20) -> Chart:
    """Draw the functions C, W and L of user models over the first ranks.

    C is the chance of going on, W the share of the attention, and L the chance of stopping.
    """
    names = [repr(model.measure) for model in models]
    rows = [
        {"measure": name, "rank": rank + 1, "function": function, "value": float(values[rank])}
        for name, model in zip(names, models, strict=True)
        for function, values in (("C", model.C), ("W", model.W), ("L", model.L))
        for rank in range(min(ranks, len(values)))
    ]
    lines = layer(
        mark("line", point=True),
        x=quantity("rank", title="rank"),
        y=quantity("value", title="C: goes on, W: attention, L: stops"),
        color=_by_measure(names),
        strokeDash=category("function", title="function", sort=["C", "W", "L"]),
        tooltip=[*labels("measure", "function"), *numbers("rank", format="d"), *numbers("value")],
    )
    return Chart.of(rows, lines, width=420, height=300, title="How readers go down the list")


def _by_measure(names: list[str]) -> Part:
    """Return one colour per measure."""
    return category("measure", title="measure", sort=names, scale=palette(names))


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


def correlation_chart(correlation: HumanCorrelation, level: str = "system", coefficient: str = "tau-b") -> Chart:
    """Draw each measure's correlation with people and its interval, one panel per aspect."""
    rows = _agreements(correlation, level, coefficient)
    measures = list(dict.fromkeys(f.measure for f in correlation.found))
    y = category("measure", sort=measures, title=None, axis={"labelLimit": 400})
    zero = layer(DASHED, x={"datum": 0})
    bars = layer(mark("rule", color=COLOURS[0]), x=quantity("low", title=coefficient), x2={"field": "high"}, y=y)
    points = layer(
        mark("circle", size=60, color=COLOURS[0], opacity=1),
        x=quantity("value"),
        y=y,
        tooltip=[*labels("measure", "human"), *numbers("value")],
    )
    return Chart(
        {
            "data": {"values": rows},
            "facet": category("human", title=None),
            "columns": 2,
            "spec": {"layer": [zero, bars, points], "width": 220},
            "title": f"Agreement with people, {level} level, intervals over documents",
        }
    )


def agreement_chart(correlation: HumanCorrelation, level: str = "system", coefficient: str = "tau-b") -> Chart:
    """Draw all measures' correlations with people and their intervals in one panel."""
    rows = _agreements(correlation, level, coefficient)
    measures, aspects = (list(dict.fromkeys(row[field] for row in rows)) for field in ("measure", "human"))
    channels = {
        "y": category("human", sort=aspects, title=None, axis={"labelLimit": 300}),
        "yOffset": category("measure", sort=measures),
        "color": category("measure", sort=measures, title=None, scale=palette(measures)),
        "tooltip": [*labels("measure", "human"), *numbers("value", "low", "high")],
    }
    bars = layer(mark("rule"), **channels, x=quantity("low", title=coefficient), x2={"field": "high"})
    points = layer(mark("circle", size=60, opacity=1), **channels, x=quantity("value"))
    title = f"Agreement with people, {level} level"
    height = max(120, 14 * len(rows))
    return Chart.of(rows, bars, line_at("x", 0), points, width=480, height=height, title=title)


def _agreements(correlation: HumanCorrelation, level: str, coefficient: str) -> list[dict[str, Any]]:
    return [
        {"measure": f.measure, "human": f.aspect, "value": f.value, "low": f.low, "high": f.high}
        for f in correlation.found
        if (f.level, f.coefficient) == (level, coefficient) and f.value == f.value
    ]
