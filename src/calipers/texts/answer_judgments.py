"""Judgments of answers: nuggets, cited statements, and the retrieved documents.

    nuggets      [{text, importance: vital | okay, assignment: support | partial_support | not_support}, ...]
    statements   [{text, citations: [{document, support: full | partial | none}, ...]}, ...]
    retrieved    [document, ...], best first; a document is an id, or an object {id, text}; its first place counts
    passages     [text, ...], best first: the texts of the retrieved documents

Support is a word or a number from 0 to 1; a nugget may have a `weight` of its own. The first layout is that of the
assignments of the AutoNuggetizer.

Pradeep et al., Initial nugget evaluation results for the TREC 2024 RAG track with the AutoNuggetizer framework, 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from calipers.errors import CalipersError

SUPPORT = {
    "full": 1.0,
    "full_support": 1.0,
    "support": 1.0,
    "supported": 1.0,
    "fs": 1.0,
    "yes": 1.0,
    "true": 1.0,
    "partial": 0.5,
    "partial_support": 0.5,
    "partially_supported": 0.5,
    "ps": 0.5,
    "none": 0.0,
    "no": 0.0,
    "no_support": 0.0,
    "not_support": 0.0,
    "not_supported": 0.0,
    "ns": 0.0,
    "false": 0.0,
}
IMPORTANCE = {"vital": "vital", "okay": "okay", "ok": "okay"}


@dataclass(frozen=True)
class Nugget:
    """A fact that a good answer states, and how far this answer states it."""

    text: str
    support: float  # from 0 to 1
    importance: str = "okay"  # or vital
    weight: float | None = None  # where it has one of its own


@dataclass(frozen=True)
class Citation:
    """A document that a statement names as its source."""

    document: str
    support: float | None = None  # how far the document supports the statement; None where nobody said


@dataclass(frozen=True)
class Statement:
    """A sentence of an answer, and its citations."""

    text: str
    citations: tuple[Citation, ...] = ()
    support: float | None = None  # by all of its citations together, where somebody said
    needs_citation: bool = True


@dataclass(frozen=True)
class AnswerJudgments:
    """Judgments of one answer. A field is None if the file does not have it."""

    nuggets: tuple[Nugget, ...] | None = None
    statements: tuple[Statement, ...] | None = None
    retrieved: tuple[str, ...] | None = None
    passages: tuple[str, ...] | None = None  # the texts that the answer was made from, best first

    def __bool__(self) -> bool:
        return any(part is not None for part in (self.nuggets, self.statements, self.retrieved, self.passages))


def answer_judgments(nuggets: Any, statements: Any, retrieved: Any, passages: Any = None) -> AnswerJudgments:
    """Return the judgments of an answer from parsed JSON. None stands for a missing field.

    >>> answer_judgments([{"text": "born in 1912", "importance": "vital", "assignment": "partial_support"}], None, None)
    AnswerJudgments(nuggets=(Nugget(text='born in 1912', support=0.5, importance='vital', weight=None),), \
statements=None, retrieved=None, passages=None)
    """
    return AnswerJudgments(
        None if nuggets is None else tuple(_nugget(each) for each in _list("nuggets", nuggets)),
        None if statements is None else tuple(_statement(each) for each in _list("statements", statements)),
        None if retrieved is None else _documents(_list("retrieved", retrieved)),
        None if passages is None else tuple(_passage(each) for each in _list("passages", passages)),
    )


def passages_of(retrieved: Any, passages: Any) -> dict[str, str]:
    """Return the texts of retrieved documents by id: from `text` of the documents, or from the list of passages.

    >>> passages_of([{"id": "d1", "text": "Ulm is a city."}], None), passages_of(["d1"], ["Ulm is a city."])
    ({'d1': 'Ulm is a city.'}, {'d1': 'Ulm is a city.'})
    """
    ids = retrieved if isinstance(retrieved, list) else []
    found = {_citation(each).document: each["text"] for each in ids if isinstance(each, dict) and "text" in each}
    if isinstance(passages, list) and len(passages) == len(ids):
        found |= {_citation(id).document: _passage(text) for id, text in zip(ids, passages, strict=True)}
    return found


def _passage(given: Any) -> str:
    text = given.get("text") if isinstance(given, dict) else given
    if not isinstance(text, str):
        raise CalipersError("a passage is not text")
    return text


def text_of(statements: Any) -> str | None:
    """Return the text of all statements together, or None if there are no statements with text."""
    if not isinstance(statements, list) or not all(isinstance(each, dict) for each in statements):
        return None
    texts = [each.get("text") for each in statements]
    return " ".join(texts) if all(isinstance(text, str) for text in texts) else None


def relevance_of(given: Any) -> dict[str, float] | None:
    """Return the grades of a question's relevant documents, from a list of ids (grade 1) or an object of grades."""
    if given is None:
        return None
    if isinstance(given, list):
        return dict.fromkeys(_documents(given), 1.0)
    grades = _without_nulls(given)
    if not isinstance(grades, dict) or not all(_is_number(grade) for grade in grades.values()):
        raise CalipersError("'relevant' is not a list of documents, or an object of grades")
    return {str(document): float(grade) for document, grade in grades.items()}


