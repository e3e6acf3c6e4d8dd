"""The values of a JSON file: one, a list of them, or one on each line.

A long value is taken apart while it is read: its objects come and go, and only what is collector of them stays.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Protocol, TypeVar

from calipers.collection.files import Path, shown_name, start_of, whole
from calipers.errors import CalipersError

_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[\{\]])')
_NESTED = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*+"\s*:\s*\{', re.DOTALL)

# A packed file may unpack to this much, and this many times its size more, unless the caller says otherwise: what is
# read from a byte of JSON may take some forty bytes of memory.
ROOM = 1 << 26
RATIO = 20


class Collector(Protocol):
    """A collector of JSON values."""

    @property
    def file(self) -> str: ...

    listed: bool  # the values are those of one list, not lines

    def add(self, item: Any, number: int | None) -> None:
        """Take a value, with its line or its place in a list."""


Some = TypeVar("Some", bound=Collector)


def is_json(start: bytes) -> bool:
    """Return True for a file that starts with a JSON object or a list of objects."""
    return _START.match(start) is not None


def is_nested(start: str) -> bool:
    """Return True for a text that starts with an object of objects."""
    return _NESTED.match(start) is not None


def collect(path: Path, make: Callable[[str], Some], *, by_name: bool = False, max_unpacked: int | None = None) -> Some:
    """Collect all values of a file. by_name: an object of objects is collected one name at a time."""
    name = shown_name(path)
    text = _text(whole(path, max_unpacked=max_unpacked, room=ROOM, ratio=RATIO), name)
    start = _blanks(text, 0)
    if start == len(text):
        raise CalipersError("nothing but blanks", file=name)
    nested = by_name and _NESTED.match(text, start) is not None
    for read in (_read_listed, _read_nested if nested else _read_alone, _read_lines):
        collector = make(name)
        end = read(text, start, collector)
        if end is not None and _blanks(text, end) == len(text):
            break
    return collector


def first_object(path: Path) -> dict[str, Any] | None:
    """Return the first object of a file, or None if the file does not begin with one."""
    text = start_of(path).decode("utf-8-sig", "replace")
    start = _blanks(text, 0)
    if text[start : start + 1] == "[":
        start = _blanks(text, start + 1)
    try:
        found, _ = _decoded(text, start, shown_name(path), None)
    except CalipersError:
        return None
    return found if isinstance(found, dict) else None


def _read_listed(text: str, start: int, collector: Collector) -> int | None:
    """Collect the items of a list. Return the end of the list, or None if there is no list."""
    if text[start] != "[":
        return None
    collector.listed = True
    place, number = _blanks(text, start + 1), 0
    while text[place : place + 1] != "]":
        number += 1
        item, place = _decoded(text, place, collector.file, None)
        collector.add(item, number)
        place = _after(text, place, "]", collector.file)
    if _blanks(text, place + 1) < len(text):
        raise CalipersError("not JSON: something follows the list", file=collector.file, line=_line(text, place))
    return place + 1


def _read_nested(text: str, start: int, collector: Collector) -> int | None:
    """Collect the values of an object of objects. Return its end."""
    place = _blanks(text, start + 1)
    met: set[str] = set()
    while text[place : place + 1] != "}":
        query, place = _decoded(text, place, collector.file, None)
        place = _blanks(text, place)
        if not isinstance(query, str) or text[place : place + 1] != ":":
            raise CalipersError("not JSON: expected a name and ':'", file=collector.file, line=_line(text, place))
        ranked, place = _decoded(text, _blanks(text, place + 1), collector.file, None)
        if query in met:
            raise CalipersError(f"'{query}' appears twice in one object", file=collector.file)
        met.add(query)
        collector.add({query: ranked}, None)
        place = _after(text, place, "}", collector.file)
    return place + 1


def _read_alone(text: str, start: int, collector: Collector) -> int | None:
    """Collect one value. Return its end."""
    value, end = _decoded(text, start, collector.file, None)
    if _blanks(text, end) == len(text):
        collector.add(value, _line(text, start))
    return end


def _read_lines(text: str, start: int, collector: Collector) -> int:
    """Collect one value per line. Return the end of the text."""
    number = 0
    for number, line in enumerate(_lines(text), 1):
        start = _blanks(line, 0)
        if start == len(line):
            continue
        value, end = _decoded(line, start, collector.file, number)
        if _blanks(line, end) < len(line):
            raise CalipersError("not JSON: something follows the value on its line", file=collector.file, line=number)
        collector.add(value, number)
    return len(text)


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1


def _after(text: str, place: int, closing: str, name: str) -> int:
    """Return the start of the next item of a list or an object, or the place of its closing bracket."""
    place = _blanks(text, place)
    found = text[place : place + 1]
    if found == closing:
        return place
    after = _blanks(text, place + 1)
    if found != "," or text[after : after + 1] == closing:
        message = f"not JSON: expected ',' or '{closing}'" if found != "," else f"not JSON: ',' before '{closing}'"
        raise CalipersError(message, file=name, line=_line(text, place))
    return after


def _text(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CalipersError(
            "not UTF-8, as JSON has to be", file=name, line=raw.count(b"\n", 0, error.start) + 1
        ) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        met: set[str] = set()
        for key, _ in pairs:
            if key in met:
                raise CalipersError(f"'{key}' appears twice in one object")
            met.add(key)
    return found


def _constant(text: str) -> float:
    if text == "NaN":
        return math.nan  # a missing value, as Python writes it; numbers of judgments and runs have to be finite
    raise CalipersError(f"{text} is not a finite number")


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_constant)
_BLANK = re.compile(r"[ \t\r\n]*")


def _blanks(text: str, start: int) -> int:
    """Return the end of the blanks that start here."""
    found = _BLANK.match(text, start)
    return found.end() if found else start


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _decoded(text: str, start: int, name: str, line: int | None) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise CalipersError(f"not JSON: {error.msg}", file=name, line=line or error.lineno) from None
    except StopIteration:  # nothing is there
        raise CalipersError("not JSON: Expecting value", file=name, line=line or _line(text, start)) from None
    except RecursionError:
        raise CalipersError("nested too deeply", file=name, line=line) from None
    except CalipersError as error:
        raise CalipersError(error.message, file=name, line=line) from None
    except ValueError:
        raise CalipersError("a number has too many digits", file=name, line=line or _line(text, start)) from None


def shown(found: Any) -> str:
    """Return the beginning of a value as JSON, for messages."""
    if isinstance(found, dict):
        found = {key: "..." if isinstance(value, dict | list) else value for key, value in islice(found.items(), 4)}
    if isinstance(found, list):
        found = ["..." if isinstance(value, dict | list) else value for value in found[:4]]
    return json.dumps(found)[:60]
