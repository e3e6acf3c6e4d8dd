"""Charts, as functions of scores and bounds. Each returns an Altair chart; `save` writes HTML, SVG or PNG.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.fusion.study import FusionStudy
    from calipers.information.difference import InformationDifference
    from calipers.information.tau import InformationTau
    from calipers.information.validation import RicStudy
    from calipers.limits import Bounds
    from calipers.metaeval.power import DiscriminativePower
    from calipers.metaeval.study import MetaEvaluation
    from calipers.queries import QueryTypes

TYPE_COLOURS = {
    "ideal": "#009E73",
    "informative": "#56B4E9",
    "uninformative": "#999999",
    "hard": "#D55E00",
    "easy": "#E69F00",
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
EXTRA = "charts need the extra `report`: pip install 'calipers[report]'"


def query_map(types: QueryTypes, measure: str = "score") -> Any:
    """Each query by what a random ranking gets and what systems get, both as shares of the ideal score."""
    alt = _altair()
    rows = [
        {"query": q, "type": t, "expected": float(e), "actual": float(a)}
        for q, t, e, a in zip(types.queries, types.types, types.expected, types.actual, strict=True)
        if t != "undefined"
    ]
    share = alt.Scale(domain=[0, 1])
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_circle(size=60, opacity=0.7)
        .encode(
            x=alt.X("actual:Q", title=f"{measure} of the systems (share of the ideal)", scale=share),
            y=alt.Y("expected:Q", title=f"{measure} of a random ranking", scale=share),
            color=alt.Color(
                "type:N",
                title="type of query",
                scale=alt.Scale(domain=list(TYPE_COLOURS), range=list(TYPE_COLOURS.values())),
            ),
            tooltip=[
                alt.Tooltip("query:N"),
                alt.Tooltip("type:N"),
                alt.Tooltip("actual:Q", format=".4f"),
                alt.Tooltip("expected:Q", format=".4f"),
            ],
        )
    )
    ends = [{"at": 0.0}, {"at": 1.0}]
    diagonal = (
        alt.Chart(alt.Data(values=ends))
        .mark_line(strokeDash=[4, 4], color="#888888", strokeWidth=1)
        .encode(x=alt.X("at:Q", scale=share), y=alt.Y("at:Q", scale=share))
    )
    return (diagonal + points).properties(
        width=420, height=420, title="Queries: on the dashed line systems do no better than a random ranking"
    )


def expected_histogram(bounds: Bounds, measure: str, bins: int = 20) -> Any:
    """How many queries have which expected score under a random ranking."""
    alt = _altair()
    rows = [{"expected": float(e)} for e in bounds.expected[measure].ravel() if e == e]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(color="#0072B2")
        .encode(
            x=alt.X("expected:Q", bin=alt.Bin(maxbins=bins), title=f"expected {measure} of a random ranking"),
            y=alt.Y("count():Q", title="queries"),
            tooltip=[alt.Tooltip("count():Q", title="queries")],
        )
        .properties(width=420, height=240, title="What a random ranking would score")
    )


def significance_curves(power: DiscriminativePower) -> Any:
    """The achieved significance levels of each measure, sorted: the lower the curve, the more pairs it tells apart."""
    alt = _altair()
    rows = []
    for family, levels in zip(power.families, power.levels, strict=True):
        # A thousand points draw the same curve as thirty thousand.
        step = max(1, len(levels) // 1000)
        rows += [
            {"measure": family.name, "share": (i + 1) / len(levels), "p": float(levels[i])}
            for i in range(0, len(levels), step)
        ]
    names = [family.name for family in power.families]
    curves = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("share:Q", title="pairs of systems, by descending p", axis=alt.Axis(format="%")),
            y=alt.Y("p:Q", title="achieved significance level"),
            color=alt.Color(
                "measure:N", title="measure", sort=names,
                scale=alt.Scale(domain=names, range=[COLOURS[i % len(COLOURS)] for i in range(len(names))]),
            ),
            tooltip=[alt.Tooltip("measure:N"), alt.Tooltip("share:Q", format=".1%"), alt.Tooltip("p:Q", format=".4f")],
        )
    )  # fmt: skip
    rule = (
        alt.Chart(alt.Data(values=[{"alpha": power.alpha}]))
        .mark_rule(strokeDash=[4, 4], color="#888888")
        .encode(y="alpha:Q")
    )
    return (curves + rule).properties(
        width=420, height=300, title="Discriminative power: pairs below the dashed line differ significantly"
    )


def system_scores(meta: MetaEvaluation, of_set: str = "all") -> Any:
    """The mean score of each system under each measure, the systems in the order of the first measure."""
    alt = _altair()
    averages = meta.averages[of_set]
    order = sorted(range(len(meta.systems)), key=lambda s: -averages[0][s])
    names = [family.name for family in meta.families]
    rows = [
        {"system": meta.systems[s], "measure": name, "score": float(averages[f][s]), "place": place}
        for place, s in enumerate(order, 1)
        for f, name in enumerate(names)
    ]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("place:Q", title=f"systems, by {names[0]}"),
            y=alt.Y("score:Q", title="mean score"),
            color=alt.Color(
                "measure:N", title="measure", sort=names,
                scale=alt.Scale(domain=names, range=[COLOURS[i % len(COLOURS)] for i in range(len(names))]),
            ),
            tooltip=[alt.Tooltip("system:N"), alt.Tooltip("measure:N"), alt.Tooltip("score:Q", format=".4f")],
        )
        .properties(width=420, height=300, title=f"Mean scores of the systems, {of_set} queries")
    )  # fmt: skip


def heat_map(difference: InformationDifference) -> Any:
    """The information difference between each two systems, like beside like."""
    alt = _altair()
    order = [difference.systems[i] for i in difference.order()]
    rows = [
        {"one": one, "other": other, "bits": float(bits)}
        for one, line in zip(difference.systems, difference.matrix, strict=True)
        for other, bits in zip(difference.systems, line, strict=True)
    ]
    size = max(300, 9 * len(order))
    labels = alt.Axis(labelLimit=120, labelFontSize=8, labelOverlap=False)
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rect()
        .encode(
            x=alt.X("one:N", sort=order, title=None, axis=labels),
            y=alt.Y("other:N", sort=order, title=None, axis=labels),
            color=alt.Color("bits:Q", title="difference (bits)", scale=alt.Scale(scheme="viridis")),
            tooltip=[alt.Tooltip("one:N"), alt.Tooltip("other:N"), alt.Tooltip("bits:Q", format=".4f")],
        )
        .properties(width=size, height=size, title="Information difference: dark systems know the same")
    )


def dendrogram(difference: InformationDifference, method: str = "average") -> Any:
    """How systems join into clusters, and at which information difference."""
    from scipy.cluster.hierarchy import dendrogram as drawn

    alt = _altair()
    tree = drawn(difference.linkage(method), no_plot=True)
    lines = [
        {"link": link, "corner": corner, "place": place, "bits": bits}
        for link, (places, heights) in enumerate(zip(tree["icoord"], tree["dcoord"], strict=True))
        for corner, (place, bits) in enumerate(zip(places, heights, strict=True))
    ]
    # SciPy puts leaf i at 10 i + 5.
    names = [{"system": difference.systems[i], "place": 10 * row + 5} for row, i in enumerate(tree["leaves"])]
    place = alt.Y("place:Q", axis=None, scale=alt.Scale(domain=[10 * len(names), 0], nice=False))
    links = (
        alt.Chart(alt.Data(values=lines))
        .mark_line(color=COLOURS[0], strokeWidth=1)
        .encode(x=alt.X("bits:Q", title="information difference (bits)"), y=place, detail="link:N", order="corner:Q")
    )
    leaves = (
        alt.Chart(alt.Data(values=names))
        .mark_text(align="right", dx=-4, fontSize=8)
        .encode(x=alt.datum(0), y=place, text="system:N")
    )
    return (links + leaves).properties(
        width=420, height=max(120, 10 * len(names)), title=f"Systems that know the same join early ({method} linkage)"
    )


def difference_scatter(difference: InformationDifference) -> Any:
    """Each pair of systems by its difference in AP and its information difference."""
    table = difference.table()
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return _scatter(
        rows, ("delta_ap", "|delta AP|"), ("information_difference", "information difference (bits)"),
        ("system_a", "system_b"), "Systems may score alike and yet differ",
    ).properties(width=420, height=420)  # fmt: skip


def tau_scatter(tau: InformationTau) -> Any:
    """Each query by the information tau of two measures, without and with the last condition."""
    x, y, given = tau.rows[-1]
    if not given:
        raise CalipersError("the scatter of information tau needs a condition: name a measure that is given")
    both = zip(tau.queries, tau[x, y].tolist(), tau[x, y, *given].tolist(), strict=True)
    rows = [{"query": query, "alone": alone, "given": known} for query, alone, known in both if alone == alone]
    what = f"tau_I({x}; {y}"
    return _scatter(
        rows, ("alone", f"{what})"), ("given", f"{what} | {', '.join(given)})"), ("query",),
        "What two measures have in common, and what of it is left",
    ).properties(width=420, height=420)  # fmt: skip


def ric_scatter(study: RicStudy, measure: str = "AP") -> Any:
    """Each system by another measure and by RIC."""
    rows = [
        {"system": system, "RIC": float(ric), measure: float(score)}
        for system, ric, score in zip(study.systems, study.mean("RIC"), study.mean(measure), strict=True)
    ]
    return _scatter(rows, (measure, measure), ("RIC", "RIC (bits)"), ("system",), f"RIC and {measure}").properties(
        width=420, height=420
    )


def fusion_scatter(study: FusionStudy) -> Any:
    """Each group of systems by what it knows together, and by RIC of its fusions; on the dashed line they are equal."""
    alt = _altair()
    rows = [
        {"sample": i + 1, "fusion": name, "joint": joint, "RIC": ric}
        for name, values in study.ric.items()
        for i, (joint, ric) in enumerate(zip(study.joint.tolist(), values.tolist(), strict=True))
    ]
    names = list(study.ric)
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_circle(size=30, opacity=0.6)
        .encode(
            x=alt.X("joint:Q", title="joint RIC of the systems (bits)", scale=alt.Scale(zero=False)),
            y=alt.Y("RIC:Q", title="RIC of the fused run (bits)"),
            color=alt.Color(
                "fusion:N", sort=names,
                scale=alt.Scale(domain=names, range=[COLOURS[i % len(COLOURS)] for i in range(len(names))]),
            ),
            tooltip=[
                alt.Tooltip("fusion:N"),
                alt.Tooltip("sample:Q"),
                alt.Tooltip("joint:Q", format=".4f"),
                alt.Tooltip("RIC:Q", format=".4f"),
            ],
        )
    )  # fmt: skip
    ends = [{"at": float(study.joint.min())}, {"at": float(study.joint.max())}]
    equal = (
        alt.Chart(alt.Data(values=ends))
        .mark_line(strokeDash=[4, 4], color="#888888", strokeWidth=1)
        .encode(x="at:Q", y="at:Q")
    )
    return (equal + points).properties(width=420, height=420, title="What systems know together, and what fusion keeps")


def _scatter(
    rows: list[dict[str, Any]], x: tuple[str, str], y: tuple[str, str], named: tuple[str, ...], title: str
) -> Any:
    """Points with their names; x and y are a field and its title each."""
    alt = _altair()
    return (
        alt.Chart(alt.Data(values=rows), title=title)
        .mark_circle(size=30 if len(rows) < 1000 else 8, opacity=0.5, color=COLOURS[0])
        .encode(
            x=alt.X(f"{x[0]}:Q", title=x[1]),
            y=alt.Y(f"{y[0]}:Q", title=y[1]),
            tooltip=[
                *(alt.Tooltip(f"{name}:N") for name in named),
                *(alt.Tooltip(f"{field}:Q", format=".4f") for field in (x[0], y[0])),
            ],
        )
    )


def stacked(*charts: Any) -> Any:
    """Charts one below the other, each with its own colours."""
    return _altair().vconcat(*charts).resolve_scale(color="independent")


def save(chart: Any, path: str) -> None:
    """Write a chart as .html (one file, nothing loaded from the network), .svg, .png or .json."""
    form = Path(path).suffix.lower().lstrip(".")
    if form not in ("html", "svg", "png", "json"):
        raise CalipersError("a chart can be written as .html, .svg, .png or .json", file=path)
    try:
        chart.save(path, format=form, **({"inline": True} if form == "html" else {}))
    except (ImportError, ValueError) as error:
        raise CalipersError(f"{EXTRA} ({error})", file=path) from None
    except OSError as error:
        raise CalipersError(f"cannot be written: {error.strerror}", file=path) from None


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise CalipersError(EXTRA) from None
    altair.data_transformers.disable_max_rows()
    return altair
