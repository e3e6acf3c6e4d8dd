"""Frames of any kind (pandas, polars, Arrow and what else narwhals knows) as judgments and runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from calipers.collection.arrow import ArrowColumn, arrow
from calipers.collection.column_names import columns_of
from calipers.collection.formats.named_rows import NamedRow, rows_of_mappings
from calipers.collection.formats.openinference import has_spans, rows_of_spans
from calipers.collection.formats.ragas import has_samples, rows_of_samples
from calipers.collection.judgments import Judgments
from calipers.collection.table_rows import Rows, RowsRun, rows_of, runs_of
from calipers.errors import CalipersError
from calipers.support.extras import load

_SIGNS = ("__arrow_c_stream__", "__narwhals_dataframe__", "__narwhals_lazyframe__", "__dataframe__", "collect_schema")


def is_frame(value: object) -> bool:
    """Return True for a frame. Imports nothing."""
    return any(hasattr(value, sign) for sign in _SIGNS)


def judgments_of_frame(frame: Any, columns: Mapping[str, str] | None = None, combine: str | None = None) -> Judgments:
    """Judgments from a frame with columns for query, document and grade."""
    return _rows(frame, "grade", columns).judgments("judgments", combine)


def runs_of_frame(frame: Any, columns: Mapping[str, str] | None = None, name: str | None = None) -> list[RowsRun]:
    """Return the runs of a frame with columns for query, document and score: one, or one for each system it names."""
    rows = _rows(frame, "score", columns)
    return runs_of(rows.systems, lambda: rows, name=name, notes=rows.notes)


def _rows(frame: Any, value: str, columns: Mapping[str, str] | None) -> Rows:
    nw = load("narwhals", extra="frames", what="frames")
    arrow()
    try:
        known = nw.from_native(frame, allow_series=True)
        found = [] if isinstance(known, nw.Series) else list(map(str, known.collect_schema().names()))
    except (TypeError, ValueError, nw.exceptions.NarwhalsError) as error:
        raise CalipersError(f"cannot read a table from a {type(frame).__name__}: {_one_line(error)}") from None
    if isinstance(known, nw.Series):
        raise CalipersError(
            f"cannot read a table from a {type(frame).__name__}, which is a single column: give a table with columns "
            f"for query, document and {value}"
        )
    if has_samples(found):
        return rows_of_samples(rows_of_frame(known), value, columns)
    if has_spans(found):
        return rows_of_spans(rows_of_frame(known), value, columns)
    names = columns_of(found, value, columns)
    known = known.select(*dict.fromkeys(names.values()))
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    table = _table(known)
    cells = {role: ArrowColumn(table.column(name), name) for role, name in names.items()}
    return rows_of(cells, names, value, None, columns)


def rows_of_frame(frame: Any) -> Iterator[NamedRow]:
    """Return the rows of a frame as dictionaries."""
    nw = load("narwhals", extra="frames", what="frames")
    known = nw.from_native(frame)
    whole = known.collect() if isinstance(known, nw.LazyFrame) else known
    return rows_of_mappings(whole.iter_rows(named=True))


def _table(frame: Any) -> Any:
    errors = (arrow().ArrowException, TypeError, ValueError)
    try:
        return frame.to_arrow()
    except errors:
        for name in frame.columns:
            _explain(frame.get_column(name), errors)
        raise


def _explain(column: Any, errors: tuple[type[Exception], ...]) -> None:
    """Name the row that cannot be converted: an object column of pandas may hold anything."""
    try:
        column.to_arrow()
    except errors as error:
        kinds = [type(value) for value in column.to_list()]
        odd = next((row for row, kind in enumerate(kinds) if kind is not kinds[0]), 0)
        mixed = f"{kinds[odd].__name__} among {kinds[0].__name__} ({_one_line(error)})"
        raise CalipersError(f"column '{column.name}', row {odd + 1}: {mixed}") from None


def _one_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
