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
    GainFrom,
    LinearGain,
    ShareOfLargest,
    StopByGain,
    StopProbability,
    Value,
    gain_of,
)
from calipers.measures.levels import AtLeast, Judged
from calipers.measures.registry import LARGEST, measure
from calipers.measures.weights import DISCOUNTS, Geometric, InverseSquare, Weights, discount_of


@measure("RR", cutoff=None, rel=1, aliases=("MRR", "recip_rank"))
def reciprocal_rank(cutoff: int | None, rel: float) -> Form:
    """One over the rank of the first relevant document, 0 where none is found."""
    return Cascade(DISCOUNTS["zipf"].up_to(cutoff), AtLeast(rel))


@measure("ERR", cutoff=None, max_grade=LARGEST, gain="exp")
def expected_reciprocal_rank(cutoff: int | None, max_grade: float | None, gain: Any) -> Form:
    """The mean of one over the rank at which a reader, satisfied by better documents more often, stops."""
    return Cascade(DISCOUNTS["zipf"].up_to(cutoff), stop_of(gain, max_grade))


@measure("RBP", cutoff=None, p=0.8, rel=1, gain=None, max_grade=LARGEST)
def rank_biased_precision(cutoff: int | None, p: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The rate at which a reader, who goes on to the next rank with probability p, meets relevant documents."""
    return Linear(_persistence(p).up_to(cutoff), worth_of(rel, gain, max_grade))


@measure("RBP-residual", cutoff=None, p=0.8, aliases=("RBPResidual",))
def rank_biased_residual(cutoff: int | None, p: float) -> Form:
    """What RBP could still grow by if every unjudged document and every rank not shown were relevant."""
    return Complement(Linear(_persistence(p).up_to(cutoff), Judged()))


LARGEST_TARGET = 1e100  # of documents that a reader wants; its square has to be a number


@measure("INSQ", cutoff=None, T=1, rel=1, gain=None, max_grade=LARGEST, ranks=None)
def inverse_squares(
    cutoff: int | None, T: float, rel: float, gain: Any, max_grade: float | None, ranks: int | None
) -> Form:
    """RBP for a reader who wants T relevant documents and grows more persistent on the way down."""
    if not 0 < T <= LARGEST_TARGET:
        raise CalipersError(f"T={T} of 'INSQ' is not above 0 and at most {LARGEST_TARGET:g}")
    value = worth_of(rel, gain, max_grade)
    if check_ranks("INSQ", ranks) is None:
        return Linear(Weights(InverseSquare(T), cutoff), value)
    if cutoff is not None:
        raise CalipersError("INSQ takes a cutoff, or ranks whose weights add up to 1: not both")
    return Linear(Weights(InverseSquare(T), ranks), value) / TOTAL_WEIGHT


def check_ranks(name: str, ranks: int | None) -> int | None:
    """How many ranks share the weights of a measure; None for all that there are."""
    if ranks is not None and (isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1):
        raise CalipersError(f"ranks={ranks} of '{name}' is not a whole number of at least 1")
    return ranks


@measure("Weighted", cutoff=None, discount="telescoping", rel=1, gain=None, max_grade=LARGEST)
def weighted(cutoff: int | None, discount: Any, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The sum of any weight of each rank times the worth of its document."""
    return Linear(discount_of(discount).up_to(cutoff), worth_of(rel, gain, max_grade))


def _persistence(p: float) -> Weights:
    if not 0 <= p < 1:
        raise CalipersError(f"p={p} of 'RBP' is not a probability below 1")
    return Weights(Geometric(p))


def stop_of(gain: Any, max_grade: float | None) -> Value:
    """How likely a reader is satisfied: gain / (gain of the largest grade + 1), which is ERR's for gain=exp."""
    largest = 1.0 if max_grade is None else max_grade
    value = gain_of(gain)
    return StopProbability(largest) if value == GAINS["exp"] else StopByGain(value, largest)


def worth_of(rel: float, gain: Any, max_grade: float | None) -> Value:
    """Relevant or not; or, with a gain, the share of what the largest grade is worth; or the grade as it is."""
    if gain is None:
        return AtLeast(rel)
    if isinstance(gain, str) and gain == "grade":
        return GainFrom(LinearGain(), rel)
    return ShareOfLargest(gain_of(gain), 1.0 if max_grade is None else max_grade)
