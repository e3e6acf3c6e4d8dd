"""Properties of the start of a file, which decide its format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

BOM = b"\xef\xbb\xbf"
DELIMITERS = ("\t", ",", ";", "|")
BLANKS = " "  # stands for any number of blanks
LINES = 50  # that are looked at where the first one does not tell

_FIELD = re.compile(rb"[^ \t\r]+")
_CONTENT = re.compile(rb"^(?!#)[ \t\r]*[^ \t\r\n].*", re.MULTILINE)
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.I | re.A)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.A)
_TREC_NUMBER = {4: 3, 6: 4}  # the field that is a number, by how many there are
_SECOND = (b"0", b"Q0")  # what the second field of TREC's lines mostly is


def first_content(start: bytes) -> bytes:
    """Return the first line that is neither empty nor a comment, or an empty text."""
    found = next(_contents(start), None)
    return found[0] if found else b""


def _contents(start: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the lines that are neither empty nor comments. Megabytes of empty lines at the start are passed over."""
    bare = start.removeprefix(BOM)
    place = bare.rfind(b"\n", 0, blanks_before(bare)) + 1
    return _CONTENT.finditer(bare, place)


def blanks_before(start: bytes) -> int:
    """Return the number of blanks and line ends at the start of a text."""
    return len(start) - len(start.lstrip(b" \t\r\n"))


def first_fields(start: bytes) -> list[bytes]:
    """Return the fields of the first line with content."""
    return fields_of(first_content(start))


def fields_of(line: bytes) -> list[bytes]:
    """Return the fields of a line, separated by spaces and tabs."""
    return _FIELD.findall(line)


def shows_content(start: bytes) -> bool:
    """Return True if bytes hold the first line with content, or the start of JSON or Parquet."""
    bare = start.removeprefix(BOM)
    if bare.startswith(b"PAR1") or bare.lstrip()[:1] in (b"{", b"["):
        return True
    found = next(_contents(bare), None)
    return found is not None and found.end() < len(bare)


def is_number(text: str, delimiter: str | None = None) -> bool:
    """Return True for a cell that is written like a number, finite or not. delimiter: of the table.

    In tables with semicolons, spreadsheets of many countries write a decimal comma.

    >>> is_number("0.75"), is_number("0,75"), is_number("0,75", ";")
    (True, False, True)
    """
    bare = text.strip()
    return _NUMBER.fullmatch(with_point(bare) if delimiter == ";" else bare) is not None


def with_point(cell: str) -> str:
    """Return a number with a decimal comma with a decimal point, and any other cell unchanged.

    >>> with_point("-0,75"), with_point("1,2,3"), with_point("1.234,5")
    ('-0.75', '1,2,3', '1.234,5')
    """
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def has_control(line: bytes) -> bool:
    """Return True if a line holds control characters, which text files do not have."""
    return _CONTROL.search(line) is not None


def cells_of(line: bytes, delimiter: str | None = None) -> tuple[list[str], str]:
    """Return the cells of a line and the delimiter. By default, the delimiter is the one that gives most cells."""
    text = line.decode("utf-8", "backslashreplace").rstrip("\r")
    cut = {each: _cut(text, each) for each in ([delimiter] if delimiter else DELIMITERS)}
    best = max(cut, key=lambda each: len(cut[each]))
    return cut[best], best


def _cut(text: str, delimiter: str) -> list[str]:
    if delimiter == BLANKS:
        return text.split()
    import csv

    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:  # a carriage return within, or a cell that is too long
        return [text]


def is_trec(start: bytes, fields: int) -> bool:
    """Return True for a file that starts like TREC judgments (4 fields) or TREC runs (6 fields).

    A table whose queries are texts may have as many fields by chance, as `red shoes<TAB>d1<TAB>3`.
    """
    return len(first_fields(start)) == fields and headerless(start) is None


def headerless(start: bytes) -> tuple[int, str] | None:
    """Return the number of columns and the delimiter of a table without a header, or None for other files.

    Its rows are query, document and number, or what TREC's lines are with another delimiter.

    >>> headerless(b"1048585\\t7187158\\t1\\n"), headerless(b"red shoes,B01,3\\n"), headerless(b"1 0 d7 1\\n")
    ((3, ' '), (3, ','), None)
    """
    line = first_content(start)
    fields = fields_of(line)
    if has_control(line) or not fields:
        return None
    if len(fields) == 3:
        return (3, BLANKS) if is_number(_text(fields[2])) else _delimited(start, line)
    if len(fields) in _TREC_NUMBER and is_number(_text(fields[_TREC_NUMBER[len(fields)]])):
        return _delimited(start, line) if line.count(b"\t") == 2 else None
    return _delimited(start, line)


def _delimited(start: bytes, line: bytes) -> tuple[int, str] | None:
    cells, delimiter = cells_of(line)
    count = len(cells)
    if count < 3 or not any(is_number(cell, delimiter) for cell in cells[1:]):
        return None
    if delimiter == "\t" and count in _TREC_NUMBER and count == len(fields_of(line)):
        return None  # TREC's, with a word where a number should be: reading it will say so
    lines = [found[0] for found in islice(_contents(start), LINES)]
    whole = lines[:-1] if len(lines) > 1 and not start.endswith(b"\n") else lines
    if delimiter == "\t" and count == 3 and all(len(f := fields_of(each)) > 3 and f[1] in _SECOND for each in whole):
        return None  # TREC's lines, with blanks and tabs
    quoted = any(b'"' in each for each in whole)  # a cell may go on in the next line
    if not quoted and any(len(cells_of(each, delimiter)[0]) != count for each in whole):
        return None
    return count, delimiter


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")
