"""The lines that trec_eval prints."""

from __future__ import annotations

import math

FLOOR = 1e-5  # what a score below it counts in a geometric mean


def z_line(name: str, query: str, value: float) -> str:
    """The same for a z-score."""
    return "Z" + line(name, query, value, whole=False)


def line(name: str, query: str, value: float, whole: bool) -> str:
    """A measure, a query or `all`, and a number."""
    return text_line(name, query, f"{int(value)}" if whole else number(value))


def number(value: float) -> str:
    """A number as C prints it, which tells NaN from -NaN.

    >>> number(0.5), number(float("inf")), number(-float("nan"))
    ('0.5000', '   inf', '  -nan')
    """
    if math.isnan(value) and math.copysign(1.0, value) < 0:
        return f"{'-nan':>6}"
    return "%6.4f" % value  # noqa: UP031  C's own format


def text_line(name: str, query: str, text: str) -> str:
    return f"{name:<22}\t{query}\t{text}\n"
