"""Unjudged documents: ranges of scores, and pairs of systems whose order judging could reverse."""

from __future__ import annotations

from collections.abc import Mapping

from calipers import plot
from calipers.errors import CalipersError
from calipers.report.material import MANY_SYSTEMS, Material
from calipers.report.section import Column, Detail, Grid, Row, Section, by_measure, count, name, number, plain_rows
from calipers.results.tables import as_number
from calipers.support.plurals import counted


def section(material: Material, detail: Detail) -> Section:
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
            "grid": _grid(material),
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


def _grid(material: Material) -> Grid:
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
