"""CSV and TSV with a header that names the columns. Ids stay the text that they are: 007 is not 7."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from calipers.collection.cells import TextCells
from calipers.collection.column_names import columns_of, number_role, rank_beside_score
from calipers.collection.doubtful_numbers import OPPOSITE, are_opposite, thousands
from calipers.collection.files import Path, shown_name, start_of, text_lines
from calipers.collection.first_line import cells_of, first_content, has_control, is_number
from calipers.collection.formats.format import Contents, Format
from calipers.collection.table_rows import AT_ONCE, FIRST, Parts, Rows, joined_rows, rank_notes, rows_of
from calipers.errors import CalipersError

LONGEST_CELL = 2**31 - 1  # characters: a text may be long


def read_csv(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """Return all rows, with `value` ("score" or "grade") as the number."""
    return TextTable.with_header(path, value, columns, max_unpacked).rows()


def contents_of_csv(
    path: Path, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Contents:
    """Return the systems that a file of runs names, and notes on how it is read."""
    table = TextTable.with_header(path, "score", columns, max_unpacked)
    return Contents(table.systems(), rank_notes(table.names, table.file))


def parts_of_csv(
    path: Path, _: int, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Parts:
    """Return one part that reads a run piece by piece: Python reads text in one thread."""
    return [TextTable.with_header(path, "score", columns, max_unpacked).pieces]


@dataclass(frozen=True)
class Header:
    """Names of the columns of a text table, its delimiter, and the number of lines before its rows."""

    columns: Sequence[str]
    delimiter: str
    line: int

    @classmethod
    def of(cls, path: Path, max_unpacked: int | None) -> Header:
        """Read the header of a file."""
        start = start_of(path, max_unpacked=max_unpacked)
        line = first_content(start)
        columns, delimiter = cells_of(line)
        return cls(columns, delimiter, start[: start.index(line)].count(b"\n") + 1)


@dataclass(frozen=True)
class TextTable:
    """A table of cells between delimiters, whose columns are known. It is read some rows at a time."""

    path: Path
    header: Header
    names: Mapping[str, str]  # of the column for each role
    value: str
    max_unpacked: int | None
    given: Mapping[str, str] | None  # columns that the user named

    @classmethod
    def with_header(
        cls, path: Path, value: str, columns: Mapping[str, str] | None, max_unpacked: int | None
    ) -> TextTable:
        """Open a file that starts with a header."""
        header = Header.of(path, max_unpacked)
        names = columns_of(header.columns, value, columns, file=shown_name(path))
        return cls(path, header, names, value, max_unpacked, columns)

    @classmethod
    def of_columns(cls, path: Path, max_unpacked: int | None) -> TextTable:
        """Open a file that starts with a header, and leave open which column has which role."""
        return cls(path, Header.of(path, max_unpacked), {}, "score", max_unpacked, None)

    @property
    def file(self) -> str:
        return shown_name(self.path)

    def dictionaries(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield the line and the cells, {column: cell}, of each row that is not blank."""
        columns = [column.strip() for column in self.header.columns]
        for place, column in enumerate(columns):
            if column in columns[:place]:
                raise CalipersError(f"two columns are called '{column}'", file=self.file, line=self.header.line)
        for line, rows in self._cells(at_once=1):
            if any(map(str.strip, rows[0])):
                yield line, dict(zip(columns, rows[0], strict=True))

    def rows(self) -> Rows:
        """Return all rows."""
        pieces = [*self.pieces()]
        if not pieces:
            raise CalipersError("there are no rows", file=self.file)
        return joined_rows(pieces)

    def systems(self) -> tuple[str, ...]:
        """Return the systems that rows name, if there is a column for them."""
        if "system" not in self.names:
            return ()
        column = self.header.columns.index(self.names["system"])
        return tuple({row[column]: None for _, rows in self._cells() for row in rows if row[column]})

    def pieces(self) -> Iterator[Rows]:
        """Yield the rows, some at a time."""
        before = 0
        for _, rows in self._cells():
            columns = {
                role: TextCells(
                    [row[place] for row in rows],
                    partial(self._error, name, before),
                    decimal_comma=self.header.delimiter == ";",
                )
                for role, name in self.names.items()
                for place in (self.header.columns.index(name),)
            }
            made = rows_of(columns, self.names, self.value, self.file, self.given)
            yield replace(made, doubts=(*self._doubts(rows, made),))
            before += len(rows)

    def _doubts(self, cells: Sequence[Sequence[str]], rows: Rows) -> Iterator[str]:
        """Yield sentences on numbers that may be something else."""
        column = self.header.columns.index
        if self.header.delimiter == ";":
            number = column(self.names[number_role(self.names, self.value)])
            if text := thousands([row[number] for row in cells]):
                yield text
        rank = rank_beside_score(self.header.columns, self.names) if self.value == "score" else None
        if rank is not None:
            place, first = column(rank), cells[:FIRST]
            if all(is_number(row[place]) for row in first):
                ranks = np.array([float(row[place]) for row in first])
                if are_opposite(rows.query[:FIRST], ranks, rows.value[:FIRST]):
                    yield OPPOSITE

    def _error(self, column: str, before: int, message: str, row: int) -> CalipersError:
        return CalipersError(f"column '{column}', row {before + row + 1}: {message}", file=self.file)

    def _cells(self, at_once: int = AT_ONCE) -> Iterator[tuple[int, list[list[str]]]]:
        """Yield the last line and the cells of some rows at a time; all rows have as many cells as the header."""
        lines = islice(text_lines(self.path, max_unpacked=self.max_unpacked), self.header.line, None)
        reader = csv.reader(lines, delimiter=self.header.delimiter, strict=True)
        width, before = len(self.header.columns), 0
        filled = filter(None, reader)
        while True:
            before_limit = csv.field_size_limit(LONGEST_CELL)
            try:
                rows = [*islice(filled, at_once)]
            except csv.Error as error:
                line = self.header.line + reader.line_num
                raise CalipersError(f"not well-formed: {error}", file=self.file, line=line) from None
            finally:
                csv.field_size_limit(before_limit)
            if not rows:
                return
            if {*map(len, rows)} != {width}:
                row = next(row for row, cells in enumerate(rows) if len(cells) != width)
                raise CalipersError(
                    f"row {before + row + 1}: expected {width} cells, as in the first line, found {len(rows[row])}",
                    file=self.file,
                )
            yield self.header.line + reader.line_num, rows
            before += len(rows)


def _is_csv(start: bytes) -> bool:
    """Return True for a header: cells between delimiters, none of them a number.

    A line of TREC or LETOR always holds a number.
    """
    return _misfit(start)[0] == 0


def _misfit(start: bytes) -> tuple[float, str]:
    line = first_content(start)
    cells, delimiter = cells_of(line)
    fields = line.decode("utf-8", "surrogateescape").split()
    if has_control(line):
        return math.inf, "it is no text"
    if len(cells) < 2:
        return 4, "no tab, comma, semicolon or | in it"
    numbers = [cell for cell in (*cells, *fields) if is_number(cell, delimiter)]
    return (2, f"'{_short(numbers[0])}' is no name of a column") if numbers else (0, "")


def _short(text: str) -> str:
    text = text.strip().partition("\n")[0]
    return text if len(text) <= 120 else f"{text[:120]}..."


CSV = Format(
    name="csv",
    holds="table",
    line="a header with columns for query, document, and score or grade",
    noun="a CSV file",
    matches=_is_csv,
    misfit=_misfit,
    read=read_csv,
    contents=contents_of_csv,
    parts=parts_of_csv,
)
