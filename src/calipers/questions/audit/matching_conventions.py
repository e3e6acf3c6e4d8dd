"""Conventions that print a given figure.

A number in a paper rarely says how it was computed. This module tries every combination of the choices that known tools
make on the same runs. It reports the combinations that print the number, to its digits, and whether the systems keep
their order under all combinations.

Steegen, Tuerlinckx, Gelman & Vanpaemel, Increasing transparency through a multiverse analysis, Perspectives on
Psychological Science 2016.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from calipers.conventions import CONVENTIONS, PLAIN, Convention, LabelRange
from calipers.errors import CalipersError, chosen_measure, place_of, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats
from calipers.questions.audit.attribution import SWITCHES, chosen
from calipers.questions.audit.rescoring import Rescorer, Setting
from calipers.results.result import Result, Tables, in_short
from calipers.results.tables import Cell, Table
from calipers.support.plurals import counted, verb

KNOWN = (PLAIN, *CONVENTIONS.values())
DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?|[+-]?\.[0-9]+")
ANY = "any"  # every known choice gives the same figure
MOST_NAMES = 5  # systems of an order that are written out
SAME_FIGURE = 12  # digits after the point to which figures are compared


@dataclass(frozen=True, eq=False, repr=False)
class MatchingConventions(Result):
    """Conventions that print a number, for each measure."""

    number: str  # as it was printed
    systems: tuple[str, ...]
    by_measure: Mapping[str, MeasureFigures]
    reading_notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Title of the result."""
        return f"Conventions that print {self.number} as {' or '.join(self.by_measure)}"

    @property
    def summary(self) -> str:
        """Tools that print the number, and whether the order of the systems depends on the convention."""
        return in_short(["; ".join(each.sentences()) for each in self.by_measure.values()])

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the input, tools without a figure, and switches that do not matter."""
        return (*self.reading_notes, *(note for each in self.by_measure.values() for note in each.notes()))

    def tables(self) -> Tables:
        """Return two tables per measure, such as `number-nDCG@10` and `orders-nDCG@10`."""
        makers = {f"number-{name}": each.matches_table for name, each in self.by_measure.items()}
        return Tables(makers | {f"orders-{name}": each.orders for name, each in self.by_measure.items()})

    def tools_that_match(self, measure: str | None = None) -> tuple[str, ...]:
        """Return the names of the tools that print the number."""
        measures = tuple(self.by_measure)
        found = self.by_measure[measures[chosen_measure(measure, measures)]]
        return tuple(dict.fromkeys(tool for c, _ in found.matches for tool in found.tools[c]))


@dataclass(frozen=True, eq=False)
class MeasureFigures:
    """Figures of all systems under every known convention, and the conventions that print a number."""

    measure: str
    number: str  # as it was printed
    systems: tuple[str, ...]
    among: tuple[int, ...]  # the systems that the number may belong to
    conventions: tuple[Convention, ...]
    tools: tuple[tuple[str, ...], ...]  # by convention: the tools that follow it
    figures: Floats  # [convention, system]
    causes: tuple[str, ...]  # switches that change some figure
    unavailable: Mapping[str, str]  # by tool without a figure: the reason

    @property
    def matches(self) -> list[tuple[int, int]]:
        """Places of the conventions and systems that have the number as their printed figure."""
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
        """Factor of the figures: 100 if the number is a percentage, which means larger than 1 and than every figure."""
        largest = float(np.nanmax(np.abs(self.figures), initial=1.0))
        return 100.0 if abs(float(self.number)) > largest else 1.0

    def choices(self, place: int) -> tuple[str, ...]:
        """Return the choice of one convention in each of the switches."""
        return tuple(chosen(self.conventions[place], self.measure, cause) for cause in self.causes)

    def matches_table(self) -> Table:
        """Return the conventions and systems that print the number. Rows of tools come first.

        Conventions that give the same figure and differ in one switch share a row. `any` stands for all choices of a
        switch; a switch that is `any` in every row has no column.
        """
        every = [self.choices(place) for place in range(len(self.conventions))]
        known = [{choices[i] for choices in every} for i in range(len(self.causes))]
        rows: list[tuple[Cell, ...]] = []
        for (system, figure), found in self._by_figure().items():
            for block in merged_choices([every[place] for place in found]):
                inside = [p for p in found if all(c in some for c, some in zip(every[p], block, strict=True))]
                tools = ", ".join(tool for place in inside for tool in self.tools[place])
                shown = (
                    ANY if len(some) == len(of) > 1 else " or ".join(some)
                    for some, of in zip(block, known, strict=True)
                )
                rows.append((self.systems[system], figure * self._scale, tools, *shown))
        rows.sort(key=lambda row: not row[2])
        kept = [i for i in range(len(self.causes)) if any(row[3 + i] != ANY for row in rows)]
        columns = ("system", self.measure, "tools", *(self.causes[i] for i in kept))
        return Table(columns, tuple((*row[:3], *(row[3 + i] for i in kept)) for row in rows), {"number": self.number})

    def _by_figure(self) -> dict[tuple[int, float], list[int]]:
        """Return the conventions that print the number, by system and exact figure."""
        found: dict[tuple[int, float], list[int]] = {}
        for place, system in self.matches:
            found.setdefault((system, round(float(self.figures[place, system]), SAME_FIGURE)), []).append(place)
        return found

    def orders(self) -> Table:
        """Return the orders of the systems, with their conventions and tools, and the pairs that change places."""
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
        """Return who prints the number, and whether the order of the systems depends on the convention."""
        count = len(self.conventions)
        by_system: dict[int, list[int]] = {}
        for c, s in self.matches:
            by_system.setdefault(s, []).append(c)
        percent = " (a percentage)" if self._scale == 100 else ""
        said = []
        for system, members in by_system.items():
            tools = [tool for c in members for tool in self.tools[c]]
            who = f": {', '.join(tools)}" if tools else ", but no known tool combines them like this"
            said.append(
                f"{self.number}{percent} is the {self.measure} of {self.systems[system]} under {len(members):,} of "
                f"{counted(count, 'known convention')}{who}"
            )
        if not said:
            distance = np.abs(self.figures[:, self.among] * self._scale - float(self.number))
            unnamed = np.array([not tools for tools in self.tools])[:, None] * 1e-12  # prefer conventions of tools
            nearest, place = divmod(int(np.nanargmin(distance + unnamed)), distance.shape[1])
            s, named = self.among[place], self.tools[nearest]
            whose = f"like {named[0]}" if named else "under a combination that no known tool has"
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
        among = f", {len(printing & {*other}):,} of which print {self.number}" if printing else ""
        whose = f" (like {self.tools[worst][0]})" if self.tools[worst] else ""
        most = _swapped(ranks[0], ranks[worst])
        swapped = f"{counted(most, 'pair')} {verb(most, 'changes', 'change')}"
        return [
            f"the order of the {systems} depends on the convention: it is another under {len(other):,} of {count:,} "
            f"known conventions{among}; at most {swapped} places{whose}"
        ]

    def notes(self) -> list[str]:
        """Return notes on tools without a figure, and on switches that do not matter for the number."""
        reasons: dict[str, list[str]] = {}
        for tool, reason in self.unavailable.items():
            reasons.setdefault(reason, []).append(tool)
        notes = [f"skipped for {self.measure}: {', '.join(tools)} ({reason})" for reason, tools in reasons.items()]
        shown = self.matches_table()
        free = [cause for cause in self.causes if cause not in shown.columns]
        if shown.rows and free:
            notes.append(f"every choice prints {self.number} as {self.measure}: {', '.join(free)}")
        return notes


def matching_conventions(evaluation: Evaluation, *, number: str | float, run: str | None = None) -> MatchingConventions:
    """Return the known conventions that print a number for one of the runs.

    The conventions are all combinations of choices that some known tool makes and that change a score here. Tools that
    cannot read the data are skipped; a note says why.

    number: text or a number. Text keeps zeros at the end.
    run: the run that the number belongs to; by default any run.

    >>> import calipers as cal
    >>> labels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"d": 0}}
    >>> run = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"d": 1.0}}
    >>> matching_conventions(cal.Experiment(labels, run, "nDCG@10"), number="0.8984").tools_that_match()
    ('yahoo', 'lightgbm', 'xgboost', 'yahoo:stated')
    """
    text = number.strip() if isinstance(number, str) else str(number)
    if not DECIMAL.fullmatch(text):
        raise CalipersError(f"'{text}' is not a number with its digits, such as 0.7183")
    rescorer = Rescorer.of(evaluation)
    notes = rescorer.notes(evaluation)
    warn_user(notes, evaluation.warn)
    systems = rescorer.systems
    among = tuple(range(len(systems))) if run is None else (place_of("system", run, systems),)
    found = {name: _figures(rescorer, name, text, among) for name in evaluation.measures}
    if without := [each for each in found.values() if not each.conventions]:
        reason = next(iter(without[0].unavailable.values()))
        raise CalipersError(f"no known convention has a figure for {without[0].measure}: {reason}")
    return MatchingConventions(text, systems, found, tuple(notes))


def _figures(rescorer: Rescorer, name: str, number: str, among: tuple[int, ...]) -> MeasureFigures:
    """Return the figures of one measure under all combinations of known choices."""
    causes = [cause for cause in SWITCHES if any(_differ(rescorer, name, cause, each) for each in _known(rescorer))]
    followed: dict[Setting, list[str]] = {}
    unavailable = {}
    for tool in _known(rescorer):
        if reason := rescorer.refusal(name, tool):
            unavailable[tool.name] = reason
        else:
            followed.setdefault(rescorer.setting(name, _plain_but(tool, causes)), []).append(tool.name)
    kept = {key: each for key, each in _grid(rescorer, name, causes).items() if not rescorer.refusal(name, each)}
    return MeasureFigures(
        measure=name,
        number=number,
        systems=rescorer.systems,
        among=among,
        conventions=tuple(kept.values()),
        tools=tuple(tuple(followed.get(key, ())) for key in kept),
        figures=np.array([rescorer.means(name, each) for each in kept.values()]),
        causes=tuple(causes),
        unavailable=unavailable,
    )


def _known(rescorer: Rescorer) -> list[Convention]:
    """Return all known conventions, with the smallest relevant grade of the request."""
    return [rescorer.convention(each) for each in KNOWN]


Block = tuple[tuple[str, ...], ...]  # the choices of each switch; all of their combinations are meant


def merged_choices(rows: Sequence[tuple[str, ...]]) -> list[Block]:
    """Return a few blocks of choices that hold exactly these rows. Rows that differ in one column share a block.

    >>> merged_choices([("exp", "docid"), ("exp", "input"), ("linear", "docid")])
    [(('exp', 'linear'), ('docid',)), (('exp',), ('input',))]
    """
    blocks: list[Block] = [tuple((choice,) for choice in row) for row in dict.fromkeys(rows)]
    before = None
    while before != len(blocks):
        before = len(blocks)
        for column in range(len(blocks[0]) if blocks else 0):
            blocks = _merged_in(blocks, column)
    return blocks


def _merged_in(blocks: Sequence[Block], column: int) -> list[Block]:
    """Join blocks that differ in one column only."""
    joined: dict[tuple[Block, Block], list[str]] = {}
    for block in blocks:
        joined.setdefault((block[:column], block[column + 1 :]), []).extend(block[column])
    return [(*left, tuple(choices), *right) for (left, right), choices in joined.items()]


def _plain_but(convention: Convention, causes: Sequence[str]) -> Convention:
    """Return our own convention with the choices of another convention in some switches."""
    return PLAIN.with_(**{each: getattr(convention, each) for cause in causes for each in SWITCHES[cause]})


def _differ(rescorer: Rescorer, name: str, cause: str, other: Convention) -> bool:
    """Return True if a switch of another convention can change a score on these lists."""
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
        return any(
            bool((rescorer.judgments.pool.relevant(rel) == 0).any()) for rel in {each.rel for each in _known(rescorer)}
        )
    return True


def _grid(rescorer: Rescorer, name: str, causes: Sequence[str]) -> dict[Setting, Convention]:
    """Return all combinations of known choices, without repetitions. Our own convention is the first."""
    found = {rescorer.setting(name, PLAIN): PLAIN}
    for cause in causes:
        fields = SWITCHES[cause]
        choices: list[tuple[Any, ...]] = []
        for each in _known(rescorer):
            values = tuple(_choice(each, field) for field in fields)
            if values not in choices:
                choices.append(values)
        for base, values in product([*found.values()], choices):
            turned = base.with_(**dict(zip(fields, values, strict=True)))
            found.setdefault(rescorer.setting(name, turned), turned)
    return found


def _choice(convention: Convention, field: str) -> Any:
    """Return the value of a field. A range of labels is reduced to what becomes of labels that are too low."""
    return LabelRange(convention.labels.lowest) if field == "labels" else getattr(convention, field)


def _ranks(figures: Floats) -> tuple[int, ...]:
    """Return the rank of each system, from 0. Figures that differ only by rounding noise share a rank."""
    rounded = np.round(np.nan_to_num(figures, nan=-np.inf), SAME_FIGURE)
    return tuple(int((rounded > value).sum()) for value in rounded)


def _swapped(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of pairs of systems that two orders put the other way round."""
    x, y = np.array(one), np.array(other)
    return int(np.triu((x[:, None] - x) * (y[:, None] - y) < 0).sum())


def _written(ranks: Sequence[int], systems: Sequence[str]) -> str:
    """Return an order of systems as text, such as `a > b = c`."""
    order = sorted(range(len(ranks)), key=lambda s: ranks[s])
    text = ""
    for place, s in enumerate(order[:MOST_NAMES]):
        text += ("" if not place else " = " if ranks[s] == ranks[order[place - 1]] else " > ") + systems[s]
    return text + (" ..." if len(order) > MOST_NAMES else "")
