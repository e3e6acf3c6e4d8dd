"""Which documents to judge: pools of the first documents of some runs, in the order in which they are worth judging.

    depth        what any system ranks among the first k, best ranks first
    rbp          by the weight of the ranks that a document has, summed over the systems
    interleaved  the first document of each system in turn, then the second of each, ...
    next         what decides most between systems whose order is open (see `next_best`)

Spärck Jones & van Rijsbergen, Report on the need for and provision of an ideal information retrieval test collection,
Cambridge 1975 (pools). Moffat, Webber & Zobel, Strategic system comparisons via targeted relevance judgments,
SIGIR 2007 (pools weighted by RBP).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.sources import RunsLike
from calipers.collection.writing import check_trec_field
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.inputs import as_judgments, as_runs, notes_on_reading
from calipers.fusion.candidates import Ballots
from calipers.fusion.oracles import judged as with_grades
from calipers.lists import Floats, Ints
from calipers.measures.forms.linear import weighted_sum
from calipers.measures.grammar import parse_all
from calipers.measures.registry import Measure
from calipers.measures.weights import Geometric, Weights
from calipers.plurals import counted
from calipers.results.result import Result, Tables
from calipers.results.tables import Table

METHODS = ("depth", "rbp", "interleaved", "next")


@dataclass(frozen=True, eq=False, repr=False)
class JudgingPool(Result):
    """Documents to judge, what is worth most first.

    >>> import calipers as cal
    >>> runs = {"x": {"q": {"a": 3, "b": 2, "c": 1}}, "y": {"q": {"b": 3, "d": 2, "a": 1}}}
    >>> print(cal.pool(runs, depth=2))
    3 documents to judge, method depth
    query  document   value  systems
    -----  --------  ------  -------
    q      b         0.1800        2
    q      a         0.1640        2
    q      d         0.0800        1
    3 documents of 1 query to judge.
    """

    method: str
    query: tuple[str, ...]  # of each document
    document: tuple[str, ...]
    value: Floats
    systems: Ints  # how many retrieve it
    shares: Table  # of each system: how much of its score the pool and the judgments cover together
    open_pairs: int | None = None  # of the method next: pairs whose order could still change
    metadata: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.document)

    @property
    def title(self) -> str:
        """What was asked, and of how much."""
        return f"{counted(len(self), 'document')} to judge, method {self.method}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        if self.open_pairs == 0:
            return "No judgment can change the order of any two systems: there is nothing to judge next."
        queries = counted(len(set(self.query)), "query")
        left = (
            "" if self.open_pairs is None else f" The order of {counted(self.open_pairs, 'pair')} of systems is open."
        )
        return f"{counted(len(self), 'document')} of {queries} to judge.{left}"

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"documents": self._documents, "shares": lambda: self.shares})

    def _documents(self) -> Table:
        """query, document, value, systems."""
        rows = tuple(zip(self.query, self.document, self.value.tolist(), self.systems.tolist(), strict=True))
        return Table(("query", "document", "value", "systems"), rows, self.metadata)

    def to_qrels(self) -> str:
        """Return lines of TREC's qrels with an empty grade, to be filled in."""
        for what, ids in (("query", self.query), ("document", self.document)):
            for text in ids:
                check_trec_field(text, f"the {what}", "Write JSON lines instead.")
        return "".join(f"{query} 0 {document} \n" for query, document in zip(self.query, self.document, strict=True))

    def to_jsonl(self) -> str:
        """Return one JSON object per line: query, document, grade (null), value, systems."""
        return "".join(
            json.dumps({"query": query, "document": document, "grade": None, "value": value, "systems": systems}) + "\n"
            for query, document, value, systems in self.table().rows
        )


