"""Scores between their bounds: each system on the scale from random to ideal."""

from __future__ import annotations

import numpy as np

from calipers import plot
from calipers.lists import Floats
from calipers.measures.exactness import exactness_notes
from calipers.measures.normalisation import BELOW_WORST
from calipers.measures.populations import what_is_shuffled
from calipers.plot.systems import placed
from calipers.report.material import Material
from calipers.report.page_tables import Column, Grid, name, number, plain_rows
from calipers.report.section import Detail, Section, by_measure
from calipers.results.tables import as_number


def section(material: Material, detail: Detail) -> Section:
    bounds = material.bounds
    shown = {m: p for m, p in material.plain_of.items() if p in bounds.measures and _some(material, p)}
    charts = {m: plot.between_bounds(material.plain, bounds, plain) for m, plain in shown.items()}
    first = material.plain_of[material.measure]
    finding = None
    said = ""
    if material.measure in shown:
        below = int((_means(material, first) < 0).sum())
        systems = len(material.scores.systems)
        said = f" {below} of {systems} {'is' if below == 1 else 'are'} below it on average." if systems > 1 else ""
        finding = (f"{systems - below:,} of {systems:,}", f"systems better than a random ranking, by {first}")
    return Section(
        "Each system from what a random ranking would get (the dashed line) to what the ideal one would; "
        f"{what_is_shuffled(bounds.population)}.{said} The dot is the mean over the queries, the bar the middle half "
        "of them: a bar across "
        "the line means that on many queries shuffling would do as well.",
        values={
            "grid": _grid(material),
            "without_bounds": material.without_bounds,
            "shuffled": what_is_shuffled(bounds.population),
            "below": BELOW_WORST if _below_worst(material) else "",
            "inexact": exactness_notes(bounds.inexact, bounds.largest_errors),
        },
        charts={"between": by_measure(charts)},
        finding=finding,
    )


def _below_worst(material: Material) -> bool:
    """Whether the mean of a system is below that of the worst rankings."""
    means = material.plain.mean()
    return any(
        as_number(score) < as_number(worst) - 1e-9
        for measure, *_, worst in material.bounds.means().rows
        if measure not in material.plain.lower
        for score in means[str(measure)]
    )


def _some(material: Material, measure: str) -> bool:
    return bool((~np.isnan(placed(material.plain, material.bounds, measure))).any())


def _means(material: Material, measure: str) -> Floats:
    values = placed(material.plain, material.bounds, measure)
    defined = ~np.isnan(values)
    return np.asarray(np.where(defined, values, 0).sum(axis=1) / np.maximum(defined.sum(axis=1), 1))


def _grid(material: Material) -> Grid:
    columns = (
        Column("measure", numeric=False),
        Column("worst", title="mean score of the worst rankings"),
        Column("random", title="mean expected score of a random ranking"),
        Column("± sd", title="mean standard deviation over random rankings"),
        Column("ideal", title="mean score of the ideal rankings"),
        Column("best system"),
    )
    means = material.plain.mean()
    rows = []
    bounds = material.bounds.means()
    parts = (bounds[part] for part in ("measure", "ideal", "expected", "sd", "worst"))
    for measure, ideal, expected, sd, worst in zip(*parts, strict=True):
        known = [as_number(v) for v in means[str(measure)] if v == v]
        best = (min if measure in material.plain.lower else max)(known, default=None)
        rows.append([name(str(measure)), *map(number, (worst, expected, sd, ideal, best))])
    return Grid("bounds", columns, plain_rows(rows), "measures", tools=False)
