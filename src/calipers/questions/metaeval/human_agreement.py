"""Correlation of measures with human judgments, at three levels.

    system    mean over documents of each system's scores, then the correlation over systems
    summary   the correlation over systems for each document, then the mean over documents
    pooled    the correlation over all summaries of all documents

Coefficients: Kendall's tau-b, Spearman's rho, Pearson's r. Intervals: percentiles over resampled documents. A
normalised measure also gets its increase over the measure that was normalised (PAI, percentage absolute increase).

All three coefficients of resampled documents come from sums over documents, which are computed once: with s the sign of
each difference, tau-b is sum s_x s_y / sqrt(sum s_x^2 sum s_y^2), and rho is the linear correlation of sums of s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.measures.random_rankings import SEED
from calipers.questions.metaeval.consistency import percentage_absolute_increase
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores, order_of
from calipers.results.tables import Cell, Table
from calipers.support.plurals import counted

LEVELS = ("system", "summary", "pooled")
COEFFICIENTS = ("tau-b", "spearman", "pearson")
SAMPLES = 1000
CELLS_AT_ONCE = 4_000_000  # pairs of texts that are compared at once
DIGITS = 12  # decimals of means, so that the order of summation does not matter


@dataclass(frozen=True)
class Agreement:
    """One correlation of a measure with a human judgment."""

    measure: str
    aspect: str
    level: str
    coefficient: str
    value: float
    low: float
    high: float
    units: int  # number of systems, documents or texts
    increase: float  # PAI over the measure that was normalised; NaN for a plain measure


@dataclass(frozen=True, eq=False, repr=False)
class HumanCorrelation(Result):
    """Correlations of all measures with people, and the settings of the bootstrap."""

    found: tuple[Agreement, ...]
    documents: int
    systems: int
    samples: int
    seed: int
    about: tuple[str, ...] = ()  # notes, for example about missing human scores
    unit: str = "document"  # or query

    @property
    def title(self) -> str:
        drawn = f", intervals from {counted(self.samples, 'resample')}" if self.samples else ""
        over = f"{counted(self.systems, 'system')} and {counted(self.documents, self.unit)}"
        return f"agreement with people over {over}{drawn}"

    @property
    def summary(self) -> str:
        defined = [each for each in self.found if not np.isnan(each.value)]
        if not defined:
            return "No correlation with people is defined."
        level, coefficient = defined[0].level, defined[0].coefficient
        best = max((e for e in defined if (e.level, e.coefficient) == (level, coefficient)), key=lambda e: e.value)
        ends = "" if np.isnan(best.low) else f" [{best.low:.3f}, {best.high:.3f}]"
        return (
            f"{best.measure} has the highest {coefficient} with people at the level {level}: {best.value:.3f}{ends}, "
            f"for {best.aspect}."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        return self.about

    def tables(self) -> Mapping[str, Table]:
        return Tables({"correlations": self._correlations})

    def value(self, measure: str, aspect: str, level: str = "system", coefficient: str = "tau-b") -> float:
        for each in self.found:
            if (each.measure, each.aspect, each.level, each.coefficient) == (measure, aspect, level, coefficient):
                return each.value
        raise CalipersError(f"no {coefficient} of {measure} with {aspect} at the level {level}")

    def _correlations(self) -> Table:
        """Return a table with one row per correlation."""
        rows: list[tuple[Cell, ...]] = [
            (f.measure, f.aspect, f.level, f.coefficient, f.value, f.low, f.high, f.units, f.increase)
            for f in self.found
        ]
        columns = ("measure", "human", "level", "coefficient", "value", "low", "high", "n", "PAI")
        return Table(columns, tuple(rows))

    def matrix(self, level: str, coefficient: str) -> Table:
        """Return a table of measures x aspects for one level and coefficient."""
        chosen = [f for f in self.found if (f.level, f.coefficient) == (level, coefficient)]
        aspects = list(dict.fromkeys(f.aspect for f in chosen))
        by_cell = {(f.measure, f.aspect): f.value for f in chosen}
        measures = dict.fromkeys(f.measure for f in chosen)
        rows: list[tuple[Cell, ...]] = [(m, *(by_cell[m, a] for a in aspects)) for m in measures]
        return Table(("measure", *aspects), tuple(rows))


def drawn_documents(random: np.random.Generator, documents: int, samples: int) -> Floats:
    """Draw bootstrap samples of documents. Returns how often each document is drawn: [sample, document].

    >>> drawn_documents(np.random.default_rng(1), documents=4, samples=2).sum(axis=1).tolist()
    [4.0, 4.0]
    """
    return random.multinomial(documents, np.full(documents, 1 / documents), size=samples).astype(np.float64)


def by_name(scores: Scores, human: Mapping[str, Floats]) -> tuple[Scores, dict[str, Floats]]:
    """Return scores and human judgments with systems and documents in the order of names, over which draws are made."""
    for judged in human.values():
        _check_shape(scores.values[0], judged)
    cells = np.ix_(order_of(scores.systems), order_of(scores.queries))
    return scores.by_name(), {aspect: judged[cells] for aspect, judged in human.items()}


def interval(values: Floats, confidence: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval of resampled values, or NaN if none is defined.

    >>> interval(np.array([0.0, 1.0, 2.0, np.nan]), 0.5)
    (0.5, 1.5)
    """
    known = values[~np.isnan(values)]
    ends = 100 * np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    low, high = np.percentile(known, ends) if len(known) else (np.nan, np.nan)
    return float(low), float(high)


