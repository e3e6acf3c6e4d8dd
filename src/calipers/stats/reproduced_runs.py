"""Reproducibility of a pair of runs: an advanced system a and its baseline b, with their reproductions.

    tau     Kendall's tau-b of the ranks in both lists, over the documents of either list; a document that a list lacks
            ranks below all documents of that list
    ktu     Kendall's tau union of repro_eval: the documents of both lists are numbered by their ids, and tau is that of
            the two series of numbers. It depends on the names of documents.
    rbo     sum over depths d of p^(d-1) |shared in the first d| / d, over the sum of p^(d-1), to depth 1000, p = 0.95
    rmse    root mean square difference of the scores, query by query
    p       p value of the paired t test of these differences: small if the scores of the reproduction differ
    effect ratio                  mean improvement reproduced / mean improvement originally: 1 is perfect
    delta relative improvement    (a - b) / b of the original runs minus (a - b) / b of the reproductions: 0 is perfect

All except tau are defined as in repro_eval. tau, ktu and RBO use no judgments. p and depth are repro_eval's defaults.

Breuer, Ferro, Fuhr, Maistro, Sakai, Schaer & Soboroff, How to measure the reproducibility of system-oriented IR
experiments, SIGIR 2020. Clarke, Vtyurina & Smucker, Assessing top-k preferences, TOIS 2021 (this form of RBO).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calipers.checks import Policy, check_type
from calipers.choices import TieRule
from calipers.collection.document_facts import Costs, GroupsLike
from calipers.collection.mismatch import Unmatched
from calipers.collection.runs import RenamedRun, Run
from calipers.collection.sources import JudgmentsLike, RunLike
from calipers.conventions import Convention
from calipers.errors import CalipersError, place_of
from calipers.evaluation.evaluation import Measures, evaluate
from calipers.evaluation.inputs import as_judgments, as_runs
from calipers.lists import Floats
from calipers.measures.grammar import DEFAULT_MEASURES
from calipers.native.columns import Precision
from calipers.native.ids import encode
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores
from calipers.results.tables import Cell, Table
from calipers.stats.differences import Differences
from calipers.stats.significance import student

COLUMNS = (
    "measure", "tau_a", "tau_b", "ktu_a", "ktu_b", "rbo_a", "rbo_b", "rmse_a", "rmse_b", "p_a", "p_b", "effect_ratio",
    "delta_relative_improvement",
)  # fmt: skip
DEPTH = 1000
PERSISTENCE = 0.95
Pair = tuple[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class Reproducibility(Result):
    """Similarity of a pair of runs and its reproduction; arrays are by measure."""

    original: Pair  # the advanced run and its baseline
    reproduced: Pair
    measures: tuple[str, ...] = ()
    tau: tuple[float, float] = (math.nan, math.nan)  # for a and for b; means over the queries
    ktu: tuple[float, float] = (math.nan, math.nan)
    rbo: tuple[float, float] = (math.nan, math.nan)
    rmse: Floats = field(default_factory=lambda: np.zeros((0, 2)))  # [measure, a or b]
    p: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    effect_ratio: Floats = field(default_factory=lambda: np.zeros(0))
    delta_relative_improvement: Floats = field(default_factory=lambda: np.zeros(0))
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # the notes of `evaluate`

    @property
    def title(self) -> str:
        """The runs; the second of each pair is the baseline."""
        original, reproduced = " over ".join(self.original), " over ".join(self.reproduced)
        return f"original {original}, reproduced {reproduced}: the second is the baseline"

    @property
    def summary(self) -> str:
        """The similarity of the rankings, and the share of the improvement reproduced under the first measure."""
        rankings = (
            f"The rankings of the advanced run and of the baseline agree with their originals by RBO "
            f"{self.rbo[0]:.3f} and {self.rbo[1]:.3f}."
        )
        if not self.measures:
            return rankings
        effect = f"{self.measures[0]}: the reproduced improvement is {self.effect_ratio[0]:.3f} times the original one."
        return effect if math.isnan(self.rbo[0]) else f"{rankings} {effect}"

    def tables(self) -> Tables:
        """Return the figures by measure."""
        return Tables({"measures": self._measures})

    def _measures(self) -> Table:
        """Return one row per measure. Without judgments, return one row with tau, ktu and RBO."""
        rows: list[tuple[Cell, ...]] = [
            (
                name, *self.tau, *self.ktu, *self.rbo, *self.rmse[m].tolist(), *self.p[m].tolist(),
                float(self.effect_ratio[m]), float(self.delta_relative_improvement[m]),
            )
            for m, name in enumerate(self.measures)
        ] or [("", *self.tau, *self.ktu, *self.rbo, *(math.nan,) * 6)]  # fmt: skip
        return Table(COLUMNS, tuple(rows), self.metadata)


def reproducibility(
    judgments: JudgmentsLike | None,
    original: Sequence[RunLike],
    reproduced: Sequence[RunLike],
    measures: Measures = DEFAULT_MEASURES,
    *,
    like: str | Convention | None = None,
    ties: TieRule | None = None,
    relevant: float | None = None,
    depth: int | None = None,
    condensed: bool = False,
    empty: Policy | None = None,
    missing: Policy | None = None,
    degenerate: Policy | None = None,
    precision: Precision | None = None,
    costs: Costs | None = None,
    document_groups: GroupsLike | None = None,
    unmatched: Unmatched = "error",
    jobs: int | None = None,
    warn: bool = True,
) -> Reproducibility:
    """Measure how well a pair of runs was reproduced.

    judgments: as for `evaluate`, or None to compute only tau, ktu and RBO.
    original, reproduced: the advanced run and its baseline, each a run, a path, or {query: {document: score}}.

    All other options are those of `evaluate`.

    >>> qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    >>> better = {"q1": {"d1": 2, "d2": 1}, "q2": {"d2": 2, "d1": 1}}
    >>> worse = {"q1": {"d1": 2, "d2": 1}, "q2": {"d1": 1}}
    >>> again = reproducibility(qrels, [better, worse], [better, worse], "RR")
    >>> again.tau, float(again.effect_ratio[0]), float(again.delta_relative_improvement[0])
    ((1.0, 1.0), 1.0, 0.0)
    """
    for what, pair in (("original", original), ("reproduced", reproduced)):
        check_type(what, pair, Sequence, "two runs, the advanced one and its baseline")
        if len(pair) != 2:
            raise CalipersError(f"{len(pair)} {what} runs: expected two, the advanced one and its baseline")
    known = None if judgments is None else as_judgments(judgments)
    runs = [_opened(run) for run in (*original, *reproduced)]
    names = tuple(run.name for run in runs)
    documents = [run.to_dict() for run in runs]
    rankings = [_rankings(each) for each in documents]
    found: dict[str, Any] = {
        "tau": tuple(_mean_over(documents[i], documents[i + 2], tau_of_ranks) for i in (0, 1)),
        "ktu": tuple(_mean_over(rankings[i], rankings[i + 2], kendall_union) for i in (0, 1)),
        "rbo": tuple(_mean_over(rankings[i], rankings[i + 2], normalised_rbo) for i in (0, 1)),
    }
    if known is not None:
        scores = evaluate(
            known, _told_apart(runs), measures, like=like, ties=ties, relevant=relevant, depth=depth,
            condensed=condensed, empty=empty, missing=missing, degenerate=degenerate, precision=precision, costs=costs,
            document_groups=document_groups, unmatched=unmatched, jobs=jobs, warn=warn,
        )  # fmt: skip
        found |= _of_scores(scores, (0, 1, 2, 3))
        found |= {"metadata": dict(scores.metadata), "notes": scores.notes}
    return Reproducibility((names[0], names[1]), (names[2], names[3]), **found)


def _told_apart(runs: Sequence[Run]) -> list[RenamedRun]:
    """Return the four runs. Runs that share a name are renamed by their role, such as "bm25, reproduced"."""
    names = [run.name for run in runs]
    roles = ("original", "original baseline", "reproduced", "reproduced baseline")
    return [
        RenamedRun(run, run.name if names.count(run.name) == 1 else f"{run.name}, {role}")
        for run, role in zip(runs, roles, strict=True)
    ]


def reproducibility_of_scores(scores: Scores, original: Sequence[str], reproduced: Sequence[str]) -> Reproducibility:
    """Compare systems, given by their names, from their scores alone: without tau, ktu and RBO."""
    a, b, again_a, again_b = (place_of("system", system, scores.systems) for system in (*original, *reproduced))
    return Reproducibility(
        (original[0], original[1]), (reproduced[0], reproduced[1]), **_of_scores(scores, (a, b, again_a, again_b)),
        metadata=dict(scores.metadata),
    )  # fmt: skip


def _of_scores(scores: Scores, places: tuple[int, int, int, int]) -> dict[str, Any]:
    first, again = np.array(places[:2]), np.array(places[2:])
    rmse, p, ratio, delta = [], [], [], []
    for values in scores.values:
        d = Differences.of(values, first, again)
        with np.errstate(divide="ignore", invalid="ignore"):
            rmse.append(np.sqrt(np.square(d.value).sum(axis=1) / d.n))
            p.append(student(values, first, again).p)
            four = values[list(places)]
            a, b, again_a, again_b = four[:, ~np.isnan(four).any(axis=0)].mean(axis=1)
            ratio.append((again_a - again_b) / (a - b))
            delta.append((a - b) / b - (again_a - again_b) / again_b)
    return {
        "measures": scores.measures, "rmse": np.array(rmse), "p": np.array(p), "effect_ratio": _finite(ratio),
        "delta_relative_improvement": _finite(delta),
    }  # fmt: skip


def _finite(ratios: Sequence[float]) -> Floats:
    """Return the ratios. Those with a denominator of 0 are undefined (NaN)."""
    return np.where(np.isfinite(ratios), ratios, np.nan)


def _opened(run: Any) -> Run:
    named = {"run": run} if isinstance(run, Mapping) else [run]
    return as_runs(named)[0]


def _rankings(documents: Mapping[str, Mapping[str, float]]) -> dict[str, list[str]]:
    """Return the documents of each query, best first, ties by id descending as in trec_eval."""
    return {
        query: sorted(ranked, key=lambda document: (ranked[document], encode(document)), reverse=True)[:DEPTH]
        for query, ranked in documents.items()
        if ranked
    }


def _mean_over(one: Mapping[str, Any], other: Mapping[str, Any], like: Any) -> float:
    values = [like(ranked, other[query]) for query, ranked in one.items() if query in other]
    defined = [value for value in values if not math.isnan(value)]
    return float(np.mean(defined)) if defined else math.nan


def tau_of_ranks(one: Mapping[str, float], other: Mapping[str, float], depth: int = DEPTH) -> float:
    """Return Kendall's tau-b of the ranks of documents in two lists, given as {document: score}.

    The documents are those of either list, to a depth. A document that a list lacks ranks below all documents of that
    list. The result is NaN for fewer than two documents, and if one list gives all of them the same rank.

    >>> round(tau_of_ranks({"a": 3, "b": 2, "c": 1}, {"a": 9, "c": 8, "b": 7}), 4)
    0.3333
    """
    from scipy.stats import kendalltau

    first, second = _ranks(one, depth), _ranks(other, depth)
    union = [*dict.fromkeys((*first, *second))]
    if len(union) < 2:
        return math.nan
    x, y = ([ranks.get(document, math.inf) for document in union] for ranks in (first, second))
    return float(kendalltau(x, y).statistic)


def _ranks(scores: Mapping[str, float], depth: int) -> dict[str, int]:
    """Return the rank of each document to a depth. Tied documents share the first of their ranks."""
    ascending = np.sort([*scores.values()])
    above = len(scores) - np.searchsorted(ascending, [*scores.values()], side="right")
    return {document: rank for document, rank in zip(scores, (above + 1).tolist(), strict=True) if rank <= depth}


def kendall_union(one: Sequence[str], other: Sequence[str]) -> float:
    """Return repro_eval's `ktu` of two lists, or NaN for fewer than two documents.

    The longer list is cut to the length of the shorter one.

    >>> kendall_union(["a", "b", "c"], ["a", "b", "c"])
    1.0
    """
    from scipy.stats import kendalltau

    size = min(len(one), len(other))
    if size < 2:
        return math.nan
    one, other = one[:size], other[:size]
    number = {document: i for i, document in enumerate(sorted({*one, *other}))}
    first, second = [number[document] for document in one], [number[document] for document in other]
    return float(kendalltau(first, second).statistic)


def normalised_rbo(one: Sequence[str], other: Sequence[str], p: float = PERSISTENCE, depth: int = DEPTH) -> float:
    """Return the rank-biased overlap to a depth, divided by its largest possible value.

    >>> normalised_rbo(["a", "b"], ["a", "b"], depth=2)
    1.0
    """
    rank = {document: i for i, document in enumerate(other[:depth])}
    both = [max(i, rank[document]) for i, document in enumerate(one[:depth]) if document in rank]
    shared = np.cumsum(np.bincount(np.array(both, np.int64), minlength=depth))
    weight = p ** np.arange(depth)
    return float((weight * shared / np.arange(1, depth + 1)).sum() / weight.sum())