def pool(
    runs: RunsLike,
    depth: int | None = None,
    *,
    judged: Any = None,
    budget: int | None = None,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    method: str | None = None,
    p: float = 0.8,
    unseen: int = 0,
    max_grade: float | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> JudgingPool:
    """Which documents to judge, what is worth most first.

    depth: only the first so many documents of each list. budget: at most so many documents, over all queries.
    judged: judgments that there are already; their documents, and queries that they lack, are left out.
    method: `depth`, `rbp`, `interleaved` or `next`; without it `next` where there are judgments and measures, else
        `depth` where a depth is given, else `rbp`.
    measures: of the method `next`, nDCG or linear measures; for the others, what the covered shares are of.
    p: the persistence of RBP, whose weights are the value of a document: summed over the systems that retrieve it and
        divided by the number of systems, so that all documents of a complete pool add up to 1 per query.
    """
    chosen = _method(method, depth, judged, measures)
    for what, number in (("depth", depth), ("budget", budget)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1):
            raise CalipersError(f"{what} {number} is not a whole number of at least 1")
    if not 0 < p < 1:
        raise CalipersError(f"p={p} is not between 0 and 1")
    if chosen != "next" and depth is None and budget is None:
        raise CalipersError("how many documents? give a depth or a budget")
    read = as_runs(runs)
    judgments = None if judged is None else as_judgments(judged)
    warn_user(notes_on_reading(judgments, read), warn)
    if chosen == "next":
        from calipers.unjudged.next_to_judge import next_pool

        assert judgments is not None
        return next_pool(judgments, read, measures, depth, budget, unseen, max_grade, jobs, progress)
    ballots = Ballots.of(read, None, jobs, progress)
    known = np.zeros(len(ballots), bool)
    if judgments is not None:
        ballots = with_grades(ballots, judgments)
        assert ballots.grade is not None
        known = ~np.isnan(ballots.grade)
    value = ballots.sum(_weights(p).mean(ballots.rank, ballots.rank)) / len(ballots.runs)
    inside = np.ones(len(ballots.candidate), bool) if depth is None else ballots.rank <= depth
    pooled = np.zeros(len(ballots), bool)
    pooled[ballots.candidate[inside]] = True
    order = _order(chosen, ballots, value)
    order = order[(pooled & ~known)[order]]
    order = order if budget is None else order[:budget]
    taken = known.copy()
    taken[order] = True
    query = np.repeat(np.arange(len(ballots.queries)), np.diff(ballots.offsets))[order]
    return JudgingPool(
        chosen,
        tuple(ballots.queries[q] for q in query.tolist()),
        tuple(ballots.documents.take(order).texts()),
        value[order],
        ballots.count[order],
        _shares(ballots, taken, measures, p),
        metadata={"method": chosen, "depth": depth, "budget": budget, "p": p},
    )


def _method(method: str | None, depth: int | None, judged: Any, measures: Any) -> str:
    if method is None:
        method = "next" if judged is not None and measures is not None else "rbp" if depth is None else "depth"
    if method not in METHODS:
        raise CalipersError(f"unknown method '{method}'; expected one of {', '.join(METHODS)}")
    if method == "next" and judged is None:
        raise CalipersError("what to judge next depends on what is judged: give judgments")
    return method


def _weights(p: float) -> Weights:
    return Weights(Geometric(p))


def _order(method: str, ballots: Ballots, value: Floats) -> Ints:
    """The candidates, what to judge first first; equal ones by query, then in the order of the runs."""
    if method == "rbp":
        return np.argsort(-value, kind="stable")
    best = np.full(len(ballots), np.iinfo(np.int64).max)
    np.minimum.at(best, ballots.candidate, ballots.rank)
    if method == "depth":
        return np.lexsort((-value, best))
    # A document belongs to the turn of the first system that ranks it so high.
    turn = np.full(len(ballots), np.iinfo(np.int64).max)
    at_best = ballots.rank == best[ballots.candidate]
    np.minimum.at(turn, ballots.candidate[at_best], ballots.voter[at_best])
    return np.lexsort((turn, best))


def _shares(ballots: Ballots, taken: NDArray[np.bool_], measures: Any, p: float) -> Table:
    """Of each system: the weight of its documents that are judged or in the pool, as a share of all of them."""
    weighed = linear_weights(measures) if measures is not None else {f"RBP(p={p:g})": _weights(p)}
    rows = []
    for name, weight in weighed.items():
        of_ballot = weight.mean(ballots.rank, ballots.rank)
        covered, total = (
            np.bincount(ballots.voter, of_ballot * chosen, len(ballots.runs))
            for chosen in (taken[ballots.candidate], np.ones(len(of_ballot)))
        )
        rows += [
            (run, name, float(part / whole) if whole > 0 else 1.0)
            for run, part, whole in zip(ballots.runs, covered, total, strict=True)
        ]
    return Table(("system", "measure", "share"), tuple(rows))


def linear_weights(measures: str | Measure | Iterable[str | Measure]) -> dict[str, Weights]:
    """The weights of the ranks under linear measures, or shares of one."""
    found = {}
    for name, measure in parse_all(measures):
        linear = weighted_sum(measure.form)
        if linear is None:
            raise CalipersError(f"{name} has no weight for each rank; use nDCG@k, P@k, RBP or another linear measure")
        found[name] = linear.weight
    return found
