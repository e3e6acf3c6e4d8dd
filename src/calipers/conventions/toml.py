"""Conventions of users, read from a TOML file.

name = "ours"
based_on = "letor4"          # its choices hold for keys that the file does not set
gain = { 1 = 1, 2 = 5 }      # or "exp", "linear"
short = "pad"                # or [short] with nDCG = "zero", P = "n"
empty = "skip"
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from calipers.collection.files import FileErrors, regular
from calipers.conventions.profile import Convention, LabelRange, WrongChoice, shown
from calipers.errors import CalipersError, suggestion

KEYS = (
    "name", "sentence", "based_on", "gain", "discount", "empty", "missing", "short", "ties", "precision", "rel",
    "ideal", "norm", "averaged", "max_grade", "whole_grades", "drops_query", "labels",
    "measures",
)  # fmt: skip
LABEL_KEYS = ("lowest", "highest", "whole")
MOST_BYTES = 1 << 20
_SWITCHES = ("whole_grades", "drops_query")


def read_convention(source: str | Path, *, known: Mapping[str, Convention] | None = None) -> Convention:
    """Return the convention that a TOML file describes."""
    import tomllib

    if known is None:
        from calipers.conventions.built_in import CONVENTIONS

        known = CONVENTIONS
    try:
        with FileErrors(source):
            file = Path(regular(source))
            if file.stat().st_size > MOST_BYTES:
                raise CalipersError(f"a file of more than {MOST_BYTES:,} bytes is not read as a convention")
            text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CalipersError("is not text in UTF-8, as TOML must be", file=str(source)) from None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        message = re.sub(r" \(at .*\)$", "", str(error))
        raise CalipersError(f"no TOML: {message}", file=str(source), line=int(at[1]) if at else None) from None
    except RecursionError:
        raise CalipersError("no TOML: nested too deeply", file=str(source)) from None
    except (ValueError, OverflowError):
        raise CalipersError(
            "no TOML: a number has too many digits, or a date does not exist", file=str(source)
        ) from None
    return _made(found, text, str(source), known)


def _made(found: dict[str, Any], text: str, path: str, known: Mapping[str, Convention]) -> Convention:
    def fail(key: str, message: str) -> NoReturn:
        raise CalipersError(message, file=path, line=_line_of(key, text))

    for key in found:
        if key not in KEYS:
            fail(key, f"unknown key {shown(key)}; {suggestion(key, KEYS)}")
    values = {key: value for key, value in found.items() if key != "based_on"}
    values.setdefault("name", Path(path).stem)
    values.setdefault("sentence", f"the conventions of {Path(path).name}")
    values["edition"] = "own"
    for key in ("name", "sentence"):
        if not isinstance(values[key], str):
            fail(key, f"{key} is not a text")
    for key in _SWITCHES:
        if key in values and not isinstance(values[key], bool):
            fail(key, f"{key}={shown(values[key])} is neither true nor false")
    for key in ("rel", "max_grade"):
        if isinstance(values.get(key), int | float) and not _is_finite(values[key]):
            fail(key, f"{key}={shown(values[key])} is not a finite number")
    for table, keys in (("labels", LABEL_KEYS), ("short", ("nDCG", "P"))):
        if isinstance(values.get(table), dict):
            for key in values[table]:
                if key not in keys:
                    fail(key, f"unknown key {shown(key)} of {table}; there are {', '.join(keys)}")
    if "labels" in values:
        values["labels"] = _labels(values["labels"], fail)
    if "gain" in values and not isinstance(values["gain"], str):
        values["gain"] = _gains(values["gain"], fail)
    if "measures" in values:
        if not isinstance(values["measures"], list) or not all(isinstance(each, str) for each in values["measures"]):
            fail("measures", "measures is not a list of names")
        values["measures"] = tuple(values["measures"])
    based_on = found.get("based_on")
    if based_on is not None and (not isinstance(based_on, str) or based_on not in known):
        hint = f"; {suggestion(based_on, known)}" if isinstance(based_on, str) else ""
        fail("based_on", f"based_on={shown(based_on)} is not the name of a convention{hint}")
    try:
        return known[based_on].with_(**values) if based_on else Convention(**values)
    except WrongChoice as error:
        fail(error.key, error.message)


def _labels(given: Any, fail: Any) -> LabelRange:
    if not isinstance(given, dict):
        fail("labels", f"labels={shown(given)} is not a table such as {{ lowest = 0, highest = 4, whole = true }}")
    for key, value in given.items():
        if isinstance(value, bool) != (key == "whole") or not isinstance(value, int | float) or not _is_finite(value):
            fail(key, f"{key}={shown(value)} of labels is not {'true or false' if key == 'whole' else 'a number'}")
    return LabelRange(**given)


def _gains(given: Any, fail: Any) -> dict[float, float]:
    if not isinstance(given, dict) or not given:
        fail("gain", f"gain={shown(given)} is not exp, linear or a table such as {{ 1 = 1, 2 = 3 }}")
    gains = {}
    for grade, gain in given.items():
        try:
            gains[float(grade)] = float(gain)
            if not math.isfinite(float(grade)) or not math.isfinite(float(gain)):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            fail("gain", f"'{grade[:40]} = {shown(gain)}' of gain is not a grade and a number")
    return gains


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _line_of(key: str, text: str) -> int | None:
    """Return the number of the line that sets a key or opens its table."""
    quoted = rf"[\"']?{re.escape(key)}[\"']?"
    pattern = re.compile(rf"(?:^|[{{,])\s*{quoted}\s*[=.]|^\s*\[\s*{quoted}\s*[\].]")
    for number, line in enumerate(text.splitlines(), start=1):
        if pattern.search(line):
            return number
    return None
