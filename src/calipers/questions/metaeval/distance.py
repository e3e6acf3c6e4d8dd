"""Distances of scores in percent: between systems (PAD), and of a new measure from a base measure (PAI)."""

from __future__ import annotations

from typing import get_args

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.results.score_files import ScoresLike
from calipers.statistics.differences import all_pairs
from calipers.statistics.score_arrays import one_each, paired_values
from calipers.support.choices import PadDenominator

DENOMINATORS = get_args(PadDenominator)


def percentage_absolute_difference(scores: ScoresLike, denominator: PadDenominator = "absolute") -> float:
    """Return the PAD: the mean over the pairs of systems of 100 |a - b| / max(a, b), with one score per system.

    Of Scores of one measure, the means are used. A pair is left out if its larger score is 0.

    denominator: `absolute` takes |max(a, b)|, so that two negative scores have a positive distance. `literal` is the
        formula as printed, under which their distance is negative.

    Karmaker & Feng, Joint upper and lower bound normalization for IR evaluation, 2022, equation 8.

    >>> percentage_absolute_difference([0.5, 0.25])
    50.0
    """
    if denominator not in DENOMINATORS:
        raise CalipersError(f"unknown denominator '{denominator}' of PAD; expected absolute or literal")
    values = one_each(scores)
    values = values[~np.isnan(values)]
    a, b = all_pairs(len(values))
    larger = np.maximum(values[a], values[b])
    by = np.abs(larger) if denominator == "absolute" else larger
    counted = by != 0
    if not counted.any():
        return float("nan")
    return float(np.mean(100 * np.abs(values[a] - values[b])[counted] / by[counted]))


def percentage_absolute_increase(new: ScoresLike, base: ScoresLike, zero: str = "points") -> Floats:
    """Return the PAI: 100 (new - base) / |base|.

    zero: if the base is 0, `points` gives 100 (new - base), as in the tables of Feng's dissertation, and `undefined`
        gives NaN.

    >>> percentage_absolute_increase([0.25, 0.03], [0.2, 0.0]).round(9).tolist()
    [25.0, 3.0]
    """
    if zero not in ("points", "undefined"):
        raise CalipersError(f"unknown rule '{zero}' for a base of 0; expected points or undefined")
    after, before = paired_values(new, base)
    by = np.where(before == 0, 1.0 if zero == "points" else np.nan, np.abs(before))
    return np.asarray(100 * (after - before) / by)
