"""CSV and TSV with a header that names the columns. Ids stay the text that they are: 007 is not 7."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.collection.arrow import arrow, coded, rows_of
from calipers.collection.column_names import columns_of
from calipers.collection.files import Path, plain_file, shown_name, start_of
from calipers.collection.first_line import first_content
from calipers.collection.formats.format import Format
from calipers.collection.table_rows import Rows
from calipers.errors import CalipersError
from calipers.extras import load

DELIMITERS = ("\t", ",", ";", "|")
_NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def read_csv(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """All rows, with `value` ("score" or "grade") as the number."""
    header = _Header.of(path, max_unpacked)
    names = columns_of(header.columns, value, columns, file=shown_name(path))
    pa = arrow()
    few, text = pa.dictionary(pa.int32(), pa.binary()), pa.large_binary()
    types = {name: text if role == "document" else few for role, name in names.items()} | {names[value]: pa.float64()}
    table = _table(path, header, types, names[value], max_unpacked)
    return rows_of({role: table.column(name) for role, name in names.items()}, names, value, shown_name(path))


def systems_of_csv(
    path: Path, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> tuple[str, ...]:
    """The systems that a file of runs names, if it does."""
    header = _Header.of(path, max_unpacked)
    names = columns_of(header.columns, "score", columns, file=shown_name(path))
    if "system" not in names:
        return ()
    pa = arrow()
    column = _table(path, header, {names["system"]: pa.dictionary(pa.int32(), pa.binary())}, None, max_unpacked)[0]
    if column.null_count:  # reading the file will say where
        return ()
    return tuple(coded(column, names["system"], shown_name(path))[0].texts())


def _table(path: Path, header: _Header, types: dict[str, Any], number: str | None, max_unpacked: int | None) -> Any:
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
            if text is not None and not _NUMBER.fullmatch(text.strip().lstrip("+")):
                raise CalipersError(
                    f"column '{number}', row {row + 1}: '{_short(text)}' is not a number", file=shown_name(path)
                )
    raise CalipersError(f"cannot be read: {_short(reason)}", file=shown_name(path))


def _read(path: Path, header: _Header, types: dict[str, Any], max_unpacked: int | None, threads: bool = True) -> Any:
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
class _Header:
    columns: Sequence[str]
    delimiter: str
    line: int  # its number, from 1

    @classmethod
    def of(cls, path: Path, max_unpacked: int | None) -> _Header:
        start = start_of(path, max_unpacked=max_unpacked)
        line = first_content(start)
        columns, delimiter = _split(line)
        return cls(columns, delimiter, start[: start.index(line)].count(b"\n") + 1)

    @property
    def distinct(self) -> list[str]:
        """Names that tell columns apart; only one that is there twice, and is not asked for, gets another."""
        times = Counter(self.columns)
        return [name if times[name] == 1 else f"{name}#{i}" for i, name in enumerate(self.columns)]


def _split(line: bytes) -> tuple[list[str], str]:
    """The cells of the header: by the delimiter that makes most of them."""
    text = line.decode("utf-8", "backslashreplace").rstrip("\r")
    cut = {delimiter: _cells(text, delimiter) for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=lambda delimiter: len(cut[delimiter]))
    return cut[best], best


def _cells(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:  # a carriage return within, or a cell that is too long
        return [text]


def _is_csv(start: bytes) -> bool:
    """A header: cells between delimiters, none of them a number. A line of TREC or LETOR always holds one."""
    line = first_content(start)
    if _CONTROL.search(line):
        return False
    cells, _ = _split(line)
    fields = line.decode("utf-8", "surrogateescape").split()
    return len(cells) > 1 and not any(_NUMBER.fullmatch(cell.strip()) for cell in (*cells, *fields))


def _short(text: str) -> str:
    text = text.strip().partition("\n")[0]
    return text if len(text) <= 120 else f"{text[:120]}..."


CSV = Format(
    name="csv",
    holds="table",
    line="a header with columns for query, document, and score or grade",
    noun="a CSV file",
    matches=_is_csv,
    read=read_csv,
    systems=systems_of_csv,
)
