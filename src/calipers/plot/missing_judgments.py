"""Charts of unjudged documents: ranges of scores, and decided pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import CalipersError
from calipers.plot.drawing import (
    BETTER,
    COLOURS,
    NEITHER,
    RULE,
    WORSE,
    altair,
    cell_size,
    chart,
    data_range,
    matrix_axis,
    name_axis,
    numbers,
    rows_of,
)
from calipers.plot.systems import by_field, height_of, side_of, systems_axis

if TYPE_CHECKING:
    from calipers.lists import Floats, Ints
    from calipers.unjudged.pair_ranges import PairRanges
    from calipers.unjudged.score_ranges import Ranges

DRAWN = 40  # up to this number of systems, a partial order is drawn as a graph; otherwise as a matrix


@chart
def score_ranges(found: Ranges, measure: str | None = None) -> Any:
    """Draw the mean of each system (dot, unjudged documents as not relevant) and its range (bar)."""
    alt = altair()
    name = found.measures[0] if measure is None else measure
    rows = [
        {"system": system, "low": low, "score": score, "high": high}
        for system, of, low, score, high in found.mean().rows
        if of == name
    ]
    order = by_field(rows, "score")
    base = alt.Chart(rows_of(rows)).encode(y=systems_axis(order))
    tooltip = [alt.Tooltip("system:N"), *numbers("low", "score", "high")]
    across = alt.X(
        "low:Q", title=f"range of the mean {name} over all possible grades", scale=data_range(),
        axis=alt.Axis(orient=side_of(order)),
    )  # fmt: skip
    bars = base.mark_bar(color=COLOURS[5], opacity=0.5, height=7).encode(x=across, x2=alt.X2("high:Q"), tooltip=tooltip)
    dots = base.mark_circle(color=COLOURS[0], size=50, opacity=1).encode(x=alt.X("score:Q"), tooltip=tooltip)
    return (bars + dots).properties(
        width=480, height=height_of(order), title=f"{name}: range of each mean over all grades of unjudged documents"
    )


@chart
def difference_ranges(found: Ranges, pairs: Sequence[tuple[str, str]], measure: str | None = None) -> Any:
    """Draw the difference of the means of some pairs of systems (dot) and its range (bar)."""
    alt = altair()
    ranges = found.pair_ranges(measure)
    place = {
        (ranges.systems[a], ranges.systems[b]): i
        for i, (a, b) in enumerate(zip(ranges.a.tolist(), ranges.b.tolist(), strict=True))
    }
    rows = []
    for one, other in pairs:
        turned = (one, other) not in place
        if turned and (other, one) not in place:
            raise CalipersError(f"there is no pair of '{one}' and '{other}'")
        i = place[other, one] if turned else place[one, other]
        difference, low, high = (float(each[i]) for each in ranges.means)
        if turned:
            difference, low, high = -difference, -high, -low
        verdict = "decided" if ranges.decided[i] else "open"
        rows.append(
            {"pair": f"{one} − {other}", "difference": difference, "low": low, "high": high, "verdict": verdict}
        )
    order = [str(row["pair"]) for row in rows]
    colour = alt.Color(
        "verdict:N", scale=alt.Scale(domain=["decided", "open"], range=[BETTER, WORSE]), title=None
    )  # fmt: skip
    base = alt.Chart(rows_of(rows)).encode(
        y=alt.Y("pair:N", title=None, scale=alt.Scale(domain=tuple(order)), axis=name_axis(order)),
        tooltip=[alt.Tooltip("pair:N"), *numbers("difference", "low", "high")],
    )
    title = f"range of the difference of mean {ranges.measure} over all possible grades"
    bars = base.mark_bar(opacity=0.4, height=9).encode(x=alt.X("low:Q", title=title), x2=alt.X2("high:Q"), color=colour)
    dots = base.mark_circle(size=60, opacity=1).encode(x=alt.X("difference:Q"), color=colour)
    zero = alt.Chart(rows_of([{"at": 0}])).mark_rule(color=RULE, strokeDash=[4, 4]).encode(x=alt.X("at:Q"))
    return (zero + bars + dots).properties(width=480, height=max(90, 26 * len(rows)))


@chart
def decided_order(found: Ranges, measure: str | None = None) -> Any:
    """Draw the decided pairs: each system above those that no judgment can put before it. Many systems are a matrix."""
    pairs = found.pair_ranges(measure)
    mean = found.score[pairs.measure].mean(axis=1)
    return _graph(pairs, mean) if len(pairs.systems) <= DRAWN else _matrix(pairs, mean)


def _graph(pairs: PairRanges, mean: Floats) -> Any:
    """Draw a line from each system down to those that it surely beats, without lines that follow from others."""
    alt = altair()
    beats = pairs.beats()
    through = (beats.astype(np.float64) @ beats.astype(np.float64)) > 0
    direct = beats & ~through
    level = np.zeros(len(mean), np.int64)
    for s in np.argsort(-mean, kind="stable").tolist():  # a system that surely beats another has the better mean
        above = np.flatnonzero(beats[:, s])
        level[s] = level[above].max(initial=-1) + 1
    across = _across(level, mean)
    nodes = [
        {
            "system": system,
            "x": float(across[s]),
            "y": int(level[s]),
            "mean": float(mean[s]),
            "beats": int(beats[s].sum()),
        }
        for s, system in enumerate(pairs.systems)
    ]
    lines = [
        {"x": float(across[a]), "y": int(level[a]), "x2": float(across[b]), "y2": int(level[b])}
        for a, b in np.argwhere(direct).tolist()
    ]
    depth = int(level.max(initial=0)) + 1
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.05, 1.05]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.7, depth - 0.5], reverse=True))
    edges = (
        alt.Chart(rows_of(lines))
        .mark_rule(color=NEITHER, opacity=0.5)
        .encode(x=x, y=y, x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"))
    )
    tooltip = [alt.Tooltip("system:N"), *numbers("mean=mean score"), alt.Tooltip("beats:Q", title="surely better than")]
    base = alt.Chart(rows_of(nodes)).encode(x=x, y=y)
    dots = base.mark_circle(size=70, color=BETTER, opacity=1).encode(tooltip=tooltip)
    names = base.mark_text(dx=7, dy=-7, fontSize=10, align="left", angle=330).encode(text=alt.Text("system:N"))
    share = float(pairs.decided.mean())
    outer = " (outer ranges)" if pairs.exactness == "outer" else ""
    return (edges + dots + names).properties(
        width=640, height=max(90 * depth, 120), title=f"{pairs.measure}: {share:.0%} of the pairs are decided{outer}"
    )


def _across(level: Ints, mean: Floats) -> Floats:
    """Place the systems of a level next to each other, the better ones to the left."""
    place = np.empty(len(level))
    for each in np.unique(level).tolist():
        here = np.flatnonzero(level == each)
        here = here[np.argsort(-mean[here], kind="stable")]
        place[here] = (np.arange(len(here)) + 0.5) / len(here)
    return place


def _matrix(pairs: PairRanges, mean: Floats) -> Any:
    """Draw a square for each pair of systems, best first. Blue: the system of the row is surely better."""
    alt = altair()
    order = [pairs.systems[s] for s in np.argsort(-mean, kind="stable").tolist()]
    beats = pairs.beats()
    difference = pairs.means[0].tolist()
    rows = []
    for i, (a, b) in enumerate(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)):
        for one, other, sign in ((a, b, 1), (b, a, -1)):
            verdict = "surely better" if beats[one, other] else "surely worse" if beats[other, one] else "open"
            rows.append(
                {"row": pairs.systems[one], "column": pairs.systems[other], "difference": sign * difference[i]}
                | {"verdict": verdict}
            )
    side = cell_size(len(order), 560) * len(order)
    places, axis = alt.Scale(domain=tuple(order)), matrix_axis(order)
    colours = alt.Scale(domain=["surely better", "open", "surely worse"], range=[BETTER, "#e6e8eb", WORSE])
    share = float(pairs.decided.mean())
    return (
        alt.Chart(rows_of(rows), title=f"{pairs.measure}: {share:.0%} of the pairs are decided")
        .mark_rect()
        .encode(
            x=alt.X("column:N", title=None, scale=places, axis=axis),
            y=alt.Y("row:N", title=None, scale=places, axis=axis),
            color=alt.Color("verdict:N", scale=colours, title="the row's system is"),
            tooltip=[alt.Tooltip("row:N"), alt.Tooltip("column:N"), alt.Tooltip("verdict:N"), *numbers("difference")],
        )
        .properties(width=side, height=side)
    )
