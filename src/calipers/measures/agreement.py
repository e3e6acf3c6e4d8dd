"""Agreement of a ranking with the order of the judgments, and preferences between judged documents.

    Compat@d = RBO down to depth d of the list with the nearest ideal ranking, over RBO of the ideal ranking with itself
    Accuracy = the share of (relevant, other) pairs of retrieved documents that stand in the right order

Clarke, Vtyurina & Smucker, Assessing top-k preferences, TOIS 2021 (Compat).
MacAvaney, Macdonald & Ounis, Streamlining evaluation with ir-measures, ECIR 2022 (Accuracy).

    AUC   = the share of pairs of a relevant and another judged document that stand in the right order; of a document
            that is not retrieved, below all that are; of two that are not, half
    bpref = (1 / R) * sum over retrieved relevant documents of 1 - min(non-relevant above, R) / min(N, R)

Buckley & Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004, in trec_eval's form (bpref).
Hanley & McNeil, The meaning and use of the area under a receiver operating characteristic (ROC) curve, Radiology 1982
    (AUC).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Ints, Lists, Population
from calipers.measures.forms import RELEVANT, BinaryPreference, Deterministic, Form, JudgedPairs
from calipers.measures.forms.base import Exactness
from calipers.measures.forms.wrappers import WithoutZeroGains
from calipers.measures.gains import AtLeast, LinearGain
from calipers.measures.parameters import PERSISTENCE, REL, TOP_K, Parameter
from calipers.measures.registry import measure
from calipers.support.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray


DEEPEST = 1_000_000  # ranks for which an overlap is added up
OVERLAP_PERSISTENCE = PERSISTENCE.by_default(0.95).changed(least=None, above=0)
NORMALIZE = Parameter("Divide by the overlap of the ideal ranking with itself.", "flag", True)
OVERLAP_DEPTH = Parameter(
    "The number of ranks for which the overlap counts, 1,000 in the script of the authors. 0 means the longer of the "
    "list and the ideal ranking, as in ir_measures.",
    "whole number",
    1000,
    least=0,
    most=DEEPEST,
)


@measure("Compat", p=OVERLAP_PERSISTENCE, normalize=NORMALIZE, depth=OVERLAP_DEPTH, at="depth")
def compatibility(p: float, normalize: bool, depth: int) -> Form:
    """Rank-biased overlap with the nearest ideal ranking: by grade, then as the list has it."""
    return WithoutZeroGains(Deterministic(OverlapWithIdeal(p, normalize, depth)), LinearGain())


@measure("Accuracy", cutoff=TOP_K, rel=REL)
def accuracy(cutoff: int | None, rel: float) -> Form:
    """The probability that a retrieved relevant document ranks above a retrieved document that is not relevant."""
    return Pairwise(Deterministic(PairsInOrder(rel, cutoff)), AtLeast(rel), cutoff)


class Pairwise(WithoutZeroGains):
    """The share of pairs in order, of a relevant document and another one in the top k.

    The best list has one of the other documents at its end, the worst a relevant one: 1 and 0, wherever two documents
    of the population can make a pair.
    """

    cutoff: int | None = None

    def error(self, lists: Lists) -> Floats:
        return self.of.error(lists.top_with_gain(self.value, self.cutoff))

    def score(self, lists: Lists) -> Floats:
        return self.of.score(lists.top_with_gain(self.value, self.cutoff))

    def exactness(self, population: Population | None = None) -> Exactness:
        return super().exactness().changed(ideal="exact", worst="exact")

    def ideal(self, population: Population) -> Floats:
        return np.where(self._has_pairs(population), 1.0, np.nan)

    def worst(self, population: Population) -> Floats:
        return np.where(self._has_pairs(population), 0.0, np.nan)

    def _has_pairs(self, population: Population) -> NDArray[np.bool_]:
        shown = population.shuffled
        relevant = shown.count(shown.gains(self.value) > 0)
        return np.asarray((relevant > 0) & (relevant < population.size) & (self.cutoff != 1))


class OverlapWithIdeal(Record):
    """A document at rank r of the list and t of the ideal is in both from depth max(r, t) on; reads grades above 0."""

    p: float
    normalize: bool
    depth: int = 0  # where 0: the longer of the list and the ideal ranking

    def __call__(self, lists: Lists) -> Floats:
        pool = lists.pool
        wanted = pool.count(pool.grade > 0)[lists.query]
        longer = np.maximum(lists.length, wanted).astype(np.int64)
        depth = np.full_like(longer, self.depth) if self.depth else longer
        steps = np.arange(1, int(depth.max(initial=0)) + 1)
        weight = self.p ** (steps - 1.0)
        overlap = np.concatenate([[0.0], np.cumsum(weight / steps)])  # of one document in both from the top on
        met = np.minimum(np.maximum(lists.first, self._ideal_rank(lists)), depth[lists.list] + 1)
        score = lists.sum(overlap[depth[lists.list]] - overlap[met - 1])
        if self.normalize:
            below = np.concatenate([[0.0], np.cumsum(overlap)])  # below[n] = the sum of overlap[0] to overlap[n - 1]
            shown = np.minimum(wanted, depth)
            by = shown * overlap[depth] - below[shown]
        else:
            by = np.concatenate([[0.0], np.cumsum(weight)])[depth]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(wanted > 0, score / by, np.nan)

    def _ideal_rank(self, lists: Lists) -> Ints:
        """After all better documents of the pool and those of the same grade that the list has above."""
        order = np.lexsort((lists.first, -lists.grade, lists.list))
        grade, member = lists.grade[order], lists.list[order]
        starts = np.ones(len(order), bool)
        starts[1:] = (grade[1:] != grade[:-1]) | (member[1:] != member[:-1])
        start = np.flatnonzero(starts)[np.cumsum(starts) - 1]
        pool = lists.pool
        by_grade = pool.once("rows by grade", lambda: np.lexsort((-pool.grade, pool.query)))
        sorted_grade = pool.grade[by_grade]
        first = np.ones(len(by_grade), bool)
        first[1:] = (sorted_grade[1:] != sorted_grade[:-1]) | (pool.query[1:] != pool.query[:-1])
        better = np.empty(len(by_grade), np.int64)  # of each pool row: how many of its query have a higher grade
        better[by_grade] = np.flatnonzero(first)[np.cumsum(first) - 1] - pool.offsets[pool.query]
        rank = np.empty(len(order), np.int64)
        rank[order] = better[lists.document[order]] + np.arange(len(order)) - start + 1
        return rank


class PairsInOrder(Record):
    """The share of pairs in the right order, among all pairs of a relevant and another document in the top k."""

    rel: float
    cutoff: int | None

    def __call__(self, lists: Lists) -> Floats:
        place = np.arange(len(lists.first)) - lists.offsets[:-1][lists.list] + 1
        shown = lists.length if self.cutoff is None else np.minimum(lists.length, self.cutoff)
        inside = lists.first <= shown[lists.list]
        found = lists.count(inside)
        other = shown - found
        wrong = lists.sum(np.where(inside, lists.first - place, 0.0))
        pairs = (found * other).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(pairs > 0, 1.0 - wrong / pairs, np.nan)


@measure("bpref", cutoff=TOP_K, rel=REL)
def bpref(cutoff: int | None, rel: float) -> Form:
    """The degree to which relevant documents rank above judged non-relevant ones."""
    return BinaryPreference(rel, cutoff) / RELEVANT(rel)


@measure("AUC", rel=REL, aliases=("ROC-AUC", "roc_auc", "AUROC"))
def area_under_curve(rel: float) -> Form:
    """The probability that a relevant document ranks above another judged one: the area under the ROC curve."""
    return JudgedPairs(rel)
