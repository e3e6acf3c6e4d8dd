"""A section of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.plurals import counted
from calipers.report.embedded_data import chart_spec

ALL = ""  # the chart does not depend on the measure


@dataclass(frozen=True)
class Section:
    """A sentence that says what to see, and what is to be seen."""

    sentence: str
    values: Mapping[str, Any] = field(default_factory=dict)  # for the section's template
    charts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of each place, one chart per measure
    finding: tuple[str, str] | None = None  # a figure and its words, for the top of the page


@dataclass(frozen=True)
class Detail:
    """How much the page holds: less of it where it would be too large."""

    measures: int | None = None  # with charts of their own that grow with the pairs of systems; None: all
    systems: int | None = None  # in charts of pairs
    top: int | None = None  # documents of each ranking
    points: int = 1000  # of each curve

    def said(self) -> str:
        """What is left out, in words."""
        parts = []
        if self.measures is not None:
            parts.append("charts of pairs of systems are of the first measure only")
        if self.systems is not None:
            parts.append(f"they show the first {counted(self.systems, 'system')}")
        if self.top is not None:
            parts.append(f"rankings show {counted(self.top, 'document')}" if self.top else "rankings are left out")
        return "; ".join(parts)


Maker = Callable[[Any, Detail], Section]  # of the material of a page


def by_measure(names: Mapping[str, Any]) -> dict[str, Any]:
    """The specifications of charts, one per measure."""
    return {name: chart_spec(chart) for name, chart in names.items()}


def one(chart: Any) -> dict[str, Any]:
    """The specification of a chart that does not depend on the measure."""
    return {ALL: chart_spec(chart)}
