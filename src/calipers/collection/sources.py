"""Finding and opening what a user names: files, directories, globs, frames, datasets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Protocol, cast

from numpy.typing import NDArray

from calipers.collection.column_names import check_roles
from calipers.collection.files import Path, start_of
from calipers.collection.first_line import first_fields
from calipers.collection.formats import FORMATS, TABLES, names_of, sniff, table_format
from calipers.collection.frames import is_frame, judgments_of_frame, runs_of_frame
from calipers.collection.ir_datasets import PREFIX, read_irds
from calipers.collection.model import FileRun, Judgments, Run, ScoreFile
from calipers.collection.reader import scan
from calipers.collection.run_names import files_of
from calipers.collection.table_rows import Rows, runs_of
from calipers.errors import CalipersError
from calipers.native.columns import Columns
from calipers.native.scanner import ColumnScanner, LetorScanner

JUDGMENT_FORMATS = (*names_of("judgments", "labels", "table"), "subtopics", "preferences", "judges")
SYSTEM_FORMATS = names_of("run", "scores", "table")


class Frame(Protocol):
    """A table of pandas, polars, Arrow or another library that narwhals knows."""

    @property
    def columns(self) -> Any: ...


ColumnNames = Mapping[str, str]  # which column of a table holds the query, document, score, grade, system
Nested = Mapping[str, Mapping[str, float]]  # {query: {document: grade or score}}
JudgmentsLike = Judgments | Path | Frame | Nested | Mapping[str, Mapping[str, Mapping[str, float]]]
RunLike = Run | Path | Frame | Nested | NDArray[Any]
RunsLike = RunLike | Mapping[str, RunLike] | Iterable[RunLike]


def read_judgments(
    source: Path | Frame,
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
    max_unpacked: int | None = None,
) -> Judgments:
    """Judgments from a file, a frame, or a dataset of ir_datasets (`irds:DATASET_ID`).

    A file may be TREC qrels, labelled LETOR, CSV, TSV, JSON, JSON lines or Parquet: its content decides, or `format`.
    `columns` names the columns of a table, as {"query": "topic_id", "document": "url", "grade": "stars"}.
    `max_unpacked` is the most bytes that a packed file may unpack to.
    """
    check_roles(columns)
    if is_frame(source):
        return judgments_of_frame(source, columns)
    name = str(source)
    if name.startswith(PREFIX):
        return read_irds(name)
    format = format or sniff(name, max_unpacked=max_unpacked)
    if format == "letor":
        return read_letor(name, max_unpacked=max_unpacked)
    if format == "subtopics":
        from calipers.collection.subtopics import read_subtopics

        return read_subtopics(name, max_unpacked=max_unpacked)
    if format == "preferences":
        from calipers.collection.preferences import read_preferences

        four = len(first_fields(start_of(name, max_unpacked=max_unpacked))) == 4
        return read_preferences(name, format="qrels_prefs" if four else None, max_unpacked=max_unpacked)
    if format == "judges":
        from calipers.collection.several_judges import read_several_judges

        return read_several_judges(name, max_unpacked=max_unpacked)
    if format == "qrels" or format in TABLES:
        return read_qrels(name, format=format, columns=columns, max_unpacked=max_unpacked)
    expected = ", ".join(JUDGMENT_FORMATS)
    raise CalipersError(f"expected judgments ({expected}), but this looks like {_a(format)}", file=name)


def read_qrels(
    source: Path,
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
    max_unpacked: int | None = None,
) -> Judgments:
    """Judgments from a TREC qrels file (query, iteration, document, grade), or from a table."""
    check_roles(columns)
    name = str(source)
    format = format or table_format(name, max_unpacked=max_unpacked) or "qrels"
    if format in TABLES:
        return _table(name, format, "grade", max_unpacked, columns).judgments(name)
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


def read_letor(source: Path, *, max_unpacked: int | None = None) -> Judgments:
    """Judgments from a LETOR or SVMlight file: label, qid:query, features, `#docid = document`."""
    return Judgments.from_labels(scan(str(source), LetorScanner, max_unpacked=max_unpacked), str(source))


def read_run(
    source: Path | Frame,
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
    max_unpacked: int | None = None,
    name: str | None = None,
    memory: int | None = None,
) -> Run:
    """One run from a file or a frame; a file is read when it is used. The options are those of `read_runs`."""
    runs = _runs(source, format, columns, max_unpacked, name, memory)
    if len(runs) > 1:
        raise CalipersError(
            f"there are {len(runs)} runs in it ({runs[0].name}, {runs[1].name} ...): use read_runs",
            file=None if is_frame(source) else str(source),
        )
    return runs[0]


def read_runs(
    source: Path | Frame | Iterable[Path | Frame],
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
    max_unpacked: int | None = None,
    name: str | None = None,
    memory: int | None = None,
) -> list[Run]:
    """Runs from files, from all the files of directories, from globs such as "runs/*.gz", and from frames.

    A file may be a TREC run, CSV, TSV, JSON, JSON lines, Parquet, or one score per line: its content decides, or
    `format`. A table with a column of systems holds several runs. `columns` names the columns of tables, as
    {"query": "topic_id", "document": "url", "score": "bm25", "system": "model"}. `name` replaces the name that a run
    gives itself. `memory` is how many bytes a run may take whose queries are in no order, by default a quarter of the
    machine's: a larger one is sorted on disk.
    """
    check_roles(columns)
    several = not (isinstance(source, str | os.PathLike) or is_frame(source))
    named: Iterable[Any] = cast("Iterable[Any]", source) if several else [source]
    found: list[Run] = []
    for each in named:
        for one in [each] if is_frame(each) else files_of(str(each)):
            found += _runs(one, format, columns, max_unpacked, name, memory)
    return found


def _runs(
    source: Path | Frame,
    format: str | None,
    columns: ColumnNames | None,
    max_unpacked: int | None,
    name: str | None,
    memory: int | None,
) -> list[Run]:
    check_roles(columns)
    if is_frame(source):
        return [*runs_of_frame(source, columns, name)]
    path = str(source)
    format = format or sniff(path, max_unpacked=max_unpacked)
    if format == "run":
        return [FileRun(path, name, max_unpacked, memory)]
    if format == "scores":
        return [ScoreFile(path, name, max_unpacked)]
    if format in TABLES:
        systems, parts = FORMATS[format].systems, FORMATS[format].parts
        assert systems is not None
        options = {"columns": columns, "max_unpacked": max_unpacked}
        return [
            *runs_of(
                systems(path, **options),
                partial(_table, path, format, "score", max_unpacked, columns),
                path=path,
                name=name,
                parts=partial(parts, path, **options) if parts else None,
                memory=memory,
            )
        ]
    raise CalipersError(f"expected a run ({', '.join(SYSTEM_FORMATS)}), but this looks like {_a(format)}", file=path)


def _table(path: str, format: str, value: str, max_unpacked: int | None, columns: ColumnNames | None) -> Rows:
    read: Any = FORMATS[format].read
    rows: Rows = read(path, value=value, columns=columns, max_unpacked=max_unpacked)
    return rows


def _a(format: str) -> str:
    return FORMATS[format].noun if format in FORMATS else format
