"""Read summaries and answers from files, plain or compressed. The format is recognised by content.

    JSON lines    one object per document and system: summary, references (a list, or one text), id, system, source,
                  human (an object of scores). A document's source and references may stand in one of its lines only.
    CSV, TSV      a header with the same names, one row per document and system; several references as reference1,
                  reference2, ..., human scores as human.coherence, ...
    SummEval      one object: {id: {src, ref_summs, sys_summs: {system: {sys_summ, scores}}}}
    parallel      plain text, line n of every file belonging to document n

Where there is no id, the nth summary of each system is about document n; where there is no system, all summaries are by
one, which is named like the file. Fields may also have the names of SummEval's first release (decoded, model_id, text,
expert_annotations), of translations (candidate, hypothesis), of questions (qid, prediction, answers) and of the
AutoNuggetizer (qid, run_id, answer_text, nuggets).

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
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calipers.collection.run_names import stem_of
from calipers.errors import CalipersError
from calipers.plurals import counted
from calipers.text.answer_judgments import AnswerJudgments, answer_judgments, relevance_of, text_of
from calipers.text.summaries import Document, Summaries

Path = str | os.PathLike[str]

# A name counts for the first field that has it, so that `answer` is what a system wrote unless `prediction` is.
NAMES = {
    "id": ("id", "doc_id", "document", "qid", "query_id", "question_id", "topic_id"),
    "system": ("system", "model_id", "model", "run_id"),
    "summary": ("summary", "decoded", "sys_summ", "candidate", "prediction", "hypothesis", "answer_text", "answer"),
    "source": ("source", "src", "text", "article"),
    "references": ("references", "reference", "ref_summs", "ref_summ", "answers", "answer"),
    "human": ("human", "scores", "expert_annotations"),
    "nuggets": ("nuggets",),
    "statements": ("statements",),
    "retrieved": ("retrieved",),
    "relevant": ("relevant",),
}
_NUMBERED = re.compile(r"(?:references?|ref|answers?)[ _.-]?\d+$", re.IGNORECASE)
_HUMAN = re.compile(r"human[ _.:-](.+)$", re.IGNORECASE)
_LIST = re.compile(r"""\s*\[\s*(["']|\]\s*$)""")  # a cell that holds a list of texts, not a text
_DELIMITERS = (",", "\t", ";")


def read_summaries(source: Path, *, max_unpacked: int | None = None) -> Summaries:
    """Read summaries from JSON lines, CSV or SummEval's layout. The file may be compressed."""
    name = os.fspath(source)
    text = _text(name, max_unpacked)
    read = _Reading(name)
    start = text.lstrip()[:1]
    if start and start not in "{[":
        read.table(text)
        return read.summaries()
    try:
        alone = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        alone = None  # several lines, or a mistake in one of them
    if isinstance(alone, dict) and any(_is_layout(value) for value in alone.values()):
        for id, entry in alone.items():
            read.article(id, entry)
    elif isinstance(alone, list):
        for number, entry in enumerate(alone, 1):
            read.object(entry, None, f"entry {number}: ")
    else:
        for line, content in enumerate(text.split("\n"), 1):
            if content.strip():
                read.line(line, content)
    return read.summaries()


def read_parallel_summaries(
    candidates: Mapping[str, Path], references: Sequence[Path], source: Path | None = None, *,
    max_unpacked: int | None = None,
) -> Summaries:  # fmt: skip
    """Read summaries from plain text. Line n of each file belongs to document n.

    candidates: files by the names of their systems. references: each file has one reference of every document.
    source: the texts that were summarised or translated.
    """
    if not candidates or not references:
        raise CalipersError("parallel texts are at least one file of candidates and one of references")
    lines: dict[str, list[str]] = {}
    every: list[Path] = [*candidates.values(), *references, *([] if source is None else [source])]
    files = [os.fspath(file) for file in every]
    for file in files:
        lines[file] = lines.get(file) or _lines(_text(file, max_unpacked))
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
    return Summaries.of(documents, texts, {}, files[0] if len(candidates) == 1 else "the candidates")


def _text(name: str, max_unpacked: int | None) -> str:
    from calipers.collection.files import blocks

    whole = b"".join(bytes(block) for block in blocks(name, max_unpacked=max_unpacked))
    try:
        return whole.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = whole[: error.start].count(b"\n") + 1
        raise CalipersError(f"is not text in UTF-8 (byte {error.start})", file=name, line=line) from None


def _lines(text: str) -> list[str]:
    """Split a text into lines. The last line need not end with a line break."""
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]


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


def _is_layout(value: object) -> bool:
    return isinstance(value, dict) and "sys_summs" in value


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


class _Reading:
    """A file while it is read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.documents: dict[str, Document] = {}
        self.texts: dict[tuple[str, str], str] = {}
        self.human: dict[tuple[str, str], dict[str, float]] = {}
        self.judged: dict[tuple[str, str], AnswerJudgments] = {}
        self.counts: Counter[str] = Counter()  # of summaries without an id, by system
        self.any_ids = False

    def summaries(self) -> Summaries:
        if not self.texts:
            raise CalipersError("there is no summary in this file", file=self.name)
        bare = {id for id, document in self.documents.items() if not document.references}
        bare -= {id for (id, _), judged in self.judged.items() if judged}  # which need none
        if bare:
            id = next(each for each in self.documents if each in bare)
            raise CalipersError(f"document '{id}' has no reference", file=self.name)
        return Summaries.of(self.documents.values(), self.texts, self.human, self.name, self.judged)

    def fail(self, message: str, line: int | None = None) -> CalipersError:
        return CalipersError(message, file=self.name, line=line)

    # -- layouts -------------------------------------------------------------------------------------

    def line(self, number: int, content: str) -> None:
        try:
            entry = json.loads(content, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise self.fail(f"is not JSON: {error}", number) from None
        self.object(entry, number)

    def object(self, entry: Any, line: int | None, where: str = "") -> None:
        if not isinstance(entry, dict):
            raise self.fail(f"{where}expected an object with summary and references", line)
        fields = _fields(entry)
        if fields["summary"] is None or isinstance(fields["summary"], list):
            fields["summary"] = text_of(fields["statements"])
        self.entry(fields, line, where)

    def table(self, text: str) -> None:
        """Read CSV with a header."""
        head, _, _ = text.lstrip().partition("\n")
        delimiter = max(_DELIMITERS, key=head.count)
        before = csv.field_size_limit(2**31 - 1)  # a source may be long
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            self.rows((row, reader.line_num) for row in reader if any(map(str.strip, row)))
        except csv.Error as error:
            raise self.fail(f"is not CSV: {error}", reader.line_num) from None
        finally:
            csv.field_size_limit(before)

    def rows(self, rows: Iterable[tuple[list[str], int]]) -> None:
        header: list[str] | None = None
        for row, line in rows:
            if header is None:
                header = [cell.strip() for cell in row]
                columns = {name.lower() for name in header}
                if not columns.intersection(NAMES["summary"]):
                    raise self.fail(
                        f"is neither JSON nor CSV with a column of summaries ({', '.join(NAMES['summary'][:5])}, ...); "
                        "plain parallel texts are given by --candidates and --references",
                        line,
                    )
                if len(columns) < len(header):
                    twice = next(name for place, name in enumerate(header) if name in header[:place] or not name)
                    raise self.fail(f"the column '{twice}' is there twice", line)
                continue
            if len(row) != len(header):
                raise self.fail(f"expected {len(header)} fields as in the header, found {len(row)}", line)
            self.entry(self.cells(header, row, line), line)

    def cells(self, header: Sequence[str], row: Sequence[str], line: int) -> dict[str, Any]:
        cells = dict(zip((name.lower() for name in header), row, strict=True))
        fields = _fields(cells)
        fields["human"] = {}
        for name, cell in zip(header, row, strict=True):
            if (aspect := _HUMAN.match(name)) and cell.strip():
                fields["human"][aspect[1]] = self.number(cell, name, line)
        for field in ("id", "system", "source"):
            fields[field] = fields[field] or None
        for field in ("references", "nuggets", "statements", "retrieved", "relevant"):
            fields[field] = self.nested(fields[field], field, line)
        numbered = [cell for name, cell in zip(header, row, strict=True) if _NUMBERED.match(name) and cell]
        given = fields["references"]
        fields["references"] = [*([given] if isinstance(given, str) else given or []), *numbered] or None
        return fields

    def nested(self, cell: str | None, field: str, line: int) -> Any:
        """Read a list or an object within a cell: JSON, or a list as Python writes it. References may be plain text."""
        if not cell:
            return None
        if field == "references" and not _LIST.match(cell):
            return cell
        try:
            return json.loads(cell, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            if (written := _python_list(cell)) is not None:
                return written
            raise self.fail(f"'{field}' is not JSON, nor a list as Python writes it: {error}", line) from None

    def number(self, cell: str, name: str, line: int) -> float:
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.fail(f"'{cell}' in the column '{name}' is not a number", line)
        return value

    def article(self, id: str, entry: Any) -> None:
        if not _is_layout(entry) or not isinstance(entry["sys_summs"], dict):
            raise self.fail(f"document '{id}': 'sys_summs' is not an object of systems")
        for system, made in entry["sys_summs"].items():
            if not isinstance(made, dict) or not isinstance(made.get("sys_summ"), str):
                raise self.fail(f"document '{id}', system '{system}': 'sys_summ' is missing, or is not text")
            fields = {
                **dict.fromkeys(NAMES),
                "id": id,
                "system": system,
                "summary": made["sys_summ"],
                "source": entry.get("src"),
                "references": entry.get("ref_summs", entry.get("ref_summ")),
                "human": made.get("scores"),
            }
            self.entry(fields, None)

    # -- one summary ---------------------------------------------------------------------------------

    def entry(self, fields: Mapping[str, Any], line: int | None, where: str = "") -> None:
        for field in ("id", "system"):
            given = fields[field]
            if given is not None and (not isinstance(given, str | int) or isinstance(given, bool)):
                raise self.fail(f"{where}'{field}' is not text", line)
        if not isinstance(fields["summary"], str):
            raise self.fail(f"{where}'summary' is missing, or is not text", line)
        system = stem_of(self.name) if fields["system"] is None else str(fields["system"])
        if (fields["id"] is None and self.any_ids) or (fields["id"] is not None and self.counts):
            raise self.fail(f"{where}'id' is in some of the lines only", line)
        if fields["id"] is None:
            self.counts[system] += 1
            id = str(self.counts[system])
        else:
            self.any_ids = True
            id = str(fields["id"])
        self.add(id, system, fields, line)

    def add(self, id: str, system: str, fields: Mapping[str, Any], line: int | None) -> None:
        where = f"document '{id}'"
        if (id, system) in self.texts:
            raise self.fail(f"{where} has a second summary by system '{system}'", line)
        source = fields["source"]
        if source is not None and not isinstance(source, str):
            raise self.fail(f"{where}: 'source' is not text", line)
        references = fields["references"]
        if isinstance(references, dict):  # SQuAD's {"text": [...], "answer_start": [...]}
            references = references.get("text")
        texts = [references] if isinstance(references, str) else references if references is not None else []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self.fail(f"{where}: 'references' is not a list of texts", line)
        try:
            relevant = relevance_of(fields["relevant"])
            judged = answer_judgments(fields["nuggets"], fields["statements"], fields["retrieved"])
        except CalipersError as error:
            raise self.fail(f"{where}: {error.message}", line) from None
        given = Document(id, tuple(texts), source, relevant)
        before = self.documents.get(id, given)
        by_place = "; without 'id', the nth summary of each system is about document n" if self.counts else ""
        if before.source and source and before.source != source:
            raise self.fail(f"{where} has another source than before{by_place}", line)
        if before.references and texts and before.references != given.references:
            raise self.fail(f"{where} has other references than before{by_place}", line)
        if before.relevant and relevant and before.relevant != relevant:
            raise self.fail(f"{where} has other relevant documents than before{by_place}", line)
        source = before.source if before.source is not None else source
        self.documents[id] = Document(
            id, before.references or given.references, source, relevant if before.relevant is None else before.relevant
        )
        self.texts[id, system] = fields["summary"]
        self.human[id, system] = self.scores(fields["human"], where, line)
        if judged:
            self.judged[id, system] = judged

    def scores(self, given: Any, where: str, line: int | None) -> dict[str, float]:
        """Return human scores from one object, or the mean over a list of objects (one per annotator)."""
        if given is None:
            return {}
        each = given if isinstance(given, list) else [given]
        for scores in each:
            if not isinstance(scores, dict) or not all(_is_score(value) for value in scores.values()):
                raise self.fail(f"{where}: the human scores are not an object of numbers", line)
        found: dict[str, list[float]] = {}
        for scores in each:
            for aspect, value in scores.items():
                if value is not None:
                    found.setdefault(aspect, []).append(float(value))
        return {aspect: sum(values) / len(values) for aspect, values in found.items()}


def _fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of each field by its known names. A name is used for one field only."""
    found: dict[str, Any] = {}
    used: set[str] = set()
    for field, names in NAMES.items():
        name = next((name for name in names if name in entry and name not in used), None)
        found[field] = None if name is None else entry[name]
        if name is not None:
            used.add(name)
    return found


def _is_score(value: object) -> bool:
    return value is None or (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    )
