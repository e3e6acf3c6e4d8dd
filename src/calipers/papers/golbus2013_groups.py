"""Many groups of ten systems for table 3 of Golbus & Aslam (2013): what each knows together, and RIC of its fusions.

A figure of the table is a rank correlation, or a root mean square error, over groups that are drawn at random, so its
error falls with the root of their number only. What all groups share (scaled scores, lists that are cut, orders by id)
is therefore computed once, and a group costs some hundredths of a second. RIC of a fused list is counted here from the
order of its documents; tests compare that with the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from calipers.collection.reader import processors
from calipers.fusion.candidates import Ballots, ranked_segments
from calipers.fusion.methods import METHODS, Votes
from calipers.fusion.oracles import UNJUDGED, sorted_score
from calipers.fusion.pairwise import condorcet_order
from calipers.information.joint import known_by_groups
from calipers.information.rankings import Rankings, in_parallel
from calipers.lists import Floats, Ints, Pool
from calipers.measures.information import order_information
from calipers.native.ids import Ids
from calipers.stats.correlation import rank_correlation

AGREEMENT = ("tau", "rho", "RMSE")
BLOCKS = 100  # of groups, each left out once for a standard error
FEW_DEALS = 20  # below which single groups are left out
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


# -- drawing -------------------------------------------------------------------------------------------------------


def dealt_groups(systems: int, samples: int, size: int, seed: int) -> Ints:
    """Groups of systems, [group, member], each in ascending order; more samples start with the same groups.

    The systems are shuffled and dealt out, `size` at a time, until too few are left, then shuffled again. Each group is
    a random one; but no system is in more groups than another by chance, which makes means over groups more precise.
    """
    random = np.random.default_rng(seed)
    hands = systems // size
    decks = [random.permutation(systems)[: hands * size].reshape(hands, size) for _ in range(-(-samples // hands))]
    return np.sort(np.concatenate(decks)[:samples], axis=1)


# -- agreement -----------------------------------------------------------------------------------------------------


def agreement(joint: Floats, ric: Floats) -> tuple[float, float, float]:
    """tau, rho and RMSE of two columns."""
    return (_tau(joint, ric), rank_correlation(joint, ric, "spearman"), float(np.sqrt(np.mean((joint - ric) ** 2))))


def errors_of_agreement(joint: Floats, ric: Floats, block: Ints) -> tuple[float, float, float]:
    """The standard errors of tau, rho and RMSE: the jackknife, leaving out one block of groups after the other."""
    without = np.array([agreement(joint[block != b], ric[block != b]) for b in range(int(block.max()) + 1)])
    apart = np.nan_to_num(without - without.mean(axis=0))
    tau, rho, rmse = np.sqrt((len(without) - 1) / len(without) * (apart**2).sum(axis=0)).tolist()
    return tau, rho, rmse


def blocks_of_deals(samples: int, hands: int) -> Ints:
    """Of each group: its block, where the `hands` groups of a deal stay together, for the error of dealt groups.

    Where there are few deals, a block is one group: the error is then that of groups that are drawn by themselves.
    """
    deals = -(-samples // hands)
    if deals < FEW_DEALS:
        return scattered_blocks(samples)
    return np.arange(samples) // hands * min(BLOCKS, deals) // deals


def scattered_blocks(samples: int) -> Ints:
    """Of each group: its block, where no two of a deal are together, for the error of groups drawn by themselves."""
    return np.arange(samples) % min(BLOCKS, samples)


def _tau(x: Floats, y: Floats) -> float:
    """Kendall's tau-b, by sorting: there are too many groups for comparing each two of them."""
    from scipy.stats import kendalltau

    return float(kendalltau(x, y).statistic)


# -- what groups know together -------------------------------------------------------------------------------------


def joint_of_groups(rankings: Rankings, groups: Ints) -> Floats:
    """The joint RIC of each group, the mean over queries."""
    of_queries = list(in_parallel(lambda query: known_by_groups(query, groups), rankings.queries()))
    return np.asarray(np.mean(of_queries, axis=0))


