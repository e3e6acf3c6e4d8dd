"""Tests of all pairs of systems, corrected for their number."""

from __future__ import annotations

import numpy as np

from calipers import plot
from calipers.questions.compare.comparison import Comparison, compare
from calipers.questions.compare.leave_one_out import influence
from calipers.report.material import Material
from calipers.report.section import (
    Cell,
    Column,
    Detail,
    Grid,
    Section,
    by_measure,
    count,
    name,
    number,
    p_value,
    plain_rows,
)
from calipers.results.tables import as_number
from calipers.support.plurals import counted, plural_of, verb

LISTED = 100  # largest number of rows of the table of pairs that depend on one query
TESTS = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign": "sign test",
    "randomization": "sign-flip randomisation test",
    "bootstrap": "Sakai's bootstrap test",
    "tukey": "randomised Tukey HSD test",
}
CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini and Hochberg", "none": ""}


def section(material: Material, detail: Detail) -> Section:
    """Return the section with the tests of all pairs of systems, or of all systems against the baseline."""
    found = material.comparison
    about = found.metadata
    pairs, significant = len(found.a), int(found.significant[0].sum())
    how = TESTS[about["test"]]
    if about["correction"] != "none":
        how += f", corrected for {counted(pairs, 'pair')} by the method of {CORRECTIONS[about['correction']]}"
    if material.choices.baseline:
        return _against(material, found, how)
    shown = _first(material, found, detail)
    measures = found.measures[: detail.measures]
    return Section(
        f"Blue: the system of the row is better than the system of the column. Orange: it is worse. Grey: not shown to "
        f"differ, the difference may be chance. In {found.measures[0]}, {significant:,} of {counted(pairs, 'pair')} "
        f"differ significantly ({how}, alpha {found.alpha:g}).{_limits(found)}",
        values={
            "counts": _counts(found, plural_of(material.unit)),
            "wins": _wins(found),
            "measure": found.measures[0],
            "baseline": "",
            "influence": _influence(material, found),
        },
        charts={"differs": by_measure({m: plot.differences(shown, m) for m in measures})},
        findings={
            measure: (f"{count:,} of {pairs:,}", f"pairs of systems differ significantly in {measure}")
            for measure, count in zip(found.measures, found.significant.sum(axis=1).tolist(), strict=True)
        },
    )


def _against(material: Material, found: Comparison, how: str) -> Section:
    """Return the section with all systems against the baseline."""
    baseline, first = material.choices.baseline, found.measures[0]
    better, worse = (int((found.significant[0] & (sign * found.improvement(0) > 0)).sum()) for sign in (1, -1))
    return Section(
        f"Each system against {baseline}: the dot is the difference of the means, the line its interval. In {first}, "
        f"{better:,} of {counted(len(found.a), 'system')} {verb(better, 'is', 'are')} significantly better than "
        f"{baseline} and {worse:,} significantly worse ({how}, alpha {found.alpha:g}).{_limits(found)}",
        values={
            "counts": _counts(found, plural_of(material.unit)),
            "wins": _differences(found),
            "measure": first,
            "baseline": baseline,
            "influence": _influence(material, found),
        },
        charts={"differs": by_measure({m: plot.against_baseline(found, m) for m in found.measures})},
    )


def _limits(found: Comparison) -> str:
    """Return the sentences about what the test cannot show here."""
    return "".join(f" {sentence[0].upper()}{sentence[1:]}." for sentence in found.limits)


def _influence(material: Material, found: Comparison) -> Grid | None:
    """Return a table of the significant pairs that would not be significant without one query."""
    rows = influence(material.scores, found).rows
    if not rows:
        return None
    columns = (
        Column("measure", numeric=False),
        Column("system", numeric=False),
        Column("other system", numeric=False),
        Column(material.unit, numeric=False),
        Column("difference"),
        Column("without it", title=f"difference without this {material.unit}"),
        Column("p", title="adjusted"),
        Column("p without it", title=f"adjusted, without this {material.unit}"),
    )
    cells = [
        [
            name(str(measure)),
            name(str(one)),
            name(str(other)),
            name(str(query)),
            number(difference, "+.4f"),
            number(without, "+.4f"),
            p_value(as_number(p)),
            p_value(as_number(p_without)),
        ]
        for measure, one, other, query, difference, without, p, p_without in rows[:LISTED]
    ]
    what = "pairs" if len(rows) <= LISTED else f"of {len(rows):,} pairs"
    return Grid("influence", columns, plain_rows(cells), what)


