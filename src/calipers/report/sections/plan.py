"""The differences that these queries can detect."""

from __future__ import annotations

from calipers import plot
from calipers.errors import CalipersError
from calipers.questions.plan.sample_size import plan
from calipers.report.material import Material
from calipers.report.section import Cell, Column, Detail, Grid, Row, Section, count, name, number, one
from calipers.statistics.power import smallest_n

DIFFERENCES = (0.01, 0.02, 0.05, 0.1)  # each has a column with the number of queries that it needs


def section(material: Material, detail: Detail) -> Section:
    """Return the section about the power of the queries."""
    found = material.plan
    first, asked = found.measures[0], _round(found.detectable[0])
    curves = plan(material.scores, difference=asked, alpha=found.alpha) if asked else found
    return Section(
        f"With {found.at_hand[0]:,} queries, a paired t test of two systems like these detects a true difference of "
        f"{found.detectable[0]:.4f} in {first} with power {found.power:g} (alpha {found.alpha:g}, one pair). To detect "
        "smaller differences, use more queries or a measure that varies less.",
        values={"grid": _grid(material), "difference": f"{asked:g}", "measure": first},
        charts={"plan": one(plot.power_curves(curves))},
    )


def _round(difference: float) -> float:
    """Round a difference to two digits."""
    return float(f"{difference:.2g}")


def _grid(material: Material) -> Grid:
    found = material.plan
    columns = [
        Column("measure", numeric=False),
        Column("sd", title="standard deviation of the differences of two systems over the queries"),
        Column("detectable", title="smallest true difference of means that these queries detect with power 0.8"),
        *(
            Column(f"queries for {d:g}", title="number of queries that detect this difference with power 0.8")
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
