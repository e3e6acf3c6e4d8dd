"""Discounted cumulated gain, and what it is divided by.

    DCG@k    = sum over ranks i <= k of gain(grade_i) * discount(i)
    nDCG@k   = DCG@k / DCG@k of the judged documents sorted best first
    NCG@k    = the same without a discount: gain in the top k / the most that k documents could gain
    MeanNDCG = mean over k = 1 to n of nDCG@k
    SDCG@k   = DCG@k / sum over ranks i <= k of discount(i)
    SN-DCG@k = DCG@k / DCG@k of the same top k sorted best first
    HIT@k    = the largest gain(grade_i) with i <= k

Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002 (DCG, nDCG, NCG).
Moffat, Seven numeric properties of effectiveness metrics, AIRS 2013 (SDCG, SN-DCG, HIT).
"""

from __future__ import annotations

from typing import Any

from calipers.measures.forms import (
    IDEAL,
    IDEAL_TO_THE_END,
    TOTAL_WEIGHT,
    WHOLE_IDEAL,
    Form,
    Linear,
    MeanOverCutoffs,
    OwnIdeal,
    Peak,
    SelfNormalisedGain,
    ZeroIfShort,
)
from calipers.measures.forms.linear import weighted_sum
from calipers.measures.gains import gain_of
from calipers.measures.parameters import DISCOUNT, GAIN, GAINS, SHORT, TOP_K, Parameter
from calipers.measures.registry import alias, measure
from calipers.measures.weights import discount_of

NDCG_IDEAL = Parameter(
    "The ideal ranking holds the k best judged documents (pool), the k best retrieved ones (list), all judged "
    "documents without a cutoff (whole), or k documents of gain 1 (k).",
    "word",
    "pool",
    ("pool", "list", "whole", "k"),
)
AVERAGED = Parameter(
    "Average the scores of all cutoffs (cutoffs), or score the whole list (no).", "word", "no", ("no", "cutoffs")
)


@measure("DCG", cutoff=TOP_K, gain=GAIN, gains=GAINS, discount=DISCOUNT)
def dcg(cutoff: int | None, gain: Any, gains: Any, discount: Any) -> Form:
    """The sum of the gains of the list, with smaller weights for later ranks."""
    return Linear(weight=discount_of(discount).up_to(cutoff), value=gain_of(gain, gains))


@measure("nDCG", **dcg.parameters, short=SHORT, ideal=NDCG_IDEAL, averaged=AVERAGED)
def ndcg(cutoff: int | None, short: str, ideal: str, averaged: str, **parameters: Any) -> Form:
    """DCG divided by the DCG of the best order of the judged documents."""
    gained = dcg(cutoff=cutoff, **parameters)
    if averaged == "cutoffs":
        linear = weighted_sum(gained.form)
        assert linear is not None
        return MeanOverCutoffs(linear, own=ideal == "list")
    if ideal == "list":
        share = gained / OwnIdeal()
    elif ideal == "whole" or (ideal == "k" and cutoff is None):
        share = gained / WHOLE_IDEAL
    elif ideal == "k":
        share = gained / TOTAL_WEIGHT
    else:
        share = gained / (IDEAL_TO_THE_END if short == "n" else IDEAL)
    return ZeroIfShort(share, cutoff) if short == "zero" and cutoff is not None else share


@measure("NCG", cutoff=TOP_K, gain=GAIN, gains=GAINS)
def ncg(cutoff: int | None, gain: Any, gains: Any) -> Form:
    """The gain in the top k in any order, divided by the largest gain that k documents can have."""
    return dcg(cutoff=cutoff, gain=gain, gains=gains, discount="none") / IDEAL


@measure("SDCG", **{**dcg.parameters, "cutoff": TOP_K.required})
def sdcg(**parameters: Any) -> Form:
    """DCG divided by the DCG of documents of gain 1 at every rank down to the cutoff."""
    return dcg(**parameters) / TOTAL_WEIGHT


@measure("SN-DCG", **dcg.parameters)
def sn_dcg(cutoff: int | None, gain: Any, gains: Any, discount: Any) -> Form:
    """DCG divided by the DCG of the same top k sorted best first."""
    return SelfNormalisedGain(weight=discount_of(discount).up_to(cutoff), value=gain_of(gain, gains))


@measure("HIT", cutoff=TOP_K, gain=GAIN, example="HIT@10", as_written=True)
def hit(cutoff: int | None, gain: Any) -> Form:
    """The largest gain in the top k. Other spellings, such as hit@k, are Success."""
    return Peak(gain_of(gain), cutoff)


alias("ndcg_burges", "nDCG", gain="exp")
alias("MeanNDCG", "nDCG", averaged="cutoffs")
alias("NDCG-k", "SDCG")
