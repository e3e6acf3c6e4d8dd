"""The lines that trec_eval prints."""

from __future__ import annotations

FLOOR = 1e-5  # what a score below it counts in a geometric mean


def z_line(name: str, query: str, value: float) -> str:
    """Return the line of a z-score."""
    return "Z" + line(name, query, value, whole=False)


def line(name: str, query: str, value: float, whole: bool) -> str:
    """Return the line of a measure, a query (or `all`) and a number."""
    return text_line(name, query, f"{int(value)}" if whole else f"{value:6.4f}")


def text_line(name: str, query: str, text: str) -> str:
    """Return the line of a measure, a query (or `all`) and a text."""
    return f"{name:<22}\t{query}\t{text}\n"
