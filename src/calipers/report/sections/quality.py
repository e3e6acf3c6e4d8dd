"""Data quality: unjudged, tied, missing and undefined parts of the data."""

from __future__ import annotations

import numpy as np

from calipers import plot
from calipers.lists import Floats
from calipers.report.material import Material
from calipers.report.section import ALL, Cell, Column, Detail, Grid, Row, Section, count, name, one, plain_rows, share
from calipers.results.scores import Reason
from calipers.support.plurals import counted, verb


def section(material: Material, detail: Detail) -> Section:
    """Return the section about the quality of the data."""
    scores = material.scores
    coverage = scores.coverage
    assert coverage is not None
    unjudged = coverage.unjudged_share_at_10()
    missing = int(coverage.missing.sum())
    tied = int((coverage.tied > 0).sum())
    lists = coverage.length.size
    worst = scores.systems[int(unjudged.argmax())]
    most = f" (most of all for {worst}, {unjudged.max():.1%})" if len(scores.systems) > 1 and unjudged.max() > 0 else ""
    return Section(
        f"{unjudged.mean():.1%} of the documents in the top ten are unjudged{most} and count as not relevant. "
        f"{tied:,} of {counted(lists, 'list')} {verb(tied, 'has', 'have')} tied scores (tie rule: "
        f"{scores.metadata['ties']}). {_missing(missing)}",
        values={"grid": _grid(material, unjudged), "facts": _facts(material), "undefined": _undefined(material)},
        charts={"unjudged": one(plot.unjudged(scores))} if unjudged.max() > 0 else {},
        findings={ALL: (f"{unjudged.mean():.1%}", "of the documents in the top ten are unjudged")}
        if unjudged.mean() >= 0.0005
        else {},
    )


def _missing(lists: int) -> str:
    """Return a sentence about lists that the runs lack.

    >>> _missing(1)
    '1 list is missing: the run does not answer the query.'
    """
    if not lists:
        return "No list is missing."
    return f"{counted(lists, 'list')} {verb(lists, 'is', 'are')} missing: the run does not answer the query."


def _grid(material: Material, unjudged: Floats) -> Grid:
    scores, coverage = material.scores, material.scores.coverage
    assert coverage is not None
    queries = len(scores.queries)
    columns = (
        Column("system", numeric=False),
        Column("unjudged in top 10"),
        Column("queries missing", title="judged queries that the run does not answer"),
        Column("queries with ties", title="lists in which documents share a score"),
        Column("documents tied"),
        Column("documents"),
        Column("queries not judged", title="queries that the run answers but that have no judgments; they are ignored"),
    )
    tied, length = coverage.tied, coverage.length
    rows = [
        Row(
            (
                name(scores.systems[s]),
                share(float(unjudged[s])),
                count(int(coverage.missing[s].sum()), queries),
                count(int((tied[s] > 0).sum()), queries),
                count(int(tied[s].sum())),
                count(int(length[s].sum())),
                count(int(coverage.unjudged_queries[s])),
            )
        )
        for s in material.order
    ]
    return Grid("quality", columns, tuple(rows), "systems")


def _facts(material: Material) -> list[tuple[str, str]]:
    pool = material.judgments.pool
    relevant = pool.relevant(material.rel)
    grades = np.unique(pool.grade).tolist()
    shown = ", ".join(f"{g:g}" for g in grades[:8]) + (" ..." if len(grades) > 8 else "")
    return [
        ("judged queries", f"{len(material.judgments.queries):,}"),
        ("judgments", f"{len(material.judgments):,}"),
        ("grades", shown),
        ("relevant documents of a query", f"{relevant.min()} to {relevant.max()}, median {np.median(relevant):g}"),
        ("queries without a relevant document", f"{int((relevant == 0).sum()):,}"),
        ("queries whose judged documents all have the same grade", f"{_flat(material):,}"),
    ]


def _flat(material: Material) -> int:
    """Return the number of queries for which every ranking of the judged documents scores the same."""
    pool = material.judgments.pool
    kinds = [len(np.unique(pool.grade[a:b])) for a, b in zip(pool.offsets[:-1], pool.offsets[1:], strict=True)]
    return sum(kind <= 1 for kind in kinds)


def _undefined(material: Material) -> Grid | None:
    """Return a table of undefined scores by measure and reason, or None if all scores are defined."""
    scores = material.scores
    reasons = [reason for reason in Reason if reason != Reason.DEFINED]
    counts = [[int(n) for n in scores.undefined(reason)] for reason in reasons]
    shown = [r for r, numbers in enumerate(counts) if any(numbers)]
    if not shown:
        return None
    columns = (Column("measure", numeric=False), *(Column(str(reasons[r])) for r in shown))
    size = len(scores.systems) * len(scores.queries)
    rows: list[list[Cell]] = [
        [name(measure), *(count(counts[r][m], size) for r in shown)] for m, measure in enumerate(scores.measures)
    ]
    return Grid("undefined", columns, plain_rows(rows), "measures", tools=False)
