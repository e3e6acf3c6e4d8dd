"""RIC of each system with AP, nDCG and GAP, and the lists with a high RIC because their order is reversed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.preferences import Preferences
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats
from calipers.measures.information import CUTS, order_information
from calipers.questions.information.rankings import QueryRankings, Rankings, in_parallel, notes_on_silent
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores
from calipers.results.tables import Cell, Table
from calipers.support.checks import check_choice, check_type
from calipers.support.plurals import counted

OTHERS = ("AP", "nDCG", "GAP")


@dataclass(frozen=True, eq=False, repr=False)
class RicStudy(Result):
    """RIC with and without its sign, and other measures, on the queries for which RIC is defined."""

    scores: Scores  # RIC, signed, AP, nDCG, GAP
    skipped: int = 0  # number of queries without a relevant document or with only one grade
    finds_nothing: tuple[str, ...] = ()  # systems that retrieve no judged document
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about systems that retrieve no judged document."""
        return notes_on_silent(self.finds_nothing, len(self.systems))

    @property
    def systems(self) -> tuple[str, ...]:
        return self.scores.systems

    def mean(self, measure: str) -> Floats:
        """Return the mean of each system."""
        return np.asarray(self.scores[measure].mean(axis=1))

    @property
    def wrong_way_round(self) -> NDArray[np.bool_]:
        """Lists with more pairs in the wrong order than in the right order, as [system, query]."""
        return np.asarray(self.scores["signed"] < 0)

    @property
    def title(self) -> str:
        """Title with the numbers of systems and queries."""
        return f"RIC of {counted(len(self.systems), 'system')} on {counted(len(self.scores.queries), 'query')}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        ric = self.mean("RIC")
        best = int(ric.argmax())
        return f"{self.systems[best]} has the most information about the judgments: RIC {ric[best]:.4f} bits."

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"means": self._means, "queries": self.scores.per_query})

    def _means(self) -> Table:
        """Return one row per system: system, RIC, signed, AP, nDCG."""
        columns = ("RIC", "signed", "AP", "nDCG")
        means = [self.mean(name).tolist() for name in columns]
        return Table(("system", *columns), tuple(zip(self.systems, *means, strict=True)), self.metadata)


def ric(evaluation: Evaluation, *, rel: float = 1.0, cut: str = "relevant") -> RicStudy:
    """Return the relevance information correlation (RIC) of each run, with AP, nDCG and GAP for comparison.

    All means are over the queries for which RIC is defined. Such a query has a relevant document and documents of
    different grades.

    rel: the smallest grade that is relevant.
    cut: RIC reads each list down to its last relevant document (`relevant`), or all of it (`none`).

    >>> import calipers as cal
    >>> judgments = {"q": {"r1": 1, "r2": 1, "a": 0, "b": 0, "c": 0}}
    >>> run = {"q": {"a": 5, "b": 4, "c": 3, "r1": 2, "r2": 1}}
    >>> print(cal.questions.information.ric(cal.Experiment(judgments, run)).table())
    system     RIC   signed      AP    nDCG
    ------  ------  -------  ------  ------
    run     1.0000  -1.0000  0.3250  0.5013
    <BLANKLINE>
    """
    check_type("evaluation", evaluation, Evaluation, "an Experiment")
    judged = "NumRet(judged_only=True)"
    check_choice("cut", cut, CUTS)
    wanted = [f"RIC(rel={rel:g},cut={cut})", f"RIC(rel={rel:g},cut={cut},signed=True)", f"AP(rel={rel:g})"]
    wanted += ["nDCG", "GAP", judged]
    options = evaluation.options.changed(empty="skip")
    asked = evaluation.of_measures(wanted).changed(options=options, unmatched="warn", warn=False)
    scores = asked.scores
    counted = np.flatnonzero(~np.isnan(scores.values[0]).any(axis=0))
    if not len(counted):
        raise CalipersError(
            "no query has a relevant document and documents of different grades", file=evaluation.judgments.name
        )
    part = Scores(
        measures=("RIC", "signed", *OTHERS),
        systems=scores.systems,
        queries=tuple(scores.queries[q] for q in counted.tolist()),
        values=scores.values[:-1, :, counted],
        reasons=scores.reasons[:-1, :, counted],
        metadata=scores.metadata,
    )
    nothing = np.flatnonzero(~(scores[judged] > 0).any(axis=1))
    study = RicStudy(
        scores=part,
        skipped=len(scores.queries) - len(counted),
        finds_nothing=tuple(scores.systems[s] for s in nothing.tolist()),
        metadata={"rel": rel, "cut": cut, "ties": options.ties},
    )
    warn_user(study.notes, evaluation.warn)
    return study


