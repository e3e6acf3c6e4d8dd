"""Who really differs: every pair of systems, tested and corrected."""

from __future__ import annotations

import numpy as np

from calipers import plot
from calipers.plurals import plural_of
from calipers.report.material import Material
from calipers.report.page_tables import Cell, Column, Grid, count, name, number, p_value, plain_rows
from calipers.report.section import Detail, Section, by_measure
from calipers.stats.comparison import Comparison, compare
from calipers.stats.leave_one_out import influence, influence_warnings

TESTS = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign": "sign test",
    "randomization": "sign-flip randomisation test",
    "bootstrap": "Sakai's bootstrap test",
    "tukey": "randomised Tukey HSD test",
}
CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini and Hochberg", "none": "nobody"}


def section(material: Material, detail: Detail) -> Section:
    found = material.comparison
    about = found.metadata
    pairs, significant = len(found.a), int(found.significant[0].sum())
    how = TESTS[about["test"]]
    if about["correction"] != "none":
        how += f", corrected for {pairs:,} pairs by {CORRECTIONS[about['correction']]}"
    if material.choices.baseline:
        return _against(material, found, how)
    shown = _first(material, found, detail)
    measures = found.measures[: detail.measures]
    return Section(
        f"A blue square says that the row's system is better than the column's, an orange one that it is worse; grey "
        f"pairs may differ by chance alone. Under {found.measures[0]} {significant:,} of {pairs:,} pairs differ "
        f"({how}, alpha {found.alpha:g}).",
        values={
            "counts": _counts(found, plural_of(material.unit)),
            "wins": _wins(found),
            "measure": found.measures[0],
            "baseline": "",
            "decided": influence_warnings(influence(material.scores, found), found, material.unit),
        },
        charts={"differs": by_measure({m: plot.differences(shown, m) for m in measures})},
        finding=(
            f"{significant:,} of {pairs:,}" if pairs < 1000 else f"{significant / pairs:.0%}",
            f"{'' if pairs < 1000 else f'of {pairs:,} '}pairs of systems really differ in {found.measures[0]}",
        ),
    )


def _against(material: Material, found: Comparison, how: str) -> Section:
    """All others against one system."""
    baseline, first = material.choices.baseline, found.measures[0]
    better, worse = (int((found.significant[0] & (sign * found.improvement(0) > 0)).sum()) for sign in (1, -1))
    return Section(
        f"Each system against {baseline}: the dot is the difference of the means, the line its interval. Under {first} "
        f"{better:,} of {len(found.a):,} are significantly better than {baseline} and {worse:,} significantly worse "
        f"({how}, alpha {found.alpha:g}).",
        values={
            "counts": _counts(found, plural_of(material.unit)),
            "wins": _differences(found),
            "measure": first,
            "baseline": baseline,
            "decided": influence_warnings(influence(material.scores, found), found, material.unit),
        },
        charts={"differs": by_measure({m: plot.against_baseline(found, m) for m in found.measures})},
        finding=(f"{better:,} of {len(found.a):,}", f"systems significantly better than {baseline} in {first}"),
    )


def _differences(found: Comparison) -> Grid:
    columns = (
        Column("system", numeric=False), Column("mean"), Column("difference"), Column("low"), Column("high"),
        Column("p", title="adjusted for the number of systems"),
        Column("effect", title="difference in standard deviations"),
    )  # fmt: skip
    outcome = found.outcomes[0]
    rows = [
        [
            name(found.systems[a]), number(float(found.means[0][a])), number(float(outcome.difference[i]), "+.4f"),
            number(float(outcome.low[i]), "+.4f"), number(float(outcome.high[i]), "+.4f"),
            p_value(float(found.p_adjusted[0][i])), number(float(outcome.effect[i]), "+.4f"),
        ]
        for i in np.argsort(-np.nan_to_num(found.improvement(0), nan=-np.inf), kind="stable").tolist()
        for a in (int(found.a[i]),)
    ]  # fmt: skip
    return Grid("against", columns, plain_rows(rows), "systems", sorted_by=2, ascending=found.less_is_better(0))


def _first(material: Material, found: Comparison, detail: Detail) -> Comparison:
    """The comparison of the best systems only, where the page cannot hold all."""
    if detail.systems is None or detail.systems >= len(found.systems):
        return found
    systems = [material.scores.systems[s] for s in material.order[: detail.systems]]
    c = material.choices
    return compare(
        material.scores.of_systems(systems), c.test, c.correction, alpha=c.alpha, samples=c.samples, seed=c.seed,
        warn=False,
    )  # fmt: skip


def _counts(found: Comparison, units: str) -> Grid:
    columns = (
        Column("measure", numeric=False),
        Column("pairs"),
        Column("p below alpha", title="before the correction"),
        Column("significant", title="after the correction"),
        Column("smallest p"),
        Column(f"pairs that miss {units}", title=f"{units} that are undefined for one of the two systems"),
    )
    incomplete = {row[0]: row[1] for row in found.incomplete().rows}
    rows: list[list[Cell]] = []
    for m, measure in enumerate(found.measures):
        before = int((found.p[m] < found.alpha).sum())
        after = int(found.significant[m].sum())
        p = found.p_adjusted[m]
        least = float(np.nanmin(p)) if not np.isnan(p).all() else None
        rows.append([
            name(measure), count(len(found.a)), count(before, len(found.a)), count(after, len(found.a)),
            p_value(least), count(int(incomplete[measure] or 0)),
        ])  # fmt: skip
    return Grid("differs-counts", columns, plain_rows(rows), "measures", tools=False)


def _wins(found: Comparison) -> Grid:
    table = found.wins(found.measures[0])
    lettered = any(letters for *_, letters in table.rows)  # there are none where too many would be needed
    columns = [Column("system", numeric=False), Column(f"mean {found.measures[0]}")]
    columns += [Column("beats", title="systems that it is better than"), Column("beaten by")]
    if lettered:
        title = "systems that share a letter do not differ significantly"
        columns.append(Column("letters", numeric=False, title=title))
    most = len(table.rows) - 1
    rows = []
    for system, mean, *counts, letters in table.rows:
        numbers = [count(int(str(each)), most) for each in counts]
        letter = [Cell(str(letters), str(letters))] if lettered else []
        rows.append([name(str(system)), number(mean), *numbers, *letter])
    return Grid("wins", tuple(columns), plain_rows(rows), "systems", sorted_by=1, ascending=found.less_is_better(0))
