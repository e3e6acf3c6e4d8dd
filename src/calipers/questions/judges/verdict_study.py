"""Judges of single items, such as LLM verdicts on answers: agreement with people, repaired pass rates, biases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.questions.judges.agreement import DRAWS, Confusion, percentiles
from calipers.questions.judges.grade_scales import Scale
from calipers.questions.judges.judge_table import JudgeTable
from calipers.questions.judges.repaired_scores import labelled_and_others, values_of
from calipers.questions.judges.score_repair import FEWEST, TRUSTED, prediction_powered
from calipers.questions.judges.verdict_rows import VerdictRow, VerdictsLike, read_verdicts
from calipers.results.messages import some
from calipers.results.result import Result, Tables
from calipers.results.tables import Cell, Table
from calipers.statistics.bounded_intervals import Range
from calipers.statistics.correlation import spearman
from calipers.statistics.significance import SEED
from calipers.support.checks import check_level, check_number, check_seed
from calipers.support.plurals import counted

COLUMNS = (
    "judge",
    "system",
    "items",
    "labelled",
    "agreement",
    "kappa",
    "rho",
    "human",
    "judged",
    "corrected",
    "low",
    "high",
)
DIFFERENCE_COLUMNS = (
    "judge",
    "system_a",
    "system_b",
    "items",
    "labelled",
    "human",
    "judged",
    "corrected",
    "low",
    "high",
)
BIASES = ("length", "position")
Item = tuple[str, str]  # an item and a system


@dataclass(frozen=True, eq=False, repr=False)
class VerdictStudy(Result):
    """Judges of single items, compared with people on the items that people labelled."""

    rows: tuple[tuple[Cell, ...], ...]  # one per judge and system; the system is empty if the data names none
    differences: tuple[tuple[Cell, ...], ...]  # one per judge and pair of systems
    bias: tuple[tuple[Cell, ...], ...]  # one per judge and property
    counts: tuple[tuple[Cell, ...], ...]  # one per judge and pair of labels
    passes: bool  # labels are 0 and 1
    level: float
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Number of judges."""
        return f"Verdicts of {counted(len({row[0] for row in self.rows}), 'judge')} compared with people"

    @property
    def summary(self) -> str:
        """The repaired difference of the first two systems, or the repaired mean if there is one system."""
        for row in self.differences:
            pair = dict(zip(DIFFERENCE_COLUMNS, row, strict=True))
            if pair["corrected"] is not None:
                return (
                    f"{pair['judge']}: the repaired {self._what} of {pair['system_a']} minus that of "
                    f"{pair['system_b']} is {pair['corrected']:+.3f}{self._interval(pair)}."
                )
        first = dict(zip(COLUMNS, next((row for row in self.rows if row[3]), self.rows[0]), strict=True))
        of = f" of {first['system']}" if first["system"] else ""
        human = f"{first['judge']}: people's {self._what}{of} on {counted(int(first['labelled'] or 0), 'item')} is "
        if first["corrected"] is None:
            return f"{human}{first['human']:.3f}, the judge's on all items {first['judged']:.3f}."
        return (
            f"{human}{first['human']:.3f}, the judge's on all {first['items']} items is {first['judged']:.3f}, and the "
            f"repaired one is {first['corrected']:.3f}{self._interval(first)}."
        )

    @property
    def _what(self) -> str:
        return "pass rate" if self.passes else "mean score"

    def _interval(self, row: Mapping[str, Cell]) -> str:
        if row["low"] is None:
            return ""
        return f" ({self.level:.0%} interval {row['low']:.3f} to {row['high']:.3f})"

    def tables(self) -> Tables:
        """Return the tables by name: judges, labels, differences of systems, biases by length or position.

        Differences need a column for the systems, and biases one for lengths or positions.
        """
        makers = {"judges": self._judges, "labels": self._labels}
        makers |= {"differences": self._differences} if self.differences else {}
        return Tables(makers | ({"bias": self._biases} if self.bias else {}))

    def _judges(self) -> Table:
        kept = [place for place, name in enumerate(COLUMNS) if name != "system" or any(row[place] for row in self.rows)]
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        return Table(tuple(COLUMNS[place] for place in kept), rows, {"level": self.level})

    def _differences(self) -> Table:
        return Table(DIFFERENCE_COLUMNS, self.differences, {"level": self.level})

    def _labels(self) -> Table:
        return Table(("judge", "human_label", "judge_label", "rows"), self.counts)

    def _biases(self) -> Table:
        columns = ("judge", "by", "rows", "rho", "error_low", "error_high", "difference", "low", "high")
        return Table(columns, self.bias, {"level": self.level})


