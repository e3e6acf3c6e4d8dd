"""A history of runs: one JSON line per run with its means and intervals, in a file that grows.

The range of a measure is the confidence interval of the first run with the same name and the same judgments. A later
run left its range if its mean is outside this interval. Other judgments start a new range.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import IO, Any

from calipers.checks import check_type
from calipers.collection.judgments import digest_text
from calipers.errors import CalipersError
from calipers.plurals import counted
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores
from calipers.results.tables import Table, as_number
from calipers.stats.bounded_intervals import mean_intervals

LEVEL = 0.95  # of the intervals that are written
COLUMNS = ("time", "name", "measure", "mean", "low", "high", "range", "queries", "judgments")
PARTS = ("trend", "outside")
FIRST, WITHIN, BELOW, ABOVE, UNKNOWN = "first", "within", "below", "above", "unknown"


@dataclass(frozen=True)
class HistoryEntry:
    """One run on one day: its means and their intervals."""

    time: str  # ISO 8601
    name: str
    judgments: str | None  # digest
    queries: int
    level: float
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]  # NaN if there is no interval
    verdict: str | None = None  # of a check


@dataclass(frozen=True)
class HistoryPoint:
    """The mean of one run under one measure, and its place in the range of this measure."""

    entry: HistoryEntry
    measure: str
    mean: float
    low: float
    high: float
    range: str  # first, within, below, above, or unknown if the range has no interval


@dataclass(frozen=True, eq=False, repr=False)
class History(Result):
    """Means of runs over time, oldest first."""

    entries: tuple[HistoryEntry, ...]

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """All measures, in the order in which they first appear."""
        return tuple(dict.fromkeys(name for each in self.entries for name in each.means))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names of runs, in the order in which they first appear."""
        return tuple(dict.fromkeys(each.name for each in self.entries))

    @cached_property
    def points(self) -> tuple[HistoryPoint, ...]:
        """One point per run and measure."""
        ranges: dict[tuple[str, str], tuple[str | None, float, float]] = {}
        found = []
        for entry in self.entries:
            for measure, mean in entry.means.items():
                low, high = entry.intervals.get(measure, (math.nan, math.nan))
                key = (entry.name, measure)
                judgments, start, end = ranges.get(key, (None, math.nan, math.nan))
                if key not in ranges or judgments != entry.judgments:
                    ranges[key] = (entry.judgments, low, high)
                    place = FIRST
                elif math.isnan(mean) or math.isnan(start):
                    place = UNKNOWN
                else:
                    place = BELOW if mean < start else ABOVE if mean > end else WITHIN
                found.append(HistoryPoint(entry, measure, mean, low, high, place))
        return tuple(found)

    @property
    def outside(self) -> tuple[HistoryPoint, ...]:
        """The points that left their range."""
        return tuple(each for each in self.points if each.range in (BELOW, ABOVE))

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each name whose judgments changed."""
        found = []
        for name in self.names:
            known = dict.fromkeys(each.judgments for each in self.entries if each.name == name)
            if len(known) > 1:
                found.append(f"{name}: {counted(len(known), 'set')} of judgments; each starts a new range")
        return tuple(found)

    @property
    def title(self) -> str:
        """The number of runs, and when they were evaluated."""
        first, last = self.entries[0].time, self.entries[-1].time
        return f"{counted(len(self.entries), 'run')} from {first} to {last}"

    @property
    def summary(self) -> str:
        """The runs that left their range, the latest first."""
        if not self.outside:
            return "No run left its range."
        last = self.outside[-1]
        runs = len({id(each.entry) for each in self.outside})
        return (
            f"{counted(runs, 'run')} of {len(self.entries):,} left the range. The latest is {last.entry.name} at "
            f"{last.entry.time}: {last.measure} {last.mean:.4f} is {last.range} the range."
        )

    def tables(self) -> Tables:
        """Return all points, and those that left their range."""
        return Tables({"trend": lambda: _table(self.points), "outside": lambda: _table(self.outside)})

    def of_names(self, names: tuple[str, ...]) -> History:
        """Return the history of some names only."""
        kept = tuple(each for each in self.entries if each.name in names)
        if not kept:
            raise CalipersError(f"no run has the name '{names[0]}'; there are {', '.join(self.names)}")
        return History(kept)

    def plot(self, measure: str | None = None) -> Any:
        """Return a chart of the means over time. See `calipers.plot.trend`."""
        from calipers.plot.changes import trend

        return trend(self, measure)


def _table(points: tuple[HistoryPoint, ...]) -> Table:
    rows = [
        (
            each.entry.time, each.entry.name, each.measure, each.mean, each.low, each.high, each.range,
            each.entry.queries, each.entry.judgments,
        )
        for each in points
    ]  # fmt: skip
    return Table(COLUMNS, tuple(rows))


def append_history(
    path: str | os.PathLike[str], scores: Scores, *, time: datetime | None = None, verdict: str | None = None
) -> None:
    """Append one line per system to a history: time, name, digest of the judgments, means and intervals.

    All lines are written at once. If that fails, the file stays as it was. time: now, if it is not given.

    >>> import calipers as cal, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "history.jsonl")
    >>> append_history(path, cal.as_scores([[0.2, 0.4, 0.6]], ["bm25"], measure="AP"))
    >>> read_history(path).entries[0].means
    {'AP': 0.4}
    """
    when = (time or datetime.now(UTC)).isoformat(timespec="seconds")
    check_type("scores", scores, Scores, "Scores, as `evaluate` returns them")
    mean, (low, high) = scores.mean(), mean_intervals(scores, level=LEVEL)
    about = {
        "judgments": digest_text(scores.metadata.get("judgments")),
        "queries": len(scores.queries),
        "level": LEVEL,
        **({"like": scores.metadata["like"]} if scores.metadata.get("like") else {}),
        **({"verdict": verdict} if verdict is not None else {}),
    }
    lines = []
    for system in scores.systems:
        means = {name: _number(mean[system, name]) for name in scores.measures}
        ends = {name: [_number(low[system, name]), _number(high[system, name])] for name in scores.measures}
        lines.append({"time": when, "name": system, **about, "means": means, "intervals": ends})
    _append(os.fspath(path), "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _number(cell: Any) -> float | None:
    """Return a number for JSON, which has no NaN."""
    value = as_number(cell)
    return value if math.isfinite(value) else None


def _append(path: str, text: str) -> None:
    """Append text completely or not at all. Jobs that run at the same time do not mix their lines."""
    content = text.encode("utf-8", "surrogateescape")
    try:
        with open(path, "ab+", buffering=0) as file:
            _lock(file)
            size = file.seek(0, os.SEEK_END)
            if size and file.seek(size - 1) >= 0 and file.read(1) != b"\n":
                raise CalipersError("the last line does not end: it was not written completely. Remove it", file=path)
            if file.write(content) != len(content):
                file.truncate(size)
                raise CalipersError("cannot be written completely: is the disk full?", file=path)
    except OSError as error:
        raise CalipersError(f"cannot write here: {error.strerror}", file=path) from None


def _lock(file: IO[bytes]) -> None:
    """Wait until no other job writes the file. The lock ends when the file is closed. Windows has no such lock."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def read_history(path: str | os.PathLike[str]) -> History:
    """Read a history that `calipers evaluate --history` or `append_history` wrote.

    >>> import calipers as cal, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "history.jsonl")
    >>> append_history(path, cal.as_scores([[0.3, 0.4, 0.5]], ["bm25"], measure="AP"), time=datetime(2026, 5, 1))
    >>> append_history(path, cal.as_scores([[0.0, 0.1, 0.2]], ["bm25"], measure="AP"), time=datetime(2026, 5, 2))
    >>> print(read_history(path).summary)
    1 run of 2 left the range. The latest is bm25 at 2026-05-02T00:00:00: AP 0.1000 is below the range.
    """
    file = os.fspath(path)
    entries = []
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    entries.append(_entry(line, file, number))
    except OSError as error:
        raise CalipersError(f"cannot be read: {error.strerror}", file=file) from None
    if not entries:
        raise CalipersError("holds no runs", file=file)
    entries.sort(key=lambda each: _moment(each.time))
    return History(tuple(entries))


def _entry(line: str, file: str, number: int) -> HistoryEntry:
    """Return the run of a line. Raise an error that names the line if it is damaged."""
    try:
        found = json.loads(line)
        if not isinstance(found, dict):
            raise ValueError("expected an object")
        _moment(found["time"])
        judgments, verdict = found.get("judgments"), found.get("verdict")
        return HistoryEntry(
            time=found["time"],
            name=_text(found["name"]),
            judgments=None if judgments is None else _text(judgments),
            queries=int(found["queries"]),
            level=float(found.get("level", LEVEL)),
            means={str(name): _mean(value) for name, value in found["means"].items()},
            intervals={str(name): (_mean(low), _mean(high)) for name, (low, high) in found["intervals"].items()},
            verdict=None if verdict is None else _text(verdict),
        )
    except KeyError as error:
        raise CalipersError(f"this is not a line of a history: it has no {error}", file=file, line=number) from None
    except (AttributeError, TypeError, ValueError) as error:
        raise CalipersError(f"this is not a line of a history: {error}", file=file, line=number) from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, not {value!r}")
    return value


def _mean(value: Any) -> float:
    return math.nan if value is None else float(value)


def _moment(text: str) -> datetime:
    """Return a time with a time zone; times without one are UTC."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
