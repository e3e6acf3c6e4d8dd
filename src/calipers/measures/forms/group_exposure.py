"""Forms that compare the attention that groups of documents get with the attention they should get.

p  the share of each group in the attention of all documents that have a group
q  the share that it should have: of the relevant documents, of the target exposure of what is judged, or equal shares

The attention is that of `exposure`, on average over the orders of ties. p is NaN if no document with a group is seen,
and q is NaN if no document with a group is relevant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import DocumentGroups, Floats, Ints, Lists, Pool, Population
from calipers.measures.forms.base import Exactness, Form, Traits
from calipers.measures.forms.exposure import Readers, seen, targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

Target = Literal["relevant", "exposure", "equal"]
TARGETS: tuple[Target, ...] = ("relevant", "exposure", "equal")
Comparison = Literal["divergence", "ratio"]


def shares(weight: Floats, of: Ints, group: Ints, lists: int, groups: int) -> Floats:
    """Return the share of each group in the weights of the documents of each list, [list, group].

    >>> shares(np.array([3.0, 1.0, 9.0]), np.array([0, 0, 0]), np.array([1, 0, -1]), 1, 2)
    array([[0.25, 0.75]])
    """
    inside = group >= 0
    sums = np.bincount(of[inside] * groups + group[inside], weight[inside], lists * groups).reshape(lists, groups)
    total = sums.sum(axis=1, keepdims=True)
    return np.where(total > 0, sums / np.where(total > 0, total, 1.0), np.nan)


def wanted_shares(pool: Pool, readers: Readers, target: Target) -> Floats:
    """Return the share of attention that each group should get, [query, group]. It depends on judged documents only."""
    return pool.once(("wanted shares", readers, target), lambda: _wanted_shares(pool, readers, target))


def _wanted_shares(pool: Pool, readers: Readers, target: Target) -> Floats:
    groups = groups_of(pool)
    shape = (pool.queries, len(groups.names))
    if target == "equal":
        return np.full(shape, 1.0 / max(len(groups.names), 1))
    if target == "relevant":
        return shares((pool.grade > 0).astype(np.float64), pool.query, groups.of, *shape)
    judged = Pool(np.append(0, np.cumsum(pool.count(groups.judged))), pool.grade[groups.judged])
    return shares(targets(judged, readers), judged.query, groups.of[groups.judged], *shape)


def groups_of(pool: Pool) -> DocumentGroups:
    if pool.groups is None:
        raise CalipersError(
            "AWRF and ExposureRatio need groups of documents: set document_groups", parameter="document_groups"
        )
    return pool.groups


def divergence_kept(got: Floats, wanted: Floats) -> Floats:
    """Return 1 minus the Jensen-Shannon divergence, in bits.

    >>> divergence_kept(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]]))
    array([0., 1.])
    """
    middle = (got + wanted) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [
            np.where(x > 0, x * np.log2(x / middle), np.where(np.isnan(x), np.nan, 0.0)).sum(axis=-1)
            for x in (got, wanted)
        ]
    return np.asarray(1.0 - np.clip((parts[0] + parts[1]) / 2, 0.0, 1.0))


def smallest_to_largest(got: Floats, wanted: Floats) -> Floats:
    """Return the smallest ratio of what a group gets to what it should get, divided by the largest such ratio.

    Only groups that should get something count. The result is 0 if none of them gets anything.

    >>> smallest_to_largest(np.array([[0.5, 0.25, 0.25]]), np.array([[0.5, 0.5, 0.0]]))
    array([0.5])
    """
    asked = wanted > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = got / wanted
        low = np.where(asked, ratio, np.inf).min(axis=-1)
        high = np.where(asked, ratio, 0.0).max(axis=-1)
        found = np.where(high > 0, low / high, 0.0)
    return np.where(np.isnan(got).any(axis=-1) | np.isnan(wanted).any(axis=-1), np.nan, found)


COMPARED: dict[Comparison, Callable[[Floats, Floats], Floats]] = {
    "divergence": divergence_kept,
    "ratio": smallest_to_largest,
}


class GroupExposure(Form):
    """A function of the shares of attention that groups get and should get, which is 1 if both are the same.

    A tie is scored by its mean attention, and so is a random ranking, which is one tie. Lists need not rank all
    documents, and samples of rankings may be averaged, so almost all shares of groups with a document are possible. The
    bounds are those of all shares: no ranking exceeds them, but a ranking need not reach them.
    """

    comparison: Comparison
    readers: Readers
    target: Target

    def score(self, lists: Lists) -> Floats:
        groups = groups_of(lists.pool)
        got = seen(lists, self.readers).row
        found = shares(got, lists.list, groups.of[lists.document], len(lists), len(groups.names))
        return self.compared(found, lists.pool, lists.query)

    def exactness(self, population: Population | None = None) -> Exactness:
        return Exactness(ideal="bound", worst="bound")

    @property
    def traits(self) -> Traits:
        return Traits(averages_attention=True, reads_groups=True)

    def compared(self, got: Floats, pool: Pool, query: Ints) -> Floats:
        """Return the score of shares of attention, [list, group], for lists of these queries."""
        return COMPARED[self.comparison](got, wanted_shares(pool, self.readers, self.target)[query])

    def ideal(self, population: Population) -> Floats:
        """Attention as it should be, among the groups that have a document: of all divergences of the kind, which are
        sums of q f(p / q) for a convex f, the smallest has p in proportion to q there.
        """
        there, wanted = self._there(population)
        kept = np.where(there, wanted, 0.0)
        kept = np.where(kept.sum(axis=1, keepdims=True) > 0, kept, there)
        with np.errstate(invalid="ignore"):
            best = kept / kept.sum(axis=1, keepdims=True)
        return self.compared(best, population.pool, population.query)

    def worst(self, population: Population) -> Floats:
        """Return the score if all attention goes to the group that should get least.

        The divergence is convex, so it is largest at a corner. A ratio is 0 there unless there is only one group.
        """
        there, wanted = self._there(population)
        with np.errstate(invalid="ignore"):
            least = np.where(there, wanted, np.inf).argmin(axis=1)
        alone = np.where(there.any(axis=1, keepdims=True), np.eye(there.shape[1])[least], np.nan)
        return self.compared(alone, population.pool, population.query)

    def _there(self, population: Population) -> tuple[NDArray[np.bool_], Floats]:
        """Return True for groups that have a document, [set, group], and the share that each group should get."""
        groups = groups_of(population.pool)
        lists, group = population.shuffled.list, groups.of[population.document]
        count = shares(np.ones(len(group)), lists, group, len(population.size), len(groups.names))
        return np.asarray(count > 0), wanted_shares(population.pool, self.readers, self.target)[population.query]
