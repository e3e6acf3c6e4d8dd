"""Feng (2023), tables 8.1 to 8.3 and 9.1: what normalisation adds to the correlation with human judgments (PAI).

Tables 8.4 and 9.2 count preferences of people, which are not published.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from calipers.questions.metaeval import percentage_absolute_increase
from research.feng2023.summeval import DATA, LAYOUT, LEVELS, ROUGES, correlations
from research.printed_figures import DIFFERS, NEEDS_DATA, Figure, corners, decimals, judged
from research.readings import Reading
from research.registry import printed, reproduction, reproduction_of_readings

TABLES = {
    "table-8.1": "BERTScore: correlation with people and increases (PAI), 100 documents",
    "table-8.2": "BERTScore: the same, the 20 most heterogeneous documents",
    "table-8.3": "BERTScore: the same, the 20 most homogeneous documents",
    "table-9.1": "ROUGE: correlation with people and increases (PAI), 100 documents",
}
# Printed 0.4, but its PAI of 6.2 over 0.04 can only be of 0.04.
SLIPS = {("table-9.1", "V2", "fluency"): 0.04}


# What table 9.1 leaves open: which ROUGE, and over what tau is taken.
AXES = {"ROUGE": ROUGES, "level": LEVELS}
BEST = {"ROUGE": ROUGES[0], "level": LEVELS[0]}


def _rouge(folder: Path | None, reading: Reading) -> Sequence[Figure]:
    return _increases("table-9.1", folder, reading)


def _increases(name: str, folder: Path | None, reading: Reading = BEST) -> Sequence[Figure]:
    table = printed("feng2023")[name]
    cells = table["cells"]
    found: list[Figure] = []
    values: list[float] = []
    for version in ("V1", "V2"):
        for aspect, figure in cells[f"PAI {version}"].items():
            before, after = float(cells["base"][aspect]), float(cells[version][aspect])
            reason = "base 0: 100 (new - base)" if before == 0 else ""
            cell = f"PAI {version}, {aspect}"
            if (name, version, aspect) in SLIPS:
                mended = SLIPS[name, version, aspect]
                slip = f"{table['base']} {version}, {aspect}"
                why = f"must be {mended}: its PAI of {figure} over {before} is of about that"
                found.append(Figure(slip, cells[version][aspect], None, DIFFERS, why))
                after, reason = mended, f"of {mended}, printed as {cells[version][aspect]}"
            value = float(percentage_absolute_increase(after, before))
            values.append(value)
            found.append(judged(cell, figure, value, _interval(cells, version, aspect, after), reason))
    found.append(_mean(name, table, values))
    return [*found, *correlations(name, folder, reading["ROUGE"], reading["level"])]


def _mean(name: str, table: Any, values: Sequence[float]) -> Figure:
    """Of all eight increases: as computed, or, where the correlations are printed too coarsely for that, as printed."""
    if name == "table-9.1":
        rows = [float(figure) for version in ("V1", "V2") for figure in table["cells"][f"PAI {version}"].values()]
        return judged("mean", table["mean"], float(np.mean(rows)), reason="mean of the printed increases")
    return judged("mean", table["mean"], float(np.mean(values)))


def _interval(cells: Any, version: str, aspect: str, after: float) -> tuple[float, float]:
    """What PAI can be if both correlations are off by half of their last digit."""
    before = float(cells["base"][aspect])
    if before == 0:
        value = float(percentage_absolute_increase(after, before))
        return value, value
    step = [0.5 * 10.0 ** -max(decimals(cells[each][aspect]), 2) for each in ("base", version)]
    ends = corners([before - step[0], after - step[1]], [before + step[0], after + step[1]])
    values = [float(percentage_absolute_increase(new, base)) for base, new in ends]
    return min(values), max(values)


for _name, _title in TABLES.items():
    if _name == "table-9.1":
        reproduction_of_readings(f"feng2023/{_name}", _title, DATA, LAYOUT, axes=AXES, best=BEST)(_rouge)
    else:
        reproduction(f"feng2023/{_name}", _title, DATA, LAYOUT)(partial(_increases, _name))


PREFERENCES = {
    "table-8.4": "V1 and V2 of BERTScore against BERTScore: wins, losses and ties by human preferences",
    "table-9.2": "V1 and V2 of ROUGE against ROUGE: wins, losses and ties by human preferences",
}
NOT_PUBLISHED = "preferences of three annotators for five pairs of extractive systems, which are not published"


def _preferences(name: str, folder: Path | None) -> Sequence[Figure]:
    """Return the shares that only the authors' annotations could confirm.

    `calipers metaeval DATA --preferences FILE` computes such shares from other annotations.
    """
    table = printed("feng2023")[name]
    return [
        Figure(f"{version} against {table['base']}: {outcome}, %", figure, None, NEEDS_DATA, NOT_PUBLISHED)
        for version, outcomes in table["cells"].items()
        for outcome, figure in outcomes.items()
    ]


for _name, _title in PREFERENCES.items():
    reproduction(f"feng2023/{_name}", _title, NOT_PUBLISHED)(partial(_preferences, _name))
