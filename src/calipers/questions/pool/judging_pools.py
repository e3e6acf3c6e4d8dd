"""Pools: documents to judge, the most valuable first.

    depth        documents that any system ranks among the first k, best ranks first
    rbp          by the RBP weight of the document's ranks, summed over the systems
    interleaved  the first document of each system in turn, then the second of each, ...
    next         documents that decide most between systems whose order is open (see `next_pool`)

Spärck Jones & van Rijsbergen, Report on the need for and provision of an ideal information retrieval test collection,
Cambridge 1975 (pools). Moffat, Webber & Zobel, Strategic system comparisons via targeted relevance judgments,
SIGIR 2007 (pools weighted by RBP).

For `next`: an unjudged document d can move the difference of systems A and B by up to

    (largest gain - smallest gain) * |w_A(d) - w_B(d)| / ideal

which is summed over the pairs that are open and averaged over the queries. After each batch of judgments it is to be
worked out again: pairs get decided, and the ideals change.

Carterette, Allan & Sitaraman, Minimal test collections for retrieval evaluation, SIGIR 2006.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from calipers.collection.judgments import Judgments
from calipers.collection.runs import Run
from calipers.collection.sources import RunsLike
from calipers.collection.texts import read_titles
from calipers.collection.writing import check_trec_field
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.candidates import ScoredCandidates
from calipers.evaluation.evaluation import Evaluation, Measures
from calipers.evaluation.inputs import as_runs, notes_on_reading
from calipers.lists import Floats, Ints
from calipers.measures.forms import Linear
from calipers.measures.forms.linear import weighted_sum
from calipers.measures.forms.shares import numerator_and_denominator
from calipers.measures.grammar import parse_all
from calipers.measures.weights import Geometric, Weights
from calipers.questions.fuse.oracles import judged as with_grades
from calipers.questions.ranges.extreme_grades import extreme_grades, growth_of
from calipers.questions.ranges.gradings import CELLS
from calipers.questions.ranges.open_lists import OpenScores
from calipers.questions.ranges.score_ranges import ranges
from calipers.results.result import Result, Tables
from calipers.results.tables import Cell, Table
from calipers.support.checks import check_choice, check_whole
from calipers.support.plurals import counted, verb

PoolMethod = Literal["depth", "rbp", "interleaved", "next"]
Texts = str | os.PathLike[str] | Mapping[str, str]  # a file that `calipers.read_titles` reads, or {id: text}
METHODS: tuple[PoolMethod, ...] = get_args(PoolMethod)


@dataclass(frozen=True, eq=False, repr=False)
class JudgingPool(Result):
    """Documents to judge, the most valuable first.

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
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.document)

    @property
    def title(self) -> str:
        """The subject of the result, with the number of documents."""
        return f"{counted(len(self), 'document')} to judge, method {self.method}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        if self.open_pairs == 0:
            return "No judgment can change the order of any two systems: there is nothing to judge next."
        queries = counted(len(set(self.query)), "query")
        left = (
            ""
            if self.open_pairs is None
            else f" Judgments can still change the order of {counted(self.open_pairs, 'pair')} of systems."
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

    def ratings(
        self,
        *,
        judged: Judgments | None = None,
        query_texts: Texts | None = None,
        document_texts: Texts | None = None,
    ) -> Table:
        """Return a table with empty ratings to fill in. As CSV it is read as judgments again.

        judged: judgments that follow with their ratings, so that the file has all of them.
        query_texts, document_texts: {id: text} or files, for raters to read.

        >>> import calipers as cal
        >>> pool = cal.pool({"x": {"q1": ["a", "b"]}}, depth=1)
        >>> print(pool.ratings(query_texts={"q1": "red shoes"}, document_texts={"a": "Shoe"}).to_csv(), end="")
        query_id,query,document_id,title,rating
        q1,red shoes,a,Shoe,
        """
        rows: list[tuple[str, str, float | None]] = [
            (query, document, None) for query, document in zip(self.query, self.document, strict=True)
        ]
        known = {} if judged is None else judged.to_dict()
        rows += [(query, document, grade) for query, graded in known.items() for document, grade in graded.items()]
        queries = _texts(query_texts, {query for query, _, _ in rows})
        titles = _texts(document_texts, {document for _, document, _ in rows})
        columns = ("query_id", *(("query",) if query_texts else ()), "document_id")
        columns += ("title",) if document_texts else ()
        cells: list[tuple[Cell, ...]] = []
        for query, document, grade in rows:
            text = [queries.get(query, "")] if query_texts else []
            title = [titles.get(document, "")] if document_texts else []
            cells.append((query, *text, document, *title, grade))
        return Table((*columns, "rating"), tuple(cells))

    def to_jsonl(self) -> str:
        """Return one JSON object per line: query, document, grade (null), value, systems."""
        return "".join(
            json.dumps({"query": query, "document": document, "grade": None, "value": value, "systems": systems}) + "\n"
            for query, document, value, systems in self.table().rows
        )


def _texts(source: Texts | None, ids: Collection[str]) -> Mapping[str, str]:
    """Return the texts of these ids, each on one line."""
    found = source if isinstance(source, Mapping) else {} if source is None else read_titles(source, ids=ids)
    return {each: " ".join(str(text).split()) for each, text in found.items()}


def pool(
    runs: RunsLike,
    *,
    depth: int | None = None,
    budget: int | None = None,
    method: PoolMethod | None = None,
    p: float = 0.8,
    measures: Measures | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> JudgingPool:
    """Return the documents of runs to judge, the most valuable first. Where judgments exist, ask `Experiment.pool`.

    depth: use only the first `depth` documents of each list. budget: return at most this many documents, over all
        queries. One of the two is needed.
    method: `depth` (by the best rank), `rbp` (by RBP weight) or `interleaved` (each system in turn). The default is
        `depth` if a depth is given, otherwise `rbp`.
    p: the persistence of RBP. The value of a document is its RBP weight, averaged over the systems. The values of all
        documents of a complete pool add up to 1 per query.
    measures: the measures of the table `shares`, which says how much of a system's score the pool covers. They must
        have one weight per rank. The default is RBP.

    >>> runs = {"x": {"q": {"a": 3, "b": 2, "c": 1}}, "y": {"q": {"b": 3, "d": 2, "a": 1}}}
    >>> pool(runs, depth=1).document
    ('b', 'a')
    """
    if method == "next":
        raise CalipersError("the method next needs judgments: use Experiment(judgments, runs, measures).pool()")
    chosen = method or ("rbp" if depth is None else "depth")
    check_choice("method", chosen, METHODS)
    opened = tuple(as_runs(runs))
    weights = linear_weights(f"RBP(p={p:g})" if measures is None else measures) if 0 < p < 1 else {}
    warn_user(notes_on_reading(None, opened), warn)
    return _pooled(opened, None, _Wanted(chosen, depth, budget, p), weights, jobs, progress)


def pool_of(
    evaluation: Evaluation,
    *,
    depth: int | None = None,
    budget: int | None = None,
    method: PoolMethod = "next",
    p: float = 0.8,
    unseen: int = 0,
    max_grade: float | None = None,
) -> JudgingPool:
    """Return the unjudged documents of an experiment to judge next, the most valuable first.

    method: `next` returns the documents that could decide most between systems whose order is open, under the measures
        of the experiment. They must be nDCG or weighted sums; other measures are left out, and a note says so. For
        `depth`, `rbp` and `interleaved`, and for p, see `calipers.pool`.
    depth: use only the first `depth` documents of each list. budget: return at most this many documents, over all
        queries. With the method `next`, the default is 200.
    unseen, max_grade: for the method `next`, as for `Experiment.ranges`.

    >>> import calipers as cal
    >>> runs = {"x": {"q": {"a": 3, "b": 2, "c": 1}}, "y": {"q": {"c": 3, "d": 2, "a": 1}}}
    >>> cal.Experiment({"q": {"a": 1, "b": 0}}, runs, "nDCG@10", warn=False).pool(budget=1).document
    ('d',)
    """
    check_choice("method", method, METHODS)
    weights, left_out = _weights_and_others(evaluation)
    wanted = _Wanted(method, depth, budget, p)
    known, runs = evaluation.known, evaluation.runs
    if not runs:
        raise CalipersError("a pool needs at least one run")
    notes = (*notes_on_reading(known, runs), *left_out)
    warn_user(notes, evaluation.warn)
    if method == "next":
        request = evaluation.of_measures([evaluation.measures[name] for name in weights]).changed(warn=False)
        found = next_pool(request, depth, budget, unseen, max_grade)
    else:
        found = _pooled(runs, known, wanted, weights, evaluation.jobs, evaluation.progress)
    return replace(found, notes=notes)


@dataclass(frozen=True)
class _Wanted:
    """The pool that is wanted. Wrong numbers are refused."""

    method: str
    depth: int | None
    budget: int | None
    p: float

    def __post_init__(self) -> None:
        for what, number in (("depth", self.depth), ("budget", self.budget)):
            if number is not None:
                check_whole(what, number)
        if not 0 < self.p < 1:
            raise CalipersError(f"p={self.p} is not between 0 and 1")
        if self.method != "next" and self.depth is None and self.budget is None:
            raise CalipersError("how many documents? give a depth or a budget")


def _pooled(
    runs: Sequence[Run],
    judgments: Judgments | None,
    wanted: _Wanted,
    weights: Mapping[str, Weights],
    jobs: int | None,
    progress: Callable[[int], None] | None,
) -> JudgingPool:
    """Return a pool by depth, by RBP weight, or interleaved."""
    scored = ScoredCandidates.of(runs, None, jobs, progress)
    known = np.zeros(len(scored), bool)
    if judgments is not None:
        scored = with_grades(scored, judgments)
        assert scored.grade is not None
        known = ~np.isnan(scored.grade)
    value = scored.sum(_weights(wanted.p).mean(scored.rank, scored.rank)) / len(scored.runs)
    inside = np.ones(len(scored.candidate), bool) if wanted.depth is None else scored.rank <= wanted.depth
    pooled = np.zeros(len(scored), bool)
    pooled[scored.candidate[inside]] = True
    order = _order(wanted.method, scored, value)
    order = order[(pooled & ~known)[order]]
    order = order if wanted.budget is None else order[: wanted.budget]
    taken = known.copy()
    taken[order] = True
    query = np.repeat(np.arange(len(scored.queries)), np.diff(scored.offsets))[order]
    return JudgingPool(
        wanted.method,
        tuple(scored.queries[q] for q in query.tolist()),
        tuple(scored.documents.take(order).texts()),
        value[order],
        scored.count[order],
        _shares(scored, taken, weights),
        metadata=dict(vars(wanted)),
    )


def _weights_and_others(evaluation: Evaluation) -> tuple[dict[str, Weights], list[str]]:
    """Return the weights of the ranks under the measures that have them, and a note on the measures that do not."""
    found, others = {}, []
    for name, measure in evaluation.measures.items():
        linear = weighted_sum(measure.form)
        if linear is None:
            others.append(name)
        else:
            found[name] = linear.weight
    if not found:
        raise CalipersError(
            f"{', '.join(others)}: what to judge next is known for nDCG and linear measures, in which each document "
            "has a weight of its own. Here the value of a document depends on the grades of others. "
            "Use nDCG, P, Recall, DCG or RBP"
        )
    if not others:
        return found, []
    return found, [f"{', '.join(others)} {verb(len(others), 'has', 'have')} no weight for each rank: left out"]


def _weights(p: float) -> Weights:
    return Weights(Geometric(p))


def _order(method: str, scored: ScoredCandidates, value: Floats) -> Ints:
    """Return the candidates in the order of judging. Equal ones are ordered by query, then by run."""
    if method == "rbp":
        return np.argsort(-value, kind="stable")
    best = np.full(len(scored), np.iinfo(np.int64).max)
    np.minimum.at(best, scored.candidate, scored.rank)
    if method == "depth":
        return np.lexsort((-value, best))
    # A document belongs to the turn of the first system that ranks it so high.
    turn = np.full(len(scored), np.iinfo(np.int64).max)
    at_best = scored.rank == best[scored.candidate]
    np.minimum.at(turn, scored.candidate[at_best], scored.entry_run[at_best])
    return np.lexsort((turn, best))


def _shares(scored: ScoredCandidates, taken: NDArray[np.bool_], weights: Mapping[str, Weights]) -> Table:
    """Return, for each system, the share of its documents' weight that is judged or in the pool."""
    rows = []
    for name, weight in weights.items():
        of_entry = weight.mean(scored.rank, scored.rank)
        covered, total = (
            np.bincount(scored.entry_run, of_entry * chosen, len(scored.runs))
            for chosen in (taken[scored.candidate], np.ones(len(of_entry)))
        )
        rows += [
            (run, name, float(part / whole) if whole > 0 else 1.0)
            for run, part, whole in zip(scored.runs, covered, total, strict=True)
        ]
    return Table(("system", "measure", "share"), tuple(rows))


def linear_weights(measures: Measures) -> dict[str, Weights]:
    """Return the weights of the ranks under linear measures, or shares of one."""
    found = {}
    for name, measure in parse_all(measures):
        linear = weighted_sum(measure.form)
        if linear is None:
            raise CalipersError(f"{name} has no weight for each rank; use nDCG@k, P@k, RBP or another linear measure")
        found[name] = linear.weight
    return found


DEFAULT_BUDGET = 200


def next_pool(
    evaluation: Evaluation, depth: int | None, budget: int | None, unseen: int, max_grade: float | None
) -> JudgingPool:
    """Return the documents to judge next, the most valuable first. The measures must be weighted sums or shares."""
    found = ranges(evaluation, unseen=unseen, max_grade=max_grade)
    opened = found.open_scores[found.measures[0]].lists
    rows = np.arange(len(opened.ranks.place))
    if depth is not None:
        rows = rows[opened.ranks.place <= depth]
    code, one = opened.codes(rows)
    value = np.zeros(len(one))
    still_open = 0
    shares = []
    for name in found.measures:
        pairs = found.pair_ranges(name)
        still_open += int((~pairs.decided).sum())
        open_pairs = np.zeros((len(found.systems),) * 2, bool)
        open_pairs[pairs.a, pairs.b] = open_pairs[pairs.b, pairs.a] = ~pairs.decided
        value += values_of(found.open_scores[name], rows, code, one, open_pairs, budget or DEFAULT_BUDGET)
    order = np.argsort(-value, kind="stable")
    order = order[value[order] > 0][: budget or DEFAULT_BUDGET]
    taken = np.zeros(len(one), bool)
    taken[order] = True
    for name in found.measures:
        shares += _shares_of_next(found.open_scores[name], rows, taken[code])
    query = opened.list(one[order]) % opened.shape[1]
    return JudgingPool(
        "next",
        tuple(found.queries[q] for q in query.tolist()),
        tuple(opened.names(one[order])),
        value[order],
        np.bincount(code, minlength=len(one))[order],
        Table(("system", "measure", "share"), tuple(shares)),
        still_open,
        {"method": "next", "depth": depth, "budget": budget or DEFAULT_BUDGET, "measures": found.measures},
    )


def _weighted_sum(found: OpenScores) -> Linear:
    linear = weighted_sum(found.measure.form)
    assert linear is not None
    return linear


def unit_weights(found: OpenScores) -> Floats:
    """Return, for each unjudged document in each list, how far its grade can move the score."""
    of, divisor = _weighted_sum(found), numerator_and_denominator(found.measure.form)[1]
    block = found.lists.unknown(found.grades)
    extreme_grades(of, block, True)  # refuses what has no range
    worth = np.asarray(of.value(found.grades))
    weight = block.weights(of.weight) * (worth.max() - worth.min())
    if divisor is None:
        return np.asarray(weight)
    lists = block.lists
    by = np.broadcast_to(np.asarray(divisor(of, lists), np.float64), (len(lists),))
    if growth_of(divisor, of, block) is not None:  # where nothing is relevant yet, what one document would make of it
        by = np.maximum(by, worth.max() * of.weight.of_ranks(1).sum())
    return np.asarray(weight / np.where(by > 0, by, 1.0)[block.list])


def values_of(
    found: OpenScores, rows: Ints, code: Ints, one: Ints, open_pairs: NDArray[np.bool_], wanted: int
) -> Floats:
    """Return, for each document, how far judging it can narrow the ranges of open pairs, averaged over queries.

    rows, code, one: unjudged documents of lists, and which are the same. Where there are many documents, only as many
    are worked out as may be among the `wanted` best; the others count 0.
    """
    opened = found.lists
    weight = unit_weights(found)[rows] / opened.shape[1]
    system = opened.list(rows) // opened.shape[1]
    degree = open_pairs.sum(axis=1).astype(np.float64)
    bound = np.bincount(code, weight * degree[system], len(one))  # |w_A - w_B| <= w_A + w_B
    order = np.argsort(-bound, kind="stable")
    order = order[bound[order] > 0]
    by_code = np.argsort(code, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=len(one)))])
    value = np.zeros(len(one))
    systems = opened.shape[0]
    at_once = max(CELLS // systems**2, 1)
    apart = np.triu(open_pairs, 1)
    a, b = np.nonzero(apart)
    for start in range(0, len(order), at_once):
        chosen = order[start : start + at_once]
        if start >= wanted and np.partition(value[order[:start]], -wanted)[-wanted] >= bound[chosen[0]]:
            break
        count = ends[chosen + 1] - ends[chosen]
        row = by_code[
            np.repeat(ends[chosen], count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        ]
        dense = np.zeros((len(chosen), systems))
        dense[np.repeat(np.arange(len(chosen)), count), system[row]] = weight[row]
        value[chosen] = np.abs(dense[:, a] - dense[:, b]).sum(axis=1)
    return value


def _shares_of_next(found: OpenScores, rows: Ints, taken: NDArray[np.bool_]) -> list[tuple[str, str, float]]:
    """Return, for each system, the weight of its documents that are judged or taken, as a share of all of them."""
    of = _weighted_sum(found)
    block = found.lists.unknown(found.grades)
    systems, queries = found.lists.shape
    weight = block.weights(of.weight)
    open_, narrowed = (
        np.bincount(block.list // queries, each, systems)
        for each in (weight, np.bincount(rows[taken], weight[rows[taken]], len(weight)))
    )
    judged = np.bincount(block.lists.list // queries, of.weight.mean(block.lists.first, block.lists.last), systems)
    total = judged + open_
    return [
        (system, found.name, float((judged[s] + narrowed[s]) / total[s]) if total[s] > 0 else 1.0)
        for s, system in enumerate(found.lists.systems)
    ]
