"""Upper bounds and oracles of fusion, which use the judgments.

    naive         candidates by descending grade: an upper bound, no fusion of these runs can score more
    pareto        the best order in which a document stays above another if all runs rank it higher
    majoritarian  the best order in which a document stays above another if at least half of the runs rank it higher,
                  and not half of the runs the other way round

Only `naive` is an upper bound. The other two respect unanimity or the majority of the runs. A fusion method need not do
so. The pairs whose order is fixed form a directed graph. Documents on a cycle of the graph can be in any order among
themselves. We search for the order that respects the graph and has the largest AP (grades of 1 or more are relevant).
The search is exact if few relevant documents must stay below others. Otherwise it is a look-ahead, which is never worse
than the order of a run that respects the rule. Under unanimity every run respects it.

Montague instead sorts with a comparator: "above by the rule, otherwise by grade". This comparator can be cyclic. Take
the runs A B C D and C D A B, with B and D relevant. The comparator puts A over B, B over C by grade, C over D, and D
over A by grade. So the result depends on the sort algorithm. `by="sort"` uses a merge sort that starts from the order
of grades, to reproduce published results.

Montague, Metasearch: data fusion for document retrieval, PhD thesis, Dartmouth College 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from calipers.collection.judgments import Judgments
from calipers.collection.mismatch import no_query_in_common
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.candidates import Ranks, ScoredCandidates
from calipers.evaluation.inputs import as_judgments
from calipers.lists import SAID_OF, Floats, Ints
from calipers.native.ids import Ids, encode
from calipers.questions.fuse.combine import FusedRun, fused, several
from calipers.questions.fuse.methods import places, sorted_by_votes
from calipers.support.checks import check_choice
from calipers.support.choices import FusionBound

BOUNDS = get_args(FusionBound)
RULES = {"pareto": "unanimity", "majoritarian": "the majority"}  # rules that oracles respect; naive respects none
BY = ("search", "sort")
# With by="sort", a document goes above another by the votes of all (pareto) or half (majoritarian) of these runs:
# all: all runs. cast: the runs that retrieve at least one of the two documents; if half of them vote each way, the
# grade decides. half: the runs of cast; if half of them vote each way, the document that is compared first stays first.
VOTES = ("all", "cast", "half")
UNJUDGED = 0.0  # grade of unjudged documents
RELEVANT = 1.0  # smallest grade that counts as relevant in AP
MOST_CELLS = 400_000_000  # largest number of pairs of documents of one query; about a gigabyte


def fusion_bound(
    judgments: JudgmentsLike,
    runs: RunsLike,
    kind: str = "naive",
    *,
    by: str = "search",
    votes: str = "all",
    depth: int | None = None,
    keep: int | None = None,
    name: str | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> FusedRun:
    """Return the best fusion of the runs for a user who knows the judgments.

    kind: naive, pareto or majoritarian. Montague calls all three upper bounds, but only naive is one. pareto and
    majoritarian are oracles that respect unanimity or the majority of the runs. `exactness` of the returned run is
    "exact" if its order has the largest AP among the allowed orders for all queries, and "look-ahead" otherwise.
    `exact_queries` is the number of queries with an exact order.
    by: "search" searches for the best order that respects the rule. "sort" sorts with Montague's comparator (by the
    rule, otherwise by grade). The comparator can be cyclic, so that its result may break the rule.
    votes: for by="sort", the runs of which all (pareto) or half (majoritarian) must agree: all runs ("all"), or the
    runs that retrieve at least one of the two documents ("cast"). "half" is like "cast", but with equal votes the
    document that is compared first stays first, while "cast" decides by grade.

    Unjudged documents count as grade 0. Queries without judgments are left out. depth, keep and warn as for `fuse`.

    >>> runs = {"x": {"q": dict(A=4, B=3, C=2, D=1)}, "y": {"q": dict(C=4, D=3, A=2, B=1)}}
    >>> list(fusion_bound({"q": {"B": 1, "D": 1}}, runs, "pareto").to_dict()["q"])
    ['A', 'B', 'C', 'D']
    >>> list(fusion_bound({"q": {"B": 1, "D": 1}}, runs, "naive").to_dict()["q"])
    ['B', 'D', 'A', 'C']
    """
    check_kind(kind)
    check_choice("by", by, BY)
    check_choice("votes", votes, VOTES)
    if by == "search" and votes != VOTES[0]:
        raise CalipersError(f"votes={votes} works only with by='sort': by='search' counts the votes of all runs")
    if depth is not None and depth < 1:
        raise CalipersError(f"depth must be a whole number of at least 1, not {depth}")
    known = as_judgments(judgments)
    scored = judged(ScoredCandidates.of(several(runs), depth, jobs, progress), known)
    if by == "sort" and kind in RULES:
        made = fused(scored, sorted_score(scored, kind, votes=votes), name or kind, keep)
        warn_user(made.fusion_notes, warn)
        return replace(made, exactness="sorted")
    score, exact = oracle_score(scored, kind)
    made = fused(scored, score, name or kind, keep)
    warn_user(made.fusion_notes, warn)
    return replace(made, exactness="exact" if exact.all() else "look-ahead", exact_queries=int(exact.sum()))


def oracle_note(kind: str, made: FusedRun) -> str:
    """Return a note that explains a bound or an oracle, with the number of queries for which it is exact."""
    if kind not in RULES:
        return f"{kind}: an upper bound; no fusion of these runs can score more"
    if made.exactness == "sorted":
        return (
            f"{kind}: sorted with a comparator that puts a document above another by {RULES[kind]} of the runs, and "
            "otherwise by grade; the comparator can be cyclic, so that the result may break the rule"
        )
    total = len(made.load().queries)
    exact = made.exact_queries or 0
    rest = "" if exact == total else f", and a look-ahead for {total - exact}, for which a better order may exist"
    return (
        f"{kind}: an oracle that respects {RULES[kind]} of the runs, not an upper bound; the order with the largest AP "
        f"for {exact} of {total} queries{rest}"
    )


def check_kind(kind: str) -> None:
    if kind not in BOUNDS:
        raise CalipersError(f"unknown bound '{kind}'; expected one of {', '.join(BOUNDS)}")


def judged(scored: ScoredCandidates, judgments: Judgments) -> ScoredCandidates:
    """Return the entries of queries with judgments, and look up the grades of the candidates."""
    if judgments.pool.kind != "grades":
        raise CalipersError(
            f"the bounds need one grade per document, but these look like {SAID_OF[judgments.pool.kind]}",
            file=judgments.name,
        )
    index = judgments.index
    place = [index.query(encode(query)) for query in scored.queries]
    kept = [q for q, at in enumerate(place) if at >= 0]
    if not kept:
        raise no_query_in_common(judgments, [Ids.of(scored.queries)])
    if len(kept) < len(scored.queries):
        scored, place = scored.of_queries(kept), [place[q] for q in kept]
    query = np.repeat(place, np.diff(scored.offsets)).tolist()
    row = np.fromiter(map(index.find, query, scored.documents.tolist()), np.int64, len(scored))
    grade = np.full(len(scored), np.nan)
    grade[row >= 0] = judgments.pool.grade[row[row >= 0]]
    return replace(scored, grade=grade, row=row)


def oracle_score(scored: ScoredCandidates, kind: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Return a score per candidate: n for the first of n candidates of a query, 1 for the last.

    Also return True for each query for which no allowed order has a larger AP.
    """
    assert scored.grade is not None
    score, exact = np.empty(len(scored)), np.ones(len(scored.queries), bool)
    grade = np.where(np.isnan(scored.grade), UNJUDGED, scored.grade)
    for q, (start, end) in enumerate(zip(scored.offsets[:-1].tolist(), scored.offsets[1:].tolist(), strict=True)):
        by_id: Ints = np.lexsort(scored.words[start:end].T[::-1])
        gain = grade[start:end][by_id]
        if kind == "naive":
            order: Ints = np.argsort(-gain, kind="stable")
        else:
            found = _oracle(gain, scored.ranks(q)[:, by_id], scored.missing, kind == "pareto")
            order, exact[q] = found.order, found.exact
        score[start + by_id[order]] = np.arange(end - start, 0, -1)
    return score, exact


