"""Read texts from files, frames and rows. The format of a file is recognised by content, and it may be compressed.

    JSON lines    one object per document and system: summary, references (a list, or one text), id, system, source,
                  human (an object of scores), scores (an object of other tools' scores). A document's source and
                  references may stand in one of its lines only.
    CSV, TSV      a header with the same names, one row per document and system; several references as reference1,
                  reference2, ..., human scores as human.coherence, ..., other tools' scores as scores.faithfulness, ...
                  other columns of numbers are scores of other tools, too, if a measure has their name
    Parquet       the same columns; so are frames of pandas and polars, and lists of dicts
    SummEval      one object: {id: {src, ref_summs, sys_summs: {system: {sys_summ, scores}}}}
    parallel      plain text, line n of every file belonging to document n

Where there is no id, the nth text of each system is about document n; where there is no system, all texts are by one,
which is named like the file. A text that is null or NaN is missing, and a number is read as text. `NAMES` lists the
names of fields: those of SummEval's first release (decoded, model_id, text, expert_annotations), of translations
(candidate, hypothesis), of questions (qid, prediction, answers), of the AutoNuggetizer (qid, run_id, answer_text,
nuggets), of RAGAS (user_input, response, retrieved_contexts), of DeepEval (input, actual_output, expected_output,
retrieval_context) and of MLflow (inputs, outputs, expectations, which may be objects). Retrieved documents without ids
have their texts as ids.

Fabbri et al., SummEval: re-evaluating summarization evaluation, TACL 2021.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.collection.column_names import check_roles, first_columns, plain_name
from calipers.collection.files import whole
from calipers.collection.formats.json import listed_again
from calipers.collection.formats.named_rows import NamedRow, value_in_text
from calipers.collection.records import name_of, rows_by_name
from calipers.collection.run_names import stem_of
from calipers.errors import CalipersError
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
        "actual_output",
        "outputs",
        "answer",
    ),
    "source": ("source", "src", "text", "article"),
    "question": ("question", "user_input", "query", "input", "inputs"),
    "references": (
        "references",
        "reference",
        "ref_summs",
        "ref_summ",
        "answers",
        "expected_output",
        "expected_response",
        "ground_truth",
        "expectations",
        "answer",
    ),
    "human": ("human", "expert_annotations"),
    "scores": ("scores",),
    "nuggets": ("nuggets",),
    "statements": ("statements",),
    "retrieved": ("retrieved", "retrieved_context_ids"),
    "passages": ("passages", "contexts", "retrieved_contexts", "retrieval_context"),
    "relevant": ("relevant", "reference_context_ids"),
    "relevant_passages": ("relevant_passages", "reference_contexts"),
}
_TEXT = f"{', '.join(NAMES['text'][:3])}, answer, ..."  # names of texts, for messages
_OF_SUMMARIES = frozenset(map(plain_name, ("summary", "decoded", "sys_summ")))
_OF_ANSWERS = frozenset(
    map(plain_name, ("prediction", "answer_text", "response", "actual_output", "outputs", "answer"))
)
_OBJECTS = frozenset(("inputs", "outputs", "expectations"))  # of MLflow, whose cells may hold objects as text
_INSIDE = ("messages", "choices", "message", "content", "text")  # names within these objects
_LISTS = ("references", "nuggets", "statements", "retrieved", "passages", "relevant", "relevant_passages")
NUMBERED = re.compile(r"(?:references?|ref|answers?)[ _.-]?\d+$", re.IGNORECASE)
_NAMED_SCORE = {"human": re.compile(r"human[ _.:-](.+)$", re.IGNORECASE), "scores": re.compile(r"scores?[.:](.+)$")}
_LIST = re.compile(r"""\s*\[\s*(["']|\]\s*$)""")  # a cell that holds a list of texts, not a text
_NO_SCORE = frozenset(("", "na", "n/a", "nan", "null", "none"))


def as_collection(
    source: TextsLike, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> TextCollection:
    """Return the texts of a file, a frame (pandas, polars, Arrow) or a list of dicts, one row per document and system.

    columns: names of fields that have other names than usual, for example {"text": "final", "references": "gold"}.
    Of several sources, {system: source}, each has the texts of one system.

    >>> given = as_collection([{"id": "q1", "system": "rag", "answer": "in Ulm", "references": ["Ulm"]}])
    >>> given.systems, given.texts, given.documents[0].references
    (('rag',), (('in Ulm',),), ('Ulm',))
    """
    if isinstance(source, TextCollection):
        return source
    sources = source.items() if isinstance(source, Mapping) else [(None, source)]
    return texts_of_sources(sources, columns=columns, max_unpacked=max_unpacked)


def texts_of_sources(
    sources: Iterable[tuple[str | None, TextsLike]],
    *,
    columns: Mapping[str, str] | None = None,
    max_unpacked: int | None = None,
) -> TextCollection:
    """Return the texts of several files, frames or lists, each with the name of its only system, or None."""
    check_roles(columns, NAMES)
    found = _Reading("the texts", columns or {})
    for system, source in sources:
        found.begin(name_of(source), system)
        for row in rows_by_name(source, max_unpacked=max_unpacked):
            for each in _summeval_rows(row):
                found.add(each)
    return found.collection()


def scores_by_text(data: TextsLike, systems: Sequence[str]) -> dict[Any, Any]:
    """Return scores of other tools by document and system, from a table of id, system and one column per measure.

    The column of systems may be missing if there is one system.

    >>> scores_by_text([{"id": "q1", "faithfulness": 0.8}], ["rag"])
    {('q1', 'rag'): {'faithfulness': 0.8}}
    """
    name = name_of(data)
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows_by_name(data):
        names = first_columns(row.cells, NAMES, {})
        id, system = (row.cells.get(names.get(field, "")) for field in ("id", "system"))
        if id is None or (system is None and len(systems) > 1):
            raise row.error(
                f"expected the columns id{', system' * (len(systems) > 1)} and one per measure; "
                f"found {', '.join(map(str, row.cells))}"
            )
        key = str(id), systems[0] if system is None else str(system)
        if key in found:
            raise row.error(f"'{key[0]}' of system '{key[1]}' has scores already")
        own = {column: cell for column, cell in row.cells.items() if column not in (names["id"], names.get("system"))}
        found[key] = _scores(own, lambda column, row=row: row.error(f"the column '{column}' has no number"))
    if not any(found.values()):
        raise CalipersError("there is no score", file=name)
    return found


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


def _summeval_rows(row: NamedRow) -> Iterator[NamedRow]:
    """Yield the texts of SummEval's layout, and any other row as it is."""
    if not any(map(_is_layout, row.cells.values())):
        yield row
        return
    for id, entry in row.cells.items():
        if not _is_layout(entry) or not isinstance(entry["sys_summs"], dict):
            raise CalipersError(f"document '{id}': 'sys_summs' is not an object of systems", file=row.file)
        for system, made in entry["sys_summs"].items():
            if not isinstance(made, dict) or not isinstance(made.get("sys_summ"), str):
                message = f"document '{id}', system '{system}': 'sys_summ' is missing, or is not text"
                raise CalipersError(message, file=row.file)
            cells = {
                "id": id,
                "system": system,
                "summary": made["sys_summ"],
                "source": entry.get("src"),
                "references": entry.get("ref_summs", entry.get("ref_summ")),
                "human": made.get("scores"),
            }
            yield row._replace(cells=cells)


def _is_layout(value: object) -> bool:
    return isinstance(value, dict) and "sys_summs" in value


def _content(name: str, max_unpacked: int | None) -> str:
    content = whole(name, max_unpacked=max_unpacked)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise CalipersError(f"is not text in UTF-8 (byte {error.start})", file=name, line=line) from None


def _lines(text: str) -> list[str]:
    """Split a text into lines. The last line need not end with a line break."""
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]


# -- cells -------------------------------------------------------------------------------------------------


def _nested(cell: Any, field: str) -> Any:
    """Read a list or an object within a cell: JSON, or a list as Python writes it. References may be plain text."""
    if not isinstance(cell, str) or (field == "references" and cell and not _LIST.match(cell)):
        return cell
    found = value_in_text(cell)
    if isinstance(found, str):
        raise CalipersError(f"'{field}' is not JSON, nor a list as Python writes it")
    return found


def _text_in(value: Any, names: Sequence[str]) -> Any:
    """Return the text in an object of MLflow, such as {"question": ...} or a chat; None for other objects.

    >>> _text_in({"messages": [{"role": "user", "content": "Why?"}]}, ["question"])
    'Why?'
    """
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        value = value[-1]
    if not isinstance(value, dict):
        return value
    inner = {plain_name(name): each for name, each in value.items() if each is not None}
    known = [inner[name] for name in map(plain_name, (*names, *_INSIDE)) if name in inner]
    alone = [each for each in inner.values() if len(inner) == 1 and isinstance(each, str)]
    return _text_in(known[0], names) if known else alone[0] if alone else None


def _as_text(value: Any) -> Any:
    """Return a number as text. A whole number has no point, as columns with missing values hold 5 as 5.0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value) if isinstance(value, bool) else value
    return str(int(value)) if value == int(value) else str(value)


def _scores(given: Mapping[str, Any], error: Any) -> dict[str, float]:
    """Return the scores by name. Cells without a score (null, NaN, empty) are left out."""
    found = {}
    for name, cell in given.items():
        if cell is None or (isinstance(cell, str) and cell.strip().lower() in _NO_SCORE):
            continue
        try:
            number = math.nan if isinstance(cell, bool) else float(cell)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise error(name)
        found[str(name)] = number
    return found


# -- texts -------------------------------------------------------------------------------------------------


class _Reading:
    """Documents and texts while their rows are read."""

    def __init__(self, name: str, columns: Mapping[str, str]) -> None:
        self.name = name
        self.columns = columns
        self.chosen: dict[tuple[str, ...], dict[str, str]] = {}  # by the names of a row's cells
        self.given: str | None = None  # the name that a user gave to the only system of a source
        self.own: set[str] = set()  # systems that this source names
        self.sources: list[str] = []
        self.kind: TextKind | None = None
        self.documents: dict[str, Document] = {}
        self.texts: dict[tuple[str, str], str | None] = {}
        self.human: dict[tuple[str, str], dict[str, float]] = {}
        self.other_scores: dict[tuple[str, str], dict[str, float]] = {}
        self.numbers: dict[tuple[str, str], dict[str, float]] = {}  # in columns without a role
        self.judged: dict[tuple[str, str], AnswerJudgments] = {}
        self.counts: Counter[str] = Counter()  # of texts without an id, by system
        self.any_ids = False
        self.repeated = 0  # documents that a text lists more than once
        self.matched_by_text = False
        self.no_scores: set[str] = set()  # columns without a role that hold more than numbers

    def begin(self, name: str, system: str | None) -> None:
        """Begin to read a source. system: the name of all that it holds."""
        self.name, self.given, self.own = name, system, set()
        self.sources.append(name)

    def collection(self) -> TextCollection:
        if not any(text is not None for text in self.texts.values()):
            raise CalipersError("there are no texts", file=self.name)
        met = {column for names in self.chosen for column in names}
        for role, column in self.columns.items():
            if column not in met:
                raise CalipersError(f"there is no column '{column}' for the {role}", file=self.name)
        kind = self.kind or TEXTS
        unnamed = {name for each in self.numbers.values() for name in each} - self.no_scores
        for key, each in self.numbers.items():
            self.other_scores[key] = {name: each[name] for name in each if name in unnamed} | self.other_scores[key]
        bare = {id for id, document in self.documents.items() if not document.references}
        bare -= {
            id for found in (self.judged, self.human, self.other_scores) for (id, _), each in found.items() if each
        }
        if bare:
            id = next(each for each in self.documents if each in bare)
            raise CalipersError(f"{kind.unit} '{id}' has no reference", file=self.name)
        several = len(self.sources) > 1
        name = counted(len(self.sources), "source") if several else self.name
        notes = [f"{name}: {listed_again(self.repeated)}"] if self.repeated else []
        if self.matched_by_text:
            notes.append(f"{name}: the texts of retrieved documents are taken as their ids")
        found = TextCollection.of(
            self.documents.values(),
            self.texts,
            self.human,
            name,
            self.judged,
            self.other_scores,
            kind,
            notes,
            unnamed,
        )
        return replace(found, sources=tuple(self.sources)) if several else found

    def add(self, row: NamedRow) -> None:
        """Add one text. Errors name the row."""
        try:
            self._add(row)
        except CalipersError as error:
            raise row.error(error.message) from None

    def _add(self, row: NamedRow) -> None:
        found = tuple(map(str, row.cells))
        if found not in self.chosen:
            self.chosen[found] = first_columns(found, NAMES, self.columns)
        names = self.chosen[found]
        fields = {field: row.cells.get(names.get(field, "")) for field in NAMES}
        self._decode(row, fields, names)
        text = self._text(row, fields, names)
        if self.kind is None:
            self.kind = _kind(names)
        id, system = self._key(fields)
        self._documents_by_text(fields)
        self._document(id, system, fields)
        self.texts[id, system] = text
        self.human[id, system] = _mean_scores(id, "human", fields["human"])
        self.other_scores[id, system] = _mean_scores(id, "other", fields["scores"])
        self.numbers[id, system] = self._numbers(row, names.values())
        try:
            judged = answer_judgments(*(fields[each] for each in ("nuggets", "statements", "retrieved", "passages")))
        except CalipersError as error:
            raise CalipersError(f"{self.kind.unit} '{id}': {error.message}") from None
        if judged:
            self.judged[id, system] = judged
            self.repeated += len(fields["retrieved"] or ()) - len(judged.retrieved or ())

    def _numbers(self, row: NamedRow, taken: Collection[str]) -> dict[str, float]:
        """Return the numbers in columns without a role: scores of other tools under their own names."""
        found: dict[str, float] = {}
        for name, cell in row.cells.items():
            known = name in taken or name in self.no_scores or NUMBERED.match(name)
            if not known and not any(pattern.match(name) for pattern in _NAMED_SCORE.values()):
                try:
                    found |= _scores({name: cell}, CalipersError)
                except CalipersError:
                    self.no_scores.add(name)
        return found

    def _text(self, row: NamedRow, fields: Mapping[str, Any], names: Mapping[str, str]) -> str | None:
        """Return the text of a row, or None if it is missing."""
        text = _as_text(fields["text"])
        if text is None or isinstance(text, list):
            joined = text_of(fields["statements"])
            text = text if joined is None else joined
        if text is None and "text" not in names:
            raise CalipersError(
                f"there is no text: expected the field {self.columns.get('text', _TEXT)}; found "
                f"{', '.join(map(str, row.cells)) or 'no field'}"
            )
        if text is not None and not isinstance(text, str):
            raise CalipersError(f"'{names['text']}' is not text")
        return text

    def _documents_by_text(self, fields: dict[str, Any]) -> None:
        """Give documents without ids their texts as ids, as in rankings from data of RAGAS."""
        passages, relevant = fields["passages"], fields["relevant_passages"]
        if fields["retrieved"] is None and fields["relevant"] is None and isinstance(passages, list) and relevant:
            fields["retrieved"] = [each for each in passages if isinstance(each, str)]
            fields["relevant"] = relevant
            self.matched_by_text = True

    @staticmethod
    def _decode(row: NamedRow, fields: dict[str, Any], names: Mapping[str, str]) -> None:
        """Read lists, objects, numbered references and named scores."""
        if row.of_table:
            for field in ("id", "system", "source", "question"):
                fields[field] = None if fields[field] == "" else fields[field]
            for field in (*_LISTS, "human", "scores"):
                fields[field] = _nested(fields[field], field)
        for field in ("text", "question", "references"):
            cell = fields[field]
            if row.of_table and names.get(field, "").lower() in _OBJECTS and str(cell)[:1] == "{":
                cell = value_in_text(cell)
            if isinstance(cell, dict):
                inner = _text_in(cell, NAMES[field])
                fields[field] = cell if inner is None and field == "text" and any(cell.values()) else inner
        numbered = [cell for name, cell in row.cells.items() if NUMBERED.match(name) and cell not in (None, "")]
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
        self.own.add(system)
        if self.given is not None:
            if len(self.own) > 1:
                raise CalipersError(f"there are texts of several systems: leave out the name '{self.given}'")
            system = self.given
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
        references = _as_text(fields["references"])
        texts = [references] if isinstance(references, str) else references or []
        texts = [*map(_as_text, texts)] if isinstance(texts, list) else [None]
        if not all(isinstance(text, str) for text in texts):
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
    name = plain_name(names.get("text", ""))
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
