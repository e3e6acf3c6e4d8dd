"""Charts of the studies with rankers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers.plot import Chart
from calipers.plot.specifications import Part, category, labels, layer, mark, numbers, palette, quantity

if TYPE_CHECKING:
    from research.busafekete2012.conventions_study import ConventionStudy
    from research.karmaker2022.letor_study import CollectionStudy, RankerStudy

Charts = dict[str, tuple[str, Callable[[], Any]]]  # by name: a title, and what draws it
MEASURE = "nDCG(gain=exp)@10"


def convention_charts(study: ConventionStudy) -> Charts:
    """Figures 1 and 2 of Busa-Fekete et al. (2012)."""
    from research.busafekete2012.conventions_study import FOUR

    shown = tuple(name for name in FOUR if name in study.rankers) or study.rankers
    return {
        "figure-1": ("Conventions of training (figure 1)", partial(training_curves, study, shown)),
        "figure-2": ("Rankers under each convention of evaluation (figure 2)", partial(ranker_curves, study)),
    }


def letor_charts(study: RankerStudy) -> Charts:
    """For each collection: what random rankings and rankers get, and what the measures make of it."""
    found: Charts = {}
    for each in study.collections:
        found[f"{each.name}-queries"] = (f"{each.name}: types of queries", partial(_queries, each))
        for family in each.families:
            found[f"{each.name}-{family}"] = (
                f"{each.name}: {family} and its normalisations",
                partial(_power, each, family),
            )
    return found


def _queries(study: CollectionStudy) -> Any:
    from calipers import bounds, evaluate, query_types
    from calipers.collection import ArrayRun
    from calipers.plot import expected_histogram, query_map, stacked

    limits = bounds(study.judgments, MEASURE)
    runs = [ArrayRun(values, name) for name, values in study.scores.items()]
    types = query_types(evaluate(study.judgments, runs, MEASURE, jobs=1, warn=False), limits)
    return stacked(expected_histogram(limits, MEASURE), query_map(types, MEASURE))


def _power(study: CollectionStudy, family: str) -> Any:
    from calipers.plot import significance_curves, stacked, system_scores

    meta = study.families[family]
    return stacked(significance_curves(meta.power()), system_scores(meta))


def training_curves(study: ConventionStudy, rankers: tuple[str, ...]) -> Chart:
    """Busa-Fekete et al. (2012), figure 1: one row per ranker, one column per evaluation, one line per training."""
    rows = [row for row in _rows(study) if row["ranker"] in rankers]
    facet = {"row": category("ranker", sort=list(rankers), title=None), "column": _evaluated(study)}
    title = f"{study.name}: what the convention of training changes"
    return _grid(rows, facet, title, category("trained", **_names(study.conventions), title="trained under"))


def ranker_curves(study: ConventionStudy) -> Chart:
    """Busa-Fekete et al. (2012), figure 2: one column per evaluation, one line per ranker, trained under the first."""
    rows = [row for row in _rows(study) if row["trained"] == study.conventions[0]]
    title = f"{study.name}: rankers trained under '{study.conventions[0]}'"
    colour = category("ranker", **_names(study.rankers), title="ranker")
    return _grid(rows, {"column": _evaluated(study)}, title, colour, height=300)


def _evaluated(study: ConventionStudy) -> Part:
    return category("evaluated", sort=list(study.conventions), title="evaluated under")


def _names(names: tuple[str, ...]) -> Part:
    return {"sort": list(names), "scale": palette(names), "legend": {"symbolOpacity": 1}}


def _rows(study: ConventionStudy) -> list[dict[str, Any]]:
    table = study.curves()
    rows: list[dict[str, Any]] = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    for row in rows:
        row |= {"low": row["nDCG"] - row["error"], "high": row["nDCG"] + row["error"]}
    return rows


def _grid(rows: list[dict[str, Any]], facet: Part, title: str, colour: Part, height: int = 160) -> Chart:
    """Curves over the cutoff with error bars, one panel per place of the facet."""
    x = {"field": "cutoff", "type": "ordinal", "title": "cutoff k", "axis": {"labelAngle": 0}}
    bars = layer(mark("rule", opacity=0.45), x=x, color=colour, y=quantity("low", title="nDCG@k"), y2={"field": "high"})
    lines = layer(
        mark("line", point={"size": 18}, strokeWidth=1.5),
        x=x,
        color=colour,
        y=quantity("nDCG", title="nDCG@k", scale={"zero": False}),
        tooltip=[*labels("ranker", "trained"), {"field": "cutoff", "type": "ordinal"}, *numbers("nDCG", "error")],
    )
    return Chart(
        {
            "data": {"values": rows},
            "facet": facet,
            "spec": {"layer": [bars, lines], "width": 230, "height": height},
            "resolve": {"scale": {"y": "independent"}},
            "title": title,
        }
    )
