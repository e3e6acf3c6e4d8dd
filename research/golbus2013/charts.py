"""Charts of fusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.plot.drawing import altair, diagonal, numbers, palette, rows_of

if TYPE_CHECKING:
    from calipers.fusion.study import FusionStudy


def fusion_scatter(study: FusionStudy) -> Any:
    """Each group of systems by what it knows together, and by RIC of its fusions; on the dashed line they are equal."""
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
