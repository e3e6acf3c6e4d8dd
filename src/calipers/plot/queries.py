"""Charts of queries: scores of systems and of random rankings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calipers.plot.drawing import COLOURS, TYPE_COLOURS, altair, chart, diagonal, numbers, rows_of

if TYPE_CHECKING:
    from calipers.limits.pool_bounds import Bounds
    from calipers.limits.query_types import QueryTypes


@chart
def query_map(types: QueryTypes, measure: str = "score", names: Mapping[str, str] | None = None) -> Any:
    """Draw each query by the scores of the systems and of a random ranking, both as shares of the ideal score.

    names: other names for types of queries.
    """
    alt = altair()
    shown = {kind: (names or {}).get(kind, kind) for kind in TYPE_COLOURS}
    rows: list[dict[str, Any]] = [
        {"query": q, "type": shown[t], "expected": float(e), "actual": float(a)}
        for q, t, e, a in zip(types.queries, types.types, types.expected, types.actual, strict=True)
        if t != "undefined"
    ]
    shares = [row[each] for row in rows for each in ("expected", "actual")]
    low, high = (math.floor(10 * min(shares, default=0.0)) / 10, math.ceil(10 * max(shares, default=1.0)) / 10)
    share = alt.Scale(domain=[low, high])
    points = (
        alt.Chart(rows_of(rows))
        .mark_circle(size=70, opacity=0.75)
        .encode(
            x=alt.X("actual:Q", title=f"{measure} of the systems (share of the ideal)", scale=share),
            y=alt.Y("expected:Q", title=f"{measure} of a random ranking", scale=share),
            color=alt.Color(
                "type:N",
                title="type of query",
                scale=alt.Scale(domain=list(shown.values()), range=list(TYPE_COLOURS.values())),
            ),
            tooltip=[alt.Tooltip("query:N"), alt.Tooltip("type:N"), *numbers("actual", "expected")],
        )
    )
    return (diagonal(low, high) + points).properties(
        width=420, height=420, title="Queries: on the dashed line, systems are as good as a random ranking"
    )


@chart
def expected_histogram(bounds: Bounds, measure: str, bins: int = 20) -> Any:
    """Draw a histogram of the expected scores of random rankings over the queries."""
    alt = altair()
    rows = [{"expected": float(e)} for e in bounds.expected[measure].ravel() if e == e]
    return (
        alt.Chart(rows_of(rows))
        .mark_bar(color=COLOURS[0])
        .encode(
            x=alt.X("expected:Q", bin=alt.Bin(maxbins=bins), title=f"expected {measure} of a random ranking"),
            y=alt.Y("count():Q", title="queries"),
            tooltip=[alt.Tooltip("count():Q", title="queries")],
        )
        .properties(width=420, height=240, title="Expected scores of random rankings")
    )
