"""A chart of scores with sampled irrelevant items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.errors import chosen_measure
from calipers.plot.drawing import altair, chart, numbers, palette, rows_of

if TYPE_CHECKING:
    from calipers.limits.sampled_candidates import SampledScores


@chart
def sampled_order(found: SampledScores, measure: str | None = None) -> Any:
    """Draw the expected score of each system by the number of sampled items, with the full score at the right.

    Two systems change their order where their lines cross.
    """
    alt = altair()
    name = found.measures[chosen_measure(measure, found.measures)]
    rows = []
    for system, of, negatives, full, expected, sd in found.table().rows:
        if of == name:
            rows.append({"system": system, "items": negatives, "score": expected, "sd": sd})
            rows.append({"system": system, "items": found.sampling.items, "score": full, "sd": 0.0})
    names = list(found.systems)
    base = alt.Chart(rows_of(rows), title=f"{name}: where sampling changes the order of systems").encode(
        x=alt.X("items:Q", scale=alt.Scale(type="log"), title="sampled irrelevant items (right end: all items)"),
        y=alt.Y("score:Q", title=f"expected mean {name}", scale=alt.Scale(zero=False)),
        color=alt.Color("system:N", sort=names, scale=palette(names), title=None),
        tooltip=[alt.Tooltip("system:N"), alt.Tooltip("items:Q"), *numbers("score", "sd")],
    )
    return (base.mark_line(strokeWidth=2) + base.mark_circle(size=45, opacity=1)).properties(width=480, height=320)