def _list(field: str, given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise CalipersError(f"'{field}' is not a list")
    return given


def _without_nulls(given: Any) -> Any:
    """Return an object without the fields that are null. Parquet has every field in every row."""
    return {name: value for name, value in given.items() if value is not None} if isinstance(given, dict) else given


def _nugget(given: Any) -> Nugget:
    given = _without_nulls(given)
    if not isinstance(given, dict) or not isinstance(given.get("text", ""), str):
        raise CalipersError("a nugget is not an object with text, importance and assignment")
    said = next((given[name] for name in ("assignment", "support", "supported") if name in given), None)
    if said is None:
        raise CalipersError(f"the nugget '{given.get('text', '')}' has no assignment: support, partial_support, ...")
    importance = given.get("importance", "okay")
    if not isinstance(importance, str) or importance.lower() not in IMPORTANCE:
        raise CalipersError(f"the importance {importance!r} of a nugget is not vital or okay")
    weight = given.get("weight")
    if weight is not None and (not _is_number(weight) or weight < 0):
        raise CalipersError(f"the weight {weight!r} of a nugget is not a number of at least 0")
    return Nugget(
        given.get("text", ""),
        _support(said),
        IMPORTANCE[importance.lower()],
        None if weight is None else float(weight),
    )


def _statement(given: Any) -> Statement:
    given = _without_nulls(given)
    if not isinstance(given, dict) or not isinstance(given.get("text", ""), str):
        raise CalipersError("a statement is not an object with text and citations")
    needs = given.get("needs_citation", True)
    if not isinstance(needs, bool):
        raise CalipersError(f"needs_citation {needs!r} of a statement is not true or false")
    support = given.get("support")
    return Statement(
        given.get("text", ""),
        tuple(_citation(each) for each in _list("citations", given.get("citations", []))),
        None if support is None else _support(support),
        needs,
    )


def _citation(given: Any) -> Citation:
    given = _without_nulls(given)
    if not isinstance(given, dict):
        return Citation(_document(given))
    document = next((given[name] for name in ("document", "doc_id", "docid", "id") if name in given), None)
    support = given.get("support", given.get("assignment"))
    return Citation(_document(document), None if support is None else _support(support))


def _documents(given: list[Any]) -> tuple[str, ...]:
    """Return the ids of documents. The first place of a document counts."""
    return tuple(dict.fromkeys(_citation(each).document for each in given))


def _document(given: Any) -> str:
    if not isinstance(given, str | int) or isinstance(given, bool):
        raise CalipersError(f"{given!r} is not the id of a document")
    return str(given)


def _support(given: Any) -> float:
    if isinstance(given, bool):
        return float(given)
    if isinstance(given, str) and given.strip().lower().replace(" ", "_").replace("-", "_") in SUPPORT:
        return SUPPORT[given.strip().lower().replace(" ", "_").replace("-", "_")]
    if _is_number(given) and 0 <= given <= 1:
        return float(given)
    raise CalipersError(f"the support {given!r} is not full, partial, none or a number from 0 to 1")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf
