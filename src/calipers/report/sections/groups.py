"""Scores and differences for groups of queries."""

from __future__ import annotations

from calipers.report.material import Material
from calipers.report.section import Cell, Column, Detail, Grid, Section, count, name, number, p_value, plain_rows
from calipers.results.tables import as_number
from calipers.support.plurals import counted


def section(material: Material, detail: Detail) -> Section:
    """Return the section about groups of queries."""
    groups = material.groups
    sentence = (
        f"The systems on {counted(len(groups), 'group')} of queries. p values are corrected for all pairs and groups "
        "of a measure. Groups of one query have no p value."
    )
    grid = _two_systems(material) if len(material.scores.systems) == 2 else _systems(material)
    return Section(sentence, values={"grid": grid, "notes": groups.notes})


def _two_systems(material: Material) -> Grid:
    """Return the difference of the old and the new system in each group, by measure."""
    scores = material.scores
    old, new = (scores.systems[place] for place in material.old_and_new)
    columns = (
        Column("group", numeric=False),
        Column("measure", numeric=False),
        Column("queries"),
        Column(old),
        Column(new),
        Column("difference"),
        Column("low", title="end of the interval of the difference"),
        Column("high"),
        Column("p"),
    )
    rows = []
    for group, of_group in material.groups.items():
        compared, means = material.comparison.groups.get(group), of_group.mean()
        for m, measure in enumerate(scores.measures):
            before, after = (as_number(means[system, measure]) for system in (old, new))
            cells = [name(group), name(measure), count(len(of_group.queries)), number(before), number(after)]
            cells.append(number(after - before, "+.4f"))
            if compared is None:
                rows.append([*cells, number(None), number(None), number(None)])
                continue
            outcome, sign = compared.outcomes[m], 1 if compared.systems[int(compared.a[0])] == new else -1
            ends = sorted(sign * float(end[0]) for end in (outcome.low, outcome.high))
            rows.append([*cells, *(number(end, "+.4f") for end in ends), p_value(float(compared.p_adjusted[m][0]))])
    return Grid("groups", columns, plain_rows(rows), "rows")


def _systems(material: Material) -> Grid:
    """Return the mean of each system in each group under the first measure, and the number of systems it beats."""
    measure = material.measure
    columns = (
        Column("group", numeric=False),
        Column("queries"),
        Column("system", numeric=False),
        Column(f"mean {measure}"),
        Column("significantly better than", title="number of systems, corrected for all pairs and groups"),
    )
    rows: list[list[Cell]] = []
    for group, of_group in material.groups.items():
        compared, means = material.comparison.groups.get(group), of_group.mean()
        beaten = {row[0]: row[2] for row in compared.wins(measure).rows} if compared and not _baseline(material) else {}
        for s in material.order:
            system = material.scores.systems[s]
            wins = beaten.get(system)
            cells = [name(group), count(len(of_group.queries)), name(system), number(as_number(means[system, measure]))]
            rows.append([*cells, number(None) if wins is None else count(int(str(wins)))])
    return Grid("groups", columns, plain_rows(rows), "rows")


def _baseline(material: Material) -> bool:
    """Return True if systems are compared with a baseline only, so that no system beats all others."""
    return bool(material.choices.baseline)
