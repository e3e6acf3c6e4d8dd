"""Charts of RIC against other measures, and of fusions against joint RIC."""

from __future__ import annotations

from calipers.plot import Chart
from calipers.plot.drawing import scatter
from calipers.plot.specifications import category, diagonal, labels, layer, mark, numbers, palette, quantity
from calipers.questions.information import RicStudy
from research.golbus2013.fusion_study import FusionStudy


def fusion_scatter(study: FusionStudy) -> Chart:
    """Draw RIC of the fusions of each group against the joint RIC of its systems. On the dashed line they are equal."""
    rows = [
        {"sample": i + 1, "fusion": name, "joint": joint, "RIC": ric}
        for name, values in study.ric.items()
        for i, (joint, ric) in enumerate(zip(study.joint.tolist(), values.tolist(), strict=True))
    ]
    fusions = list(study.ric)
    points = layer(
        mark("circle", size=30, opacity=0.6),
        x=quantity("joint", title="joint RIC of the systems (bits)", scale={"zero": False}),
        y=quantity("RIC", title="RIC of the fused run (bits)"),
        color=category("fusion", sort=fusions, scale=palette(fusions)),
        tooltip=[*labels("fusion"), quantity("sample"), *numbers("joint", "RIC")],
    )
    equal = diagonal(float(study.joint.min()), float(study.joint.max()))
    title = "What systems know together, and what fusion keeps"
    return Chart.of(rows, equal, points, width=420, height=420, title=title)


def ric_scatter(study: RicStudy, measure: str = "AP") -> Chart:
    """Draw RIC of each system against another measure."""
    rows = [
        {"system": system, "RIC": float(ric), "score": float(score)}
        for system, ric, score in zip(study.systems, study.mean("RIC"), study.mean(measure), strict=True)
    ]
    return scatter(rows, ("score", measure), ("RIC", "RIC (bits)"), ("system",), f"RIC and {measure}")
