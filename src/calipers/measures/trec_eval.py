"""Measures of trec_eval that few other tools have.

Buckley, trec_eval 9: the explanation of each measure there is its definition.
Yilmaz & Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM 2006 (infAP).
Robertson, On smoothing average precision, ECIR 2012 (yaap).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from calipers.lists import Floats, Ints, Lists, Pool
from calipers.measures.forms import (
    CUTOFF,
    RELEVANT,
    BinaryPreference,
    Counted,
    Deterministic,
    Form,
    Linear,
    Paired,
    RelevantPrefix,
    Smaller,
)
from calipers.measures.forms.wrappers import WithoutZeroGains
from calipers.measures.gains import AtLeast, Negative, Value, gain_of
from calipers.measures.parameters import GAIN, GAINS, REL, TOP_K, Parameter
from calipers.measures.precision import PrefixDepth
from calipers.measures.registry import measure
from calipers.measures.weights import DISCOUNTS, FLAT
from calipers.support.record import Record

EPSILON = 0.00001  # infAP's smoothing
MULTIPLE = Parameter("The cutoff as a multiple of R, written after the @.", "number", least=0).required
WEIGHTS = Parameter(
    "The weights of relevant retrieved, other retrieved, relevant missed, and other missed documents.",
    "list",
    [1, -1, 0, 0],
    length=4,
)
DOCUMENTS = Parameter("The number of documents in the collection.", "number", 0)


# -- variants of precision ---------------------------------------------------------------------------


@measure("relative_P", cutoff=TOP_K.required, rel=REL)
def relative_precision(cutoff: int, rel: float) -> Form:
    """The number of relevant documents in the top k, divided by the smaller of k and R."""
    return Linear(FLAT.up_to(cutoff), AtLeast(rel)) / Smaller(RELEVANT(rel), CUTOFF(cutoff))


@measure("Rprec_mult", multiple=MULTIPLE, rel=REL, at="multiple", example="Rprec_mult@0.2")
def precision_at_multiple(multiple: float, rel: float) -> Form:
    """Precision at a multiple of R."""
    prefix = RelevantPrefix(rel, multiple=multiple)
    return prefix / PrefixDepth(prefix)


@measure("infAP", rel=REL)
def inferred_average_precision(rel: float) -> Form:
    """AP if only a sample of the pool was judged. A grade below 0 means that a document was not in the sample."""
    return Deterministic(InferredPrecisions(rel)) / RELEVANT(rel)


@measure("gm_map", rel=REL, average="geometric")
def geometric_map(rel: float) -> Form:
    """AP with the geometric mean over queries."""
    return Paired(rel) / RELEVANT(rel)


@measure("gm_bpref", rel=REL, average="geometric")
def geometric_bpref(rel: float) -> Form:
    """bpref with the geometric mean over queries."""
    return BinaryPreference(rel) / RELEVANT(rel)


@measure("yaap", rel=REL)
def yet_another_average_precision(rel: float) -> Form:
    """log((1 + SP) / (1 + R - SP)), a transformation of AP for averaging."""
    return WithoutZeroGains(Deterministic(LogOdds(rel)), AtLeast(rel))


# -- gains -------------------------------------------------------------------------------------------


@measure("binG", rel=REL)
def binary_gain(rel: float) -> Form:
    """The mean over the relevant documents of 1 / log2(2 + non-relevant documents above)."""
    return WithoutZeroGains(Deterministic(_per_nonrelevant), AtLeast(rel)) / RELEVANT(rel)


@measure("G", gain=GAIN, gains=GAINS)
def normalised_gain(gain: Any, gains: Any) -> Form:
    """The sum of gains, each discounted by the lead of the ideal ranking at that rank, divided by all gains."""
    value = gain_of(gain, gains)
    return WithoutZeroGains(Deterministic(GainsBehindIdeal(value)), value)


@measure("ndcg_rel", gain=GAIN, gains=GAINS)
def ndcg_at_relevant(gain: Any, gains: Any) -> Form:
    """The mean of nDCG over the ranks of the relevant documents. Missing ones count at the end of the list."""
    value = gain_of(gain, gains)
    return WithoutZeroGains(Deterministic(AtEachRelevant(value)), value)


@measure("Rndcg", gain=GAIN, gains=GAINS, rel=REL)
def ndcg_at_levels(gain: Any, gains: Any, rel: float) -> Form:
    """The mean of nDCG over the last rank and the ranks at which the gain of the ideal ranking decreases."""
    value = gain_of(gain, gains)
    return WithoutZeroGains(Deterministic(AtEachLevel(value, rel)), value)


@measure("ideal_dcg", gain=GAIN, gains=GAINS)
def ideal_dcg(gain: Any, gains: Any) -> Form:
    """The DCG of the best ranking of the judged documents."""
    return OfPool(Linear(DISCOUNTS["log2"], gain_of(gain, gains)))


# -- sets --------------------------------------------------------------------------------------------


@measure("SetAP", rel=REL, aliases=("set_map",))
def set_average_precision(rel: float) -> Form:
    """The precision of the retrieved set times its recall."""
    return Counted(_set_ap, rel)


@measure("SetRelP", rel=REL, aliases=("set_relative_P",))
def set_relative_precision(rel: float) -> Form:
    """The precision of the retrieved set, divided by the largest precision of a set of its size."""
    return Counted(_set_relative, rel)


@measure("utility", weights=WEIGHTS, documents=DOCUMENTS, rel=REL)
def utility(weights: list[float], documents: int, rel: float) -> Form:
    """A weighted sum of the numbers of relevant and other documents that are retrieved and not retrieved."""
    return Counted(Utility(tuple(weights), documents), rel)


@measure("unj", cutoff=TOP_K.required)
def unjudged(cutoff: int) -> Form:
    """The share of the first k ranks that hold an unjudged document. A grade below 0 counts as unjudged."""
    return Unjudged(cutoff) / CUTOFF(cutoff)


@measure("NumQ", aliases=("num_q",), average="sum")
def number_of_queries() -> Form:
    """The number of queries."""
    return Counted(_one)


@measure("num_nonrel_judged_ret", rel=REL, average="sum")
def number_judged_not_relevant(rel: float) -> Form:
    """The number of retrieved documents that are judged and not relevant."""
    return GradesBetween(0, rel)


# -- kernels: functions of lists without ties --------------------------------------------------------


def _above(lists: Lists, counted: Any) -> Ints:
    """Return for each row the sum of values over the rows above it in the same list."""
    total = np.concatenate([[0], np.cumsum(counted)])
    return np.asarray(total[:-1] - total[lists.offsets[:-1][lists.list]])


def _place(lists: Lists) -> Ints:
    """Return 1, 2, 3 ... for the rows of each list."""
    return np.arange(len(lists.first)) - lists.offsets[:-1][lists.list] + 1


def _per_nonrelevant(lists: Lists) -> Floats:
    return lists.sum(1.0 / np.log2(2.0 + (lists.first - _place(lists))))


class InferredPrecisions(Record):
    """The estimated precision at each relevant document, added up.

    At rank i it is 1/i for the document itself, and for the i - 1 documents above it the share of them that is in the
    pool times the share of the judged ones that is relevant.
    """

    reader = "That of AP, whose precisions are estimated where documents are not judged."
    ignores_unjudged = True
    rel: float

    def __call__(self, lists: Lists) -> Floats:
        relevant = lists.grade >= self.rel
        sampled = relevant | (lists.grade >= 0)
        share = (_above(lists, relevant) + EPSILON) / (_above(lists, sampled) + 2 * EPSILON)
        pooled = _place(lists) - 1
        return lists.sum(np.where(relevant, (1.0 + pooled * share) / lists.first, 0.0))


class LogOdds(Record):
    """log((1 + S) / (1 + R - S)), where S is the sum of the precisions at relevant documents."""

    rel: float
    can_be_negative: ClassVar[bool] = True

    def __call__(self, lists: Lists) -> Floats:
        precisions = lists.sum(_place(lists) / lists.first)
        relevant = lists.pool.relevant(self.rel)[lists.query]
        return np.log((1.0 + precisions) / (1.0 + relevant - precisions))


class IdealGains(Record):
    """The gains of each query's judged documents, best first, with sums down to any rank."""

    offsets: Ints
    gain: Floats

    @classmethod
    def of(cls, pool: Pool, value: Value) -> IdealGains:
        def sort() -> IdealGains:
            gain = pool.gains(value)
            return cls(pool.offsets, gain[np.lexsort((-gain, pool.query))])

        return pool.once(("ideal gains", value), sort)

    @property
    def place(self) -> Ints:
        return np.arange(len(self.gain)) - np.repeat(self.offsets[:-1], np.diff(self.offsets)) + 1

    def sums(self, values: Floats, query: Ints, rank: Ints) -> Floats:
        """Return the sum of the values of the first documents of each query, down to the rank."""
        total = np.concatenate([[0.0], np.cumsum(values)])
        start = self.offsets[query]
        return np.asarray(total[np.minimum(start + rank, self.offsets[query + 1])] - total[start])

    def dcg(self, query: Ints, rank: Ints) -> Floats:
        return self.sums(self.gain / np.log2(self.place + 1.0), query, rank)