def judge_verdicts(
    data: VerdictsLike,
    judges: Mapping[str, VerdictsLike] | None = None,
    *,
    threshold: float | None = None,
    human_threshold: float | None = None,
    columns: Mapping[str, str] | None = None,
    level: float = 0.95,
    seed: int = SEED,
) -> VerdictStudy:
    """Compare verdicts of judges with the labels of people, and repair the judges' pass rates.

    data: one row per item, system and judge, as a file (CSV, TSV, JSON, JSON lines), a frame or a list of dicts.
        Columns: item, label (a number, or a word such as pass, fail, yes, no), human (empty for items that people did
        not label), and if known system, judge, length and position. Common synonyms are found, such as `id`, `model`,
        `score` and `gold`.
    judges: if `data` has labels of people only, tables with the labels of each judge, by name. Rows are matched by item
        and system.
    threshold: judges' labels of at least this value count as 1 (pass), others as 0. Without it, numbers are used as
        they are.
    human_threshold: the same for the labels of people. Labels on different scales are refused.
    columns: names of columns, for example {"label": "gpt_score"}.
    level, seed: of the intervals.

    For each judge and system, the table has the agreement and Cohen's kappa on items that people labelled, Spearman's
    rho, the mean of people's labels, the mean of the judge's labels on all items, and that mean repaired by
    prediction-powered inference with its interval. The table `differences` has the repaired difference of each two
    systems, over the items of both. The table `bias` says whether the judge's error depends on length or position.

    >>> human = {"a": 1, "b": 0, "c": 1, "d": 0, "e": 1}
    >>> rows = [{"item": i, "judge": "gpt", "label": 1, "human": human.get(i)} for i in "abcdefghij"]
    >>> study = judge_verdicts(rows)
    >>> study.table()["agreement"], study.table()["judged"]
    ([0.6], [1.0])
    """
    check_level(level)
    check_seed(seed)
    for name, limit in (("threshold", threshold), ("human_threshold", human_threshold)):
        if limit is not None:
            check_number(name, limit)
    by_judge: dict[str, list[VerdictRow]] = {}
    systems: dict[str, None] = {}  # in the order of the input
    for row in _rows(data, judges, columns):
        by_judge.setdefault(row.judge, []).append(row)
        systems[row.system] = None
    by_judge = {judge: _as_passes(judge, rows, threshold, human_threshold) for judge, rows in by_judge.items()}
    human = _human_labels(chain(*by_judge.values()))
    passes = {row.label for row in chain(*by_judge.values())} | set(human.values()) <= {0.0, 1.0}
    people = _by_system(human)
    found, differences, bias, counts = [], [], [], []
    notes: list[str] = []
    for judge, rows in by_judge.items():
        both = [row for row in rows if (row.item, row.system) in human]
        if not both:
            raise CalipersError(f"{judge}: people labelled none of its items, so there is nothing to compare")
        _refuse_other_scale(judge, [row.label for row in rows], [*human.values()])
        judged = _by_system(_mean_labels(rows))
        means: dict[tuple[str, ...], tuple[Cell, ...]] = {}
        own = [system for system in systems if system in judged]
        for names in (*((system,) for system in own), *combinations(own, 2)):
            within = (1.0 - len(names), 1.0) if passes else None  # differences reach from -1 to 1
            means[names] = _repaired(values_of(judged, names), values_of(people, names), within, level, seed)
        for names, mean in means.items():
            if len(names) == 2:
                differences.append((judge, *names, *mean))
            else:
                agreement = _agreement(judge, [row for row in both if (row.system,) == names], human)
                found.append((judge, *names, *mean[:2], *agreement, *mean[2:]))
        notes += _notes(judge, means)
        bias += [(judge, by, *cells) for by in BIASES if (cells := _bias(both, human, by, level, seed))]
        pairs = [(human[row.item, row.system], row.label) for row in both]
        distinct = sorted(set(pairs))
        if len(distinct) <= 400:
            counts += [(judge, ours, theirs, pairs.count((ours, theirs))) for ours, theirs in distinct]
    return VerdictStudy(tuple(found), tuple(differences), tuple(bias), tuple(counts), passes, level, tuple(notes))


