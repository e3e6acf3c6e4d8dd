"""Measures that follow a reader down the list.

    RBP@k = (1 - p) * sum over i <= k of p^(i - 1) * value_i
    RBP-residual@k = 1 - (1 - p) * sum over judged ranks i <= k of p^(i - 1)
    INSQ@k = sum over i <= k of w_i * value_i, w_i = 1 / (i + 2 T - 1)^2 scaled to a sum of 1 over all ranks
    Weighted@k = sum over i <= k of discount(i) * value_i
    ERR@k = sum over i <= k of (1 / i) * s_i * product over j < i of (1 - s_j), s = (2^grade - 1) / 2^max_grade
    RR@k  = 1 / rank of the first relevant document

Moffat & Zobel, Rank-biased precision, TOIS 2008 (RBP, RBP-residual, Weighted).
Chapelle, Metzler, Zhang & Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009 (ERR).
Moffat, Scholer & Thomas, Models and metrics: IR evaluation as a user process, ADCS 2012 (INSQ).
Voorhees, The TREC-8 question answering track report, TREC 1999 (RR).

The reader of INST reads on until enough relevant documents were found:

    INST = sum of W(i) * value_i,  W(i + 1) / W(i) = ((i + T + T_i - 1) / (i + T + T_i))^2,
    T_i  = T - (value_1 + ... + value_i): the value that is still wanted; the weights of all ranks add up to 1

With `ranks`, the weights of the first `ranks` ranks add up to 1, and no rank below is read. cwl_eval and ir_measures
take 1,000 ranks.

Bailey, Moffat, Scholer & Thomas, User variability and IR system evaluation, SIGIR 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists
from calipers.measures.forms import TOTAL_WEIGHT, Cascade, Complement, Deterministic, Form, Linear
from calipers.measures.forms.browsing import Patient
from calipers.measures.forms.wrappers import WithoutZeroGains
from calipers.measures.gains import (
    GAINS,
    AtLeast,
    GainFrom,
    Judged,
    LinearGain,
    ShareOfLargest,
    StopByGain,
    StopProbability,
    Value,
    gain_of,
)
from calipers.measures.parameters import DISCOUNT, GAIN, GAIN_OR_BINARY, MAX_GRADE, PERSISTENCE, REL, TOP_K, Parameter
from calipers.measures.registry import measure
from calipers.measures.weights import DISCOUNTS, Geometric, InverseSquare, Weights, discount_of
from calipers.support.record import Record

TARGET = Parameter(
    "The number of relevant documents that a reader expects to need.",
    "number",
    1,
    above=0,
    most=1e100,  # its square has to be a finite number
)
RANKS = Parameter(
    "The weights of this many ranks add up to 1. cwl_eval takes 1000.", "whole number", least=1, open="all ranks"
)


@measure("RR", cutoff=TOP_K, rel=REL, aliases=("MRR", "recip_rank"))
def reciprocal_rank(cutoff: int | None, rel: float) -> Form:
    """One over the rank of the first relevant document, 0 if none is found."""
    return Cascade(DISCOUNTS["zipf"].up_to(cutoff), AtLeast(rel))


@measure("ERR", cutoff=TOP_K, max_grade=MAX_GRADE, gain=GAIN.by_default("exp"))
def expected_reciprocal_rank(cutoff: int | None, max_grade: float | None, gain: Any) -> Form:
    """The mean of one over the rank at which a reader stops, who is satisfied more often by better documents."""
    return Cascade(DISCOUNTS["zipf"].up_to(cutoff), stop_of(gain, max_grade))


@measure("RBP", cutoff=TOP_K, p=PERSISTENCE, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE)
def rank_biased_precision(cutoff: int | None, p: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The rate at which a reader, who goes on to the next rank with probability p, meets relevant documents."""
    return Linear(Weights(Geometric(p), cutoff), relevance_or_gain(rel, gain, max_grade))


@measure("RBP-residual", cutoff=TOP_K, p=PERSISTENCE, aliases=("RBPResidual",))
def rank_biased_residual(cutoff: int | None, p: float) -> Form:
    """The increase of RBP if all unjudged documents and all ranks below the list were relevant."""
    return Complement(Linear(Weights(Geometric(p), cutoff), Judged()))


@measure("INSQ", cutoff=TOP_K, T=TARGET, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE, ranks=RANKS)
def inverse_squares(
    cutoff: int | None, T: float, rel: float, gain: Any, max_grade: float | None, ranks: int | None
) -> Form:
    """RBP for a reader who wants T relevant documents and grows more persistent on the way down."""
    value = relevance_or_gain(rel, gain, max_grade)
    if ranks is None:
        return Linear(Weights(InverseSquare(T), cutoff), value)
    if cutoff is not None:
        raise CalipersError("INSQ takes a cutoff, or ranks whose weights add up to 1: not both")
    return Linear(Weights(InverseSquare(T), ranks), value) / TOTAL_WEIGHT


