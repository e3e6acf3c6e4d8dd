"""Texts to be scored: documents or questions, the texts of systems about them, references, and human scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calipers.errors import CalipersError, UnknownName, suggestion
from calipers.lists import Floats
from calipers.texts.answer_judgments import AnswerJudgments

ByText = Mapping[tuple[str, str], Mapping[str, float]]  # scores by document and system, each by its name


@dataclass(frozen=True)
class TextKind:
    """Words for a kind of data: the name of a text (summary, answer), and of its subject (document, query)."""

    text: str = "text"
    unit: str = "document"


SUMMARIES, ANSWERS, TEXTS = TextKind("summary"), TextKind("answer", "query"), TextKind()


@dataclass(frozen=True)
class Document:
    """A source document (or question) with its references."""

    id: str
    references: tuple[str, ...]
    source: str | None = None
    relevant: Mapping[str, float] | None = None  # of a question: grades of the documents that answer it
    question: str | None = None
    passages: Mapping[str, str] = field(default_factory=dict)  # texts of retrieved documents, by id
    unit: str = "document"  # or query

    def __str__(self) -> str:
        return f"{self.unit} '{self.id}'"


@dataclass(frozen=True, eq=False)
class TextCollection:
    """Texts about documents, written by systems.

    >>> given = TextCollection.of([Document("d1", ("a cat",))], {("d1", "s1"): "the cat"})
    >>> given.systems, given.texts
    (('s1',), (('the cat',),))
    """

    documents: tuple[Document, ...]
    systems: tuple[str, ...]
    texts: tuple[tuple[str | None, ...], ...]  # [system][document]; None where a system wrote no text
    human: Mapping[str, Floats]  # by aspect: [system, document], NaN where nobody judged
    name: str = "texts"
    judged: Mapping[tuple[str, str], AnswerJudgments] = field(default_factory=dict)  # by document and system
    other_scores: Mapping[str, Floats] = field(default_factory=dict)  # by measure: [system, document]
    kind: TextKind = TEXTS
    notes: tuple[str, ...] = ()  # on how they were read
    unnamed_scores: frozenset[str] = frozenset()  # names of other scores of which nobody said that they are scores
    sources: tuple[str, ...] = ()  # files that were read, if they are several

    @classmethod
    def of(
        cls,
        documents: Iterable[Document],
        texts: Mapping[tuple[str, str], str | None],
        human: ByText | None = None,
        name: str = "texts",
        judged: Mapping[tuple[str, str], AnswerJudgments] | None = None,
        other_scores: ByText | None = None,
        kind: TextKind = TEXTS,
        notes: Sequence[str] = (),
        unnamed_scores: Iterable[str] = (),
    ) -> TextCollection:
        """Build a collection from texts, human scores and scores of other tools, each by document and system."""
        known = tuple(documents)
        systems = tuple(dict.fromkeys(system for _, system in texts))
        ids = [document.id for document in known]
        rows = tuple(tuple(texts.get((id, system)) for id in ids) for system in systems)
        people, others = (_arrays(each or {}, systems, ids) for each in (human, other_scores))
        unnamed = frozenset(unnamed_scores)
        return cls(known, systems, rows, people, name, judged or {}, others, kind, tuple(notes), unnamed)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(document.id for document in self.documents)

    @property
    def has_text(self) -> np.ndarray:
        """True where a system wrote a text: [system, document]."""
        return np.array([[text is not None for text in row] for row in self.texts], dtype=bool)

    @property
    def empty(self) -> tuple[int, int]:
        """Numbers of blank texts and blank references."""
        texts = sum(text is not None and not text.strip() for row in self.texts for text in row)
        references = sum(not text.strip() for document in self.documents for text in document.references)
        return texts, references

    def judgments(self, aspect: str) -> Floats:
        """Return the human scores of one aspect: [system, document]."""
        if aspect not in self.human:
            raise UnknownName(f"no human scores for '{aspect}'; {suggestion(aspect, self.human)}", file=self.name)
        return self.human[aspect]

    def with_scores(self, scores: ByText) -> TextCollection:
        """Return the collection with more scores of other tools."""
        for id, system in scores:
            for what, given, known in ((self.kind.unit, id, self.ids), ("system", system, self.systems)):
                if given not in known:
                    raise UnknownName.among(what, given, known)
        found = _arrays(scores, self.systems, self.ids)
        return replace(
            self, other_scores={**self.other_scores, **found}, unnamed_scores=self.unnamed_scores - found.keys()
        )

    def of_systems(self, systems: Sequence[str]) -> TextCollection:
        """Return the texts of these systems only."""
        for system in systems:
            if system not in self.systems:
                raise UnknownName.among("system", system, self.systems, file=self.name)
        return self._part([self.systems.index(system) for system in systems], range(len(self.documents)))

    def of_documents(self, ids: Sequence[str]) -> TextCollection:
        """Return the texts about these documents only, in the order of the file."""
        for id in ids:
            if id not in self.ids:
                raise UnknownName.among(self.kind.unit, id, self.ids, file=self.name)
        places = [place for place, id in enumerate(self.ids) if id in set(ids)]
        if not places:
            raise CalipersError(f"no {self.kind.unit} was chosen", file=self.name)
        return self._part(range(len(self.systems)), places)

    def _part(self, systems: Sequence[int], documents: Sequence[int]) -> TextCollection:
        cells = np.ix_(systems, documents)
        return replace(
            self,
            documents=tuple(self.documents[place] for place in documents),
            systems=tuple(self.systems[place] for place in systems),
            texts=tuple(tuple(self.texts[s][d] for d in documents) for s in systems),
            human={aspect: values[cells] for aspect, values in self.human.items()},
            other_scores={name: values[cells] for name, values in self.other_scores.items()},
        )

    def first_references(self, count: int) -> TextCollection:
        """Keep the first `count` references of each document, in the order of the file."""
        return replace(self, documents=tuple(replace(d, references=d.references[:count]) for d in self.documents))


def _arrays(scores: ByText, systems: Sequence[str], ids: Sequence[str]) -> dict[str, Floats]:
    """Return scores by name: [system, document], NaN where a score is missing."""
    names = dict.fromkeys(name for each in scores.values() for name in each)
    return {
        name: np.array(
            [[scores.get((id, system), {}).get(name, math.nan) for id in ids] for system in systems], dtype=np.float64
        )
        for name in names
    }
