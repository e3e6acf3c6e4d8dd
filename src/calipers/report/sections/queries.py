"""The query map: what a random ranking gets of each query, what systems get, and their rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calipers import plot
from calipers.changes.first_documents import ShownRankings, first_documents
from calipers.limits.query_types import QueryTypes
from calipers.measures.populations import what_is_shuffled
from calipers.report.embedded_data import all_rounded, rounded
from calipers.report.material import Material
from calipers.report.page_tables import Cell, Column, Grid, Row, name, number
from calipers.report.section import Detail, Section, by_measure
from calipers.results.averages import known_mean

# On the page a type is not called as the ideal ranking is, with which it has nothing to do.
NAMES = {"ideal": "telling"}
WORDS = {
    "ideal": "systems get far above random",
    "informative": "systems get clearly above random",
    "uninformative": "systems hardly get above random",
    "hard": "random and systems both score low",
    "easy": "random and systems both score high",
    "undefined": "no relevant document, or no room to score",
}


def section(material: Material, detail: Detail) -> Section:
    bounds = material.bounds
    shown = {m: p for m, p in material.plain_of.items() if p in bounds.measures}
    less = material.plain.lower  # which have no types: left out, or refused where there is nothing else
    found = {m: material.types(p) for m, p in shown.items() if p not in less or less.issuperset(shown.values())}
    types = found.get(material.measure) or next(iter(found.values()))
    charts = {m: plot.query_map(each, m, NAMES) for m, each in found.items() if set(each.types) != {"undefined"}}
    telling = sum(t in ("ideal", "informative") for t in types.types)
    counts = [(t, n) for t, n in types.counts().items() if n]
    top = material.choices.top if detail.top is None else detail.top
    return Section(
        f"Far to the right of the dashed line are the queries on which systems show what they can: {telling} of "
        f"{len(types.queries)} here. On the line a random ranking would do as well, and such queries say "
        f"little about systems ({what_is_shuffled(bounds.population)}). Point at or tap a mark to see its query and "
        "the rankings.",
        values={
            "grid": _grid(material, types),
            "counts": [(t, NAMES.get(t, t), f"{n:,}", WORDS[t]) for t, n in counts],
            "rankings": rankings(material, top),
            "top": top,
        },
        charts={"queries": by_measure(charts)},
        finding=(f"{telling} of {len(types.queries)}", "queries on which systems are clearly better than random"),
    )


def _grid(material: Material, types: QueryTypes) -> Grid:
    pool = material.judgments.pool
    size, relevant = pool.size.tolist(), pool.relevant(1).tolist()
    best, texts = _best(material), material.query_texts
    columns = (
        Column("query", numeric=False),
        *([Column("text", numeric=False)] if texts else []),
        Column("type", numeric=False),
        Column("systems", title="mean score of the systems, as a share of the ideal"),
        Column("random", title="expected score of a random ranking, as a share of the ideal"),
        Column("difference"),
        Column("judged"),
        Column("relevant"),
        Column("best system", numeric=False),
    )
    rows = []
    for q, (query, kind, actual, expected, difference) in enumerate(types.table().rows):
        shown = NAMES.get(str(kind), str(kind))
        words = [Cell(texts.get(str(query), ""), texts.get(str(query), ""), kind="words")] if texts else []
        mark = Cell(shown, shown, kind=f"type {kind}", title=WORDS[str(kind)])
        numbers = (number(actual), number(expected), number(difference, "+.4f"))
        counts = (number(size[q], "d"), number(relevant[q], "d"))
        rows.append(Row((name(str(query)), *words, mark, *numbers, *counts, name(best[q])), query=q))
    return Grid("queries", columns, tuple(rows), "queries")


def _best(material: Material) -> list[str]:
    values = material.scores.values[0]
    some = ~np.isnan(values).all(axis=0)
    place = np.nan_to_num(values, nan=-np.inf).argmax(axis=0)
    return [material.scores.systems[p] if yes else "" for p, yes in zip(place.tolist(), some.tolist(), strict=True)]


def rankings(material: Material, top: int) -> dict[str, Any]:
    """What the page's script needs to show the rankings of a query."""
    scores = material.scores
    grades = material.judgments.pool.grade
    shown = first_documents(material.judgments, material.whole_runs, top) if top else []
    titles = material.texts.of_documents({document for each in shown for document in each.documents})
    return {
        "systems": list(scores.systems),
        "queries": list(scores.queries),
        "measures": list(scores.measures),
        "scores": [[all_rounded(line, 4) for line in one] for one in scores.values.tolist()],
        "bounds": {
            m: [[rounded(float(v), 4) for v in _of_query(each[p])] for each in (b.expected, b.ideal)]
            for b in (material.bounds,)
            for m, p in material.plain_of.items()
            if p in b.measures and m == p
        },
        "most": rounded(float(grades.max(initial=1.0))),
        "top": top,
        "lists": _as_data(shown, titles),
        "texts": [material.query_texts.get(query, "") for query in scores.queries] if material.query_texts else None,
    }


def _as_data(lists: Sequence[ShownRankings], titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """For the page's script: documents, grades and lists of each query, and titles or snippets where there are some."""
    return [
        {"d": each.documents, "g": [_short(g) for g in each.grades], "l": each.lists}
        | ({"t": [titles.get(document, "") for document in each.documents]} if titles else {})
        for each in lists
    ]


def _short(grade: float | None) -> float | int | None:
    return int(grade) if grade is not None and grade == int(grade) else grade


def _of_query(bound: Any) -> Any:
    """Return the bounds of each query, averaged over systems where each system has its own."""
    return known_mean(bound, axis=0) if bound.ndim == 2 else bound
