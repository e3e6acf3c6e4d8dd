"""Sections about differences: significant ones, what changed between two systems, and what these queries can detect."""

from __future__ import annotations

from collections import Counter

import numpy as np

from calipers import plot
from calipers.errors import CalipersError
from calipers.questions.compare.comparison import Comparison, compare
from calipers.questions.compare.leave_one_out import influence
from calipers.questions.diff.difference import Difference, QueryChange
from calipers.questions.plan.sample_size import plan
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
    one,
    p_value,
    plain_rows,
)
from calipers.results.tables import as_number
from calipers.statistics.power import smallest_n
from calipers.support.plurals import counted, verb

PAIRS_LISTED = 100  # largest number of rows of the table of pairs that depend on one query
TESTS = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign": "sign test",
    "randomization": "sign-flip randomisation test",
    "bootstrap": "Sakai's bootstrap test",
    "tukey": "randomised Tukey HSD test",
}
CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini and Hochberg", "none": ""}


def significant_differences(material: Material, detail: Detail) -> Section:
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
            "counts": _counts(found, material.units),
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
            "counts": _counts(found, material.units),
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
        for measure, one, other, query, difference, without, p, p_without in rows[:PAIRS_LISTED]
    ]
    what = "pairs" if len(rows) <= PAIRS_LISTED else f"of {len(rows):,} pairs"
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


DOCUMENTS_LISTED = 4  # number of documents that a cell names


def what_changed(material: Material, detail: Detail) -> Section:
    """Return the section about an old and a new system."""
    found = material.change
    old, new = (material.scores.systems[place] for place in material.old_and_new)
    charts = {
        m: plot.gains_and_losses(found, of) for m, of in zip(material.scores.measures, found.measures, strict=True)
    }
    return Section(
        f"Each bar is a {material.unit}, sorted from the largest gain of {new} over {old} to its largest loss. The "
        "dashed line is the mean difference, and the grey band Student's interval."
        + (" Choose a bar or a query to see both rankings." if found.top else ""),
        values={
            "means": _changed_means(found, old, new),
            "documents": _changed_documents(material, found),
            "queries": _changed_queries(material, found),
            "top": found.top,
        },
        charts={"changes": by_measure(charts)},
    )


def _changed_means(found: Difference, old: str, new: str) -> Grid:
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


def _changed_documents(material: Material, found: Difference) -> Grid | None:
    """Count the documents that entered and left the first ranks, by their grade."""
    if not found.top:
        return None
    kinds = ("relevant", "not relevant", "unjudged")
    counts = Counter(
        (document.change, _kind_of_document(document.grade, material.rel))
        for each in found.queries
        for document in each.documents
    )
    columns = (Column(f"in the top {found.top}", numeric=False), *(Column(kind) for kind in kinds))
    rows = [[name(change), *(count(counts[change, kind]) for kind in kinds)] for change in ("entered", "left", "moved")]
    return Grid("changes-documents", columns, plain_rows(rows), "changes", tools=False)


def _kind_of_document(grade: float | None, rel: float) -> str:
    return "unjudged" if grade is None else "relevant" if grade >= rel else "not relevant"


def _changed_queries(material: Material, found: Difference) -> Grid:
    texts = material.query_texts
    columns = [Column(material.unit, numeric=False)]
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
        rows.append(Row(tuple(cells), query=place[each.query] if found.top else None))
    by_difference = len(columns) - (3 if found.top else 1)
    return Grid("changes", tuple(columns), tuple(rows), material.units, sorted_by=by_difference, ascending=True)


def _listed(change: QueryChange, what: str) -> Cell:
    """Return a cell with the documents that entered or left, the highest grades first."""
    found = sorted(change.changed(what), key=lambda each: -1.0 if each.grade is None else each.grade, reverse=True)
    words = [str(each) for each in found]
    shown = ", ".join(words[:DOCUMENTS_LISTED]) + (
        f" and {len(words) - DOCUMENTS_LISTED} more" if len(words) > DOCUMENTS_LISTED else ""
    )
    return Cell(shown, ", ".join(words), kind="words")


DIFFERENCES = (0.01, 0.02, 0.05, 0.1)  # each has a column with the number of queries that it needs


def detectable_differences(material: Material, detail: Detail) -> Section:
    """Return the section about the power of the queries."""
    found, many = material.plan, material.units
    first, asked = found.measures[0], _round(found.detectable[0])
    curves = plan(material.scores, difference=asked, alpha=found.alpha) if asked else found
    return Section(
        f"With {found.at_hand[0]:,} {many}, a paired t test of two systems like these detects a true difference of "
        f"{found.detectable[0]:.4f} in {first} with power {found.power:g} (alpha {found.alpha:g}, one pair). To detect "
        f"smaller differences, use more {many} or a measure that varies less.",
        values={"grid": _plan_grid(material), "difference": f"{asked:g}", "measure": first},
        charts={"plan": one(plot.power_curves(curves, many))},
    )


def _round(difference: float) -> float:
    """Round a difference to two digits."""
    return float(f"{difference:.2g}")


def _plan_grid(material: Material) -> Grid:
    found, many = material.plan, material.units
    columns = [
        Column("measure", numeric=False),
        Column("sd", title=f"standard deviation of the differences of two systems over the {many}"),
        Column("detectable", title=f"smallest true difference of means that these {many} detect with power 0.8"),
        *(
            Column(f"{many} for {d:g}", title=f"number of {many} that detect this difference with power 0.8")
            for d in DIFFERENCES
        ),
    ]
    rows = []
    for m, measure in enumerate(found.measures):
        sd = found.sd[m]
        needed = [_needed(d, sd, found.power, found.alpha_each) for d in DIFFERENCES]
        rows.append(Row((name(measure), number(sd), number(found.detectable[m]), *needed)))
    return Grid("plan", tuple(columns), tuple(rows), "measures", tools=False)


def _needed(difference: float, sd: float, power: float, alpha: float) -> Cell:
    try:
        return count(smallest_n(difference / sd, power, alpha)) if sd else number(None)
    except CalipersError:  # more queries than the formula can count
        return number(None)
