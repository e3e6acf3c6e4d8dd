"""Retrieval measures of the documents that answers were made from, joined with text measures by question.

The ranking of a system is its `retrieved` documents; what is relevant stands in the same file (`relevant`), or in
judgments of the same questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calipers.collection.sources import JudgmentsLike
from calipers.errors import CalipersError, UnknownName
from calipers.evaluation.evaluation import evaluate
from calipers.measures.grammar import parse_all
from calipers.results.scores import Reason, Scores
from calipers.text.measure_names import text_measure
from calipers.text.summaries import Summaries


def split_measures(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split measure names into measures of texts and measures of rankings.

    >>> split_measures(["EM nDCG(gain=exp)@10 V2(F1)", "V2(AP)"])
    (['EM', 'V2(F1)'], ['nDCG(gain=exp)@10', 'V2(AP)'])
    """
    texts: list[str] = []
    rankings: list[str] = []
    for name in (word for given in names for word in _words(given)):
        try:
            text_measure(name)
        except UnknownName as unknown:
            try:
                parse_all(name)
            except CalipersError:
                raise unknown from None
            rankings.append(name)
        else:
            texts.append(name)
    return texts, rankings


def _words(names: str) -> list[str]:
    """Split names at blanks, except within parentheses."""
    words, depth = [""], 0
    for character in names:
        depth += (character == "(") - (character == ")")
        if character.isspace() and depth <= 0:
            words.append("")
        else:
            words[-1] += character
    return [word for word in words if word]


def retrieval_scores(summaries: Summaries, measures: Sequence[str], judgments: JudgmentsLike | None = None) -> Scores:
    """Score the documents that answers were made from, for the systems and questions of `summaries`.

    An answer without `retrieved` has no score; nor has a question that nobody judged. The notes of the scores say for
    how many questions a measure is undefined. Judgments of relevant documents only are refused for V1, V2 and other
    measures that need a random ranking, as `evaluate` refuses them.

    >>> from calipers.text import AnswerJudgments, Document
    >>> asked = [Document("q1", ("Ulm",), relevant={"d1": 1, "d2": 1})]
    >>> known = {("q1", "rag"): AnswerJudgments(retrieved=("d1", "d7"))}
    >>> given = Summaries.of(asked, {("q1", "rag"): "in Ulm"}, {}, judged=known)
    >>> retrieval_scores(given, ["RR", "Recall@5"]).values.ravel().tolist()
    [1.0, 0.5]
    """
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for (question, system), judged in summaries.judged.items():
        if judged.retrieved is not None and system in summaries.systems:
            ranked = {document: -float(rank) for rank, document in enumerate(judged.retrieved)}
            runs.setdefault(system, {})[question] = ranked
    asked = ", ".join(measures)
    if not runs:
        raise CalipersError(f"{asked}: 'retrieved' of answers is not there, which rankings need", file=summaries.name)
    if judgments is None:
        judgments = {each.id: dict(each.relevant) for each in summaries.documents if each.relevant}
        if not judgments:
            raise CalipersError(
                f"{asked}: nobody says which documents are relevant: 'relevant' of questions, or --judgments FILE",
                file=summaries.name,
            )
    found = evaluate(judgments, runs, list(measures), unmatched="warn", warn=False)
    answered = np.array([[query in runs[system] for query in found.queries] for system in found.systems])
    notes = replace(found, reasons=np.where(answered, found.reasons, 0).astype(np.uint8)).remarks
    shape = (len(found.measures), len(summaries.systems), len(summaries.documents))
    values, reasons = np.full(shape, np.nan), np.full(shape, Reason.MISSING, dtype=np.uint8)
    place = {question: q for q, question in enumerate(found.queries)}
    for s, system in enumerate(summaries.systems):
        for d, question in enumerate(summaries.ids):
            if question in runs.get(system, {}) and question in place:
                cell = found.systems.index(system), place[question]
                values[:, s, d], reasons[:, s, d] = found.values[:, *cell], found.reasons[:, *cell]
    if np.isnan(values).all():
        raise CalipersError(f"{asked}: no question has both retrieved and judged documents", file=summaries.name)
    about = {**found.metadata, "lower": sorted(found.lower)}
    return Scores(found.measures, summaries.systems, summaries.ids, values, reasons, metadata=about, notes=notes)


def side_by_side(one: Scores, other: Scores) -> Scores:
    """Join the measures of two score tables with the same systems and questions."""
    about = {
        "lower": sorted(one.lower | other.lower),
        **{
            key: {**one.metadata.get(key, {}), **other.metadata.get(key, {})} for key in ("exactness", "standard_error")
        },
    }
    return Scores(
        (*one.measures, *other.measures), one.systems, one.queries, np.concatenate([one.values, other.values]),
        np.concatenate([one.reasons, other.reasons]), metadata=about, notes=(*one.notes, *other.notes),
    )  # fmt: skip
