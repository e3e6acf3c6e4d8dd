"""Read texts from files, frames and rows. The format of a file is recognised by content, and it may be compressed.

    JSON lines    one object per document and system: summary, references (a list, or one text), id, system, source,
                  human (an object of scores), scores (an object of other tools' scores). A document's source and
                  references may stand in one of its lines only.
    CSV, TSV      a header with the same names, one row per document and system; several references as reference1,
                  reference2, ..., human scores as human.coherence, ..., other tools' scores as scores.faithfulness, ...
    Parquet       the same columns; so are frames of pandas and polars, and lists of dicts
    SummEval      one object: {id: {src, ref_summs, sys_summs: {system: {sys_summ, scores}}}}
    parallel      plain text, line n of every file belonging to document n

Where there is no id, the nth text of each system is about document n; where there is no system, all texts are by one,
which is named like the file. `NAMES` lists the names of fields: those of SummEval's first release (decoded, model_id,
text, expert_annotations), of translations (candidate, hypothesis), of questions (qid, prediction, answers), of the
AutoNuggetizer (qid, run_id, answer_text, nuggets) and of RAGAS (user_input, response, retrieved_contexts).

Fabbri et al., SummEval: re-evaluating summarization evaluation, TACL 2021.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from calipers.collection.files import blocks, plain_file, start_of
from calipers.collection.frames import is_frame
from calipers.collection.run_names import stem_of
from calipers.errors import CalipersError
from calipers.support.extras import load
from calipers.support.plurals import counted
from calipers.texts.answer_judgments import AnswerJudgments, answer_judgments, passages_of, relevance_of, text_of
from calipers.texts.collection import ANSWERS, SUMMARIES, TEXTS, Document, TextCollection, TextKind

Path = str | os.PathLike[str]
TextsLike = Any  # a path, a frame, rows as dicts, or a TextCollection

# A name counts for the first field that has it, so that `answer` is what a system wrote unless `prediction` is.
NAMES = {
    "id": ("id", "doc_id", "document", "qid", "query_id", "question_id", "topic_id"),
    "system": ("system", "model_id", "model", "run_id"),
    "text": (
        "summary",
        "decoded",
        "sys_summ",
        "candidate",
        "prediction",
        "hypothesis",
        "answer_text",
        "response",
        "answer",
    ),
    "source": ("source", "src", "text", "article"),
    "question": ("question", "user_input", "query"),
    "references": ("references", "reference", "ref_summs", "ref_summ", "answers", "ground_truth", "answer"),
    "human": ("human", "expert_annotations"),
    "scores": ("scores",),
    "nuggets": ("nuggets",),
    "statements": ("statements",),
    "retrieved": ("retrieved", "retrieved_context_ids"),
    "passages": ("passages", "contexts", "retrieved_contexts"),
    "relevant": ("relevant", "reference_context_ids"),
}
_OF_SUMMARIES = frozenset(("summary", "decoded", "sys_summ"))
_OF_ANSWERS = frozenset(("prediction", "answer_text", "response", "answer"))
_LISTS = ("references", "nuggets", "statements", "retrieved", "passages", "relevant")
_NUMBERED = re.compile(r"(?:references?|ref|answers?)[ _.-]?\d+$", re.IGNORECASE)
_NAMED_SCORE = {"human": re.compile(r"human[ _.:-](.+)$", re.IGNORECASE), "scores": re.compile(r"scores?[.:](.+)$")}
_LIST = re.compile(r"""\s*\[\s*(["']|\]\s*$)""")  # a cell that holds a list of texts, not a text
_DELIMITERS = (",", "\t", ";")
_NO_SCORE = frozenset(("", "na", "n/a", "nan", "null", "none"))
_JUDGED_COLUMN = re.compile(rb"\b(nuggets|statements)\b")
PARQUET = b"PAR1"


class TextRow(NamedTuple):
    """One row of a file or frame."""

    cells: Mapping[str, Any]
    line: int | None = None
    place: str = ""  # in messages, where there are no lines
    is_table: bool = False  # a cell may hold a list as text


def as_collection(source: TextsLike, *, max_unpacked: int | None = None) -> TextCollection:
    """Return the texts of a file, a frame (pandas, polars, Arrow) or a list of dicts, one row per document and system.

    >>> given = as_collection([{"id": "q1", "system": "rag", "answer": "in Ulm", "references": ["Ulm"]}])
    >>> given.systems, given.texts, given.documents[0].references
    (('rag',), (('in Ulm',),), ('Ulm',))
    """
    if isinstance(source, TextCollection):
        return source
    reading = _Reading(_name(source))
    for row in _rows(source, max_unpacked):
        reading.add(row)
    return reading.collection()


def scores_by_text(data: TextsLike, systems: Sequence[str]) -> dict[Any, Any]:
    """Return scores of other tools by document and system, from a table of id, system and one column per measure.

    The column of systems may be missing if there is one system.

    >>> scores_by_text([{"id": "q1", "faithfulness": 0.8}], ["rag"])
    {('q1', 'rag'): {'faithfulness': 0.8}}
    """
    name = _name(data)
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in _rows(data, None):
        fields, names = _fields(row.cells)
        id, system = fields["id"], fields["system"]
        if id is None or (system is None and len(systems) > 1):
            raise _error(
                name,
                row,
                f"expected the columns id{', system' * (len(systems) > 1)} and one per measure; "
                f"found {', '.join(map(str, row.cells))}",
            )
        key = str(id), systems[0] if system is None else str(system)
        if key in found:
            raise _error(name, row, f"'{key[0]}' of system '{key[1]}' has scores already")
        own = {column: cell for column, cell in row.cells.items() if column not in (names["id"], names.get("system"))}
        found[key] = _scores(own, lambda column, row=row: _error(name, row, f"the column '{column}' has no number"))
    if not any(found.values()):
        raise CalipersError("there is no score", file=name)
    return found


def are_judged_answers(path: str) -> bool:
    """Return True if a row of a file has a list of nuggets or statements. Reads no further than the first such row."""
    try:
        start = start_of(path).removeprefix(b"\xef\xbb\xbf").lstrip()
        if not start.startswith((PARQUET, b"{", b"[")) and not _JUDGED_COLUMN.search(start.partition(b"\n")[0]):
            return False
        return any(_is_list(row.cells.get(name)) for row in _rows(path, None) for name in ("nuggets", "statements"))
    except CalipersError:
        return False


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list) or (isinstance(cell, str) and cell.lstrip().startswith("["))


def parallel_texts(
    candidates: Mapping[str, Path],
    references: Sequence[Path],
    source: Path | None = None,
    *,
    max_unpacked: int | None = None,
) -> TextCollection:
    """Return texts from plain text files. Line n of each file belongs to document n.

    candidates: files by the names of their systems. references: each file has one reference of every document.
    source: the texts that were summarised or translated.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name, text in (("a.txt", "the cat\\na dog\\n"), ("r.txt", "a cat\\nthe dog\\n")):
    ...     with open(f"{folder}/{name}", "w") as file:
    ...         _ = file.write(text)
    >>> parallel_texts({"a": f"{folder}/a.txt"}, [f"{folder}/r.txt"]).texts
    (('the cat', 'a dog'),)
    """
    if not candidates or not references:
        raise CalipersError("parallel texts are at least one file of candidates and one of references")
    lines: dict[str, list[str]] = {}
    every: list[Path] = [*candidates.values(), *references, *([] if source is None else [source])]
    files = [os.fspath(file) for file in every]
    for file in files:
        lines[file] = lines.get(file) or _lines(_content(file, max_unpacked))
        if len(lines[file]) != len(lines[files[0]]):
            raise CalipersError(
                f"has {counted(len(lines[file]), 'line')}, {files[0]} has {len(lines[files[0]])}: line n of each file "
                "belongs to document n",
                file=file,
            )
    ids = [str(number) for number in range(1, len(lines[files[0]]) + 1)]
    columns = [lines[os.fspath(file)] for file in references]
    sources = [None] * len(ids) if source is None else lines[os.fspath(source)]
    documents = [
        Document(id, tuple(column[place] for column in columns), sources[place]) for place, id in enumerate(ids)
    ]
    texts = {
        (id, system): text
        for system, file in candidates.items()
        for id, text in zip(ids, lines[os.fspath(file)], strict=True)
    }
    return TextCollection.of(documents, texts, name=files[0] if len(candidates) == 1 else "the candidates")


# -- rows --------------------------------------------------------------------------------------------------


def _name(data: TextsLike) -> str:
    return os.fspath(data) if isinstance(data, str | os.PathLike) else "the frame" if is_frame(data) else "the rows"


def _error(name: str, row: TextRow, message: str) -> CalipersError:
    return CalipersError(f"{row.place}{message}", file=name, line=row.line)


def _rows(data: TextsLike, max_unpacked: int | None) -> Iterator[TextRow]:
    """Yield the rows of a file, a frame or a list of dicts."""
    if isinstance(data, str | os.PathLike):
        yield from _file_rows(os.fspath(data), max_unpacked)
    elif is_frame(data):
        frame = load("narwhals", extra="frames", what="frames").from_native(data, eager_only=True)
        for number, cells in enumerate(frame.iter_rows(named=True), 1):
            yield TextRow(cells, None, f"row {number}: ", True)
    elif isinstance(data, Iterable) and not isinstance(data, Mapping):
        for number, cells in enumerate(data, 1):
            if not isinstance(cells, Mapping):
                raise CalipersError(
                    f"row {number} is a {type(cells).__name__}: expected a dict per document and system"
                )
            yield TextRow(cells, None, f"row {number}: ")
    else:
        raise CalipersError(
            f"cannot read texts from a {type(data).__name__}: expected a path, a frame or a list of dicts"
        )


def _file_rows(name: str, max_unpacked: int | None) -> Iterator[TextRow]:
    if start_of(name, max_unpacked=max_unpacked).startswith(PARQUET):
        parquet = load("pyarrow.parquet", extra="frames", what="Parquet files")
        table = parquet.read_table(plain_file(name, max_unpacked=max_unpacked))
        yield from (TextRow(cells, None, f"row {number}: ", True) for number, cells in enumerate(table.to_pylist(), 1))
        return
    text = _content(name, max_unpacked)
    start = text.lstrip()[:1]
    if start and start not in "{[":
        yield from _csv_rows(name, text)
        return
    try:
        alone = json.loads(text, parse_constant=_constant)
    except (ValueError, RecursionError):
        alone = None  # several lines, or a mistake in one of them
    if isinstance(alone, dict) and any(_is_layout(value) for value in alone.values()):
        yield from _summeval_rows(name, alone)
    elif isinstance(alone, list):
        for number, entry in enumerate(alone, 1):
            yield _json_row(name, entry, None, f"entry {number}: ")
    else:
        for line, content in enumerate(text.split("\n"), 1):
            if content.strip():
                try:
                    entry = json.loads(content, parse_constant=_constant)
                except (ValueError, RecursionError) as error:
                    raise CalipersError(f"is not JSON: {error}", file=name, line=line) from None
                yield _json_row(name, entry, line)


def _json_row(name: str, entry: Any, line: int | None, place: str = "") -> TextRow:
    if not isinstance(entry, dict):
        raise CalipersError(f"{place}expected an object with summary and references", file=name, line=line)
    return TextRow(entry, line, place)


def _csv_rows(name: str, text: str) -> Iterator[TextRow]:
    head, _, _ = text.lstrip().partition("\n")
    delimiter = max(_DELIMITERS, key=head.count)
    before = csv.field_size_limit(2**31 - 1)  # a source may be long
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header: list[str] | None = None
    try:
        for cells in reader:
            if not any(map(str.strip, cells)):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                _check_header(name, header, reader.line_num)
            elif len(cells) != len(header):
                raise CalipersError(
                    f"expected {len(header)} fields as in the header, found {len(cells)}",
                    file=name,
                    line=reader.line_num,
                )
            else:
                yield TextRow(dict(zip(header, cells, strict=True)), reader.line_num, is_table=True)
    except csv.Error as error:
        raise CalipersError(f"is not CSV: {error}", file=name, line=reader.line_num) from None
    finally:
        csv.field_size_limit(before)


def _check_header(name: str, header: Sequence[str], line: int) -> None:
    lower = [column.lower() for column in header]
    if not {*lower} & {*NAMES["text"], *NAMES["id"]}:
        raise CalipersError(
            f"is neither JSON nor CSV with a column of texts ({', '.join(NAMES['text'][:5])}, ...); found "
            f"{', '.join(header[:8])}",
            file=name,
            line=line,
        )
    for place, column in enumerate(lower):
        if column in lower[:place] or not column:
            raise CalipersError(f"two columns are called '{header[place]}'", file=name, line=line)


def _summeval_rows(name: str, layout: Mapping[str, Any]) -> Iterator[TextRow]:
    for id, entry in layout.items():
        if not _is_layout(entry) or not isinstance(entry["sys_summs"], dict):
            raise CalipersError(f"document '{id}': 'sys_summs' is not an object of systems", file=name)
        for system, made in entry["sys_summs"].items():
            if not isinstance(made, dict) or not isinstance(made.get("sys_summ"), str):
                message = f"document '{id}', system '{system}': 'sys_summ' is missing, or is not text"
                raise CalipersError(message, file=name)
            references = entry.get("ref_summs", entry.get("ref_summ"))
            yield TextRow(
                {
                    "id": id,
                    "system": system,
                    "summary": made["sys_summ"],
                    "source": entry.get("src"),
                    "references": references,
                    "human": made.get("scores"),
                }
            )


def _content(name: str, max_unpacked: int | None) -> str:
    whole = b"".join(bytes(block) for block in blocks(name, max_unpacked=max_unpacked))
    try:
        return whole.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = whole[: error.start].count(b"\n") + 1
        raise CalipersError(f"is not text in UTF-8 (byte {error.start})", file=name, line=line) from None


def _lines(text: str) -> list[str]:
    """Split a text into lines. The last line need not end with a line break."""
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]


