"""Properties of the measures, and the pairs of systems that each measure tells apart."""

from __future__ import annotations

from typing import Any

from calipers import plot
from calipers.errors import CalipersError
from calipers.questions.properties.verdicts import SEVEN, Properties
from calipers.report.material import Material
from calipers.report.section import Cell, Column, Detail, Grid, Row, Section, name, one, share

WORDS = {
    "bounded": "no score exceeds the largest possible one",
    "monotone": "a longer list never scores less",
    "convergent": "moving a relevant document up never scores less",
    "top-weighted": "the same swap counts more further up",
    "localized": "the score depends on the documents shown only",
    "complete": "every ranking has a score",
    "realizable": "the largest score can always be reached",
}


FEW = 4  # with fewer systems, a curve over their pairs shows nothing


def section(material: Material, detail: Detail) -> Section:
    """Return the section about the measures."""
    power, why = _power(material)
    sentence = "A tick is a property that holds for all data, by proof or by search. Point at or tap a cross "
    sentence += "to see a ranking that breaks the property."
    charts: dict[str, Any] = {}
    if power is not None:
        best = max(power.families, key=lambda family: _known(power[family.name]))
        sentence += (
            f" The lower a curve, the more pairs of systems its measure tells apart. {best.name} tells apart the most, "
            f"{power[best.name]:.0%} of them (without correction for the number of pairs)."
        )
        charts["power"] = one(plot.significance_curves(power, detail.points))
    return Section(
        sentence,
        values={"grid": _grid(material, power), "why": why},
        charts=charts,
    )


def _power(material: Material) -> tuple[Any, str]:
    if len(material.scores.systems) < FEW:
        return None, ""
    try:
        return material.power, ""
    except CalipersError as error:
        return None, error.message


def _known(value: float) -> float:
    return value if value == value else -1.0


def _grid(material: Material, power: Any) -> Grid:
    columns = [Column("measure", numeric=False)]
    columns += [Column(each, numeric=False, title=WORDS[each]) for each in SEVEN]
    if power is not None:
        columns.append(Column("tells apart", title="share of the pairs of systems that differ significantly"))
    families = {} if power is None else {m: f for f in power.families for m in f.members}
    rows = []
    for place, (measure, found) in enumerate(material.properties.items()):
        cells = [name(measure)]
        cells += [_verdict(found, each) for each in SEVEN]
        family = families.get(place)
        if power is not None:
            cells.append(share(power[family.name]) if family is not None else Cell("–"))
        rows.append(Row(tuple(cells)))
    return Grid("properties", tuple(columns), tuple(rows), "measures", tools=False)


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
