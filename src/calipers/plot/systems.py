"""Charts of systems: means with intervals, places between random and ideal, and differences."""

from __future__ import annotations

import math
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
    Part,
    by_name,
    by_name_in_matrix,
    category,
    cell_size,
    condition,
    labels,
    layer,
    line_at,
    mark,
    numbers,
    quantity,
)
from calipers.support.plurals import plural_of

if TYPE_CHECKING:
    from calipers.lists import Floats
    from calipers.questions.bounds import Bounds
    from calipers.questions.compare.comparison import Comparison
    from calipers.results.scores import Scores

STEP = 18  # height of a system in pixels
FEW = 12  # up to this number of systems, differences are written into the squares
VERDICTS = {"better": BETTER, "not shown to differ": "#dfe3e8", "worse": WORSE}


def means(scores: Scores, measure: str | None = None, level: float = 0.95) -> Chart:
    """Draw the mean of each system with its confidence interval, best first."""
    from calipers.statistics.bounded_intervals import mean_intervals

    name = scores.measures[chosen_measure(measure, scores.measures)]
    scores = scores.of_measures([name])
    mean, (low, high) = scores.mean(), mean_intervals(scores, level=level)
    triples = zip(mean[name], low[name], high[name], strict=True)
    rows = [
        {"system": system, "mean": m, "low": _or_none(lo), "high": _or_none(hi)}
        for system, (m, lo, hi) in zip(scores.systems, triples, strict=True)
        if m == m
    ]
    order = by_field(rows, "mean")
    if name in scores.lower:
        order.reverse()
    across = quantity(
        "low", title=f"mean {name}, {level:.0%} interval", scale=DATA_RANGE, axis={"orient": side_of(order)}
    )
    whiskers = layer(
        mark("rule", color=COLOURS[0], strokeWidth=2, opacity=0.45),
        x=across,
        x2={"field": "high"},
        y=systems_axis(order),
    )
    dots = layer(
        mark("circle", color=COLOURS[0], size=60, opacity=1),
        x=quantity("mean"),
        y=systems_axis(order),
        tooltip=[*labels("system"), *numbers("mean", "low", "high")],
    )
    return Chart.of(rows, whiskers, dots, width=480, height=height_of(order), title=f"Mean {name} of each system")


def between_bounds(scores: Scores, bounds: Bounds, measure: str | None = None) -> Chart:
    """Draw each system on the scale from random (0) to ideal (1): its mean, and the middle half of the queries.

    The scale is that of V2: (A - E) / (U - E) above a random ranking, (A - E) / E below it.
    """
    name = scores.measures[chosen_measure(measure, scores.measures)]
    return on_the_scale(scores.systems, placed(scores, bounds, name), name)


def on_the_scale(systems: Sequence[str], placed: Floats, name: str, unit: str = "query") -> Chart:
    """Draw each system by its scores on the scale of V2: [system, query]."""
    rows = _places(systems, placed)
    order = by_field(rows, "mean")
    lowest = max(-1.0, math.floor(4 * min((row["low"] for row in rows), default=0.0)) / 4)
    axis = {
        "values": [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1],
        "labelExpr": "datum.value == 0 ? 'random' : datum.value == 1 ? 'ideal' : datum.value == -1 ? 'nothing' : "
        "datum.label",
        "format": ".2~f",
        "orient": side_of(order),
    }
    across = quantity("low", title=f"{name} between its bounds", scale={"domain": [min(lowest, 0.0), 1]}, axis=axis)
    tooltip = [
        *labels("system"),
        *numbers("mean", "low=lower quartile", "median", "high=upper quartile"),
        *numbers(f"above={plural_of(unit)} above random", format=".0%"),
    ]
    bars = layer(
        mark("bar", color=COLOURS[5], opacity=0.45, height=8),
        x=across,
        x2={"field": "high"},
        y=systems_axis(order),
        tooltip=tooltip,
    )
    dots = layer(
        mark("circle", size=60, opacity=1),
        x=quantity("mean"),
        y=systems_axis(order),
        color=condition("datum.mean < 0", WORSE, BETTER),
        tooltip=tooltip,
    )
    title = f"{name}: where each system stands between random and ideal"
    return Chart.of(rows, bars, line_at("x", 0), dots, width=480, height=height_of(order), title=title)


