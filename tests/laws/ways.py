"""The ways from a collection to scores: all that accept it give the same numbers, all that refuse it the same words.

A way says which functions it passes through and which it avoids, so that a test can prove that it was really taken
(`traced`). Ways that cannot hold an input (an id that is no UTF-8 in JSON) do not take it: `Way.takes`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import math
import os
import random
import re
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import factorial, prod
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import calipers as cal
import oracle
from calipers.cli import commands
from calipers.collection import files, reader, table_rows as rows
from calipers.collection.formats import parquet as parquet_format
from calipers.errors import CalipersError
from calipers.measures.grammar import parse_all
from calipers.native import plain as _plain, scanner
from calipers.native.scan_error import ScanError
from calipers.results import tables
from calipers.results.tables import visible
from laws.odd import PACKINGS, TREC, Collection, Rows

Values = dict[tuple[int, str, str], float | None]  # system, measure, query; None where undefined
Taken = Counter[str]  # how often each way was taken

CLOSE = 1e-12  # relative: scores may be sums in another order
PART, BLOCK = 64, 37  # bytes, where small pieces are forced


@dataclass(frozen=True)
class Outcome:
    """Scores, and the means as they are shown; or the words of a refusal."""

    values: Values = field(default_factory=dict)
    means: tuple[tuple[str, ...], ...] = ()
    refusal: str | None = None


@dataclass(frozen=True)
class Way:
    name: str
    run: Callable[[Collection, Path], Outcome | None]  # None: left to another way
    kind: str = "text"  # or "table": has rows, but no lines to name in an error
    passes: tuple[str, ...] = ()  # "file.py:function" that is called
    avoids: tuple[str, ...] = ("plain.py:",)
    takes: Callable[[Collection], bool] = lambda case: True


# -- files ------------------------------------------------------------------------------------------------


def write_text(case: Collection, folder: Path) -> tuple[str, list[str]]:
    """The files as they are; written once per folder."""
    paths = [folder / "qrels", *(folder / f"run{i}" for i in range(len(case.runs)))]
    if not paths[0].exists():
        for path, content in zip(paths, (case.qrels, *case.runs), strict=True):
            path.write_bytes(content)
    qrels, *runs = map(str, paths)
    return qrels, runs


def packers() -> dict[str, Callable[[bytes], bytes]]:
    zstd, lz4 = files.zstd(), files.lz4()
    return dict(zip(PACKINGS, (gzip.compress, bz2.compress, lzma.compress, zstd.compress, lz4.compress), strict=True))


def write_packed(case: Collection, folder: Path) -> tuple[str, list[str]]:
    """The same bytes in joined members that are cut anywhere, one of them perhaps empty."""
    pick = random.Random(case.seed)
    paths = []
    for name, content in zip(
        ["qrels", *(f"run{i}" for i in range(len(case.runs)))], (case.qrels, *case.runs), strict=True
    ):
        packing = pick.choice(PACKINGS)
        cuts = sorted(pick.randint(0, len(content)) for _ in range(pick.choice([0, 1, 2])))
        members = [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]
        path = folder / f"{name}.{packing}"
        path.write_bytes(b"".join(map(packers()[packing], members)))
        paths.append(str(path))
    return paths[0], paths[1:]


# -- from answers to outcomes ------------------------------------------------------------------------------


def of_scores(scores: cal.Scores) -> Outcome:
    values: Values = {
        (s, measure, query): None if math.isnan(scores.values[m, s, q]) else float(scores.values[m, s, q])
        for m, measure in enumerate(scores.measures)
        for s in range(len(scores.systems))
        for q, query in enumerate(scores.queries)
    }
    return Outcome(values, tuple(tuple(map(shown, row[1:])) for row in scores.mean().rows))


def shown(cell: Any) -> str:
    """A mean as tables show it."""
    return tables._short(cell)


def refused(error: CalipersError, folder: Path) -> Outcome:
    return Outcome(refusal=plain_words(str(error), folder))


def plain_words(message: str, folder: Path) -> str:
    """A message without what differs by the way: folders, endings of files, `calipers:`, control characters."""
    message = visible(message.strip()).removeprefix("calipers: ").replace(f"{folder}/", "")
    message = re.sub(r"\b(qrels|run\d)(\.\w+)+", r"\1", message)
    message = re.sub(r"(--combine|the argument combine \(for example combine='max'\)) makes", "combine makes", message)
    return re.sub(r"answers a query of .*", "answers a query of the judgments", message)


def without_place(message: str) -> str:
    """Without file, line or row: tables have no lines."""
    return re.sub(r"^(?:(?:qrels|runs|run\d|run|judgments)(?::\d+)?: )?(?:row \d+: )?", "", message)


def library(
    case: Collection, folder: Path, sources: Callable[[Collection, Path], tuple[Any, Any]], **options: Any
) -> Outcome:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parse_all(case.measures)  # a wrong name is refused before anything is read
            judgments, runs = sources(case, folder)
            return of_scores(
                cal.evaluate(
                    judgments, runs, case.measures, ties=case.ties, depth=case.depth, unmatched="warn", **options
                )
            )
    except CalipersError as error:
        return refused(error, folder)


class _Captured(io.TextIOWrapper):
    """Takes what is printed, as bytes."""

    def __init__(self, errors: str) -> None:
        self.raw_bytes = io.BytesIO()
        super().__init__(self.raw_bytes, "utf-8", errors, write_through=True)


Said = tuple[int, bytes, str]  # exit code, stdout, stderr


def said_by(run: Callable[[list[str]], int], arguments: list[str]) -> Said:
    """Run a command. Return its exit code and what it prints."""
    out, err = _Captured("surrogateescape"), _Captured("backslashreplace")
    with redirect_stdout(out), redirect_stderr(err):
        code = run(arguments)
    return code, out.raw_bytes.getvalue(), err.raw_bytes.getvalue().decode()


def arguments_of(case: Collection, folder: Path, *more: str) -> list[str]:
    qrels, runs = write_text(case, folder)
    asked = ["evaluate", qrels, *runs]
    for measure in case.measures:
        asked += ["-m", measure]
    if case.ties:
        asked += ["--ties", case.ties]
    if case.depth:
        asked += ["--depth", str(case.depth)]
    return [*asked, "--unmatched", "warn", *more]


def in_command(run: Callable[[list[str]], int], *more: str) -> Callable[[Collection, Path], Outcome | None]:
    """A way through a command: once for the queries, once for the means."""

    def way(case: Collection, folder: Path) -> Outcome | None:
        answers = []
        for options in (["-q", "--format", "json"], ["--format", "json"]):
            code, out, err = said_by(run, arguments_of(case, folder, *options, *more))
            if code:
                return Outcome(refusal=plain_words(err.strip().rpartition("\ncalipers: ")[2], folder))  # after notes
            answers.append(json.loads(out.decode("utf-8", "surrogateescape")))
        by_query, means = answers
        systems = list(dict.fromkeys(row["system"] for row in by_query))
        values: Values = {
            (systems.index(row["system"]), measure, row["query"]): row[measure]
            for row in by_query
            for measure in case.measures
        }
        return Outcome(values, tuple(tuple(shown(row[measure]) for measure in case.measures) for row in means))

    return way


# -- ways that are forced -----------------------------------------------------------------------------------


@contextmanager
def small_pieces() -> Iterator[None]:
    """Files of a few lines are cut into parts, blocks and batches, as large ones are."""
    with (
        patch.object(reader, "SMALLEST_PART", PART),
        patch.object(reader, "BLOCK", BLOCK),
        patch.dict(reader.scan_run.__kwdefaults__, {"smallest_part": PART}),
        patch.dict(files.blocks.__kwdefaults__, {"size": BLOCK}),
        patch.object(rows, "SMALLEST_PART", 3),
        patch.object(rows, "AT_ONCE", 5),
        patch.object(parquet_format, "SMALLEST_PART", 3),
        patch.object(parquet_format, "AT_ONCE", 5),
    ):
        yield


@contextmanager
def plain_twin() -> Iterator[None]:
    """The scanner in plain Python, everywhere."""
    offered = {name: value for name, value in vars(scanner).items() if callable(value) and value is not ScanError}
    compiled = {id(value): name for name, value in offered.items() if hasattr(_plain, name)}
    changed: list[tuple[Any, str, Any]] = []
    for module in [module for name, module in sys.modules.items() if name.startswith("calipers.")]:
        if module is _plain or module.__name__.endswith("._scanner"):
            continue
        for name, value in [*vars(module).items()]:
            if id(value) in compiled:
                changed.append((module, name, value))
                setattr(module, name, getattr(_plain, compiled[id(value)]))
            elif name == "COMPILED":
                changed.append((module, name, value))
                setattr(module, name, False)
    try:
        yield
    finally:
        for module, name, value in changed:
            setattr(module, name, value)


def forced(
    context: Callable[[], Any], way: Callable[..., Outcome | None]
) -> Callable[[Collection, Path], Outcome | None]:
    def run(case: Collection, folder: Path) -> Outcome | None:
        with context():
            return way(case, folder)

    return run


def converted(ending: str) -> Callable[[Collection, Path], tuple[Any, Any]]:
    """Through `write_run` and `write_qrels` and back."""

    def sources(case: Collection, folder: Path) -> tuple[Any, Any]:
        qrels, runs = write_text(case, folder)
        cal.write_qrels(cal.read_qrels(qrels), folder / f"qrels{ending}")
        for run in runs:
            cal.write_run(cal.read_run(run, name=Path(run).name), f"{run}{ending}")
        return str(folder / f"qrels{ending}"), [f"{run}{ending}" for run in runs]

    return sources


# -- tables -------------------------------------------------------------------------------------------------


def columns_of(of: Rows, value: str, as_bytes: bool = False) -> dict[str, list[Any]]:
    decode = (lambda text: text) if as_bytes else (lambda text: text.decode())
    return {
        "query_id": [decode(query) for query, _, _ in of],
        "doc_id": [decode(document) for _, document, _ in of],
        value: [float(number) for _, _, number in of],
    }


def nested(of: Rows) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for query, document, number in of:
        found.setdefault(query.decode("utf-8", "surrogateescape"), {})[document.decode("utf-8", "surrogateescape")] = (
            float(number)
        )
    return found


def has_rows(case: Collection) -> bool:
    return case.grades is not None and None not in case.scores


def has_text(case: Collection) -> bool:
    """Whether all ids are UTF-8."""
    if not has_rows(case):
        return False
    try:
        for of in (case.grades, *case.scores):
            for row in of or ():
                row[0].decode()
                row[1].decode()
    except UnicodeDecodeError:
        return False
    return True


def has_distinct(case: Collection) -> bool:
    """Whether {query: {document: number}} holds all of it."""
    return (
        has_rows(case)
        and all(len({row[:2] for row in of or ()}) == len(of or ()) for of in case.scores)
        and case.is_legal
    )


def has_text_and_distinct(case: Collection) -> bool:
    return has_text(case) and has_distinct(case)


def dictionaries(case: Collection, folder: Path) -> tuple[Any, Any]:
    return nested(case.grades or []), {f"run{i}": nested(of or []) for i, of in enumerate(case.scores)}


def frames(make: Callable[[dict[str, list[Any]]], Any]) -> Callable[[Collection, Path], tuple[Any, Any]]:
    def sources(case: Collection, folder: Path) -> tuple[Any, Any]:
        runs = {f"run{i}": make(columns_of(of or [], "score")) for i, of in enumerate(case.scores)}
        return make(columns_of(case.grades or [], "grade")), runs

    return sources


def pandas_frame(columns: dict[str, list[Any]]) -> Any:
    import pandas

    return pandas.DataFrame(columns)


def polars_frame(columns: dict[str, list[Any]]) -> Any:
    import polars

    return polars.DataFrame(columns)


def table_files(ending: str, write: Callable[[Path, Rows, str], None]) -> Callable[[Collection, Path], tuple[Any, Any]]:
    def sources(case: Collection, folder: Path) -> tuple[Any, Any]:
        paths = []
        for name, of, value in [
            ("qrels", case.grades, "grade"),
            *((f"run{i}", of, "score") for i, of in enumerate(case.scores)),
        ]:
            path = folder / f"{name}.{ending}"
            write(path, of or [], value)
            paths.append(str(path))
        return paths[0], {f"run{i}": path for i, path in enumerate(paths[1:])}

    return sources


def write_nested(path: Path, of: Rows, value: str) -> None:
    path.write_text(json.dumps(nested(of)), encoding="utf-8")


def write_json_lines(path: Path, of: Rows, value: str) -> None:
    columns = columns_of(of, value)
    rows_ = zip(*columns.values(), strict=True)
    path.write_text(
        "".join(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n" for row in rows_),
        encoding="utf-8",
    )


def write_csv(path: Path, of: Rows, value: str) -> None:
    import csv

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        columns = columns_of(of, value)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def write_triples(path: Path, of: Rows, value: str) -> None:
    path.write_bytes(b"".join(b"\t".join(row) + b"\n" for row in of))


def write_answers(path: Path, of: Rows, value: str) -> None:
    """As search engines do: responses, and a judgment list."""
    lists = nested(of).items()
    if value == "grade":
        ratings = [
            {"query": q, "ratings": [{"docId": d, "rating": n} for d, n in ranked.items()]} for q, ranked in lists
        ]
        path.write_text(json.dumps({"judgmentRatings": ratings}), encoding="utf-8")
        return
    hits = [{"qid": q, "hits": {"hits": [{"_id": d, "_score": n} for d, n in ranked.items()]}} for q, ranked in lists]
    path.write_text("\n".join(map(json.dumps, hits)), encoding="utf-8")


def has_plain_triples(case: Collection) -> bool:
    """Whether lines of three fields say the same: no file has only ranks, or starts with what is LETOR or no text."""
    starts = [b" ".join(of[0]) for of in (case.grades, *case.scores) if of]
    if not has_rows(case) or any(re.search(rb"[\x00-\x1f\x7f]| qid:", start) for start in starts):
        return False
    places: dict[tuple[int, bytes], int] = {}
    ranked = [True] * len(case.scores)
    for run, of in enumerate(case.scores):
        for query, _, number in of or ():
            places[run, query] = place = places.get((run, query), 0) + 1
            ranked[run] = ranked[run] and float(number) == place
    return not any(ranked)


def write_parquet(path: Path, of: Rows, value: str) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = columns_of(of, value, as_bytes=True)
    as_text = all(_is_text(of) for of in (*columns["query_id"], *columns["doc_id"]))
    kind = pa.string() if as_text else pa.binary()
    arrays = {name: pa.array(of, pa.float64() if name == value else kind) for name, of in columns.items()}
    parquet.write_table(pa.table(arrays), path, row_group_size=7)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


# -- the definition, in exact fractions ----------------------------------------------------------------------

_NAME = re.compile(r"([A-Za-z]+)(?:\((.*)\))?(?:@(\d+))?")
_MEASURES: dict[str, Callable[..., Any]] = {
    "ndcg": oracle.ndcg,
    "dcg": oracle.dcg,
    "ap": oracle.average_precision,
    "p": oracle.precision,
    "recall": oracle.recall,
    "rprec": oracle.r_precision,
    "rr": oracle.reciprocal_rank,
    "success": oracle.success,
    "rbp": oracle.rbp,
}


def _exact(name: str) -> Callable[..., Any] | None:
    found = _NAME.fullmatch(name)
    if not found or found[1].lower() not in _MEASURES:
        return None
    options: dict[str, Any] = {"k": int(found[3])} if found[3] else {}
    for pair in filter(None, (found[2] or "").split(",")):
        key, _, value = pair.partition("=")
        options[key.strip()] = int(value) if key.strip() == "rel" else value.strip()
    if any(key not in ("k", "rel", "gain", "p") or "{" in str(value) for key, value in options.items()):
        return None
    return partial(_MEASURES[found[1].lower()], **options)


def has_definition(case: Collection) -> bool:
    return (
        case.is_legal
        and has_text_and_distinct(case)
        and case.depth is None
        and (case.ties in ("docid", "input") or case.ties in (None, "average"))
        and all(map(_exact, case.measures))
        and all(abs(float(number)) <= 60 for _, _, number in case.grades or ())
    )


def defined(case: Collection, folder: Path) -> Outcome | None:
    """By the formulas, order by order; without means, as those are floats. None where there are too many orders."""
    judged = nested(case.grades or [])
    if not any(judged.keys() & nested(of or []).keys() for of in case.scores):
        return None  # refused by all others
    values: Values = {}
    for s, of in enumerate(case.scores):
        run = nested(of or [])
        for query, grades in judged.items():
            pool = [Fraction(grade) for grade in grades.values()]
            scored = {
                document: (Fraction(score), Fraction(grades[document]) if document in grades else None)
                for document, score in run.get(query, {}).items()
            }
            groups = oracle.ordered(scored, case.ties or "average")
            if prod(factorial(len(group)) for group in groups) > 5_000:
                continue
            for measure in case.measures:
                exact = _exact(measure)
                assert exact is not None
                value = oracle.average(exact, groups, pool) if groups else exact([], pool)
                values[s, measure, query] = float(value or 0)
    return Outcome(values)


# -- the table ------------------------------------------------------------------------------------------------

TEXT = partial(library, sources=lambda case, folder: write_text(case, folder))
CUT = forced(small_pieces, partial(TEXT, jobs=2))
TABLE = {"kind": "table", "takes": has_text}

WAYS = {
    way.name: way
    for way in (
        Way(
            "library",
            partial(TEXT, jobs=1),
            passes=("evaluation.py:evaluate", "reader.py:scan_run"),
            avoids=("plain.py:", "reader.py:_in_parts"),
        ),
        Way("command", in_command(commands.run), passes=("commands.py:run", "evaluation.py:evaluate")),
        Way(
            "command, two jobs",
            forced(small_pieces, in_command(commands.run, "--jobs", "2")),
            passes=("commands.py:run", "reader.py:_in_parts"),
        ),
        Way("two jobs", CUT, passes=("reader.py:_in_parts",)),
        Way("plain twin", forced(plain_twin, partial(TEXT, jobs=1)), passes=("plain.py:RunScanner.finish",), avoids=()),
        Way(
            "plain twin, two jobs",
            forced(plain_twin, CUT),
            passes=("plain.py:RunScanner.finish", "reader.py:_in_parts"),
            avoids=(),
        ),
        Way("packed", partial(library, sources=write_packed), passes=("files.py:_unpacked",)),
        Way(
            "written again",
            partial(library, sources=converted(".txt")),
            passes=("writing.py:_trec",),
            takes=lambda case: case.is_legal and "bom" not in case.traits,
        ),
        Way(
            "dictionaries",
            partial(library, sources=dictionaries),
            kind="table",
            takes=has_text_and_distinct,
            passes=("runs.py:DictRun.retrieved",),
        ),
        Way("pandas", partial(library, sources=frames(pandas_frame)), passes=("frames.py:runs_of_frame",), **TABLE),
        Way(
            "polars",
            forced(small_pieces, partial(library, sources=frames(polars_frame), jobs=2)),
            passes=("frames.py:runs_of_frame", "table_rows.py:_side_by_side"),
            **TABLE,
        ),
        Way(
            "JSON",
            partial(library, sources=table_files("json", write_nested)),
            kind="table",
            takes=has_text_and_distinct,
            passes=("json.py:read_json",),
        ),
        Way(
            "JSON lines",
            partial(library, sources=table_files("jsonl", write_json_lines)),
            passes=("json.py:read_json",),
            **TABLE,
        ),
        Way(
            "three columns",
            partial(library, sources=table_files("tsv", write_triples)),
            kind="table",
            takes=has_plain_triples,
            passes=("headerless.py:read_headerless",),
        ),
        Way(
            "search responses",
            partial(library, sources=table_files("answers", write_answers)),
            kind="table",
            takes=has_text_and_distinct,
            passes=("responses.py:read_responses", "judgment_lists.py:read_judgment_list"),
        ),
        Way("CSV", partial(library, sources=table_files("csv", write_csv)), passes=("csv.py:read_csv",), **TABLE),
        Way(
            "Parquet",
            forced(small_pieces, partial(library, sources=table_files("parquet", write_parquet), jobs=2)),
            kind="table",
            takes=has_rows,
            passes=("parquet.py:parts_of_parquet", "table_rows.py:_side_by_side"),
        ),
        Way("definition", defined, kind="table", takes=has_definition, passes=("oracle.py:average",)),
    )
}


def difference(
    case: Collection, folder: Path, taken: Taken | None = None, ways: Mapping[str, Way] = WAYS, printed: bool = True
) -> str | None:
    """What two ways make differently of a collection; None if all agree.

    taken: counts the ways that answered. printed: compare what commands print as well, and trec_eval's faces.
    """
    first: tuple[str, Outcome] | None = None
    for way in ways.values():
        if not way.takes(case):
            continue
        try:
            found = way.run(case, folder)
        except Exception as error:  # no input may cause one
            raise AssertionError(f"{way.name}: {type(error).__name__}: {error}\n{told(case)}") from error
        if found is None:
            continue
        if taken is not None:
            taken[way.name] += 1
        if case.must_be_refused and found.refusal is None:
            return f"{way.name} accepts it\n{told(case)}"
        if first is None:
            first = way.name, found
        elif differ := outcomes_differ(first[1], found, way.kind):
            return f"{first[0]} and {way.name}: {differ}\n{told(case)}"
    if not printed:
        return None
    return text_difference(case, folder) or trec_difference(case, folder, taken)


def told(case: Collection) -> str:
    return f"{case}\n{case.qrels!r}\n{case.runs!r}"


def outcomes_differ(one: Outcome, other: Outcome, kind: str = "text") -> str | None:
    if one.refusal is not None or other.refusal is not None:
        words = [
            each.refusal if kind == "text" or each.refusal is None else without_place(each.refusal)
            for each in (one, other)
        ]
        return None if words[0] == words[1] else f"refusal {one.refusal!r} and {other.refusal!r}"
    for key, value in other.values.items():
        if key not in one.values:
            return f"{key} is only in one"
        if not same(one.values[key], value):
            return f"{key}: {one.values[key]!r} and {value!r}"
    if other.means and len(one.values) != len(other.values):
        return f"{len(one.values)} and {len(other.values)} scores"
    if other.means and one.means != other.means:
        return f"means {one.means} and {other.means}"
    return None


def same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-15)


def text_difference(case: Collection, folder: Path) -> str | None:
    """Compare what `evaluate` prints with either scanner, to the last byte of a table."""
    form = random.Random(case.seed).choice(["table", "csv", "table"])
    arguments = arguments_of(case, folder, "--format", form)
    compiled, plain = said_by(commands.run, arguments), said_by(plain_command, arguments)
    if form == "csv":  # digits beyond those that ways share
        compiled, plain = _rounded(compiled), _rounded(plain)
    return None if compiled == plain else f"the command prints\n{compiled}\n{plain}\n{told(case)}"


def plain_command(arguments: list[str]) -> int:
    """Run a command with the plain scanner."""
    with plain_twin():
        return commands.run(arguments)


def _rounded(said: Said) -> Said:
    code, out, err = said
    return code, re.sub(rb"\d+\.\d{11,}(?:e-?\d+)?|\d+e-\d+", lambda found: b"%.10f" % float(found[0]), out), err


# -- trec_eval's faces ------------------------------------------------------------------------------------------


def has_trec(case: Collection) -> bool:
    """What pytrec_eval can be given: whole grades, not all below 0, and scores that are finite in single precision."""
    return (
        has_text_and_distinct(case)
        and case.is_legal
        and all(abs(float(n)) < 1e6 and float(n) == int(float(n)) for _, _, n in case.grades or ())
        and all(abs(float(n)) < 3e38 for of in case.scores for _, _, n in of or ())
        and all(max(grades.values()) >= 0 for grades in nested(case.grades or []).values())
    )


_SOME = ["-m", "map", "-m", "recall.5,1", "-m", "ndcg_cut.3", "-m", "success", "-m", "map_cut.2"]
TREC_OPTIONS = [
    ["-q", "-c"],
    ["-c"],
    ["-n", "-q", "-c"],
    ["-q"],
    ["-c", "-M", "4"],
    ["-q", "-c", "-l", "2"],
    ["-q", "-c", *_SOME],
]


def trec_difference(case: Collection, folder: Path, taken: Taken | None = None) -> str | None:
    """Compare pytrec_eval, `drop_in` and `like="trec_eval-9"`; and the trec_eval command with either scanner."""
    counted = Counter() if taken is None else taken
    qrels, runs = write_text(case, folder)
    arguments = ["trec_eval", *random.Random(case.seed).choice(TREC_OPTIONS), qrels, runs[0]]
    compiled, plain = said_by(commands.run, arguments), said_by(plain_command, arguments)
    counted["trec_eval"] += 1
    if compiled != plain:
        return f"trec_eval prints\n{compiled}\n{plain}\n{told(case)}"
    if not has_trec(case):
        return None
    judged = {query: {d: int(g) for d, g in of.items()} for query, of in nested(case.grades or []).items()}
    run = nested(case.scores[0] or [])
    answers = {"drop_in": _evaluator("calipers.tools.pytrec_eval", judged, run)}
    if (theirs := _evaluator("pytrec_eval", judged, run)) is not None:
        answers["pytrec_eval"] = theirs
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = cal.evaluate(judged, run, TREC, like="trec_eval-9", unmatched="warn")
        answers["like trec_eval-9"] = {
            query: {name: float(scores[name][0, q]) for name in TREC}
            for q, query in enumerate(scores.queries)
            if query in run
        }
    except CalipersError:
        pass  # no query in common
    for name, answer in answers.items():
        counted[name] += 1
        for query, of in (answer or {}).items():
            for measure, value in of.items():
                ours = (answers["drop_in"] or {})[query][measure]
                if not abs(ours - (0.0 if math.isnan(value) else value)) <= 1e-9:
                    return f"{name} and drop_in, {measure} of {query}: {value} and {ours}\n{told(case)}"
    return None


def _evaluator(module: str, judged: Any, run: Any) -> dict[str, dict[str, float]] | None:
    import importlib

    try:
        evaluator = importlib.import_module(module).RelevanceEvaluator
    except ImportError:
        return None
    answer: dict[str, dict[str, float]] = evaluator(judged, set(TREC)).evaluate(run)
    return answer


# -- which way was taken ------------------------------------------------------------------------------------------


@contextmanager
def traced() -> Iterator[set[str]]:
    """The functions that are called meanwhile, in all threads, as "file.py:qualified.name"."""
    seen: set[Any] = set()
    names: set[str] = set()

    def profile(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield names
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        names |= {f"{os.path.basename(code.co_filename)}:{code.co_qualname}" for code in seen}


# -- Spark ----------------------------------------------------------------------------------------------------------


def on_spark(session: Any) -> Way:
    """The Spark engine, its splits as small as the files are.

    Rows that it drops before it moves them are checked by nobody; so it is asked a second time to drop none.
    """
    from calipers import spark

    def scored(case: Collection, folder: Path, precut: bool) -> cal.Scores | Outcome:
        qrels, runs = write_text(case, folder)
        asked = {"ties": case.ties, "depth": case.depth, "precut": precut}
        try:
            known = spark.read_judgments(session, qrels)
            systems = spark.read_runs(session, runs, ordered=case.ties == "input")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return spark.collect(spark.evaluate(known, systems, list(case.measures), **asked))
        except CalipersError as error:
            return refused(error, folder)

    def run(case: Collection, folder: Path) -> Outcome | None:
        scores, cut = scored(case, folder, False), scored(case, folder, True)
        if isinstance(scores, Outcome):
            return scores
        assert isinstance(cut, cal.Scores), f"{case}: refused only where rows are dropped: {cut}"
        np.testing.assert_array_equal(scores.values, cut.values, f"{case}: other scores where rows are dropped")
        order = np.argsort(
            [int(name[1:]) if re.fullmatch(r"s\d", name) else 0 for name in scores.systems], kind="stable"
        )
        found = of_scores(scores)
        back = {int(s): place for place, s in enumerate(order)}
        return Outcome(
            {(back[s], measure, query): value for (s, measure, query), value in found.values.items()},
            tuple(found.means[s] for s in order),
        )

    return Way("Spark", run, kind="table", takes=has_text, passes=("plan.py:evaluate",))
