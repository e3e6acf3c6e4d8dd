"""Other judges: their agreement with the judgments, and the systems under their labels."""

from __future__ import annotations

from calipers import plot
from calipers.questions.judges.judge_study import JudgeStudy
from calipers.report.material import Material
from calipers.report.section import Column, Detail, Grid, Section, by_measure, name, number, one, plain_rows
from calipers.results.tables import Table


def section(material: Material, detail: Detail) -> Section:
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
            "effects": _grid("judge-effects", effects, "judges and measures"),
            "notes": list(study.notes),
        },
        charts=charts,
        findings={str(measure): (f"{tau:.4f}", f"Kendall's tau between the orders of systems under {judge} and here")},
    )


def _agreement(study: JudgeStudy) -> Grid:
    return _grid("judge-agreement", study.table(), "judges")


def _grid(key: str, table: Table, what: str) -> Grid:
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