# -- RIC of fusions ------------------------------------------------------------------------------------------------


class PaperFusion(NamedTuple):
    """A way to fuse, and how what it leaves open is read: the normalisation, or the order that a sort starts from; the
    votes that an oracle counts; and whether unjudged documents are fused.
    """

    name: str
    how: str
    votes: str
    unjudged: str


class ShownRanks(NamedTuple):
    """What is read of a fused list: so many documents (None: all); and RIC cuts it after a document of this grade."""

    length: int | None
    cut: int


@dataclass(frozen=True, eq=False)
class PairsOfGroup:
    """What RIC needs of the judgments."""

    query: Ints  # of each judged document
    level: Ints  # of each judged document: the place of its grade among the grades; -1 where that is below 0
    grades: Floats  # ascending
    size: Ints  # [grade, query]: documents
    pairs: Floats  # of each query: pairs of documents with different grades

    @classmethod
    def of(cls, pool: Pool) -> PairsOfGroup:
        grades = np.unique(pool.grade[pool.grade >= 0])
        level = np.where(pool.grade >= 0, np.searchsorted(grades, pool.grade), -1).astype(np.int16)
        size = np.array([pool.count(level == each) for each in range(len(grades))])
        pairs = (size.sum(axis=0) ** 2 - (size**2).sum(axis=0)) / 2
        return cls(pool.query, level, grades, size, pairs)


def numbered_by_id(ballots: Ballots) -> Ballots:
    """The same ballots with the candidates of each query by descending id, so that numbers do for ids.

    The ids themselves are let go: fusions of groups are never written.
    """
    assert ballots.grade is not None
    assert ballots.row is not None
    order = ballots.ordered(np.zeros(len(ballots)))
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return replace(
        ballots,
        documents=Ids(np.zeros(0, np.uint8), np.zeros(len(order) + 1, np.int64)),
        words=np.arange(len(order), 0, -1, dtype=np.uint64)[:, None],
        candidate=place[ballots.candidate],
        grade=ballots.grade[order],
        row=ballots.row[order],
    )


def rics_of_groups(
    ballots: Mapping[str, Ballots],
    pool: Pool,
    fusions: Sequence[PaperFusion],
    groups: Ints,
    shown: Sequence[ShownRanks],
) -> dict[tuple[PaperFusion, ShownRanks], Floats]:
    """RIC of each fusion of each group, the mean over queries.

    ballots: `numbered_by_id`, under what becomes of unjudged documents.
    """
    known = PairsOfGroup.of(pool)

    def of_group(group: Ints) -> list[float]:
        drawn = {unjudged: whole.only(group.tolist()) for unjudged, whole in ballots.items()}
        starts: dict[tuple[str, str], Ints] = {}
        found = []
        for fusion in fusions:
            own = drawn[fusion.unjudged]
            if fusion.how in STARTS and (fusion.how, fusion.unjudged) not in starts:
                starts[fusion.how, fusion.unjudged] = STARTS[fusion.how](own)
            order, first = fused_order(own, fusion, starts.get((fusion.how, fusion.unjudged)))
            found += [ric_of_order(own, order, first, known, each) for each in shown]
        return found

    with ThreadPoolExecutor(processors()) as workers:
        values = np.array(list(workers.map(of_group, groups)))
    columns = [(fusion, each) for fusion in fusions for each in shown]
    return {column: values[:, i] for i, column in enumerate(columns)}


