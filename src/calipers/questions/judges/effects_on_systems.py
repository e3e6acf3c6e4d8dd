"""Effects of a judge on systems: their order, significant differences, favoured systems, and circular evaluation.

Systems are scored under the human's and under each judge's labels, on the queries that both judged.

Kendall, A new measure of rank correlation, Biometrika 1938. Yilmaz, Aslam & Robertson, A new rank correlation
coefficient for information retrieval, SIGIR 2008 (tau_AP). Webber, Moffat & Zobel, A similarity measure for indefinite
rankings, TOIS 2010 (RBO).

Every run is re-ranked by a judge's own labels, and scored under the labels of people and of the judge. A system that
uses the judge as its last stage looks perfect to this judge. If the two orders of re-ranked systems agree much less
than the two orders of the original ones, scores under the judge's labels should not decide between such systems.

Clarke & Dietz, LLM-based relevance assessment still can't replace human relevance assessment, 2024.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calipers.collection.run_names import distinct_names
from calipers.collection.runs import DictRun, Run
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats, Ints
from calipers.questions.compare.comparison import Comparison, compare
from calipers.questions.judges.agreement import DRAWS, percentiles
from calipers.questions.judges.judge_table import JudgeTable
from calipers.results.messages import with_incomplete_runs
from calipers.results.scores import Scores
from calipers.results.tables import Cell, Table, as_number
from calipers.statistics.correlation import kendall_b, rbo, spearman, tau_ap
from calipers.statistics.score_arrays import descending_ranks, times_drawn
from calipers.statistics.significance import SEED

COLUMNS = (
    "judge",
    "measure",
    "tau",
    "tau_ap",
    "rho",
    "rbo",
    "largest_drop",
    "dropped_system",
    "agree",
    "conflict",
    "missed",
    "false",
)


@dataclass(frozen=True, eq=False)
class Effects:
    """Scores of systems under the human's labels, and under the labels of each judge."""

    names: tuple[str, ...]  # the first is the human
    scores: tuple[Scores, ...]  # of each, on all the queries that it judged
    testing: Mapping[str, Any] = field(default_factory=dict)  # how `compare` tests
    _compared: dict[Any, Comparison] = field(default_factory=dict, repr=False)

    @property
    def systems(self) -> tuple[str, ...]:
        return self.scores[0].systems

    @property
    def measures(self) -> tuple[str, ...]:
        return self.scores[0].measures

    @property
    def judges(self) -> tuple[str, ...]:
        return self.names[1:]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about judges with too few queries for a test."""
        few = [judge for judge in self.judges if len(self.common(judge)[0].queries) < 2]
        return tuple(f"{judge}: no test can be made on fewer than two queries in common" for judge in few)

    def common(self, judge: str) -> tuple[Scores, Scores]:
        """Return the scores under the human's and under this judge's labels, on the queries that both judged."""
        ours, theirs = self.scores[0], self.scores[self.names.index(judge)]
        queries = sorted({*ours.queries} & {*theirs.queries})  # samples are drawn over the order of names
        return on_queries(ours, queries), on_queries(theirs, queries)

    # -- the order of systems ----------------------------------------------------------------------

    def table(self) -> Table:
        """Return one row per judge and measure: agreement of the orders of systems, and significant differences."""
        rows: list[tuple[Cell, ...]] = []
        for judge in self.judges:
            ours, theirs = self.common(judge)
            truth, other = means(ours), means(theirs)
            counts = self._significant(judge, len(ours.queries))
            for m, measure in enumerate(self.measures):
                drop, dropped = largest_drop(truth[m], other[m])
                overlap = rbo(_by_score(self.systems, truth[m]), _by_score(self.systems, other[m])).value
                rows.append(
                    (
                        judge,
                        measure,
                        kendall_b(truth[m], other[m]),
                        tau_ap(truth[m], other[m]),
                        spearman(truth[m], other[m]),
                        overlap,
                        drop,
                        None if dropped is None else self.systems[dropped],
                        *counts[m],
                    )
                )
        return Table(COLUMNS, tuple(rows), {**self.testing, "queries": len(self.scores[0].queries)})

    def compared(self, judge: str) -> tuple[Comparison, Comparison]:
        """Return tests of all pairs of systems, under the human's and under this judge's labels."""
        ours, theirs = self.common(judge)
        found = []
        for who, scores in ((0, ours), (self.names.index(judge), theirs)):
            key = who, scores.queries
            if key not in self._compared:
                self._compared[key] = compare(with_incomplete_runs(scores), **self.testing, warn=False)
            found.append(self._compared[key])
        return found[0], found[1]

    def _significant(self, judge: str, queries: int) -> list[tuple[Cell, ...]]:
        """Return, per measure, the numbers of pairs that agree, conflict, are missed, or are false (see `table`)."""
        if queries < 2:
            return [(None,) * 4] * len(self.measures)
        one, other = self.compared(judge)
        counts: list[tuple[Cell, ...]] = []
        for m in range(len(self.measures)):
            ours_yes, theirs_yes = one.significant[m], other.significant[m]
            alike = np.sign(one.outcomes[m].difference) == np.sign(other.outcomes[m].difference)
            both = ours_yes & theirs_yes
            four = (both & alike, both & ~alike, ours_yes & ~theirs_yes, ~ours_yes & theirs_yes)
            counts.append(tuple(int(chosen.sum()) for chosen in four))
        return counts

    def ranks(self) -> Table:
        """Return one row per judge, measure and system: scores and ranks under both labels, and ranks gained."""
        rows: list[tuple[Cell, ...]] = []
        for judge in self.judges:
            ours, theirs = (means(scores) for scores in self.common(judge))
            places = descending_ranks(ours), descending_ranks(theirs)
            for m, measure in enumerate(self.measures):
                for s in np.argsort(places[0][m], kind="stable").tolist():
                    here = places[0][m, s], places[1][m, s]
                    cells = (float(ours[m, s]), float(theirs[m, s]), *map(whole, (*here, here[0] - here[1])))
                    rows.append((judge, measure, self.systems[s], *cells))
        return Table(
            ("judge", "measure", "system", "score_human", "score_judge", "rank_human", "rank_judge", "gained"),
            tuple(rows),
        )

    # -- whom it favours ---------------------------------------------------------------------------

    def resampled_gains(self, judge: str, draws: int = DRAWS, seed: int = SEED) -> tuple[Floats, Floats]:
        """Return ranks that systems gain, [measure, system], and the same in resamples, [draw, measure, system]."""
        ours, theirs = self.common(judge)
        size = len(ours.queries)
        times = times_drawn(np.random.default_rng(seed).integers(0, size, (draws, size)), size)
        drawn = []
        for scores in (ours, theirs):
            value = np.nan_to_num(scores.values)
            counted = (~np.isnan(scores.values)).astype(np.float64)
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = np.einsum("bq,msq->bms", times, value) / np.einsum("bq,msq->bms", times, counted)
            drawn.append(descending_ranks(mean.reshape(-1, mean.shape[-1])).reshape(mean.shape))
        return gained(means(ours), means(theirs)), drawn[0] - drawn[1]

    def families(self, groups: Mapping[str, str], level: float = 0.95, draws: int = DRAWS, seed: int = SEED) -> Table:
        """Return the mean ranks that a family of systems gains over all other systems, with an interval.

        Favoured are families whose interval over resampled queries lies above 0; a judge that favours rankers built on
        its own model rewards itself.
        """
        member = {
            name: np.array([groups.get(s) == name for s in self.systems]) for name in dict.fromkeys(groups.values())
        }
        member = {name: chosen for name, chosen in member.items() if chosen.any()}
        if not member:
            raise CalipersError(f"no system has a group: there are {', '.join(self.systems[:5])}")
        rows: list[tuple[Cell, ...]] = []
        for judge in self.judges:
            gain, drawn = self.resampled_gains(judge, draws, seed)
            for m, measure in enumerate(self.measures):
                for name, chosen in member.items():
                    rest = ~chosen
                    over = _over(gain[m], chosen, rest)
                    low, high = percentiles(_over(drawn[:, m], chosen, rest), level)
                    verdict = "yes" if low > 0 else "against" if high < 0 else "no"
                    rows.append((judge, measure, name, int(chosen.sum()), float(over), low, high, verdict))
        about = {"level": level, "draws": draws, "seed": seed}
        columns = ("judge", "measure", "group", "systems", "gained", "low", "high", "favoured")
        return Table(columns, tuple(rows), about)


def effects_of(judge_table: JudgeTable, evaluation: Evaluation, testing: Mapping[str, Any]) -> Effects:
    """Score the runs of a request under the labels of every judge. Each run is read once."""
    scores = []
    for judge in range(len(judge_table.names)):
        scores.append(scored(judge_table, judge, evaluation))
        if evaluation.progress:
            evaluation.progress(1)
    if len(scores[0].systems) < 2:
        raise CalipersError(f"there is only one system ({scores[0].systems[0]}): nothing to order")
    return Effects(judge_table.names, tuple(scores), dict(testing))


def scored(judge_table: JudgeTable, judge: str | int, evaluation: Evaluation) -> Scores:
    """Return the scores of the runs under one judge's labels, on the queries that this judge judged."""
    view = judge_table.view(judge)
    runs = tuple(view.run(run) for run in evaluation.runs)
    # A judge may have labelled few of the documents, so that unmatched runs are no error here.
    request = evaluation.changed(judgments=view.judgments, runs=runs, unmatched="warn", progress=None, warn=False)
    return request.scores


