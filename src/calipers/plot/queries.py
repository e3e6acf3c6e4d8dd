"""Charts of queries: scores of systems and of random rankings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calipers.plot.drawing import Chart
from calipers.plot.specifications import (
    COLOURS,
    TYPE_COLOURS,
    category,
    diagonal,
    labels,
    layer,
    mark,
    numbers,
    quantity,
)

if TYPE_CHECKING:
    from calipers.questions.bounds import Bounds
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
