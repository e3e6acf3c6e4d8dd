"""Recognise files of texts to be scored, by the names of their fields."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from calipers.collection.column_names import NAMES as COLUMNS, plain_name
from calipers.collection.files import start_of
from calipers.collection.first_line import BOM, cells_of, first_content
from calipers.collection.formats import sniff
from calipers.collection.formats.parquet import MAGIC, columns_of_parquet
from calipers.collection.records import rows_by_name
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import ONLY_RANKINGS
from calipers.results.score_files import is_score_table
from calipers.texts.text_files import NAMES, NUMBERED


def _plain(names: Iterable[str]) -> set[str]:
    return {plain_name(name) for name in names}


_TEXT = _plain((*NAMES["text"], "statements", "sys_summs"))
_ABOUT_TEXTS = _plain(
    name for role, names in NAMES.items() if role not in ("id", "system", "text", "question") for name in names
)
_OF_RANKINGS = [  # texts may have an id and a prediction, too
    _plain(name for role in roles for names in COLUMNS[role] for name in names) - {"id", "prediction"}
    for roles in (("query",), ("document",), ("grade", "score", "rank"))
]
_KEY = re.compile(r'"([^"\\]+)"\s*:')
_JUDGED_COLUMN = re.compile(rb"\b(nuggets|statements)\b")
_TABLES = ("csv", "json", "parquet", "ragas")


def holds_texts(path: str, columns: Mapping[str, str] | None = None) -> bool:
    """Return True if the rows of a file have answers, summaries or translations. Reads its start only.

    columns: names of columns by their roles, as a user gave them.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "file.csv"
    >>> _ = file.write_text("id,system,answer,reference\\nq1,rag,42,42\\n")
    >>> holds_texts(str(file))
    True
    >>> _ = file.write_text("query,baseline,candidate\\nq1,0.5,0.25\\n")  # scores of two systems
    >>> holds_texts(str(file))
    False
    """
    try:
        if not os.path.isfile(path) or sniff(path) not in _TABLES:
            return False
        found = _field_names(path)
    except CalipersError:
        return False
    if roles := {*(columns or ())} - {"system"}:
        return roles <= NAMES.keys()
    names = _plain(found)
    if not names & _TEXT or all(names & known for known in _OF_RANKINGS):
        return False
    return bool(names & _ABOUT_TEXTS - _TEXT) or any(map(NUMBERED.match, found)) or not is_score_table(path)


def are_judged_answers(path: str) -> bool:
    """Return True if a row of a file has a list of nuggets or statements. Reads no further than the first such row."""
    try:
        start = start_of(path).removeprefix(BOM).lstrip()
        if not start.startswith((MAGIC, b"{", b"[")) and not _JUDGED_COLUMN.search(start.partition(b"\n")[0]):
            return False
        return any(_is_list(row.cells.get(name)) for row in rows_by_name(path) for name in ("nuggets", "statements"))
    except CalipersError:
        return False


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list) or (isinstance(cell, str) and cell.lstrip().startswith("["))


def refuse_texts(path: str, reason: str = ONLY_RANKINGS) -> None:
    """Raise an error if a file holds texts. Datasets of RAGAS hold judgments and rankings as well."""
    if holds_texts(path) and sniff(path) != "ragas":
        raise CalipersError(reason, file=path)


def _field_names(path: str) -> list[str]:
    """Return the names of the fields in the first row."""
    start = start_of(path)
    if start.startswith(MAGIC):
        return [*columns_of_parquet(path)]
    if start.removeprefix(BOM).lstrip()[:1] in (b"{", b"["):
        return _keys(start.decode("utf-8-sig", "replace").lstrip())
    return cells_of(first_content(start))[0]


def _keys(text: str) -> list[str]:
    """Return the names in the first object. In a long object, names of objects within it may be among them."""
    try:
        first, _ = json.JSONDecoder().raw_decode(text.removeprefix("[").lstrip())
    except (ValueError, RecursionError):
        return _KEY.findall(text)
    if not isinstance(first, dict):
        return []
    nested = next(iter(first.values()), None)
    return [*first, *(nested if isinstance(nested, dict) and "sys_summs" in nested else ())]
