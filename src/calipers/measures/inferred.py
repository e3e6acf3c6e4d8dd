"""Estimates of nDCG where only a sample of the pool was judged, stratum by stratum.

With N the documents of a stratum and n those of them that were judged, a judged document stands for N / n.

    infNDCG@k = sum over ranks i <= k of N/n * gain(grade_i) / log2(i + 1) / the same for the estimated ideal list

Estimates may exceed 1. Prels give the chance of each document to be judged: 1 / chance is N / n.

Yilmaz, Kanoulas & Aslam, A simple and efficient sampling method for estimating AP and NDCG, SIGIR 2008 (infNDCG).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Lists, Pool, Population
from calipers.measures.forms import Denominator, Form
from calipers.measures.gains import Value, gain_of
from calipers.measures.parameters import GAIN, TOP_K
from calipers.measures.registry import measure
from calipers.measures.weights import DISCOUNTS, Weights

if TYPE_CHECKING:
    from calipers.collection.samples import SampledPool


@measure("infNDCG", cutoff=TOP_K, gain=GAIN, reads="samples")
def inferred_ndcg(cutoff: int | None, gain: Any) -> Form:
    """nDCG if a sample of each stratum of the pool was judged. Each gain represents several documents."""
    of = WeighedGains(DISCOUNTS["log2"].up_to(cutoff), gain_of(gain))
    return of / EstimatedIdeal()


# -- pieces ------------------------------------------------------------------------------------------


def samples_of(pool: Pool) -> SampledPool:
    """Return the pool as one of a stratified sample, or raise an error."""
    if pool.kind != "samples":
        raise CalipersError("this measure needs judgments of a sample (query 0 document stratum grade)")
    return cast("SampledPool", pool)


class WeighedGains(Form):
    """The sum of weight(rank) * gain(grade) * the documents that it stands for; in a tie, the mean of its weights."""

    weight: Weights
    gain_function: Value

    def score(self, lists: Lists) -> Floats:
        top = lists.top(self.weight.cutoff)
        return top.sum(self._gains(lists.pool)[top.document] * self.weight.mean(top.first, top.last))

    def _gains(self, pool: Pool) -> Floats:
        sampled = samples_of(pool)
        return np.asarray(np.where(pool.grade >= 0, pool.gains(self.gain_function), 0.0) * sampled.weight)

    def extreme_order(self, population: Population, best: bool) -> Lists:
        return population.once(("order", self, best), lambda: self._ordered(population, best))

    def _ordered(self, population: Population, best: bool) -> Lists:
        """Return lists sorted by the weighted gain of judged documents, as later ranks have smaller weights."""
        gain = self._gains(population.pool)[population.document]
        member = np.repeat(np.arange(len(population.size)), population.judged)
        order = np.lexsort((-gain if best else gain, member))
        rank: Ints = np.arange(1, len(order) + 1) - np.repeat(population.offsets[:-1], population.judged)
        if not best:
            rank = rank + np.repeat(population.size - population.judged, population.judged)
        return Lists(
            pool=population.pool,
            query=population.query,
            length=population.size,
            offsets=population.offsets,
            document=population.document[order],
            first=rank,
            last=rank,
        )

    @property
    def reach(self) -> int | None:
        return self.weight.cutoff

    def formula(self, letters: dict[str, str]) -> str:
        letters["w_i"] = self.weight.discount.formula
        return "sum over judged documents at ranks i <= k of N/n * w_i * gain"


class EstimatedIdeal(Denominator):
    """The score of the ideal list for the estimated numbers of documents of each grade.

    A number that is not whole ends inside a rank. The rank then counts by its share.
    """

    of_query = True
    formula = "the same for the ideal list of the estimated numbers of each grade"

    def __call__(self, form: Form, lists: Lists) -> Floats:
        of = cast("WeighedGains", form)
        return lists.pool.once(("estimated ideal", of), lambda: self._ideal(of, samples_of(lists.pool)))[lists.query]

    def _ideal(self, of: WeighedGains, pool: SampledPool) -> Floats:
        gain = np.where(pool.grade >= 0, pool.gains(of.gain_function), 0.0)
        kept = np.flatnonzero(gain > 0)
        order = kept[np.lexsort((-gain[kept], pool.query[kept]))]
        weight, query = pool.weight[order], pool.query[order]
        end = np.cumsum(weight)
        before = np.concatenate([[0.0], end])[np.searchsorted(query, np.arange(pool.queries))]
        end = end - before[query]
        deepest = int(np.ceil(end.max(initial=0.0))) + 1
        discount = of.weight.of_ranks(deepest)
        discount = np.append(discount, np.zeros(deepest - len(discount)))
        total = np.concatenate([[0.0], np.cumsum(discount)])
        reached = np.interp(np.stack([end - weight, end]), np.arange(len(total)), total)
        return np.bincount(query, gain[order] * (reached[1] - reached[0]), pool.queries).astype(np.float64)