def _places(systems: Sequence[str], placed: Floats) -> list[dict[str, Any]]:
    """Return the mean, the quartiles and the share above 0 of each system that has scores."""
    found: dict[int, list[float]] = {}
    masks, which = np.unique(
        ~np.isnan(placed), axis=0, return_inverse=True
    )  # most systems have scores on the same queries
    for number, mask in enumerate(masks):
        if mask.any():
            rows = np.flatnonzero(which.ravel() == number)
            defined = np.ascontiguousarray(placed[rows][:, mask])
            quartiles = np.quantile(defined, (0.25, 0.5, 0.75), axis=1)
            columns = (defined.mean(axis=1), *quartiles, (defined > 0).mean(axis=1))
            found |= zip(rows.tolist(), np.transpose(columns).tolist(), strict=True)
    names = ("mean", "low", "median", "high", "above")
    return [{"system": systems[s]} | dict(zip(names, found[s], strict=True)) for s in sorted(found)]


def placed(scores: Scores, bounds: Bounds, measure: str) -> Floats:
    """Return the scores of one measure on the scale of V2: [system, query]. NaN if all rankings score the same."""
    from calipers.measures.normalisation import Limits, v2

    if scores.queries != bounds.queries:
        raise CalipersError("the scores and the bounds are not of the same queries")
    if measure not in bounds.ideal:
        raise CalipersError(f"there are no bounds of {measure}")
    score = scores[measure]

    def of(bound: dict[str, Floats]) -> Floats:
        return np.broadcast_to(bound[measure], score.shape)

    limits = Limits(of(bounds.ideal), of(bounds.expected), of(bounds.worst))
    return np.asarray(np.where(limits.degenerate, np.nan, v2(score, limits)))


def differences(comparison: Comparison, measure: str | None = None) -> Chart:
    """Draw a square for each pair of systems, best first. Blue: the system of the row is significantly better."""
    m = chosen_measure(measure, comparison.measures)
    outcome = comparison.outcomes[m]
    columns = zip(
        comparison.a.tolist(),
        comparison.b.tolist(),
        outcome.difference.tolist(),
        comparison.improvement(m).tolist(),
        comparison.p_adjusted[m].tolist(),
        comparison.significant[m].tolist(),
        strict=True,
    )
    systems = comparison.systems
    rows = [
        {"row": systems[a], "column": systems[b], "difference": _or_none(d), "p": _or_none(p)}
        | {"verdict": _verdict(up, yes)}
        for a, b, d, up, p, yes in columns
    ]
    order = [systems[s] for s in comparison.best_first(m)]
    squares = mark("rect", stroke="white", strokeWidth=1 if len(order) <= 60 else 0)
    half, other_half = _half(order, "row", "column"), _half(order, "column", "row")
    layers = [layer(squares, **half), layer(squares, **other_half) | TURNED]
    if len(order) <= FEW:
        ink = condition("datum.verdict == 'not shown to differ'", "#555555", "white")
        written = {"text": quantity("difference", format="+.3f"), "color": ink}
        text = mark("text", fontSize=11)
        layers += [layer(text, **half | written), layer(text, **other_half | written) | TURNED]
    step = {"step": cell_size(len(order), 900)}
    title = f"{comparison.measures[m]}: significant differences"
    return Chart.of(rows, *layers, width=step, height=step, title=title)


# Each pair is one row. The other half of the matrix shows it from the side of the other system.
TURNED = {
    "transform": [
        {"calculate": "-datum.difference", "as": "difference"},
        {
            "calculate": "datum.verdict == 'better' ? 'worse' : datum.verdict == 'worse' ? 'better' : datum.verdict",
            "as": "verdict",
        },
    ]
}


