"""Charts by query: scores and differences on each query, and power by the number of queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calipers.errors import place_of
from calipers.plot.drawing import Chart
from calipers.plot.specifications import (
    BETTER,
    COLOURS,
    NEITHER,
    RULE,
    TYPE_COLOURS,
    WORSE,
    category,
    diagonal,
    labels,
    layer,
    line_at,
    mark,
    numbers,
    palette,
    quantity,
)
from calipers.support.plurals import plural_of

if TYPE_CHECKING:
    from calipers.questions.bounds import Bounds
    from calipers.questions.diff.difference import Difference
    from calipers.questions.plan.sample_size import SampleSizePlan
    from calipers.questions.queries import QueryTypes


def query_map(types: QueryTypes, measure: str = "score", names: Mapping[str, str] | None = None) -> Chart:
    """Draw each query by the scores of the systems and of a random ranking, both as shares of the ideal score.

    names: other names for types of queries.
    """
    shown = {kind: (names or {}).get(kind, kind) for kind in TYPE_COLOURS}
    rows: list[dict[str, Any]] = [
        {"query": q, "type": shown[t], "expected": float(e), "actual": float(a)}
        for q, t, e, a in zip(types.queries, types.types, types.expected, types.actual, strict=True)
        if t != "undefined"
    ]
    shares = [row[each] for row in rows for each in ("expected", "actual")]
    low, high = (math.floor(10 * min(shares, default=0.0)) / 10, math.ceil(10 * max(shares, default=1.0)) / 10)
    scale = {"domain": [low, high]}
    points = layer(
        mark("circle", size=70, opacity=0.75),
        x=quantity("actual", title=f"{measure} of the systems (share of the ideal)", scale=scale),
        y=quantity("expected", title=f"{measure} of a random ranking", scale=scale),
        color=category(
            "type",
            title="type of query",
            scale={"domain": [*shown.values()], "range": [*TYPE_COLOURS.values()]},
        ),
        tooltip=[*labels("query", "type"), *numbers("actual", "expected")],
    )
    title = "Queries: on the dashed line, systems are as good as a random ranking"
    return Chart.of(rows, diagonal(low, high), points, width=420, height=420, title=title)


def expected_histogram(bounds: Bounds, measure: str, bins: int = 20) -> Chart:
    """Draw a histogram of the expected scores of random rankings over the queries."""
    rows = [{"expected": float(e)} for e in bounds.expected[measure].ravel() if e == e]
    queries = {"aggregate": "count", "type": "quantitative", "title": "queries"}
    bars = layer(
        mark("bar", color=COLOURS[0]),
        x=quantity("expected", bin={"maxbins": bins}, title=f"expected {measure} of a random ranking"),
        y=queries,
        tooltip=[queries],
    )
    return Chart.of(rows, bars, width=420, height=240, title="Expected scores of random rankings")


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
    unit = difference.scores.unit
    bars = layer(
        mark("bar"),
        x={
            "field": "place",
            "type": "ordinal",
            "title": plural_of(unit),
            "axis": None,
            "scale": {"paddingInner": 0.1 if len(rows) < 200 else 0},
        },
        y=quantity(
            "difference", title=f"{mean.measure}: {difference.new} - {difference.old}", axis={"format": "+.2~f"}
        ),
        color=category(
            "side",
            title=f"{plural_of(unit)} that are",
            legend={"orient": "top"},
            scale={"domain": [*SIDES], "range": [*SIDES.values()]},
        ),
        tooltip=[
            *labels(f"query={unit}"),
            *numbers("old", "new", "difference"),
            *(numbers("entered", "left", "moved", format="d") if difference.top else ()),
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
        title=f"{difference.new} against {difference.old}, {unit} by {unit}: {words}",
    )


def _side(difference: float) -> str:
    return "better" if difference > 0 else "worse" if difference < 0 else "the same"


def power_curves(plan: SampleSizePlan, units: str = "queries") -> Chart:
    """Draw the power of each measure by the number of queries. The dashed line is the wanted power.

    units: what the axis is called, such as documents.
    """
    curve = plan.curve()
    rows = [dict(zip(curve.columns, row, strict=True)) for row in curve.rows]
    names = list(plan.measures)
    differences = {f"{difference:.4g}" for difference in plan.difference}
    of = f" to detect a difference of {differences.pop()}" if len(differences) == 1 else ""
    channels = {
        "x": quantity("queries", title=units),
        "y": quantity("power", title="power", scale={"domain": [0, 1]}),
        "color": category("measure", sort=names, scale=palette(names)),
    }
    tooltip = [*labels("measure"), quantity("queries", title=units)]
    lines = layer(mark("line", strokeWidth=2), **channels, tooltip=[*tooltip, *numbers("power")])
    needed = layer(
        mark("circle", size=70, opacity=1),
        [
            {"measure": name, "queries": n, "power": plan.power, "difference": difference}
            for name, n, difference in zip(names, plan.queries, plan.difference, strict=True)
        ],
        **channels,
        tooltip=[*tooltip, *numbers("difference")],
    )
    at_hand = layer(
        mark("rule", strokeDash=[2, 3], color=RULE),
        [{"hand": n} for n in sorted(set(plan.at_hand))],
        x=quantity("hand"),
    )
    title = f"Power{of} by {units}; dotted: the {units} of the pilot data"
    wanted = line_at("y", plan.power, "wanted")
    return Chart.of(rows, wanted, at_hand, lines, needed, width=480, height=320, title=title)
