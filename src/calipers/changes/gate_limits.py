"""Limits that a gate is given: one number for all measures, or a number for each measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from calipers.errors import CalipersError, UnknownName
from calipers.measures.grammar import parse

LimitsLike = float | str | Mapping[str, float | str]  # 0.01, "2%", "nDCG@10=0.02 AP=2%" or {"nDCG@10": 0.02}


class Limit(NamedTuple):
    """A number, or a share of the mean of the baseline."""

    value: float
    relative: bool = False

    def of(self, baseline: float) -> float:
        """Return the limit as a difference of scores."""
        return self.value * abs(baseline) if self.relative else self.value


def limits_of(
    what: str, given: LimitsLike | None, measures: Sequence[str], *, percent: bool = False
) -> dict[str, Limit]:
    """Return the limit of each measure. Measures without a limit are left out.

    what: the name of the limit in errors. percent: percentages are allowed.

    >>> limits_of("max_drop", "0.01 RR=2%", ["AP", "RR"], percent=True)
    {'AP': Limit(value=0.01, relative=False), 'RR': Limit(value=0.02, relative=True)}
    >>> limits_of("min", {"ap": 0.3}, ["AP", "RR"])
    {'AP': Limit(value=0.3, relative=False)}
    """
    if given is None:
        return {}
    every: Limit | None = None
    found: dict[str, Limit] = {}
    for name, value in _pairs(given):
        limit = _limit(what, value, percent)
        if name:
            found[measures[measure_place(name, measures, f"measure of {what}")]] = limit
        else:
            every = limit
    if every is not None:
        return {name: found.get(name, every) for name in measures}
    return {name: found[name] for name in measures if name in found}


def _pairs(given: LimitsLike) -> list[tuple[str, float | str]]:
    """Return names of measures, or "" for all measures, and their limits."""
    if isinstance(given, Mapping):
        return [(str(name), value) for name, value in given.items()]
    if not isinstance(given, str):
        return [("", given)]
    found: list[tuple[str, float | str]] = []
    for word in given.split():
        name, _, value = word.rpartition("=")
        found.append((name, value))
    return found


def _limit(what: str, given: float | str, percent: bool) -> Limit:
    relative = isinstance(given, str) and given.endswith("%")
    try:
        value = float(given[:-1] if relative else given)  # type: ignore[index]  # text if it is relative
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0) or (relative and not percent):
        share = ' or a percentage such as "2%"' if percent else ""
        raise CalipersError(f"{what} '{given}' is not a number of at least 0{share}")
    return Limit(value / 100, True) if relative else Limit(value)


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