class GainsBehindIdeal(Record):
    """Each gain over log2(2 + what the ideal ranking has gained, at least 1 a rank, less what the list has)."""

    value: Value

    def __call__(self, lists: Lists) -> Floats:
        ideal = IdealGains.of(lists.pool, self.value)
        gain = lists.gains(self.value)
        query, rank = lists.query[lists.list], lists.first.astype(np.int64)
        beyond = np.maximum(rank - lists.pool.size[query], 0)
        cost = ideal.sums(np.maximum(ideal.gain, 1.0), query, rank) + beyond
        gained = _above(lists, gain) + gain
        everything = lists.pool.sum(lists.pool.gains(self.value))[lists.query]
        with np.errstate(invalid="ignore"):
            score = lists.sum(gain / np.log2(2.0 + cost - gained)) / everything
        return np.where(everything > 0, score, np.nan)


class AtEachRelevant(Record):
    """The mean of nDCG over the ranks of the relevant documents; those not found count at the end of the list."""

    value: Value

    def __call__(self, lists: Lists) -> Floats:
        ideal = IdealGains.of(lists.pool, self.value)
        gain = lists.gains(self.value) / np.log2(lists.first + 1.0)
        dcg = _above(lists, gain) + gain
        at_found = lists.sum(dcg / ideal.dcg(lists.query[lists.list], lists.first.astype(np.int64)))
        relevant = lists.pool.count(lists.pool.gains(self.value) > 0)[lists.query]
        with np.errstate(divide="ignore", invalid="ignore"):
            at_end = lists.sum(gain) / ideal.dcg(lists.query, lists.pool.size[lists.query])
            score = (at_found + (relevant - np.diff(lists.offsets)) * at_end) / relevant
        return np.where(relevant > 0, score, np.nan)


