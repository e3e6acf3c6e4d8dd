"""CSV and TSV with a header that names the columns. Ids stay the text that they are: 007 is not 7."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.collection.arrow import arrow, coded, rank_notes, rows_of
from calipers.collection.column_names import columns_of, number_role
from calipers.collection.files import Path, plain_file, shown_name, start_of
from calipers.collection.first_line import cells_of, first_content, has_control, is_number
from calipers.collection.formats.format import Contents, Format
from calipers.collection.table_rows import Rows
from calipers.errors import CalipersError
from calipers.extras import load


def read_csv(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """All rows, with `value` ("score" or "grade") as the number. Rows of judgments without a grade are left out."""
    header = Header.of(path, max_unpacked)
    names = columns_of(header.columns, value, columns, file=shown_name(path))
    return rows_under(path, header, names, value, max_unpacked)


def rows_under(path: Path, header: Header, names: Mapping[str, str], value: str, max_unpacked: int | None) -> Rows:
    """The rows under a header, where it is known which of its columns is what."""
    number = names[number_role(names, value)]
    pa = arrow()
    few, text = pa.dictionary(pa.int32(), pa.binary()), pa.large_binary()
    types = {name: text if role == "document" else few for role, name in names.items()} | {number: pa.float64()}
    table = _table(path, header, types, number, max_unpacked)
    empty = table.column(number).null_count if value == "grade" else 0
    filled = table.column(number).is_valid() if 0 < empty < len(table) else None
    if filled is not None:
        table = table.filter(filled)
    rows = rows_of({role: table.column(name) for role, name in names.items()}, names, value, shown_name(path))
    if filled is None:
        return rows
    note = f"{shown_name(path)}: {empty} row{'s' * (empty > 1)} without a grade in '{number}'; left out"
    return replace(rows, number=np.flatnonzero(np.asarray(filled)) + 1, notes=(note,))


def contents_of_csv(
    path: Path, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Contents:
    """The systems that a file of runs names, if it does."""
    header = Header.of(path, max_unpacked)
    names = columns_of(header.columns, "score", columns, file=shown_name(path))
    return Contents(systems_under(path, header, names, max_unpacked), rank_notes(names, shown_name(path)))


def systems_under(path: Path, header: Header, names: Mapping[str, str], max_unpacked: int | None) -> tuple[str, ...]:
    if "system" not in names:
        return ()
    pa = arrow()
    column = _table(path, header, {names["system"]: pa.dictionary(pa.int32(), pa.binary())}, None, max_unpacked)[0]
    if column.null_count:  # reading the file will say where
        return ()
    return tuple(coded(column, names["system"], shown_name(path))[0].texts())


def _table(path: Path, header: Header, types: dict[str, Any], number: str | None, max_unpacked: int | None) -> Any:
    pa = arrow()
    try:
        return _read(path, header, types, max_unpacked)
    except (pa.ArrowException, OSError) as error:
        reason = str(error)
    # One thread knows in which row it is.
    try:
        texts = types if number is None else types | {number: pa.string()}
        table = _read(path, header, texts, max_unpacked, threads=False)
    except (pa.ArrowException, OSError) as error:
        raise CalipersError(f"not well-formed: {_short(str(error))}", file=shown_name(path)) from None
    if number is not None:
        for row, text in enumerate(table.column(number).to_pylist()):
            if text is not None and not is_number(text.strip().lstrip("+")):
                raise CalipersError(
                    f"column '{number}', row {row + 1}: '{_short(text)}' is not a number", file=shown_name(path)
                )
    raise CalipersError(f"cannot be read: {_short(reason)}", file=shown_name(path))


def _read(path: Path, header: Header, types: dict[str, Any], max_unpacked: int | None, threads: bool = True) -> Any:
    pc = load("pyarrow.csv", extra="frames", what="CSV files")
    return pc.read_csv(
        plain_file(path, max_unpacked=max_unpacked),
        read_options=pc.ReadOptions(skip_rows=header.line, column_names=header.distinct, use_threads=threads),
        parse_options=pc.ParseOptions(delimiter=header.delimiter, newlines_in_values=True),
        convert_options=pc.ConvertOptions(
            include_columns=[*types],
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


@dataclass(frozen=True)
class Header:
    """The names of columns, what is between cells, and how many lines come before the rows."""

    columns: Sequence[str]
    delimiter: str
    line: int

    @classmethod
    def of(cls, path: Path, max_unpacked: int | None) -> Header:
        start = start_of(path, max_unpacked=max_unpacked)
        line = first_content(start)
        columns, delimiter = cells_of(line)
        return cls(columns, delimiter, start[: start.index(line)].count(b"\n") + 1)

    @property
    def distinct(self) -> list[str]:
        """Names that tell columns apart; only one that is there twice, and is not asked for, gets another."""
        times = Counter(self.columns)
        return [name if times[name] == 1 else f"{name}#{i}" for i, name in enumerate(self.columns)]


def _is_csv(start: bytes) -> bool:
    """A header: cells between delimiters, none of them a number. A line of TREC or LETOR always holds one."""
    return _misfit(start)[0] == 0


def _misfit(start: bytes) -> tuple[float, str]:
    line = first_content(start)
    cells, _ = cells_of(line)
    fields = line.decode("utf-8", "surrogateescape").split()
    if has_control(line):
        return math.inf, "it is no text"
    if len(cells) < 2:
        return 4, "no tab, comma, semicolon or | in it"
    numbers = [cell for cell in (*cells, *fields) if is_number(cell)]
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
)
