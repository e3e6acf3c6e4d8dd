"""Feng (2023), tables 8.1 to 8.3 and 9.1: correlations with people, computed from SummEval.

Twelve abstractive systems, 100 documents, the one reference that came with each. Tables 8.1 to 8.3 are Kendall's tau-b
of systems' means: their printed values are steps of that. Table 9.1's are not, so that another level must be meant; the
pooled one is taken, and the others are named beside it. The document's encoder is roberta-large, layer 17; another one
gives other figures. Neither k of the expected summaries nor the kind of ROUGE is printed: here k is as long as the
references, ROUGE is ROUGE-1.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from calipers import V1, V2, Experiment, Scores
from calipers.questions.metaeval import human_correlation
from calipers.texts import TextCollection, as_collection
from research.printed_figures import NEEDS_DATA, Figure, judged
from research.registry import printed

ABSTRACTIVE = ("M8", "M9", "M10", "M11", "M12", "M13", "M14", "M15", "M17", "M20", "M22", "M23")
ASPECTS = ("coherence", "consistency", "fluency", "relevance")
ROWS = ("base", "V1", "V2")
SIZE = 20  # documents at either end of the order
ENCODER = "CALIPERS_ENCODER"
DATA = "SummEval, and for BERTScore a model"
LAYOUT = (
    "SummEval.json, plain or packed (also in summaries/); for tables 8.1 to 8.3 also encoder/, a model folder, unless "
    f"{ENCODER} names a model"
)


LEVELS = ("pooled", "summary", "system")
ROUGES = ("ROUGE-1", "ROUGE-2", "ROUGE-L")


def correlations(name: str, folder: Path | None, rouge: str = ROUGES[0], level: str = LEVELS[0]) -> list[Figure]:
    """The correlations of a table; those that cannot be computed from what the folder has need data."""
    table = printed("feng2023")[name]
    cells: Mapping[str, Mapping[str, str]] = {row: table["cells"][row] for row in ROWS}
    path = None if folder is None else _file(folder)
    encoder = None if folder is None else _encoder(folder)
    if path is None or (name != "table-9.1" and encoder is None):
        missing = "" if path is None else f"a model: encoder/ in the folder, or {ENCODER}"
        return [
            Figure(_cell(table["base"], row, aspect), figure, None, NEEDS_DATA, missing)
            for row, figures in cells.items()
            for aspect, figure in figures.items()
        ]
    if name == "table-9.1":
        computed, why = _rouge(path, rouge, level)
    else:
        assert encoder is not None
        computed, why = _bertscore(path, encoder, name)
    return [
        judged(_cell(table["base"], row, aspect), figure, computed[row, aspect], reason=why[row, aspect], least=2)
        for row, figures in cells.items()
        for aspect, figure in figures.items()
    ]


def _cell(base: str, row: str, aspect: str) -> str:
    return f"tau-b {base}, {aspect}" if row == "base" else f"tau-b {base} {row}, {aspect}"


def _file(folder: Path) -> Path | None:
    places = (folder, folder / "summaries")
    return next((path for place in places for path in sorted(place.glob("SummEval.json*"))), None)


def _encoder(folder: Path) -> str | None:
    inside = folder / "encoder"
    return str(inside) if inside.is_dir() else os.environ.get(ENCODER)


@cache
def _summaries(path: Path) -> TextCollection:
    return as_collection(path).of_systems(ABSTRACTIVE).first_references(1)


Values = dict[tuple[str, str], float]
Reasons = dict[tuple[str, str], str]


@cache
def _rouge(path: Path, measure: str, level: str) -> tuple[Values, Reasons]:
    values = {each: _at_level(path, measure, each) for each in LEVELS}
    why = {
        key: f"{measure}, tau-b over all summaries {values['pooled'][key]:.3f}, at the summary level "
        f"{values['summary'][key]:.3f}, at the system level {values['system'][key]:.3f}"
        for key in values[level]
    }
    return values[level], why


@cache
def _rouge_scores(path: Path, measure: str) -> Scores:
    return Experiment(_summaries(path), measures=f"{measure} V1({measure}) V2({measure})", warn=False).scores


@cache
def _at_level(path: Path, measure: str, level: str) -> Values:
    return _values(_rouge_scores(path, measure), _summaries(path), level)


@cache
def _bertscore(path: Path, encoder: str, name: str) -> tuple[Values, Reasons]:
    given = _summaries(path)
    scores, first, last, model = _scored_by(path, encoder)
    chosen = {"table-8.1": range(len(given.documents)), "table-8.2": first, "table-8.3": last}[name]
    found = _values(scores, given, "system", list(chosen))
    return found, dict.fromkeys(found, f"{model}; the document has roberta-large L17")


@cache
def _scored_by(path: Path, encoder: str) -> tuple[Scores, list[int], list[int], str]:
    """Scores, and the documents at both ends of the order of algorithm 2."""
    from calipers.texts import BERTScore, Encoder, document_profiles, matcher

    given = _summaries(path)
    by = matcher(Encoder(encoder))
    base = BERTScore(by)
    scores = Experiment(given, measures=[base, V1(base), V2(base)], warn=False).scores
    first, last = document_profiles(given, by).ends(SIZE)
    return scores, first.tolist(), last.tolist(), by.encoder.name


def _values(scores: Scores, given: TextCollection, level: str, documents: Sequence[int] | None = None) -> Values:
    chosen = list(range(len(scores.queries))) if documents is None else list(documents)
    part = scores.of_queries([scores.queries[d] for d in chosen])
    human = {aspect: given.human[aspect][:, chosen] for aspect in ASPECTS}
    found = human_correlation(part, human, [level], ["tau-b"], samples=0)
    return {
        (row, aspect): found.value(measure, aspect, level)
        for row, measure in zip(ROWS, scores.measures, strict=True)
        for aspect in ASPECTS
    }