@measure(
    "Weighted",
    cutoff=TOP_K,
    discount=DISCOUNT.by_default("telescoping"),
    rel=REL,
    gain=GAIN_OR_BINARY,
    max_grade=MAX_GRADE,
)
def weighted(cutoff: int | None, discount: Any, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The sum of the weight of each rank times the value of its document, for any weights."""
    return Linear(discount_of(discount).up_to(cutoff), relevance_or_gain(rel, gain, max_grade))


def stop_of(gain: Any, max_grade: float | None) -> Value:
    """Return the probability that a reader is satisfied: gain / (gain of the largest grade + 1). ERR has gain=exp."""
    largest = 1.0 if max_grade is None else max_grade
    value = gain_of(gain)
    return StopProbability(largest) if value == GAINS["exp"] else StopByGain(value, largest)


def relevance_or_gain(rel: float, gain: Any, max_grade: float | None) -> Value:
    """Return the value of a document: 1 if it is relevant, or its gain over that of the largest grade, or its grade."""
    if gain is None:
        return AtLeast(rel)
    if isinstance(gain, str) and gain == "grade":
        return GainFrom(LinearGain(), rel)
    return ShareOfLargest(gain_of(gain), 1.0 if max_grade is None else max_grade)


@measure(
    "INST", T=TARGET.changed(above=None, least=0.5), rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE, ranks=RANKS
)
def inst(T: float, rel: float, gain: Any, max_grade: float | None, ranks: int | None) -> Form:
    """INSQ for a reader who expects T relevant documents and goes on longer until they are found."""
    value = relevance_or_gain(rel, gain, max_grade)
    return WithoutZeroGains(Deterministic(Adaptive(float(T), value, ranks)), value)


class Adaptive(Record):
    """Between two documents with a gain, i + T + T_i is i plus a constant a, and the ratios telescope.

        W(i) = W(s) * ((s + a - 1) / (i + a - 1))^2     from rank s on, where the stretch begins

    A stretch's weights then add up to differences of the trigamma function, the endless last one's included.
    """

    reader = "Wants T relevant documents, and goes on longer until they are found."
    target: float
    value: Value
    ranks: int | None = None

    @property
    def browser(self) -> Patient:
        return Patient(self.value, self.target)

    def __call__(self, lists: Lists) -> Floats:
        lists = lists.top(self.ranks)
        gain = lists.gains(self.value)
        bottom = np.inf if self.ranks is None else self.ranks + 1.0
        count = len(lists)
        # Stretches: one before the first gain of each list, then one from each gain on.
        begin = np.insert(lists.first.astype(np.float64), lists.offsets[:-1], 1.0)
        gains = np.insert(gain, lists.offsets[:-1], 0.0)
        start = lists.offsets[:-1] + np.arange(count)
        member = np.repeat(np.arange(count), np.diff(lists.offsets) + 1)
        total = np.cumsum(gains)
        a = 2.0 * self.target - (total - total[start][member])
        end = np.append(begin[1:], bottom)  # where the next stretch begins
        end[np.append(start[1:], len(begin)) - 1] = bottom
        near = begin + a - 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(np.isinf(end), 0.0, 2.0 * (np.log(near) - np.log(end + a - 1.0)))
            step = np.where((begin == end) & (near == 0), 0.0, step)
        reach = np.exp(_sums_above(step, start, member))
        weight = np.bincount(member, weights=reach * _stretch(near, end + a - 1.0), minlength=count)
        return np.bincount(member, weights=reach * gains, minlength=count) / weight


def _sums_above(values: Floats, start: Any, member: Any) -> Floats:
    """Return the sum of the values above each row of a segment. Minus infinity affects only its own segment."""
    never = np.isneginf(values)
    total = np.concatenate([[0.0], np.cumsum(np.where(never, 0.0, values))])
    blocked = np.concatenate([[0], np.cumsum(never)])
    above = total[:-1] - total[start][member]
    return np.where(blocked[:-1] > blocked[start][member], -np.inf, above)


def _stretch(near: Floats, far: Floats) -> Floats:
    """near^2 * (1/near^2 + 1/(near + 1)^2 + ... up to but without 1/far^2)."""
    found = np.where(far > near, 1.0, 0.0)  # of one rank, or of those below one where every reader stops
    several = np.flatnonzero((near != 0) & (far > near) & (far != near + 1.0))
    first = near[several]
    found[several] = first**2 * (_trigamma(first) - _trigamma(far[several]))
    return found


# B_2, B_4, ... of the trigamma function's series 1/x + 1/(2 x^2) + sum of B_2k / x^(2k + 1)
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
FAR = 16.0  # from where on the series is as good as floats are


def _trigamma(x: Floats) -> Floats:
    """Return 1/x^2 + 1/(x + 1)^2 + ..., and 0 for infinity. The series is ten times as fast as SciPy's function."""
    from scipy.special import polygamma

    square = 1.0 / x**2
    rest = np.zeros_like(x)
    for number in reversed(BERNOULLI):
        rest = (rest + number) * square
    found = (1.0 + rest) / x + 0.5 * square
    near = np.flatnonzero(x < FAR)
    found[near] = polygamma(1, x[near])
    return np.asarray(found)
