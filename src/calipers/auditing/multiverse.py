"""A printed figure, and the conventions that would print it: the multiverse check.

A number in a paper rarely says how it was computed. Every combination of the choices that known tools make is tried on
the same run: which of them print this number, to its digits, and do the systems keep their order under all of them?

Steegen, Tuerlinckx, Gelman & Vanpaemel, Increasing transparency through a multiverse analysis, Perspectives on
Psychological Science 2016.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from calipers.auditing.attribution import SWITCHES, chosen
from calipers.auditing.rescoring import Rescorer, Setting
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.conventions import CONVENTIONS, PLAIN, Convention, LabelRange
from calipers.errors import CalipersError, place_of
from calipers.evaluation.inputs import as_judgments, as_runs
from calipers.lists import Floats
from calipers.measures.grammar import parse_all
from calipers.plurals import counted, verb
from calipers.results.tables import Cell, Table

KNOWN = (PLAIN, *CONVENTIONS.values())
DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?|[+-]?\.[0-9]+")
MOST_NAMES = 5  # systems of an order that are written out


@dataclass(frozen=True, eq=False)
class Multiverse:
    """The figures of all systems under every known convention, and which of them print a number."""

    measure: str
    number: str  # as it was printed
    systems: tuple[str, ...]
    among: tuple[int, ...]  # the systems whose figure it may be
    conventions: tuple[Convention, ...]
    tools: tuple[tuple[str, ...], ...]  # of each convention: the tools that follow it
    figures: Floats  # [convention, system]
    causes: tuple[str, ...]  # what the conventions differ in, to some effect

    @property
    def matches(self) -> list[tuple[int, int]]:
        """The conventions and systems whose figure prints as the number."""
        near = np.abs(self.figures * self._scale - float(self.number)) <= self._half * (1 + 1e-9)
        return [(c, s) for c, s in np.argwhere(near).tolist() if s in self.among]

    @property
    def _digits(self) -> int:
        return len(self.number.partition(".")[2])

    @property
    def _half(self) -> float:
        return 0.5 * 10.0**-self._digits

    @property
    def _scale(self) -> float:
        """100 where the number can only be a percentage."""
        largest = float(np.nanmax(np.abs(self.figures), initial=0.0))
        return 100.0 if largest <= 1 < abs(float(self.number)) else 1.0

    def table(self) -> Table:
        """One row per convention and system that print the number: the tools that follow it, and its choices."""
        rows: list[tuple[Cell, ...]] = [
            (
                self.systems[s],
                float(self.figures[c, s] * self._scale),
                ", ".join(self.tools[c]),
                *(chosen(self.conventions[c], self.measure, cause) for cause in self.causes),
            )
            for c, s in sorted(self.matches, key=lambda match: (not self.tools[match[0]], match))
        ]
        return Table(("system", self.measure, "tools", *self.causes), tuple(rows), {"number": self.number})

    def orders(self) -> Table:
        """The orders of the systems, under how many conventions, of which tools; and the pairs that change places."""
        found: dict[tuple[int, ...], list[int]] = {}
        for c, figures in enumerate(self.figures):
            found.setdefault(_ranks(figures), []).append(c)
        first = _ranks(self.figures[0])
        printing = {c for c, _ in self.matches}
        rows: list[tuple[Cell, ...]] = [
            (
                _written(ranks, self.systems),
                len(members),
                sum(c in printing for c in members),
                _swapped(first, ranks),
                ", ".join(tool for c in members for tool in self.tools[c]),
            )
            for ranks, members in sorted(found.items(), key=lambda each: -len(each[1]))
        ]
        columns = ("order", "conventions", f"that print {self.number}", "pairs swapped", "tools")
        return Table(columns, tuple(rows), {"number": self.number})

    def sentences(self) -> list[str]:
        """Who prints the number, and whether the order of the systems survives."""
        count = len(self.conventions)
        by_system: dict[int, list[int]] = {}
        for c, s in self.matches:
            by_system.setdefault(s, []).append(c)
        percent = " (a percentage)" if self._scale == 100 else ""
        said = []
        for system, members in by_system.items():
            tools = [tool for c in members for tool in self.tools[c]]
            who = f": {', '.join(tools)}" if tools else ", none of which is a known tool's"
            said.append(
                f"{self.number}{percent} is the {self.measure} of {self.systems[system]} under {len(members)} of "
                f"{counted(count, 'known convention')}{who}"
            )
        if not said:
            distance = np.abs(self.figures[:, self.among] * self._scale - float(self.number))
            unnamed = np.array([not tools for tools in self.tools])[:, None] * 1e-12  # a tool before what nobody uses
            nearest, place = divmod(int(np.nanargmin(distance + unnamed)), distance.shape[1])
            s, named = self.among[place], self.tools[nearest]
            whose = f"like {named[0]}" if named else "under a combination that no tool has"
            said.append(
                f"none of {counted(count, 'known convention')} prints {self.number}{percent}; the nearest is "
                f"{self.figures[nearest, s] * self._scale:.{max(self._digits, 4)}f}, {self.systems[s]} {whose}"
            )
        return [*said, *self._order()]

    def _order(self) -> list[str]:
        if len(self.systems) < 2:
            return []
        ranks = [_ranks(figures) for figures in self.figures]
        other = [c for c, each in enumerate(ranks) if _swapped(ranks[0], each)]
        systems, count = counted(len(self.systems), "system"), len(ranks)
        if not other:
            return [f"the order of the {systems} is the same under all {counted(count, 'known convention')}"]
        worst = max(other, key=lambda c: _swapped(ranks[0], ranks[c]))
        printing = {c for c, _ in self.matches}
        among = f", {len(printing & {*other})} of them among those that print {self.number}" if printing else ""
        whose = f" (like {self.tools[worst][0]})" if self.tools[worst] else ""
        most = _swapped(ranks[0], ranks[worst])
        swapped = f"{counted(most, 'pair')} {verb(most, 'changes', 'change')}"
        return [
            f"the order of the {systems} does not survive: it is another under {len(other)} of {count} known "
            f"conventions{among}; at most {swapped} places{whose}"
        ]


def multiverse(
    judgments: JudgmentsLike,
    runs: RunsLike,
    measure: str,
    number: str,
    *,
    system: str | None = None,
    depth: int | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Multiverse:
    """Which known conventions print this number for one of the runs, or for one system among them.

    The conventions are every combination of choices that a known tool makes and that change a score here; the tools
    themselves are among them. The number is text, for its digits: "0.718" has three.

    >>> labels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"d": 0}}
    >>> run = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"d": 1.0}}
    >>> found = multiverse(labels, run, "nDCG@10", "0.8984")
    >>> [tool for c, _ in found.matches for tool in found.tools[c]]
    ['yahoo', 'lightgbm', 'xgboost', 'yahoo:stated']
    """
    if not DECIMAL.fullmatch(number):
        raise CalipersError(f"'{number}' is not a number with its digits, such as 0.7183")
    [(name, _)] = parse_all([measure])
    known = as_judgments(judgments)
    rescorer = Rescorer(known, as_runs(runs), depth, jobs, progress)
    among = range(len(rescorer.systems)) if system is None else [place_of("system", system, rescorer.systems)]
    causes = [cause for cause in SWITCHES if any(_differ(rescorer, name, cause, each) for each in KNOWN)]
    grid = _grid(rescorer, name, causes)
    followed: dict[Setting, list[str]] = {}
    for tool in KNOWN:
        if _able(rescorer, name, tool):
            followed.setdefault(rescorer.setting(name, _plain_but(tool, causes)), []).append(tool.name)
    kept = {key: each for key, each in grid.items() if _able(rescorer, name, each)}
    return Multiverse(
        measure=name,
        number=number,
        systems=rescorer.systems,
        among=tuple(among),
        conventions=tuple(kept.values()),
        tools=tuple(tuple(followed.get(key, ())) for key in kept),
        figures=np.array([rescorer.means(name, each) for each in kept.values()]),
        causes=tuple(causes),
    )


def _plain_but(convention: Convention, causes: Sequence[str]) -> Convention:
    """Our own convention with another's choices in what makes a difference here."""
    return PLAIN.with_(**{each: getattr(convention, each) for cause in causes for each in SWITCHES[cause]})


