"""The section about queries, a map: scores of the systems and of a random ranking for each query, and the rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calipers import plot
from calipers.measures.populations import what_is_shuffled
from calipers.questions.diff.first_documents import ShownRankings, first_documents
from calipers.questions.queries import QueryTypes
from calipers.report.material import Material
from calipers.report.section import (
    Cell,
    Column,
    Detail,
    Grid,
    Row,
    Section,
    all_rounded,
    by_measure,
    name,
    number,
    rounded,
)
from calipers.results.averages import known_mean
from calipers.support.plurals import counted

# The type `ideal` has another name on the page, where "ideal" is the ideal ranking.
NAMES = {"ideal": "telling"}
WORDS = {
    "ideal": "systems score far above random",
    "informative": "systems score clearly above random",
    "uninformative": "systems hardly score above random",
    "hard": "random and systems both score low",
    "easy": "random and systems both score high",
    "undefined": "no relevant document, or all rankings score the same",
}


def query_map(material: Material, detail: Detail) -> Section:
    """Return the section about the queries."""
    bounds = material.bounds
    shown = {m: p for m, p in material.plain_of.items() if p in bounds.measures}
    found = {m: material.types(p) for m, p in shown.items()}
    types = found.get(material.measure) or next(iter(found.values()))
    charts = {m: plot.query_map(each, m, NAMES) for m, each in found.items() if set(each.types) != {"undefined"}}
    telling = _above_random(types)
    counts = [(t, n) for t, n in types.counts().items() if n]
    top = material.choices.top if detail.top is None else detail.top
    return Section(
        f"Each dot is a query. On {telling} of {counted(len(types.queries), 'query')} the systems are clearly better "
        "than random: these dots are far to the right of the dashed line. Dots on the line say little about systems, "
        f"because a random ranking would do as well ({what_is_shuffled(bounds.population)}). Choose a dot to see the "
        "rankings of its query.",
        values={
            "grid": _grid(material, types),
            "counts": [(t, NAMES.get(t, t), f"{n:,}", WORDS[t]) for t, n in counts],
            "rankings": rankings(material, top),
            "top": top,
        },
        charts={"queries": by_measure(charts)},
        findings={
            measure: (f"{above} of {len(each.queries)}", "queries on which systems are clearly better than random")
            for measure, each in found.items()
            for above in (_above_random(each),)
            if above < len(each.queries)
        },
    )


def _above_random(types: QueryTypes) -> int:
    """Return the number of queries on which systems are clearly better than random."""
    return sum(kind in ("ideal", "informative") for kind in types.types)


def _grid(material: Material, types: QueryTypes) -> Grid:
    pool = material.judgments.pool
    size, relevant = pool.size.tolist(), pool.relevant(material.rel).tolist()
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
    """Return the data that the script of the page needs to show the rankings of a query."""
    scores = material.scores
    grades = material.judgments.pool.grade
    shown = first_documents(material.judgments, material.whole_runs, top) if top else []
    titles = material.texts.of_documents({document for each in shown for document in each.documents})
    return {
        "systems": list(scores.systems),
        "queries": list(scores.queries),
        "measures": list(scores.measures),
        "pair": list(material.old_and_new) if len(scores.systems) == 2 else None,
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
    """Return documents, grades, lists and texts of each query."""
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
