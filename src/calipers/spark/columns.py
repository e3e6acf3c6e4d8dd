"""DataFrames of any naming as the columns that the engine reads; what is missing or of the wrong type is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calipers.collection.column_names import columns_of
from calipers.errors import CalipersError
from calipers.spark.session import MARK, sql

Frame = Any  # a Spark DataFrame
Column = Any

ORDER = "order"  # of the rows of a run, where ties are to be broken by it: one column, or several after one another
SUBTOPICS = ("subtopic", "intent")


def judgment_rows(frame: Frame, columns: Mapping[str, str] | None, by_subtopic: bool) -> Frame:
    """query (text), document (bytes), value (the grade), and subtopic (bytes) where that is asked for."""
    given = {role: name for role, name in (columns or {}).items() if role not in ("subtopic", ORDER)}
    names = columns_of(frame.columns, "grade", given, file="judgments")
    chosen = [
        _text(frame, names["query"], "judgments").alias("query"),
        _bytes(frame, names["document"], "judgments").alias("document"),
        _number(frame, names["grade"], "grade", "judgments").alias("value"),
    ]
    if by_subtopic:
        chosen.append(_bytes(frame, _subtopic(frame, columns), "judgments").alias("subtopic"))
    return frame.select(*chosen)


def run_rows(frame: Frame, columns: Mapping[str, str] | None, name: str, ordered: bool) -> Frame:
    """system and query (text), document (bytes), value (the score); where asked for, the order of the rows."""
    F = sql("functions")

    given = {role: column for role, column in (columns or {}).items() if role not in ("subtopic", ORDER)}
    names = columns_of(frame.columns, "score", given, file="runs", ranks=False)
    system = _text(frame, names["system"], "runs") if "system" in names else F.lit(name)
    chosen = [
        system.alias("system"),
        _text(frame, names["query"], "runs").alias("query"),
        _bytes(frame, names["document"], "runs").alias("document"),
        _number(frame, names["score"], "score", "runs").alias("value"),
    ]
    if ordered:
        chosen += [column.alias(f"{ORDER}{i}") for i, column in enumerate(_order(frame, columns))]
    return frame.select(*chosen)


def known_systems(frame: Frame, columns: Mapping[str, str] | None) -> list[str] | None:
    """Return the systems that the metadata of a DataFrame lists, or None. The rows are not read."""
    systems = about_systems(frame, columns).get("systems")
    return None if systems is None else [str(system) for system in systems]


def about_systems(frame: Frame, columns: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the metadata of the column of systems."""
    given = {role: column for role, column in (columns or {}).items() if role not in ("subtopic", ORDER)}
    name = columns_of(frame.columns, "score", given, file="runs", ranks=False).get("system")
    return {} if name is None else about(frame, name)


def about(frame: Frame, name: str) -> dict[str, Any]:
    """Return the metadata that this package stored with a column."""
    found: dict[str, Any] = (frame.schema[name].metadata or {}).get("calipers", {})
    return found


def named(name: str) -> Column:
    """Return a column by its name. Quotes keep Spark from reading nDCG@10 or P_5.x as a path."""
    F = sql("functions")

    return F.col("`" + name.replace("`", "``") + "`")


def _subtopic(frame: Frame, columns: Mapping[str, str] | None) -> str:
    if (given := (columns or {}).get("subtopic")) is not None:
        _check_there(frame, given, "subtopic", "judgments")
        return given
    for name in frame.columns:
        if name.strip().lower() in SUBTOPICS:
            return str(name)
    raise CalipersError(
        f"there is no column for the subtopic ({', '.join(SUBTOPICS)}, or another: columns), which these measures "
        f"need; the columns are {', '.join(frame.columns)}",
        file="judgments",
    )


def _order(frame: Frame, columns: Mapping[str, str] | None) -> list[Column]:
    given = (columns or {}).get(ORDER)
    kept = [name for name in frame.columns if about(frame, name).get("role") == ORDER]
    if given is None and not kept:
        raise CalipersError(
            "ties cannot be broken by the order of the input, which Spark does not keep: name a column that has it "
            "(columns={'order': ...}), read files with ordered=True, or use ties average, docid, best or worst"
        )
    for name in [given] if given is not None else kept:
        _check_there(frame, name, ORDER, "runs")
        _check_type(frame, name, "runs", "the order of rows is a whole number")
    return [named(name).cast("long") for name in ([given] if given is not None else kept)]


def _check_there(frame: Frame, name: str, role: str, file: str) -> None:
    if name not in frame.columns:
        raise CalipersError(
            f"there is no column '{name}' for the {role}; the columns are {', '.join(frame.columns)}", file=file
        )


def _text(frame: Frame, name: str, file: str, kind: str = "string") -> Column:
    T = sql("types")

    _check_type(frame, name, file, "ids are text or whole numbers", text=True)
    column = named(name)
    if not isinstance(frame.schema[name].dataType, T.BinaryType):
        column = column.cast("string")  # of whole numbers their digits, not their bytes
    column = column.cast(kind)
    return _present(column, name, file).otherwise(column)


def _bytes(frame: Frame, name: str, file: str) -> Column:
    return _text(frame, name, file, kind="binary")


def _number(frame: Frame, name: str, what: str, file: str) -> Column:
    F = sql("functions")

    _check_type(frame, name, file, f"a {what} is a number", fraction=True)
    value = named(name).cast("double")
    odd = F.raise_error(
        F.concat(F.lit(f"{MARK}: {file}: column '{name}': "), value.cast("string"), F.lit(" is not a finite number"))
    )
    return (
        _present(value, name, file)
        .when(F.isnan(value) | (F.abs(value) == float("inf")), odd)
        .when(value == 0, F.lit(0.0))  # 0 and -0 are one score, as they are to the scanner
        .otherwise(value)
    )


def _present(column: Column, name: str, file: str) -> Column:
    """Return the start of a case distinction that refuses rows without a value."""
    F = sql("functions")

    return F.when(column.isNull(), F.raise_error(F.lit(f"{MARK}: {file}: column '{name}': a row has no value")))


def _check_type(frame: Frame, name: str, file: str, rule: str, *, text: bool = False, fraction: bool = False) -> None:
    """Refuse a column that holds neither whole numbers nor what the keywords allow."""
    T = sql("types")

    allowed: tuple[type, ...] = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
    if text:
        allowed += (T.StringType, T.CharType, T.VarcharType, T.BinaryType)
    if fraction:
        allowed += (T.FloatType, T.DoubleType, T.DecimalType)
    kind = frame.schema[name].dataType
    if not isinstance(kind, allowed):
        raise CalipersError(f"column '{name}' holds {kind.simpleString()}: {rule}", file=file)
