"""Charts of information differences between systems and information tau between measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.errors import CalipersError
from calipers.plot.drawing import COLOURS, altair, cell_size, chart, matrix_axis, name_axis, numbers, rows_of, scatter

if TYPE_CHECKING:
    from calipers.information.information_difference import InformationDifference
    from calipers.information.information_tau import InformationTau


@chart
def heat_map(difference: InformationDifference) -> Any:
    """Draw the information difference of all pairs of systems, with similar systems next to each other."""
    alt = altair()
    order = [difference.systems[i] for i in difference.order()]
    rows = [
        {"one": one, "other": other, "bits": float(bits)}
        for one, line in zip(difference.systems, difference.matrix, strict=True)
        for other, bits in zip(difference.systems, line, strict=True)
    ]
    step = alt.Step(cell_size(len(order), 900))
    places = alt.Scale(domain=tuple(order))
    labels = matrix_axis(order)
    return (
        alt.Chart(rows_of(rows))
        .mark_rect()
        .encode(
            x=alt.X("one:N", scale=places, title=None, axis=labels),
            y=alt.Y("other:N", scale=places, title=None, axis=labels),
            color=alt.Color(
                "bits:Q", title="difference (bits)", scale=alt.Scale(scheme="viridis"), legend=alt.Legend(orient="top")
            ),
            tooltip=[alt.Tooltip("one:N"), alt.Tooltip("other:N"), *numbers("bits")],
        )
        .properties(width=step, height=step, title="Information difference of all pairs: dark pairs are similar")
    )


@chart
def dendrogram(difference: InformationDifference) -> Any:
    """Draw how systems join into clusters, and at which information difference."""
    from scipy.cluster.hierarchy import dendrogram as drawn

    alt = altair()
    tree = drawn(difference.linkage(), no_plot=True)
    lines = [
        {"link": link, "corner": corner, "place": place, "bits": bits}
        for link, (places, heights) in enumerate(zip(tree["icoord"], tree["dcoord"], strict=True))
        for corner, (place, bits) in enumerate(zip(places, heights, strict=True))
    ]
    # SciPy puts leaf i at 10 i + 5, which is its place on a scale of names of the same height.
    names = [difference.systems[i] for i in tree["leaves"]]
    place = alt.Y("place:Q", axis=None, scale=alt.Scale(domain=[10 * len(names), 0], nice=False))
    axis = name_axis(names, labelFontSize=11 if len(names) <= 60 else 8)
    across = alt.X("bits:Q", title="information difference (bits)")
    links = (
        alt.Chart(rows_of(lines))
        .mark_line(color=COLOURS[0], strokeWidth=1.5)
        .encode(x=across, y=place, detail=alt.Detail("link:N"), order=alt.Order("corner:Q"))
    )
    joints = [
        {"place": (places[1] + places[2]) / 2, "bits": heights[1]}
        for places, heights in zip(tree["icoord"], tree["dcoord"], strict=True)
    ]
    joined = (
        alt.Chart(rows_of(joints))
        .mark_circle(color=COLOURS[0], size=30, opacity=1)
        .encode(x=across, y=place, tooltip=numbers("bits=join at (bits)"))
    )
    leaves = (
        alt.Chart(rows_of([{"system": name, "bits": 0.0} for name in names]))
        .mark_circle(opacity=0)
        .encode(x=across, y=alt.Y("system:N", title=None, scale=alt.Scale(domain=tuple(names), padding=0.5), axis=axis))
    )
    step = 18 if len(names) <= 60 else 10
    return (
        (links + joined + leaves)
        .resolve_scale(y="independent")
        .properties(
            width=420,
            height=max(60, step * len(names)),
            title="Similar systems join early (average linkage)",
        )
    )


@chart
def difference_scatter(difference: InformationDifference) -> Any:
    """Draw each pair of systems by its difference in AP and its information difference."""
    table = difference.table()
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return scatter(
        rows, ("delta_ap", "|delta AP|"), ("information_difference", "information difference (bits)"),
        ("system_a", "system_b"), "Systems with equal scores can have different rankings",
    ).properties(width=420, height=420)  # fmt: skip


@chart
def tau_scatter(tau: InformationTau) -> Any:
    """Draw each query by the information tau of two measures, without and with the last condition."""
    x, y, given = tau.rows[-1]
    if not given:
        raise CalipersError("the scatter of information tau needs a condition: name a measure that is given")
    both = zip(tau.queries, tau[x, y].tolist(), tau[x, y, *given].tolist(), strict=True)
    rows = [{"query": query, "alone": alone, "given": known} for query, alone, known in both if alone == alone]
    what = f"tau_I({x}; {y}"
    return scatter(
        rows, ("alone", f"{what})"), ("given", f"{what} | {', '.join(given)})"), ("query",),
        "Information tau without and with the condition",
    ).properties(width=420, height=420)  # fmt: skip
