"""Sections about systems: their means, groups of queries, and similar systems."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from calipers import plot
from calipers.questions.information.information_difference import InformationDifference
from calipers.report.material import Material
from calipers.report.section import (
    Cell,
    Column,
    Detail,
    Grid,
    Row,
    Section,
    by_measure,
    count,
    name,
    number,
    one,
    p_value,
    plain_rows,
)
from calipers.results.tables import as_number
from calipers.statistics.bounded_intervals import mean_intervals
from calipers.support.plurals import counted

LEVEL = 0.95


def systems_and_scores(material: Material, detail: Detail) -> Section:
    """Return the section with the means of all systems."""
    scores = material.scores
    best = scores.systems[material.order[0]]
    top = material.scores.mean()[best, material.measure]
    extreme = "lowest" if material.measure in scores.lower else "highest"
    sentence = f"{best} has the {extreme} mean {material.measure}, {top:.4f}. "
    if material.measure in scores.lower:
        sentence += "Smaller values are better. "
    if len(scores.queries) > 1:
        sentence += (
            f"The small figures are half the width of the {LEVEL:.0%} interval of the mean over "
            f"{counted(len(scores.queries), material.unit)}. Two systems can differ significantly although their "
            "intervals overlap."
        )
    else:
        sentence += f"There is only one {material.unit}, so there are no intervals."
    charts = {m: plot.means(scores, m, LEVEL) for m in scores.measures if _defined(material, m)}
    return Section(
        sentence,
        values={"grid": _means_grid(material)},
        charts={"means": by_measure(charts)},
    )


def _defined(material: Material, measure: str) -> bool:
    return any(value == value for value in material.scores.mean()[measure])


def _means_grid(material: Material) -> Grid:
    scores = material.scores
    mean, (low, high) = scores.mean(), mean_intervals(scores, level=LEVEL)
    columns = [Column("system", numeric=False)]
    columns += [Column(m, interval=True, title=f"mean over the {material.units}") for m in scores.measures]
    ends = [_ends(_floats(mean[m]), m in scores.lower) for m in scores.measures]
    rows = []
    for s in material.order:
        cells = [name(scores.systems[s])]
        for m, (best, most) in enumerate(ends, 1):
            at, least, greatest = _floats((mean.rows[s][m], low.rows[s][m], high.rows[s][m]))
            cells.append(_score(at, least, greatest, best, most))
        rows.append(Row(tuple(cells)))
    ascending = material.measure in scores.lower
    return Grid("systems", tuple(columns), tuple(rows), "systems", sorted_by=1, ascending=ascending)


def _ends(means: list[float], lower: bool) -> tuple[float, float]:
    """Return the best mean and the largest mean."""
    known = [mean for mean in means if mean == mean]
    if not known:
        return math.nan, math.nan
    return min(known) if lower else max(known), max(known)


def _score(mean: float, low: float, high: float, best: float, most: float) -> Cell:
    known = high == high
    return number(
        mean,
        kind="best" if mean == best else "",
        bar=None if mean != mean or most <= 0 else min(max(mean / max(most, 1.0), 0.0), 1.0),
        low=repr(low) if known else "",
        high=repr(high) if known else "",
        note=f"±{(high - low) / 2:.4f}" if known else "",
        title=f"{LEVEL:.0%} interval {low:.4f} to {high:.4f}" if known else "",
    )


def _floats(values: Any) -> list[float]:
    return [float(value) for value in values]


def query_groups(material: Material, detail: Detail) -> Section:
    """Return the section about groups of queries."""
    groups = material.groups
    sentence = (
        f"The systems on {counted(len(groups), 'group')} of {material.units}. p values are corrected for all pairs "
        f"and groups of a measure. Groups of one {material.unit} have no p value."
    )
    grid = _two_systems_by_group(material) if len(material.scores.systems) == 2 else _systems_by_group(material)
    return Section(sentence, values={"grid": grid, "notes": groups.notes})


def _two_systems_by_group(material: Material) -> Grid:
    """Return the difference of the old and the new system in each group, by measure."""
    scores = material.scores
    old, new = (scores.systems[place] for place in material.old_and_new)
    columns = (
        Column("group", numeric=False),
        Column("measure", numeric=False),
        Column(material.units),
        Column(old),
        Column(new),
        Column("difference"),
        Column("low", title="end of the interval of the difference"),
        Column("high"),
        Column("p"),
    )
    rows = []
    for group, of_group in material.groups.items():
        compared, means = material.comparison.groups.get(group), of_group.mean()
        for m, measure in enumerate(scores.measures):
            before, after = (as_number(means[system, measure]) for system in (old, new))
            cells = [name(group), name(measure), count(len(of_group.queries)), number(before), number(after)]
            cells.append(number(after - before, "+.4f"))
            if compared is None:
                rows.append([*cells, number(None), number(None), number(None)])
                continue
            outcome, sign = compared.outcomes[m], 1 if compared.systems[int(compared.a[0])] == new else -1
            ends = sorted(sign * float(end[0]) for end in (outcome.low, outcome.high))
            rows.append([*cells, *(number(end, "+.4f") for end in ends), p_value(float(compared.p_adjusted[m][0]))])
    return Grid("groups", columns, plain_rows(rows), "rows")


def _systems_by_group(material: Material) -> Grid:
    """Return the mean of each system in each group under the first measure, and the number of systems it beats."""
    measure = material.measure
    columns = (
        Column("group", numeric=False),
        Column(material.units),
        Column("system", numeric=False),
        Column(f"mean {measure}"),
        Column("significantly better than", title="number of systems, corrected for all pairs and groups"),
    )
    rows: list[list[Cell]] = []
    for group, of_group in material.groups.items():
        compared, means = material.comparison.groups.get(group), of_group.mean()
        beaten = (
            {row[0]: row[2] for row in compared.wins(measure).rows} if compared and not _has_baseline(material) else {}
        )
        for s in material.order:
            system = material.scores.systems[s]
            wins = beaten.get(system)
            cells = [name(group), count(len(of_group.queries)), name(system), number(as_number(means[system, measure]))]
            rows.append([*cells, number(None) if wins is None else count(int(str(wins)))])
    return Grid("groups", columns, plain_rows(rows), "rows")


def _has_baseline(material: Material) -> bool:
    """Return True if systems are compared with a baseline only, so that no system beats all others."""
    return bool(material.choices.baseline)


PAIRS = 20


def similar_systems(material: Material, detail: Detail) -> Section:
    """Return the section about similar systems."""
    found = material.difference
    table = found.table()
    one_system, other, bits, _ = table.rows[0]
    drawn = _first_systems(material, found, detail)
    return Section(
        f"Systems that join early rank the relevant documents in a similar order. {one_system} and {other} are the "
        f"most similar (information difference {bits:.4f} bits; 0 means that neither ranking contains information "
        "about relevance that the other lacks). Fusion helps most with systems that have similar scores but a large "
        "information difference.",
        values={"grid": _similarity_grid(found), "skipped": found.skipped, "queries": found.queries},
        charts={"dendrogram": one(plot.dendrogram(drawn)), "heat": one(plot.heat_map(drawn))},
    )


def _first_systems(material: Material, found: InformationDifference, detail: Detail) -> InformationDifference:
    if detail.systems is None or detail.systems >= len(found.systems):
        return found
    kept = material.order[: detail.systems]
    return replace(
        found,
        systems=tuple(found.systems[s] for s in kept),
        matrix=found.matrix[np.ix_(kept, kept)],
        ric=found.ric[kept],
        ap=found.ap[kept],
    )


def _similarity_grid(found: InformationDifference) -> Grid:
    columns = (
        Column("system", numeric=False),
        Column("other system", numeric=False),
        Column("information difference", title="in bits, mean over the queries"),
        Column("|difference of AP|"),
    )
    rows = [
        [name(str(a)), name(str(b)), number(bits), number(delta)] for a, b, bits, delta in found.table().rows[:PAIRS]
    ]
    return Grid("alike", columns, plain_rows(rows), "pairs", tools=False)
