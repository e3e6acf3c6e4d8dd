"""Parts of a section of the page: sentences, charts, and tables of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from calipers.plot.drawing import Chart
from calipers.plot.specifications import Part
from calipers.results.tables import four_digits
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


@dataclass(frozen=True)
class Column:
    """The head of a column. `interval`: each cell also has the ends of an interval."""

    label: str
    numeric: bool = True
    title: str = ""
    interval: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell: the text that is shown, and the exact value."""

    text: str
    value: Any = ""
    kind: str = ""  # a class of the style sheet
    title: str = ""
    bar: float | None = None  # from 0 to 1, drawn below the text
    low: Any = ""
    high: Any = ""
    note: str = ""  # small text after the text


@dataclass(frozen=True)
class Row:
    """A row of cells. `query`: the place of the query that a click shows."""

    cells: tuple[Cell, ...]
    query: int | None = None


@dataclass(frozen=True)
class Grid:
    """A table that sorts, filters and can be downloaded."""

    key: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    what: str = "rows"
    sorted_by: int | None = None  # the column that the rows are sorted by
    ascending: bool = False  # rather than descending
    tools: bool = True  # filter and download


def name(text: str, **about: Any) -> Cell:
    """Return a cell with an id or a name, which may contain any characters."""
    return Cell(text, text, kind="name", **about)


def number(value: Any, format: str = ".4f", **about: Any) -> Cell:
    """Return a cell with a number, or with a dash for None and NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Cell("–", "", **about)
    if isinstance(value, float):
        return Cell(four_digits(value, format), repr(float(value)), **about)
    return Cell(f"{value:{format}}", str(value), **about)


def count(value: int, of: int | None = None) -> Cell:
    """Return a cell with a count, and a bar if the total is given."""
    bar = value / of if of else None
    return Cell(f"{value:,}", str(value), bar=bar)


def p_text(p: float) -> str:
    """Return a p value as text. Values below 0.0001 are never shown as 0.

    >>> p_text(0.034), p_text(1e-9), p_text(float("nan"))
    ('0.0340', '<0.0001', 'undefined')
    """
    if math.isnan(p):
        return "undefined"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def p_value(p: float | None) -> Cell:
    """Return a cell with a p value."""
    return number(None) if p is None or p != p else Cell(p_text(p), repr(float(p)))


def share(value: float) -> Cell:
    """Return a cell with a percentage and a bar."""
    return number(value, ".1%", bar=None if math.isnan(value) else min(max(value, 0.0), 1.0))


def plain_rows(rows: Sequence[Sequence[Cell]]) -> tuple[Row, ...]:
    """Return rows that no click opens."""
    return tuple(Row(tuple(cells)) for cells in rows)


DIGITS = 6  # number of significant digits


def chart_spec(chart: Chart) -> Part:
    """Return the specification of a chart for the page: without title, and as wide as its place allows."""
    spec = _with_columns(chart.spec)
    spec.pop("title", None)
    if not isinstance(spec.get("width"), dict):  # with a step per system, a chart that is too wide scrolls
        spec["width"] = "container"
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def _with_columns(spec: Part) -> Part:
    """Return a specification with its rows by column."""
    found = dict(spec)
    if "data" in spec and (rows := spec["data"]["values"]):
        found["data"] = {"columns": by_column(rows)}
    for several in spec.keys() & {"layer", "vconcat"}:
        found[several] = [_with_columns(each) for each in spec[several]]
    return found


def by_column(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return rows that have the same fields as one list per field.

    >>> by_column([{"a": "x", "b": 0.12345678}, {"a": "x", "b": 1.0}])
    {'a': {'words': ['x'], 'at': [0, 0]}, 'b': [0.123457, 1]}
    """
    fields = rows[0].keys()
    try:
        return {field: _column([*map(itemgetter(field), rows)]) for field in fields}
    except KeyError:
        return {field: _column([row.get(field) for row in rows]) for field in fields}


def _column(values: list[Any]) -> Any:
    kinds = {*map(type, values)}
    if any(issubclass(kind, str) for kind in kinds):
        number = {word: place for place, word in enumerate(dict.fromkeys(values))}
        return (
            {"words": list(number), "at": [*map(number.__getitem__, values)]} if len(number) < len(values) else values
        )
    return all_rounded(values) if kinds == {float} else [rounded(value) for value in values]


def all_rounded(values: list[float], digits: int = DIGITS) -> list[Any]:
    """Round several numbers like `rounded`, in one step."""
    short = map(float, (f"%.{digits}g " * len(values) % tuple(values)).split())
    return [None if v - v else v if v % 1 or not -1e15 < v < 1e15 else int(v) for v in short]  # inf - inf is NaN


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """Round a number for embedding in the page. Integers stay integers; NaN becomes None."""
    if not isinstance(value, float):
        return value
    if value != value or value in (float("inf"), float("-inf")):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short
