"""Charts of changes between two systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.errors import place_of
from calipers.plot.drawing import BETTER, NEITHER, WORSE, altair, chart, numbers, rows_of

if TYPE_CHECKING:
    from calipers.changes.difference import Difference

WIDE = 720  # largest width of all bars in pixels
SIDES = {"better": BETTER, "the same": NEITHER, "worse": WORSE}


@chart
def gains_and_losses(difference: Difference, measure: str | None = None) -> Any:
    """Draw the difference on each query, largest gain first, and the mean difference with its interval."""
    alt = altair()
    m = 0 if measure is None else place_of("measure", measure, difference.measures)
    changes = sorted(
        (each for each in difference.queries if each.difference[m] == each.difference[m]),
        key=lambda each: -each.difference[m],
    )
    rows = [
        {
            "place": place, "query": each.query, "old": each.old[m], "new": each.new[m],
            "difference": each.difference[m], "side": _side(each.difference[m]),
            **{change: len(each.changed(change)) for change in ("entered", "left", "moved")},
        }
        for place, each in enumerate(changes)
    ]  # fmt: skip
    mean = difference.means[m]
    across = alt.X("place:O", title="queries", axis=None, scale=alt.Scale(paddingInner=0.1 if len(rows) < 200 else 0))
    title = f"{mean.measure}: {difference.new} - {difference.old}"
    counts = [alt.Tooltip(f"{change}:Q", format="d") for change in ("entered", "left", "moved")]
    bars = (
        alt.Chart(rows_of(rows))
        .mark_bar()
        .encode(
            x=across,
            y=alt.Y("difference:Q", title=title, axis=alt.Axis(format="+.2~f")),
            color=alt.Color(
                "side:N", title="queries that are", legend=alt.Legend(orient="top"),
                scale=alt.Scale(domain=list(SIDES), range=list(SIDES.values())),
            ),
            tooltip=[alt.Tooltip("query:N"), *numbers("old", "new", "difference"), *counts],
        )
    )  # fmt: skip
    about = alt.Chart(rows_of([{"mean": mean.difference, "low": mean.low, "high": mean.high}]))
    rule = about.mark_rule(color="#000000", strokeDash=[4, 3]).encode(
        y=alt.Y("mean:Q"), tooltip=numbers("mean=mean difference", "low", "high")
    )
    layers = [bars, rule]
    if mean.low == mean.low:
        layers.insert(0, about.mark_rect(color=NEITHER, opacity=0.25).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")))
    words = f"{mean.wins} better, {mean.losses} worse, {mean.ties} the same"
    return alt.layer(*layers).properties(
        width=min(WIDE, max(240, 14 * len(rows))), height=300,
        title=f"{difference.new} against {difference.old}, query by query: {words}",
    )  # fmt: skip


def _side(difference: float) -> str:
    return "better" if difference > 0 else "worse" if difference < 0 else "the same"
