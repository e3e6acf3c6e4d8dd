"""Charts of documents and correlations (Altair); `calipers.plot.save` writes them."""

from __future__ import annotations

from typing import Any

from calipers.plot.drawing import COLOURS, RULE, altair, palette, rows_of
from calipers.text.human_agreement import HumanCorrelation
from calipers.text.order_sensitivity import Profiles

KINDS = ("heterogeneous", "homogeneous")


def profile_chart(profiles: Profiles, size: int = 20) -> Any:
    """Draw mean and standard deviation of the similarity at both ends of the order (figure 8.3, without attention)."""
    alt = altair()
    named = {
        "similarity, mean": profiles.mean,
        "similarity, standard deviation": profiles.deviation,
    }
    rows = [
        {"kind": kind, "place": place, "document": profiles.documents[d], "what": what, "value": float(named[what][d])}
        for kind, chosen in zip(KINDS, profiles.ends(size), strict=True)
        for what in named
        # Each curve ascending, as the figure has it: what is compared is how the values are spread.
        for place, d in enumerate(sorted(chosen.tolist(), key=named[what].__getitem__), 1)
    ]
    charts = [
        alt.Chart(rows_of([row for row in rows if row["what"] == what]), title=what)
        .mark_line(point=True)
        .encode(
            x=alt.X("place:Q", title="documents, by this value", scale=alt.Scale(domain=[1, size])),
            y=alt.Y("value:Q", title=what.partition(", ")[2], scale=alt.Scale(zero=False)),
            color=alt.Color("kind:N", title=f"{size} most", sort=list(KINDS), scale=palette(KINDS)),
            tooltip=["document:N", "kind:N", alt.Tooltip("value:Q", format=".4f")],
        )
        .properties(width=320, height=200)
        for what in named
    ]  # fmt: skip
    return alt.hconcat(*charts, title=f"Tokens against their document ({profiles.encoder})")


def correlation_chart(correlation: HumanCorrelation, level: str = "system", coefficient: str = "tau-b") -> Any:
    """Draw each measure's correlation with people and its interval, one panel per aspect."""
    alt = altair()
    chosen = [f for f in correlation.found if (f.level, f.coefficient) == (level, coefficient)]
    rows = [
        {"measure": f.measure, "human": f.aspect, "value": f.value, "low": f.low, "high": f.high}
        for f in chosen
        if f.value == f.value
    ]
    measures = list(dict.fromkeys(f.measure for f in chosen))
    y = alt.Y("measure:N", sort=measures, title=None, axis=alt.Axis(labelLimit=400))
    base = alt.Chart(rows_of(rows))
    zero = base.mark_rule(color=RULE, strokeDash=[4, 4]).encode(x=alt.datum(0))
    bars = base.mark_rule(color=COLOURS[0]).encode(x=alt.X("low:Q", title=coefficient), x2="high:Q", y=y)
    points = base.mark_circle(size=60, color=COLOURS[0], opacity=1).encode(
        x="value:Q", y=y, tooltip=["measure:N", "human:N", alt.Tooltip("value:Q", format=".4f")]
    )
    return (zero + bars + points).properties(width=220).facet(alt.Facet("human:N", title=None), columns=2).properties(
        title=f"Agreement with people, {level} level, intervals over documents"
    )  # fmt: skip


def agreement_chart(correlation: HumanCorrelation, level: str = "system", coefficient: str = "tau-b") -> Any:
    """Draw all measures' correlations with people and their intervals in one panel."""
    alt = altair()
    chosen = [f for f in correlation.found if (f.level, f.coefficient) == (level, coefficient) and f.value == f.value]
    rows = [{"measure": f.measure, "human": f.aspect, "value": f.value, "low": f.low, "high": f.high} for f in chosen]
    measures = list(dict.fromkeys(f.measure for f in chosen))
    aspects = list(dict.fromkeys(f.aspect for f in chosen))
    y = alt.Y("human:N", sort=aspects, title=None, axis=alt.Axis(labelLimit=300))
    beside = alt.YOffset("measure:N", sort=measures)
    color = alt.Color("measure:N", sort=measures, title=None, scale=palette(measures))
    tooltip = ["measure:N", "human:N", *(alt.Tooltip(f"{each}:Q", format=".4f") for each in ("value", "low", "high"))]
    base = alt.Chart(rows_of(rows)).encode(y=y, yOffset=beside, color=color, tooltip=tooltip)
    bars = base.mark_rule().encode(x=alt.X("low:Q", title=coefficient), x2="high:Q")
    points = base.mark_circle(size=60, opacity=1).encode(x="value:Q")
    zero = alt.Chart(rows_of([{"at": 0}])).mark_rule(color=RULE, strokeDash=[4, 4]).encode(x="at:Q")
    return (bars + zero + points).properties(
        width=480, height=max(120, 14 * len(rows)), title=f"Agreement with people, {level} level"
    )
