"""Scales of grades: whether two judges use the same one, and how to bring them to one.

A map is written as

    0=0,1=0,2=1,3=1     a new grade for each grade
    >=2                 1 from grade 2 on, otherwise 0; `>=1,2,3` counts the thresholds that a grade reaches
    same                the grades mean the same, although one judge uses fewer of them

and `WHO:` before it says whose grades it is for: `human`, the name of a judge, or a pattern of names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.record import Record

SAME = "same"
ADVICE = (
    "bring them to one scale with a map, for example 'human:>=2' (thresholds) or 'NAME:0=0,1=2' (a grade for each), "
    "or 'same' if equal grades mean the same"
)
STRAY = 0.01  # labels beyond the other's scale that are taken for slips
MOST_GRADES = 64  # different grades, beyond which labels are scores rather than grades

Change = str | Mapping[float, float] | Sequence[float]
Map = str | Iterable[str] | Mapping[str, Change]


class Scale(Record):
    """The different grades that a judge uses, ascending."""

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
        """The grades, separated by commas.

        >>> str(Scale((0.0, 1.0, 2.0)))
        '0, 1, 2'
        """
        if len(self.grades) <= 8:
            return ", ".join(f"{grade:g}" for grade in self.grades)
        kind = "fractions" if self.has_fractions else "grades"
        return f"{self.grades[0]:g} to {self.grades[-1]:g} in {len(self.grades)} {kind}"


def on_one_scale(one: Floats, other: Floats) -> bool:
    """Whether two judges' labels could be grades of one scale.

    They are not where only one of them has fractions, where only one is binary, or where more than a hundredth of
    the labels of one lie more than a step above the highest grade of the other. One grade only could be of any scale.

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
    """Whose grades change, None standing for everybody's, and how."""
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
    """Labels with other grades; what is missing stays missing.

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
        raise CalipersError(f"grade {lost[0]:g} of {whose} is not in the map {table}")
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
            f"cannot read the map '{text}'; write 0=0,1=0,2=1 (a grade for each), >=2 (a threshold) or same"
        ) from None
    if len(table) < len(pairs):
        raise CalipersError(f"the map '{text}' has two grades for one")
    return table


def _grade(text: str) -> float:
    grade = float(text)
    if not math.isfinite(grade):
        raise ValueError(text)
    return grade


def concerned(who: str | None, names: Sequence[str]) -> list[int]:
    """The places of those whom a map is for; `human` is always the first, too."""
    found = [
        place
        for place, name in enumerate(names)
        if who is None or fnmatchcase(name, who) or (place == 0 and who == "human")
    ]
    if not found:
        raise CalipersError(f"a map is for '{who}', but there are {', '.join(names)}")
    return found
