"""Compact data inside the page.

The rows of a chart are written by column, and repeated words as places in a list of words. A script of the page puts
the rows together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from calipers.plot.specifications import Chart, InlineData

DIGITS = 6  # number of significant digits


def chart_spec(chart: Chart) -> dict[str, Any]:
    """Return the specification of a chart for the page: without title, and as wide as its place allows."""
    known: dict[InlineData, Any] = {}

    def columns(data: InlineData) -> Any:
        if data not in known:
            known[data] = {"columns": by_column(data.values) if data.values else {}}
        return known[data]

    spec = chart.specification(columns)
    spec.pop("title", None)
    if not isinstance(spec.get("width"), dict):  # with a step per system, a chart that is too wide scrolls
        spec["width"] = "container"
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


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
