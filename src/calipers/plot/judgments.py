"""Charts of judgments: ranges for unjudged documents, other judges, and sampled irrelevant items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import CalipersError, chosen_measure
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
    condition,
    label_expression,
    labels,
    layer,
    line_at,
    mark,
    numbers,
    palette,
    quantity,
)
from calipers.plot.systems import by_field, height_of, side_of, systems_axis
from calipers.results.tables import as_number

if TYPE_CHECKING:
    from calipers.lists import Floats, Ints
    from calipers.questions.judges.agreement import Confusion
    from calipers.questions.judges.effects_on_systems import Effects
    from calipers.questions.ranges.pair_ranges import PairRanges
    from calipers.questions.ranges.score_ranges import Ranges
    from calipers.questions.sampled.sampled_candidates import SampledScores


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


NAMED = 6  # number of lines with colours: the systems that move most


def confusion(found: Confusion) -> Chart:
    """Draw how often a judge gave each grade, for each grade of the human. Darker: a larger share of the row."""
    share = found.counts / np.maximum(found.counts.sum(axis=1, keepdims=True), 1)
    rows = [
        {"human": f"{row:g}", "judge": f"{column:g}", "labels": int(found.counts[i, j]), "share": float(share[i, j])}
        for i, row in enumerate(found.grades)
        for j, column in enumerate(found.grades)
    ]
    places = {
        "x": category(
            "judge",
            title=f"grade by {found.judge}",
            sort=[f"{c:g}" for c in found.grades],
            axis={"labelAngle": 0, "orient": "top"},
        ),
        "y": category("human", title="grade by the human", sort=[f"{r:g}" for r in found.grades]),
        "tooltip": [
            *labels("human", "judge"),
            quantity("labels"),
            *numbers("share=of the human's", format=".1%"),
        ],
    }
    scale = {"domain": [0, 1], "range": ["#f4f6f8", COLOURS[0]]}
    colour = quantity("share", title="of the human's", scale=scale, legend={"format": "%"})
    layers = [layer(mark("rect", stroke="white"), **places, color=colour)]
    if len(found.grades) <= 10:
        ink = condition("datum.share > 0.5", "white", "#333333")
        layers.append(layer(mark("text", fontSize=11), **places, text=quantity("labels"), color=ink))
    step = {"step": cell_size(len(found.grades), 360)}
    title = f"Grades by {found.judge} for each grade by the human"
    return Chart.of(rows, *layers, width=step, height=step, title=title)


def slopes(effects: Effects, measure: str | None = None) -> Chart:
    """Draw the rank of each system under the human's labels and under each judge's, as one line per system.

    The systems that move most have colours.
    """
    m = chosen_measure(measure, effects.measures)
    ranks = [
        (row[2], row[0], as_number(row[5]), as_number(row[6]))
        for row in effects.ranks().rows
        if row[1] == effects.measures[m]
    ]
    human = effects.names[0]
    rows = [{"system": s, "judge": human, "rank": ours} for s, judge, ours, _ in ranks if judge == effects.judges[0]]
    rows += [{"system": s, "judge": judge, "rank": theirs} for s, judge, _, theirs in ranks]
    moved: dict[Any, float] = {}
    for system, _, ours, theirs in ranks:
        moved[system] = max(moved.get(system, 0.0), abs(ours - theirs))
    named = sorted(moved, key=lambda system: -moved[system])[:NAMED]
    others = "the other systems"
    for row in rows:
        row["line"] = row["system"] if row["system"] in named else others
    order = [human, *effects.judges]
    colours = [*map(str, named)]
    channels = {
        "x": category(
            "judge",
            sort=order,
            title=None,
            axis={"labelAngle": -20, "labelLimit": 0, "orient": "top", **label_expression(order)},
        ),
        "y": quantity(
            "rank",
            scale={"reverse": True, "domain": [1, len(effects.systems)]},
            title=f"rank by {effects.measures[m]}",
        ),
        "detail": category("system"),
        "color": category(
            "line",
            scale=palette(colours, others),
            title="moves most",
            legend={"labelLimit": 0, **label_expression(colours)},
        ),
        "tooltip": [*labels("system", "judge"), quantity("rank")],
    }
    lines = layer(mark("line", strokeWidth=1.5, opacity=0.8), **channels)
    dots = layer(mark("circle", size=30), **channels)
    height = max(160, min(14 * len(effects.systems), 900))
    title = f"{effects.measures[m]}: the systems under each judge"
    return Chart.of(rows, lines, dots, width=max(220, 110 * len(order)), height=height, title=title)


def sampled_order(found: SampledScores, measure: str | None = None) -> Chart:
    """Draw the expected score of each system by the number of sampled items, with the full score at the right.

    Two systems change their order where their lines cross.
    """
    name = found.measures[chosen_measure(measure, found.measures)]
    rows = []
    for system, of, negatives, full, expected, sd in found.table().rows:
        if of == name:
            rows.append({"system": system, "items": negatives, "score": expected, "sd": sd})
            rows.append({"system": system, "items": found.sampling.items, "score": full, "sd": 0.0})
    systems = list(found.systems)
    channels = {
        "x": quantity("items", scale={"type": "log"}, title="sampled irrelevant items (right end: all items)"),
        "y": quantity("score", title=f"expected mean {name}", scale={"zero": False}),
        "color": category("system", sort=systems, scale=palette(systems), title=None),
        "tooltip": [*labels("system"), quantity("items"), *numbers("score", "sd")],
    }
    lines = layer(mark("line", strokeWidth=2), **channels)
    dots = layer(mark("circle", size=45, opacity=1), **channels)
    title = f"{name}: where sampling changes the order of systems"
    return Chart.of(rows, lines, dots, width=480, height=320, title=title)
