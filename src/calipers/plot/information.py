"""Charts of information differences between systems and information tau between measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.errors import CalipersError
from calipers.plot.drawing import Chart, scatter
from calipers.plot.specifications import (
    COLOURS,
    by_name_in_matrix,
    category,
    cell_size,
    labels,
    layer,
    mark,
    name_axis,
    numbers,
    quantity,
)

if TYPE_CHECKING:
    from calipers.questions.information.information_difference import InformationDifference
    from calipers.questions.information.information_tau import InformationTau


def heat_map(difference: InformationDifference) -> Chart:
    """Draw the information difference of all pairs of systems, with similar systems next to each other."""
    order = [difference.systems[i] for i in difference.order()]
    rows = [
        {"one": one, "other": other, "bits": float(bits)}
        for one, line in zip(difference.systems, difference.matrix, strict=True)
        for other, bits in zip(difference.systems, line, strict=True)
    ]
    places = by_name_in_matrix(order)
    squares = layer(
        mark("rect"),
        x=category("one", **places),
        y=category("other", **places),
        color=quantity("bits", title="difference (bits)", scale={"scheme": "viridis"}, legend={"orient": "top"}),
        tooltip=[*labels("one", "other"), *numbers("bits")],
    )
    step = {"step": cell_size(len(order), 900)}
    title = "Information difference of all pairs: dark pairs are similar"
    return Chart.of(rows, squares, width=step, height=step, title=title)


def dendrogram(difference: InformationDifference) -> Chart:
    """Draw how systems join into clusters, and at which information difference."""
    from scipy.cluster.hierarchy import dendrogram as drawn

    tree = drawn(difference.linkage(), no_plot=True)
    places_and_heights = [*zip(tree["icoord"], tree["dcoord"], strict=True)]
    lines = [
        {"link": link, "corner": corner, "place": place, "bits": bits}
        for link, (places, heights) in enumerate(places_and_heights)
        for corner, (place, bits) in enumerate(zip(places, heights, strict=True))
    ]
    joints = [{"place": (places[1] + places[2]) / 2, "bits": heights[1]} for places, heights in places_and_heights]
    # SciPy puts leaf i at 10 i + 5, which is its place on a scale of names of the same height.
    systems = [difference.systems[i] for i in tree["leaves"]]
    place = quantity("place", axis=None, scale={"domain": [10 * len(systems), 0], "nice": False})
    across = quantity("bits", title="information difference (bits)")
    links = layer(
        mark("line", color=COLOURS[0], strokeWidth=1.5),
        x=across,
        y=place,
        detail=category("link"),
        order=quantity("corner"),
    )
    joined = layer(
        mark("circle", color=COLOURS[0], size=30, opacity=1),
        joints,
        x=across,
        y=place,
        tooltip=numbers("bits=join at (bits)"),
    )
    leaves = layer(
        mark("circle", opacity=0),
        [{"system": system, "bits": 0.0} for system in systems],
        x=across,
        y=category(
            "system",
            title=None,
            scale={"domain": systems, "padding": 0.5},
            axis=name_axis(systems, labelFontSize=11 if len(systems) <= 60 else 8),
        ),
    )
    step = 18 if len(systems) <= 60 else 10
    return Chart.of(
        lines,
        links,
        joined,
        leaves,
        width=420,
        height=max(60, step * len(systems)),
        title="Similar systems join early (average linkage)",
        resolve={"scale": {"y": "independent"}},
    )


def difference_scatter(difference: InformationDifference) -> Chart:
    """Draw each pair of systems by its difference in AP and its information difference."""
    table = difference.table()
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return scatter(
        rows,
        ("delta_ap", "|delta AP|"),
        ("information_difference", "information difference (bits)"),
        ("system_a", "system_b"),
        "Systems with equal scores can have different rankings",
    )


def tau_scatter(tau: InformationTau) -> Chart:
    """Draw each query by the information tau of two measures, without and with the last condition."""
    x, y, given = tau.rows[-1]
    if not given:
        raise CalipersError("the scatter of information tau needs a condition: name a measure that is given")
    both = zip(tau.queries, tau[x, y].tolist(), tau[x, y, *given].tolist(), strict=True)
    rows = [{"query": query, "alone": alone, "given": known} for query, alone, known in both if alone == alone]
    what = f"tau_I({x}; {y}"
    return scatter(
        rows,
        ("alone", f"{what})"),
        ("given", f"{what} | {', '.join(given)})"),
        ("query",),
        "Information tau without and with the condition",
    )
