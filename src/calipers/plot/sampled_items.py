"""A chart of scores with sampled irrelevant items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.errors import chosen_measure
from calipers.plot.drawing import Chart
from calipers.plot.specifications import category, labels, layer, mark, numbers, palette, quantity

if TYPE_CHECKING:
    from calipers.questions.sampled.sampled_candidates import SampledScores


def sampled_order(found: SampledScores, measure: str | None = None) -> Chart:
    """Draw the expected score of each system by the number of sampled items, with the full score at the right.

    Two systems change their order where their lines cross.
    """
    name = found.measures[chosen_measure(measure, found.measures)]
    rows = []
    for system, of, negatives, full, expected, sd in found.table().rows:
        if of == name:
            rows.append({"system": system, "items": negatives, "score": expected, "sd": sd})
            rows.append({"system": system, "items": found.sampling.items, "score": full, "sd": 0.0})
    systems = list(found.systems)
    channels = {
        "x": quantity("items", scale={"type": "log"}, title="sampled irrelevant items (right end: all items)"),
        "y": quantity("score", title=f"expected mean {name}", scale={"zero": False}),
        "color": category("system", sort=systems, scale=palette(systems), title=None),
        "tooltip": [*labels("system"), quantity("items"), *numbers("score", "sd")],
    }
    lines = layer(mark("line", strokeWidth=2), **channels)
    dots = layer(mark("circle", size=45, opacity=1), **channels)
    title = f"{name}: where sampling changes the order of systems"
    return Chart.of(rows, lines, dots, width=480, height=320, title=title)
