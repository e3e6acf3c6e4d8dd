"""Printed figures against computed ones.

The documents cut their derived figures off rather than round them (0.7857 is printed as 0.785), so a figure comes
out exactly where cutting the computed one at the printed digits gives it. Zeros at the end of a printed figure say
nothing: one document prints 35.700 where the other has 35.7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

EXACT = "exact"
ROUNDING = "within rounding"
DIFFERS = "differs"
IMPOSSIBLE = "impossible"
CONSISTENT = "consistent"  # it cannot be recomputed, but no other printed figure speaks against it
NEEDS_DATA = "needs data"
VERDICTS = (EXACT, ROUNDING, DIFFERS, IMPOSSIBLE, CONSISTENT, NEEDS_DATA)


@dataclass(frozen=True)
class Figure:
    """One printed figure, what it should be, and what is to be said about it."""

    cell: str
    printed: str
    computed: float | str | None
    verdict: str
    reason: str = ""
    error: float | None = None  # the standard error of computed - printed, where both depend on what was drawn


def decimals(printed: str) -> int:
    """The decimals that a printed figure gives.

    >>> decimals("0.785"), decimals("35.700"), decimals("31")
    (3, 1, 0)
    """
    return len(printed.rstrip("0").split(".")[1]) if "." in printed else 0


def cut(value: float, digits: int) -> float:
    """Cut off after so many decimals, towards 0.

    >>> cut(0.78571, 3), cut(-16.67, 0)
    (0.785, -16.0)
    """
    scale = 10.0**digits
    return math.trunc(value * scale + math.copysign(1e-9, value)) / scale


def judged(
    cell: str,
    printed: str,
    computed: float,
    interval: tuple[float, float] | None = None,
    reason: str = "",
    otherwise: str = "",
    least: int = 0,
    rounds: bool = False,
) -> Figure:
    """The verdict on a figure that was computed; `interval`: what the rounding of its sources allows.

    `reason` is given with an exact figure, `otherwise` with one that differs. `least`: the decimals that all figures of
    a table have, where zeros at the end are not printed. `rounds`: the paper rounds its figures.
    """
    digits, value = max(decimals(printed), least), float(printed)
    if math.isnan(computed):
        return Figure(cell, printed, None, DIFFERS, otherwise or "undefined")
    if not rounds and math.isclose(cut(computed, digits), value, abs_tol=10.0 ** -(digits + 2)):
        return Figure(cell, printed, computed, EXACT, reason)
    half = 0.5 * 10.0**-digits
    if abs(computed - value) <= half * (1 + 1e-9):
        if rounds:
            return Figure(cell, printed, computed, EXACT, reason)
        return Figure(cell, printed, computed, ROUNDING, reason or "rounded, where other figures are cut off")
    if interval is not None:
        low, high = interval
        # A printed figure stands for all values that are cut off to it.
        if low < value + 10.0**-digits and value <= high:
            why = f"the printed scores allow {low:.4g} to {high:.4g}" if abs(high) < 100 else ""
            return Figure(cell, printed, computed, ROUNDING, reason or why)
        otherwise = otherwise or f"the printed scores allow {low:.4g} to {high:.4g}"
    return Figure(cell, printed, computed, DIFFERS, otherwise or reason)


def attainable(cell: str, printed: str, grid: Sequence[float], what: str) -> Figure:
    """Whether a figure is one of those that are possible at all; it cannot be recomputed from printed ones."""
    digits = decimals(printed)
    near = min(grid, key=lambda value: abs(cut(value, digits) - float(printed)))
    if math.isclose(cut(near, digits), float(printed), abs_tol=10.0 ** -(digits + 2)):
        return Figure(cell, printed, near, CONSISTENT, f"{what}; the data would be needed to recompute it")
    return Figure(cell, printed, None, IMPOSSIBLE, f"not {what}; the nearest is {near:.4f}")


def corners(low: Sequence[float], high: Sequence[float]) -> list[tuple[float, ...]]:
    """Every combination of lower and upper ends."""
    return list(product(*zip(low, high, strict=True)))
