"""Writing judgments and runs: TREC, JSON, JSON lines, CSV, TSV and Parquet, packed or not, as the file's name says.

Numbers are written so that they are read back to the last bit. A file is written whole or not at all.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from calipers.collection.arrow import arrow
from calipers.collection.files import lz4, zstd
from calipers.collection.frames import is_frame
from calipers.collection.judgments import Judgments
from calipers.collection.runs import Run
from calipers.collection.sources import Frame, Nested, read_judgments, read_run
from calipers.errors import CalipersError
from calipers.native.ids import encode
from calipers.native.scan_error import shown
from calipers.support.atomic_files import refuse_foreign, replacing
from calipers.support.checks import check_type
from calipers.support.extras import load

Opener = Callable[[str], AbstractContextManager[Any]]

OTHER_FORMATS = "Write CSV, JSON or Parquet instead."
_BREAKS_A_LINE = re.compile(r"[ \t\r\n\0]")
_BOM = "\ufeff"


def write_qrels(judgments: Judgments | str | Path | Frame | Nested, path: str | Path) -> None:
    """Write judgments (or what `evaluate` takes for them) to a file.

    The ending of its name says how: .parquet, .json, .jsonl, .csv, .tsv, anything else is TREC's; and .gz, .bz2, .xz,
    .zst or .lz4 behind it, what it is packed with.
    """
    if isinstance(judgments, Mapping):
        judgments = Judgments.from_dict(judgments)
    known = judgments if isinstance(judgments, Judgments) else read_judgments(judgments)
    graded = {query: {d: _plain(grade) for d, grade in of.items()} for query, of in known.to_dict().items()}
    _write(graded, str(path), "relevance", None)


def write_run(run: Run | str | Path | Frame | Nested, path: str | Path, name: str | None = None) -> None:
    """Write a run, from `read_run` or as {query: {document: score}}, to a file; its ending says how, as for qrels.

    `name` is the system's (TREC: the tag); without it, the run's own.
    """
    given: Any = Run.from_dict(run) if isinstance(run, Mapping) else run
    known: Run = read_run(given) if isinstance(given, str | Path) or is_frame(given) else given
    check_type("run", known, Run, "a Run, {query: {document: score}}, a frame or a path")
    scored = {query: _by_score(query, of, str(path)) for query, of in known.to_dict().items()}
    _write(scored, str(path), "score", name or _own_name(known))


def _own_name(run: Run) -> str:
    """Return the name that a user gave, or the tag of a TREC file, or the name of the run."""
    name = run.name  # which reads the tag of a file that was not read yet
    given, tag = getattr(run, "given_name", None), getattr(run, "tag", None)
    return given or tag or name


def _plain(grade: float) -> float:
    return int(grade) if grade.is_integer() else grade


def _by_score(query: str, scores: Mapping[str, float], file: str) -> dict[str, float]:
    """Return the documents with the best first. Equal scores keep their order."""
    try:
        numbers = {document: float(score) + 0.0 for document, score in scores.items()}
    except (TypeError, ValueError) as error:
        raise CalipersError(f"a score of query '{query}' is not a number ({error})", file=file) from None
    for document, score in numbers.items():
        if not math.isfinite(score):
            raise CalipersError(
                f"score {score} of document '{document}', query '{query}', is not a finite number", file=file
            )
    return dict(sorted(numbers.items(), key=lambda item: -item[1]))


# ------------------------------------------------------------------------------------------------ which way


def _write(content: Nested, path: str, value: str, name: str | None) -> None:
    if not any(content.values()):
        raise CalipersError("there is nothing to write", file=path)
    format, pack = format_of(path)
    with replacing(path) as temporary, pack(temporary) as file:
        try:
            _WRITERS[format](content, file, value, name)
        except CalipersError as error:
            raise CalipersError(error.message, file=path) from None


def format_of(path: str) -> tuple[str, Opener]:
    """Return the format and the compression that the name of a file stands for."""
    name = Path(path).name.lower()
    pack: Opener = _open
    for ending, how in _PACKINGS.items():
        if name.endswith(ending):
            name, pack = name.removesuffix(ending), how
            if ending == ".lz4" and "." not in name:
                return "json", pack  # ranx's
            break
    refuse_foreign(name, tuple(ending.lstrip(".") for ending in _ENDINGS), WRITTEN)
    return _ENDINGS.get(Path(name).suffix, "trec"), pack


WRITTEN = "judgments and runs are written as .txt (TREC), .csv, .tsv, .json, .jsonl or .parquet"


def _open(path: str) -> BinaryIO:
    return open(path, "wb")


@contextmanager
def _gzip(path: str) -> Iterator[Any]:
    import gzip

    # Without name and time in it: the same content gives the same file.
    with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        yield packed


def _bzip2(path: str) -> Any:
    import bz2

    return bz2.open(path, "wb")


def _xz(path: str) -> Any:
    import lzma

    return lzma.open(path, "wb")


_PACKINGS: dict[str, Opener] = {
    ".gz": _gzip,
    ".bz2": _bzip2,
    ".xz": _xz,
    ".zst": lambda path: zstd().open(path, "wb"),
    ".lz4": lambda path: lz4().open(path, "wb"),
}
_ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
}


# ------------------------------------------------------------------------------------------------ the formats


def _trec(content: Nested, file: BinaryIO, value: str, name: str | None) -> None:
    run = value == "score"
    if run:
        check_trec_field(name or "", "the name of the run", "Give it another name.")
    first = True
    for query, of in content.items():
        check_trec_field(query, "the query", OTHER_FORMATS)
        if query.startswith("#") or (first and query.startswith(_BOM)):
            raise CalipersError(f"query {_shown(query)} would start a line that is skipped. {OTHER_FORMATS}")
        first = first and not of
        lines = []
        for rank, (document, number) in enumerate(of.items(), 1):
            check_trec_field(document, "the document", OTHER_FORMATS)
            lines.append(
                f"{query} Q0 {document} {rank} {number!r} {name}\n" if run else f"{query} 0 {document} {number!r}\n"
            )
        file.write("".join(lines).encode("utf-8", "surrogateescape"))


def check_trec_field(text: str, what: str, remedy: str) -> None:
    """Refuse text that a field of a TREC file cannot hold. remedy: a sentence that says what to do instead."""
    if not text or _BREAKS_A_LINE.search(text):
        wrong = "contain spaces" if text else "be empty"
        raise CalipersError(f"cannot write {what} {_shown(text)} to a TREC file: ids must not {wrong}. {remedy}")


def _shown(text: str) -> str:
    return shown(encode(text))


def _rows(content: Nested, value: str, name: str | None) -> Iterable[dict[str, Any]]:
    system = {} if name is None else {"system": name}
    for query, of in content.items():
        for document, number in of.items():
            yield {"query_id": query, "doc_id": document, value: number, **system}


def _json(content: Nested, file: BinaryIO, value: str, name: str | None) -> None:
    file.write(json.dumps(content, allow_nan=False).encode("ascii") + b"\n")


def _json_lines(content: Nested, file: BinaryIO, value: str, name: str | None) -> None:
    for row in _rows(content, value, name):
        file.write(json.dumps(row, allow_nan=False).encode("ascii") + b"\n")


def _delimited(delimiter: str) -> Callable[[Nested, BinaryIO, str, str | None], None]:
    def write(content: Nested, file: BinaryIO, value: str, name: str | None) -> None:
        buffer = io.StringIO(newline="")
        # Text is quoted, so that no id can break a line.
        writer = csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        buffer.write(delimiter.join(["query_id", "doc_id", value] + ([] if name is None else ["system"])) + "\n")
        for row in _rows(content, value, name):
            _refuse_empty(row)
            writer.writerow(row.values())
            if buffer.tell() > 1 << 20:
                file.write(_text(buffer))
                buffer.seek(0)
                buffer.truncate()
        file.write(_text(buffer))

    return write


def _refuse_empty(row: Mapping[str, Any]) -> None:
    if not row["query_id"] or not row["doc_id"]:
        raise CalipersError("cannot write an empty id to CSV, where it would be a missing value: write JSON or Parquet")


def _text(buffer: io.StringIO) -> bytes:
    try:
        return buffer.getvalue().encode()
    except UnicodeEncodeError:
        raise CalipersError("cannot write ids that are not text (UTF-8) to CSV: write TREC, JSON or Parquet") from None


def _parquet(content: Nested, file: BinaryIO, value: str, name: str | None) -> None:
    pa = arrow()
    parquet = load("pyarrow.parquet", extra="frames", what="Parquet files")
    numbers = [number for of in content.values() for number in of.values()]
    columns = {
        "query_id": _column(query for query, of in content.items() for _ in of),
        "doc_id": _column(document for of in content.values() for document in of),
        value: pa.array(numbers, pa.float64() if any(isinstance(n, float) for n in numbers) else pa.int64()),
    }
    if name is not None:
        columns["system"] = _column([name] * len(numbers))
    parquet.write_table(pa.table(columns), file)


def _column(ids: Iterable[str]) -> Any:
    """Text; or bytes, where an id is no UTF-8."""
    pa = arrow()
    column = pa.array([encode(identifier) for identifier in ids], pa.large_binary())
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return column


_WRITERS: dict[str, Callable[[Nested, BinaryIO, str, str | None], None]] = {
    "trec": _trec,
    "json": _json,
    "jsonl": _json_lines,
    "csv": _delimited(","),
    "tsv": _delimited("\t"),
    "parquet": _parquet,
}
