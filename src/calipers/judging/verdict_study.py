"""Judges of single items, such as LLM verdicts on answers: agreement with people, repaired pass rates, biases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calipers.checks import check_level, check_number, check_seed
from calipers.errors import CalipersError
from calipers.judging.agreement import DRAWS, Confusion, percentiles
from calipers.judging.judge_table import JudgeTable
from calipers.judging.score_repair import FEWEST, TRUSTED, prediction_powered
from calipers.judging.verdict_rows import VerdictRow, VerdictsLike, read_verdicts
from calipers.lists import Floats
from calipers.plurals import counted
from calipers.results.result import Result, Tables
from calipers.results.tables import Cell, Table
from calipers.stats.correlation import spearman
from calipers.stats.significance import SEED

COLUMNS = (
    "judge", "items", "labelled", "agreement", "kappa", "rho", "human", "judged", "corrected", "low", "high",
)  # fmt: skip
BIASES = ("length", "position")


@dataclass(frozen=True, eq=False, repr=False)
class VerdictStudy(Result):
    """Judges of single items, compared with people on the items that people labelled."""

    rows: tuple[tuple[Cell, ...], ...]  # one per judge
    bias: tuple[tuple[Cell, ...], ...]  # one per judge and property
    counts: tuple[tuple[Cell, ...], ...]  # one per judge and pair of labels
    passes: bool  # labels are 0 and 1
    level: float
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Number of judges."""
        return f"Verdicts of {counted(len(self.rows), 'judge')} compared with people"

    @property
    def summary(self) -> str:
        """The repaired mean of the first judge."""
        first = dict(zip(COLUMNS, self.rows[0], strict=True))
        what = "pass rate" if self.passes else "mean score"
        human = f"{first['judge']}: people's {what} on {counted(int(first['labelled'] or 0), 'item')} is "
        if first["corrected"] is None:
            return f"{human}{first['human']:.3f}, the judge's on all items {first['judged']:.3f}."
        return (
            f"{human}{first['human']:.3f}, the judge's on all {first['items']} items is {first['judged']:.3f}, and the "
            f"repaired one is {first['corrected']:.3f} ({self.level:.0%} interval {first['low']:.3f} to "
            f"{first['high']:.3f})."
        )

    def tables(self) -> Tables:
        """Return the tables by name: judges, labels, and biases if the data has lengths or positions."""
        makers = {"judges": self._judges, "labels": self._labels}
        return Tables(makers | ({"bias": self._biases} if self.bias else {}))

    def _judges(self) -> Table:
        return Table(COLUMNS, self.rows, {"level": self.level})

    def _labels(self) -> Table:
        return Table(("judge", "human_label", "judge_label", "rows"), self.counts)

    def _biases(self) -> Table:
        columns = ("judge", "by", "rows", "rho", "error_low", "error_high", "difference", "low", "high")
        return Table(columns, self.bias, {"level": self.level})


def judge_verdicts(
    data: VerdictsLike,
    *,
    threshold: float | None = None,
    columns: Mapping[str, str] | None = None,
    level: float = 0.95,
    seed: int = SEED,
) -> VerdictStudy:
    """Compare verdicts of judges with the labels of people, and repair the judges' pass rates.

    data: one row per item and judge, as a file (CSV, TSV, JSON, JSON lines), a frame or a list of dicts. Columns: item,
        label (a number, or a word such as pass, fail, yes, no), human (empty for items that people did not label), and
        if known judge, length and position. Common synonyms are found, such as `id`, `model`, `score` and `gold`.
    threshold: labels of at least this value count as 1 (pass), others as 0. Without it, numbers are used as they are.
    columns: names of columns, for example {"label": "gpt_score"}.
    level, seed: of the intervals.

    For each judge, the table has the agreement and Cohen's kappa on items that people labelled, Spearman's rho, the
    mean of people's labels, the mean of the judge's labels on all items, and that mean repaired by prediction-powered
    inference with its interval. The table `bias` says whether the judge's error depends on length or position.

    >>> human = {"a": 1, "b": 0, "c": 1, "d": 0, "e": 1}
    >>> rows = [{"item": i, "judge": "gpt", "label": 1, "human": human.get(i)} for i in "abcdefghij"]
    >>> study = judge_verdicts(rows)
    >>> study.table()["agreement"], study.table()["judged"]
    ([0.6], [1.0])
    """
    check_level(level)
    check_seed(seed)
    rows = read_verdicts(data, columns)
    if threshold is not None:
        limit = check_number("threshold", threshold)
        rows = [_as_pass(row, limit) for row in rows]
    human = _human_labels(rows)
    by_judge: dict[str, list[VerdictRow]] = {}
    for row in rows:
        by_judge.setdefault(row.judge, []).append(row)
    passes = {row.label for row in rows} | set(human.values()) <= {0.0, 1.0}
    found, bias, counts = [], [], []
    notes: list[str] = []
    for judge, mine in by_judge.items():
        both = [row for row in mine if row.item in human]
        if not both:
            raise CalipersError(f"{judge}: people labelled none of its items, so there is nothing to compare")
        found.append((judge, *_agreement(judge, both, human), *_means(judge, mine, human, passes, level, seed, notes)))
        bias += [(judge, by, *cells) for by in BIASES if (cells := _bias(both, human, by, level, seed))]
        pairs = [(human[row.item], row.label) for row in both]
        distinct = sorted(set(pairs))
        if len(distinct) <= 400:
            counts += [(judge, ours, theirs, pairs.count((ours, theirs))) for ours, theirs in distinct]
    table = tuple((row[0], *row[4:6], *row[1:4], *row[6:]) for row in found)
    return VerdictStudy(table, tuple(bias), tuple(counts), passes, level, tuple(notes))