DRAWS = 5
SEED = 42


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceRic(Result):
    """RIC of each system on judged pairs, for each query."""

    systems: tuple[str, ...]
    queries: tuple[str, ...]
    bits: Floats  # [system, query]; below 0 if more pairs are in the wrong order than in the right order
    null: Floats  # [draw, system, query]: RIC of shuffled lists, without the sign
    skipped: int = 0  # number of queries without an ordered pair
    notes: tuple[str, ...] = ()  # notes about the runs
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Title with the numbers of systems and queries."""
        return f"RIC of {counted(len(self.systems), 'system')} on judged pairs of {counted(len(self.queries), 'query')}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        signed = self.bits.mean(axis=1)
        best = int(signed.argmax())
        shuffled = float(self.null.mean())
        return (
            f"{self.systems[best]} agrees best with the judged pairs: {signed[best]:.4f} bits. Shuffled lists get "
            f"{shuffled:.4f}."
        )

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"means": self._means, "queries": self.per_query})

    def _means(self) -> Table:
        """system, RIC, signed, null_mean (of shuffled lists)."""
        columns = (np.abs(self.bits).mean(axis=1), self.bits.mean(axis=1), self.null.mean(axis=(0, 2)))
        rows = tuple(zip(self.systems, *(column.tolist() for column in columns), strict=True))
        return Table(("system", "RIC", "signed", "null_mean"), rows, self.metadata)

    def per_query(self) -> Table:
        """system, query, RIC, signed."""
        rows: list[tuple[Cell, ...]] = [
            (system, query, abs(bits), bits)
            for system, of_system in zip(self.systems, self.bits.tolist(), strict=True)
            for query, bits in zip(self.queries, of_system, strict=True)
        ]
        return Table(("system", "query", "RIC", "signed"), tuple(rows), self.metadata)


def preference_ric(
    evaluation: Evaluation, *, cut: str = "relevant", draws: int = DRAWS, seed: int = SEED
) -> PreferenceRic:
    """Return the RIC of each run on judged pairs of documents, and that of shuffled lists.

    cut: lists end after the last document that is preferred to another (`relevant`), or are not cut (`none`).
    draws, seed: number of times the lists are shuffled, and the seed.

    >>> import calipers as cal
    >>> judged = cal.Preferences.from_pairs([("q", "a", "b"), ("q", "b", "c"), ("q", "c", "a"), ("q", "a", "b")])
    >>> exp = cal.Experiment(judged, {"s": {"q": {"a": 3, "b": 2, "c": 1}}})
    >>> print(cal.questions.information.preference_ric(exp, draws=1).table().rows[0][:3])
    ('s', 0.18872187554086717, 0.18872187554086717)
    """
    check_type("evaluation", evaluation, Evaluation, "an Experiment")
    if not isinstance(evaluation.known, Preferences):
        raise CalipersError("the judgments are grades, not preferences: use calipers.questions.information.ric")
    found = preference_ric_of(Rankings.of_evaluation(evaluation, 1.0, cut), draws, seed, evaluation.jobs)
    warn_user(found.notes, evaluation.warn)
    return found


def preference_ric_of(
    rankings: Rankings, draws: int = DRAWS, seed: int = SEED, jobs: int | None = None
) -> PreferenceRic:
    """Return the RIC of these rankings on judged pairs of documents."""

    def of_query(query: QueryRankings) -> tuple[str, Floats, Floats]:
        random = np.random.default_rng([seed, query.draw])
        shuffled = [_signed(query, query.shuffled(random)) for _ in range(draws)]
        return query.query, _signed(query, query.rank), np.abs(np.array(shuffled))

    found = list(in_parallel(of_query, rankings.queries(), jobs))
    if not found:
        raise CalipersError("no query has an ordered pair of documents", file=rankings.judgments.name)
    names, bits, null = zip(*found, strict=True)
    return PreferenceRic(
        systems=rankings.systems,
        queries=tuple(names),
        bits=np.array(bits).T,
        null=np.moveaxis(np.array(null), 0, 2),
        skipped=len(rankings.judgments.queries) - len(names),
        notes=rankings.notes,
        metadata={"draws": draws, "seed": seed},
    )


def _signed(query: QueryRankings, rank: NDArray[np.int32]) -> Floats:
    """Return the RIC of each system, negative if more pairs are in the wrong order. Tied pairs count half each way."""
    rank = query.until_last_relevant(rank)
    right, wrong = np.zeros(len(rank)), np.zeros(len(rank))
    for better, worse in query.sides(rank, *query.ties):
        beyond = tuple(range(1, better.ndim))
        right += np.count_nonzero(better < worse, axis=beyond) / len(query.ties)
        wrong += np.count_nonzero(better > worse, axis=beyond) / len(query.ties)
    return np.copysign(order_information(right, wrong) / query.size, right - wrong) + 0.0
