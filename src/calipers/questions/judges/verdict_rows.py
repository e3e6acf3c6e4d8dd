"""Rows of verdicts: an item, the system that made it, a judge, its label or score, and for some the label of people."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from calipers.collection.column_names import check_roles, columns_of, first_columns
from calipers.collection.formats.named_rows import NamedRow, first_row
from calipers.collection.records import name_of, rows_by_name
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
    label: float  # of the judge; NaN in a table of people's labels
    human: float | None
    length: float | None
    position: float | None


def is_verdict_table(path: str) -> bool:
    """Return True if a file has a header with an item, a label and a column for people's labels."""
    return {"item", "label", "human"} <= first_columns(_first_row(path), NAMES, {}).keys()


def are_labels_of_items(path: str) -> bool:
    """Return True if a file has a header with an item and a label, and no columns of judgments of documents."""
    row = _first_row(path)
    found = first_columns(row, NAMES, {})
    if "item" not in found or not found.keys() & {"label", "human"}:
        return False
    try:
        columns_of([*row], "grade")
    except CalipersError:
        return True
    return False


def _first_row(path: str) -> dict[str, Any]:
    """Return the first row of a file, or nothing if the file cannot be read as a table."""
    try:
        return first_row(path) or {}
    except CalipersError:
        return {}


def read_verdicts(
    data: VerdictsLike, columns: Mapping[str, str] | None = None, *, whose: Literal["both", "judge", "people"] = "both"
) -> list[VerdictRow]:
    """Return the rows of a file (CSV, TSV, JSON, JSON lines, Parquet), a frame or a list of dicts.

    columns: names of columns, for example {"label": "gpt_score", "human": "expert"}.
    whose: labels of a judge and of people, or of one of them only. Labels of people may be missing.
    """
    check_roles(columns, NAMES)
    rows = [*rows_by_name(data)]
    if not rows:
        raise CalipersError("there are no verdicts", file=name_of(data))
    found = first_columns(rows[0].cells, NAMES, columns or {})
    if whose == "people" and "label" in found:
        found["human"] = found.pop("label")
    needed = {"both": ("item", "label", "human"), "judge": ("item", "label"), "people": ("item", "human")}[whose]
    for part in dict.fromkeys((*needed, *(() if whose == "people" else columns or ()))):
        if part not in found:
            expected = (columns or {}).get(part) or f"one of {', '.join(NAMES[part][:4])}, ..."
            raise CalipersError(
                f"no column for the {part} among {', '.join(map(str, rows[0].cells))}; expected {expected}",
                file=rows[0].file,
            )
    return [_verdict(row, found) for row in rows]


def _verdict(row: NamedRow, columns: Mapping[str, str]) -> VerdictRow:
    def value(part: str) -> float | None:
        return _number(row, columns[part]) if part in columns else None

    label = value("label")
    if label is None and "label" in columns:
        raise row.error("there is no label of the judge")
    item, judge, system = (
        _id(row, part, columns[part]) if part in columns else otherwise
        for part, otherwise in (("item", ""), ("judge", "judge"), ("system", ""))
    )
    label = math.nan if label is None else label
    return VerdictRow(item, judge, system, label, value("human"), value("length"), value("position"))


def _id(row: NamedRow, part: str, column: str) -> str:
    given = row.cells.get(column)
    if given is None or not str(given).strip():
        raise row.error(f"there is no {part}: column '{column}' is empty")
    return str(given)


def _number(row: NamedRow, column: str) -> float | None:
    text = str(row.cells.get(column)).strip()
    if text.lower() in EMPTY:
        return None
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        found = float(text)
    except ValueError:
        found = float("inf")
    if abs(found) == float("inf"):
        raise row.error(f"'{text}' in column '{column}' is neither a number nor a word such as pass, fail, yes or no")
    return found
