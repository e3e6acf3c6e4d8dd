"""Documents to judge next: those whose grades decide most between systems whose order is open.

An unjudged document d can move the difference of systems A and B by up to

    (largest gain - smallest gain) * |w_A(d) - w_B(d)| / ideal

which is summed over the pairs that are open and averaged over the queries. After each batch of judgments it is to be
worked out again: pairs get decided, and the ideals change.

Carterette, Allan & Sitaraman, Minimal test collections for retrieval evaluation, SIGIR 2006.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats, Ints
from calipers.measures.forms import Linear
from calipers.measures.forms.linear import weighted_sum
from calipers.measures.forms.shares import numerator_and_denominator
from calipers.questions.pool.judging_pools import JudgingPool
from calipers.questions.ranges.extreme_grades import extreme_grades, growth_of
from calipers.questions.ranges.gradings import CELLS
from calipers.questions.ranges.open_lists import OpenScores
from calipers.questions.ranges.score_ranges import ranges
from calipers.results.tables import Table

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
        shares += _shares(found.open_scores[name], rows, taken[code])
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


def _shares(found: OpenScores, rows: Ints, taken: NDArray[np.bool_]) -> list[tuple[str, str, float]]:
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
