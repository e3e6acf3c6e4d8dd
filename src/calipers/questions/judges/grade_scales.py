"""Grade scales of judges, and maps that convert grades to a common scale.

A map is written as

    0=0,1=0,2=1,3=1     a new grade for each grade
    >=2                 1 for grades of at least 2, otherwise 0; `>=1,2,3` counts the thresholds that a grade reaches
    same                equal grades have the same meaning, although one judge uses fewer of them

A prefix `WHO:` restricts a map to `human`, to one judge, or to a pattern of names of judges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.support.record import Record

SAME = "same"
ADVICE = (
    "convert the grades with a map, for example 'human:>=2' (a threshold) or 'NAME:0=0,1=2' (a new grade for each), "
    "or use the map 'same' if equal grades have the same meaning"
)
STRAY = 0.01  # largest share of labels beyond the other judge's scale; they are taken for mistakes
MOST_GRADES = 64  # with more different values, labels are scores rather than grades

Change = str | Mapping[float, float] | Sequence[float]
Map = str | Iterable[str] | Mapping[str, Change]


class Scale(Record):
    """Distinct grades that a judge uses, in ascending order."""

    grades: tuple[float, ...]

    @classmethod
    def of(cls, labels: Floats) -> Scale:
        return cls(tuple(np.unique(labels[~np.isnan(labels)]).tolist()))

    @property
    def has_fractions(self) -> bool:
        return any(not float(grade).is_integer() for grade in self.grades)

    @property
    def is_binary(self) -> bool:
        return max(self.grades) <= 1

    def __str__(self) -> str:
        """Return the grades, separated by commas.

        >>> str(Scale((0.0, 1.0, 2.0)))
        '0, 1, 2'
        """
        if len(self.grades) <= 8:
            return ", ".join(f"{grade:g}" for grade in self.grades)
        kind = "fractions" if self.has_fractions else "grades"
        return f"{self.grades[0]:g} to {self.grades[-1]:g} in {len(self.grades)} {kind}"


def on_one_scale(one: Floats, other: Floats) -> bool:
    """Return True if the labels of two judges could be grades of the same scale.

    The result is False if only one judge uses fractions, or if only one is binary. It is also False if more than 1% of
    one judge's labels are more than 1 above the highest grade of the other judge. A judge with a single grade could use
    any scale.

    >>> on_one_scale(np.array([0.0, 1, 2, 3]), np.array([0.0, 1, 2, 2])), on_one_scale(np.arange(4.0), np.arange(2.0))
    (True, False)
    """
    scales = Scale.of(one), Scale.of(other)
    if any(len(scale.grades) < 2 for scale in scales):
        return True
    if scales[0].has_fractions != scales[1].has_fractions or scales[0].is_binary != scales[1].is_binary:
        return False
    beyond = ((one > max(scales[1].grades) + 1).mean(), (other > max(scales[0].grades) + 1).mean())
    return bool(max(beyond) <= STRAY)


# -- maps --------------------------------------------------------------------------------------------


def changes(given: Map | None) -> list[tuple[str | None, Change]]:
    """Return pairs of a judge's name or pattern, or None for all judges, and the change of the grades."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(who, change) for who, change in given.items()]
    pairs: list[tuple[str | None, Change]] = []
    for text in [given] if isinstance(given, str) else given:
        who, colon, change = text.rpartition(":")
        pairs.append((who if colon else None, change))
    return pairs


def changed(labels: Floats, change: Change, whose: str) -> Floats:
    """Return the labels with changed grades. Missing labels stay missing.

    >>> changed(np.array([0.0, 1, 2, 3]), ">=1,2.5", "human")
    array([0., 1., 1., 2.])
    >>> changed(np.array([0.0, 1, 2, 3]), "0=0,1=0,2=1,3=1", "human")
    array([0., 0., 1., 1.])
    """
    rule = _rule(change) if isinstance(change, str) else change
    if rule is None:
        return labels
    result = labels.copy()
    known = ~np.isnan(labels)
    if not isinstance(rule, Mapping):
        result[known] = np.searchsorted(np.sort(np.asarray(rule, float)), labels[known], side="right")
        return result
    result[known] = np.nan
    for old, new in rule.items():
        result[labels == old] = new
    lost = np.unique(labels[known & np.isnan(result)])
    if len(lost):
        table = ",".join(f"{old:g}={new:g}" for old, new in rule.items())
        raise CalipersError(f"grade {lost[0]:g} of {whose} is missing in the map {table}; add a new grade for it")
    return result


def _rule(text: str) -> Mapping[float, float] | Sequence[float] | None:
    written = text.strip()
    if written == SAME:
        return None
    try:
        if written.startswith(">="):
            return [_grade(part) for part in written.removeprefix(">=").split(",")]
        pairs = [part.split("=") for part in written.split(",")]
        table = {_grade(old): _grade(new) for old, new in pairs}
    except ValueError:
        raise CalipersError(
            f"cannot read the map '{text}'; expected 0=0,1=0,2=1 (a new grade for each), >=2 (a threshold) or same"
        ) from None
    if len(table) < len(pairs):
        raise CalipersError(f"the map '{text}' changes the same grade twice")
    return table


def _grade(text: str) -> float:
    grade = float(text)
    if not math.isfinite(grade):
        raise ValueError(text)
    return grade


def concerned(who: str | None, names: Sequence[str]) -> list[int]:
    """Return the positions of the judges that a map applies to. `human` is always the first."""
    found = [
        place
        for place, name in enumerate(names)
        if who is None or fnmatchcase(name, who) or (place == 0 and who == "human")
    ]
    if not found:
        raise CalipersError(f"the map for '{who}' matches none of the judges {', '.join(names)}")
    return found
