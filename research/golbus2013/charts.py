"""Charts of RIC against other measures, and of fusions against joint RIC."""

from __future__ import annotations

from typing import Any

from calipers.information import RicStudy
from calipers.plot.drawing import altair, diagonal, numbers, palette, rows_of, scatter
from research.golbus2013.fusion_study import FusionStudy


def fusion_scatter(study: FusionStudy) -> Any:
    """Draw RIC of the fusions of each group against the joint RIC of its systems. On the dashed line they are equal."""
    alt = altair()
    rows = [
        {"sample": i + 1, "fusion": name, "joint": joint, "RIC": ric}
        for name, values in study.ric.items()
        for i, (joint, ric) in enumerate(zip(study.joint.tolist(), values.tolist(), strict=True))
    ]
    names = list(study.ric)
    points = (
        alt.Chart(rows_of(rows))
        .mark_circle(size=30, opacity=0.6)
        .encode(
            x=alt.X("joint:Q", title="joint RIC of the systems (bits)", scale=alt.Scale(zero=False)),
            y=alt.Y("RIC:Q", title="RIC of the fused run (bits)"),
            color=alt.Color("fusion:N", sort=names, scale=palette(names)),
            tooltip=[alt.Tooltip("fusion:N"), alt.Tooltip("sample:Q"), *numbers("joint", "RIC")],
        )
    )
    equal = diagonal(float(study.joint.min()), float(study.joint.max()))
    return (equal + points).properties(width=420, height=420, title="What systems know together, and what fusion keeps")


def ric_scatter(study: RicStudy, measure: str = "AP") -> Any:
    """Draw RIC of each system against another measure."""
    rows = [
        {"system": system, "RIC": float(ric), "score": float(score)}
        for system, ric, score in zip(study.systems, study.mean("RIC"), study.mean(measure), strict=True)
    ]
    return scatter(rows, ("score", measure), ("RIC", "RIC (bits)"), ("system",), f"RIC and {measure}").properties(
        width=420, height=420
    )
