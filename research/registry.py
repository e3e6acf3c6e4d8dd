"""The list of printed tables that can be reproduced. Each module of `_MODULES` adds its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from calipers import CalipersError, Table
from calipers.support.plurals import counted
from research.printed_figures import VERDICTS, Figure
from research.readings import Axes, GridSearch, Reading, readings_of, search

Check = Callable[..., Sequence[Figure]]  # of a folder, and where groups are drawn of their number and of a cache
CheckReading = Callable[..., Sequence[Figure]]  # of a folder and a reading, and of options that have defaults

# The modules that add to the list.
_MODULES = (
    "karmaker2022.tables",
    "moffat2013.tables",
    "busafekete2012.tables",
    "feng2023.tables",
    "golbus2013.tables",
)
# The numbers that papers had before they had names.
ALIASES = {
    "000": "karmaker2022",
    "001": "moffat2013",
    "002": "busafekete2012",
    "003": "feng2023",
    "004": "golbus2013",
}


@dataclass(frozen=True)
class Reproduction:
    """A printed table, and how its figures are computed."""

    id: str  # paper/table
    title: str
    check: Check
    data: str = ""  # that some of its figures need, in short
    layout: str = ""  # what a folder with it must hold
    axes: Axes = field(default_factory=dict)  # what the paper leaves open
    under: CheckReading | None = None  # the same under any reading
    groups: int = 0  # that are drawn at random, if any: the more, the narrower the intervals
    reading: str = ""  # how the reading was found that the figures are computed under

    def grid(
        self,
        folder: str | Path | None = None,
        cache: str | Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> GridSearch:
        """The figures under every reading of what the paper leaves open."""
        if self.under is None:
            raise CalipersError(
                f"{self.id} leaves nothing open: there is no grid of readings; --list shows what has one"
            )
        return search(self.id, self.axes, self.under, _folder(folder), cache, progress)

    def table(
        self, folder: str | Path | None = None, groups: int | None = None, cache: str | Path | None = None
    ) -> Table:
        """Return one row per printed figure: table, cell, printed, computed, verdict, reason, reading.

        reading says how the reading of open choices was found, where a figure was computed under one.
        groups: how many are drawn, for a table that draws some. cache: a folder for those that are done.
        """
        drawing = {"groups": groups or self.groups, "cache": cache} if self.groups else {}
        found = self.check(_folder(folder), **drawing)
        rows = tuple(
            (self.id, f.cell, f.printed, f.computed, f.verdict, f.reason, "" if f.computed is None else self.reading)
            for f in found
        )
        counts = {verdict: sum(f.verdict == verdict for f in found) for verdict in VERDICTS}
        columns = ("table", "cell", "printed", "computed", "verdict", "reason", "reading")
        return Table(columns, rows, {"verdicts": counts, "data": self.data, "layout": self.layout})


_FOUND: dict[str, Reproduction] = {}


def reproduction(id: str, title: str, data: str = "", layout: str = "", *, groups: int = 0) -> Callable[[Check], Check]:
    """Add a table to the list. groups: that it draws unless told otherwise; it is then told, and given a cache."""

    def add(check: Check) -> Check:
        _FOUND[id] = Reproduction(id, title, check, data, layout, groups=groups)
        return check

    return add


def reproduction_of_readings(
    id: str,
    title: str,
    data: str = "",
    layout: str = "",
    *,
    axes: Axes,
    best: Reading,
    stated: Reading | None = None,
    thorough: Mapping[str, Any] | None = None,
    groups: int = 0,
    searched: bool = True,
) -> Callable[[CheckReading], CheckReading]:
    """Add a table whose paper leaves something open; `best` is the reading that a search found to give most figures.

    stated: what the text says of some of the choices; where `best` is something else, the output says so.
    thorough: options of the function that hold for the best reading and would take too long for each of a search.
    searched: the reading was found by a search; otherwise it is that of the text.
    groups: as for `reproduction`; in a search the function draws as many as its own default says.
    """
    assert set(best) == set(axes), id
    assert all(best[name] in axes[name] for name in axes), id
    assert all(value in axes[name] for name, value in (stated or {}).items()), id
    departures = [f"{name} {best[name]}" for name, value in (stated or {}).items() if best[name] != value]
    reading = f"best of {counted(len(readings_of(axes)), 'reading')}"
    reading += f"; departs from the text: {', '.join(departures)}" if departures else ""

    def add(under: CheckReading) -> CheckReading:
        _FOUND[id] = Reproduction(
            id,
            title,
            lambda folder, **drawing: under(folder, best, **(thorough or {}), **drawing),
            data,
            layout,
            axes,
            under,
            groups,
            reading if searched else "",
        )
        return under

    return add


def reproductions(*patterns: str) -> list[Reproduction]:
    """All that can be reproduced, or what is named: karmaker2022/table-9, karmaker2022, or "karmaker2022/*".

    What is asked for by a number of ALIASES (000/table-9) keeps it as its id, so that scripts find what they asked for.
    """
    for module in _MODULES:
        import_module(f"research.{module}")
    every = sorted(_FOUND.values(), key=lambda each: _order(each.id))
    if not patterns:
        return every
    found: dict[str, Reproduction] = {}
    for pattern in patterns:
        asked, slash, table = pattern.partition("/")
        paper = ALIASES.get(asked, asked)
        name = paper + slash + table
        matching = [each for each in every if fnmatch(each.id, name) or each.id.split("/")[0] == name]
        if not matching:
            raise CalipersError(f"nothing to reproduce is called '{pattern}'; --list shows what is")
        for each in matching:
            shown = replace(each, id=asked + each.id.removeprefix(paper)) if asked in ALIASES else each
            found.setdefault(each.id, shown)
    return list(found.values())


def listing() -> Table:
    """What can be reproduced: table, title, data, and how many readings its paper leaves open."""
    rows = tuple((each.id, each.title, each.data, len(readings_of(each.axes))) for each in reproductions())
    return Table(("table", "title", "data", "readings"), rows)


@cache
def printed(paper: str) -> dict[str, Any]:
    """The figures of a paper, as they are printed."""
    text = files("research").joinpath("printed", f"{paper}.json").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables


def _folder(folder: str | Path | None) -> Path | None:
    if folder is None:
        return None
    path = Path(folder)
    if not path.is_dir():
        raise CalipersError("no such directory", file=str(folder))
    return path


def _order(id: str) -> tuple[str, list[float], str]:
    """By paper, then by the numbers of the table."""
    paper, _, rest = id.partition("/")
    return paper, list(_numbers(rest)), rest


def _numbers(text: str) -> Iterator[float]:
    name = text.removeprefix("table-")
    if name == text:
        yield float("inf")
        return
    for part in name.split("."):
        yield float(part)
