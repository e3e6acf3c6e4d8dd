"""Numbers as C reads them, which is how trec_eval reads its files and options: whatever a text begins with, or 0."""

from __future__ import annotations

import math
import re

_LONG = re.compile(r"\s*([+-]?)(?=[0-9])0*([0-9]{0,20})", re.ASCII)  # 20 digits are more than a long has
_LARGEST_LONG = 2**63 - 1
_DOUBLE = re.compile(
    r"\s*([+-]?)(?:(0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)"
    r"|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan))",
    re.IGNORECASE | re.ASCII,
)


def as_long(text: str) -> int:
    """A number as C's atol reads it.

    >>> as_long("-2"), as_long(" +7"), as_long("1e3"), as_long("all"), as_long("0" * 40 + "5")
    (-2, 7, 1, 0, 5)
    """
    match = _LONG.match(text)
    return max(-_LARGEST_LONG - 1, min(int(match[1] + (match[2] or "0")), _LARGEST_LONG)) if match else 0


def as_double(text: str) -> float:
    """A number as C's atof reads it.

    >>> as_double("1.5x"), as_double("-.5e1"), as_double("0x1p3"), as_double("1e999"), as_double("all")
    (1.5, -5.0, 8.0, inf, 0.0)
    """
    match = _DOUBLE.match(text)
    if match is None:
        return 0.0
    sign, hexadecimal, decimal = match.groups()
    try:
        size = float.fromhex(hexadecimal) if hexadecimal else float(decimal)
    except OverflowError:  # of hexadecimal digits
        size = float("inf")
    return -size if sign == "-" else size


def is_plain(text: str, value: float) -> bool:
    """Whether a text stands for the number that C reads in it.

    >>> is_plain("1e3", 1000.0), is_plain("1.5x", 1.5), is_plain("0x10", 16.0), is_plain("nan", math.nan)
    (True, False, False, True)
    """
    try:
        return float(text) == value or math.isnan(value)
    except ValueError:
        return False
