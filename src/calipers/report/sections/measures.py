"""Sections about measures: properties, discriminative power, scores between random and ideal, other tools."""

from __future__ import annotations

import numpy as np

from calipers import plot
from calipers.lists import Floats
from calipers.measures.exactness import exactness_notes
from calipers.measures.populations import what_is_shuffled
from calipers.plot.systems import placed
from calipers.questions.audit.attribution import SHOWN
from calipers.questions.audit.tool_audit import Audit
from calipers.questions.properties.verdicts import SEVEN, Properties
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
    plain_rows,
    share,
)
from calipers.results.tables import as_number
from calipers.support.plurals import counted, verb

WORDS = {
    "bounded": "no score exceeds the largest possible one",
    "monotone": "a longer list never scores less",
    "convergent": "moving a relevant document up never scores less",
    "top-weighted": "the same swap counts more further up",
    "localized": "the score depends on the documents shown only",
    "complete": "every ranking has a score",
    "realizable": "the largest score can always be reached",
}


def properties_of_measures(material: Material, detail: Detail) -> Section:
    """Return the section about the properties of the measures."""
    columns = [Column("measure", numeric=False)]
    columns += [Column(each, numeric=False, title=WORDS[each]) for each in SEVEN]
    rows = [
        [name(measure), *(_verdict(found, each) for each in SEVEN)] for measure, found in material.properties.items()
    ]
    return Section(
        "A tick is a property that holds for all data, by proof or by search. Point at or tap a cross to see a ranking "
        "that breaks the property.",
        values={"grid": Grid("properties", tuple(columns), plain_rows(rows), "measures", tools=False)},
    )


def _verdict(found: Properties | str, name_of: str) -> Cell:
    if isinstance(found, str):
        return Cell("?", "unknown", kind="unknown", title=found)
    verdict = found[name_of]
    return Cell(
        "✓" if verdict.holds else "✗",
        verdict.word,
        kind=verdict.word,
        title=f"{name_of}: {WORDS[name_of]}. {verdict}",
    )


def discriminative_power(material: Material, detail: Detail) -> Section:
    """Return the section about how many pairs of systems each measure tells apart."""
    power = material.power
    best = max(power.families, key=lambda family: np.nan_to_num(power[family.name], nan=-1.0))
    columns = (
        Column("measure", numeric=False),
        Column("pairs"),
        Column("tells apart", title="share of the pairs of systems that differ significantly"),
    )
    rows = [
        [name(family.name), count(len(levels)), share(power[family.name])]
        for family, levels in zip(power.families, power.levels, strict=True)
    ]
    return Section(
        f"The lower a curve, the more pairs of systems its measure tells apart. {best.name} tells apart the most, "
        f"{power[best.name]:.0%} of them (without correction for the number of pairs). That says how steady a measure "
        "is, not whether it is right.",
        values={"grid": Grid("trust", columns, plain_rows(rows), "measures", tools=False)},
        charts={"power": one(plot.significance_curves(power, detail.points))},
    )


def between_random_and_ideal(material: Material, detail: Detail) -> Section:
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
            "grid": _bounds_grid(material),
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


def _bounds_grid(material: Material) -> Grid:
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


def other_tools(material: Material, detail: Detail) -> Section:
    """Return the section about other tools."""
    audit = material.audit
    (measure,) = audit.measures
    figures = np.array([audit.means[measure, group[0]] for group in audit.groups(measure)])
    scored = figures[:, ~np.isnan(figures).any(axis=0)] if len(figures) else figures
    spread = float(np.ptp(scored, axis=0).max(initial=0.0)) if scored.size else 0.0
    moved = len(audit.causes(measure).rows) > len(audit.groups(measure)) - 1 and spread > 0
    sentence = f"All {counted(len(audit.tools), 'tool')} that have {measure} agree on these rankings."
    if spread >= SHOWN:
        sentence = (
            f"The {measure} of the same rankings differs by up to {spread:.4f} between "
            f"{counted(len(audit.tools), 'tool')} for one system. Each bar shows how far one choice of a tool moves "
            "its mean. Do not compare figures of two tools with each other."
        )
    return Section(
        sentence,
        values={
            "grid": _tools_grid(material, audit, measure),
            "advice": audit.summary,
            "facts": audit.facts,
            "unavailable": [(tool, reason) for (_, tool), reason in audit.unavailable.items()],
        },
        charts={"tools": one(plot.tool_causes(audit, measure))} if moved else {},
        findings={material.measure: (f"{spread:.4f}", f"largest difference between tools in {measure} of one system")}
        if spread >= SHOWN
        else {},
    )


def _tools_grid(material: Material, audit: Audit, measure: str) -> Grid:
    """Return the mean of each system under each tool. Tools with equal scores on every list share a column."""
    groups = audit.groups(measure)
    columns = [Column("system", numeric=False)]
    columns += [Column(", ".join(group), title="these tools give every list the same score") for group in groups]
    rows = []
    for s in material.order:
        cells = [number(float(audit.means[measure, group[0]][s])) for group in groups]
        rows.append(Row((name(audit.systems[s]), *cells)))
    return Grid("tools", tuple(columns), tuple(rows), "systems", sorted_by=1)
