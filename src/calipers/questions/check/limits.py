"""Limits of a check: how far a measure may drop, and floors of means. One number for all measures, or one for each.

A percentage of `max_drop` is a share of the baseline's mean. A percentage of `min` is a score of a measure with scores
from 0 to 1. A limit beyond the scores that a measure can have is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from calipers.errors import CalipersError, UnknownName
from calipers.measures.grammar import parse
from calipers.statistics.bounded_intervals import Ends

LimitsLike = float | str | Mapping[str, float | str]  # 0.01, "2%", "nDCG@10=0.02 AP=2%" or {"nDCG@10": 0.02}


class Drop(NamedTuple):
    """A drop of the mean that is allowed: a difference of scores, or a share of the mean of the baseline."""

    value: float
    relative: bool = False

    def __str__(self) -> str:
        return f"{100 * self.value:g}%" if self.relative else f"{self.value:g}"

    def of(self, baseline: float) -> float:
        """Return the drop as a difference of scores."""
        return self.value * baseline if self.relative else self.value


def drops_of(
    what: str, given: LimitsLike | None, ends: Mapping[str, Ends], *, percent: bool = False
) -> dict[str, Drop]:
    """Return the drop that is allowed for each measure. Measures without a limit are left out.

    what: the name of the limit in errors. ends: the lowest and the highest score of each measure. percent: percentages
    of the baseline's mean are allowed.

    >>> drops_of("max_drop", "0.01 RR=2%", {"AP": (0, 1), "RR": (0, 1)}, percent=True)
    {'AP': Drop(value=0.01, relative=False), 'RR': Drop(value=0.02, relative=True)}
    """
    found = {}
    for name, text in _by_measure(what, given, [*ends]).items():
        number, relative = _number(text)
        if not 0 <= number < math.inf or (relative and not percent):
            share = ' or a percentage such as "2%"' if percent else ""
            raise CalipersError(f"{what} '{text}' is not a number of at least 0{share}", parameter=what)
        low, high = ends[name]
        largest = 100.0 if relative else math.inf if low is None or high is None else high - low
        if number > largest:
            asked = f'; was "{number:g}%" meant?' if percent and not relative and number <= 100 else ""
            most = f"{largest:g}%" if relative else f"{largest:g}"
            raise CalipersError(f"{what} '{text}': no drop of {name} is larger than {most}{asked}", parameter=what)
        found[name] = Drop(number / 100, True) if relative else Drop(number)
    return found


def floors_of(given: LimitsLike | None, ends: Mapping[str, Ends]) -> dict[str, float]:
    """Return the floor of each measure. Measures without a floor are left out.

    >>> floors_of({"ap": "30%"}, {"AP": (0, 1), "RR": (0, 1)})
    {'AP': 0.3}
    """
    found = {}
    for name, text in _by_measure("min", given, [*ends]).items():
        number, percent = _number(text)
        if not math.isfinite(number):
            raise CalipersError(f"min '{text}' is not a number or a percentage such as \"60%\"", parameter="min")
        low, high = ends[name]
        if percent and (low, high) != (0, 1):
            raise CalipersError(
                f"min '{text}': scores of {name} are not known to lie between 0 and 1; give a number instead of a "
                "percentage",
                parameter="min",
            )
        floor = number / 100 if percent else number
        beyond = f"below {low:g}" if low is not None and floor < low else ""
        beyond = f"above {high:g}" if high is not None and floor > high else beyond
        if beyond:
            asked = f'; was "{number:g}%" meant?' if (low, high) == (0, 1) and 1 < floor <= 100 else ""
            raise CalipersError(f"min '{text}': no score of {name} is {beyond}{asked}", parameter="min")
        found[name] = floor
    return found


def _by_measure(what: str, given: LimitsLike | None, measures: Sequence[str]) -> dict[str, float | str]:
    """Return the limits by measure, in the order of the measures."""
    pairs: list[tuple[str, float | str]] = []
    if isinstance(given, Mapping):
        pairs = [(str(name), value) for name, value in given.items()]
    elif isinstance(given, str):
        pairs = [(name, value) for name, _, value in (word.rpartition("=") for word in given.split())]
    elif given is not None:
        pairs = [("", given)]
    every = [value for name, value in pairs if not name]
    found = dict.fromkeys(measures, every[-1]) if every else {}
    for name, value in pairs:
        if name:
            found[measures[measure_place(name, measures, f"measure of {what}")]] = value
    return {name: found[name] for name in measures if name in found}


def _number(given: float | str) -> tuple[float, bool]:
    """Return a number, and whether it is a percentage. NaN if it is neither."""
    percent = isinstance(given, str) and given.endswith("%")
    try:
        return float(given[:-1] if percent else given), percent  # type: ignore[index]  # a percentage is text
    except (TypeError, ValueError):
        return math.nan, percent


def measure_place(name: str, measures: Sequence[str], kind: str) -> int:
    """Return the place of a measure that is named like this, or in another way that means the same measure.

    >>> measure_place("ndcg@10", ["AP", "nDCG@10"], "measure")
    1
    """
    if name in measures:
        return measures.index(name)
    wanted = _definition(name)
    for place, each in enumerate(measures):
        if wanted is not None and _definition(each) == wanted:
            return place
    raise UnknownName.among(kind, name, measures)


def _definition(name: str) -> str | None:
    try:
        return repr(parse(name))
    except CalipersError:
        return None
