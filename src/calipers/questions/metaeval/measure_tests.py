"""Tests of whether one measure agrees better with people than another.

Williams' test is for two correlations (Pearson's) that share a variable, with n independent units:

    t = (r12 - r13) sqrt((n - 1) (1 + r23)) / sqrt(2 K (n - 1) / (n - 3) + (r12 + r13)^2 / 4 (1 - r23)^3)
    K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23,      n - 3 degrees of freedom

where 1 stands for people, 2 and 3 for the measures. A permutation test makes no such assumption and works for any
correlation. Both measures are standardised, and their scores are exchanged at random (text by text, system by system,
or document by document). The p value is the share of exchanges after which the difference in agreement is at least as
large as the observed one.

Williams, The comparison of regression variables, JRSS B 1959. Graham & Baldwin, Testing for significance of increased
correlation with human judgment, EMNLP 2014. Deutsch, Dror & Roth, A statistical analysis of summarization evaluation
metrics using resampling methods, TACL 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.random_rankings import SEED
from calipers.questions.metaeval.human_agreement import (
    CELLS_AT_ONCE,
    COEFFICIENTS,
    DIGITS,
    LEVELS,
    both_defined,
    by_name,
    by_row,
)
from calipers.results.scores import Scores
from calipers.results.tables import Cell, PValue, Table
from calipers.statistics.correction import holm
from calipers.statistics.differences import all_pairs
from calipers.support.plurals import counted

EXCHANGES = ("summaries", "systems", "documents")
SAMPLES = 1000
NOISE = 1e-9
BELIEVE = {
    "system": "Believe p: a permutation test assumes nothing about the distribution of scores, while Williams' test "
    "assumes normally distributed means of systems, of which there are few.",
    "pooled": "Believe p: Williams' test takes all texts for independent, which those about one document are not, so "
    "that its p values are too small.",
}


@dataclass(frozen=True)
class MeasureTest:
    """The difference in agreement of two measures with people, and its p value (of both sides)."""

    difference: float
    p: float
    statistic: float = np.nan  # Williams' t
    exact: bool = True  # False if p comes from samples


def williams(r12: float, r13: float, r23: float, n: int) -> MeasureTest:
    """Test r12 = r13 by Williams' test.

    >>> found = williams(0.4, 0.5, 0.1, 103)
    >>> round(found.statistic, 2), round(found.p, 2)
    (-0.89, 0.37)
    """
    from scipy import stats

    if n < 4 or np.isnan([r12, r13, r23]).any():
        return MeasureTest(r12 - r13, np.nan)
    if abs(r12 - r13) < NOISE:
        return MeasureTest(r12 - r13, 1.0, 0.0)
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    below = np.sqrt(2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3)
    if not below > 0:
        return MeasureTest(r12 - r13, np.nan)
    t = float((r12 - r13) * np.sqrt((n - 1) * (1 + r23)) / below)
    return MeasureTest(r12 - r13, float(2 * stats.t.sf(abs(t), n - 3)), t)


def williams_test(one: Floats, other: Floats, human: Floats, level: str = "system") -> MeasureTest:
    """Compare two measures by Williams' test at the system level or over all summaries (pooled).

    Texts about one document, or by one system, are not independent, so that pooled p values are too small.

    >>> human = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> one, other = human + [[0.0], [0.1], [0.0], [-0.1], [0.0]], human[::-1] ** 2
    >>> williams_test(one, other, human).p < 0.05
    True
    """
    x, y, people = _three(one, other, human)
    if level not in ("system", "pooled"):
        raise CalipersError(f"Williams' test is for the levels system and pooled, not {level}")
    columns = [system_means(each) if level == "system" else each.ravel() for each in (x, y, people)]
    present = ~np.isnan(columns[0])
    rows = np.array([each[present] for each in columns])
    if rows.shape[1] < 4:
        return MeasureTest(np.nan, np.nan)
    r12, r13, r23 = by_row(rows[[2, 2, 0]], rows[[0, 1, 1]], "pearson").tolist()
    return williams(r12, r13, r23, rows.shape[1])


def permutation_test(
    one: Floats,
    other: Floats,
    human: Floats,
    level: str = "system",
    agreement: str = "pearson",
    *,
    exchange: str = "summaries",
    samples: int = SAMPLES,
    seed: int = SEED,
) -> MeasureTest:
    """Compare two measures by a permutation test ([system, document] each, higher is better).

    agreement: tau-b, spearman or pearson.
    All exchanges are tried if there are at most `samples`. Otherwise the observed scores count as one of them.

    >>> human = np.arange(8.0).reshape(4, 2)
    >>> permutation_test(human, human[::-1], human, exchange="systems").p
    0.125
    """
    check_agreement(level, agreement)
    if exchange not in EXCHANGES:
        raise CalipersError(f"unknown exchange '{exchange}'; there are {', '.join(EXCHANGES)}")
    x, y, people = _three(one, other, human)
    x, y = _standard(x), _standard(y)
    present = ~np.isnan(x)
    units = {"summaries": int(present.sum()), "systems": len(x), "documents": x.shape[1]}[exchange]
    signs = sign_flips(units, samples, seed)
    exact = units < 30 and len(signs) == 2**units
    observed = float(_difference(x[None], y[None], people, level, agreement)[0])
    if np.isnan(observed):
        return MeasureTest(observed, np.nan)
    count = 0
    step = max(1, CELLS_AT_ONCE // max(x.size * len(x), 1))
    for start in range(0, len(signs), step):
        given = signs[start : start + step] < 0
        swapped = np.zeros((len(given), *x.shape), dtype=bool)
        if exchange == "summaries":
            swapped[:, present] = given
        else:
            swapped[:] = given[:, :, None] if exchange == "systems" else given[:, None, :]
        found = _difference(np.where(swapped, y, x), np.where(swapped, x, y), people, level, agreement)
        count += int((np.abs(found) >= abs(observed) - NOISE).sum())
    return MeasureTest(observed, count / len(signs) if exact else (count + 1) / (len(signs) + 1), exact=exact)


def table_of_tests(
    scores: Scores,
    human: Mapping[str, Floats],
    level: str,
    agreement: str,
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
    alpha: float = 0.05,
) -> Table:
    """Test for each aspect and pair of measures whether one agrees better with people.

    `p` is that of the permutation test of `agreement`, `p_adjusted` corrected by Holm for all pairs of measures of all
    aspects; `p_williams` is of Pearson's r, at the levels that Williams' test is for. The notes say which of two tests
    to believe if they disagree.
    """
    scores, human = by_name(scores, human)
    if len(scores.measures) < 2:
        raise CalipersError(f"there is only one measure ({scores.measures[0]}): nothing to compare it with")
    a, b = all_pairs(len(scores.measures))
    pairs = [(aspect, one, other) for aspect in human for one, other in zip(a.tolist(), b.tolist(), strict=True)]
    found, known = [], []
    for aspect, one, other in pairs:
        given = scores.values[one], scores.values[other], human[aspect]
        found.append(permutation_test(*given, level, agreement, samples=samples, seed=seed))
        known.append(MeasureTest(np.nan, np.nan) if level == "summary" else williams_test(*given, level))
    adjusted = holm(np.array([each.p for each in found]))
    rows: list[tuple[Cell, ...]] = [
        (
            aspect,
            scores.measures[one],
            scores.measures[other],
            test.difference,
            PValue(test.p),
            PValue(p),
            williams.statistic,
            PValue(williams.p),
        )
        for (aspect, one, other), test, williams, p in zip(pairs, found, known, adjusted.tolist(), strict=True)
    ]
    marks = {(place, 3): "*" for place in np.flatnonzero(adjusted < alpha).tolist()}
    notes = [f"*: significant, adjusted p < {alpha:g}."] if marks else []
    both = [(test.p, williams.p) for test, williams in zip(found, known, strict=True)]
    if disagree := sum((p < alpha) != (q < alpha) for p, q in both if not np.isnan([p, q]).any()):
        notes.append(
            f"In {counted(disagree, 'row')} p and p_williams are on different sides of {alpha:g}. {BELIEVE[level]}"
        )
    columns = ("human", "measure_a", "measure_b", "difference", "p", "p_adjusted", "t_williams", "p_williams")
    about = {"level": level, "agreement": agreement, "samples": samples, "seed": seed, "correction": "holm"}
    return Table(columns, tuple(rows), about, marks=marks, notes=tuple(notes))


def sign_flips(units: int, samples: int, seed: int) -> Floats:
    """Return sign flips of the units, [flip, unit]: all of them if there are at most `samples`."""
    if samples < 1:
        raise CalipersError(f"samples {samples} is not a whole number of at least 1")
    if units < 30 and 2**units <= samples:
        bits = np.arange(2**units)[:, None] >> np.arange(units)
    else:
        bits = np.random.default_rng(seed).integers(0, 2, size=(samples, units))
    return np.asarray(1.0 - 2.0 * (bits & 1))


def check_agreement(level: str, agreement: str) -> None:
    """Refuse a level or an agreement that does not exist."""
    for what, given, known in (("level", level, LEVELS), ("agreement", agreement, COEFFICIENTS)):
        if given not in known:
            raise CalipersError(f"unknown {what} '{given}'; there are {', '.join(known)}")


def agreement_of(values: Floats, human: Floats, level: str, agreement: str) -> Floats:
    """Return the agreement of each measure with people. Values are [measure, system, document]."""
    if level == "system":
        means = np.array([system_means(each) for each in values])
        return by_row(means, np.broadcast_to(system_means(human), means.shape), agreement)
    if level == "summary":
        count, systems, documents = values.shape
        rows = values.transpose(0, 2, 1).reshape(-1, systems)
        people = np.broadcast_to(human.T, (count, documents, systems)).reshape(-1, systems)
        each = by_row(rows, people, agreement).reshape(count, documents)
        present = ~np.isnan(each)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(present, each, 0.0).sum(axis=1) / present.sum(axis=1))
    return np.array([_pooled(each, human, agreement) for each in values])


def system_means(values: Floats) -> Floats:
    """Return the mean of each system, NaN if it has no score."""
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.round(np.where(present, values, 0.0).sum(axis=1) / present.sum(axis=1), DIGITS))


def _pooled(values: Floats, human: Floats, coefficient: str) -> float:
    """Return one correlation over all summaries, by SciPy."""
    from scipy import stats

    present = ~np.isnan(values)
    x, y = values[present], human[present]
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return np.nan
    function = {"tau-b": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}[coefficient]
    return float(function(x, y)[0])


def _difference(x: Floats, y: Floats, human: Floats, level: str, agreement: str) -> Floats:
    return np.asarray(agreement_of(x, human, level, agreement) - agreement_of(y, human, level, agreement))


def _three(one: Floats, other: Floats, human: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the three arrays with NaN wherever one of them is undefined."""
    x, people = both_defined(one, human)
    y, people = both_defined(other, people)
    x, people = both_defined(x, people)
    return x, both_defined(y, people)[0], people


def _standard(values: Floats) -> Floats:
    """Standardise scores over all summaries, so that scores of two measures can be exchanged."""
    spread = np.nanstd(values) if (~np.isnan(values)).any() else 0.0
    return values - np.nanmean(values) if not spread > 0 else (values - np.nanmean(values)) / spread
