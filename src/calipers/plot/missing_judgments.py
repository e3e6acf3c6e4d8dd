"""Charts of unjudged documents: ranges of scores, and decided pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calipers.errors import CalipersError
from calipers.plot.drawing import Chart
from calipers.plot.specifications import (
    BETTER,
    COLOURS,
    DATA_RANGE,
    NEITHER,
    WORSE,
    by_name,
    by_name_in_matrix,
    category,
    cell_size,
    labels,
    layer,
    line_at,
    mark,
    numbers,
    quantity,
)
from calipers.plot.systems import by_field, height_of, side_of, systems_axis

if TYPE_CHECKING:
    from calipers.lists import Floats, Ints
    from calipers.questions.ranges.pair_ranges import PairRanges
    from calipers.questions.ranges.score_ranges import Ranges

DRAWN = 40  # up to this number of systems, a partial order is drawn as a graph; otherwise as a matrix


def score_ranges(found: Ranges, measure: str | None = None) -> Chart:
    """Draw the mean of each system (dot, unjudged documents as not relevant) and its range (bar)."""
    name = found.measures[0] if measure is None else measure
    rows = [
        {"system": system, "low": low, "score": score, "high": high}
        for system, of, low, score, high in found.mean().rows
        if of == name
    ]
    order = by_field(rows, "score")
    y = systems_axis(order)
    tooltip = [*labels("system"), *numbers("low", "score", "high")]
    across = quantity(
        "low",
        title=f"range of the mean {name} over all possible grades",
        scale=DATA_RANGE,
        axis={"orient": side_of(order)},
    )
    high = {"field": "high"}
    bars = layer(mark("bar", color=COLOURS[5], opacity=0.5, height=7), x=across, x2=high, y=y, tooltip=tooltip)
    dots = layer(mark("circle", color=COLOURS[0], size=50, opacity=1), x=quantity("score"), y=y, tooltip=tooltip)
    title = f"{name}: range of each mean over all grades of unjudged documents"
    return Chart.of(rows, bars, dots, width=480, height=height_of(order), title=title)


def difference_ranges(found: Ranges, pairs: Sequence[tuple[str, str]], measure: str | None = None) -> Chart:
    """Draw the difference of the means of some pairs of systems (dot) and its range (bar)."""
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
    channels = {
        "y": category("pair", **by_name(order)),
        "color": category("verdict", title=None, scale={"domain": ["decided", "open"], "range": [BETTER, WORSE]}),
        "tooltip": [*labels("pair"), *numbers("difference", "low", "high")],
    }
    across = quantity("low", title=f"range of the difference of mean {ranges.measure} over all possible grades")
    bars = layer(mark("bar", opacity=0.4, height=9), x=across, x2={"field": "high"}, **channels)
    dots = layer(mark("circle", size=60, opacity=1), x=quantity("difference"), **channels)
    return Chart.of(rows, line_at("x", 0), bars, dots, width=480, height=max(90, 26 * len(rows)))


def decided_order(found: Ranges, measure: str | None = None) -> Chart:
    """Draw the decided pairs: each system above those that no judgment can put before it. Many systems are a matrix."""
    pairs = found.pair_ranges(measure)
    mean = found.score[pairs.measure].mean(axis=1)
    return _graph(pairs, mean) if len(pairs.systems) <= DRAWN else _matrix(pairs, mean)


def _graph(pairs: PairRanges, mean: Floats) -> Chart:
    """Draw a line from each system down to those that it surely beats, without lines that follow from others."""
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
    x = quantity("x", axis=None, scale={"domain": [-0.05, 1.05]})
    y = quantity("y", axis=None, scale={"domain": [-0.7, depth - 0.5], "reverse": True})
    edge = mark("rule", color=NEITHER, opacity=0.5)
    edges = layer(edge, lines, x=x, y=y, x2={"field": "x2"}, y2={"field": "y2"})
    dots = layer(
        mark("circle", size=70, color=BETTER, opacity=1),
        x=x,
        y=y,
        tooltip=[*labels("system"), *numbers("mean=mean score"), quantity("beats", title="surely better than")],
    )
    text = mark("text", dx=7, dy=-7, fontSize=10, align="left", angle=330)
    names = layer(text, x=x, y=y, text=category("system"))
    outer = " (outer ranges)" if pairs.exactness == "outer" else ""
    return Chart.of(
        nodes, edges, dots, names, width=640, height=max(90 * depth, 120), title=f"{_decided(pairs)}{outer}"
    )


def _decided(pairs: PairRanges) -> str:
    return f"{pairs.measure}: {float(pairs.decided.mean()):.0%} of the pairs are decided"


def _across(level: Ints, mean: Floats) -> Floats:
    """Place the systems of a level next to each other, the better ones to the left."""
    place = np.empty(len(level))
    for each in np.unique(level).tolist():
        here = np.flatnonzero(level == each)
        here = here[np.argsort(-mean[here], kind="stable")]
        place[here] = (np.arange(len(here)) + 0.5) / len(here)
    return place


def _matrix(pairs: PairRanges, mean: Floats) -> Chart:
    """Draw a square for each pair of systems, best first. Blue: the system of the row is surely better."""
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
    places = by_name_in_matrix(order)
    colours = {"domain": ["surely better", "open", "surely worse"], "range": [BETTER, "#e6e8eb", WORSE]}
    squares = layer(
        mark("rect"),
        x=category("column", **places),
        y=category("row", **places),
        color=category("verdict", scale=colours, title="the row's system is"),
        tooltip=[*labels("row", "column", "verdict"), *numbers("difference")],
    )
    side = cell_size(len(order), 560) * len(order)
    return Chart.of(rows, squares, width=side, height=side, title=_decided(pairs))
