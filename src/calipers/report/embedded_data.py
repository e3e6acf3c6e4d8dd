"""Compact data inside the page.

The rows of a chart are written by column, and repeated words as places in a list of words. A script of the page puts
the rows together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from calipers.plot.drawing import Chart
from calipers.plot.specifications import Part

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
