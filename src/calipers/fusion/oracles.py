"""What fusing some runs could reach, for one who knows the judgments: a bound, and two oracles that keep to a rule.

    naive         every candidate by its grade: a bound, nothing that is made of these runs can be better
    pareto        what all runs put above something stays above it; apart from that, as good as possible
    majoritarian  what at least half of the runs put above something, and not half the other way round, stays above it;
                  apart from that, as good as possible

Only `naive` is a bound. The other two respect unanimity or the majority, as a fusion need not. What has to stay above
what is a directed graph. Documents on a cycle are free among themselves: runs that disagree in a circle have no say. Of
all orders that keep to the graph the best in AP (relevant is grade 1 or more) is searched for, exactly where few
relevant documents are held up, else by a look-ahead that is never worse than the order of a run that keeps to the rule;
under unanimity every run does.

Montague sorts with a comparator instead ("above, and otherwise by grade"). That is no order: runs A B C D and C D A B,
B and D relevant, put A over B, B over C by grade, C over D, and D over A by grade, so the result depends on the sort.
`by="sort"` does it all the same, by a merge sort from the order of grades, to repeat what was published.

Montague, Metasearch: data fusion for document retrieval, PhD thesis, Dartmouth College 2002.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from calipers.checks import check_choice
from calipers.choices import FusionBound
from calipers.collection.judgments import Judgments
from calipers.collection.mismatch import no_query_in_common
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.inputs import as_judgments
from calipers.fusion.allowed_orders import Above, Found, best_order
from calipers.fusion.candidates import Ballots, Ranks
from calipers.fusion.combine import FusedRun, fused, several
from calipers.fusion.pairwise import places, sorted_by_votes
from calipers.lists import SAID_OF, Floats, Ints
from calipers.native.ids import Ids, encode

BOUNDS = get_args(FusionBound)
RULES = {"pareto": "unanimity", "majoritarian": "the majority"}  # that an oracle respects; naive respects nothing
BY = ("search", "sort")
# Of which votes an oracle's sort needs all (pareto) or half (majoritarian). all: of all runs. cast: of the runs that
# retrieve one of the two documents; with half on either side the grade decides. half: of the same runs, and half is
# enough, so that with half on either side the document that is compared first stays first.
VOTES = ("all", "cast", "half")
UNJUDGED = 0.0  # the grade of what nobody judged
RELEVANT = 1.0  # the least grade that AP counts
MOST_CELLS = 400_000_000  # pairs of documents of one query: about a gigabyte


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
    """Return what one who knows the judgments could make of some runs: naive, pareto or majoritarian.

    Montague calls all three upper bounds. Only naive is one; pareto and majoritarian are oracles that respect unanimity
    or the majority of the runs. `exactness` of the run says whether they are the best such order in AP for all queries
    (exact) or come from a look-ahead for some, and `exact_queries` for how many they are exact.

    by: search for the best order that respects the rule (search), or sort with Montague's comparator, above by the rule
    and otherwise by grade (sort). The comparator is no order, so that its result may break the rule. votes: with sort,
    the runs of which all (pareto) or half (majoritarian) are needed: all runs (all), those that retrieve one of the two
    documents (cast), or the same where half is enough (half).

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
        raise CalipersError(f"votes={votes} is for by=sort: a search counts the votes of all runs")
    if depth is not None and depth < 1:
        raise CalipersError(f"depth {depth} is not a whole number of at least 1")
    known = as_judgments(judgments)
    ballots = judged(Ballots.of(several(runs), depth, jobs, progress), known)
    if by == "sort" and kind in RULES:
        made = fused(ballots, sorted_score(ballots, kind, votes=votes), name or kind, keep)
        warn_user(made.fusion_notes, warn)
        return replace(made, exactness="sorted")
    score, exact = oracle_score(ballots, kind)
    made = fused(ballots, score, name or kind, keep)
    warn_user(made.fusion_notes, warn)
    return replace(made, exactness="exact" if exact.all() else "look-ahead", exact_queries=int(exact.sum()))


def oracle_note(kind: str, made: FusedRun) -> str:
    """Return a note on what a bound or an oracle is, and where it is exact."""
    if kind not in RULES:
        return f"{kind}: a bound; no fusion of these runs can score more"
    if made.exactness == "sorted":
        return (
            f"{kind}: sorted with a comparator that puts a document above another by {RULES[kind]} of the runs, and "
            "otherwise by grade; that is no order, and the result may break the rule"
        )
    total = len(made.load().queries)
    exact = made.exact_queries or 0
    rest = "" if exact == total else f", by look-ahead for {total - exact}: there a better one may exist"
    return (
        f"{kind}: an oracle that respects {RULES[kind]} of the runs, no bound; the best such order in AP for {exact} "
        f"of {total} queries{rest}"
    )


def check_kind(kind: str) -> None:
    if kind not in BOUNDS:
        raise CalipersError(f"unknown bound '{kind}'; expected one of {', '.join(BOUNDS)}")