def _differ(rescorer: Rescorer, name: str, cause: str, other: Convention) -> bool:
    """Whether a cause could change a score here: some list is concerned, and the setting is another."""
    if rescorer.setting(name, _plain_but(other, [cause])) == rescorer.setting(name, PLAIN):
        return False
    length, cutoff = rescorer.length, rescorer.measure(name, PLAIN).cutoff
    if cause == "tied scores":
        return bool(rescorer.tied(PLAIN, PLAIN.with_(precision="single")).any())
    if cause == "missing queries":
        return bool((length == 0).any())
    if cause == "lists shorter than k":
        return cutoff is not None and bool((length < cutoff).any())
    if cause == "no relevant document":
        return any(bool((rescorer.judgments.pool.relevant(rel) == 0).any()) for rel in {each.rel for each in KNOWN})
    return True


def _grid(rescorer: Rescorer, name: str, causes: Sequence[str]) -> dict[Setting, Convention]:
    """Every combination of known choices, each setting once; our own convention first."""
    found = {rescorer.setting(name, PLAIN): PLAIN}
    for cause in causes:
        fields = SWITCHES[cause]
        choices: list[tuple[Any, ...]] = []
        for each in KNOWN:
            values = tuple(_choice(each, field) for field in fields)
            if values not in choices:
                choices.append(values)
        for base, values in product([*found.values()], choices):
            turned = base.with_(**dict(zip(fields, values, strict=True)))
            found.setdefault(rescorer.setting(name, turned), turned)
    return found


def _choice(convention: Convention, field: str) -> Any:
    """What a convention says of one field; of labels, what becomes of low ones, not which it refuses."""
    return LabelRange(convention.labels.lowest) if field == "labels" else getattr(convention, field)


def _able(rescorer: Rescorer, name: str, convention: Convention) -> bool:
    try:
        measure = rescorer.measure(name, convention)
        if not convention.offers(measure) or convention.refusal(rescorer.known(convention), [measure]):
            return False
        rescorer.scores(name, convention)
    except CalipersError:
        return False
    return True


def _ranks(figures: Floats) -> tuple[int, ...]:
    """The rank of each system, from 0; figures that differ by rounding alone share one."""
    rounded = np.round(np.nan_to_num(figures, nan=-np.inf), 12)
    return tuple(int((rounded > value).sum()) for value in rounded)


def _swapped(one: Sequence[int], other: Sequence[int]) -> int:
    """How many pairs of systems two orders put the other way round."""
    x, y = np.array(one), np.array(other)
    return int(np.triu((x[:, None] - x) * (y[:, None] - y) < 0).sum())


def _written(ranks: Sequence[int], systems: Sequence[str]) -> str:
    order = sorted(range(len(ranks)), key=lambda s: ranks[s])
    text = ""
    for place, s in enumerate(order[:MOST_NAMES]):
        text += ("" if not place else " = " if ranks[s] == ranks[order[place - 1]] else " > ") + systems[s]
    return text + (" ..." if len(order) > MOST_NAMES else "")
