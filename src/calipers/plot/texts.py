"""Charts of documents that texts are about."""

from __future__ import annotations

from calipers.plot.drawing import Chart
from calipers.plot.specifications import category, labels, layer, mark, numbers, palette, quantity
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
