"""The type of a format: a name, a test for the start of files, and functions for reading."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from calipers.collection.files import Path

Content = TypeVar("Content", covariant=True)


class Reader(Protocol[Content]):
    """Reads a whole file; `max_unpacked` is the most bytes that a packed one may unpack to."""

    def __call__(self, path: Path, *, max_unpacked: int | None = None) -> Content: ...


class Contents(NamedTuple):
    """Systems and notes of a table of runs."""

    systems: tuple[str, ...] = ()  # where it names them
    notes: tuple[str, ...] = ()  # on how it is read

    @classmethod
    def of(cls, rows: Any) -> Contents:
        return cls(rows.systems, rows.notes)


@dataclass(frozen=True)
class Format(Generic[Content]):
    """One way to write judgments, runs or scores into a file.

    `matches` sees the unpacked start of a file. `holds` says what `read` gives: "judgments" and "run" give Columns,
    "labels" gives Labels, "scores" an array, "table" Rows, which may be of judgments or of runs (`values`): `read` then
    takes the `value` to read ("grade", "score") and the `columns` that a user names, `contents` says whose runs there
    are, and `parts` reads a run piece by piece. `columns` is true for the columns of tables that are of this format,
    Parquet files among them. `misfit` says what of a start that does not match is wrong, and how far
    off that is.
    """

    name: str
    holds: str
    line: str  # what a line looks like, for messages
    noun: str  # what messages call such a file
    matches: Callable[[bytes], bool]
    read: Reader[Content]
    misfit: Callable[[bytes], tuple[float, str]] = lambda start: (math.inf, "")
    values: tuple[str, ...] = ("grade", "score")  # that a table may hold
    contents: Callable[..., Contents] | None = None
    parts: Callable[..., Any] | None = None
    columns: Callable[[Collection[str]], bool] = lambda names: False
