"""Novelty and diversity, for queries that may mean several things.

With P(i) the probability of intent i, J(r, i) = 1 where the document at rank r is relevant to it, and seen(i, r) the
documents above rank r that are:

    ERR-IA@k     = sum over i of P(i) * ERR@k for intent i, stopping with probability alpha at a relevant document
    alpha-DCG@k  = sum over r <= k of 1 / log2(r + 1) * sum over i of J(r, i) * (1 - alpha)^seen(i, r)
    alpha-nDCG@k = alpha-DCG@k / alpha-DCG@k of the list that takes at each rank the document that adds most
    NRBP         = (1 - (1 - alpha) beta) * sum over r of beta^(r-1) * sum over i of P(i) J(r, i) (1 - alpha)^seen(i, r)
    P-IA@k       = sum over i of P(i) * P@k for intent i
    AP-IA        = sum over i of P(i) * AP for intent i
    StRecall@k   = intents that the top k answers / intents that any judged document answers (I-rec)
    D-nDCG@k     = nDCG@k with the gain sum over i of P(i) * gain(grade of d for i)
    D#-nDCG@k    = gamma * I-rec@k + (1 - gamma) * D-nDCG@k

Intents that no judged document answers are left out, and P is 1 in all over the others.

Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher & MacKinnon, Novelty and diversity in information retrieval
    evaluation, SIGIR 2008 (alpha-DCG, alpha-nDCG).
Clarke, Kolla & Vechtomova, An effectiveness measure for ambiguous and underspecified queries, ICTIR 2009 (NRBP, nNRBP).
Agrawal, Gollapudi, Halverson & Ieong, Diversifying search results, WSDM 2009 (P-IA, AP-IA).
Chapelle, Ji, Liao, Velipasaoglu, Lai & Wu, Intent-based diversification of web search results, IR Journal 2011 (ERR-IA,
    nERR-IA).
Zhai, Cohen & Lafferty, Beyond independent relevance, SIGIR 2003 (StRecall).
Sakai & Song, Evaluating diversified search results using per-intent graded relevance, SIGIR 2011 (D-nDCG, D#-nDCG).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.forms import CUTOFF, FOUND, IDEAL, RELEVANT, Cascade, Form, Linear, Paired
from calipers.measures.forms.denominators import BestRanking
from calipers.measures.forms.intents import Alike, Blend, Each, GreedyIdeal, IntentAware, IntentWeights, Probable
from calipers.measures.gains import AtLeast, StopProbability, Value, gain_of
from calipers.measures.parameters import (
    DISCOUNT,
    GAIN,
    MAX_GRADE,
    PERSISTENCE,
    POSITIVE_REL,
    TOP_K,
    Parameter,
)
from calipers.measures.registry import alias, measure
from calipers.measures.weights import DISCOUNTS, FLAT, Discount, Geometric, Weights, discount_of
from calipers.support.record import Record

GREEDY = GreedyIdeal()
ALPHA = Parameter(
    "The probability that a document that answers an intent satisfies its reader.", "number", 0.5, least=0, most=1
)
GRADED = Parameter("Use grades, not only whether they reach rel.", "flag", False)
PERFECT = Parameter(
    "Divide by the score of documents that answer every intent (perfect), as ndeval does.", "word", choices=("perfect",)
)
SUBTOPIC_IDEAL = Parameter(
    "The ideal list takes at each rank the document that adds most (greedy), or is the best of all lists (best).",
    "word",
    "greedy",
    ("greedy", "best"),
)
BETA = PERSISTENCE.by_default(0.5)
GAMMA = Parameter("The weight of intent recall.", "number", 0.5, least=0, most=1)


@measure(
    "ERR-IA",
    cutoff=TOP_K,
    rel=POSITIVE_REL,
    alpha=ALPHA,
    graded=GRADED,
    max_grade=MAX_GRADE,
    norm=PERFECT,
    reads="subtopics",
)
def err_ia(
    cutoff: int | None, rel: float, alpha: float, graded: bool, max_grade: float | None, norm: str | None
) -> Form:
    """The mean over intents of one over the rank at which a reader with that intent stops.

    With norm=perfect, it is divided by the score of documents that answer every intent, as in ndeval.
    """
    stop = StopProbability(1.0 if max_grade is None else max_grade) if graded else _chance(rel, alpha)
    over = alpha * _perfect(DISCOUNTS["zipf"], cutoff, alpha) if norm else 1.0
    return IntentAware(Cascade(DISCOUNTS["zipf"].up_to(cutoff), stop), Probable(rel), over)


@measure(
    "nERR-IA",
    cutoff=TOP_K,
    rel=POSITIVE_REL,
    alpha=ALPHA,
    ideal=SUBTOPIC_IDEAL,
    reads="subtopics",
    aliases=("nERR_IA",),
)
def nerr_ia(cutoff: int | None, rel: float, alpha: float, ideal: str) -> Form:
    """ERR-IA divided by the ERR-IA of the list that takes at each rank the document that adds most.

    With ideal=best, it is divided by the ERR-IA of the best of all lists.
    """
    return err_ia(cutoff=cutoff, rel=rel, alpha=alpha) / _ideal(ideal)


@measure("alpha-DCG", cutoff=TOP_K, rel=POSITIVE_REL, alpha=ALPHA, discount=DISCOUNT, norm=PERFECT, reads="subtopics")
def alpha_dcg(cutoff: int | None, rel: float, alpha: float, discount: Any, norm: str | None) -> Form:
    """The gain of a reader who values an intent less each time that it has been answered.

    With norm=perfect, it is divided by the gain of documents that answer every intent, as in ndeval.
    """
    weight = discount_of(discount)
    if norm:
        return _fading(weight.up_to(cutoff), rel, alpha, Alike(rel), _perfect(weight, cutoff, alpha))
    return _fading(weight.up_to(cutoff), rel, alpha, Each(rel))


@measure(
    "alpha-nDCG",
    cutoff=TOP_K,
    rel=POSITIVE_REL,
    alpha=ALPHA,
    discount=DISCOUNT,
    ideal=SUBTOPIC_IDEAL,
    reads="subtopics",
    aliases=("alpha_nDCG", "α_nDCG", "α-nDCG"),
)
def alpha_ndcg(ideal: str, **parameters: Any) -> Form:
    """alpha-DCG divided by the alpha-DCG of the list that takes at each rank the document that adds most.

    With ideal=best, it is divided by the alpha-DCG of the best of all lists.
    """
    return alpha_dcg(**parameters) / _ideal(ideal)


@measure("NRBP", cutoff=TOP_K, rel=POSITIVE_REL, alpha=ALPHA, beta=BETA, reads="subtopics")
def nrbp(cutoff: int | None, rel: float, alpha: float, beta: float) -> Form:
    """Novelty- and rank-biased precision: a reader who goes on with probability beta, and values an intent less each
    time that it has been answered.
    """
    share = (1.0 - beta) / (1.0 - (1.0 - alpha) * beta)
    return _fading(Weights(Geometric(beta)).up_to(cutoff), rel, alpha, Probable(rel), share)


@measure("nNRBP", **nrbp.parameters, ideal=SUBTOPIC_IDEAL, reads="subtopics")
def nnrbp(ideal: str, **parameters: Any) -> Form:
    """NRBP divided by the NRBP of the list that takes at each rank the document that adds most.

    With ideal=best, it is divided by the NRBP of the best of all lists.
    """
    return nrbp(**parameters) / _ideal(ideal)


@measure("P-IA", cutoff=TOP_K, rel=POSITIVE_REL, reads="subtopics", aliases=("P_IA",), example="P-IA@10")
def precision_ia(cutoff: int | None, rel: float) -> Form:
    """The mean over intents of the share of the first k ranks, or of all documents, that are relevant."""
    of = Linear(FLAT.up_to(cutoff), AtLeast(rel)) / (FOUND() if cutoff is None else CUTOFF(cutoff))
    return IntentAware(of, Probable(rel))


@measure("AP-IA", cutoff=TOP_K, rel=POSITIVE_REL, reads="subtopics", aliases=("MAP-IA", "AP_IA", "MAP_IA"))
def average_precision_ia(cutoff: int | None, rel: float) -> Form:
    """The mean over intents of average precision."""
    return IntentAware(Paired(rel, cutoff) / RELEVANT(rel), Probable(rel))


@measure(
    "StRecall",
    cutoff=TOP_K,
    rel=POSITIVE_REL,
    reads="subtopics",
    aliases=("strec", "I-rec", "I_rec", "S-recall"),
    example="StRecall@10",
)
def subtopic_recall(cutoff: int | None, rel: float) -> Form:
    """The share of the intents that a document of the top k answers."""
    return IntentAware(Cascade(FLAT.up_to(cutoff), AtLeast(rel)), Alike(rel))


@measure("D-nDCG", cutoff=TOP_K, rel=POSITIVE_REL, gain=GAIN, discount=DISCOUNT, reads="subtopics")
def d_ndcg(cutoff: int | None, rel: float, gain: Any, discount: Any) -> Form:
    """nDCG with the sum over intents of probability times gain as the gain of a document."""
    value = gain_of(gain)
    return IntentAware(Linear(discount_of(discount).up_to(cutoff), value), Probable(rel)) / IDEAL


@measure("D#-nDCG", cutoff=TOP_K, rel=POSITIVE_REL, gamma=GAMMA, gain=GAIN, discount=DISCOUNT, reads="subtopics")
def d_sharp_ndcg(cutoff: int | None, rel: float, gamma: float, gain: Any, discount: Any) -> Form:
    """The weighted mean of D-nDCG and the share of intents that the top k answers."""
    recall = subtopic_recall(cutoff=cutoff, rel=rel)
    gained = d_ndcg(cutoff=cutoff, rel=rel, gain=gain, discount=discount)
    return Blend(((float(gamma), recall.form), (1.0 - gamma, gained.form)))


# ir_measures has ndeval's values under these names.
alias("ERR_IA", "ERR-IA", norm="perfect")
for _name in ("alpha_DCG", "α_DCG", "α-DCG"):
    alias(_name, "alpha-DCG", norm="perfect")


# -- pieces ------------------------------------------------------------------------------------------


class Chance(Record):
    """A chance that satisfies the reader, equal for all relevant documents."""

    of: AtLeast
    chance: float

    def __call__(self, grade: Floats) -> Floats:
        return np.asarray(self.chance * self.of(grade))


class Fading(Discount):
    """The weight of each rank, where every document above it has left a share of 1 - alpha."""

    of: Discount
    alpha: float

    @property
    def smooth(self) -> bool:
        return self.of.smooth

    @property
    def kink(self) -> float:
        return self.of.kink

    def __call__(self, rank: Floats) -> Floats:
        return np.asarray(self.of(rank) * (1.0 - self.alpha) ** (rank - 1.0))


def _fading(weight: Weights, rel: float, alpha: float, intents: IntentWeights, over: float = 1.0) -> Form:
    """Return the form with the sum over ranks of weight * sum over intents of J * (1 - alpha)^seen.

    It has a reader per intent, who stops with probability alpha at a document that answers the intent.
    """
    if alpha == 0:
        return IntentAware(Linear(weight, AtLeast(rel)), intents, over)
    return IntentAware(Cascade(weight, _chance(rel, alpha)), intents, alpha * over)


def _chance(rel: float, alpha: float) -> Value:
    return Chance(AtLeast(rel), alpha)


def _perfect(weight: Weights, cutoff: int | None, alpha: float) -> float:
    """Return the score of k documents that all answer an intent: weights of ranks times powers of 1 - alpha."""
    fading = Fading(weight.discount, alpha)
    if not alpha:
        if cutoff is None:
            raise CalipersError("norm=perfect without a cutoff needs an alpha above 0")
        return weight.up_to(cutoff).total()
    # Beyond it nothing is left that a float could show.
    depth = 1 if alpha == 1 else 1 + math.ceil(-40.0 / math.log1p(-alpha))
    return Weights(fading, depth if cutoff is None else min(cutoff, depth)).total()


def _ideal(ideal: str) -> BestRanking:
    return GREEDY if ideal == "greedy" else IDEAL
