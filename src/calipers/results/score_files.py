"""Reading of scores from files, arrays and frames: matrices of queries x systems, or one row per system and query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from calipers.collection.column_names import NAMES, plain_name
from calipers.collection.formats.named_rows import first_row, rows_of_file
from calipers.collection.frames import is_frame
from calipers.collection.judgments import digest_text
from calipers.errors import CalipersError, warn_user
from calipers.lists import Floats
from calipers.measures.registry import Measure
from calipers.results.scores import Reason, Scores
from calipers.support.checks import check_choice, check_type, described
from calipers.support.extras import load
from calipers.support.plurals import counted

QUERY_NAMES = frozenset({"", "query", "query_id", "topic", "topic_id", "qid"})
DOCUMENT_NAMES = frozenset(plain_name(name) for names in NAMES["document"] for name in names)
NUMBER_NAMES = frozenset(plain_name(n) for role in ("grade", "score", "rank") for names in NAMES[role] for n in names)
OPPOSITE = {"query": "system", "system": "query"}
FRAME = "the frame"  # stands for the name of a file in messages
ABOUT = ("like", "judgments", "exactness", "standard_error")  # fields of a row in JSON that are not cells of the table
AXES = {"measures": "measure", "systems": "system", "queries": "query"}  # axes of scores, and what they hold
Axis = Literal["systems", "queries", "measures"]
SCORING = ("like", "ties", "relevant", "depth", "condensed", "empty", "missing", "degenerate")  # what scores depend on
UNDEFINED = frozenset({"", "na", "nan", "n/a", "null", "none", "-"})


def read_scores(
    source: str | Path | Iterable[str | Path],
    *,
    max_unpacked: int | None = None,
    measures: str | Iterable[str] | None = None,
    strict: bool = False,
    warn: bool = True,
) -> Scores:
    """Read scores from files: CSV, TSV, JSON, JSON lines or Parquet.

    A file is a matrix or a table. A matrix has one row per query and one column per system, with or without a first
    column of query ids. A table has the columns system, query, and one column per measure, as `Scores.per_query` has
    them. Fields that are empty or NA are undefined.

    Of several files, the systems and queries that all of them have are kept. The notes and the metadata count the
    systems and queries that were left out.

    measures: names of the measures, in order; without it, a matrix is named by its file.
    strict: raise an error instead of leaving systems or queries out.
    warn: give the notes as one CalipersWarning.
    """
    check_type("source", source, (Path, Iterable), "a path, or several paths")
    named = [source] if isinstance(source, str | Path) else list(source)
    if not named:
        raise CalipersError("there is no file of scores to read")
    parts = [_read(str(path), max_unpacked) for path in named]
    if measures is not None:
        parts = _renamed(parts, [measures] if isinstance(measures, str) else list(measures))
    scores = concat(parts, along="measures", strict=strict)
    warn_user(scores.notes, warn)
    return scores


ScoresLike = Scores | ArrayLike


def as_scores(
    values: ScoresLike,
    systems: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
    measure: str = "score",
) -> Scores:
    """Return Scores from an array of system x query, or of measure x system x query if `measure` is several names.

    A frame (pandas, polars, ...) names its systems and queries. It has the columns `system` and `query`, or one column
    or index `query` (the other columns are systems), or one column or index `system` (the other columns are queries).
    Scores are returned unchanged.

    >>> as_scores([[0.1, 0.2], [0.3, float("nan")]], systems=["a", "b"], measure="AP").mean()["b", "AP"]
    0.3
    """
    if isinstance(values, Scores):
        return values
    _refuse_other_kinds(values)
    if is_frame(values):
        if systems is not None or queries is not None:
            raise CalipersError("a frame names its systems and queries itself; give an array to name them here")
        return _of_frame(values, measure)
    check_type("measure", measure, Iterable, "the name of a measure, or several names")
    for what, given in (("systems", systems), ("queries", queries)):
        check_type(what, () if given is None else given, Iterable, "a list of names")
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise CalipersError(
            f"expected scores of system x query, found {described(values)}: evaluate first, scores = "
            "calipers.evaluate(judgments, runs, measures)"
        ) from None
    names = (measure,) if isinstance(measure, str) else tuple(measure)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or len(array) != len(names):
        raise CalipersError(
            f"expected scores of system x query for {counted(len(names), 'measure')}, found {array.shape}"
        )
    if np.isinf(array).any():
        raise CalipersError("a score is infinite")
    systems = tuple(systems) if systems is not None else tuple(f"system{i}" for i in range(1, array.shape[1] + 1))
    queries = tuple(queries) if queries is not None else tuple(str(i) for i in range(1, array.shape[2] + 1))
    if (len(systems), len(queries)) != array.shape[1:]:
        raise CalipersError(
            f"{counted(len(systems), 'system')} and {len(queries)} queries are named, but the scores are "
            f"{array.shape[1:]}"
        )
    for what, given in (("system", systems), ("query", queries), ("measure", names)):
        if twice := _twice(given):
            raise CalipersError(f"the {what} '{twice}' is there twice")
    return Scores(names, systems, queries, array, np.where(np.isnan(array), Reason.MISSING, 0).astype(np.uint8))


def only_scores(function: str, others: Sequence[object]) -> None:
    """Raise an error if a function of scores was given judgments and runs instead.

    >>> only_scores("compare", ())
    """
    if others:
        raise CalipersError(
            f"{function} takes scores, and options by name: evaluate first, scores = calipers.evaluate(judgments, "
            "runs, measures)"
        )


def _refuse_other_kinds(values: Any) -> None:
    """Raise an error for judgments, runs, files and experiments, which have to be scored or read first."""
    if hasattr(values, "scores") and not isinstance(values, np.ndarray) and not is_frame(values):
        raise CalipersError(
            "expected scores, found an experiment: use experiment.scores, or a method of the experiment"
        )
    if isinstance(values, str | Path):
        raise CalipersError(f"expected scores, found '{values}': read them first, scores = calipers.read_scores(path)")
    if isinstance(values, Mapping | set) or hasattr(values, "queries") or values is None:
        raise CalipersError(
            f"expected scores, found {type(values).__name__}: evaluate first, scores = calipers.evaluate(judgments, "
            "runs, measures)"
        )


def _of_frame(frame: Any, measure: str | Sequence[str]) -> Scores:
    """Return the scores of a frame, which is long (system, query, measures), or wide (one row per query or system)."""
    nw = load("narwhals", extra="frames", what="frames")
    if hasattr(frame, "rename_axis"):  # a pandas frame, which may have named axes
        index = _role(frame.index.name) or OPPOSITE.get(_role(frame.columns.name) or "")
        frame = frame if index is None else frame.rename_axis(index=index, columns=None).reset_index()
    table = nw.from_native(frame, eager_only=True)
    header = list(map(str, table.columns))
    rows = [(i, ["" if cell is None else str(cell) for cell in row]) for i, row in enumerate(table.iter_rows(), 1)]
    roles = [_role(name) for name in header]
    named = [role for role in roles if role]
    if sorted(named) == ["query", "system"]:
        first = [roles.index("system"), roles.index("query")]
        order = [*first, *(i for i in range(len(header)) if i not in first)]
        return _long(FRAME, [header[i] for i in order], [(i, [row[c] for c in order]) for i, row in rows])
    if len(named) != 1:
        raise CalipersError(
            "a frame of scores must say what its rows are: name one column or the index 'query' or 'system', or have "
            "the columns system, query and measures"
        )
    ids = roles.index(named[0])
    others = [i for i in range(len(header)) if i != ids]
    labels, names = [row[ids] for _, row in rows], [header[i] for i in others]
    array = np.array([_numbers(FRAME, i, [row[c] for c in others], names) for i, row in rows]).reshape(len(rows), -1)
    if named[0] == "query":
        return as_scores(array.T, names, labels, cast("str", measure))
    return as_scores(array, labels, names, cast("str", measure))


def _role(name: object) -> str | None:
    """Return `query` or `system` if a column or an axis of this name holds them, or None."""
    known = str(name or "").strip().lower()
    return "query" if known in QUERY_NAMES - {""} else known if known == "system" else None


def concat(parts: Sequence[Scores], *, along: Axis = "systems", strict: bool = False) -> Scores:
    """Join scores of different systems, queries or measures.

    along: `systems`, `queries` or `measures`: the axis on which the parts differ. Names on this axis must be different.
        On the two other axes, the names that all parts have are kept; `notes` counts the names that were left out.
    strict: raise an error instead of leaving names out.

    >>> old = as_scores([[0.1, 0.2]], ["old"], ["q1", "q2"], "AP")
    >>> new = as_scores([[0.3, 0.4]], ["new"], ["q2", "q3"], "AP")
    >>> joined = concat([old, new])
    >>> joined.systems, joined.queries, joined["AP"].tolist()
    (('old', 'new'), ('q2',), [[0.2], [0.3]])
    >>> joined.notes
    ('2 queries are not in all scores and were left out',)
    """
    check_choice("along", along, AXES)
    check_type("parts", parts, Sequence, "a list of Scores")
    for part in parts:
        check_type("parts", part, Scores, "a list of Scores")
    if not parts:
        raise CalipersError("there are no scores to join")
    first = parts[0]
    if len(parts) == 1:
        return first
    names: dict[str, list[str]] = {}
    left_out: dict[str, int] = {}
    for axis, noun in AXES.items():
        of_parts = [getattr(part, axis) for part in parts]
        if axis == along:
            names[axis] = [name for each in of_parts for name in each]
            if twice := _twice(names[axis]):
                raise CalipersError(f"the {noun} '{twice}' is in several scores: give it another name in one of them")
            continue
        shared = set(of_parts[0]).intersection(*of_parts[1:])
        names[axis] = [name for name in of_parts[0] if name in shared]
        left_out[axis] = len(set().union(*of_parts)) - len(shared)
        if not shared:
            raise CalipersError(f"the scores have no {noun} in common")
    if strict and any(left_out.values()):
        raise CalipersError(*_left_out(left_out, "are not in all scores"))
    cells = [np.ix_(*(_places(part, axis, names[axis], axis == along) for axis in AXES)) for part in parts]
    place = [*AXES].index(along)
    values, reasons = (
        np.concatenate([getattr(part, field)[rows] for part, rows in zip(parts, cells, strict=True)], axis=place)
        for field in ("values", "reasons")
    )
    notes = [*_left_out(left_out, "are not in all scores and were left out")]
    incomplete = {name: lacking for part in parts for name, lacking in part.metadata.get("incomplete", {}).items()}
    return Scores(
        tuple(names["measures"]),
        tuple(names["systems"]),
        tuple(names["queries"]),
        values,
        reasons,
        _definitions(parts, names["measures"]),
        None,
        {**first.metadata, "left_out": left_out, "incomplete": incomplete},
        notes=(*notes, *_differences_of_origin(parts, along)),
    )


def _places(part: Scores, axis: str, names: Sequence[str], all_of_them: bool) -> list[int]:
    """Return the indices of these names, or of all names, on an axis of some scores."""
    own = getattr(part, axis)
    if all_of_them:
        return [*range(len(own))]
    place = {name: i for i, name in enumerate(own)}
    return [place[name] for name in names]


def _definitions(parts: Sequence[Scores], names: Sequence[str]) -> tuple[Measure, ...]:
    """Return the measures of these names, or () if a part does not know its measures or if they differ."""
    known: dict[str, Measure] = {}
    for part in parts:
        for name, definition in zip(part.measures, part.definitions, strict=False):
            if repr(known.setdefault(name, definition)) != repr(definition):
                return ()
    return tuple(known[name] for name in names) if all(name in known for name in names) else ()


def _left_out(left_out: Mapping[str, int], what: str) -> Iterator[str]:
    if any(left_out.values()):
        yield " and ".join(counted(count, AXES[axis]) for axis, count in left_out.items() if count) + f" {what}"


def _differences_of_origin(parts: Sequence[Scores], along: str) -> Iterator[str]:
    """Yield notes if the joined scores come from different judgments or scoring options."""
    if (
        along != "queries"
        and len({text for part in parts if (text := digest_text(part.metadata.get("judgments")))}) > 1
    ):
        yield "the scores were made with different judgments"
    if along != "measures" and len({_options(part) for part in parts if part.definitions}) > 1:
        yield "the scores were made with different scoring options"


def _options(part: Scores) -> tuple[Any, ...]:
    return tuple(part.metadata.get(name) for name in SCORING)


def is_score_table(path: str) -> bool:
    """Return True if a file looks like scores: a matrix with systems in its header, or a table by system and query."""
    cells = _first_cells(path)
    header, row = [*cells], [*cells.values()]
    if len(header) < 2 or _is_table_of_documents(header):
        return False
    start = 2 if _is_long(header) else 1
    named = all(_number(cell) is None for cell in header[start:])
    return named and all(_number(cell) is not None or cell.lower() in UNDEFINED for cell in row[start:])


def _is_table_of_documents(header: Sequence[str]) -> bool:
    """Return True if the columns are those of judgments or of a run: a document, and its grade, score or rank."""
    names = {*map(plain_name, header)}
    return bool(names & DOCUMENT_NAMES) and bool(names & NUMBER_NAMES)


def are_stored_scores(path: str) -> bool:
    """Return True if a file holds a table of scores by query. A table of means is an error."""
    columns = [*_first_cells(path)]
    names = [plain_name(name) for name in columns]
    others = {*map(plain_name, QUERY_NAMES), *DOCUMENT_NAMES}
    if names[:1] == ["system"] and len(names) > 1 and not {*names} & others:
        raise CalipersError(
            "holds means, which cannot be compared query by query; write the scores by query instead "
            "(calipers evaluate -q)",
            file=path,
        )
    return _is_by_system(columns)


# -- pieces ------------------------------------------------------------------------------------------


def _first_cells(path: str) -> dict[str, str]:
    """Return the cells of the first row, or none for a file that is no table."""
    try:
        return _cells(first_row(path) or {})
    except CalipersError:
        return {}


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    return {name: "" if cell is None else str(cell).strip() for name, cell in row.items() if name not in ABOUT}


def _read(path: str, max_unpacked: int | None) -> Scores:
    rows: list[tuple[int, list[str]]] = []
    header, about = [], {}
    for row in rows_of_file(path, max_unpacked=max_unpacked):
        cells = _cells(row.cells)
        if not rows:
            header = [*cells]
            origin = () if row.of_table else ("like", "judgments")  # fields of JSON that are no scores
            about = {name: value if isinstance(value := row.cells.get(name), str) else None for name in origin}
        if [*cells] != header:
            raise row.error("the fields are not those of the first row")
        rows.append((row.line or row.number, [*cells.values()]))
    if not rows:
        raise CalipersError("expected a header and at least one row of scores", file=path)
    found = _long(path, header, rows) if _is_long(header) else _wide(path, header, rows)
    errors = [name for name in found.measures if _is_error(name)]
    return replace(found, metadata={**about, "lower": errors} if errors else about)


def _is_error(name: str) -> bool:
    """Return True for the name of a measure of texts for which smaller scores are better, such as TER."""
    from calipers.measures.grammar import parse

    try:
        return bool(getattr(parse(name).form, "lower", False))
    except CalipersError:
        return False


def _is_by_system(columns: Sequence[str]) -> bool:
    """Return True if the columns are system, query and scores. With a column of documents, the file is a run."""
    return _is_long(columns) and len(columns) > 2 and not {*map(plain_name, columns)} & DOCUMENT_NAMES


def _is_long(header: Sequence[str]) -> bool:
    return [name.strip().lower() for name in header[:2]] == ["system", "query"]


def _wide(path: str, header: list[str], rows: list[tuple[int, list[str]]]) -> Scores:
    has_ids = header[0].lower() in QUERY_NAMES or any(
        _number(row[0]) is None and row[0].lower() not in UNDEFINED for _, row in rows
    )
    systems = header[1:] if has_ids else header
    if not systems:
        raise CalipersError("there is no column of scores", file=path)
    if all(_number(name) is not None for name in systems):
        raise CalipersError("the first line holds numbers; expected the names of the systems", file=path, line=1)
    queries = [row[0] for _, row in rows] if has_ids else [str(i) for i in range(1, len(rows) + 1)]
    values = np.array([_numbers(path, line, row[1:] if has_ids else row, systems) for line, row in rows]).T
    for what, names in (("system", systems), ("query", queries)):
        if twice := _twice(names):
            raise CalipersError(f"the {what} '{twice}' is there twice", file=path)
    return as_scores(values, systems, queries, _stem(path))


def _long(path: str, header: list[str], rows: list[tuple[int, list[str]]]) -> Scores:
    measures = header[2:]
    if not measures:
        raise CalipersError("there is no column of scores after system and query", file=path)
    systems = list(dict.fromkeys(row[0] for _, row in rows))
    queries = list(dict.fromkeys(row[1] for _, row in rows))
    place_s = {name: i for i, name in enumerate(systems)}
    place_q = {name: i for i, name in enumerate(queries)}
    values = np.full((len(measures), len(systems), len(queries)), np.nan)
    seen = np.zeros(values.shape[1:], bool)
    for line, row in rows:
        cell = place_s[row[0]], place_q[row[1]]
        if seen[cell]:
            raise CalipersError(f"system '{row[0]}' has query '{row[1]}' twice", file=path, line=line)
        seen[cell] = True
        values[:, *cell] = _numbers(path, line, row[2:], measures)
    if twice := _twice(measures):
        raise CalipersError(f"the measure '{twice}' is there twice", file=path)
    reasons = np.where(np.isnan(values), Reason.MISSING, 0).astype(np.uint8)
    return Scores(tuple(measures), tuple(systems), tuple(queries), values, reasons)


def _numbers(path: str, line: int, cells: Sequence[str], names: Sequence[str]) -> Floats:
    found = np.empty(len(cells))
    for i, cell in enumerate(cells):
        value = _number(cell)
        if value is None:
            if cell.lower() not in UNDEFINED:
                raise CalipersError(f"score '{cell:.60}' of {names[i]} is not a number", file=path, line=line)
            value = math.nan
        found[i] = value
    return found


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def _renamed(parts: list[Scores], measures: list[str]) -> list[Scores]:
    if len(measures) != sum(len(part.measures) for part in parts):
        raise CalipersError(
            f"{counted(len(measures), 'name')} for {sum(len(p.measures) for p in parts)} measures of scores"
        )
    rest = iter(measures)
    return [replace(part, measures=tuple(next(rest) for _ in part.measures), definitions=()) for part in parts]


def _stem(path: str) -> str:
    name = Path(path).name
    return name.split(".", 1)[0] or name


def _twice(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
