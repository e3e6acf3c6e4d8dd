"""Summaries and answers to be judged: documents or questions, what systems wrote about them, references, and what
people thought of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calipers.errors import CalipersError, UnknownName, suggestion
from calipers.lists import Floats
from calipers.text.answer_judgments import AnswerJudgments


@dataclass(frozen=True)
class Document:
    """A source document (or question) with its references."""

    id: str
    references: tuple[str, ...]
    source: str | None = None
    relevant: Mapping[str, float] | None = None  # of a question: grades of the documents that answer it


@dataclass(frozen=True, eq=False)
class Summaries:
    """Summaries of documents, written by systems.

    >>> given = Summaries.of([Document("d1", ("a cat",))], {("d1", "s1"): "the cat"}, {})
    >>> given.systems, given.texts
    (('s1',), (('the cat',),))
    """

    documents: tuple[Document, ...]
    systems: tuple[str, ...]
    texts: tuple[tuple[str | None, ...], ...]  # [system][document]; None where a system has no summary
    human: Mapping[str, Floats]  # by aspect: [system, document], NaN where nobody judged
    name: str = "summaries"
    judged: Mapping[tuple[str, str], AnswerJudgments] = field(default_factory=dict)  # by document and system

    @classmethod
    def of(
        cls,
        documents: Iterable[Document],
        texts: Mapping[tuple[str, str], str],
        human: Mapping[tuple[str, str], Mapping[str, float]],
        name: str = "summaries",
        judged: Mapping[tuple[str, str], AnswerJudgments] | None = None,
    ) -> Summaries:
        """Build summaries from texts and human scores by document and system."""
        known = tuple(documents)
        systems = tuple(dict.fromkeys(system for _, system in texts))
        aspects = dict.fromkeys(aspect for scores in human.values() for aspect in scores)
        scored = {
            aspect: np.array(
                [[human.get((d.id, s), {}).get(aspect, math.nan) for d in known] for s in systems], dtype=np.float64
            )
            for aspect in aspects
        }
        rows = tuple(tuple(texts.get((d.id, s)) for d in known) for s in systems)
        return cls(known, systems, rows, scored, name, judged or {})

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(document.id for document in self.documents)

    @property
    def missing(self) -> int:
        """Number of documents that systems did not summarise, over all systems."""
        return sum(text is None for row in self.texts for text in row)

    @property
    def empty(self) -> tuple[int, int]:
        """Numbers of blank summaries and blank references. Each scores 0."""
        summaries = sum(text is not None and not text.strip() for row in self.texts for text in row)
        references = sum(not text.strip() for document in self.documents for text in document.references)
        return summaries, references

    def judgments(self, aspect: str) -> Floats:
        """Return the human scores of one aspect: [system, document]."""
        if aspect not in self.human:
            raise UnknownName(f"no human scores for '{aspect}'; {suggestion(aspect, self.human)}", file=self.name)
        return self.human[aspect]

    def of_systems(self, systems: Sequence[str]) -> Summaries:
        """Return the summaries of these systems only."""
        for system in systems:
            if system not in self.systems:
                raise UnknownName.among("system", system, self.systems, file=self.name)
        rows = [self.systems.index(system) for system in systems]
        texts = tuple(self.texts[row] for row in rows)
        human = {aspect: values[rows] for aspect, values in self.human.items()}
        return replace(self, systems=tuple(systems), texts=texts, human=human)

    def of_documents(self, ids: Sequence[str]) -> Summaries:
        """Return the summaries of these documents only, in the order of the file."""
        for id in ids:
            if id not in self.ids:
                raise UnknownName.among("document", id, self.ids, file=self.name)
        places = [place for place, id in enumerate(self.ids) if id in set(ids)]
        if not places:
            raise CalipersError("no document was chosen", file=self.name)
        texts = tuple(tuple(row[place] for place in places) for row in self.texts)
        human = {aspect: values[:, places] for aspect, values in self.human.items()}
        return replace(self, documents=tuple(self.documents[place] for place in places), texts=texts, human=human)

    def first_references(self, count: int) -> Summaries:
        """Keep the first `count` references of each document, in the order of the file."""
        return replace(self, documents=tuple(replace(d, references=d.references[:count]) for d in self.documents))
