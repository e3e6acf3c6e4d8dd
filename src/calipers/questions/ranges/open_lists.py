"""Lists with unjudged documents: where these documents stand, and which documents they are.

Ties are broken once, by `Lists.under`, for the judged documents. The unjudged documents have the ranks that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, pairwise
from os import cpu_count
from typing import Any

import numpy as np

from calipers.collection.document_facts import costs_of, notes_on_costs
from calipers.collection.id_codes import as_words
from calipers.collection.judgments import Judgments
from calipers.collection.mismatch import no_query_in_common
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import Run
from calipers.collection.whole_runs import whole_run
from calipers.errors import CalipersError
from calipers.evaluation.candidates import ranked_segments
from calipers.evaluation.options import ScoringOptions
from calipers.evaluation.scoring import score_lists
from calipers.lists import UNJUDGED, Floats, Ints, Lists, Pool, rank_in_ties
from calipers.measures.exactness import inexact_measures, may_sample, sampling_errors
from calipers.measures.forms import Form
from calipers.measures.registry import Measure
from calipers.native.columns import Retrieved, TieSpans
from calipers.native.ids import Ids
from calipers.native.scanner import PairNumbers, shared_bits
from calipers.questions.ranges.extreme_grades import extreme_grades, top_unknown
from calipers.questions.ranges.gradings import NoRange, Unknown, enumerated, number_of_gradings, spread


@dataclass(frozen=True, eq=False)
class UnjudgedRanks:
    """The ranks of unjudged documents. List i has the rows offsets[i] to offsets[i + 1], from the top down."""

    offsets: Ints
    first: Ints  # the ranks that the document's tie spans
    last: Ints
    place: Ints  # its own rank; averaged ties are ordered by document id

    @classmethod
    def of(cls, lists: Lists, ties: str, retrieved: Sequence[Retrieved]) -> UnjudgedRanks:
        """Return the ranks that the judged documents of the lists leave free.

        retrieved: what each run retrieved, from which the lists are made.
        """
        ranked = lists.under(ties)
        offsets = np.concatenate([[0], np.cumsum(lists.length - np.diff(lists.offsets))])
        place = np.flatnonzero(_is_free(ranked)) - np.repeat(_starts(lists.length), np.diff(offsets)) + 1
        all_ties = _ties_by_query(retrieved, lists.pool.queries) if ties == "average" else None
        if all_ties is None:
            return cls(offsets, place, place, place)
        of = np.repeat(np.arange(len(lists)), np.diff(offsets))
        return cls(offsets, *_tie_of(all_ties, of, place), place)

    def top(self, rank: int, more: int) -> UnjudgedRanks:
        """Return the documents whose tie begins at this rank or above, and up to `more` further ones per list."""
        inside = np.diff(np.searchsorted(np.flatnonzero(self.first <= rank), self.offsets))
        kept = np.minimum(np.diff(self.offsets), inside + more)
        row = spread(self.offsets[:-1], kept)
        offsets = np.concatenate([[0], np.cumsum(kept)])
        return UnjudgedRanks(offsets, self.first[row], self.last[row], self.place[row])


def _starts(length: Ints) -> Ints:
    return np.cumsum(length) - length


def _is_free(ranked: Lists) -> Any:
    """Return, for each rank of each list, whether no judged document has it."""
    free = np.ones(int(ranked.length.sum()), bool)
    rank = ranked.first if not ranked.tied or ranked.docid_rank is None else ranked.docid_rank
    if ranked.tied and ranked.docid_rank is None:  # documents without ids: all are judged
        free[:] = False
    else:
        free[_starts(ranked.length)[ranked.list] + rank - 1] = False
    return free


def _ties_by_query(runs: Sequence[Retrieved], queries: int) -> TieSpans | None:
    """Return the ties of all queries, run after run, or None if nothing is tied."""
    if not any(len(run.all_ties.first) for run in runs):
        return None
    place = np.full((len(runs), queries), -1)
    start = 0
    for s, run in enumerate(runs):
        place[s, run.query] = np.arange(start, start + len(run.query))
        start += len(run.query)
    # The last part is for queries that a run does not answer.
    joined = TieSpans.joined([*(run.all_ties for run in runs), TieSpans.none(1)])
    return joined.take(place.ravel())


def _tie_of(ties: TieSpans, of: Ints, rank: Ints) -> tuple[Ints, Ints]:
    """Return the first and the last rank of the tie that each rank is in. of: the list of each rank."""
    if not len(ties.first):
        return rank, rank
    most = int(max(rank.max(initial=0), ties.last.max(initial=0))) + 1
    member = np.repeat(np.arange(len(ties.offsets) - 1), np.diff(ties.offsets))
    at = np.searchsorted(member * most + ties.first, of * most + rank, side="right") - 1
    tied = (at >= 0) & (member[at] == of) & (ties.last[at] >= rank)
    return np.where(tied, ties.first[at], rank), np.where(tied, ties.last[at], rank)


@dataclass(frozen=True, eq=False)
class OpenLists:
    """The lists of some systems, all queries of each system in turn, with their unjudged documents.

    An unjudged document that several lists retrieve has a row in each.
    """

    judgments: Judgments
    systems: tuple[str, ...]
    lists: Lists  # the judged documents, ties averaged
    ties: str
    ranks: UnjudgedRanks  # of the unjudged documents, under the tie rule
    identify: Callable[[], tuple[Ints, Ids]]  # gives a number for the document of each row, and the id of each number
    jobs: int | None = field(default=None, kw_only=True)  # threads for all that follows; None: one for each processor
    cost: Floats | None = field(default=None, kw_only=True)  # of each row, where the costs of documents are known

    def with_costs(self, costs: Mapping[str, float]) -> OpenLists:
        """Return the same lists with the costs of unjudged documents."""
        return replace(self, cost=costs_of(costs, self.names(np.arange(len(self.ranks.first)))))

    def notes_on(self, costs: Mapping[str, float]) -> tuple[str, ...]:
        """Return a note on how many retrieved documents have no cost."""
        judged = np.unique(self.lists.document)
        names = self.judgments.document_names
        unjudged = self.names(np.arange(len(self.ranks.first)))
        return notes_on_costs(costs, chain(unjudged, (names[d] for d in judged.tolist())))

    @cached_property
    def shape(self) -> tuple[int, int]:
        return len(self.systems), len(self.judgments.queries)

    @cached_property
    def count(self) -> Ints:
        """[system, query]: the number of unjudged documents of each list."""
        return np.diff(self.ranks.offsets).reshape(self.shape)

    @cached_property
    def largest_union(self) -> int:
        """An upper bound on the number of unjudged documents that two lists of a query have together."""
        return 2 * int(self.count.max(initial=0))

    def list(self, rows: Ints) -> Ints:
        """Return the list of each of these rows."""
        return np.searchsorted(self.ranks.offsets, rows, side="right") - 1

    def unknown(self, grades: Floats, unseen: Ints | int = 0, within: tuple[int, int] | None = None) -> Unknown:
        """Return the lists as the block in which extreme scores are searched.

        unseen: documents that nobody retrieved, one number for all lists or one for each.
        within: keep only the documents of `UnjudgedRanks.top`, which have no costs then.
        """
        lists = self.lists
        if self.ties != "average":  # every document has a rank of its own
            lists = replace(lists.under(self.ties), docid_rank=None, input_rank=None, memo={})
        ranks = self.ranks if within is None else self.ranks.top(*within)
        cost = self.cost if within is None else None
        count = np.diff(ranks.offsets)
        more = np.broadcast_to(np.asarray(unseen, np.int64), (len(lists),))
        offsets = np.concatenate([[0], np.cumsum(count + more)])
        shown = spread(offsets[:-1], count)

        def with_unseen(column: Any, value: int = 0) -> Any:
            if column is None or not more.any():
                return column
            wider = np.full(int(offsets[-1]), value, column.dtype)
            wider[shown] = column
            return wider

        return Unknown(
            lists,
            offsets,
            with_unseen(ranks.first),
            with_unseen(ranks.last),
            with_unseen(ranks.place),
            grades,
            self.largest_union + int(more.max(initial=0)),
            with_unseen(cost, 1),
        )

    # -- which document is which ---------------------------------------------------------------------

    @cached_property
    def _identity(self) -> tuple[Ints, Ids]:
        return self.identify()

    @property
    def document(self) -> Ints:
        """The number of the document of each row. Numbers ascend query by query."""
        return self._identity[0]

    def codes(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return a number for each row, from 0 without gaps, and one row for each number.

        Rows of a query with the same document have the same number. Numbers ascend query by query.
        """
        _, one, code = np.unique(self.document[rows], return_index=True, return_inverse=True)
        return code.reshape(-1), rows[one]

    def shared(self, query: int, systems: Ints) -> Ints:
        """Return the number of unjudged documents of a query that two systems both retrieve, [system, system]."""
        lists = systems * self.shape[1] + query
        size = self.count.ravel()[lists]
        document = self.document[spread(self.ranks.offsets[lists], size)]
        code = document - (document.min() if len(document) else 0)
        shown = np.zeros((len(size), 64 * (int(code.max(initial=0)) // 64 + 1)), bool)
        shown[np.repeat(np.arange(len(size)), size), code] = True
        words = np.packbits(shown, axis=1).view(np.uint64)
        return shared_bits(words, words)

    def names(self, rows: Ints) -> Sequence[str]:
        """Return the document ids of some rows."""
        document, ids = self._identity
        return ids.take(document[rows]).texts()


def read_open_lists(
    judgments: Judgments,
    runs: Sequence[Run],
    options: ScoringOptions,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[OpenLists, list[Retrieved]]:
    """Read runs for the queries with judgments. Also return what `evaluate` reads of each run."""
    retrieved = []
    with ThreadPoolExecutor(jobs or cpu_count() or 1) as pool:
        for found in pool.map(lambda run: run.retrieved(judgments, options.depth or 0, options.precision), runs):
            retrieved.append(found)
            if progress:
                progress(1)
    if not any(len(found.query) for found in retrieved):
        unjudged = (found.unjudged for found in retrieved)
        raise no_query_in_common(judgments, unjudged)
    lists = Lists.of(judgments.pool, retrieved)
    systems = tuple(name for name, _ in distinct_names(runs))
    ranks = UnjudgedRanks.of(lists, options.ties, retrieved)
    identify = partial(_numbered_documents, judgments, tuple(runs), lists, options)
    return OpenLists(judgments, systems, lists, options.ties, ranks, identify, jobs=jobs), retrieved


def _numbered_documents(
    judgments: Judgments, runs: Sequence[Run], lists: Lists, options: ScoringOptions
) -> tuple[Ints, Ids]:
    """Return a number for each unjudged document of each list, query by query, and the id of each number.

    The runs are read one by one: only the numbers of their documents are kept.
    """
    pairs, numbers = PairNumbers(), [np.zeros(0, np.int32)]
    queries = len(judgments.queries)
    free, starts = _is_free(lists.under(options.ties)), np.concatenate([[0], np.cumsum(lists.length)])
    for s, run in enumerate(runs):
        is_free = free[starts[s * queries] : starts[(s + 1) * queries]]
        if is_free.any():
            query, documents = _by_rank(judgments, run, options)
            rows = np.flatnonzero(is_free)
            numbers.append(pairs.number(query[rows].astype(np.int32), documents.take(rows))[0])
    query, documents = pairs.pairs_so_far()
    by_query = np.argsort(query, kind="stable")
    place = np.empty(len(by_query), np.int64)
    place[by_query] = np.arange(len(by_query))
    return place[np.concatenate(numbers)], documents.take(by_query)


def _by_rank(judgments: Judgments, run: Run, options: ScoringOptions) -> tuple[Ints, Ids]:
    """Return every document of a run's lists by query and rank, and the query of each."""
    whole = whole_run(run)
    known = np.array([judgments.index.query(query) for query in whole.queries], np.int64)[whole.query]
    row = np.flatnonzero(known >= 0)
    row = row[np.argsort(known[row], kind="stable")]
    query, score = known[row], whole.score[row]
    if options.precision == "single":
        score = score.astype(np.float32).astype(np.float64)
    starts = np.searchsorted(query, np.arange(len(judgments.queries) + 1))
    order, first, last = ranked_segments(score, starts, lambda rows: as_words(whole.documents.take(row[rows])))
    rank = np.arange(1, len(order) + 1) - starts[query]
    if options.depth is not None:
        kept = rank <= options.depth
        order, first, rank, query = order[kept], first[kept], rank[kept], query[kept]
        last = np.minimum(last[kept], options.depth)
    if not (first != last).any():
        return query, whole.documents.take(row[order])
    by_input = np.empty_like(rank)
    by_input[np.lexsort((order, first, query))] = rank
    by_rank = np.lexsort((rank_in_ties(options.ties, first, last, rank, by_input), query))
    return query, whole.documents.take(row[order[by_rank]])


def possible_grades(judgments: Judgments, max_grade: float | None) -> Floats:
    """Return the grades that an unjudged document may get: whole grades from 0 on, and those that occur.

    >>> possible_grades(Judgments.from_dict({"q": {"a": 2, "b": 0.5, "c": -1}}), None)
    array([0. , 0.5, 1. , 2. ])
    """
    known = judgments.pool.grade
    top = judgments.pool.largest_grade if max_grade is None else max_grade
    if isinstance(top, bool) or not isinstance(top, int | float) or not 0 <= top <= 10_000:
        what = f"the largest grade, {top:g}," if max_grade is None else f"max_grade={max_grade}"
        raise CalipersError(f"{what} is not a number from 0 to 10,000")
    occurring = known[(known >= 0) & (known <= top)]
    return np.unique(np.concatenate([np.arange(int(top) + 1.0), occurring, [float(top)]]))


MOST_GRADINGS = 20_000  # of a list that are tried where there is no closed form
TOO_MANY_GRADINGS = (
    f"its range has no closed form, and a list has more than {MOST_GRADINGS:,} possible gradings, too many to try. "
    "Ranges of any size are known for nDCG, AP, RR, ERR, RBP, P, Recall, Success and other weighted sums of gains"
)
ROWS_AT_ONCE = 2_000_000  # documents whose lists are worked on in one go


@dataclass(frozen=True, eq=False)
class ScoreRange:
    """The ends of the range of each list, and gradings of the unknown documents that attain them."""

    low: Floats
    high: Floats
    lower: Floats  # a grade for each unknown document
    upper: Floats
    exactness: str  # exact or enumerated, and what is not exact of the scores, as `evaluate` says it


@dataclass(frozen=True, eq=False)
class OpenScores:
    """Scores of some systems under one measure, while some of their documents are unjudged."""

    name: str
    measure: Measure  # bound to the judgments
    lists: OpenLists
    grades: Floats  # that an unjudged document may get
    unseen: int  # documents per query that nobody retrieved
    options: ScoringOptions

    @cached_property
    def _block(self) -> Unknown:
        return self.lists.unknown(self.grades, self.unseen, top_unknown(self.measure.form))

    @cached_property
    def score(self) -> Floats:
        """[system, query]: the score of `evaluate`, in which unjudged documents stay unjudged."""
        parts = [_as_judged(self.measure, part, self.options) for part in blocks_of(self._block)]
        return np.concatenate(parts).reshape(self.lists.shape)

    @cached_property
    def range(self) -> tuple[Floats, Floats]:
        """[system, query]: the smallest and the largest score."""
        low, high = (np.concatenate([getattr(part, end) for part in self._ranges]) for end in ("low", "high"))
        return low.reshape(self.lists.shape), high.reshape(self.lists.shape)

    @property
    def exactness(self) -> str:
        """The way in which the ranges were found: exact or enumerated."""
        return _least_exact(part.exactness for part in self._ranges)

    @cached_property
    def _ranges(self) -> list[ScoreRange]:
        return [range_of(self.measure, part, self.options) for part in blocks_of(self._block)]


def bound_to(measure: Measure, pool: Pool, top: float) -> Measure:
    """Return the measure as `evaluate` scores it. Refuse one that a larger grade than any judged one would change."""
    bound = measure.bind(pool)
    wider = measure.bind(Pool(np.array([0, 1]), np.array([max(pool.largest_grade, top)])))
    if repr(bound) != repr(wider) and bound.form != wider.form:
        raise CalipersError(
            f"its scores depend on the largest grade of the judgments, {pool.largest_grade:g}, and unjudged documents "
            f"may get {top:g}. Name the largest grade of the scale in the measure, for example ERR(max_grade={top:g})"
        )
    return bound


def blocks_of(unknown: Unknown) -> Iterable[Unknown]:
    """Yield the lists in blocks that are not too large."""
    lists = unknown.lists
    size = lists.pool.size[lists.query] + unknown.count
    cuts = [0, *(np.flatnonzero(np.diff(np.cumsum(size) // ROWS_AT_ONCE)) + 1).tolist(), len(lists)]
    for start, stop in pairwise(cuts):
        if start < stop:
            yield unknown if stop - start == len(lists) else unknown.part(start, stop)


def scores_of(measure: Measure, options: ScoringOptions, lists: Lists) -> Floats:
    """Return the score of each list."""
    values: Floats = score_lists(lists, [measure], options).values[0]
    return values


def _as_judged(measure: Measure, unknown: Unknown, options: ScoringOptions) -> Floats:
    """Return the scores with unjudged documents as they are: without gain, but with their costs and groups."""
    if not _told_apart(measure.form, unknown):
        return scores_of(measure, options, unknown.lists)
    return scores_of(measure, options, unknown.graded(unknown.all(UNJUDGED)))


def _least_exact(found: Iterable[str]) -> str:
    """Return what holds for all parts that were found in these ways."""
    words = dict.fromkeys(word for each in found for word in each.split(", "))
    return ", ".join(word for word in words if word != "exact" or "enumerated" not in words)


def range_of(measure: Measure, unknown: Unknown, options: ScoringOptions) -> ScoreRange:
    """Return the range of each list: by a closed form where there is one, otherwise by trying all gradings."""
    try:
        gradings = [extreme_grades(measure.form, unknown, largest) for largest in (False, True)]
    except NoRange:
        return _range_by_trying(measure, unknown, options)
    form = measure.form
    matters = None if _told_apart(form, unknown) else form.grade_affects_score
    undefined = np.isnan(form.score(unknown.lists))
    ends = []
    for grade, largest in zip(gradings, (False, True), strict=True):
        value = scores_of(measure, options, unknown.graded(grade, matters))
        if undefined.any():  # nothing is relevant yet, and it may stay so
            nothing = np.where(undefined[unknown.list], _grade_of_least_gain(measure, unknown), grade)
            other = scores_of(measure, options, unknown.graded(nothing, matters))
            better = undefined & (other > value if largest else other < value)
            value = np.where(better, other, value)
            grade = np.where(better[unknown.list], nothing, grade)
        ends.append((value, grade))
    (low, lower), (high, upper) = ends
    return ScoreRange(low, high, lower, upper, _exactness("exact", measure, unknown, lower, upper))


def _range_by_trying(measure: Measure, unknown: Unknown, options: ScoringOptions) -> ScoreRange:
    if number_of_gradings(unknown) > MOST_GRADINGS:
        raise CalipersError(TOO_MANY_GRADINGS)
    lower, upper = enumerated(unknown, lambda lists: scores_of(measure, options, lists))
    low, high = (scores_of(measure, options, unknown.graded(grade)) for grade in (lower, upper))
    how = "enumerated" if len(unknown) else "exact"
    return ScoreRange(low, high, lower, upper, _exactness(how, measure, unknown, lower, upper))


def _exactness(how: str, measure: Measure, unknown: Unknown, *gradings: Floats) -> str:
    """Return how the ends were found, and what `evaluate` says is not exact of scores under these gradings."""
    drawn: set[int] = set()
    if list(may_sample([measure], ties=True)):
        for grade in gradings:
            drawn |= sampling_errors([measure], unknown.graded(grade)).keys()
    return ", ".join((how, *inexact_measures({"": measure}, drawn).values()))


def _told_apart(form: Form, unknown: Unknown) -> bool:
    """Return True if documents without gain differ from each other by their costs."""
    return form.traits.reads_costs and unknown.lists.pool.cost is not None


def _grade_of_least_gain(measure: Measure, unknown: Unknown) -> float:
    return float(unknown.grades[int(np.argmin(measure.form.gain(unknown.grades)))])