def fused_order(ballots: Ballots, fusion: PaperFusion, start: Ints | None) -> tuple[Ints, Ints | None]:
    """The candidates query by query, the best first; and the rank where the tie of each starts, if any can be tied."""
    if fusion.name == "naive":
        return _by_grade(ballots), None
    ones = np.ones(len(ballots.runs))
    if fusion.name.startswith("comb"):
        score = METHODS[fusion.name].fuse(Votes(ballots, ones, fusion.how))
        order, first, _ = ranked_segments(score, ballots.offsets, ballots.words.__getitem__)
        return order, first
    assert start is not None
    if fusion.name == "condorcet":
        score = condorcet_order(ballots, ones, start)
    else:
        score = sorted_score(ballots, fusion.name, start, fusion.votes)
    order = np.empty(len(score), np.int64)  # the score is n for the first of n candidates, 1 for the last
    order[np.repeat(ballots.offsets[1:], np.diff(ballots.offsets)) - score.astype(np.int64)] = np.arange(len(score))
    return order, None


def _by_grade(ballots: Ballots) -> Ints:
    """The candidates query by query, by grade, then by id."""
    assert ballots.grade is not None
    grades, level = np.unique(np.where(np.isnan(ballots.grade), UNJUDGED, ballots.grade), return_inverse=True)
    query = np.repeat(np.arange(len(ballots.queries)), np.diff(ballots.offsets))
    key = (query + 1) * len(grades) - level.reshape(-1)
    # Small numbers are sorted much faster.
    return np.argsort(key.astype(np.uint16 if key.max(initial=0) < 2**16 else np.int64), kind="stable")


def _by_borda(ballots: Ballots) -> Ints:
    return ballots.ordered(METHODS["borda"].fuse(Votes(ballots, np.ones(len(ballots.runs)), "minmax")))


# The order of the candidates that a sort starts from.
STARTS: dict[str, Callable[[Ballots], Ints]] = {
    "grades": _by_grade,
    "ids": lambda ballots: np.arange(len(ballots)),
    "borda": _by_borda,
}


def ric_of_order(ballots: Ballots, order: Ints, first: Ints | None, known: PairsOfGroup, shown: ShownRanks) -> float:
    """RIC of fused lists, the mean over queries; of a tied pair half is in the right order.

    As many worse documents as stand above a better one are in the wrong order with it; a document that is not shown
    stands below all that are.
    """
    assert ballots.row is not None
    row = ballots.row[order]
    segment = np.repeat(np.arange(len(ballots.queries)), np.diff(ballots.offsets))
    rank = np.arange(1, len(order) + 1) - ballots.offsets[segment]
    kept = np.flatnonzero((row >= 0) & (known.level[row] >= 0) & (rank <= (shown.length or len(order))))
    row, segment = row[kept], segment[kept]
    at = rank[kept] if first is None else first[kept]
    query, level = known.query[row], known.level[row]
    relevant = known.grades >= shown.cut
    if not relevant.all():
        last = np.zeros(known.size.shape[1], np.int64)
        of_last = relevant[level]
        last[query[of_last]] = at[of_last]  # rows go down the list: the last one stays
        until = at <= last[query]
        segment, at, query, level = segment[until], at[until], query[until], level[until]
    queries = known.size.shape[1]
    here = np.array([np.bincount(query[level == each], minlength=queries) for each in range(len(known.grades))])
    begin = np.searchsorted(segment, np.arange(len(ballots.queries)))
    key = (segment << 32) + at  # of the tie
    right, wrong = np.zeros(queries), np.zeros(queries)
    for better in range(1, len(known.grades)):
        rows = np.flatnonzero(level == better)
        own, start = query[rows], begin[segment[rows]]
        tie, end = (rows, rows) if first is None else (np.searchsorted(key, key[rows], side) for side in SIDES)
        for worse in range(better):
            seen = np.concatenate([[0], np.cumsum(level == worse)])
            above, beside = seen[tie] - seen[start], (seen[end] - seen[tie]) / 2
            wrong += np.bincount(own, above + beside, queries)
            right += np.bincount(own, known.size[worse][own] - above - beside, queries)
            wrong += (known.size[better] - here[better]) * here[worse]
    counted = (known.pairs > 0) & (known.size[relevant].sum(axis=0) > 0)
    return float((order_information(right, wrong)[counted] / known.pairs[counted]).mean())