def _is_layout(value: object) -> bool:
    return isinstance(value, dict) and "sys_summs" in value


def _constant(text: str) -> float:
    if text == "NaN":
        return math.nan  # a missing score
    raise ValueError(f"{text} is not a number of JSON")


# -- cells -------------------------------------------------------------------------------------------------


def _fields(cells: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the value of each field, and the name it has here. A name is used for one field only."""
    lower = {str(name).lower(): name for name in cells}
    found: dict[str, Any] = dict.fromkeys(NAMES)
    names: dict[str, str] = {}
    for field, known in NAMES.items():
        name = next((lower[name] for name in known if name in lower and lower[name] not in names.values()), None)
        if name is not None:
            found[field], names[field] = _plain(cells[name]), name
    return found, names


def _plain(value: Any) -> Any:
    """Return a cell of a frame as plain Python: arrays as lists, NaN as None."""
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    return None if isinstance(value, float) and math.isnan(value) else value


def _nested(cell: Any, field: str) -> Any:
    """Read a list or an object within a cell: JSON, or a list as Python writes it. References may be plain text."""
    if not isinstance(cell, str) or (field == "references" and not _LIST.match(cell)):
        return cell or None
    if not cell:
        return None
    try:
        return json.loads(cell, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        if (written := _python_list(cell)) is not None:
            return written
        raise CalipersError(f"'{field}' is not JSON, nor a list as Python writes it: {error}") from None


def _python_list(cell: str) -> list[Any] | None:
    """Return the list that a cell shows as Python prints it (pandas writes list columns so), or None.

    Only the exact text of a list counts. An array prints its strings without commas, which Python would read as one.

    >>> _python_list("['a', 'b']"), _python_list("['a' 'b']")
    (['a', 'b'], None)
    """
    try:
        found = ast.literal_eval(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return found if isinstance(found, list) and repr(found) == cell.strip() else None


def _scores(given: Mapping[str, Any], error: Any) -> dict[str, float]:
    """Return the scores by name. Cells without a score (null, NaN, empty) are left out."""
    found = {}
    for name, cell in given.items():
        value = _plain(cell)
        if value is None or (isinstance(value, str) and value.strip().lower() in _NO_SCORE):
            continue
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise error(name)
        found[str(name)] = number
    return found


# -- texts -------------------------------------------------------------------------------------------------


class _Reading:
    """Documents and texts while their rows are read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind: TextKind | None = None
        self.documents: dict[str, Document] = {}
        self.texts: dict[tuple[str, str], str] = {}
        self.human: dict[tuple[str, str], dict[str, float]] = {}
        self.other_scores: dict[tuple[str, str], dict[str, float]] = {}
        self.judged: dict[tuple[str, str], AnswerJudgments] = {}
        self.counts: Counter[str] = Counter()  # of texts without an id, by system
        self.any_ids = False

    def collection(self) -> TextCollection:
        if not self.texts:
            raise CalipersError("there are no texts", file=self.name)
        kind = self.kind or TEXTS
        bare = {id for id, document in self.documents.items() if not document.references}
        bare -= {
            id for found in (self.judged, self.human, self.other_scores) for (id, _), each in found.items() if each
        }
        if bare:
            id = next(each for each in self.documents if each in bare)
            raise CalipersError(f"{kind.unit} '{id}' has no reference", file=self.name)
        return TextCollection.of(
            self.documents.values(), self.texts, self.human, self.name, self.judged, self.other_scores, kind
        )

    def add(self, row: TextRow) -> None:
        """Add one text. Errors name the row."""
        try:
            self._add(row)
        except CalipersError as error:
            raise _error(self.name, row, error.message) from None

    def _add(self, row: TextRow) -> None:
        fields, names = _fields(row.cells)
        if row.is_table:
            self._decode(row, fields)
        if fields["text"] is None or isinstance(fields["text"], list):
            fields["text"] = text_of(fields["statements"])
        if not isinstance(fields["text"], str):
            raise CalipersError(
                f"there is no text: expected the field {', '.join(NAMES['text'][:3])}, answer, ...; found "
                f"{', '.join(map(str, row.cells)) or 'no field'}"
                if "text" not in names
                else f"'{names['text']}' is not text"
            )
        if self.kind is None:
            self.kind = _kind(names)
        id, system = self._key(fields)
        self._document(id, system, fields)
        self.texts[id, system] = fields["text"]
        self.human[id, system] = _mean_scores(id, "human", fields["human"])
        self.other_scores[id, system] = _mean_scores(id, "other", fields["scores"])
        try:
            judged = answer_judgments(*(fields[each] for each in ("nuggets", "statements", "retrieved", "passages")))
        except CalipersError as error:
            raise CalipersError(f"{self.kind.unit} '{id}': {error.message}") from None
        if judged:
            self.judged[id, system] = judged

    @staticmethod
    def _decode(row: TextRow, fields: dict[str, Any]) -> None:
        """Read lists, numbered references and named scores from the columns of a table."""
        for field in ("id", "system", "source", "question"):
            fields[field] = None if fields[field] in ("", None) else fields[field]
        for field in (*_LISTS, "human", "scores"):
            fields[field] = _nested(fields[field], field)
        numbered = [cell for name, cell in row.cells.items() if _NUMBERED.match(name) and _plain(cell)]
        if numbered:
            given = fields["references"]
            fields["references"] = [*([given] if isinstance(given, str) else given or []), *numbered]
        for field, pattern in _NAMED_SCORE.items():
            named = {name: cell for name, cell in row.cells.items() if pattern.match(name)}
            if named:
                found = _scores(
                    named,
                    lambda name, cells=named: CalipersError(f"the column '{name}' has no number: '{cells[name]}'"),
                )
                fields[field] = {pattern.match(name)[1]: value for name, value in found.items()}  # type: ignore[index]

    def _key(self, fields: Mapping[str, Any]) -> tuple[str, str]:
        for field in ("id", "system"):
            given = fields[field]
            if given is not None and (not isinstance(given, str | int) or isinstance(given, bool)):
                raise CalipersError(f"'{field}' is not text")
        system = stem_of(self.name) if fields["system"] is None else str(fields["system"])
        if (fields["id"] is None and self.any_ids) or (fields["id"] is not None and self.counts):
            raise CalipersError("'id' is in some of the rows only")
        if fields["id"] is None:
            self.counts[system] += 1
            return str(self.counts[system]), system
        self.any_ids = True
        return str(fields["id"]), system

    def _document(self, id: str, system: str, fields: Mapping[str, Any]) -> None:
        """Add what a row says about its document, and refuse what contradicts an earlier row."""
        unit = (self.kind or TEXTS).unit
        where = f"{unit} '{id}'"
        if (id, system) in self.texts:
            raise CalipersError(f"{where} has a second text by system '{system}'")
        for field in ("source", "question"):
            if fields[field] is not None and not isinstance(fields[field], str):
                raise CalipersError(f"{where}: '{field}' is not text")
        references = fields["references"]
        if isinstance(references, dict):  # SQuAD's {"text": [...], "answer_start": [...]}
            references = references.get("text")
        texts = [references] if isinstance(references, str) else references if references is not None else []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise CalipersError(f"{where}: 'references' is not a list of texts")
        passages = passages_of(fields["retrieved"], fields["passages"])
        given = {
            "references": tuple(texts),
            "source": fields["source"],
            "question": fields["question"],
            "relevant": relevance_of(fields["relevant"]),
        }
        before = self.documents.get(id, Document(id, ()))
        by_place = f"; without 'id', the nth text of each system is about {unit} n" if self.counts else ""
        for field, value in given.items():
            if (known := getattr(before, field)) and value and known != value:
                raise CalipersError(f"{where} has another '{field}' than before{by_place}")
            given[field] = value if known is None or known == () else known
        self.documents[id] = Document(id, **given, passages={**before.passages, **passages}, unit=unit)


def _kind(names: Mapping[str, str]) -> TextKind:
    """Return the kind of texts, from the names of the fields of the first row."""
    name = names.get("text", "").lower()
    if name in _OF_ANSWERS or {"question", "nuggets", "statements", "retrieved"} & {*names}:
        return ANSWERS
    return SUMMARIES if name in _OF_SUMMARIES else TEXTS


def _mean_scores(id: str, whose: str, given: Any) -> dict[str, float]:
    """Return scores from one object, or the mean over a list of objects (one per annotator)."""
    each = [] if given is None else given if isinstance(given, list) else [given]
    wrong = CalipersError(f"'{id}': the {whose} scores are not an object of numbers")
    found: dict[str, list[float]] = {}
    for scores in each:
        if not isinstance(scores, dict) or any(isinstance(value, str) for value in scores.values()):
            raise wrong
        for aspect, value in _scores(scores, lambda _: wrong).items():
            found.setdefault(aspect, []).append(value)
    return {aspect: sum(values) / len(values) for aspect, values in found.items()}