def _rows(
    data: VerdictsLike, judges: Mapping[str, VerdictsLike] | None, columns: Mapping[str, str] | None
) -> list[VerdictRow]:
    """Return the verdicts of all judges with the labels of people, from one table or from one for each of them."""
    if judges is None:
        return read_verdicts(data, columns)
    human = _human_labels(read_verdicts(data, columns, whose="people"))
    return [
        row.changed(judge=name, human=human.get((row.item, row.system)))
        for name, given in judges.items()
        for row in read_verdicts(given, columns, whose="judge")
    ]


def _as_passes(
    judge: str, rows: list[VerdictRow], threshold: float | None, human_threshold: float | None
) -> list[VerdictRow]:
    """Return rows with labels of 1 from a threshold on, and 0 below it: those of the judge, and those of people."""
    labels, human = [row.label for row in rows], [row.human for row in rows if row.human is not None]
    for whose, given, name, limit in (
        (judge, labels, "threshold", threshold),
        ("people", human, "human_threshold", human_threshold),
    ):
        if limit is not None and given and max(given) <= 1 < limit:
            raise CalipersError(
                f"the labels of {whose} are {Scale.of(np.array(given))}: none would pass from {limit:g} on",
                parameter=name,
            )

    def passed(label: float | None, limit: float | None) -> float | None:
        return label if limit is None or label is None else float(label >= limit)

    return [row.changed(label=passed(row.label, threshold), human=passed(row.human, human_threshold)) for row in rows]


def _refuse_other_scale(judge: str, labels: Sequence[float], human: Sequence[float]) -> None:
    """Refuse labels on different scales: only one is within 0 to 1, or one reaches twice as far as the other."""
    theirs, ours = np.array(labels), np.array(human)
    of_judge, of_people = (bool(given.min() >= 0 and given.max() <= 1) for given in (theirs, ours))
    largest = sorted((float(np.abs(theirs).max()), float(np.abs(ours).max())))
    if of_judge != of_people or (not of_judge and largest[1] >= 2 * largest[0]):
        whose = "people" if of_judge else judge if of_people else "both"
        raise CalipersError(
            f"the labels of {judge} are {Scale.of(theirs)}, those of people {Scale.of(ours)}: these are different "
            f"scales. Set a threshold from which on labels of {whose} count as passed",
            parameter="human_threshold" if of_judge else "threshold",
        )


def _human_labels(rows: Iterable[VerdictRow]) -> dict[Item, float]:
    """Return the label of people per item and system. A label on one row holds for all rows of item and system."""
    found: dict[Item, float] = {}
    for row in rows:
        if row.human is not None and found.setdefault((row.item, row.system), row.human) != row.human:
            of = f" of {row.system}" if row.system else ""
            raise CalipersError(
                f"item '{row.item}'{of} has different human labels: {found[row.item, row.system]:g} and {row.human:g}"
            )
    if not found:
        raise CalipersError("no row has a label of people")
    return found