def judged(ballots: Ballots, judgments: Judgments) -> Ballots:
    """The ballots on queries that have judgments, with the grades of the candidates."""
    if judgments.pool.kind != "grades":
        raise CalipersError(
            f"the bounds need one grade per document, but these look like {SAID_OF[judgments.pool.kind]}",
            file=judgments.name,
        )
    index = judgments.index
    place = [index.query(encode(query)) for query in ballots.queries]
    kept = [q for q, at in enumerate(place) if at >= 0]
    if not kept:
        raise no_query_in_common(judgments, [Ids.of(ballots.queries)])
    if len(kept) < len(ballots.queries):
        ballots, place = ballots.of_queries(kept), [place[q] for q in kept]
    query = np.repeat(place, np.diff(ballots.offsets)).tolist()
    row = np.fromiter(map(index.find, query, ballots.documents.tolist()), np.int64, len(ballots))
    grade = np.full(len(ballots), np.nan)
    grade[row >= 0] = judgments.pool.grade[row[row >= 0]]
    return replace(ballots, grade=grade, row=row)


def oracle_score(ballots: Ballots, kind: str) -> tuple[Floats, NDArray[np.bool_]]:
    """A score for each candidate that says nothing but the order: n for the first of n, 1 for the last.

    And for each query whether no order that keeps to the rule has a larger AP.
    """
    assert ballots.grade is not None
    score, exact = np.empty(len(ballots)), np.ones(len(ballots.queries), bool)
    grade = np.where(np.isnan(ballots.grade), UNJUDGED, ballots.grade)
    for q, (start, end) in enumerate(zip(ballots.offsets[:-1].tolist(), ballots.offsets[1:].tolist(), strict=True)):
        by_id: Ints = np.lexsort(ballots.words[start:end].T[::-1])
        worth = grade[start:end][by_id]
        if kind == "naive":
            order: Ints = np.argsort(-worth, kind="stable")
        else:
            found = _oracle(worth, ballots.ranks(q)[:, by_id], ballots.missing, kind == "pareto")
            order, exact[q] = found.order, found.exact
        score[start + by_id[order]] = np.arange(end - start, 0, -1)
    return score, exact


def _oracle(worth: Floats, rank: Ranks, missing: int, unanimous: bool) -> Found:
    """The best order of one query's documents, which are given by ascending id."""
    upper, above = stays_above(rank, missing, unanimous)
    component, condensed = _condensed(len(worth), upper, above)
    greedy = emitted(worth, component, condensed)
    above &= component[upper][:, None] != component
    relevant = np.flatnonzero(worth >= RELEVANT)
    relevant = relevant[np.argsort(-worth[relevant], kind="stable")]
    places = [np.flatnonzero(each[relevant] != missing) for each in rank]
    runs = [at[np.argsort(each[relevant[at]])].tolist() for at, each in zip(places, rank, strict=True)]
    return best_order(relevant.tolist(), above, upper, greedy, runs)


def sorted_score(ballots: Ballots, kind: str, start: Ints | None = None, votes: str = VOTES[0]) -> Floats:
    """The same by a merge sort whose comparator is "above, and otherwise by grade".

    It starts from the order of grades, or from another order of the candidates. votes: half of which runs are needed.
    """
    assert ballots.grade is not None
    grade = np.where(np.isnan(ballots.grade), UNJUDGED, ballots.grade)
    order = ballots.ordered(grade) if start is None or kind == "naive" else start
    if kind == "naive":
        return places(ballots, order)
    runs = len(ballots.runs)
    needed, share, half_stays = rule_of_votes(kind, votes, runs)
    return sorted_by_votes(ballots, order, np.ones(runs), needed, grade, share, half_stays)


def rule_of_votes(kind: str, votes: str, runs: int) -> tuple[float, bool, bool]:
    """What `sort_by_votes` takes for an oracle: the votes needed, whether that is a share, whether half is enough."""
    part = 1.0 if kind == "pareto" else 0.5
    share = votes != VOTES[0]
    return part if share else part * runs, share, votes == VOTES[2]


def stays_above(rank: Ranks, missing: int, unanimous: bool) -> tuple[Ints, Above]:
    """Which documents have to stay above which: the documents that stand above some, and [one of them, document].

    rank: [run, document]. unanimous: all runs say so; otherwise at least half of them, and not half the opposite.
    """
    runs, size = rank.shape
    needed = runs if unanimous else runs / 2
    # Only what so many runs retrieve can stand above something: mostly a small part.
    upper = np.flatnonzero((rank != missing).sum(axis=0) >= needed)
    if len(upper) * size > MOST_CELLS:
        raise CalipersError(
            f"{size} documents of one query, {len(upper)} of them retrieved by many runs, are too many to compare each "
            "two; give a depth"
        )
    votes = np.zeros((len(upper), size), np.uint16)
    for each in rank:
        votes += each[upper, None] < each
    above = votes >= needed
    if not unanimous:
        inside = above[:, upper]
        above[:, upper] = inside & ~inside.T
    return upper, above


def emitted(worth: Floats, component: Ints, above: Above) -> Ints:
    """The documents in an order that keeps to a graph of components, the best that is free at each step.

    Documents are given by ascending id; above: [component, component].
    """
    by_grade = np.argsort(-worth, kind="stable")  # inside a cycle: by grade, then id
    inside = by_grade[np.argsort(component[by_grade], kind="stable")]
    start = np.searchsorted(component[inside], np.arange(above.shape[1] + 1))
    best = -worth[inside[start[:-1]]]
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
    return inside[np.repeat(start[order] - (ends - size), size) + np.arange(len(worth))]


def _condensed(size: int, upper: Ints, above: Above) -> tuple[Ints, Above]:
    """The graph with each cycle as one node.

    The component of each document, and [component, component] which stay above which. Those that stand above some come
    first.
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
