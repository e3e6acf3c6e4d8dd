"""Confidence intervals of mean scores that stay inside the range of the measure.

    t      mean -+ t_{n-1} error                                     may leave the range if many scores are at its end
    logit  Student's interval on the scale of log(u / (1 - u)), u = (mean - lowest) / (highest - lowest), and back:
           logit(u) -+ t_{n-1} error / ((highest - lowest) u (1 - u))
    bca    quantiles of the means of resampled queries, corrected for bias and acceleration; never beyond the scores

`auto` is t, or logit if t would leave the range. If all scores are equal, there is no interval: equal scores say
nothing about the spread of scores, and an interval of width 0 would claim certainty.

Efron, Better bootstrap confidence intervals, Journal of the American Statistical Association 1987.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np

from calipers.collection.query_facts import QueryWeights
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.measures.forms.texts import NormalisedTextForm, TextForm
from calipers.measures.registry import Measure
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.scores import Scores, all_equal, order_of
from calipers.results.tables import Table
from calipers.statistics.score_arrays import times_drawn
from calipers.statistics.significance import SEED, Settings
from calipers.statistics.weighted import weighted_bootstrap
from calipers.support.checks import check_choice, check_level, check_seed, check_whole
from calipers.support.choices import IntervalMethod

METHODS = get_args(IntervalMethod)
NAMED = 5  # systems that a note names
SAMPLES = 2_000
SAMPLES_AT_ONCE = 500
ROUNDED = 1e-9  # scores so far beyond the end of a range are inside it apart from rounding
Range = tuple[float, float]
Ends = tuple[float | None, float | None]  # the lowest and the highest possible score; None if it is unknown

# Measures with scores from 0 to 1: for all parameters (_SHARES), or with their default gains (_SHARES_OF_ONE).
_SHARES = frozenset(
    (
        "U",
        "W",
        "V1",
        "nDCG",
        "SN-DCG",
        "P",
        "Recall",
        "RPrec",
        "Success",
        "AP",
        "SN-AP",
        "GAP",
        "Judged",
        "bpref",
        "SetP",
        "SetR",
        "SetF",
        "RR",
        "ERR",
        "RBP-residual",
        "Compat",
        "Accuracy",
        "IPrec",
        "11pt_avg",
        "relative_P",
        "infAP",
        "SetAP",
        "SetRelP",
        "unj",
        "ERR-IA",
        "nERR-IA",
        "alpha-nDCG",
        "nNRBP",
        "P-IA",
        "AP-IA",
        "StRecall",
        "D-nDCG",
        "D#-nDCG",
    )
)
_SHARES_OF_ONE = frozenset(("RBP", "INSQ", "SDCG", "INST", "HIT"))
_SIGNED = frozenset(("V2", "V2s"))


def range_of(measure: Measure) -> Range | None:
    """Return the lowest and the highest score of any ranking or text, or None if they depend on the judgments.

    >>> import calipers as cal
    >>> range_of(cal.parse("V2(AP)")), range_of(cal.parse("nDCG@10")), range_of(cal.parse("DCG@10"))
    ((-1.0, 1.0), (0.0, 1.0), None)
    """
    declared = measure.declaration
    if isinstance(measure.form, TextForm | NormalisedTextForm):
        low, high = measure.form.range
        return None if low is None or high is None else (low, high)
    if declared.name in _SIGNED:
        return -1.0, 1.0
    if declared.name in _SHARES:
        return 0.0, 1.0
    plain = all(measure.parameters.get(name) == declared.defaults.get(name) for name in ("gain", "gains"))
    return (0.0, 1.0) if declared.name in _SHARES_OF_ONE and plain else None


def ends_of(measure: Measure | str) -> Ends:
    """Return the lowest and the highest score of any ranking or text, each None if it is unknown.

    Of a measure without a known range, the lowest score is 0 if it is a measure of Calipers that is never negative.

    >>> ends_of("nDCG@10"), ends_of("DCG@10"), ends_of("Z(AP)"), ends_of("likes"), ends_of("TER")
    ((0.0, 1.0), (0.0, None), (None, None), (None, None), (0.0, None))
    """
    from calipers.measures.grammar import parse

    try:
        measure = parse(measure) if isinstance(measure, str) else measure
    except CalipersError:
        return None, None
    if isinstance(measure.form, TextForm | NormalisedTextForm):
        return measure.form.range
    declared = measure.declaration
    negative = measure.parameters.get("of", measure).form.traits.can_be_negative
    if (known := range_of(measure)) is not None:
        return (None, 1.0) if negative and declared.name == "U" else known
    negative = negative or declared.name == "Z"
    built_in = str(declared.function.__module__).startswith("calipers.measures.")
    return (0.0 if built_in and not negative else None), None


def ends_around(ends: Ends, values: Floats) -> Ends:
    """Return the ends of a range, or two unknown ones if a score lies beyond them by more than rounding."""
    low, high = ends
    defined = values[~np.isnan(values)]
    below = low is not None and (defined < low - ROUNDED).any()
    above = high is not None and (defined > high + ROUNDED).any()
    return (None, None) if below or above else ends


def mean_intervals(
    scores: ScoresLike,
    *,
    level: float = 0.95,
    method: IntervalMethod = "auto",
    query_weights: QueryWeights | None = None,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> tuple[Table, Table]:
    """Return two tables, with the lower and the upper end of a confidence interval for each mean.

    Fewer than two scores have no interval (NaN), and neither have scores that are all equal. Notes of the tables name
    the systems with equal scores. If the range of a measure is unknown (DCG, counts, a name that is not a measure's),
    the interval is Student's, or with `bca` the bootstrap's; if `logit` was asked for, a note says so.

    method: `auto`, `t`, `logit` or `bca`; see the top of this module.
    query_weights: {query: weight} or a file, for weighted means. The method must then be `auto`, and the interval is
        that of the studentised bootstrap, which draws queries together with their weights.
    samples, seed: number of bootstrap samples, and seed of the random numbers.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.0, 0.0, 0.0, 0.1]], systems=["weak"], measure="AP")
    >>> [round(end["weak", "AP"], 4) for end in mean_intervals(scores, method="t")]
    [-0.0546, 0.1046]
    >>> [round(end["weak", "AP"], 4) for end in mean_intervals(scores)]
    [0.001, 0.4014]
    """
    scores = as_scores(scores)
    level, seed, samples = check_level(level), check_seed(seed), check_whole("samples", samples)
    used = check_choice("interval", method, METHODS)
    in_order = order_of(scores.queries)  # samples are drawn from the queries in the order of their names
    if query_weights is not None:
        if used != "auto":
            raise CalipersError(f"the interval '{used}' treats all queries alike and takes no weights; use auto")
        used = "weighted bootstrap"
        weights = scores.weights(query_weights)[in_order]
        settings = Settings(level, samples, seed)
        ends = np.array([_weighted(values[:, in_order], weights, settings) for values in scores.values])
    else:
        ends = np.array(
            [
                _bca(values[:, in_order], level, samples, seed)
                if used == "bca"
                else _students(values, level, used, range_of_scores(scores, m))
                for m, values in enumerate(scores.values)
            ]
        )
    about = {**scores.metadata, "interval": used}
    rows = [tuple((s, *ends[:, end, i].tolist()) for i, s in enumerate(scores.systems)) for end in (0, 1)]
    notes = _constant(scores)
    if used == "logit" and (unknown := [n for m, n in enumerate(scores.measures) if not range_of_scores(scores, m)]):
        named = ", ".join(unknown)
        notes += (f"{named}: Student's intervals instead of logit, because the range of the scores is unknown",)
    low, high = (Table(("system", *scores.measures), each, about, notes=notes) for each in rows)
    return low, high


def _constant(scores: Scores) -> tuple[str, ...]:
    """Return a note for each measure under which all scores of some systems are equal."""
    notes = []
    for measure, values in zip(scores.measures, scores.values, strict=True):
        rows = [row[~np.isnan(row)] for row in values]
        names = [name for name, row in zip(scores.systems, rows, strict=True) if len(row) > 1 and all_equal(row)]
        if names:
            shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
            notes.append(f"{measure}: no confidence interval for {shown}, because all of the scores are equal")
    return tuple(notes)


def range_of_scores(scores: Scores, m: int) -> Range | None:
    """Return the range of the m-th measure, or None if it is unknown or if a score is outside."""
    from calipers.measures.grammar import parse

    defined = scores.values[m][~np.isnan(scores.values[m])]
    low, high = scores.metadata.get("ends", {}).get(scores.measures[m], (None, None))
    try:
        of_rankings = range_of(scores.definitions[m] if scores.definitions else parse(scores.measures[m]))
    except CalipersError:
        of_rankings = None
    known = of_rankings if low is None or high is None else (low, high)
    inside = known is not None and (defined >= known[0]).all() and (defined <= known[1]).all()
    return known if inside else None


def _students(values: Floats, level: float, method: str, known: Range | None) -> Floats:
    shared = ~np.isnan(values)
    n = shared.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(shared, values, 0.0).sum(axis=1) / n
        error = np.sqrt(np.square(np.where(shared, values - mean[:, None], 0.0)).sum(axis=1) / (n - 1) / n)
    error[[bool(n) and all_equal(row[defined]) for row, defined, n in zip(values, shared, n, strict=True)]] = 0.0
    return ends_of_means(mean, error, n, level, method, known)


def ends_of_means(mean: Floats, error: Floats, n: Ints, level: float, method: str, known: Range | None) -> Floats:
    """Return [low or high, system], from means over n queries and their standard errors; NaN where an error is 0."""
    from scipy.special import expit, logit, stdtrit

    with np.errstate(divide="ignore", invalid="ignore"):
        width = stdtrit(np.maximum(n - 1, 1), (1 + level) / 2) * error
        plain = np.array([mean - width, mean + width])
        enough = (n > 1) & (error > 0)
        if known is None or method == "t":
            return np.where(enough, plain, np.nan)
        lowest, highest = known
        share = np.clip((mean - lowest) / (highest - lowest), 0.0, 1.0)
        reach = width / ((highest - lowest) * share * (1 - share))
        ends = lowest + (highest - lowest) * expit(np.array([logit(share) - reach, logit(share) + reach]))
    inside = (plain[0] >= lowest) & (plain[1] <= highest) & (method == "auto")
    return np.where(enough, np.where(inside, plain, ends), np.nan)


def _weighted(values: Floats, weights: Floats, settings: Settings) -> Floats:
    """Return the interval of each weighted mean, as that of its difference from 0. NaN where all scores are equal."""
    systems = len(values)
    with_zeros = np.vstack([values, np.zeros_like(values[:1])])
    found = weighted_bootstrap(with_zeros, np.arange(systems), np.full(systems, systems), settings, weights=weights)
    ends = np.array([found.low, found.high])
    return np.where(ends[0] < ends[1], ends, np.nan)


def _bca(values: Floats, level: float, samples: int, seed: int) -> Floats:
    from scipy.special import ndtr, ndtri

    ends = np.full((2, len(values)), np.nan)
    for systems, queries in _groups(~np.isnan(values)):
        n = len(queries)
        if n < 2:
            continue
        random = np.random.default_rng(seed)
        systems = systems[[not all_equal(row) for row in values[np.ix_(systems, queries)]]]
        chosen = values[np.ix_(systems, queries)]
        drawn = np.concatenate(
            [
                times_drawn(random.integers(0, n, (min(SAMPLES_AT_ONCE, samples - start), n)), n) @ chosen.T / n
                for start in range(0, samples, SAMPLES_AT_ONCE)
            ]
        )
        mean = chosen.mean(axis=1)
        near = np.abs(drawn - mean) <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
        below = ((drawn < mean) & ~near).mean(axis=0) + near.mean(axis=0) / 2
        bias = ndtri(np.clip(below, 0.5 / samples, 1 - 0.5 / samples))
        centred = chosen - mean[:, None]
        squares = np.square(centred).sum(axis=1)
        skew = (centred**3).sum(axis=1) / np.where(squares > 0, 6 * squares**1.5, 1.0)  # of the jackknife's means
        drawn.sort(axis=0)
        for end, z in enumerate((ndtri((1 - level) / 2), ndtri((1 + level) / 2))):
            share = ndtr(bias + (bias + z) / (1 - skew * (bias + z)))
            place = np.clip(share * (samples - 1), 0, samples - 1)
            under = np.floor(place).astype(int)
            at = np.arange(len(systems))
            part = place - under
            ends[end, systems] = (1 - part) * drawn[under, at] + part * drawn[np.minimum(under + 1, samples - 1), at]
    return ends


def _groups(defined: np.ndarray) -> Iterator[tuple[Ints, Ints]]:
    """Yield the systems that are defined for the same queries, together with these queries."""
    _, group = np.unique(np.packbits(defined, axis=1), axis=0, return_inverse=True)
    for each in range(int(group.max(initial=-1)) + 1):
        systems = np.flatnonzero(group.ravel() == each)
        yield systems, np.flatnonzero(defined[systems[0]])
