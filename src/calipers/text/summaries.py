"""Summaries to be judged: documents, what systems wrote about them, references, and what people thought of it.

Two layouts are read, plain or packed:

    JSON lines    one object per document and system: id, system, summary, references (a list, or one text), source,
                  human (an object of scores). A document's source and references may stand in one of its lines only.
    SummEval      one object: {id: {src, ref_summs, sys_summs: {system: {sys_summ, scores}}}}

Fields may also have the names of SummEval's first release (decoded, model_id, text, expert_annotations).

Fabbri et al., SummEval: re-evaluating summarization evaluation, TACL 2021.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.errors import CalipersError, UnknownName, suggestion
from calipers.lists import Floats

NAMES = {
    "id": ("id", "doc_id", "document"),
    "system": ("system", "model_id", "model"),
    "summary": ("summary", "decoded", "sys_summ"),
    "source": ("source", "src", "text", "article"),
    "references": ("references", "reference", "ref_summs", "ref_summ"),
    "human": ("human", "scores", "expert_annotations"),
}


@dataclass(frozen=True)
class Document:
    """What summaries are made from, and what they are compared with."""

    id: str
    references: tuple[str, ...]
    source: str | None = None


@dataclass(frozen=True, eq=False)
class Summaries:
    """The summaries of documents by systems.

    >>> given = Summaries.of([Document("d1", ("a cat",))], {("d1", "s1"): "the cat"}, {})
    >>> given.systems, given.texts
    (('s1',), (('the cat',),))
    """

    documents: tuple[Document, ...]
    systems: tuple[str, ...]
    texts: tuple[tuple[str | None, ...], ...]  # [system][document]; None where a system has no summary
    human: Mapping[str, Floats]  # by aspect: [system, document], NaN where nobody judged
    name: str = "summaries"

    @classmethod
    def of(
        cls,
        documents: Iterable[Document],
        texts: Mapping[tuple[str, str], str],
        human: Mapping[tuple[str, str], Mapping[str, float]],
        name: str = "summaries",
    ) -> Summaries:
        """From texts and scores by document and system."""
        known = tuple(documents)
        systems = tuple(dict.fromkeys(system for _, system in texts))
        aspects = dict.fromkeys(aspect for scores in human.values() for aspect in scores)
        judged = {
            aspect: np.array(
                [[human.get((d.id, s), {}).get(aspect, math.nan) for d in known] for s in systems], dtype=np.float64
            )
            for aspect in aspects
        }
        rows = tuple(tuple(texts.get((d.id, s)) for d in known) for s in systems)
        return cls(known, systems, rows, judged, name)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(document.id for document in self.documents)

    @property
    def missing(self) -> int:
        """How many summaries there would be more if every system had written about every document."""
        return sum(text is None for row in self.texts for text in row)

    @property
    def empty(self) -> tuple[int, int]:
        """How many summaries and references are blank: each scores 0."""
        summaries = sum(text is not None and not text.strip() for row in self.texts for text in row)
        references = sum(not text.strip() for document in self.documents for text in document.references)
        return summaries, references

    def judgments(self, aspect: str) -> Floats:
        """What people thought under one aspect: [system, document]."""
        if aspect not in self.human:
            raise UnknownName(f"no human scores for '{aspect}'; {suggestion(aspect, self.human)}", file=self.name)
        return self.human[aspect]

    def of_systems(self, systems: Sequence[str]) -> Summaries:
        """Only those of these systems."""
        for system in systems:
            if system not in self.systems:
                raise UnknownName.among("system", system, self.systems, file=self.name)
        rows = [self.systems.index(system) for system in systems]
        texts = tuple(self.texts[row] for row in rows)
        return Summaries(self.documents, tuple(systems), texts, {a: v[rows] for a, v in self.human.items()}, self.name)

    def first_references(self, count: int) -> Summaries:
        """With only so many references of each document, in the order of the file."""
        documents = tuple(Document(d.id, d.references[:count], d.source) for d in self.documents)
        return Summaries(documents, self.systems, self.texts, self.human, self.name)


def read_summaries(source: str | os.PathLike[str], *, max_unpacked: int | None = None) -> Summaries:
    """Summaries from a file of JSON lines, or in SummEval's layout; it may be packed."""
    from calipers.collection.files import blocks

    name = os.fspath(source)
    whole = b"".join(bytes(block) for block in blocks(name, max_unpacked=max_unpacked))
    try:
        text = whole.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = whole[: error.start].count(b"\n") + 1
        raise CalipersError(f"is not text in UTF-8 (byte {error.start})", file=name, line=line) from None
    read = _Reading(name)
    try:
        alone = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        alone = None  # several lines, or a mistake in one of them
    if isinstance(alone, dict) and any(_is_layout(value) for value in alone.values()):
        for id, entry in alone.items():
            read.article(id, entry)
    else:
        for line, content in enumerate(text.split("\n"), 1):
            if content.strip():
                read.line(line, content)
    return read.summaries()


