"""Sections about texts: chance and upper bound, agreement with people, and the texts on which systems differ most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.plot.systems import on_the_scale
from calipers.report.material import Material
from calipers.report.section import (
    ALL,
    Cell,
    Column,
    Detail,
    Grid,
    Row,
    Section,
    by_measure,
    name,
    number,
    one,
    plain_rows,
)
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.questions.metaeval.human_agreement import HumanCorrelation
    from calipers.texts.answer_judgments import AnswerJudgments
    from calipers.texts.collection import Document
    from calipers.texts.evaluation import Evaluation
    from calipers.texts.measure_names import TextMeasure

LONGEST = 1500  # characters of a text that the page shows
PASSAGES = 10  # of an answer that the page shows
SAMPLES = 500  # of documents, for intervals of correlations


def between_chance_and_upper_bound(material: Material, detail: Detail) -> Section:
    """Return the section that places each system between random texts and the upper bound."""
    known = bounded(material)
    scores = material.scores
    charts: dict[str, Any] = {}
    rows, above = [], 0
    for shown, measure in known.items():
        of = scored(material).bounded[measure.key]
        placed = of.value(replace(measure, normal="V2"))
        above = int((_means(placed) > 0).sum()) if not charts else above
        charts[shown] = on_the_scale(scores.systems, placed, shown, material.unit)
        if measure.normal and replace(measure, normal="") in known.values():
            continue  # the row of the measure itself says it
        expected, own = of.value(replace(measure, normal="E")), of.value(replace(measure, normal=""))
        best = np.nanmax(_means(own)) if not measure.lower else np.nanmin(_means(own))
        rows.append(
            [
                name(shown),
                number(float(np.nanmean(expected))),
                number(float(np.nanmean(own))),
                number(float(best)),
                number(float(np.nanmean(placed))),
                Cell(of.chance, of.chance),
                Cell(of.exactness, of.exactness),
                number(float(of.mean_error(replace(measure, normal="E")).max())),
            ]
        )
    columns = (
        Column("measure", numeric=False),
        Column("chance", title="mean score of random texts"),
        Column("systems", title="mean score of the systems"),
        Column("best system"),
        Column("V2", title="mean of where systems stand: 0 is chance, 1 the upper bound"),
        Column("random texts", numeric=False),
        Column("exactness", numeric=False),
        Column("± error", title="standard error of a system's mean expected score"),
    )
    first, many = next(iter(known)), material.units
    return Section(
        "Each system between the mean score of random texts (the dashed line) and the upper bound. The dot is the mean "
        f"over all {many}, the bar the middle half of them. If the bar crosses the line, a random text would do as "
        f"well on many {many}.",
        values={"grid": Grid("chance", columns, plain_rows(rows), "measures", tools=False)},
        charts={"chance": by_measure(charts)},
        findings={first: (f"{above} of {len(scores.systems)}", f"systems better than chance, by {first}")},
    )


def agreement_with_people(material: Material, detail: Detail) -> Section:
    """Return the section about how well the measures agree with people."""
    from calipers.plot.measures import agreement_chart
    from calipers.questions.metaeval.human_agreement import human_correlation
    from calipers.questions.metaeval.people import human_scores

    human = scored(material).collection.human
    scores = material.scores
    turned = replace(scores, values=scores.values * scores.signs[:, None, None])  # so that more is better
    correlation = human_correlation(turned, human, ["system"], ["tau-b"], samples=SAMPLES, seed=material.choices.seed)
    errors = [each for each in scores.measures if each in scores.lower]
    turning = f" Less is better under {', '.join(errors)}: their signs are changed." if errors else ""
    best = max(correlation.found, key=lambda each: each.value if each.value == each.value else -2.0)
    grid = _agreement_grid(human_correlation(turned, human, ["system", "summary"], samples=0))
    lacking = "".join(f" {sentence}." for sentence in human_scores(scored(material), None)[1])
    return Section(
        f"Kendall's tau-b of each measure with people over the means of systems. Intervals come from "
        f"{counted(SAMPLES, 'resample')} of {material.units}. The highest tau-b is that of {best.measure} "
        f"with {best.aspect}, {best.value:.3f} [{best.low:.3f}, {best.high:.3f}]. Overlapping intervals leave open "
        f"which measure is better.{turning}{lacking}",
        values={"grid": grid},
        charts={"people": one(agreement_chart(correlation))},
        findings={ALL: (f"{best.value:.2f}", f"Kendall's tau-b of {best.measure} with {best.aspect}")},
    )


def where_systems_differ(material: Material, detail: Detail) -> Section:
    """Return the section about the documents on which systems differ most, with the texts."""
    scores = material.scores
    values = scores.values[0]
    present = ~np.isnan(values).all(axis=0)
    low, high = (np.where(present, f(values), np.nan) for f in (_least, _most))
    order = np.argsort(-np.nan_to_num(high - low, nan=-1.0), kind="stable").tolist()
    ends = (_most, _least) if scores.signs[0] > 0 else (_least, _most)
    top = material.choices.top if detail.top is None else min(detail.top, material.choices.top)
    columns = (
        Column(material.unit, numeric=False),
        Column(f"mean {material.measure}"),
        Column("lowest"),
        Column("highest"),
        Column("difference"),
        Column("best system", numeric=False),
        Column("worst system", numeric=False),
    )
    means = np.divide(
        np.nansum(values, axis=0), (~np.isnan(values)).sum(axis=0), out=np.full(len(present), np.nan), where=present
    )
    rows = []
    for d in order:
        best, worst = (f(values[:, d : d + 1], True) for f in ends)
        apart = high[d] > low[d]  # also where nobody has a score: no
        extremes = [scores.systems[int(place[0])] if apart else "" for place in (best, worst)]
        figures = [number(float(each[d])) for each in (means, low, high, high - low)]
        rows.append(Row((name(scores.queries[d]), *figures, *map(name, extremes))))
    many = material.units
    below = f" Below are the texts about the first {top}." if top else ""
    return Section(
        f"{many.capitalize()} by how far the systems are apart in {material.measure}.{below}",
        values={
            "grid": Grid("texts", columns, tuple(rows), many),
            "shown": [_document(material, d) for d in order[:top] if present[d]],
            "measure": material.measure,
        },
    )


def scored(material: Material) -> Evaluation:
    """Return the texts under their measures."""
    assert material.written is not None
    return material.written


def has_human_scores(material: Material) -> bool:
    """Return True if people judged texts of at least three systems: two have no correlation."""
    return bool(scored(material).collection.human) and len(material.scores.systems) > 2


def bounded(material: Material) -> dict[str, TextMeasure]:
    """Return the measures with expected scores, by the names of the tables."""
    found = scored(material)
    return {
        shown: measure
        for shown, measure in zip(found.scores.measures, found.measures, strict=False)
        if found.bounded[measure.key].expected is not None
    }


def _document(material: Material, d: int) -> dict[str, Any]:
    collection = scored(material).collection
    document = collection.documents[d]
    values = material.scores.values[0, :, d]
    better = material.scores.signs[0] * values
    order = np.argsort(-np.nan_to_num(better, nan=-np.inf), kind="stable").tolist()
    written = [
        {
            "system": collection.systems[s],
            "score": number(float(values[s])).text,
            "text": _short(collection.texts[s][d] or ""),
            **_judged(collection.judged.get((document.id, collection.systems[s])), document),
        }
        for s in order
        if collection.texts[s][d] is not None
    ]
    return {
        "id": document.id,
        "question": None if document.question is None else _short(document.question),
        "source": None if document.source is None else _short(document.source),
        "references": [_short(each) for each in document.references[:3]],
        "more": max(0, len(document.references) - 3),
        "written": written,
    }


def _judged(judged: AnswerJudgments | None, document: Document) -> dict[str, Any]:
    """Return the passages, nuggets and cited statements of an answer, as the page shows them."""
    if judged is None:
        return {"passages": [], "nuggets": [], "statements": []}
    grades = document.relevant or {}
    ids = judged.retrieved or ()
    passages = [
        (id, "" if not grades else f"grade {grades.get(id, 0):g}", _short(document.passages.get(id, "")))
        for id in ids[:PASSAGES]
    ] or [("", "", _short(text)) for text in (judged.passages or ())[:PASSAGES]]
    nuggets = [(each.importance, _support(each.support), _short(each.text)) for each in judged.nuggets or ()]
    statements = [
        (_short(each.text), [(cited.document, _support(cited.support)) for cited in each.citations])
        for each in judged.statements or ()
    ]
    return {"passages": passages, "nuggets": nuggets, "statements": statements}


def _support(support: float | None) -> str:
    known = {0.0: "not supported", 0.5: "partly supported", 1.0: "supported", None: "not judged"}
    return known.get(support, f"support {support:g}" if support is not None else "")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _agreement_grid(found: HumanCorrelation) -> Grid:
    """Return the correlations by measure, aspect and level, with a column for each coefficient."""
    by_cell: dict[tuple[str, str, str], dict[str, float]] = {}
    for each in found.found:
        by_cell.setdefault((each.measure, each.aspect, each.level), {})[each.coefficient] = each.value
    coefficients = dict.fromkeys(each.coefficient for each in found.found)
    columns = (*(Column(label, numeric=False) for label in ("measure", "human", "level")), *map(Column, coefficients))
    rows = [
        [*map(name, key), *(number(values[each], ".4f") for each in coefficients)] for key, values in by_cell.items()
    ]
    return Grid("agreement", columns, plain_rows(rows), "measures, aspects and levels")


def _means(values: Any) -> Any:
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(present, values, 0.0).sum(axis=1) / present.sum(axis=1)


def _least(values: Any, place: bool = False) -> Any:
    known = np.nan_to_num(values, nan=np.inf)
    return known.argmin(axis=0) if place else known.min(axis=0)


def _most(values: Any, place: bool = False) -> Any:
    known = np.nan_to_num(values, nan=-np.inf)
    return known.argmax(axis=0) if place else known.max(axis=0)