# -- pieces ------------------------------------------------------------------------------------------


def on_queries(scores: Scores, queries: Sequence[str]) -> Scores:
    """Return the scores on these queries only."""
    place = {query: q for q, query in enumerate(scores.queries)}
    chosen = [place[query] for query in queries]
    if chosen == list(range(len(scores.queries))):
        return scores
    return replace(
        scores,
        queries=tuple(queries),
        values=scores.values[..., chosen],
        reasons=scores.reasons[..., chosen],
        coverage=None,
    )


def means(scores: Scores) -> Floats:
    """Return means over queries, [measure, system]. Each measure is averaged in its own way."""
    table = scores.mean()
    return np.array([table[measure] for measure in scores.measures], dtype=np.float64)


def gained(truth: Floats, other: Floats) -> Floats:
    """Return the ranks that each system gains, [measure, system]."""
    return descending_ranks(truth) - descending_ranks(other)


def largest_drop(truth: Floats, other: Floats) -> tuple[float | int, int | None]:
    """Return the largest number of ranks that a system loses, and the system: the best one of several, or None.

    >>> largest_drop(np.array([0.9, 0.8, 0.7]), np.array([0.5, 0.8, 0.7]))
    (2, 0)
    """
    rank = descending_ranks(truth[None])[0]
    lost = descending_ranks(other[None])[0] - rank
    most = float(lost.max(initial=0.0))
    if most <= 0:
        return 0, None
    losers = np.flatnonzero(lost == most)
    return whole(most), int(losers[np.argmin(rank[losers])])