def _oracle(gain: Floats, rank: Ranks, missing: int, unanimous: bool) -> Found:
    """Return the best order of one query's documents. The documents are given by ascending id."""
    upper, above = stays_above(rank, missing, unanimous)
    component, condensed = _condensed(len(gain), upper, above)
    greedy = emitted(gain, component, condensed)
    above &= component[upper][:, None] != component
    relevant = np.flatnonzero(gain >= RELEVANT)
    relevant = relevant[np.argsort(-gain[relevant], kind="stable")]
    places = [np.flatnonzero(each[relevant] != missing) for each in rank]
    runs = [at[np.argsort(each[relevant[at]])].tolist() for at, each in zip(places, rank, strict=True)]
    return best_order(relevant.tolist(), above, upper, greedy, runs)


def sorted_score(scored: ScoredCandidates, kind: str, start: Ints | None = None, votes: str = VOTES[0]) -> Floats:
    """Return a score per candidate, like `oracle_score`, from a merge sort by the rule and otherwise by grade.

    start: order in which the sort starts; by default descending grades. votes: one of VOTES.
    """
    assert scored.grade is not None
    grade = np.where(np.isnan(scored.grade), UNJUDGED, scored.grade)
    order = scored.ordered(grade) if start is None or kind == "naive" else start
    if kind == "naive":
        return places(scored, order)
    runs = len(scored.runs)
    needed, share, half_stays = rule_of_votes(kind, votes, runs)
    return sorted_by_votes(scored, order, np.ones(runs), needed, grade, share, half_stays)


