"""Rows of any table as {column: cell}, for texts, verdicts and samples, whose cells are more than ids and numbers.

A file may be CSV, TSV, JSON, JSON lines or Parquet: its content decides.
"""

from __future__ import annotations

import ast
import io
import json
import math
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from calipers.collection.files import Path, shown_name, start_of
from calipers.collection.first_line import BOM
from calipers.collection.formats.csv import TextTable
from calipers.collection.formats.parquet import MAGIC, dictionaries_of_parquet
from calipers.collection.json_values import collect, first_object, shown
from calipers.errors import CalipersError


class NamedRow(NamedTuple):
    """One row of a table, as {column: cell}. Missing values are None, and arrays are lists."""

    cells: dict[str, Any]
    number: int  # from 1
    file: str | None = None
    line: int | None = None  # of the file
    of_table: bool = True  # a cell may hold a list as text; objects of JSON hold lists

    def error(self, message: str) -> CalipersError:
        """Return an error about the row."""
        if self.line is None:
            return CalipersError(f"row {self.number}: {message}", file=self.file)
        return CalipersError(message, file=self.file, line=self.line)


def rows_of_file(path: Path, *, max_unpacked: int | None = None) -> Iterator[NamedRow]:
    """Yield the rows of a file.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = file.write_text("id,scores\\nq1,[0.5]\\n")
    >>> [(row.line, row.cells) for row in rows_of_file(file)]
    [(2, {'id': 'q1', 'scores': '[0.5]'})]
    """
    name, kind = shown_name(path), _kind(path, max_unpacked)
    if kind == "parquet":
        yield from rows_of_mappings(dictionaries_of_parquet(path, max_unpacked=max_unpacked), name)
    elif kind == "csv":
        table = TextTable.of_columns(path, max_unpacked)
        for number, (last_line, cells) in enumerate(table.dictionaries(), 1):
            yield NamedRow(cells, number, name, last_line)
    else:
        found = collect(path, _Objects, max_unpacked=max_unpacked)
        for number, (line, cells) in enumerate(found.objects, 1):
            row = NamedRow(plain(cells), number, name, line, of_table=False)
            if not isinstance(cells, dict):
                raise row.error(f"expected an object, found {shown(cells)}")
            yield row


def first_row(path: Path) -> dict[str, Any] | None:
    """Return the first row of a file, or None for a file without rows. Reads no more than the start of text files."""
    if _kind(path, None) == "json":
        return first_object(path)
    found = next(rows_of_file(path), None)
    return None if found is None else found.cells


def rows_of_mappings(
    mappings: Iterable[Mapping[str, Any]], file: str | None = None, of_table: bool = True
) -> Iterator[NamedRow]:
    """Yield the rows of dictionaries in memory."""
    for number, cells in enumerate(mappings, 1):
        if not isinstance(cells, Mapping):
            raise CalipersError(f"row {number} is a {type(cells).__name__}: expected a dict", file=file)
        yield NamedRow(plain(cells), number, file, of_table=of_table)


def plain(value: Any) -> Any:
    """Return a cell as plain Python: arrays as lists, and NaN and other missing values as None.

    >>> plain({"scores": (0.5, float("nan"))})
    {'scores': [0.5, None]}
    """
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    missing = isinstance(value, float) and math.isnan(value)
    return None if missing or type(value).__name__ in ("NAType", "NaTType") else value  # of pandas


def value_in_text(cell: Any) -> Any:
    """Return the list or object that a cell holds as text, as JSON or as Python writes it; else the cell itself.

    >>> value_in_text('["a"]'), value_in_text("['a', None]"), value_in_text("['a' 'b']"), value_in_text(" ")
    (['a'], ['a', None], "['a' 'b']", None)
    """
    if not isinstance(cell, str):
        return cell
    if not cell.strip():
        return None
    try:
        return plain(json.loads(cell))
    except (ValueError, RecursionError):
        pass
    try:
        tokens = [token.type for token in tokenize.generate_tokens(io.StringIO(cell).readline)]
        tokens = [token for token in tokens if token != tokenize.NL]
        if (tokenize.STRING, tokenize.STRING) in pairwise(tokens):
            return cell  # an array of NumPy, ['a' 'b'], in which Python would join the two texts
        return plain(ast.literal_eval(cell))
    except (ValueError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError):
        return cell


def _kind(path: Path, max_unpacked: int | None) -> str:
    start = start_of(path, max_unpacked=max_unpacked).removeprefix(BOM)
    if start.startswith(MAGIC):
        return "parquet"
    return "json" if start.lstrip()[:1] in (b"{", b"[") else "csv"


class _Objects:
    """Objects of a JSON file, with their lines or places."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.listed = False
        self.objects: list[tuple[int | None, Any]] = []

    def add(self, item: Any, number: int | None) -> None:
        self.objects.append((None if self.listed else number, item))
