"""Tables of the page: texts to show, and exact values for sorting and downloads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calipers.results.tables import four_digits


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