def whole(value: float) -> float | int:
    """Return whole numbers as int. Ranks of tied systems may be halves."""
    return int(value) if float(value).is_integer() else float(value)


def _over(gain: Floats, chosen: Ints, rest: Ints) -> Floats:
    """Return the mean gain of some systems minus that of all others. It is the gain itself if there are no others."""
    others = gain[..., rest].mean(axis=-1) if rest.any() else 0.0
    return np.asarray(gain[..., chosen].mean(axis=-1) - others)


def _by_score(systems: Sequence[str], values: Floats) -> dict[str, float]:
    return {s: -math.inf if math.isnan(v) else v for s, v in zip(systems, values.tolist(), strict=True)}


CIRCULARITY_COLUMNS = ("judge", "measure", "tau", "tau_reranked", "gain_human", "gain_judge")
SUSPICIOUS_DROP = 0.1  # drop of tau from which a note warns


def circularity_table(judge_table: JudgeTable, evaluation: Evaluation, effects: Effects) -> Table:
    """Return one row per judge and measure.

    tau: Kendall's tau between the orders of systems under the labels of people and of the judge. tau_reranked: the same
    for the runs re-ranked by the judge. gain_human, gain_judge: how much re-ranking raises the mean score over systems,
    under the labels of people and of the judge.
    """
    rows: list[tuple[Cell, ...]] = []
    for judge in judge_table.judges:
        grade = judge_table.judgments(judge).to_dict()
        request = evaluation.changed(runs=tuple(reranked(evaluation.runs, grade)), progress=None)
        scores = tuple(scored(judge_table, who, request) for who in (0, judge))
        again = Effects((judge_table.names[0], judge), scores)
        before, after = ([means(each) for each in of.common(judge)] for of in (effects, again))
        for m, measure in enumerate(effects.measures):
            taus = (kendall_b(each[0][m], each[1][m]) for each in (before, after))
            gains = (float((after[who][m] - before[who][m]).mean()) for who in (0, 1))
            rows.append((judge, measure, *taus, *gains))
    return Table(CIRCULARITY_COLUMNS, tuple(rows))


def circularity_notes(table: Table) -> list[str]:
    """Return a warning for each judge and measure whose tau drops if systems rank by the judge's labels."""
    said = []
    for judge, measure, *taus in table.rows:
        tau, again = map(as_number, taus[:2])
        if tau != tau or tau - again < SUSPICIOUS_DROP:
            continue
        drop = f"tau drops from {tau:.2f} to {again:.2f}" if again == again else "no order of systems is left"
        said.append(
            f"{judge}, {measure}: {drop} if systems rank by the labels of {judge}. Do not evaluate systems that use "
            "this judge, or a model like it, by its labels"
        )
    return said


def reranked(runs: Sequence[Run], grade: dict[str, dict[str, float]]) -> list[Run]:
    """Return runs whose documents are ordered by grade, documents without a grade last.

    Documents of the same grade keep their order, and their ties.

    >>> reranked([DictRun({"q": {"a": 3, "b": 2, "c": 1}}, "s")], {"q": {"c": 1, "a": 0}})[0].to_dict()
    {'q': {'c': 3.0, 'a': 2.0, 'b': 1.0}}
    """
    found: list[Run] = []
    for run, (name, _) in zip(runs, distinct_names(runs), strict=True):
        lists: dict[str, dict[str, float]] = {}
        for query, scores in run.to_dict().items():
            labels = grade.get(query, {})
            keys = {document: (labels.get(document, float("-inf")), score) for document, score in scores.items()}
            place = {key: float(number) for number, key in enumerate(sorted(set(keys.values())), 1)}
            order = sorted(keys, key=lambda document: place[keys[document]], reverse=True)
            lists[query] = {document: place[keys[document]] for document in order}
        found.append(DictRun(lists, name))
    return found