def _half(order: list[str], row: str, column: str) -> Part:
    """Return the channels of a half of a matrix of differences."""
    places = by_name_in_matrix(order)
    return {
        "x": category(column, **places),
        "y": category(row, **places),
        "color": category(
            "verdict",
            title="the row's system is",
            scale={"domain": [*VERDICTS], "range": [*VERDICTS.values()]},
            legend={"orient": "top", "columns": 3},
        ),
        "tooltip": [*labels(f"{row}=row", f"{column}=column"), *numbers("difference", "p=p, adjusted")],
    }


def against_baseline(comparison: Comparison, measure: str | None = None) -> Chart:
    """Draw the difference of each system from the baseline with its interval, best first."""
    m = chosen_measure(measure, comparison.measures)
    outcome, better = comparison.outcomes[m], comparison.improvement(m)
    rows = [
        {
            "system": comparison.systems[a],
            "difference": float(outcome.difference[i]),
            "low": _or_none(float(outcome.low[i])),
            "high": _or_none(float(outcome.high[i])),
            "p": _or_none(float(comparison.p_adjusted[m][i])),
            "verdict": _verdict(float(better[i]), bool(comparison.significant[m][i])),
        }
        for i, a in enumerate(comparison.a.tolist())
        if outcome.difference[i] == outcome.difference[i]
    ]
    order = by_field(rows, "difference")
    if comparison.less_is_better(m):
        order.reverse()
    y = systems_axis(order)
    colour = category(
        "verdict",
        title="than the baseline",
        legend={"orient": "top"},
        scale={"domain": [*VERDICTS], "range": [BETTER, NEITHER, WORSE]},
    )
    (baseline,) = {comparison.systems[b] for b in comparison.b.tolist()}
    axis = {"orient": side_of(order)}
    across = quantity("low", title=f"{comparison.measures[m]} - that of {baseline}", axis=axis)
    lines = layer(mark("rule", strokeWidth=2, opacity=0.45), x=across, x2={"field": "high"}, y=y, color=colour)
    dots = layer(
        mark("circle", size=60, opacity=1),
        x=quantity("difference"),
        y=y,
        color=colour,
        tooltip=[*labels("system"), *numbers("difference", "low", "high", "p=p, adjusted")],
    )
    title = f"{comparison.measures[m]} against {baseline}"
    return Chart.of(rows, line_at("x", 0), lines, dots, width=480, height=height_of(order), title=title)


def unjudged(scores: Scores) -> Chart:
    """Draw the share of unjudged documents among the first ten of each system's lists."""
    if scores.coverage is None:
        raise CalipersError("these scores do not say what the lists were like: they did not come from runs")
    share = scores.coverage.unjudged_share_at_10()
    rows = [{"system": s, "share": float(x)} for s, x in zip(scores.systems, share, strict=True)]
    order = by_field(rows, "share")
    bars = layer(
        mark("bar", color=NEITHER),
        x=quantity(
            "share",
            title="unjudged among the first ten",
            axis={"format": "%", "orient": side_of(order)},
            stack=False,  # Vega cannot group by a name that is `__proto__`
        ),
        y=systems_axis(order),
        tooltip=[*labels("system"), *numbers("share", format=".1%")],
    )
    return Chart.of(rows, bars, width=480, height=height_of(order), title="Unjudged documents among the first ten")


# -- pieces --------------------------------------------------------------------------------------------


def systems_axis(order: list[str]) -> Part:
    """Return the axis of the names of systems."""
    return category("system", **by_name(order))


def height_of(order: list[str]) -> int:
    """Return the height of a chart with one line per system, in pixels."""
    return max(60, STEP * len(order))


def side_of(order: list[str]) -> str:
    """Return the side of the axis: the top of a chart that is too tall for a screen."""
    return "top" if len(order) > 30 else "bottom"


def by_field(rows: list[dict[str, Any]], field: str) -> list[str]:
    """Return the systems by a field, the largest value first."""
    return [row["system"] for row in sorted(rows, key=lambda row: -row[field])]


def _or_none(value: Any) -> float | None:
    """Return None for NaN, which JSON does not have."""
    return float(value) if value == value else None


def _verdict(difference: float, significant: bool) -> str:
    if not significant:
        return "not shown to differ"
    return "better" if difference > 0 else "worse"
