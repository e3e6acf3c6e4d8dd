"""Similar systems, by information difference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calipers import plot
from calipers.questions.information.information_difference import InformationDifference
from calipers.report.material import Material
from calipers.report.section import Column, Detail, Grid, Section, name, number, one, plain_rows

PAIRS = 20


def section(material: Material, detail: Detail) -> Section:
    """Return the section about similar systems."""
    found = material.difference
    table = found.table()
    one_system, other, bits, _ = table.rows[0]
    drawn = _first(material, found, detail)
    return Section(
        f"Systems that join early rank the relevant documents in a similar order. {one_system} and {other} are the "
        f"most similar (information difference {bits:.4f} bits; 0 means that neither ranking contains information "
        "about relevance that the other lacks). Fusion helps most with systems that have similar scores but a large "
        "information difference.",
        values={"grid": _grid(found), "skipped": found.skipped, "queries": found.queries},
        charts={"dendrogram": one(plot.dendrogram(drawn)), "heat": one(plot.heat_map(drawn))},
    )


def _first(material: Material, found: InformationDifference, detail: Detail) -> InformationDifference:
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


def _grid(found: InformationDifference) -> Grid:
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
