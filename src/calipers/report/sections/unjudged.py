"""What is not judged: between which values scores lie, and which pairs of systems no judgment can turn."""

from __future__ import annotations

from collections.abc import Mapping

from calipers import plot
from calipers.errors import CalipersError
from calipers.plurals import counted, verb
from calipers.report.material import MANY_SYSTEMS, Material
from calipers.report.page_tables import Column, Grid, Row, count, name, number, plain_rows
from calipers.report.section import Detail, Section, by_measure
from calipers.results.tables import as_number

FEW = MANY_SYSTEMS  # systems of which the pairs are looked at under every measure


def section(material: Material, detail: Detail) -> Section:
    found = material.ranges
    first = found.measures[0]
    mean = {(system, measure): (low, score, high) for system, measure, low, score, high in found.mean().rows}
    ends = ((low, high) for (_, measure), (low, _, high) in mean.items() if measure == first)
    widest = max(as_number(high) - as_number(low) for low, high in ends)
    open_documents = int(found.unknown.sum())
    if not open_documents:
        return Section("Every retrieved document is judged: no further judgment can change a score.")
    decided, total = _decided(material, first)
    said = finding = None
    if total == 1:
        said = f" {'No judgment' if decided else 'Judgments'} can change which of the two systems is better."
        finding = ("decided" if decided else "open", f"which system is better in {first}, whatever is unjudged")
    elif total:
        said = (
            f" Of {counted(total, 'pair')} of systems, {decided:,} {verb(decided, 'is', 'are')} decided: no judgment "
        )
        said += "can change which one is better."
        finding = (f"{decided / total:.0%}", f"of the pairs of systems are decided in {first}, whatever is unjudged")
    charts = {measure: plot.score_ranges(found, measure) for measure in found.measures}
    return Section(
        "Unjudged documents count as worthless in every score. The bar shows between which values the mean lies "
        f"whatever they are; under {first} it could move by as much as {widest:.4f}.{said or ''}",
        values={
            "grid": _grid(material),
            "pairs": _pairs(material),
            "without_ranges": _together(material.without_ranges),
            "grade": f"{found.grades[-1]:g}",
            "documents": f"{open_documents:,}",
        },
        charts={"ranges": by_measure(charts)},
        finding=finding,
    )


def _together(reasons: Mapping[str, str]) -> dict[str, str]:
    """The reasons, each with all measures that it is given for.

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
    columns = [Column("system", numeric=False), Column("unjudged", title="unjudged documents in its lists")]
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
    """How many pairs are decided, and how many of the significant ones could still turn."""
    found = material.ranges
    if len(found.systems) < 2:
        return None
    columns = (
        Column("measure", numeric=False),
        Column("pairs"),
        Column("decided"),
        Column("significant", title="with unjudged documents as 0"),
        Column("could still turn", title="significant, but not decided"),
        Column("ranges", numeric=False, title="outer: valid, but not tight"),
    )
    c = material.choices
    rows = []
    for measure in found.measures if len(found.systems) <= FEW else found.measures[:1]:
        try:
            pairs = found.pair_ranges(measure)
            significant, turning = found.significant(measure, c.test, c.correction, c.alpha)
        except CalipersError:
            continue
        total = len(pairs.a)
        rows.append(
            [
                name(measure),
                count(total),
                count(int(pairs.decided.sum()), total),
                count(significant, total),
                count(turning, total),
                name(pairs.exactness),
            ]
        )
    return Grid("decided", columns, plain_rows(rows), "measures", tools=False) if rows else None