def _as_pass(row: VerdictRow, threshold: float) -> VerdictRow:
    human = None if row.human is None else float(row.human >= threshold)
    return row.changed(label=float(row.label >= threshold), human=human)


def _human_labels(rows: list[VerdictRow]) -> dict[str, float]:
    """Return the label of people per item. A label on one row of an item holds for all its rows."""
    found: dict[str, float] = {}
    for row in rows:
        if row.human is not None and found.setdefault(row.item, row.human) != row.human:
            raise CalipersError(f"item '{row.item}' has different human labels: {found[row.item]:g} and {row.human:g}")
    if not found:
        raise CalipersError("no row has a label of people")
    return found


def _agreement(judge: str, both: list[VerdictRow], human: Mapping[str, float]) -> tuple[float, float, float]:
    """Return agreement, kappa and Spearman's rho over the rows of items that people labelled."""
    ours: dict[str, dict[str, float]] = {}
    theirs: dict[str, dict[str, float]] = {}
    for row in both:  # an item is a query, and each of its rows a document
        number = str(len(ours.setdefault(row.item, {})))
        ours[row.item][number] = human[row.item]
        theirs.setdefault(row.item, {})[number] = row.label
    table = JudgeTable.of(ours, {judge: theirs})
    rho = spearman([human[row.item] for row in both], [row.label for row in both])
    if table.mismatch(judge) is not None:
        return math.nan, math.nan, rho
    statistics = Confusion.of(table, judge).statistics()
    return statistics["agreement"], statistics["kappa"], rho


def _means(
    judge: str,
    rows: list[VerdictRow],
    human: Mapping[str, float],
    passes: bool,
    level: float,
    seed: int,
    notes: list[str],
) -> tuple[Cell, ...]:
    """Return items, labelled items, the means of people and of the judge, and the repaired mean with its interval."""
    labels: dict[str, list[float]] = {}
    for row in rows:
        labels.setdefault(row.item, []).append(row.label)
    mean = {item: sum(given) / len(given) for item, given in sorted(labels.items())}
    both = [item for item in mean if item in human]
    y, f = (np.array([of[item] for item in both]) for of in (human, mean))
    others = np.array([value for item, value in mean.items() if item not in human])
    counts = (len(mean), len(both))
    plain = (float(y.mean()), float(np.array([*mean.values()]).mean()))
    if len(both) < FEWEST or len(others) < 2:
        reason = f"{len(both)} labelled and {len(others)} unlabelled items"
        notes.append(f"{judge}: no repaired mean from {reason}; at least {FEWEST} and 2 are needed")
        return (*counts, *plain, None, None, None)
    if len(both) < TRUSTED:
        notes.append(f"{judge}: intervals are only known to hold from {TRUSTED} labelled items on, here {len(both)}")
    within = (0.0, 1.0) if passes else None
    repaired = prediction_powered(y[None], f[None], others[None], level, seed, within=within)
    ends = (float(repaired.low[0]), float(repaired.high[0]))
    return (*counts, *plain, float(repaired.value[0]), *(None if math.isnan(end) else end for end in ends))


def _bias(
    both: list[VerdictRow], human: Mapping[str, float], by: str, level: float, seed: int
) -> tuple[Cell, ...] | None:
    """Return how the judge's error (its label minus people's) depends on a property, or None if it is unknown.

    The rows are split at the median of the property. The interval of the difference between the two mean errors is over
    resampled rows.
    """
    known = [(float(value), row.label - human[row.item]) for row in both if (value := getattr(row, by)) is not None]
    if len(known) < 2 or len({value for value, _ in known}) < 2:
        return None
    value, error = np.array(known).T
    high = value > np.median(value) if (value > np.median(value)).any() else value >= np.median(value)
    drawn = np.random.default_rng(seed).integers(0, len(value), (DRAWS, len(value)))
    with np.errstate(invalid="ignore", divide="ignore"):
        differences = _difference(error[drawn], high[drawn])
    ends = percentiles(differences[~np.isnan(differences)], level)
    means = (float(error[~high].mean()), float(error[high].mean()))
    return (len(value), spearman(value, error), *means, means[1] - means[0], *ends)


def _difference(error: Floats, high: NDArray[np.bool_]) -> Floats:
    """Return the mean error of the high part minus that of the low part, per draw."""
    above, below = high.sum(axis=-1), (~high).sum(axis=-1)
    return np.asarray((error * high).sum(axis=-1) / above - (error * ~high).sum(axis=-1) / below)
