"""What the tools would say of the same rankings, and why they differ."""

from __future__ import annotations

import numpy as np

from calipers import plot
from calipers.auditing.advice import SHOWN
from calipers.auditing.audit import Audit
from calipers.plurals import counted
from calipers.report.material import Material
from calipers.report.page_tables import Column, Grid, Row, name, number
from calipers.report.section import Detail, Section, one


def section(material: Material, detail: Detail) -> Section:
    audit = material.audit
    (measure,) = audit.measures
    figures = [audit.means[measure, tool] for tool in (group[0] for group in audit.groups(measure))]
    spread = float(np.nanmax(np.ptp(np.array(figures), axis=0))) if figures else 0.0
    moved = len(audit.causes(measure).rows) > len(audit.groups(measure)) - 1 and spread > 0
    sentence = f"All {counted(len(audit.tools), 'tool')} that have {measure} agree on these rankings."
    if spread >= SHOWN:
        sentence = (
            f"The same rankings under the conventions of {counted(len(audit.tools), 'tool')}: their figures for "
            f"{measure} differ "
            f"by up to {spread:.4f} for one system. Bars show which choice of a tool moves its mean figure, and by how "
            "much: figures of two tools must not be compared."
        )
    return Section(
        sentence,
        values={
            "grid": _grid(material, audit, measure),
            "advice": audit.summary,
            "facts": audit.facts,
            "unavailable": [(tool, reason) for (_, tool), reason in audit.unavailable.items()],
        },
        charts={"tools": one(plot.tool_causes(audit, measure))} if moved else {},
        finding=(f"{spread:.4f}", f"largest difference between tools in a system's {measure}"),
    )


def _grid(material: Material, audit: Audit, measure: str) -> Grid:
    """Tools that score every list alike share a column."""
    groups = audit.groups(measure)
    columns = [Column("system", numeric=False)]
    columns += [Column(", ".join(group), title="these tools score every list alike") for group in groups]
    rows = []
    for s in material.order:
        cells = [number(float(audit.means[measure, group[0]][s])) for group in groups]
        rows.append(Row((name(audit.systems[s]), *cells)))
    return Grid("tools", tuple(columns), tuple(rows), "systems", sorted_by=1)
