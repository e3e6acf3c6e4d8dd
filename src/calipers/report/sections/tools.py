"""Scores of the same rankings under the conventions of other tools, and the causes of differences."""

from __future__ import annotations

import numpy as np

from calipers import plot
from calipers.questions.audit.attribution import SHOWN
from calipers.questions.audit.tool_audit import Audit
from calipers.report.material import Material
from calipers.report.section import Column, Detail, Grid, Row, Section, name, number, one
from calipers.support.plurals import counted


def section(material: Material, detail: Detail) -> Section:
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
            "grid": _grid(material, audit, measure),
            "advice": audit.summary,
            "facts": audit.facts,
            "unavailable": [(tool, reason) for (_, tool), reason in audit.unavailable.items()],
        },
        charts={"tools": one(plot.tool_causes(audit, measure))} if moved else {},
        findings={material.measure: (f"{spread:.4f}", f"largest difference between tools in {measure} of one system")}
        if spread >= SHOWN
        else {},
    )


def _grid(material: Material, audit: Audit, measure: str) -> Grid:
    """Return the mean of each system under each tool. Tools with equal scores on every list share a column."""
    groups = audit.groups(measure)
    columns = [Column("system", numeric=False)]
    columns += [Column(", ".join(group), title="these tools give every list the same score") for group in groups]
    rows = []
    for s in material.order:
        cells = [number(float(audit.means[measure, group[0]][s])) for group in groups]
        rows.append(Row((name(audit.systems[s]), *cells)))
    return Grid("tools", tuple(columns), tuple(rows), "systems", sorted_by=1)