def _differences(found: Comparison) -> Grid:
    columns = (
        Column("system", numeric=False),
        Column("mean"),
        Column("difference"),
        Column("low"),
        Column("high"),
        Column("p", title="adjusted for the number of systems"),
        Column("effect", title="difference in standard deviations"),
    )
    outcome = found.outcomes[0]
    rows = [
        [
            name(found.systems[a]),
            number(float(found.means[0][a])),
            number(float(outcome.difference[i]), "+.4f"),
            number(float(outcome.low[i]), "+.4f"),
            number(float(outcome.high[i]), "+.4f"),
            p_value(float(found.p_adjusted[0][i])),
            number(float(outcome.effect[i]), "+.4f"),
        ]
        for i in np.argsort(-np.nan_to_num(found.improvement(0), nan=-np.inf), kind="stable").tolist()
        for a in (int(found.a[i]),)
    ]
    return Grid("against", columns, plain_rows(rows), "systems", sorted_by=2, ascending=found.less_is_better(0))


def _first(material: Material, found: Comparison, detail: Detail) -> Comparison:
    """Return the comparison of the best systems, as many as the page can hold."""
    if detail.systems is None or detail.systems >= len(found.systems):
        return found
    systems = [material.scores.systems[s] for s in material.order[: detail.systems]]
    c = material.choices
    return compare(
        material.scores.of_systems(systems),
        test=c.test,
        correction=c.correction,
        alpha=c.alpha,
        samples=c.samples,
        seed=c.seed,
        warn=False,
    )


def _counts(found: Comparison, units: str) -> Grid:
    columns = (
        Column("measure", numeric=False),
        Column("pairs"),
        Column("p below alpha", title="before the correction"),
        Column("significant", title="after the correction"),
        Column("smallest p"),
        Column(f"pairs with missing {units}", title=f"pairs of which one system has no score on some {units}"),
    )
    incomplete = {row[0]: row[1] for row in found.incomplete().rows}
    rows: list[list[Cell]] = []
    for m, measure in enumerate(found.measures):
        before = int((found.p[m] < found.alpha).sum())
        after = int(found.significant[m].sum())
        p = found.p_adjusted[m]
        least = float(np.nanmin(p)) if not np.isnan(p).all() else None
        rows.append(
            [
                name(measure),
                count(len(found.a)),
                count(before, len(found.a)),
                count(after, len(found.a)),
                p_value(least),
                count(int(incomplete[measure] or 0)),
            ]
        )
    return Grid("differs-counts", columns, plain_rows(rows), "measures", tools=False)


def _wins(found: Comparison) -> Grid:
    table = found.wins(found.measures[0])
    lettered = any(letters for *_, letters in table.rows)  # there are no letters if too many would be needed
    columns = [Column("system", numeric=False), Column(f"mean {found.measures[0]}")]
    columns += [Column("beats", title="number of systems that it is significantly better than"), Column("beaten by")]
    if lettered:
        title = "systems that share a letter are not shown to differ"
        columns.append(Column("letters", numeric=False, title=title))
    most = len(table.rows) - 1
    rows = []
    for system, mean, *counts, letters in table.rows:
        numbers = [count(int(str(each)), most) for each in counts]
        letter = [Cell(str(letters), str(letters))] if lettered else []
        rows.append([name(str(system)), number(mean), *numbers, *letter])
    return Grid("wins", tuple(columns), plain_rows(rows), "systems", sorted_by=1, ascending=found.less_is_better(0))
