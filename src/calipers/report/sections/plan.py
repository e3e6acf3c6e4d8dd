"""What these queries can show: the power of this set."""

from __future__ import annotations

from calipers import plot
from calipers.errors import CalipersError
from calipers.planning.closed_form_power import smallest_n
from calipers.planning.sample_size import plan
from calipers.report.material import Material
from calipers.report.page_tables import Cell, Column, Grid, Row, count, name, number
from calipers.report.section import Detail, Section, one

DIFFERENCES = (0.01, 0.02, 0.05, 0.1)  # for which the queries are counted


def section(material: Material, detail: Detail) -> Section:
    found = material.plan
    first, asked = found.measures[0], _round(found.detectable[0])
    curves = plan(material.scores, asked, alpha=found.alpha) if asked else found
    return Section(
        f"With {found.at_hand[0]:,} queries, a paired t test of two systems like these finds a difference of "
        f"{found.detectable[0]:.4f} in {first} with power {found.power:g} (alpha {found.alpha:g}, one pair). Smaller "
        "differences may be real and stay unseen: they need more queries, or a measure that varies less.",
        values={"grid": _grid(material), "difference": f"{asked:g}", "measure": first},
        charts={"plan": one(plot.power_curves(curves))},
        finding=(f"{found.detectable[0]:.4f}", f"smallest difference in {first} that these queries can show"),
    )


def _round(difference: float) -> float:
    """Two digits: a difference that people would ask for."""
    return float(f"{difference:.2g}")


def _grid(material: Material) -> Grid:
    found = material.plan
    columns = [
        Column("measure", numeric=False),
        Column("sd", title="standard deviation of the differences of two systems over the queries"),
        Column("can be shown", title="smallest difference of means that these queries show, with power 0.8"),
        *(Column(f"queries for {d:g}", title="to find this difference with power 0.8") for d in DIFFERENCES),
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
    except CalipersError:  # more than can be counted
        return number(None)