def human_correlation(
    scores: Scores,
    human: Mapping[str, Floats],
    levels: Sequence[str] = LEVELS,
    coefficients: Sequence[str] = COEFFICIENTS,
    *,
    bases: Mapping[str, str] | None = None,
    samples: int = SAMPLES,
    confidence: float = 0.95,
    seed: int = SEED,
    notes: Sequence[str] = (),
) -> HumanCorrelation:
    """Correlate each measure with each aspect of human judgment ([system, document] each).

    bases: for a normalised measure, the name of the measure that its increase (PAI) refers to. notes: what to say about
    the data, for example missing human scores.

    >>> from calipers import as_scores
    >>> scores = as_scores([[0.1, 0.3], [0.2, 0.1], [0.4, 0.6]], measure="ROUGE-1")
    >>> human = {"relevance": np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]])}
    >>> human_correlation(scores, human, samples=0).value("ROUGE-1", "relevance", "summary")
    1.0
    """
    check_choices(levels, coefficients, confidence)
    scores, human = by_name(scores, human)
    documents = len(scores.queries)
    drawn = drawn_documents(np.random.default_rng(seed), documents, samples)
    weights = np.concatenate([np.ones((1, documents)), drawn])  # the first row is the documents as they are
    found: list[Agreement] = []
    values: dict[tuple[str, ...], float] = {}
    for name in scores.measures:
        for aspect, judged in human.items():
            x, y = both_defined(scores[name], judged)
            for level in levels:
                for coefficient in coefficients:
                    every, units = _LEVELS[level](x, y, weights, coefficient)
                    value, (low, high) = float(every[0]), interval(every[1:], confidence)
                    values[name, aspect, level, coefficient] = value
                    base = values.get(((bases or {}).get(name, ""), aspect, level, coefficient), np.nan)
                    increase = float(percentage_absolute_increase(value, base))
                    found.append(Agreement(name, aspect, level, coefficient, value, low, high, units, increase))
    return HumanCorrelation(tuple(found), documents, len(scores.systems), samples, seed, tuple(notes), scores.unit)


def check_choices(levels: Sequence[str], coefficients: Sequence[str], confidence: float) -> None:
    """Refuse unknown levels, coefficients and confidences."""
    for what, given, known in (("level", levels, LEVELS), ("coefficient", coefficients, COEFFICIENTS)):
        if not given:
            raise CalipersError(f"no {what} is named; there are {', '.join(known)}")
        for each in given:
            if each not in known:
                raise CalipersError(f"unknown {what} '{each}'; there are {', '.join(known)}")
    if not 0 < confidence < 1:
        raise CalipersError(f"confidence level {confidence} is not between 0 and 1")


def _check_shape(scores: Floats, human: Floats) -> None:
    """Refuse human scores of other systems or documents than the scores."""
    if scores.shape != human.shape:
        raise CalipersError(f"the scores are {scores.shape}, the human scores {human.shape} of systems and documents")