def rule_of_votes(kind: str, votes: str, runs: int) -> tuple[float, bool, bool]:
    """Return arguments of `sort_by_votes`: votes needed, True if they are a share, True if half keeps the order."""
    part = 1.0 if kind == "pareto" else 0.5
    share = votes != VOTES[0]
    return part if share else part * runs, share, votes == VOTES[2]


def stays_above(rank: Ranks, missing: int, unanimous: bool) -> tuple[Ints, Above]:
    """Return the documents that must stay above another, and a matrix [one of them, document] of these pairs.

    rank: [run, document]. unanimous: True if all runs must agree. Otherwise at least half of the runs must agree, and
    fewer than half disagree.
    """
    runs, size = rank.shape
    needed = runs if unanimous else runs / 2
    # A document must be retrieved by enough runs to stay above another. Few documents are.
    upper = np.flatnonzero((rank != missing).sum(axis=0) >= needed)
    if len(upper) * size > MOST_CELLS:
        raise CalipersError(
            f"{size} documents of one query, {len(upper)} of them retrieved by many runs, are too many to compare "
            "in pairs; set a depth"
        )
    votes = np.zeros((len(upper), size), np.uint16)
    for each in rank:
        votes += each[upper, None] < each
    above = votes >= needed
    if not unanimous:
        inside = above[:, upper]
        above[:, upper] = inside & ~inside.T
    return upper, above


def emitted(gain: Floats, component: Ints, above: Above) -> Ints:
    """Return an order of documents that respects the graph, placing the best component that is free at each step.

    Documents are given by ascending id. above: [component, component].
    """
    by_grade = np.argsort(-gain, kind="stable")  # documents of a cycle: by grade, then by id
    inside = by_grade[np.argsort(component[by_grade], kind="stable")]
    start = np.searchsorted(component[inside], np.arange(above.shape[1] + 1))
    best = -gain[inside[start[:-1]]]
    first = np.minimum.reduceat(inside, start[:-1])  # the smallest id
    keys = list(zip(best.tolist(), first.tolist(), range(len(best)), strict=True))
    waits = above.sum(axis=0, dtype=np.int32)
    free = [keys[c] for c in np.flatnonzero(waits == 0).tolist()]
    heapify(free)
    order = []
    while free:
        c = heappop(free)[2]
        order.append(c)
        if c < len(above):
            below = above[c]
            waits -= below
            for each in np.flatnonzero(below & (waits == 0)).tolist():
                heappush(free, keys[each])
    size = np.diff(start)[order]
    ends = np.cumsum(size)
    return inside[np.repeat(start[order] - (ends - size), size) + np.arange(len(gain))]