class AtEachLevel(Record):
    """The mean of nDCG over the depths at which the ideal ranking goes from one grade to the next."""

    value: Value
    rel: float

    def __call__(self, lists: Lists) -> Floats:
        pool = lists.pool
        ideal = IdealGains.of(pool, self.value)
        query, depth = self._levels(ideal, pool)
        levels = np.bincount(query, minlength=pool.queries)
        column = np.arange(len(query)) - np.searchsorted(query, query)
        width = int(levels.max(initial=0))
        depths = np.full((pool.queries, width), np.iinfo(np.int64).max)
        depths[query, column] = depth
        best = np.full((pool.queries, width), np.inf)
        best[query, column] = ideal.dcg(query, depth)
        # One row per list and one column per level: what the list gains between one level's depth and the next one's.
        gain = lists.gains(self.value) / np.log2(lists.first + 1.0)
        band = (depths[lists.query[lists.list]] < lists.first[:, None]).sum(axis=1)
        cell = lists.list * (width + 1) + band
        gained = np.bincount(cell, weights=gain, minlength=len(lists) * (width + 1))
        dcg = np.cumsum(gained.reshape(len(lists), width + 1), axis=1)
        # The last rank counts too where at least two documents follow the last one with a gain in the ideal ranking.
        positive = pool.count(pool.gains(self.value) > 0)[lists.query]
        goes_on = lists.length > positive + 1
        with np.errstate(divide="ignore", invalid="ignore"):
            at_end = dcg[:, -1] / ideal.dcg(lists.query, positive)
            score = (dcg[:, :width] / best[lists.query]).sum(axis=1) + np.where(goes_on, at_end, 0.0)
        defined = (pool.relevant(self.rel)[lists.query] > 0) & (positive > 0)
        return np.where(defined, score / np.maximum(levels[lists.query] + goes_on, 1), np.nan)

    def _levels(self, ideal: IdealGains, pool: Pool) -> tuple[Ints, Ints]:
        """Return the query and the depth of the last document of each gain above 0, best first."""
        gain, query = ideal.gain, pool.query
        final = np.ones(len(gain), bool)
        final[:-1] = (gain[1:] != gain[:-1]) | (query[1:] != query[:-1])
        row = np.flatnonzero(final & (gain > 0))
        return query[row], ideal.place[row]


# -- forms and counts --------------------------------------------------------------------------------


class OfPool(Form):
    """The score of the ideal ranking, independent of the list."""

    of: Form

    def score(self, lists: Lists) -> Floats:
        return self.of.ideal(lists.pool.everything)[lists.query]


class Unjudged(Form):
    """The number of unjudged documents among the first k."""

    cutoff: int

    def score(self, lists: Lists) -> Floats:
        judged = Linear(FLAT.up_to(self.cutoff), AtLeast(0)).score(lists)
        return np.minimum(lists.length, self.cutoff) - judged

    @property
    def gain(self) -> Value:
        return Negative(AtLeast(0))


class GradesBetween(Form):
    """The number of documents of the list with a grade of at least `low` and below `high`."""

    low: float
    high: float

    def score(self, lists: Lists) -> Floats:
        return lists.count((lists.grade >= self.low) & (lists.grade < self.high)).astype(np.float64)


class Utility(Record):
    """The contingency table of retrieved and relevant, weighted."""

    weights: tuple[float, ...]
    documents: int  # in the collection

    @property
    def can_be_negative(self) -> bool:
        return min(self.weights) < 0

    def __call__(self, retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
        neither = self.documents - retrieved - relevant + found
        table = (found, retrieved - found, relevant - found, neither)
        return np.asarray(sum(weight * count for weight, count in zip(self.weights, table, strict=True)))


def _set_ap(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return np.where(relevant > 0, found * found / (np.maximum(retrieved, 1.0) * relevant), np.nan)


def _set_relative(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return np.where(relevant > 0, found / np.maximum(np.minimum(retrieved, relevant), 1.0), np.nan)


def _one(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return np.ones_like(retrieved)