def both_defined(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return both arrays with NaN wherever either is undefined: [system, document].

    >>> both_defined(np.array([[1.0, np.nan]]), np.array([[2.0, 3.0]]))[1].tolist()
    [[2.0, nan]]
    """
    _check_shape(x, y)
    present = ~(np.isnan(x) | np.isnan(y))
    return np.where(present, x, np.nan), np.where(present, y, np.nan)


# -- levels: every row of weights gives a value -------------------------------------------------------------


def _system_level(x: Floats, y: Floats, weights: Floats, coefficient: str) -> tuple[Floats, int]:
    present = (~np.isnan(x)).astype(np.float64)
    total = weights @ present.T
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [np.round(weights @ np.nan_to_num(each).T / total, DIGITS) for each in (x, y)]
    return by_row(means[0], means[1], coefficient), int(present.any(axis=1).sum())


def _summary_level(x: Floats, y: Floats, weights: Floats, coefficient: str) -> tuple[Floats, int]:
    of_document = by_row(x.T, y.T, coefficient)
    present = (~np.isnan(of_document)).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(weights @ np.nan_to_num(of_document) / (weights @ present)), int(present.sum())


def _pooled_level(x: Floats, y: Floats, weights: Floats, coefficient: str) -> tuple[Floats, int]:
    """Correlate over all summaries. A summary counts as often as its document is drawn."""
    documents, systems = np.nonzero(~np.isnan(x.T))
    values = x[systems, documents], y[systems, documents]
    if coefficient == "pearson":
        return _weighted_correlation(*values, weights[:, documents]), len(systems)
    # Sums over the summaries of each document: a document that is drawn twice adds them twice.
    present, starts = np.unique(documents, return_index=True)
    drawn = weights[:, present]
    if coefficient == "spearman":
        ranks = [np.concatenate([signs for _, signs in _signs(each, starts)]) @ drawn.T for each in values]
        return _weighted_correlation(ranks[0].T, ranks[1].T, weights[:, documents]), len(systems)
    alike, x_differs, y_differs = (((drawn @ form) * drawn).sum(axis=1) for form in _sign_products(*values, starts))
    return _divided(alike, np.sqrt(x_differs * y_differs)), len(systems)


_LEVELS: dict[str, Callable[[Floats, Floats, Floats, str], tuple[Floats, int]]] = {
    "system": _system_level,
    "summary": _summary_level,
    "pooled": _pooled_level,
}


def correlations_under(x: Floats, y: Floats, weights: Floats, level: str, coefficient: str) -> Floats:
    """Return one correlation per row of `weights`, which says how often each document counts.

    >>> x, y = np.array([[0.1, 0.4], [0.2, 0.1]]), np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> correlations_under(x, y, np.array([[1.0, 0.0], [0.0, 1.0]]), "system", "tau-b").tolist()
    [1.0, 1.0]
    """
    return _LEVELS[level](x, y, weights, coefficient)[0]


# -- coefficients ------------------------------------------------------------------------------------------


def by_row(x: Floats, y: Floats, coefficient: str) -> Floats:
    """Correlate each row of x with the same row of y. Cells with NaN in either are left out."""
    present = ~(np.isnan(x) | np.isnan(y))
    if coefficient != "pearson":
        signs = [_differences(each, present) for each in (x, y)]
        if coefficient == "tau-b":
            alike = (signs[0] * signs[1]).sum(axis=(1, 2))
            return _divided(alike, np.sqrt(np.abs(signs[0]).sum(axis=(1, 2)) * np.abs(signs[1]).sum(axis=(1, 2))))
        x, y = (each.sum(axis=2) for each in signs)
    return _weighted_correlation(np.where(present, x, 0.0), np.where(present, y, 0.0), present.astype(np.float64))


def _differences(values: Floats, present: np.ndarray) -> Floats:
    """Return the sign of each difference within a row, 0 if one of the two values is missing."""
    filled = np.where(present, values, 0.0)
    signs = np.sign(filled[:, :, None] - filled[:, None, :])
    return np.asarray(signs * (present[:, :, None] & present[:, None, :]))


def _weighted_correlation(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Pearson's r along the last axis, with weights."""
    with np.errstate(divide="ignore", invalid="ignore"):
        total = weights.sum(axis=-1, keepdims=True)
        centred = [each - (weights * each).sum(axis=-1, keepdims=True) / total for each in (x, y)]
        own = [(weights * each * each).sum(axis=-1) for each in centred]
    scale = [(weights * each * each).sum(axis=-1) for each in (x, y)]
    own = [np.where(spread <= 1e-24 * size, 0.0, spread) for spread, size in zip(own, scale, strict=True)]  # constant
    return _divided((weights * centred[0] * centred[1]).sum(axis=-1), np.sqrt(own[0] * own[1]))


def _blocks(starts: Ints, rows: int) -> Iterator[tuple[slice, slice]]:
    """Yield blocks of documents and the summaries of each block."""
    ends = np.append(starts[1:], rows)
    first = 0
    while first < len(starts):
        rows_at_once = CELLS_AT_ONCE // max(rows, 1)
        last = max(first + 1, int(np.searchsorted(ends, starts[first] + rows_at_once, side="right")))
        yield slice(first, last), slice(int(starts[first]), int(ends[last - 1]))
        first = last


def _signs(values: Floats, starts: Ints) -> Iterator[tuple[slice, Floats]]:
    """Return, per summary and document, how many of the document's summaries it is above minus below."""
    for documents, rows in _blocks(starts, len(values)):
        yield documents, np.add.reduceat(np.sign(values[rows, None] - values), starts, axis=1)


def _sign_products(x: Floats, y: Floats, starts: Ints) -> tuple[Floats, Floats, Floats]:
    """Return, per pair of documents, concordant minus discordant pairs, pairs untied in x, and pairs untied in y."""
    found: tuple[list[Floats], list[Floats], list[Floats]] = [], [], []
    for documents, rows in _blocks(starts, len(x)):
        signs = np.sign(x[rows, None] - x), np.sign(y[rows, None] - y)
        for part, product in zip(found, (signs[0] * signs[1], np.abs(signs[0]), np.abs(signs[1])), strict=True):
            by_document = np.add.reduceat(product, starts, axis=1)
            part.append(np.add.reduceat(by_document, starts[documents] - rows.start, axis=0))
    alike, x_differs, y_differs = (np.concatenate(part) for part in found)
    return alike, x_differs, y_differs


def _divided(above: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0))
