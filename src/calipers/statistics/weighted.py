"""Tests of mean differences in which queries have weights, for example the number of times they were searched.

With weights w, differences d over n queries and W = sum(w), the mean and its standard error are

    m = sum(w d) / W,   e^2 = n / (n - 1) * sum(w^2 (d - m)^2) / W^2

which is the ratio estimator and its linearised variance (Cochran, Sampling Techniques, 1977, chapter 6). Equal weights
give the plain mean and its standard error. Queries are resampled together with their weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.statistics.differences import ROUNDING, differences_of, ratio
from calipers.statistics.significance import (
    SAMPLES_AT_ONCE,
    USUAL,
    Outcome,
    Settings,
    achieved,
    pairs_by_queries,
    randomization,
    resamples_of,
)


def weighted_bootstrap(values: Floats, a: Ints, b: Ints, settings: Settings = USUAL, *, weights: Floats) -> Outcome:
    """Perform Sakai's paired bootstrap test for the weighted mean difference, studentised.

        t = m / e;  resample n of the pairs (d - m, w):  t* = m* / e*;  p = (b + 1) / (B + 1),  b: |t*| >= |t|

    The interval m -+ c e holds 0 exactly if p >= 1 - level.

    >>> x, first, second = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]]), np.array([0]), np.array([1])
    >>> found = weighted_bootstrap(x, first, second, Settings(samples="all"), weights=np.array([3.0, 1, 1, 1]))
    >>> round(float(found.difference[0]), 6)     # (3 * 0.1 - 0.05 + 0.3 + 0.2) / 6
    0.125
    """
    parts = []
    for differences in differences_of(values, a, b):
        mean, error, deviation, width, p = (np.full(len(differences.n), np.nan) for _ in range(5))
        for rows, queries in pairs_by_queries(differences):
            size = len(queries)
            if not size:
                continue
            w = weights[queries] / weights[queries].max()
            d = differences.value[np.ix_(rows, queries)]
            mean[rows] = d @ w / w.sum()
            if size < 2:
                continue
            centred = d - mean[rows][:, None]
            centred[np.abs(centred).max(axis=1) < ROUNDING * differences.size[rows]] = 0.0
            deviation[rows] = np.sqrt(np.square(centred) @ w / w.sum() * size / (size - 1))
            error[rows] = np.sqrt(np.square(centred) @ np.square(w) * size / (size - 1)) / w.sum()
            counts, chances = resamples_of(size, settings)
            step = max(1, 4 * SAMPLES_AT_ONCE // len(counts))
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                squared = _squared_students(counts, centred[start : start + step], w)
                p[part], reached = achieved(squared, chances, ratio(mean[part], error[part]), 1 - settings.level)
                width[part] = np.where(np.isnan(p[part]), np.nan, reached * error[part])
        parts.append((mean, mean - width, mean + width, p, ratio(mean, deviation), differences.n))
    difference, low, high, p, effect, n = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Outcome(difference, low, high, p, effect, n)


def _squared_students(counts: Floats, centred: Floats, weights: Floats) -> Floats:
    """Return t*^2 of each resample and pair. It is infinite for equal differences other than 0, and 0 for all zeros."""
    n = len(weights)
    scale = np.abs(centred).max(axis=1, initial=0.0)
    scaled = centred / np.where(scale > 0, scale, 1.0)[:, None]
    scaled[np.abs(scaled) < 1e-12] = 0.0
    squares = np.square(weights)
    mean = counts @ (weights * scaled).T / (counts @ weights)[:, None]
    power = counts @ (squares * np.square(scaled)).T
    spread = power - 2 * mean * (counts @ (squares * scaled).T) + np.square(mean) * (counts @ squares)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.square(mean * (counts @ weights)[:, None]) * (n - 1) / (n * spread)
    constant = spread <= 1e-12 * power
    found[constant] = np.where(np.abs(mean[constant]) > 1e-12, np.inf, 0.0)
    return np.asarray(found)


def weighted_randomization(values: Floats, a: Ints, b: Ints, settings: Settings = USUAL, *, weights: Floats) -> Outcome:
    """Perform Fisher's randomisation test for the weighted mean difference, with random signs of the terms w d.

    The interval is that of the bootstrap.
    """
    p = randomization(values * (weights / weights.max()), a, b, settings).p
    drawn = replace(settings, samples=USUAL.samples) if settings.samples == "all" else settings
    found = weighted_bootstrap(values, a, b, drawn, weights=weights)
    return Outcome(found.difference, found.low, found.high, p, found.effect, found.n)


WEIGHTED_TESTS: dict[str, Callable[..., Outcome]] = {
    "bootstrap": weighted_bootstrap,
    "randomization": weighted_randomization,
}


def check_weighted(test: str) -> None:
    """Refuse a test that cannot take weights.

    >>> check_weighted("t")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: the test 't' treats all queries alike and takes no weights; use bootstrap or ...
    """
    if test not in WEIGHTED_TESTS:
        raise CalipersError(
            f"the test '{test}' treats all queries alike and takes no weights; use {' or '.join(WEIGHTED_TESTS)}"
        )
