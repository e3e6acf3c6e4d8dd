"""Rows of verdicts: an item, the system that made it, a judge, its label or score, and for some the label of people."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from calipers.collection.column_names import plain_name
from calipers.collection.frames import is_frame
from calipers.errors import CalipersError
from calipers.support.record import Record

VerdictsLike = str | os.PathLike[str] | Sequence[Mapping[str, Any]] | Any  # a path, a list of dicts, or a frame

NAMES = {
    "item": ("item", "item_id", "id", "example", "example_id", "question_id", "query", "query_id", "document"),
    "judge": ("judge", "model", "rater", "annotator", "grader", "judge_model"),
    "system": ("system", "system_id", "run", "run_id", "variant", "model"),  # `model`: if the judge has another column
    "label": ("label", "verdict", "score", "grade", "rating", "judgment", "judgement", "pass", "passed"),
    "human": ("human", "human_label", "human_score", "gold", "reference_label", "expert", "people"),
    "length": ("length", "tokens", "words", "characters", "answer_length", "response_length"),
    "position": ("position", "order", "slot"),
}
WORDS = {
    "pass": 1.0,
    "passed": 1.0,
    "yes": 1.0,
    "true": 1.0,
    "good": 1.0,
    "correct": 1.0,
    "relevant": 1.0,
    "fail": 0.0,
    "failed": 0.0,
    "no": 0.0,
    "false": 0.0,
    "bad": 0.0,
    "incorrect": 0.0,
    "wrong": 0.0,
    "irrelevant": 0.0,
    "not relevant": 0.0,
}
EMPTY = ("", "nan", "none", "null", "na", "n/a")


class VerdictRow(Record):
    """One verdict on the item of a system. Values that the table does not have are None."""

    item: str
    judge: str
    system: str  # empty if the table has no column for it
    label: float
    human: float | None
    length: float | None
    position: float | None


def is_verdict_table(path: str) -> bool:
    """Return True if a file has a header with an item, a label and a column for people's labels."""
    try:
        rows = _rows_of_file(path, only_first=True)
    except (CalipersError, OSError, UnicodeDecodeError):
        return False
    if not rows:
        return False
    columns = _columns(rows[0], {})
    return {"item", "label", "human"} <= columns.keys()


def read_verdicts(data: VerdictsLike, columns: Mapping[str, str] | None = None) -> list[VerdictRow]:
    """Return the rows of a file (CSV, TSV, JSON, JSON lines), a frame or a list of dicts.

    columns: names of columns, for example {"label": "gpt_score", "human": "expert"}.
    """
    if isinstance(data, str | os.PathLike):
        file: str | None = str(data)
        rows = _rows_of_file(str(data))
    else:
        file, rows = None, _rows_of_object(data)
    if not rows:
        raise CalipersError("there are no verdicts", file=file)
    found = _columns(rows[0], columns or {})
    for name in ("item", "label", "human"):
        if name not in found:
            expected = f"{', '.join(NAMES[name][:4])}, ..."
            raise CalipersError(
                f"no column for the {name} among {', '.join(map(str, rows[0]))}; expected one of {expected}", file=file
            )
    return [_row(row, found, number, file) for number, row in enumerate(rows, 1 if file is None else 2)]


def _columns(row: Mapping[str, Any], named: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each part of a verdict, as named by the user or by a known name."""
    if unknown := sorted(set(named) - set(NAMES)):
        raise CalipersError(f"unknown part of a verdict '{unknown[0]}'; expected one of {', '.join(NAMES)}")
    plain = {plain_name(str(column)): str(column) for column in row}
    found: dict[str, str] = {}
    for part, names in NAMES.items():
        taken = {*found.values(), *named.values()}
        known = [column for name in names if (column := plain.get(plain_name(name), "")) and column not in taken]
        if part in named:
            if named[part] not in row:
                raise CalipersError(f"there is no column '{named[part]}'; there are {', '.join(map(str, row))}")
            found[part] = named[part]
        elif known:
            found[part] = known[0]
    return found


def _row(row: Mapping[str, Any], columns: Mapping[str, str], number: int, file: str | None) -> VerdictRow:
    def value(part: str) -> float | None:
        return _number(row.get(columns[part]), columns[part], number, file) if part in columns else None

    label = value("label")
    if label is None:
        raise CalipersError(f"row {number} has no label of the judge", file=file)
    item, judge, system = (
        _id(row.get(columns[part]), part, columns[part], number, file) if part in columns else otherwise
        for part, otherwise in (("item", ""), ("judge", "judge"), ("system", ""))
    )
    return VerdictRow(item, judge, system, label, value("human"), value("length"), value("position"))


def _id(given: Any, part: str, column: str, number: int, file: str | None) -> str:
    text = "" if given is None or (isinstance(given, float) and given != given) else str(given)
    if not text.strip() or text == "<NA>":
        raise CalipersError(f"row {number} has no {part}: column '{column}' is empty there", file=file)
    return text


def _number(given: Any, column: str, number: int, file: str | None) -> float | None:
    if given is None or (isinstance(given, float) and given != given):
        return None
    text = str(given).strip()
    if text.lower() in EMPTY:
        return None
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        found = float(text)
    except ValueError:
        found = float("inf")
    if abs(found) == float("inf"):
        raise CalipersError(
            f"row {number}: '{text}' in column '{column}' is neither a number nor a word such as pass, fail, yes or no",
            file=file,
        )
    return found


def _rows_of_file(path: str, only_first: bool = False) -> list[dict[str, Any]]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CalipersError(f"cannot be read: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        raise CalipersError("is not text in UTF-8", file=path) from None
    start = text.lstrip()[:1]
    try:
        if start == "[":
            return _only_dicts(json.loads(text), path)
        if start == "{":
            lines = [line for line in text.splitlines() if line.strip()]
            return _only_dicts([json.loads(line) for line in (lines[:1] if only_first else lines)], path)
    except json.JSONDecodeError as error:
        raise CalipersError(f"is not JSON: {error.msg}", file=path) from None
    first = text.split("\n", 1)[0]
    separator = max("\t,;", key=first.count)
    lines = text.splitlines()
    try:
        return list(csv.DictReader(lines[:2] if only_first else lines, delimiter=separator))
    except csv.Error as error:
        raise CalipersError(f"is not CSV: {error}", file=path) from None


def _rows_of_object(data: Any) -> list[dict[str, Any]]:
    if is_frame(data):
        for method, options in (("to_pylist", {}), ("to_dicts", {}), ("to_dict", {"orient": "records"})):
            if hasattr(data, method):
                return list(getattr(data, method)(**options))
    if isinstance(data, Iterable) and not isinstance(data, Mapping):
        return _only_dicts(list(data), None)
    raise CalipersError(
        f"cannot read verdicts from a {type(data).__name__}: expected a path, a frame or a list of dicts"
    )


def _only_dicts(rows: Any, file: str | None) -> list[dict[str, Any]]:
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise CalipersError("verdicts are rows with names: {item, judge, label, human}", file=file)
    return [dict(row) for row in rows]
