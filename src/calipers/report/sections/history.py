"""Means of runs over time."""

from __future__ import annotations

from calipers import plot
from calipers.report.material import Material
from calipers.report.page_tables import Column, Grid, name, number, plain_rows
from calipers.report.section import Detail, Section, by_measure


def section(material: Material, detail: Detail) -> Section:
    """Return the section about the history of runs."""
    history = material.history
    charts = {m: plot.trend(history, m) for m in material.scores.measures if m in history.measures}
    sentence = (
        "Each dot is an earlier evaluation with the interval of its mean. The range of a measure is the interval of "
        f"the first run with the same name and judgments. {history.summary}"
    )
    return Section(
        sentence, values={"grid": _grid(material), "notes": history.notes}, charts={"history": by_measure(charts)}
    )


def _grid(material: Material) -> Grid:
    """Return the means of the history, the latest first."""
    columns = (
        Column("time", numeric=False), Column("run", numeric=False), Column("measure", numeric=False), Column("mean"),
        Column("low"), Column("high"), Column("range", numeric=False, title="place in the range of the first run"),
        Column("queries"),
    )  # fmt: skip
    rows = [
        [
            name(each.entry.time), name(each.entry.name), name(each.measure), number(each.mean), number(each.low),
            number(each.high), name(each.range), number(each.entry.queries, ",d"),
        ]
        for each in reversed(material.history.points)
    ]  # fmt: skip
    return Grid("history", columns, plain_rows(rows), "rows")
