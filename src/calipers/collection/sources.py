"""Finding and opening what a user names: files, directories, globs, frames, datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from calipers.collection.column_names import check_roles
from calipers.collection.formats import FORMATS, TABLES, sniff, table_form
from calipers.collection.frames import is_frame, judgments_of_frame, runs_of_frame
from calipers.collection.ir_datasets import PREFIX, read_irds
from calipers.collection.model import FileRun, Judgments, Run, ScoreFile
from calipers.collection.reader import scan
from calipers.collection.run_names import files_of
from calipers.collection.table_rows import Rows, runs_of
from calipers.errors import CalipersError
from calipers.native.columns import Columns
from calipers.native.scanner import ColumnScanner, LetorScanner

JUDGMENT_FORMS = ("qrels", "subtopics", "letor", *TABLES)
SYSTEM_FORMS = ("run", "scores", *TABLES)

Named = Mapping[str, str]  # which column of a table holds the query, document, score, grade, system


def read_judgments(
    source: Any, form: str | None = None, max_unpacked: int | None = None, columns: Named | None = None
) -> Judgments:
    """Judgments from a file, a frame, or a dataset of ir_datasets (`irds:DATASET_ID`).

    A file may be TREC qrels, labelled LETOR, CSV, TSV, JSON, JSON lines or Parquet: its content decides, or `form`.
    `columns` names the columns of a table, as {"query": "topic_id", "document": "url", "grade": "stars"}.
    """
    check_roles(columns)
    if is_frame(source):
        return judgments_of_frame(source, columns)
    name = str(source)
    if name.startswith(PREFIX):
        return read_irds(name)
    form = form or sniff(name, max_unpacked=max_unpacked)
    if form == "letor":
        return read_letor(name, max_unpacked)
    if form == "subtopics":
        from calipers.collection.subtopics import read_subtopics

        return read_subtopics(name, max_unpacked=max_unpacked)
    if form == "qrels" or form in TABLES:
        return read_qrels(name, max_unpacked, columns, form)
    raise CalipersError(f"expected judgments ({', '.join(JUDGMENT_FORMS)}), but this looks like {_a(form)}", file=name)


def read_qrels(
    path: str | Path, max_unpacked: int | None = None, columns: Named | None = None, form: str | None = None
) -> Judgments:
    """Judgments from a TREC qrels file (query, iteration, document, grade), or from a table."""
    check_roles(columns)
    name = str(path)
    form = form or table_form(name, max_unpacked=max_unpacked) or "qrels"
    if form in TABLES:
        return _table(name, form, "grade", max_unpacked, columns).judgments(name)
    lines = scan(name, lambda: ColumnScanner("qrels"), max_unpacked=max_unpacked)
    try:
        judgments = Judgments.from_columns(lines, name)
    except CalipersError:
        _refuse_subtopics(name, lines, max_unpacked)
        raise
    if len(judgments) < len(lines.value):
        _refuse_subtopics(name, lines, max_unpacked)
    return judgments


def _refuse_subtopics(name: str, columns: Columns, max_unpacked: int | None) -> None:
    """Documents that are judged more than once may be so for several subtopics."""
    from calipers.collection.subtopics import refuse_subtopics

    refuse_subtopics(name, columns, max_unpacked)


def read_letor(path: str | Path, max_unpacked: int | None = None) -> Judgments:
    """Judgments from a LETOR or SVMlight file: label, qid:query, features, `#docid = document`."""
    return Judgments.from_labels(scan(str(path), LetorScanner, max_unpacked=max_unpacked), str(path))


def read_run(
    source: Any,
    name: str | None = None,
    form: str | None = None,
    max_unpacked: int | None = None,
    columns: Named | None = None,
    memory: int | None = None,
) -> Run:
    """One run from a file or a frame; a file is read when it is used."""
    runs = _runs(source, name, form, max_unpacked, columns, memory)
    if len(runs) > 1:
        raise CalipersError(
            f"there are {len(runs)} runs in it ({runs[0].name}, {runs[1].name} ...): use read_runs",
            file=None if is_frame(source) else str(source),
        )
    return runs[0]


def read_runs(
    sources: Any,
    name: str | None = None,
    form: str | None = None,
    max_unpacked: int | None = None,
    columns: Named | None = None,
    memory: int | None = None,
) -> list[Run]:
    """Runs from files, from all the files of directories, from globs such as "runs/*.gz", and from frames.

    A file may be a TREC run, CSV, TSV, JSON, JSON lines, Parquet, or one score a line: its content decides, or `form`.
    A table with a column of systems holds several runs. `columns` names the columns of tables, as
    {"query": "topic_id", "document": "url", "score": "bm25", "system": "model"}. `memory` is how many bytes a run may
    take whose queries are in no order, by default a quarter of the machine's: a larger one is sorted on disk.
    """
    check_roles(columns)
    named: Iterable[Any] = [sources] if isinstance(sources, str | Path) or is_frame(sources) else sources
    found: list[Run] = []
    for each in named:
        for source in [each] if is_frame(each) else files_of(str(each)):
            found += _runs(source, name, form, max_unpacked, columns, memory)
    return found


def _runs(
    source: Any,
    name: str | None,
    form: str | None,
    max_unpacked: int | None,
    columns: Named | None,
    memory: int | None,
) -> list[Run]:
    check_roles(columns)
    if is_frame(source):
        return [*runs_of_frame(source, columns, name)]
    path = str(source)
    form = form or sniff(path, max_unpacked=max_unpacked)
    if form == "run":
        return [FileRun(path, name, max_unpacked, memory)]
    if form == "scores":
        return [ScoreFile(path, name, max_unpacked)]
    if form in TABLES:
        systems, parts = FORMATS[form].systems, FORMATS[form].parts
        assert systems is not None
        options = {"columns": columns, "max_unpacked": max_unpacked}
        return [
            *runs_of(
                systems(path, **options),
                partial(_table, path, form, "score", max_unpacked, columns),
                path=path,
                name=name,
                parts=partial(parts, path, **options) if parts else None,
                memory=memory,
            )
        ]
    raise CalipersError(f"expected a run ({', '.join(SYSTEM_FORMS)}), but this looks like {_a(form)}", file=path)


def _table(path: str, form: str, value: str, max_unpacked: int | None, columns: Named | None) -> Rows:
    read: Any = FORMATS[form].read
    rows: Rows = read(path, value=value, columns=columns, max_unpacked=max_unpacked)
    return rows


def _a(form: str) -> str:
    return {
        "run": "a run",
        "qrels": "qrels",
        "letor": "a LETOR file",
        "scores": "a file of one number a line",
    }.get(form, form)
