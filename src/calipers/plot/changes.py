"""Charts of changes between two systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.errors import place_of
from calipers.plot.drawing import Chart
from calipers.plot.specifications import BETTER, NEITHER, WORSE, category, labels, layer, mark, numbers, quantity

if TYPE_CHECKING:
    from calipers.questions.diff.difference import Difference

WIDE = 720  # largest width of all bars in pixels
SIDES = {"better": BETTER, "the same": NEITHER, "worse": WORSE}


def gains_and_losses(difference: Difference, measure: str | None = None) -> Chart:
    """Draw the difference on each query, largest gain first, and the mean difference with its interval."""
    m = 0 if measure is None else place_of("measure", measure, difference.measures)
    changes = sorted(
        (each for each in difference.queries if each.difference[m] == each.difference[m]),
        key=lambda each: -each.difference[m],
    )
    rows = [
        {
            "place": place,
            "query": each.query,
            "old": each.old[m],
            "new": each.new[m],
            "difference": each.difference[m],
            "side": _side(each.difference[m]),
            **{change: len(each.changed(change)) for change in ("entered", "left", "moved")},
        }
        for place, each in enumerate(changes)
    ]
    mean = difference.means[m]
    bars = layer(
        mark("bar"),
        x={
            "field": "place",
            "type": "ordinal",
            "title": "queries",
            "axis": None,
            "scale": {"paddingInner": 0.1 if len(rows) < 200 else 0},
        },
        y=quantity(
            "difference", title=f"{mean.measure}: {difference.new} - {difference.old}", axis={"format": "+.2~f"}
        ),
        color=category(
            "side",
            title="queries that are",
            legend={"orient": "top"},
            scale={"domain": [*SIDES], "range": [*SIDES.values()]},
        ),
        tooltip=[
            *labels("query"),
            *numbers("old", "new", "difference"),
            *numbers("entered", "left", "moved", format="d"),
        ],
    )
    about = [{"mean": mean.difference, "low": mean.low, "high": mean.high}]
    rule = layer(
        mark("rule", color="#000000", strokeDash=[4, 3]),
        about,
        y=quantity("mean"),
        tooltip=numbers("mean=mean difference", "low", "high"),
    )
    layers = [bars, rule]
    if mean.low == mean.low:
        interval = mark("rect", color=NEITHER, opacity=0.25)
        layers.insert(0, layer(interval, about, y=quantity("low"), y2={"field": "high"}))
    words = f"{mean.wins} better, {mean.losses} worse, {mean.ties} the same"
    return Chart.of(
        rows,
        *layers,
        width=min(WIDE, max(240, 14 * len(rows))),
        height=300,
        title=f"{difference.new} against {difference.old}, query by query: {words}",
    )


def _side(difference: float) -> str:
    return "better" if difference > 0 else "worse" if difference < 0 else "the same"