def _is_layout(value: object) -> bool:
    return isinstance(value, dict) and "sys_summs" in value


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


class _Reading:
    """What has been read so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.documents: dict[str, Document] = {}
        self.texts: dict[tuple[str, str], str] = {}
        self.human: dict[tuple[str, str], dict[str, float]] = {}

    def summaries(self) -> Summaries:
        if not self.texts:
            raise CalipersError("there is no summary in this file", file=self.name)
        for document in self.documents.values():
            if not document.references:
                raise CalipersError(f"document '{document.id}' has no reference", file=self.name)
        return Summaries.of(self.documents.values(), self.texts, self.human, self.name)

    def fail(self, message: str, line: int | None = None) -> CalipersError:
        return CalipersError(message, file=self.name, line=line)

    def line(self, number: int, content: str) -> None:
        try:
            entry = json.loads(content, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise self.fail(f"is not JSON: {error}", number) from None
        if not isinstance(entry, dict):
            raise self.fail("expected an object with id, system, summary and references", number)
        fields = {field: next((entry[name] for name in names if name in entry), None) for field, names in NAMES.items()}
        for field in ("id", "system"):
            if not isinstance(fields[field], str | int) or isinstance(fields[field], bool):
                raise self.fail(f"'{field}' is missing, or is not text", number)
        if not isinstance(fields["summary"], str):
            raise self.fail("'summary' is missing, or is not text", number)
        self.add(str(fields["id"]), str(fields["system"]), fields, number)

    def article(self, id: str, entry: Any) -> None:
        if not _is_layout(entry) or not isinstance(entry["sys_summs"], dict):
            raise self.fail(f"document '{id}': 'sys_summs' is not an object of systems")
        for system, made in entry["sys_summs"].items():
            if not isinstance(made, dict) or not isinstance(made.get("sys_summ"), str):
                raise self.fail(f"document '{id}', system '{system}': 'sys_summ' is missing, or is not text")
            fields = {
                "summary": made["sys_summ"],
                "source": entry.get("src"),
                "references": entry.get("ref_summs", entry.get("ref_summ")),
                "human": made.get("scores"),
            }
            self.add(id, system, fields, None)

    def add(self, id: str, system: str, fields: Mapping[str, Any], line: int | None) -> None:
        where = f"document '{id}'"
        if (id, system) in self.texts:
            raise self.fail(f"{where} has a second summary by system '{system}'", line)
        source = fields["source"]
        if source is not None and not isinstance(source, str):
            raise self.fail(f"{where}: 'source' is not text", line)
        references = fields["references"]
        texts = [references] if isinstance(references, str) else references if references is not None else []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self.fail(f"{where}: 'references' is not a list of texts", line)
        given = Document(id, tuple(texts), source)
        before = self.documents.get(id, given)
        if before.source and source and before.source != source:
            raise self.fail(f"{where} has another source than before", line)
        if before.references and texts and before.references != given.references:
            raise self.fail(f"{where} has other references than before", line)
        source = before.source if before.source is not None else source
        self.documents[id] = Document(id, before.references or given.references, source)
        self.texts[id, system] = fields["summary"]
        self.human[id, system] = self.scores(fields["human"], where, line)

    def scores(self, given: Any, where: str, line: int | None) -> dict[str, float]:
        """One object of scores, or a list of them, one an annotator, which are averaged."""
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


def _is_score(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))
