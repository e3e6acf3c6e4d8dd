"""Charts of systems: means with intervals, places between random and ideal, and differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import CalipersError, chosen_measure
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
from calipers.plurals import plural_of

if TYPE_CHECKING:
    from calipers.limits.pool_bounds import Bounds
    from calipers.lists import Floats
    from calipers.results.scores import Scores
    from calipers.stats.comparison import Comparison

STEP = 18  # height of a system in pixels
FEW = 12  # up to this number of systems, differences are written into the squares


@chart
def means(scores: Scores, measure: str | None = None, level: float = 0.95) -> Any:
    """Draw the mean of each system with its confidence interval, best first."""
    from calipers.stats.bounded_intervals import mean_intervals

    alt = altair()
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
    base = alt.Chart(rows_of(rows)).encode(y=systems_axis(order))
    tooltip = [alt.Tooltip("system:N"), *numbers("mean", "low", "high")]
    axis = alt.Axis(orient=side_of(order))
    across = alt.X("low:Q", title=f"mean {name}, {level:.0%} interval", scale=data_range(), axis=axis)
    whiskers = base.mark_rule(color=COLOURS[0], strokeWidth=2, opacity=0.45).encode(x=across, x2=alt.X2("high:Q"))
    dots = base.mark_circle(color=COLOURS[0], size=60, opacity=1).encode(x=alt.X("mean:Q"), tooltip=tooltip)
    return (whiskers + dots).properties(width=480, height=height_of(order), title=f"Mean {name} of each system")


@chart
def between_bounds(scores: Scores, bounds: Bounds, measure: str | None = None) -> Any:
    """Draw each system on the scale from random (0) to ideal (1): its mean, and the middle half of the queries.

    The scale is that of V2: (A - E) / (U - E) above a random ranking, (A - E) / E below it.
    """
    name = scores.measures[chosen_measure(measure, scores.measures)]
    return on_the_scale(scores.systems, placed(scores, bounds, name), name)


def on_the_scale(systems: Sequence[str], placed: Floats, name: str, unit: str = "query") -> Any:
    """Draw each system by its scores on the scale of V2: [system, query]."""
    alt = altair()
    rows = _places(systems, placed)
    order = by_field(rows, "mean")
    base = alt.Chart(rows_of(rows)).encode(y=systems_axis(order))
    lowest = max(-1.0, math.floor(4 * min((row["low"] for row in rows), default=0.0)) / 4)
    scale = alt.Scale(domain=[min(lowest, 0.0), 1])
    words = "datum.value == 0 ? 'random' : datum.value == 1 ? 'ideal' : datum.value == -1 ? 'nothing' : datum.label"
    axis = alt.Axis(
        values=[-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1], labelExpr=words, format=".2~f", orient=side_of(order)
    )
    x = alt.X("low:Q", title=f"{name} between its bounds", scale=scale, axis=axis)
    tooltip = [
        alt.Tooltip("system:N"),
        *numbers("mean", "low=lower quartile", "median", "high=upper quartile"),
        *numbers(f"above={plural_of(unit)} above random", format=".0%"),
    ]
    bars = base.mark_bar(color=COLOURS[5], opacity=0.45, height=8).encode(x=x, x2=alt.X2("high:Q"), tooltip=tooltip)
    side = alt.condition("datum.mean < 0", alt.value(WORSE), alt.value(BETTER))
    dots = base.mark_circle(size=60, opacity=1).encode(x=alt.X("mean:Q"), color=side, tooltip=tooltip)
    zero = alt.Chart(rows_of([{"at": 0}])).mark_rule(color=RULE, strokeDash=[4, 4]).encode(x=alt.X("at:Q"))
    return (bars + zero + dots).properties(
        width=480, height=height_of(order), title=f"{name}: where each system stands between random and ideal"
    )


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


@chart
def differences(comparison: Comparison, measure: str | None = None) -> Any:
    """Draw a square for each pair of systems, best first. Blue: the system of the row is significantly better."""
    alt = altair()
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
    names = comparison.systems
    rows = [
        {"row": names[a], "column": names[b], "difference": _or_none(d), "p": _or_none(p), "verdict": _verdict(up, yes)}
        for a, b, d, up, p, yes in columns
    ]
    order = [names[s] for s in comparison.best_first(m)]
    places = alt.Scale(domain=tuple(order))
    names_of = matrix_axis(order)
    verdicts = alt.Scale(domain=list(VERDICTS), range=list(VERDICTS.values()))
    legend = alt.Legend(orient="top", columns=3)
    base = alt.Chart(rows_of(rows)).mark_rect(stroke="white", strokeWidth=1 if len(order) <= 60 else 0)

    def half(row: str, column: str, source: Any) -> Any:
        return source.encode(
            x=alt.X(f"{column}:N", scale=places, title=None, axis=names_of),
            y=alt.Y(f"{row}:N", scale=places, title=None, axis=names_of),
            color=alt.Color("verdict:N", title="the row's system is", scale=verdicts, legend=legend),
            tooltip=[alt.Tooltip(f"{row}:N", title="row"), alt.Tooltip(f"{column}:N", title="column"),
                     *numbers("difference", "p=p, adjusted")],
        )  # fmt: skip

    turned = base.transform_calculate(
        difference="-datum.difference",
        verdict="datum.verdict == 'better' ? 'worse' : datum.verdict == 'worse' ? 'better' : datum.verdict",
    )
    halves = [half("row", "column", base), half("column", "row", turned)]
    if len(order) <= FEW:
        halves += [_difference(each) for each in halves]
    step = alt.Step(cell_size(len(order), 900))
    return alt.layer(*halves).properties(
        width=step, height=step, title=f"{comparison.measures[m]}: significant differences"
    )


@chart
def against_baseline(comparison: Comparison, measure: str | None = None) -> Any:
    """Draw the difference of each system from the baseline with its interval, best first."""
    alt = altair()
    m = chosen_measure(measure, comparison.measures)
    outcome, better = comparison.outcomes[m], comparison.improvement(m)
    rows = [
        {
            "system": comparison.systems[a], "difference": float(outcome.difference[i]),
            "low": _or_none(float(outcome.low[i])), "high": _or_none(float(outcome.high[i])),
            "p": _or_none(float(comparison.p_adjusted[m][i])),
            "verdict": _verdict(float(better[i]), bool(comparison.significant[m][i])),
        }
        for i, a in enumerate(comparison.a.tolist())
        if outcome.difference[i] == outcome.difference[i]
    ]  # fmt: skip
    order = by_field(rows, "difference")
    if comparison.less_is_better(m):
        order.reverse()
    base = alt.Chart(rows_of(rows)).encode(y=systems_axis(order))
    colour = alt.Color(
        "verdict:N", title="than the baseline", legend=alt.Legend(orient="top"),
        scale=alt.Scale(domain=list(VERDICTS), range=[BETTER, NEITHER, WORSE]),
    )  # fmt: skip
    (baseline,) = {comparison.systems[b] for b in comparison.b.tolist()}
    x = alt.X("low:Q", title=f"{comparison.measures[m]} - that of {baseline}", axis=alt.Axis(orient=side_of(order)))
    tooltip = [alt.Tooltip("system:N"), *numbers("difference", "low", "high", "p=p, adjusted")]
    lines = base.mark_rule(strokeWidth=2, opacity=0.45).encode(x=x, x2=alt.X2("high:Q"), color=colour)
    dots = base.mark_circle(size=60, opacity=1).encode(x=alt.X("difference:Q"), color=colour, tooltip=tooltip)
    zero = alt.Chart(rows_of([{"at": 0}])).mark_rule(color=RULE, strokeDash=[4, 4]).encode(x=alt.X("at:Q"))
    return (zero + lines + dots).properties(
        width=480, height=height_of(order), title=f"{comparison.measures[m]} against {baseline}"
    )


def _difference(half: Any) -> Any:
    """Write the difference into each square."""
    alt = altair()
    ink = alt.condition("datum.verdict == 'not shown to differ'", alt.value("#555555"), alt.value("white"))
    return half.mark_text(fontSize=11).encode(text=alt.Text("difference:Q", format="+.3f"), color=ink)


VERDICTS = {"better": BETTER, "not shown to differ": "#dfe3e8", "worse": WORSE}


@chart
def unjudged(scores: Scores) -> Any:
    """Draw the share of unjudged documents among the first ten of each system's lists."""
    alt = altair()
    if scores.coverage is None:
        raise CalipersError("these scores do not say what the lists were like: they did not come from runs")
    share = scores.coverage.unjudged_share_at_10()
    rows = [{"system": s, "share": float(x)} for s, x in zip(scores.systems, share, strict=True)]
    order = by_field(rows, "share")
    return (
        alt.Chart(rows_of(rows))
        .mark_bar(color=NEITHER)
        .encode(
            x=alt.X(
                "share:Q",
                title="unjudged among the first ten",
                axis=alt.Axis(format="%", orient=side_of(order)),
                stack=False,  # Vega cannot group by a name that is `__proto__`
            ),
            y=systems_axis(order),
            tooltip=[alt.Tooltip("system:N"), *numbers("share", format=".1%")],
        )
        .properties(width=480, height=height_of(order), title="Unjudged documents among the first ten")
    )


# -- pieces --------------------------------------------------------------------------------------------


def systems_axis(order: list[str]) -> Any:
    """Return the axis of the names of systems."""
    alt = altair()
    return alt.Y("system:N", title=None, scale=alt.Scale(domain=tuple(order)), axis=name_axis(order))


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