def _mean_labels(rows: Iterable[VerdictRow]) -> dict[Item, float]:
    """Return the mean of a judge's labels per item and system."""
    labels: dict[Item, list[float]] = {}
    for row in rows:
        labels.setdefault((row.item, row.system), []).append(row.label)
    return {item: sum(given) / len(given) for item, given in labels.items()}


def _by_system(labels: Mapping[Item, float]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for (item, system), label in labels.items():
        found.setdefault(system, {})[item] = label
    return found


def _agreement(
    judge: str, both: list[VerdictRow], human: Mapping[Item, float]
) -> tuple[float | None, float | None, float | None]:
    """Return agreement, kappa and Spearman's rho over rows of one system with items that people labelled."""
    if not both:
        return None, None, None
    ours: dict[str, dict[str, float]] = {}
    theirs: dict[str, dict[str, float]] = {}
    for row in both:  # an item is a query, and each of its rows a document
        number = str(len(ours.setdefault(row.item, {})))
        ours[row.item][number] = human[row.item, row.system]
        theirs.setdefault(row.item, {})[number] = row.label
    table = JudgeTable.of(ours, {judge: theirs})
    rho = spearman([human[row.item, row.system] for row in both], [row.label for row in both])
    if table.mismatch(judge) is not None:
        return math.nan, math.nan, rho
    statistics = Confusion.of(table, judge).statistics()
    return statistics["agreement"], statistics["kappa"], rho


def _repaired(
    judged: Mapping[str, float], human: Mapping[str, float], within: Range | None, level: float, seed: int
) -> tuple[Cell, ...]:
    """Return items, labelled items, the means of people and of the judge, and the repaired mean with its interval."""
    y, f, others = labelled_and_others(judged, human)
    known = (
        len(judged),
        len(y),
        float(y.mean()) if len(y) else None,
        float(np.mean([judged[item] for item in sorted(judged)])) if judged else None,
    )
    if len(y) < FEWEST or len(others) < 2:
        return (*known, None, None, None)
    found = prediction_powered(y[None], f[None], others[None], level, seed, ahead=0, within=within)
    ends = (float(found.low[0]), float(found.high[0]))
    return (*known, float(found.value[0]), *(None if math.isnan(end) else end for end in ends))


def _notes(judge: str, means: Mapping[tuple[str, ...], tuple[Cell, ...]]) -> Iterator[str]:
    """Yield sentences about means and differences that could not be repaired, or rest on few labels."""
    for size, what, labelled in ((1, "mean", "labelled"), (2, "difference", "labelled for both systems")):
        cells_of = {" and ".join(names): cells for names, cells in means.items() if len(names) == size}
        if none := [name for name, cells in cells_of.items() if cells[4] is None]:
            yield (
                f"{judge}: no repaired {what}{_of(none)}: at least {FEWEST} items that people {labelled} are needed, "
                "and 2 others that only the judge labelled"
            )
        counts = {name: int(cells[1] or 0) for name, cells in cells_of.items() if name not in none}
        if few := {name: count for name, count in counts.items() if count < TRUSTED}:
            yield (
                f"{judge}: the interval of a {what} is only known to hold from {TRUSTED} items on that people "
                f"{labelled}, here {min(few.values())}{_of([*few])}"
            )


def _of(names: Sequence[str]) -> str:
    return f" ({some(names)})" if any(names) else ""


def _bias(
    both: list[VerdictRow], human: Mapping[Item, float], by: str, level: float, seed: int
) -> tuple[Cell, ...] | None:
    """Return how the judge's error (its label minus people's) depends on a property, or None if it is unknown.

    The rows are split at the median of the property. The interval of the difference between the two mean errors is over
    resampled rows.
    """
    known = [
        (float(value), row.label - human[row.item, row.system])
        for row in both
        if (value := getattr(row, by)) is not None
    ]
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
