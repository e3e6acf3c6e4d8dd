"""Scores and preferences of people for the texts of systems, and tables of how well measures agree with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.questions.metaeval.human_agreement import (
    COEFFICIENTS,
    LEVELS,
    HumanCorrelation,
    check_choices,
    human_correlation,
)
from calipers.questions.metaeval.measure_tests import SAMPLES, table_of_tests
from calipers.questions.metaeval.power import bases_by_name
from calipers.questions.metaeval.text_preferences import OUTCOMES, Preference, read_preferences, win_lost_tie
from calipers.results.scores import Scores
from calipers.results.tables import Cell, Table
from calipers.statistics.significance import Samples
from calipers.support.checks import check_type
from calipers.support.plurals import counted, verb

Human = str | Iterable[str] | Mapping[str, Floats]  # aspects of judgment, or their scores: [system, query]


@dataclass(frozen=True, eq=False)
class People:
    """Scores and preferences of people, and how measures are held against them."""

    scores: Mapping[str, Floats]  # by aspect: [system, query], NaN where nobody judged
    preferences: tuple[Preference, ...]
    levels: tuple[str, ...]
    coefficient: str
    samples: int  # of documents for intervals, and of exchanges for tests
    seed: int
    alpha: float
    notes: tuple[str, ...]

    def agreement(self, scores: Scores, queries: Sequence[str]) -> HumanCorrelation:
        """Return the correlations of all measures with people on some queries."""
        part, human = self._on(scores, queries)
        return human_correlation(
            part,
            human,
            self.levels,
            [self.coefficient],
            bases=bases_by_name(scores.measures),
            samples=self.samples,
            seed=self.seed,
        )

    def tests(self, scores: Scores, queries: Sequence[str]) -> Table:
        """Test for each aspect and pair of measures whether one agrees better with people, at the first level."""
        part, human = self._on(scores, queries)
        return table_of_tests(
            part, human, self.levels[0], self.coefficient, samples=self.samples, seed=self.seed, alpha=self.alpha
        )

    def wins(self, scores: Scores) -> Table:
        """Count how often normalised measures prefer the texts that people prefer, and their bases do not."""
        bases = bases_by_name(scores.measures)
        if not bases:
            raise CalipersError('preferences compare a normalised measure with its base: -m "ROUGE-1 V2(ROUGE-1)"')
        rows: list[tuple[Cell, ...]] = []
        for new, base in bases.items():
            found = win_lost_tie(scores, base, new, self.preferences)
            rows += [(new, base, *row) for row in found.table().rows]
        columns = ("measure", "against", "systems", "items", *OUTCOMES)
        return Table(columns, tuple(rows), notes=tuple(f"{sentence}." for sentence in found.notes))

    def _on(self, scores: Scores, queries: Sequence[str]) -> tuple[Scores, dict[str, Floats]]:
        places = [scores.queries.index(query) for query in queries]
        return scores.of_queries(queries), {aspect: judged[:, places] for aspect, judged in self.scores.items()}


def people_of(
    texts: Any,
    human: Human | None,
    level: str | Iterable[str] | None,
    preferences: str | os.PathLike[str] | Iterable[Preference] | None,
    *,
    correlation: str,
    samples: Samples | None,
    seed: int,
    alpha: float,
) -> People | None:
    """Return what people said, or None if nobody said anything. texts: scored texts, which bring human scores along."""
    for what, given_names in (("human", human), ("level", level)):
        if given_names is not None:
            check_type(what, given_names, Iterable, "a name, or names")
    levels = LEVELS if level is None else tuple(_names(level))
    given, notes = human_scores(texts, human)
    if isinstance(preferences, str | os.PathLike):
        preferences = read_preferences(preferences)
    preferred = tuple(preferences or ())
    check_choices(levels, [correlation] if given else COEFFICIENTS, 0.95)
    if not given and not preferred:
        return None
    if given and texts is not None and "summary" in levels and texts.cannot_reorder:
        notes.append(f"tau-b and rho of V1 and V2 at the summary level are those of {', '.join(texts.cannot_reorder)}")
    many = samples if isinstance(samples, int) else SAMPLES
    return People(given, preferred, levels, correlation, many, seed, alpha, tuple(notes))


def human_scores(texts: Any, human: Human | None) -> tuple[dict[str, Floats], list[str]]:
    """Return human scores by aspect, and a sentence for each aspect that lacks scores of some texts."""
    if isinstance(human, Mapping):
        return {aspect: np.asarray(judged, dtype=np.float64) for aspect, judged in human.items()}, []
    if texts is None:
        if human is None:
            return {}, []
        raise CalipersError(
            "only texts bring scores of people along; in Python, human={aspect: array of system x query}"
        )
    collection = texts.collection
    aspects = collection.human if human is None else _names(human)
    if not aspects and human is not None:
        raise CalipersError("no aspect of human judgment is named", file=collection.name)
    if human is not None and not collection.human:
        raise CalipersError("has no human scores", file=collection.name)
    found = {aspect: collection.judgments(aspect) for aspect in aspects}
    present = collection.has_text
    lacking = {aspect: int((np.isnan(judged) & present).sum()) for aspect, judged in found.items()}
    of = counted(int(present.sum()), collection.kind.text)
    return found, [
        f"{count:,} of {of} {verb(count, 'has', 'have')} no human score of {aspect}; left out"
        for aspect, count in lacking.items()
        if count
    ]


def _names(given: str | Iterable[str]) -> list[str]:
    return [name for each in given.split(",") if (name := each.strip())] if isinstance(given, str) else list(given)
