"""The seven numeric properties of measures, where they make sense for texts, tried on data.

    bounded       no score exceeds the upper bound
    monotone      a correct sentence (one of a reference) that is added never lowers the score
    convergent    a correct sentence in the place of one that no reference has never lowers it
    localized     the score depends on the document's own texts only
    complete      every text has a score, also an empty one, one without words and one that repeats itself
    realizable    the reference itself reaches the upper bound

Texts have no ranks to be top-weighted. A failure is a proof, found in these texts; that there is none proves nothing.
Measures that judge more than texts (nuggets, citations) have no score for a text that nobody wrote: no trial.

Moffat, Seven numeric properties of effectiveness metrics, AIRS 2013, states them for rankings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.random_rankings import SEED
from calipers.results.tables import Cell, ShownAsTable, Table
from calipers.text.options import TextOptions
from calipers.text.scoring import TextScores, evaluate_summaries
from calipers.text.summaries import Summaries
from calipers.text.tokens import source_sentences

PROPERTIES = ("bounded", "monotone", "convergent", "localized", "complete", "realizable")
TRIALS = 100
NOISE = 1e-9


@dataclass(frozen=True)
class TextVerdict:
    """What the trials of a property said of a measure."""

    measure: str
    name: str  # of the property
    trials: int
    failures: int
    worst: float  # the largest drop, excess or difference
    example: str  # the document and the system of it

    @property
    def verdict(self) -> str:
        return "untried" if not self.trials else "fails" if self.failures else "held"


@dataclass(frozen=True, eq=False)
class TextProperties(ShownAsTable):
    """Of each measure and property: in how many trials it failed."""

    verdicts: tuple[TextVerdict, ...]
    seed: int

    def table(self) -> Table:
        """One row per measure and property."""
        rows: list[tuple[Cell, ...]] = [
            (v.measure, v.name, v.verdict, v.trials, v.failures, v.worst, v.example) for v in self.verdicts
        ]
        return Table(("measure", "property", "verdict", "trials", "failures", "worst", "example"), tuple(rows))

    def __getitem__(self, key: tuple[str, str]) -> TextVerdict:
        return next(v for v in self.verdicts if (v.measure, v.name) == key)


@dataclass(frozen=True)
class _Trial:
    """A text, what it is changed to, and whose it is."""

    document: int
    system: str
    before: str
    after: str


def text_properties(
    summaries: Summaries,
    measures: str | Sequence[str],
    options: TextOptions | None = None,
    *,
    trials: int = TRIALS,
    seed: int = SEED,
    **models: Any,
) -> TextProperties:
    """Try the properties of measures on these summaries; options and models are those of `evaluate_summaries`.

    >>> from calipers.text import Document
    >>> given = Summaries.of([Document("d", ("A cat sat. It was red.",))], {("d", "s"): "A cat."}, {})
    >>> found = text_properties(given, "ROUGE-1 ROUGE-1(part=precision)")
    >>> found["ROUGE-1", "monotone"].verdict, found["ROUGE-1", "realizable"].verdict
    ('held', 'held')
    """
    if trials < 1:
        raise CalipersError(f"trials {trials} is not a whole number of at least 1")
    random = np.random.default_rng(seed)
    places = [
        (d, s)
        for d, document in enumerate(summaries.documents)
        for s in range(len(summaries.systems))
        if document.references and summaries.texts[s][d] is not None
    ]
    chosen = [places[i] for i in sorted(random.permutation(len(places))[:trials])]
    scored = _Scored(summaries, measures, options, models)
    found: list[TextVerdict] = []
    found += scored.compared("monotone", _longer(summaries, chosen, random))
    found += scored.compared("convergent", _corrected(summaries, chosen, random))
    found += scored.localized(chosen)
    found += scored.perfect(chosen)
    found = [*scored.bounded(), *found, *scored.complete(chosen)]
    order = {name: place for place, name in enumerate(scored.names)}
    found.sort(key=lambda each: (order[each.measure], PROPERTIES.index(each.name)))
    return TextProperties(tuple(found), seed)


def _longer(summaries: Summaries, chosen: Sequence[tuple[int, int]], random: np.random.Generator) -> list[_Trial]:
    """With a sentence of a reference more."""
    found = []
    for d, s in chosen:
        text = summaries.texts[s][d] or ""
        new = [each for each in _correct(summaries, d) if each not in text]
        if new:
            sentence = new[random.integers(len(new))]
            found.append(_Trial(d, summaries.systems[s], text, f"{text} {sentence}".strip()))
    return found


def _corrected(summaries: Summaries, chosen: Sequence[tuple[int, int]], random: np.random.Generator) -> list[_Trial]:
    """With a sentence of a reference in the place of one that no reference has."""
    found = []
    for d, s in chosen:
        text = summaries.texts[s][d] or ""
        own = source_sentences(text)
        wrong = [i for i, each in enumerate(own) if not any(each in r for r in summaries.documents[d].references)]
        new = [each for each in _correct(summaries, d) if each not in text]
        if wrong and new:
            own[wrong[random.integers(len(wrong))]] = new[random.integers(len(new))]
            found.append(_Trial(d, summaries.systems[s], text, " ".join(own)))
    return found


def _correct(summaries: Summaries, document: int) -> list[str]:
    references = summaries.documents[document].references
    return list(dict.fromkeys(each for text in references for each in source_sentences(text)))


class _Scored:
    """Texts that nobody wrote, under the measures."""

    def __init__(
        self, summaries: Summaries, measures: str | Sequence[str], options: TextOptions | None, models: dict[str, Any]
    ) -> None:
        self.summaries, self.measures, self.options, self.models = summaries, measures, options, models
        self.whole = self._evaluated(summaries)
        self.names = self.whole.scores.measures
        self.highest: list[tuple[Floats, TextScores]] = [(self._values(self.whole), self.whole)]

    def _evaluated(self, summaries: Summaries) -> TextScores:
        return evaluate_summaries(summaries, self.measures, self.options, warn=False, **self.models)

    def _values(self, found: TextScores) -> Floats:
        """More is better: [measure, system, document]."""
        return np.asarray(found.scores.values * found.scores.signs[:, None, None])

    @property
    def on_shares(self) -> list[bool]:
        """Which of the measures have 1 for an upper bound."""
        return [bool(each.normal not in ("", "E") or (each.declaration.share is None and not each.lower))
                for each in self.whole.asked]  # fmt: skip

    def texts(self, rows: Sequence[tuple[int, str]], keep: bool = True) -> Floats:
        """The scores of texts, each about a document: [measure, text]."""
        if not rows:
            return np.empty((len(self.names), 0))
        place: list[int] = []
        columns: dict[int, list[str]] = {}
        for d, text in rows:
            place.append(len(columns.setdefault(d, [])))
            columns[d].append(text)
        documents = sorted(columns)
        depth = max(map(len, columns.values()))
        made = replace(
            self.summaries,
            documents=tuple(self.summaries.documents[d] for d in documents),
            systems=tuple(f"trial {i}" for i in range(depth)),
            texts=tuple(tuple(columns[d][i] if i < len(columns[d]) else None for d in documents) for i in range(depth)),
            human={},
        )
        found = self._evaluated(made)
        values = self._values(found)
        if keep:
            self.highest.append((values, found))
        return values[:, place, [documents.index(d) for d, _ in rows]]

    def compared(self, property: str, trials: Sequence[_Trial]) -> list[TextVerdict]:
        """Whether what is done to the texts ever lowers their scores."""
        both = self.texts([(t.document, text) for t in trials for text in (t.before, t.after)])
        drop = both[:, 0::2] - both[:, 1::2]
        where = [self._where(t.document, t.system) for t in trials]
        return [_verdict(name, property, drop[m], where) for m, name in enumerate(self.names)]

    def localized(self, chosen: Sequence[tuple[int, int]]) -> list[TextVerdict]:
        """Whether scores are the same when the other half of the documents is not there."""
        documents = sorted({d for d, _ in chosen})
        if len(documents) < 2:
            return [TextVerdict(name, "localized", 0, 0, np.nan, "") for name in self.names]
        half = documents[::2]
        part = replace(
            self.summaries,
            documents=tuple(self.summaries.documents[d] for d in half),
            texts=tuple(tuple(row[d] for d in half) for row in self.summaries.texts),
            human={},
        )
        values = self._values(self._evaluated(part))
        cells = [(s, half.index(d), d) for d, s in chosen if d in half]
        rows, columns, whole = (list(each) for each in zip(*cells, strict=True))
        off = np.abs(values[:, rows, columns] - self._values(self.whole)[:, rows, whole])
        where = [self._where(d, self.summaries.systems[s]) for s, _, d in cells]
        return [_verdict(name, "localized", off[m], where) for m, name in enumerate(self.names)]

    def perfect(self, chosen: Sequence[tuple[int, int]]) -> list[TextVerdict]:
        """Whether the first reference reaches the bound."""
        documents = sorted({d for d, _ in chosen})
        below = 1 - self.texts([(d, self.summaries.documents[d].references[0]) for d in documents])
        where = [self._where(d, "the reference") for d in documents]
        return [
            _verdict(name, "realizable", below[m] if bounded else below[m, :0], where)
            for m, (name, bounded) in enumerate(zip(self.names, self.on_shares, strict=True))
        ]

    def bounded(self) -> list[TextVerdict]:
        """Whether any of the scores so far is above the bound."""
        found = []
        for m, (name, bounded) in enumerate(zip(self.names, self.on_shares, strict=True)):
            over, where = [], []
            for values, of in self.highest if bounded else []:
                for s, d in np.argwhere(~np.isnan(values[m])):
                    over.append(values[m, s, d] - 1)
                    where.append(f"{of.scores.queries[d]}, {of.scores.systems[s]}")
            found.append(_verdict(name, "bounded", np.array(over), where))
        return found

    def complete(self, chosen: Sequence[tuple[int, int]]) -> list[TextVerdict]:
        """Whether texts of every kind have a score."""
        documents = sorted({d for d, _ in chosen})
        kinds = {"an empty text": "", "no words": "?!", "repeated": None}
        rows = [
            (d, f"{text} " * 3 if given is None else given)
            for d in documents
            for given, text in ((given, self.summaries.documents[d].references[0]) for given in kinds.values())
        ]
        lacking = np.isnan(self.texts(rows, keep=False))
        where = [self._where(d, kind) for d in documents for kind in kinds]
        tried = [not each.all() for each in lacking]
        return [
            _verdict(name, "complete", np.where(lacking[m], 1.0, 0.0) if tried[m] else np.empty(0), where)
            for m, name in enumerate(self.names)
        ]

    def _where(self, document: int, system: str) -> str:
        return f"{self.summaries.documents[document].id}, {system}"


def _verdict(measure: str, property: str, excess: Floats, where: Sequence[str]) -> TextVerdict:
    """A trial fails where something exceeds 0."""
    known = np.flatnonzero(~np.isnan(excess))
    if not len(known):
        return TextVerdict(measure, property, 0, 0, np.nan, "")
    worst = int(known[np.argmax(excess[known])])
    failures = int((excess[known] > NOISE).sum())
    size = float(max(excess[worst], 0.0)) if failures else 0.0
    return TextVerdict(measure, property, len(known), failures, size, where[worst] if failures else "")
