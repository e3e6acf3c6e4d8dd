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
"""

from __future__ import annotations

from typing import Any

from calipers.errors import CalipersError
from calipers.measures.forms import TOTAL_WEIGHT, Cascade, Complement, Form, Linear
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
