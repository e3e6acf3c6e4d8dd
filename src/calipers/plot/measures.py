"""Charts of measures: their user models, their discriminative power, and the scores of systems under them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.plot.drawing import RULE, altair, chart, numbers, palette, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calipers.measures.readers import UserModel
    from calipers.metaevaluation.measure_study import MetaEvaluation
    from calipers.metaevaluation.power import DiscriminativePower

POINTS = 1000  # number of points of a curve; more would look the same


@chart
def significance_curves(power: DiscriminativePower, points: int = POINTS) -> Any:
    """Draw the sorted p values of each measure. The lower the curve, the more pairs the measure tells apart."""
    alt = altair()
    rows = []
    for family, levels in zip(power.families, power.levels, strict=True):
        step = max(1, len(levels) // points)
        rows += [
            {"measure": family.name, "share": (i + 1) / len(levels), "p": float(levels[i])}
            for i in range(0, len(levels), step)
        ]
    names = [family.name for family in power.families]
    curves = (
        alt.Chart(rows_of(rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("share:Q", title="pairs of systems, by descending p", axis=alt.Axis(format="%")),
            y=alt.Y("p:Q", title="achieved significance level"),
            color=alt.Color("measure:N", title="measure", sort=names, scale=palette(names)),
            tooltip=[alt.Tooltip("measure:N"), *numbers("share", format=".1%"), *numbers("p")],
        )
    )
    rule = alt.Chart(rows_of([{"alpha": power.alpha}])).mark_rule(strokeDash=[4, 4], color=RULE)
    return (curves + rule.encode(y=alt.Y("alpha:Q"))).properties(
        width=420, height=300, title="Discriminative power: pairs below the dashed line differ significantly"
    )


@chart
def system_scores(meta: MetaEvaluation, of_set: str = "all") -> Any:
    """Draw the mean score of each system under each measure, with the systems in the order of the first measure."""
    alt = altair()
    averages = meta.averages[of_set]
    order = sorted(range(len(meta.systems)), key=lambda s: -averages[0][s])
    names = [family.name for family in meta.families]
    rows = [
        {"system": meta.systems[s], "measure": name, "score": float(averages[f][s]), "place": place}
        for place, s in enumerate(order, 1)
        for f, name in enumerate(names)
    ]
    return (
        alt.Chart(rows_of(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("place:Q", title=f"systems, by {names[0]}"),
            y=alt.Y("score:Q", title="mean score"),
            color=alt.Color("measure:N", title="measure", sort=names, scale=palette(names)),
            tooltip=[alt.Tooltip("system:N"), alt.Tooltip("measure:N"), *numbers("score")],
        )
        .properties(width=420, height=300, title=f"Mean scores of the systems, {of_set} queries")
    )


@chart
def user_models(models: Sequence[UserModel], ranks: int = 20) -> Any:
    """Draw the functions C, W and L of user models over the first ranks.

    C is the chance of going on, W the share of the attention, and L the chance of stopping.
    """
    alt = altair()
    names = [repr(model.measure) for model in models]
    rows = [
        {"measure": name, "rank": rank + 1, "function": function, "value": float(values[rank])}
        for name, model in zip(names, models, strict=True)
        for function, values in (("C", model.C), ("W", model.W), ("L", model.L))
        for rank in range(min(ranks, len(values)))
    ]
    return (
        alt.Chart(rows_of(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("rank:Q", title="rank"),
            y=alt.Y("value:Q", title="C: goes on, W: attention, L: stops"),
            color=alt.Color("measure:N", title="measure", sort=names, scale=palette(names)),
            strokeDash=alt.StrokeDash("function:N", title="function", sort=["C", "W", "L"]),
            tooltip=[
                alt.Tooltip("measure:N"),
                alt.Tooltip("function:N"),
                *numbers("rank", format="d"),
                *numbers("value"),
            ],
        )
        .properties(width=420, height=300, title="How readers go down the list")
    )
