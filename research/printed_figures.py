"""Compare printed figures with computed ones.

Most papers cut their figures off rather than round them (0.7857 is printed as 0.785). Golbus & Aslam (2013) round
theirs. A figure is exact if the computed one gives it in the way of its paper, and within rounding if it gives it in
the other way. Zeros at the end of a printed figure say nothing: one document prints 35.700 where the other has 35.7.
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
CHANCE = "within chance"
CONSISTENT = "consistent"
REPEATED = "repeated"
NEEDS_DATA = "needs data"
# All verdicts, and what each says.
VERDICTS = {
    EXACT: "the computed figure, cut off or rounded as the paper does it, is the printed one",
    ROUNDING: "the computed figure gives the printed one if it is cut off instead of rounded (or the reverse), or if "
    "the printed figures that it is computed from are changed by less than their last digit",
    CHANCE: "the figure comes from random samples, and the printed one lies in the range of the computed ones",
    CONSISTENT: "the figure cannot be recomputed from what is printed, or is a statement in words, and nothing "
    "contradicts it",
    REPEATED: "the figure is copied from another paper, and is the same there",
    DIFFERS: "the computed figure is another one",
    IMPOSSIBLE: "no data can give this figure together with the others",
    NEEDS_DATA: "the figure cannot be checked without data that is not there",
}


@dataclass(frozen=True)
class Figure:
    """One printed figure, the computed one (None if nothing was computed), and the verdict with its reason."""

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
    drawn: bool = False,
) -> Figure:
    """Return the verdict on a figure that was computed.

    interval: the values that the rounding of its sources allows, or with `drawn` those that random samples give.
    reason is given with an exact figure, otherwise with one that differs. least: the decimals that all figures of a
    table have, where zeros at the end are not printed. rounds: the paper rounds its figures.
    """
    digits, value = max(decimals(printed), least), float(printed)
    if math.isnan(computed):
        return Figure(cell, printed, None, DIFFERS, otherwise or "undefined")
    as_cut = math.isclose(cut(computed, digits), value, abs_tol=10.0 ** -(digits + 2))
    as_rounded = abs(computed - value) <= 0.5 * 10.0**-digits * (1 + 1e-9)
    if as_rounded if rounds else as_cut:
        return Figure(cell, printed, computed, EXACT, reason)
    if as_cut or as_rounded:
        how = "cut off, where other figures are rounded" if rounds else "rounded, where other figures are cut off"
        return Figure(cell, printed, computed, ROUNDING, reason or how)
    if interval is not None:
        low, high = interval
        # A printed figure stands for all values that are cut off to it.
        if low < value + 10.0**-digits and value <= high:
            why = f"the printed scores allow {low:.4g} to {high:.4g}" if abs(high) < 100 else ""
            return Figure(cell, printed, computed, CHANCE if drawn else ROUNDING, reason or why)
        otherwise = otherwise or f"the printed scores allow {low:.4g} to {high:.4g}"
    return Figure(cell, printed, computed, DIFFERS, otherwise or reason)


def attainable(cell: str, printed: str, grid: Sequence[float], what: str) -> Figure:
    """Return whether a figure is one of those that are possible. It cannot be recomputed from printed ones."""
    digits = decimals(printed)
    near = min(grid, key=lambda value: abs(cut(value, digits) - float(printed)))
    if math.isclose(cut(near, digits), float(printed), abs_tol=10.0 ** -(digits + 2)):
        return Figure(cell, printed, None, CONSISTENT, f"{what}; the data would be needed to recompute it")
    return Figure(cell, printed, None, IMPOSSIBLE, f"not {what}; the nearest is {near:.4f}")


def corners(low: Sequence[float], high: Sequence[float]) -> list[tuple[float, ...]]:
    """Every combination of lower and upper ends."""
    return list(product(*zip(low, high, strict=True)))
