"""Charts of documents and correlations; `calipers.plot.save` writes them."""

from __future__ import annotations

from typing import Any

from calipers.plot.drawing import Chart
from calipers.plot.specifications import (
    COLOURS,
    DASHED,
    category,
    labels,
    layer,
    line_at,
    mark,
    numbers,
    palette,
    quantity,
)
from calipers.texts.human_agreement import HumanCorrelation
from calipers.texts.order_sensitivity import Profiles

KINDS = ("heterogeneous", "homogeneous")


def profile_chart(profiles: Profiles, size: int = 20) -> Chart:
    """Draw mean and standard deviation of the similarity at both ends of the order (figure 8.3, without attention)."""
    named = {
        "similarity, mean": profiles.mean,
        "similarity, standard deviation": profiles.deviation,
    }
    panels = []
    for what, values in named.items():
        rows = [
            {"kind": kind, "place": place, "document": profiles.documents[d], "what": what, "value": float(values[d])}
            for kind, chosen in zip(KINDS, profiles.ends(size), strict=True)
            # Each curve ascending, as the figure has it: what is compared is how the values are spread.
            for place, d in enumerate(sorted(chosen.tolist(), key=values.__getitem__), 1)
        ]
        curves = layer(
            mark("line", point=True),
            x=quantity("place", title="documents, by this value", scale={"domain": [1, size]}),
            y=quantity("value", title=what.partition(", ")[2], scale={"zero": False}),
            color=category("kind", title=f"{size} most", sort=[*KINDS], scale=palette(KINDS)),
            tooltip=[*labels("document", "kind"), *numbers("value")],
        )
        panels.append(Chart.of(rows, curves, width=320, height=200, title=what).spec)
    return Chart({"hconcat": panels, "title": f"Tokens against their document ({profiles.encoder})"})


def correlation_chart(correlation: HumanCorrelation, level: str = "system", coefficient: str = "tau-b") -> Chart:
    """Draw each measure's correlation with people and its interval, one panel per aspect."""
    rows = _rows(correlation, level, coefficient)
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
    rows = _rows(correlation, level, coefficient)
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


def _rows(correlation: HumanCorrelation, level: str, coefficient: str) -> list[dict[str, Any]]:
    return [
        {"measure": f.measure, "human": f.aspect, "value": f.value, "low": f.low, "high": f.high}
        for f in correlation.found
        if (f.level, f.coefficient) == (level, coefficient) and f.value == f.value
    ]
