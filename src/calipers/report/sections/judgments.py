"""Sections about judgments: unjudged documents, the quality of the data, and other judges."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calipers import plot
from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.questions.judges.judge_study import JudgeStudy
from calipers.report.material import MANY_SYSTEMS, Material
from calipers.report.section import (
    ALL,
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
    one,
    plain_rows,
    share,
)
from calipers.results.scores import Reason
from calipers.results.tables import Table, as_number
from calipers.support.plurals import counted, verb


def unjudged_documents(material: Material, detail: Detail) -> Section:
    """Return the section about the ranges of scores over all grades of unjudged documents."""
    found = material.ranges
    first = found.measures[0]
    mean = {(system, measure): (low, score, high) for system, measure, low, score, high in found.mean().rows}
    ends = ((low, high) for (_, measure), (low, _, high) in mean.items() if measure == first)
    widest = max(as_number(high) - as_number(low) for low, high in ends)
    documents = int(found.unknown.sum())
    if not documents:
        return Section("Every retrieved document is judged, so further judgments cannot change a score.")
    sentence = (
        "Unjudged documents count as not relevant in all scores. Each bar shows where the mean would lie if they were "
        f"judged, for any grades that they could get. In {first} it could change by up to {widest:.4f}."
    )
    decided, total = _decided(material, first)
    if total == 1:
        sentence += (
            f" Judging cannot reverse the order of the two systems in {first}."
            if decided
            else f" Judging could reverse the order of the two systems in {first}."
        )
    elif total:
        sentence += f" Judging can reverse the order of {total - decided:,} of {counted(total, 'pair')} of systems."
    charts = {measure: plot.score_ranges(found, measure) for measure in found.measures}
    return Section(
        sentence,
        values={
            "grid": _unjudged_grid(material),
            "pairs": _one_pair(material) if total == 1 else _pairs(material),
            "without_ranges": _together(material.without_ranges),
            "grade": f"{found.grades[-1]:g}",
            "documents": f"{documents:,}",
        },
        charts={"ranges": by_measure(charts)},
        findings=_findings(material) if total > 1 else {},
    )


def _findings(material: Material) -> dict[str, tuple[str, str]]:
    """Return the share of the pairs of systems that judging cannot reverse, by measure."""
    found = {}
    for measure in material.ranged:
        try:
            decided, total = _decided(material, measure)
        except CalipersError:
            continue
        found[measure] = (
            f"{decided / total:.0%}",
            f"of the pairs of systems keep their order in {measure}, for any grades of unjudged documents",
        )
    return found


def _together(reasons: Mapping[str, str]) -> dict[str, str]:
    """Join the measures that have the same reason.

    >>> _together({"AP": "too many", "RR": "too many", "bpref": "no range"})
    {'AP, RR': 'too many', 'bpref': 'no range'}
    """
    measures: dict[str, list[str]] = {}
    for measure, reason in reasons.items():
        measures.setdefault(reason, []).append(measure)
    return {", ".join(names): reason for reason, names in measures.items()}


def _decided(material: Material, measure: str) -> tuple[int, int]:
    if len(material.ranges.systems) < 2:
        return 0, 0
    pairs = material.ranges.pair_ranges(measure)
    return int(pairs.decided.sum()), len(pairs.a)


def _unjudged_grid(material: Material) -> Grid:
    found = material.ranges
    columns = [Column("system", numeric=False), Column("unjudged", title="number of unjudged documents in its lists")]
    for measure in found.measures:
        columns += [Column(f"{measure} low"), Column(measure), Column(f"{measure} high")]
    ends = {(system, measure): three for system, measure, *three in found.mean().rows}
    rows = [
        Row(
            (
                name(found.systems[s]),
                count(int(found.unknown[s].sum())),
                *(number(end) for measure in found.measures for end in ends[found.systems[s], measure]),
            )
        )
        for s in material.order
    ]
    return Grid("ranges", tuple(columns), tuple(rows), "systems")


def _pairs(material: Material) -> Grid | None:
    """Return how many pairs judging could reverse, and how many of these are significant now, by measure."""
    columns = (
        Column("measure", numeric=False),
        Column("pairs"),
        Column("cannot be reversed", title="no grades of the unjudged documents change which system is better"),
        Column("could be reversed"),
        Column("significant", title="with unjudged documents as not relevant"),
        Column("significant, could be reversed"),
        Column("ranges", numeric=False, title="outer: valid, but wider than necessary"),
    )
    rows = [
        [
            name(measure),
            count(total),
            count(decided, total),
            count(total - decided, total),
            count(significant, total),
            count(turning, total),
            name(how),
        ]
        for measure, (total, decided, significant, turning, how) in _decided_pairs(material).items()
    ]
    return Grid("decided", columns, plain_rows(rows), "measures", tools=False) if rows else None


def _one_pair(material: Material) -> Grid | None:
    """Return whether judging could reverse the order of the two systems, and whether they differ now, by measure."""
    columns = (
        Column("measure", numeric=False),
        Column("judging could reverse the order", numeric=False),
        Column("significant now", numeric=False, title="with unjudged documents as not relevant"),
        Column("ranges", numeric=False, title="outer: valid, but wider than necessary"),
    )
    rows = [
        [name(measure), name("no" if decided else "yes"), name("yes" if significant else "no"), name(how)]
        for measure, (_, decided, significant, _, how) in _decided_pairs(material).items()
    ]
    return Grid("decided", columns, plain_rows(rows), "measures", tools=False) if rows else None


def _decided_pairs(material: Material) -> dict[str, tuple[int, int, int, int, str]]:
    """Return pairs, decided pairs, significant pairs, significant pairs that are not decided, and exactness."""
    found, c = material.ranges, material.choices
    rows = {}
    for measure in found.measures if len(found.systems) <= MANY_SYSTEMS else found.measures[:1]:
        try:
            pairs = found.pair_ranges(measure)
            significant, turning = found.significant(measure, c.test, c.correction, c.alpha)
        except CalipersError:
            continue
        rows[measure] = (len(pairs.a), int(pairs.decided.sum()), significant, turning, str(pairs.exactness))
    return rows


def data_quality(material: Material, detail: Detail) -> Section:
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
        values={
            "grid": _quality_grid(material, unjudged),
            "facts": _facts(material),
            "undefined": _undefined(material),
        },
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


def _quality_grid(material: Material, unjudged: Floats) -> Grid:
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


def other_judges(material: Material, detail: Detail) -> Section:
    """Return the section about other judges."""
    study = material.study
    effects = study.effects()
    judge, measure, tau, *_ = effects.rows[0]
    drop, dropped = (effects.rows[0][effects.columns.index(column)] for column in ("largest_drop", "dropped_system"))
    agree, conflict, missed, false = effects.rows[0][-4:]
    moved = f"{dropped} loses most, {drop} ranks" if dropped else "no system loses a rank"
    confusions = list(study.confusion.values())
    charts = {"slopes": by_measure({m: plot.slopes(study.effect, m) for m in study.effect.measures})}
    if confusions:
        charts["confusion"] = one(plot.stacked(*map(plot.confusion, confusions)))
    return Section(
        f"Kendall's tau between the orders of the systems in {measure}, under the labels of {judge} and under the "
        f"judgments of this report, is {tau:.4f}; {moved}. Of the pairs that differ significantly in this report, "
        f"{agree} also do under {judge}, {conflict} are reversed and {missed} are not significant; {false} more pairs "
        f"differ only under {judge}.",
        values={
            "agreement": _agreement(study),
            "effects": _judges_grid("judge-effects", effects, "judges and measures"),
            "notes": list(study.notes),
        },
        charts=charts,
        findings={str(measure): (f"{tau:.4f}", f"Kendall's tau between the orders of systems under {judge} and here")},
    )


def _agreement(study: JudgeStudy) -> Grid:
    return _judges_grid("judge-agreement", study.table(), "judges")


def _judges_grid(key: str, table: Table, what: str) -> Grid:
    texts = {"judge", "measure", "dropped_system"}
    columns = tuple(Column(column.replace("_", " "), numeric=column not in texts) for column in table.columns)
    rows = [
        [
            name(str(cell or "")) if column in texts else number(cell, ".4f" if isinstance(cell, float) else "d")
            for column, cell in zip(table.columns, row, strict=True)
        ]
        for row in table.rows
    ]
    return Grid(key, columns, plain_rows(rows), what)
