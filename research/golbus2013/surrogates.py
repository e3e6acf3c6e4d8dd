"""Table 3 of Golbus & Aslam (2013) from few groups of systems: predictions of many more as control variates.

To fuse a group takes hundredths of a second, to predict what comes out microseconds. Let T be a figure (tau, rho, RMSE)
over the groups that were fused, P the same figure of their predictions, and Q that of the predictions of many other
groups. Whatever the predictions are worth,

    T - b (P - Q)

is expected to be what T is, and its error is smaller the better they are. b is the slope of T on P, over blocks that
are left out. Each half of the groups is predicted by what the other half taught.

A prediction is a ridge regression: on who is in a group; on each two that are; on the members with the largest scales
of scores, which decide where scores are added up as they are, with each other member; and on RIC of the documents that
the group finds, relevant ones first, which is quick to count.

Owen, Monte Carlo theory, methods and examples, 2013, chapter 8.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection import processors
from calipers.lists import Floats, Ints
from calipers.measures import order_information
from calipers.questions.information import MISSING, Rankings
from research.golbus2013.fused_pairs import union_sizes
from research.golbus2013.groups import agreement, blocks_of_deals, dealt_groups, without_each_block

PREDICTED = 100  # groups for each one that is fused
CHUNK = 60_000
RIDGE = 0.5
TOPS = 3  # of the largest scales
# How much is expected of a feature, before any group is seen.
OF_MEMBER, OF_PAIR, OF_TOP, OF_FOUND, OF_FOUND_BY = 1.0, 0.3, 0.5, 4.5, 0.3
ITERATIONS = 80


@dataclass(frozen=True, eq=False)
class FoundDocuments:
    """Of one query: which judged documents each system finds, in bits, and how many there are."""

    relevant: NDArray[np.uint64]
    other: NDArray[np.uint64]
    relevants: int
    others: int


@dataclass(frozen=True, eq=False)
class GroupFeatures:
    """What is known of a group before it is fused."""

    systems: int
    scale: Ints  # of each system: its place by the spread of its scores, the largest first
    found: tuple[FoundDocuments, ...]
    length: int | None  # of fused lists

    @classmethod
    def of(cls, rankings: Rankings, spread: Floats, length: int | None) -> GroupFeatures:
        found = []
        for query in rankings.queries():
            here = query.rank != MISSING
            relevant = np.unique(np.concatenate([each.better for each in query.pairs]))
            other = np.setdiff1d(np.arange(here.shape[1]), relevant)
            bits = (_packed(here[:, relevant]), _packed(here[:, other]))
            found.append(FoundDocuments(*bits, len(relevant), len(other)))
        scale = np.empty(len(spread), np.int64)
        scale[np.argsort(-spread, kind="stable")] = np.arange(len(spread))
        return cls(len(rankings.systems), scale, tuple(found), length)

    def found_by(self, groups: Ints) -> Floats:
        """RIC of the documents that each group finds, the relevant ones first: `naive`, where there are two grades."""
        total = np.zeros(len(groups))
        for each in self.found:
            relevant, other = union_sizes(each.relevant, groups), union_sizes(each.other, groups)
            if self.length is not None:
                relevant = np.minimum(relevant, self.length)
                other = np.minimum(other, self.length - relevant)
            right = np.asarray(relevant * each.others, np.float64)
            wrong = np.asarray((each.relevants - relevant) * other, np.float64)
            total += order_information(right, wrong) / max(each.relevants * each.others, 1)
        return total / max(len(self.found), 1)

    def matrix(self, groups: Ints, found: Floats) -> Any:
        """[group, feature], sparse; found: `found_by`, less its mean, in standard deviations."""
        from scipy.sparse import csr_array

        size, count = groups.shape[1], self.systems
        one, other = np.triu_indices(size, 1)
        by_scale = np.take_along_axis(groups, np.argsort(self.scale[groups], axis=1), axis=1)
        top, below = np.triu_indices(size, 1)
        top, below = top[top < TOPS], below[top < TOPS]
        pairs = count + groups[:, one] * count + groups[:, other]
        tops = count + (1 + top) * count**2 + by_scale[:, top] * count + by_scale[:, below]
        last = count + (1 + TOPS) * count**2
        columns = np.hstack([groups, pairs, tops, last + groups, np.full((len(groups), 1), last + count)])
        weight = np.repeat([OF_MEMBER, OF_PAIR, OF_TOP], [size, len(one), len(top)])
        fixed = np.broadcast_to(weight, (len(groups), len(weight)))
        moving = np.repeat([[OF_FOUND_BY] * size + [OF_FOUND]], len(groups), axis=0) * found[:, None]
        starts = np.arange(0, columns.size + 1, columns.shape[1])
        values = np.hstack([fixed, moving]).astype(np.float32).reshape(-1)
        return csr_array((values, columns.astype(np.int32).reshape(-1), starts), shape=(len(groups), last + count + 1))


def _packed(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Rows of bits as rows of 64-bit words."""
    whole = np.zeros((len(bits), -(-bits.shape[1] // 64) * 64), bool)
    whole[:, : bits.shape[1]] = bits
    return np.packbits(whole, axis=1).view(np.uint64)


@dataclass(frozen=True, eq=False)
class Refined:
    """[fusion, figure]: figures by control variates, and their standard errors."""

    value: Floats
    error: Floats
    predicted: int  # groups


def refined(features: GroupFeatures, groups: Ints, values: Floats, seed: int) -> Refined:
    """tau, rho and RMSE of the first column with each other: values is [group, column] of dealt groups."""
    hands = features.systems // groups.shape[1]
    block = blocks_of_deals(len(groups), hands)
    found = features.found_by(groups)
    middle, spread = float(found.mean()), float(found.std()) or 1.0
    known = features.matrix(groups, (found - middle) / spread)
    mean, sd = values.mean(axis=0), np.where(values.std(axis=0) > 0, values.std(axis=0), 1.0)
    halves = [np.flatnonzero(block % 2 == half) for half in (0, 1)]
    learnt = [_learnt(known[own], (values[own] - mean) / sd) for own in reversed(halves)]

    def predicted(chunk: int) -> Floats:
        """[half, fusion, figure] of some more groups."""
        more = dealt_groups(features.systems, CHUNK, groups.shape[1], seed + 1 + chunk)
        drawn = features.matrix(more, (features.found_by(more) - middle) / spread)
        return np.array([_figures(drawn @ each * sd + mean) for each in learnt])

    chunks = max(2, PREDICTED * len(groups) // CHUNK)
    with ThreadPoolExecutor(processors()) as workers:
        many = np.array(list(workers.map(predicted, range(chunks))))
    value = np.zeros((values.shape[1] - 1, many.shape[-1]))
    own_error, shared_error = np.zeros_like(value), np.zeros_like(value)
    for half, (own, weight) in enumerate(zip(halves, learnt, strict=True)):
        of_block = np.unique(block[own], return_inverse=True)[1]
        guess = known[own] @ weight * sd + mean
        for f in range(value.shape[0]):
            true, cheap = (without_each_block(each[:, 0], each[:, f + 1], of_block) for each in (values[own], guess))
            true_apart, cheap_apart = true - true.mean(axis=0), cheap - cheap.mean(axis=0)
            slope = (true_apart * cheap_apart).sum(axis=0) / np.maximum((cheap_apart**2).sum(axis=0), 1e-300)
            whole, guessed = (np.array(agreement(each[:, 0], each[:, f + 1])) for each in (values[own], guess))
            value[f] += (whole - slope * (guessed - many[:, half, f].mean(axis=0))) / 2
            left = ((true_apart - slope * cheap_apart) ** 2).sum(axis=0) * (len(true) - 1) / len(true)
            own_error[f] += left / 4
            shared_error[f] += slope * many[:, half, f].std(axis=0, ddof=1) / np.sqrt(chunks) / 2
    return Refined(value, np.sqrt(own_error + shared_error**2), chunks * CHUNK)


def _figures(values: Floats) -> list[tuple[float, float, float]]:
    return [agreement(values[:, 0], values[:, f]) for f in range(1, values.shape[1])]


def _learnt(features: Any, values: Floats) -> Floats:
    """[feature, column]: the weights of a ridge regression."""
    from scipy.sparse.linalg import lsmr

    columns = [lsmr(features, each, damp=RIDGE**0.5, maxiter=ITERATIONS)[0] for each in values.T]
    return np.column_stack(columns)
