"""Many groups of ten systems for table 3 of Golbus & Aslam (2013): what each knows together, and RIC of its fusions.

A figure of the table is a rank correlation, or a root mean square error, over groups that are drawn at random, so its
error falls only with the root of the number of groups. Everything that the groups share (scaled scores, lists that are
cut, orders by id) is therefore computed once. RIC of a fused list is counted from the order of its documents; tests
compare that with the measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from calipers.collection import processors
from calipers.evaluation import ScoredCandidates
from calipers.lists import Floats, Ints, Pool
from calipers.measures import order_information
from calipers.questions.fuse import NOISE, UNJUDGED, rule_of_votes, scaled
from calipers.questions.information import Rankings, in_parallel, known_by_groups
from calipers.statistics import rank_correlation
from research.golbus2013.fused_pairs import FusionRule, RankedLists, fused_pairs

AGREEMENT = ("tau", "rho", "RMSE")
BLOCKS = 100  # of groups, each left out once for a standard error
FEW_DEALS = 20  # below which single groups are left out


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
    without = without_each_block(joint, ric, block)
    apart = without - without.mean(axis=0)
    tau, rho, rmse = np.sqrt((len(without) - 1) / len(without) * (apart**2).sum(axis=0)).tolist()
    return tau, rho, rmse


def without_each_block(joint: Floats, ric: Floats, block: Ints) -> Floats:
    """[block, figure]: tau, rho and RMSE without each block of groups; 0 where there is none."""
    return np.nan_to_num([agreement(joint[block != b], ric[block != b]) for b in range(int(block.max()) + 1)])


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


STARTS = ("ids", "borda", "grades")  # the order of the candidates that a sort starts from, as `fused_pairs` counts
POWERS = {"combanz": -1, "combmnz": 1}  # of the number of runs that retrieve a document
NO_SCORES, ALL_DOCUMENTS = -1, -1


def numbered_by_id(scored: ScoredCandidates) -> ScoredCandidates:
    """Number the candidates of each query by descending id, so that numbers sort like ids."""
    assert scored.grade is not None
    assert scored.row is not None
    order = scored.ordered(np.zeros(len(scored)))
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return replace(
        scored,
        documents=scored.documents.take(order),
        words=np.arange(len(order), 0, -1, dtype=np.uint64)[:, None],
        candidate=place[scored.candidate],
        grade=scored.grade[order],
        row=scored.row[order],
    )


def rics_of_groups(
    scored: Mapping[str, ScoredCandidates],
    pool: Pool,
    fusions: Sequence[PaperFusion],
    groups: Ints,
    shown: Sequence[ShownRanks],
) -> dict[tuple[PaperFusion, ShownRanks], Floats]:
    """RIC of each fusion of each group, the mean over queries.

    scored: results of `numbered_by_id` for each treatment of unjudged documents. Half of each tied pair counts as
    being in the right order. A document that is not shown ranks below all shown ones.
    """
    found: dict[tuple[PaperFusion, ShownRanks], Floats] = {}
    for unjudged, whole in scored.items():
        own = [fusion for fusion in fusions if fusion.unjudged == unjudged]
        values = _rics(whole, pool, own, groups, shown)
        found |= {(fusion, each): values[:, f, s] for f, fusion in enumerate(own) for s, each in enumerate(shown)}
    return found


def _rics(
    scored: ScoredCandidates, pool: Pool, fusions: Sequence[PaperFusion], groups: Ints, shown: Sequence[ShownRanks]
) -> Floats:
    """[group, fusion, shown ranks]: RIC, the mean over queries."""
    assert scored.grade is not None
    row_of: Ints | None = scored.row
    assert row_of is not None
    scalings = list(dict.fromkeys(fusion.how for fusion in fusions if fusion.name in POWERS))
    scores = np.array([scaled(scored, how) for how in scalings]).reshape(len(scalings), len(scored.candidate))
    grades = np.unique(pool.grade[pool.grade >= 0])
    rules = [_rule(fusion, scalings, groups.shape[1]) for fusion in fusions]
    least = [int(np.searchsorted(grades, each.cut)) for each in shown]
    read = [
        (ALL_DOCUMENTS if each.length is None else each.length, low) for each, low in zip(shown, least, strict=True)
    ]
    level = np.where(scored.grade >= 0, np.searchsorted(grades, scored.grade), -1)  # NaN: not judged
    grade = np.where(np.isnan(scored.grade), UNJUDGED, scored.grade)
    size = np.array([pool.count(pool.grade == each) for each in grades])  # [grade, query]
    pairs = (size.sum(axis=0) ** 2 - (size**2).sum(axis=0)) / 2
    counted = np.array([(pairs > 0) & (size[low:].sum(axis=0) > 0) for low in least])  # [shown, query]

    def ric_of_query(q: int) -> Floats | None:
        """[group, fusion, shown ranks], 0 for a query that does not count."""
        here = slice(int(scored.offsets[q]), int(scored.offsets[q + 1]))
        rows = row_of[here]
        if rows.max(initial=-1) < 0:
            return None
        place = pool.query[rows.max()]
        lists = np.flatnonzero(scored.query == q)  # run by run
        length = np.zeros(len(scored.runs), np.int64)
        length[scored.run[lists]] = scored.length[lists]
        entries = np.concatenate([np.arange(*scored.starts[i : i + 2]) for i in lists.tolist()])
        starts = np.concatenate([[0], np.cumsum(length)])
        candidates = scored.candidate[entries] - here.start
        of_query = RankedLists(starts, candidates, scores[:, entries], grade[here], level[here], size[:, place])
        ordered = fused_pairs(of_query, groups, rules, read)
        known = order_information(ordered[..., 0], ordered[..., 1]) / max(float(pairs[place]), 1.0)
        return np.asarray(known * counted[:, place])

    total = np.zeros((len(groups), len(fusions), len(shown)))
    with ThreadPoolExecutor(processors()) as workers:
        for values in workers.map(ric_of_query, range(len(scored.queries))):
            total += 0.0 if values is None else values
    return np.asarray(total / counted.sum(axis=1))


def _rule(fusion: PaperFusion, scalings: Sequence[str], runs: int) -> FusionRule:
    if fusion.name in POWERS:
        return FusionRule(scalings.index(fusion.how), POWERS[fusion.name])
    if fusion.name == "naive":
        return FusionRule(NO_SCORES, start=STARTS.index("grades"))
    start = STARTS.index(fusion.how)
    if fusion.name == "condorcet":
        return FusionRule(NO_SCORES, start=start, votes=1, needed=NOISE * runs)
    return FusionRule(NO_SCORES, 0, start, 2, *rule_of_votes(fusion.name, fusion.votes, runs))


def spread_of_scores(scored: ScoredCandidates, normalisation: str) -> Floats:
    """Of each run: the median over queries of the standard deviation of its scores."""
    scores = scaled(scored, normalisation)
    spread = np.array([scores[a:b].std() for a, b in pairwise(scored.starts.tolist()) if b > a])
    run = scored.run[scored.length > 0]
    return np.array([np.median(spread[run == r]) if (run == r).any() else 0.0 for r in range(len(scored.runs))])