def _condensed(size: int, upper: Ints, above: Above) -> tuple[Ints, Above]:
    """Merge the documents of each cycle into one component.

    Return the component of each document, and a matrix [component, component] that is True if the first must stay above
    the second. Components that must stay above another come first.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    cycles, label = connected_components(csr_array(above[:, upper]), directed=True, connection="strong")
    component = np.empty(size, np.int64)
    rest = np.ones(size, bool)
    rest[upper] = False
    component[upper] = label
    component[rest] = np.arange(cycles, cycles + rest.sum())
    joined = np.zeros((cycles, cycles + int(rest.sum())), bool)
    if cycles == len(upper):
        joined[np.ix_(label, component)] = above
    else:
        by_cycle = np.argsort(label, kind="stable")
        starts = np.searchsorted(label[by_cycle], np.arange(cycles))
        rows = np.logical_or.reduceat(above[by_cycle], starts, axis=0)
        columns = np.argsort(component, kind="stable")
        joined = np.logical_or.reduceat(
            rows[:, columns], np.searchsorted(component[columns], np.arange(joined.shape[1])), axis=1
        )
    np.fill_diagonal(joined, False)
    return component, joined


LAYER = 48  # largest number of sets of relevant documents per layer
Above = NDArray[np.bool_]


@dataclass(frozen=True)
class Found:
    """Order of documents. `exact` is True if no allowed order has a larger AP."""

    order: Ints
    exact: bool


def best_order(
    relevant: Sequence[int], above: Above, upper: Ints, greedy: Ints, runs: Sequence[Sequence[int]]
) -> Found:
    """Return the best allowed order of documents 0, 1, ...

    relevant: relevant documents, best grades first. above: True at [i, document] if upper[i] must stay above the
    document; without cycles. greedy: any allowed order. runs: for each run, positions in `relevant` in the order of the
    run. The result scores at least as much as each run after nonrelevant documents that need not stay above are moved
    down.
    """
    if not relevant:
        return Found(greedy, True)
    blocks = _Blocks.of(relevant, above, upper, greedy)
    sequence, exact = blocks.searched()
    value = blocks.value(sequence)
    for run in () if exact else runs:
        other = blocks.completed(run)
        if (better := blocks.value(other)) > value:
            sequence, value = other, better
    return Found(blocks.whole(sequence), exact)


@dataclass(frozen=True)
class _Blocks:
    """Documents that must stay above each relevant document. Sets are stored as the bits of an integer."""

    others: list[int]  # nonrelevant documents above, numbered by the greedy order
    before: list[int]  # relevant documents above, numbered as in `relevant`
    relevant: Sequence[int]
    greedy: Ints

    @classmethod
    def of(cls, relevant: Sequence[int], above: Above, upper: Ints, greedy: Ints) -> _Blocks:
        place = np.empty(len(greedy), np.int64)
        place[greedy] = np.arange(len(greedy))
        ancestors = _ancestors(above, upper, np.array(relevant))  # [relevant document, one of upper]
        number = {document: i for i, document in enumerate(relevant)}
        others, before = [], []
        for row in ancestors:
            documents = upper[np.flatnonzero(row)]
            named = [number.get(document) for document in documents.tolist()]
            before.append(sum(1 << i for i in named if i is not None))
            bits = np.zeros(len(greedy), np.uint8)
            bits[place[[d for d, i in zip(documents.tolist(), named, strict=True) if i is None]]] = 1
            others.append(int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little"))
        return cls(others, before, relevant, greedy)

    def searched(self) -> tuple[list[int], bool]:
        """Return the best order of relevant documents that was found, and True if no set was dropped."""
        size, exact = len(self.relevant), True
        # For each set of relevant documents: SP so far, nonrelevant documents placed so far, and the order.
        layer: dict[int, tuple[float, int, tuple[int, ...]]] = {0: (0.0, 0, ())}
        for count in range(1, size + 1):
            following: dict[int, tuple[float, int, tuple[int, ...]]] = {}
            for done, (value, used, order) in layer.items():
                free = [i for i in range(size) if not done >> i & 1 and not self.before[i] & ~done]
                costs = [(self.others[i] & ~used).bit_count() for i in free]
                if 0 in costs:
                    free, costs = [free[costs.index(0)]], [0]
                depth = used.bit_count() + count
                for i, cost in zip(free, costs, strict=True):
                    reached = value + count / (depth + cost)
                    known = following.get(done | 1 << i)
                    if known is None or reached > known[0] + 1e-15:
                        following[done | 1 << i] = reached, used | self.others[i], (*order, i)
            if len(following) > LAYER:
                exact = False
                best = sorted(following.items(), key=lambda each: -self._promise(each[1][0], each[1][1], count))[:LAYER]
                following = dict(best)
            layer = following
        ((_, _, order),) = layer.values()
        return list(order), exact

    def _promise(self, value: float, used: int, count: int) -> float:
        """Return the largest possible SP: SP so far, plus the gain if all other relevant documents came next."""
        depth, size = used.bit_count(), len(self.relevant)
        return value + (size - count) - depth * (self._harmonic[depth + size] - self._harmonic[depth + count])

    @cached_property
    def _harmonic(self) -> list[float]:
        """Harmonic numbers 1 + 1/2 + ... + 1/n for n = 0, 1, ..."""
        return [0.0, *np.cumsum(1.0 / np.arange(1, len(self.greedy) + len(self.relevant) + 1)).tolist()]

    def completed(self, order: Sequence[int]) -> list[int]:
        """Return the relevant documents in the order of a run, as far as allowed, then all other relevant documents."""
        done, found = 0, []
        for i in (*order, *range(len(self.relevant))):
            waiting = self.before[i] & ~done
            for j in (*sorted(_members(waiting), key=lambda j: self.before[j].bit_count()), i):
                if not done >> j & 1:
                    done |= 1 << j
                    found.append(j)
        return found

    def value(self, sequence: Sequence[int]) -> float:
        """Return SP, which is AP times the number of relevant documents."""
        total, used = 0.0, 0
        for count, i in enumerate(sequence, 1):
            used |= self.others[i]
            total += count / (used.bit_count() + count)
        return total

    def whole(self, sequence: Sequence[int]) -> Ints:
        """Return an order of all documents.

        Each relevant document follows the documents that must stay above it. All others come last, in the greedy order.
        """
        used, order = 0, []
        for i in sequence:
            order += self.greedy[_members(self.others[i] & ~used)].tolist()
            order.append(self.relevant[i])
            used |= self.others[i]
        rest = np.ones(len(self.greedy), bool)
        rest[order] = False
        return np.concatenate([np.array(order, np.int64), self.greedy[rest[self.greedy]]])


def _members(bits: int) -> list[int]:
    """Return the members of a set in ascending order."""
    if not bits:
        return []
    data = np.frombuffer(bits.to_bytes(-(-bits.bit_length() // 8), "little"), np.uint8)
    members: list[int] = np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist()
    return members


def _ancestors(above: Above, upper: Ints, documents: Ints) -> Above:
    """Return [document, i], True if upper[i] must stay above the document, directly or through other documents."""
    found = above[:, documents].T
    between = above[:, upper].T.astype(np.float32)  # [below, above]
    while True:
        wider = found | (found.astype(np.float32) @ between > 0)
        if (wider == found).all():
            return np.asarray(found)
        found = wider
