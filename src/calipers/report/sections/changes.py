"""Changes from an old to a new system, query by query and document by document."""

from __future__ import annotations

from collections import Counter

from calipers import plot
from calipers.questions.diff.difference import Difference, QueryChange
from calipers.report.material import Material
from calipers.report.section import (
    Cell,
    Column,
    Detail,
    Grid,
    Row,
    Section,
    by_measure,
    count,
    name,
    number,
    p_value,
    plain_rows,
)

LISTED = 4  # number of documents that a cell names


def section(material: Material, detail: Detail) -> Section:
    """Return the section about an old and a new system."""
    found = material.change
    old, new = (material.scores.systems[place] for place in material.old_and_new)
    charts = {m: plot.gains_and_losses(found, m) for m in found.measures}
    return Section(
        f"Each bar is a query, sorted from the largest gain of {new} over {old} to its largest loss. The dashed line "
        "is the mean difference, and the grey band Student's interval. Choose a bar or a query to see both rankings.",
        values={
            "means": _means(found, old, new),
            "documents": _documents(found, material.rel),
            "queries": _queries(material, found),
            "top": found.top,
        },
        charts={"changes": by_measure(charts)},
    )


def _means(found: Difference, old: str, new: str) -> Grid:
    columns = (
        Column("measure", numeric=False),
        Column(old),
        Column(new),
        Column("difference"),
        Column("low", title=f"end of Student's {found.level:.0%} interval of the difference"),
        Column("high"),
        Column("p", title="paired t test"),
        Column("won"),
        Column("lost"),
        Column("same"),
    )
    rows = [
        [
            name(each.measure),
            number(each.old),
            number(each.new),
            number(each.difference, "+.4f"),
            number(each.low, "+.4f"),
            number(each.high, "+.4f"),
            p_value(each.p),
            count(each.wins),
            count(each.losses),
            count(each.ties),
        ]
        for each in found.means
    ]
    return Grid("changes-means", columns, plain_rows(rows), "measures", tools=False)


def _documents(found: Difference, rel: float) -> Grid | None:
    """Count the documents that entered and left the first ranks, by their grade."""
    if not found.top:
        return None
    kinds = ("relevant", "not relevant", "unjudged")
    counts = Counter(
        (document.change, _kind(document.grade, rel)) for each in found.queries for document in each.documents
    )
    columns = (Column(f"in the top {found.top}", numeric=False), *(Column(kind) for kind in kinds))
    rows = [[name(change), *(count(counts[change, kind]) for kind in kinds)] for change in ("entered", "left", "moved")]
    return Grid("changes-documents", columns, plain_rows(rows), "changes", tools=False)


def _kind(grade: float | None, rel: float) -> str:
    return "unjudged" if grade is None else "relevant" if grade >= rel else "not relevant"


def _queries(material: Material, found: Difference) -> Grid:
    texts = material.query_texts
    columns = [Column("query", numeric=False)]
    columns += [Column("text", numeric=False)] if texts else []
    columns += [Column(found.old), Column(found.new), Column("difference")]
    columns += [Column("entered", numeric=False), Column("left", numeric=False)] if found.top else []
    place = {query: q for q, query in enumerate(material.scores.queries)}
    rows = []
    for each in found.queries:
        cells = [name(each.query)]
        cells += [Cell(texts.get(each.query, ""), texts.get(each.query, ""), kind="words")] if texts else []
        cells += [number(each.old[0]), number(each.new[0]), number(each.difference[0], "+.4f")]
        cells += [_listed(each, "entered"), _listed(each, "left")] if found.top else []
        rows.append(Row(tuple(cells), query=place[each.query]))
    by_difference = len(columns) - (3 if found.top else 1)
    return Grid("changes", tuple(columns), tuple(rows), "queries", sorted_by=by_difference)


def _listed(change: QueryChange, what: str) -> Cell:
    """Return a cell with the documents that entered or left, the highest grades first."""
    found = sorted(change.changed(what), key=lambda each: -1.0 if each.grade is None else each.grade, reverse=True)
    words = [str(each) for each in found]
    shown = ", ".join(words[:LISTED]) + (f" and {len(words) - LISTED} more" if len(words) > LISTED else "")
    return Cell(shown, ", ".join(words), kind="words")
