"""Retrieval measures of the documents that answers were made from, joined with text measures by question.

The ranking of a system is its `retrieved` documents. Relevant documents come from the field `relevant` of the same
file, or from judgments of the same questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from calipers.collection.sources import JudgmentsLike
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import evaluate
from calipers.results.scores import Coverage, Reason, Scores
from calipers.statistics.bounded_intervals import ends_of
from calipers.texts.collection import TextCollection


def retrieval_scores(
    collection: TextCollection, measures: Sequence[str], judgments: JudgmentsLike | None = None
) -> Scores:
    """Score the retrieved documents of answers, for all systems and questions of a collection.

    An answer without `retrieved`, and a question without judgments, have no score. The notes of the scores say for
    how many questions a measure is undefined. Judgments of relevant documents only are refused for V1, V2 and other
    measures that need a random ranking, as `evaluate` refuses them.

    >>> from calipers.texts import AnswerJudgments, Document
    >>> asked = [Document("q1", ("Ulm",), relevant={"d1": 1, "d2": 1})]
    >>> known = {("q1", "rag"): AnswerJudgments(retrieved=("d1", "d7"))}
    >>> given = TextCollection.of(asked, {("q1", "rag"): "in Ulm"}, judged=known)
    >>> retrieval_scores(given, ["RR", "Recall@5"]).values.ravel().tolist()
    [1.0, 0.5]
    """
    found, remarks = scores_and_remarks(collection, measures, judgments)
    return replace(found, notes=(*found.notes, *remarks))


def scores_and_remarks(
    collection: TextCollection,
    measures: Sequence[Any],
    judgments: JudgmentsLike | None,
    scoring: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Scores, tuple[str, ...]]:
    """Return the scores of retrieved documents with warnings as their notes, and remarks on undefined scores.

    scoring: scoring options of `evaluate`.
    """
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for (question, system), judged in collection.judged.items():
        if judged.retrieved is not None and system in collection.systems:
            ranked = {document: -float(rank) for rank, document in enumerate(judged.retrieved)}
            runs.setdefault(system, {})[question] = ranked
    asked = ", ".join(map(str, measures))
    if not runs:
        raise CalipersError(f"{asked}: the answers have no field 'retrieved'", file=collection.name)
    if judgments is None:
        judgments = {each.id: dict(each.relevant) for each in collection.documents if each.relevant}
        if not judgments:
            raise CalipersError(
                f"{asked}: no relevant documents are known; add the field 'relevant', or give judgments",
                file=collection.name,
            )
    found = evaluate(judgments, runs, measures, unmatched="warn", warn=False, **scoring)
    answered = np.array([[query in runs[system] for query in found.queries] for system in found.systems])
    own = replace(found, reasons=np.where(answered, found.reasons, 0).astype(np.uint8))
    shape = (len(found.measures), len(collection.systems), len(collection.documents))
    values, reasons = np.full(shape, np.nan), np.full(shape, Reason.MISSING, dtype=np.uint8)
    place = {question: q for q, question in enumerate(found.queries)}
    for s, system in enumerate(collection.systems):
        for d, question in enumerate(collection.ids):
            if question in runs.get(system, {}) and question in place:
                cell = found.systems.index(system), place[question]
                values[:, s, d], reasons[:, s, d] = found.values[:, *cell], found.reasons[:, *cell]
    if np.isnan(values).all():
        raise CalipersError(f"{asked}: no question has both retrieved and judged documents", file=collection.name)
    ends = {name: ends_of(measure) for name, measure in zip(found.measures, found.definitions, strict=True)}
    about = {**found.metadata, "incomplete": {}, "lower": sorted(found.lower), "ends": ends}
    scores = Scores(
        found.measures,
        collection.systems,
        collection.ids,
        values,
        reasons,
        coverage=_coverage(found, collection),
        metadata=about,
        notes=found.notes,
    )
    return scores, own.remarks


def _coverage(found: Scores, collection: TextCollection) -> Coverage:
    """Return the coverage of all systems of a collection, on its judged questions."""
    assert found.coverage is not None
    questions = frozenset(collection.ids)
    asked = [q for q, question in enumerate(found.queries) if question in questions]
    coverage = Coverage.blank(len(collection.systems), len(asked))
    for place, system in enumerate(found.systems):
        s = collection.systems.index(system)
        coverage.unjudged_queries[s] = found.coverage.unjudged_queries[place]
        for name in ("length", "tied", "judged_at_10", "read", "judged"):
            getattr(coverage, name)[s] = getattr(found.coverage, name)[place, asked]
    return coverage


def side_by_side(one: Scores, other: Scores) -> Scores:
    """Join the measures of two score tables with the same systems and questions. Only one has a coverage."""
    about = {**one.metadata, **other.metadata, "lower": sorted(one.lower | other.lower)}
    for key in ("exactness", "standard_error", "ends"):
        about[key] = {**one.metadata.get(key, {}), **other.metadata.get(key, {})}
    return Scores(
        (*one.measures, *other.measures),
        one.systems,
        one.queries,
        np.concatenate([one.values, other.values]),
        np.concatenate([one.reasons, other.reasons]),
        coverage=one.coverage or other.coverage,
        metadata=about,
        notes=(*one.notes, *other.notes),
    )
