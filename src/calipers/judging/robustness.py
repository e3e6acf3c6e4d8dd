"""Robustness of the order of two systems against errors of a judge.

Fewest wrong labels: every label may change to any grade of the scale. In a linear measure (a sum over documents,
perhaps divided by a constant), each label changes the score separately. So taking the largest changes first gives the
exact number. For any other measure, labels are changed one after the other. Each step takes the label that reduces the
difference most, and scores all again. The number of labels is then an upper bound, and the labels are its proof.

Random errors: each label is replaced by a grade drawn from the human's grades for documents with this label of the
judge. The share of draws in which A still beats B estimates the probability that A is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.inputs import in_batches
from calipers.evaluation.options import ScoringOptions
from calipers.evaluation.scoring import score_lists
from calipers.judging.agreement import Confusion
from calipers.judging.judge_table import JudgeTable
from calipers.lists import Floats, Ints, Lists, Pool
from calipers.measures.forms.linear import Linear, linear_over_constant
from calipers.measures.grammar import parse_all
from calipers.measures.registry import Measure
from calipers.native.columns import Retrieved
from calipers.results.scores import means
from calipers.stats.significance import SEED

DRAWS = 200
MOST_CHANGES = 500  # number of changed labels at which the search stops
ROWS_AT_ONCE = 1_000_000  # documents of changed pools that are scored at once
TIED = 1e-12  # differences closer to 0 than this are ties


@dataclass(frozen=True, eq=False)
class Ranked:
    """Retrieved documents of the systems with the labels of one judge. Grades may change, ranks do not."""

    judgments: Judgments
    systems: tuple[str, ...]
    retrieved: tuple[Retrieved, ...]
    options: ScoringOptions

    @classmethod
    def of(cls, judge_table: JudgeTable, judge: str | int, evaluation: Evaluation, systems: Sequence[str]) -> Ranked:
        """Return the documents with labels of a judge that the runs of an evaluation retrieved."""
        view, options = judge_table.view(judge), evaluation.options
        if options.missing == "skip":
            raise CalipersError(
                "changing labels needs a score for each query: missing='skip' is not allowed, use missing='zero'"
            )
        known, seen = view.judgments, [view.run(run) for run in evaluation.runs]
        batches = in_batches(seen, known, options.depth or 0, options.precision, evaluation.jobs)
        return cls(
            judgments=options.like.judgments(known),
            systems=tuple(systems),
            retrieved=tuple(each for batch in batches for each in batch),
            options=options,
        )

    def lists(self, systems: Sequence[int] | None = None) -> Lists:
        chosen = self.retrieved if systems is None else [self.retrieved[s] for s in systems]
        lists = Lists.of(self.judgments.pool, chosen)
        return lists.condensed() if self.options.condensed else lists

    def scores(self, measure: Measure, lists: Lists) -> Floats:
        """Return scores as [system, query], NaN if skipped. The lists hold all queries of each system in turn."""
        options = self.options.changed(condensed=False)  # the lists are condensed already
        return score_lists(lists, [measure], options).values.reshape(-1, lists.pool.queries)

    def means(self, measure: Measure, lists: Lists) -> Floats:
        """Return the mean of each system over the queries that count."""
        return means(self.scores(measure, lists))

    def bound(self, measure: str) -> Measure:
        """Return the measure with parameters from these judgments (for example, the largest grade)."""
        ((_, found),) = parse_all(measure, self.options.measure_defaults)
        return found.bind(self.judgments.pool)


# -- fewest wrong labels -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Turn:
    """Labels whose change reverses the order of two systems."""

    system_a: str  # system with the higher mean
    system_b: str
    difference: float
    rows: Ints | None  # of the judgments; None if no change was found that reverses the order
    grades: Floats  # new grades of these labels
    exact: bool  # True if the number of labels is the smallest possible

    @property
    def labels(self) -> int | None:
        return None if self.rows is None else len(self.rows)

    @property
    def how(self) -> str:
        """Meaning of the number of labels: `exactly`, `at most`, `never` or `not found`."""
        if self.rows is None:
            return "never" if self.exact else "not found"
        return "exactly" if self.exact else "at most"


def fewest_labels(ranked: Ranked, measure: str, a: int, b: int, grades: Floats) -> Turn:
    """Return the fewest labels whose change to any grade reverses the order of two systems. A tie is not enough."""
    bound = ranked.bound(measure)
    value = ranked.means(bound, ranked.lists([a, b]))
    if value[0] < value[1]:
        a, b, value = b, a, value[::-1]
    names, difference = (ranked.systems[a], ranked.systems[b]), float(value[0] - value[1])
    if not np.isfinite(difference):
        raise CalipersError(f"{measure} has no mean for {names[0]} or {names[1]}: so there is no order to reverse")
    linear = linear_over_constant(bound.form, ranked.lists([a, b]))
    if linear is not None and ranked.options.ties not in ("best", "worst"):
        return Turn(*names, difference, *_exactly(ranked, *linear, a, b, difference, grades), exact=True)
    return Turn(*names, difference, *_greedily(ranked, bound, a, b, grades), exact=False)


def _exactly(
    ranked: Ranked, form: Linear, by: float, a: int, b: int, difference: float, grades: Floats
) -> tuple[Ints | None, Floats]:
    """Take the largest changes first. Each label changes the difference by its own amount."""
    weight = np.zeros((2, len(ranked.judgments)))
    for s, system in enumerate((a, b)):
        top = ranked.lists([system]).under(ranked.options.ties).top(form.weight.cutoff)
        weight[s, top.document] = form.weight.mean(top.first, top.last)
    pull = (weight[0] - weight[1]) / (by * len(ranked.judgments.queries))
    gains, choices = form.value(ranked.judgments.pool.grade), form.value(grades)
    to = np.where(pull > 0, int(choices.argmin()), int(choices.argmax()))
    gain = pull * (gains - choices[to])
    order = np.argsort(-gain, kind="stable")
    turned = np.flatnonzero(np.cumsum(gain[order]) > difference + TIED)
    if not len(turned):
        return None, np.zeros(0)
    rows = order[: turned[0] + 1]
    return rows, grades[to[rows]]


def _greedily(ranked: Ranked, measure: Measure, a: int, b: int, grades: Floats) -> tuple[Ints | None, Floats]:
    """Change one label after the other to the lowest or the highest grade. Only its query is scored again."""
    grade = ranked.judgments.pool.grade.copy()
    lists = ranked.lists([a, b])
    values = ranked.scores(measure, lists)
    difference = values[0] - values[1]
    ends = np.array([grades.min(), grades.max()])
    changed: dict[int, float] = {}
    counted = np.flatnonzero(np.isfinite(difference)).tolist()
    best = {q: _best_change(ranked, measure, lists, grade, q, ends, changed) for q in counted}
    while difference[counted].sum() >= -TIED * len(counted):
        query = min(counted, key=lambda q: best[q][0] - difference[q])
        reached, row, to = best[query]
        if reached >= difference[query] - TIED or len(changed) >= MOST_CHANGES:
            return None, np.zeros(0)
        grade[row] = changed[row] = to
        difference[query] = reached
        best[query] = _best_change(ranked, measure, lists, grade, query, ends, changed)
    return np.array(list(changed), np.int64), np.array(list(changed.values()))


def _best_change(
    ranked: Ranked,
    measure: Measure,
    lists: Lists,
    grade: Floats,
    query: int,
    ends: Floats,
    changed: Mapping[int, float],
) -> tuple[float, int, float]:
    """Return the smallest difference on one query after one more changed label, the row of the label and its new grade.

    Documents that neither system shows differ only in their grade, so one document per grade is tried.
    """
    pool = ranked.judgments.pool
    start, end = int(pool.offsets[query]), int(pool.offsets[query + 1])
    of_both = (query, pool.queries + query)
    shown = np.unique(np.concatenate([lists.document[lists.offsets[i] : lists.offsets[i + 1]] for i in of_both]))
    done = np.array(list(changed), np.int64)
    hidden = np.setdiff1d(np.arange(start, end), np.concatenate([shown, done]))
    _, first = np.unique(grade[hidden], return_index=True)
    rows = np.concatenate([np.setdiff1d(shown, done), hidden[first]])
    row, to = np.repeat(rows, len(ends)), np.tile(ends, len(rows))
    row, to = row[grade[row] != to], to[grade[row] != to]
    if not len(row):
        return np.inf, -1, 0.0
    step = max(1, ROWS_AT_ONCE // (end - start))
    reached = np.concatenate(
        [
            _with_one_change(ranked, measure, lists, of_both, grade, (start, end), row[i : i + step], to[i : i + step])
            for i in range(0, len(row), step)
        ]
    )
    reached = np.where(np.isnan(reached), np.inf, reached)
    least = int(reached.argmin())
    return float(reached[least]), int(row[least]), float(to[least])


def _with_one_change(
    ranked: Ranked,
    measure: Measure,
    lists: Lists,
    of_both: tuple[int, int],
    grade: Floats,
    span: tuple[int, int],
    row: Ints,
    to: Floats,
) -> Floats:
    """Return the difference of two systems on copies of one query. Each copy has one changed label."""
    copies, (start, end) = len(row), span
    size = end - start
    changed = np.tile(grade[start:end], (copies, 1))
    changed[np.arange(copies), row - start] = to
    parts = [np.arange(lists.offsets[i], lists.offsets[i + 1]) for i in of_both]
    rows = np.concatenate([np.tile(part, copies) for part in parts])
    shift = np.concatenate([np.repeat(np.arange(copies) * size - start, len(part)) for part in parts])
    lengths = [len(part) for part in parts for _ in range(copies)]
    copied = Lists(
        pool=Pool(np.arange(copies + 1) * size, changed.ravel()),
        query=np.tile(np.arange(copies), 2),
        length=np.repeat(lists.length[list(of_both)], copies),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        document=lists.document[rows] + shift,
        first=lists.first[rows],
        last=lists.last[rows],
        docid_rank=None if lists.docid_rank is None else lists.docid_rank[rows],
        input_rank=None if lists.input_rank is None else lists.input_rank[rows],
        all_ties=None if lists.all_ties is None else lists.all_ties.take(np.repeat(list(of_both), copies)),
    )
    values = ranked.scores(measure, copied)
    return np.asarray(values[0] - values[1])


# -- random errors -----------------------------------------------------------------------------------


def drawn_labels(judge_table: JudgeTable, judge: str | int, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Return possible grades of the human, as [draw, label], for each document that the judge labelled.

    They are drawn from the human's grades of documents with the same label of this judge. If the human judged no such
    document, they are drawn from all grades of the human.
    """
    found = Confusion.of(judge_table, judge, square=False)
    share = np.vstack([found.counts.T, found.counts.sum(axis=1)])  # the last row is for all labels
    below = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    labels = judge_table.labels(judge)
    place = np.minimum(np.searchsorted(found.columns, labels), len(found.columns) - 1)
    line = np.where(np.array(found.columns)[place] == labels, place, len(found.columns))
    given = np.zeros(len(judge_table.whole), np.int64)
    given[judge_table.given[judge_table.place(judge)]] = np.arange(len(labels))
    rows = judge_table.whole.rows_by_name
    random = np.empty((draws, len(labels)))
    random[:, given[rows[judge_table.given[judge_table.place(judge)][rows]]]] = np.random.default_rng(seed).random(
        random.shape
    )
    drawn = np.zeros(random.shape, np.int64)
    for step in range(below.shape[1]):
        drawn += random >= below[line, step]
    return np.asarray(np.array(found.rows)[drawn])


def survival(
    judge_table: JudgeTable, ranked: Ranked, judge: str | int, measure: str, draws: int = DRAWS, seed: int = SEED
) -> tuple[Floats, Floats]:
    """Return the mean of each system under the judge's labels, and the probability, as [A, B], that A beats B.

    The probability is the share of draws of labels in which A beats B. Ties count half.
    """
    lists = ranked.lists()
    ((_, parsed),) = parse_all(measure, ranked.options.measure_defaults)
    before = ranked.means(ranked.bound(measure), lists)
    chance = np.zeros((len(before), len(before)))
    for grade in drawn_labels(judge_table, judge, draws, seed):
        pool = Pool(ranked.judgments.pool.offsets, grade)
        mean = ranked.means(parsed.bind(pool), replace(lists, pool=pool, memo={}))
        chance += (mean[:, None] > mean) + (mean[:, None] == mean) / 2
    return before, chance / draws
