"""A section of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.plot.drawing import Chart
from calipers.report.embedded_data import chart_spec
from calipers.support.plurals import counted

ALL = ""  # key of a chart or finding that does not depend on the measure


@dataclass(frozen=True)
class Section:
    """A section: a sentence that explains it, tables and charts. `findings` appear at the top of the page."""

    sentence: str
    values: Mapping[str, Any] = field(default_factory=dict)  # for the section's template
    charts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by place on the page, then by measure
    findings: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # by measure: a figure and its words


@dataclass(frozen=True)
class Detail:
    """The amount of detail on a page. A page that would be too large is made with less."""

    measures: int | None = None  # number of measures with charts of pairs of systems; None for all
    systems: int | None = None  # number of systems in charts of pairs; None for all
    top: int | None = None  # number of documents of each ranking; None for the number that the user chose
    points: int = 1000  # number of points of each curve

    def left_out(self) -> str:
        """Return in words what the page leaves out."""
        parts = []
        if self.measures is not None:
            parts.append("charts of pairs of systems are of the first measure only")
        if self.systems is not None:
            parts.append(f"they show the first {counted(self.systems, 'system')}")
        if self.top is not None:
            parts.append(f"rankings show {counted(self.top, 'document')}" if self.top else "rankings are left out")
        return "; ".join(parts)


Maker = Callable[[Any, Detail], Section]  # makes a section from the material of a page


def by_measure(names: Mapping[str, Chart]) -> dict[str, Any]:
    """Return the specifications of charts, one per measure."""
    return {name: chart_spec(chart) for name, chart in names.items()}


def one(chart: Chart) -> dict[str, Any]:
    """Return the specification of a chart that does not depend on the measure."""
    return {ALL: chart_spec(chart)}
