"""What other judges would say: how far they agree, and what their labels would do to the systems."""

from __future__ import annotations

from calipers import plot
from calipers.judging.judge_study import JudgeStudy
from calipers.report.material import Material
from calipers.report.page_tables import Column, Grid, name, number, plain_rows
from calipers.report.section import Detail, Section, by_measure, one
from calipers.results.tables import Table


def section(material: Material, detail: Detail) -> Section:
    study = material.study
    effects = study.effects()
    judge, measure, tau, *_ = effects.rows[0]
    drop, dropped = (effects.rows[0][effects.columns.index(column)] for column in ("largest_drop", "dropped_system"))
    agree, conflict, missed, false = effects.rows[0][-4:]
    moved = f"{dropped} would drop most, by {drop} ranks" if dropped else "no system would drop"
    confusions = list(study.confusion.values())
    charts = {"slopes": by_measure({m: plot.slopes(study.effect, m) for m in study.effect.measures})}
    if confusions:
        charts["confusion"] = one(plot.stacked(*map(plot.confusion, confusions)))
    return Section(
        f"Under the labels of {judge} the order of the systems by {measure} has a Kendall's tau of {tau:.4f} with the "
        f"one here; {moved}. Of the pairs of systems that differ significantly here it confirms {agree}, turns "
        f"{conflict} and misses {missed}; {false} would differ under its labels only.",
        values={
            "agreement": _agreement(study),
            "effects": _grid("judge-effects", effects, "judges and measures"),
            "notes": study.notes(),
        },
        charts=charts,
        finding=(f"{tau:.4f}", f"Kendall's tau of the systems' order under {judge}, by {measure}"),
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
