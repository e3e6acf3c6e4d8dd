"""Scores between their bounds: each system on the scale from a random to the ideal ranking."""

from __future__ import annotations

import numpy as np

from calipers import plot
from calipers.lists import Floats
from calipers.measures.exactness import exactness_notes
from calipers.measures.populations import what_is_shuffled
from calipers.plot.systems import placed
from calipers.report.material import Material
from calipers.report.section import Column, Detail, Grid, Section, by_measure, name, number, plain_rows
from calipers.results.tables import as_number
from calipers.support.plurals import counted, verb


def section(material: Material, detail: Detail) -> Section:
    """Return the section that places each system between a random and the ideal ranking."""
    bounds = material.bounds
    shown = {m: p for m, p in material.plain_of.items() if p in bounds.measures and _some(material, p)}
    charts = {m: plot.between_bounds(material.plain, bounds, plain) for m, plain in shown.items()}
    systems = len(material.scores.systems)
    below = {m: int((_means(material, plain) < 0).sum()) for m, plain in shown.items()}
    first = below.get(material.measure, 0)
    sentence = (
        "The dashed line is the expected score of a random ranking, and the right end is the ideal ranking; "
        f"{what_is_shuffled(bounds.population)}. The dot is the mean over the queries, and the bar covers the middle "
        "half of the queries. A bar across the line means that on many queries a random ranking would do as well."
    )
    if first:
        sentence += f" {first} of {counted(systems, 'system')} {verb(first, 'is', 'are')} below the line on average."
    return Section(
        sentence,
        values={
            "grid": _grid(material),
            "without_room": _without_room(material),
            "without_bounds": material.without_bounds,
            "shuffled": what_is_shuffled(bounds.population),
            "inexact": exactness_notes(bounds.inexact, bounds.largest_errors),
        },
        charts={"between": by_measure(charts)},
        findings={
            m: (f"{n:,} of {systems:,}", f"{verb(systems, 'system', 'systems')} below a random ranking in {shown[m]}")
            for m, n in below.items()
            if n
        },
    )


def _room(ideal: float, expected: float) -> bool:
    """Return False if random and ideal rankings score the same, so that a measure tells nothing about the order."""
    return abs(ideal - expected) > 1e-9


def _without_room(material: Material) -> list[str]:
    """Return the measures under which all rankings of the judged documents score the same."""
    means = material.bounds.means()
    rows = zip(means["measure"], means["ideal"], means["expected"], strict=True)
    return [str(name) for name, ideal, expected in rows if not _room(as_number(ideal), as_number(expected))]


def _some(material: Material, measure: str) -> bool:
    return bool((~np.isnan(placed(material.plain, material.bounds, measure))).any())


def _means(material: Material, measure: str) -> Floats:
    values = placed(material.plain, material.bounds, measure)
    defined = ~np.isnan(values)
    return np.asarray(np.where(defined, values, 0).sum(axis=1) / np.maximum(defined.sum(axis=1), 1))


def _grid(material: Material) -> Grid:
    columns = (
        Column("measure", numeric=False),
        Column("random", title="expected score of a random ranking, mean over the queries"),
        Column("± sd", title="standard deviation over random rankings, mean over the queries"),
        Column("ideal", title="score of the ideal ranking, mean over the queries"),
        Column("best system", title="mean score of the best system"),
    )
    means = material.plain.mean()
    rows = []
    bounds = material.bounds.means()
    parts = (bounds[part] for part in ("measure", "ideal", "expected", "sd"))
    for measure, ideal, expected, sd in zip(*parts, strict=True):
        if not _room(as_number(ideal), as_number(expected)):
            continue
        known = [as_number(v) for v in means[str(measure)] if v == v]
        best = max(known, default=None)
        rows.append([name(str(measure)), *map(number, (expected, sd, ideal, best))])
    return Grid("bounds", columns, plain_rows(rows), "measures", tools=False)
