"""Finding and opening what a user names: files, directories, globs, frames, datasets."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from calipers.collection.column_names import ORDER, check_roles
from calipers.collection.doubtful_numbers import notes_on_large_grades
from calipers.collection.files import Path, encoding_of, in_encoding
from calipers.collection.formats import FORMATS, RUN_TABLES, TABLES, names_of, sniff, table_format
from calipers.collection.formats.letor import read_letor as read_labels
from calipers.collection.frames import is_frame, judgments_of_frame, runs_of_frame
from calipers.collection.judgments import Judgments
from calipers.collection.mismatch import refuse_ranks
from calipers.collection.reader import scan
from calipers.collection.records import holds_records, rows_of_records, without_iterators
from calipers.collection.repeated import RolledRun, Rollup
from calipers.collection.run_names import named_files
from calipers.collection.runs import FileRun, Run, RunWithoutOwnIds, ScoreFile
from calipers.collection.table_rows import Rows, RowsRun, runs_of
from calipers.errors import CalipersError, WrongFormat
from calipers.native.columns import Columns
from calipers.native.ids import Ids
from calipers.native.scanner import ColumnScanner
from calipers.support.checks import check_type
from calipers.support.extras import check_online, load
from calipers.support.plurals import counted

JUDGMENT_FORMATS = (
    *names_of("judgments", "labels", "table", value="grade"),
    "subtopics",
    "preferences",
    "samples",
    "prels",
)
LABELLED = names_of("labels")
SYSTEM_FORMATS = names_of("run", "scores", "table", value="score")


class Frame(Protocol):
    """A table of pandas, polars, Arrow or another library that narwhals knows."""

    @property
    def columns(self) -> Any: ...


class Sparse(Protocol):
    """A sparse matrix of SciPy."""

    def tocsr(self) -> Any: ...


ColumnNames = Mapping[str, str]  # which column of a table holds the query, document, score, grade, system
Nested = Mapping[str, Mapping[str, float]]  # {query: {document: grade or score}}
Graded = Mapping[str, Mapping[str, float] | Collection[str]]  # also lists and sets of relevant documents
Ranked = Mapping[str, Mapping[str, float] | Sequence[str] | Sequence[tuple[str, float]]]  # also lists, best first
Records = Iterable[tuple[Any, ...] | Mapping[str, Any]]  # named tuples, as ir_measures' Qrel and ScoredDoc, or rows
JudgmentsLike = Judgments | Path | Frame | Graded | Mapping[str, Mapping[str, Mapping[str, float]]] | Records | Sparse
RunLike = Run | Path | Frame | Ranked | NDArray[Any] | tuple[NDArray[Any], NDArray[Any]] | Records | Sparse
RunsLike = RunLike | Mapping[str, RunLike] | Iterable[RunLike]


def read_judgments(
    source: Path | Frame | Records,
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
    combine: str | None = None,
    encoding: str | None = None,
    max_unpacked: int | None = None,
    grades: Mapping[float, float] | None = None,
) -> Judgments:
    """Judgments from a file, a frame, named tuples, ranx's Qrels, or a dataset of ir_datasets (`irds:DATASET_ID`).

    A file may be TREC qrels, labelled LETOR, CSV, TSV, JSON, JSON lines, Parquet, or a judgment list of OpenSearch: its
    content decides, or `format`.
    `columns` names the columns of a table, as {"query": "topic_id", "document": "url", "grade": "stars"}; those of a
    table without a header are "1", "2", ...
    `combine` makes one grade of several judgments of a document: max, min, mean, median or last; without it they are
    refused. `grades` renames all grades, after `combine`: {1: 0, 2: 1, 3: 2, 4: 3, 5: 4} for stars. `encoding` is that
    of a text file which is not in UTF-8, as `cp1252`. `max_unpacked` is the most bytes that a packed file may unpack
    to.
    """
    known = _judgments(source, format, columns, combine, encoding, max_unpacked)
    if format is None and "grade" not in (columns or {}):
        known = known.with_notes(notes_on_large_grades(known.pool, known.name))
    return known if grades is None else known.with_grades(grades)


def _judgments(
    source: Path | Frame | Records,
    format: str | None,
    columns: ColumnNames | None,
    combine: str | None,
    encoding: str | None,
    max_unpacked: int | None,
) -> Judgments:
    check_roles(columns)
    source = without_iterators(source)
    if is_frame(source):
        return judgments_of_frame(source, columns, combine=combine)
    if (rows := rows_of_records(source, "grade", columns)) is not None:
        return rows.judgments("judgments", combine)
    name = str(source)
    if name.startswith(PREFIX):
        return read_irds(name, combine)
    name = in_encoding(name, encoding)
    format = format or sniff(name, max_unpacked=max_unpacked)
    if combine is not None and format not in ("qrels", *TABLES):
        raise CalipersError(f"combine ({combine}) is for qrels and tables, not for {_a(format)}", file=name)
    if format in LABELLED:
        return read_letor(name, max_unpacked=max_unpacked)
    if format == "subtopics":
        from calipers.collection.subtopics import read_subtopics

        return read_subtopics(name, max_unpacked=max_unpacked)
    if format == "preferences":
        from calipers.collection.preferences import read_preferences

        return read_preferences(name, max_unpacked=max_unpacked)
    if format in ("samples", "prels"):
        from calipers.collection.samples import read_samples

        return read_samples(name, format="prels" if format == "prels" else None, max_unpacked=max_unpacked)
    if format in JUDGMENT_FORMATS:
        return read_qrels(name, format=format, columns=columns, combine=combine, max_unpacked=max_unpacked)
    raise _no_judgments(format, name)


def read_qrels(
    source: Path,
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
    combine: str | None = None,
    encoding: str | None = None,
    max_unpacked: int | None = None,
) -> Judgments:
    """Judgments from a TREC qrels file (query, iteration, document, grade), or from a table."""
    check_roles(columns)
    name = in_encoding(str(source), encoding or encoding_of(source))
    format = format or table_format(name, max_unpacked=max_unpacked) or "qrels"
    if format not in JUDGMENT_FORMATS:
        raise _no_judgments(format, name)
    if format in TABLES:
        return _table(name, format, "grade", columns=columns, max_unpacked=max_unpacked).judgments(name, combine)
    lines = scan(name, lambda: ColumnScanner("qrels"), max_unpacked=max_unpacked)
    return judgments_of_lines(lines, name, combine=combine, max_unpacked=max_unpacked)


def judgments_of_lines(
    lines: Columns, name: str, *, combine: str | None = None, max_unpacked: int | None = None
) -> Judgments:
    """Judgments from the lines of a TREC qrels file; those of several subtopics are refused."""
    if combine is not None:
        return Judgments.from_columns(lines, name, combine)
    try:
        judgments = Judgments.from_columns(lines, name)
    except CalipersError:
        _refuse_subtopics(name, lines, max_unpacked)
        raise
    if len(judgments) < len(lines.value):
        _refuse_subtopics(name, lines, max_unpacked)
    return judgments


def _no_judgments(format: str, name: str) -> WrongFormat:
    """Return the error for a file that does not hold judgments."""
    expected = ", ".join(JUDGMENT_FORMATS)
    message = f"expected judgments ({expected}), but this looks like {_a(format)}: {ORDER}"
    return WrongFormat(message, found=format, file=name)


def _refuse_subtopics(name: str, columns: Columns, max_unpacked: int | None) -> None:
    """Documents that are judged more than once may be so for several subtopics."""
    from calipers.collection.subtopics import refuse_subtopics

    refuse_subtopics(name, columns, max_unpacked)


def read_letor(source: Path, *, max_unpacked: int | None = None) -> Judgments:
    """Read judgments from a LETOR or SVMlight file: label, qid:query, features, `#docid = document`.

    Without qid, the sizes of the queries are in a second file, as for LightGBM (.query) and XGBoost (.group).
    """
    return Judgments.from_labels(read_labels(str(source), max_unpacked=max_unpacked), str(source))


def read_run(
    source: Path | Frame | Records,
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
    rollup: Rollup | str | None = None,
    query_ids: QueryIds | None = None,
    encoding: str | None = None,
    max_unpacked: int | None = None,
    name: str | None = None,
    drop_own_ids: bool = False,
) -> Run:
    """Open one run from a file or a frame. A file is read when it is used. The options are those of `read_runs`."""
    ids = _query_ids(query_ids)
    reading = _RunReading(format, columns, _rollup(rollup), ids, encoding, max_unpacked, name, drop_own_ids)
    runs = reading.runs(without_iterators(source))
    if len(runs) > 1:
        raise CalipersError(
            f"there are {counted(len(runs), 'run')} in it ({runs[0].name}, {runs[1].name} ...): use read_runs",
            file=str(source) if isinstance(source, str | os.PathLike) else None,
        )
    return runs[0]


def read_runs(
    source: Path | Frame | Records | Iterable[Path | Frame],
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
    rollup: Rollup | str | None = None,
    query_ids: QueryIds | None = None,
    encoding: str | None = None,
    max_unpacked: int | None = None,
    name: str | None = None,
    drop_own_ids: bool = False,
) -> list[Run]:
    """Return runs from files, from all the files of directories, from globs such as "runs/*.gz", and from frames.

    A file may be a TREC run, CSV, TSV, JSON, JSON lines, Parquet, responses of a search engine, or one score per line:
    its content decides, or `format`. A table with a column of systems holds several runs. `columns` names the columns
    of tables, as {"query": "topic_id", "document": "url", "score": "bm25", "system": "model"}; those of a table without
    a header are "1", "2", ... `rollup` makes passages into documents: a `Rollup`, or max, sum or first for ids like
    `document#passage`. `query_ids` are the queries of responses that do not name them, in their order: a list, or a
    file that starts each line with one. `encoding` is that of text files which are not in UTF-8, as `cp1252`. A run
    goes by its file's stem, or by its tag where that is the end of the stem; "name=path" or `name` gives it another
    name. `drop_own_ids` leaves out documents that have the id of their query, as BEIR does for ArguAna and Quora.
    """
    ids = _query_ids(query_ids)
    reading = _RunReading(format, columns, _rollup(rollup), ids, encoding, max_unpacked, name, drop_own_ids)
    source = without_iterators(source)
    several = not (isinstance(source, str | os.PathLike) or is_frame(source) or holds_records(source))
    if several:
        check_type("source", source, Iterable, "a path, a frame, rows, or a list of paths and frames")
    named: Iterable[Any] = cast("Iterable[Any]", source) if several else [source]
    found: list[Run] = []
    for each in named:
        for given, one in named_files(str(each)) if isinstance(each, str | os.PathLike) else [(None, each)]:
            found += replace(reading, name=name or given).runs(one)
    return found


QueryIds = Sequence[str] | Path  # of responses: a list, or a file


@dataclass(frozen=True)
class _RunReading:
    """The options of `read_runs`."""

    format: str | None
    columns: ColumnNames | None
    rollup: Rollup | None
    query_ids: Sequence[str] | None
    encoding: str | None
    max_unpacked: int | None
    name: str | None
    drop_own_ids: bool

    def runs(self, source: Any) -> list[Run]:
        """Return the runs of one file, frame or list."""
        check_roles(self.columns)
        found = self._runs(source)
        if self.rollup is not None:
            found = [RolledRun(run, self.rollup) for run in found]
        return [RunWithoutOwnIds(run) for run in found] if self.drop_own_ids else found

    def _runs(self, source: Any) -> list[Run]:
        if is_frame(source):
            return [*runs_of_frame(source, self.columns, self.name)]
        if (rows := rows_of_records(source, "score", self.columns)) is not None:
            name = self.name or getattr(source, "name", None)
            return [*runs_of(rows.systems, lambda: rows, name=name, notes=rows.notes)]
        path = in_encoding(str(source), self.encoding)
        format = self.format or sniff(path, max_unpacked=self.max_unpacked)
        if self.query_ids is not None and format != "responses":
            raise CalipersError(f"query_ids are for search responses, and this is {_a(format)}", file=path)
        if format == "run":
            if self.format is None:
                refuse_ranks(path, max_unpacked=self.max_unpacked)
            return [FileRun(path, self.name, self.max_unpacked)]
        if format == "scores":
            return [ScoreFile(path, self.name, self.max_unpacked)]
        if format in RUN_TABLES:
            return [*self._table_runs(path, format)]
        expected = ", ".join(SYSTEM_FORMATS)
        message = f"expected a run ({expected}), but this looks like {_a(format)}: {ORDER}"
        raise WrongFormat(message, found=format, file=path)

    def _table_runs(self, path: str, format: str) -> list[RowsRun]:
        known = FORMATS[format]
        options: dict[str, Any] = {"columns": self.columns, "max_unpacked": self.max_unpacked}
        if self.query_ids is not None:
            options["query_ids"] = self.query_ids
        assert known.contents is not None
        contents = known.contents(path, **options)
        return runs_of(
            contents.systems,
            partial(_table, path, format, "score", **options),
            path=path,
            name=self.name,
            parts=partial(known.parts, path, **options) if known.parts else None,
            notes=contents.notes,
        )


def _rollup(rollup: Rollup | str | None) -> Rollup | None:
    return Rollup(rollup) if isinstance(rollup, str) else rollup


def _query_ids(given: QueryIds | None) -> Sequence[str] | None:
    """Return the ids of a list, or the first fields of the lines of a file."""
    if given is None or not isinstance(given, str | os.PathLike):
        return given
    from calipers.collection.texts import read_ids

    return read_ids(given)


def _table(path: str, format: str, value: str, **options: Any) -> Rows:
    read: Any = FORMATS[format].read
    rows: Rows = read(path, value=value, **options)
    return rows


def _a(format: str) -> str:
    return FORMATS[format].noun if format in FORMATS else format


PREFIX = "irds:"


def read_irds(name: str, combine: str | None = None) -> Judgments:
    """Return the judgments of a dataset. ir_datasets downloads them the first time.

    With CALIPERS_OFFLINE the call is refused: ir_datasets has no switch that keeps it from downloading.
    """
    check_online("a dataset of ir_datasets", file=name)
    ir_datasets = load("ir_datasets", extra="irds", what=f"{PREFIX} judgments")
    try:
        dataset = ir_datasets.load(name.removeprefix(PREFIX))
        if not dataset.has_qrels():
            raise CalipersError("this dataset has no judgments", file=name)
        found = [(qrel.query_id, qrel.doc_id, qrel.relevance) for qrel in dataset.qrels_iter()]
    except CalipersError:
        raise
    except KeyError:
        raise CalipersError("ir_datasets does not know this dataset", file=name) from None
    except Exception as error:  # any error of a download
        raise CalipersError(f"ir_datasets cannot read it: {type(error).__name__}: {error}", file=name) from error
    if not found:
        raise CalipersError("this dataset has no judgments", file=name)
    codes: dict[str, int] = {}
    rows = Rows(
        query=np.array([codes.setdefault(query, len(codes)) for query, _, _ in found], np.int32),
        queries=Ids.of(codes),
        documents=Ids.of(document for _, document, _ in found),
        value=np.array([grade for _, _, grade in found], np.float64),
        file=name,
    )
    return rows.judgments(name, combine)
