"""The measures of NTCIR: blended ratios of graded judgments.

With C(r) the relevant documents of the first r ranks, cg(r) their gains added up, cg*(r) those of the ideal list, and

    BR(r) = (C(r) + beta * cg(r)) / (r + beta * cg*(r))

    Q@k       = sum over ranks i <= k of rel_i * BR(i) / min(R, k)
    O-measure = BR(rank of the first relevant document)
    P-measure = BR(p), p being the rank of the first document of the best grade that the list has
    P-plus    = mean of BR(i) over the relevant documents at ranks i <= p
    NCU       = sum over ranks i of Pr(stop at i) * BR(i), for readers who stop at relevant documents
    nERR@k    = ERR@k / ERR@k of the judged documents sorted best first
    D-Q@k     = Q@k with the gain sum over intents i of P(i) * gain(grade of d for i)
    D#-Q@k    = gamma * I-rec@k + (1 - gamma) * D-Q@k

Sakai, On the properties of evaluation metrics for finding one highly relevant document, IPSJ TOD 2007
(O-measure, P-measure, P-plus).
Sakai, Alternatives to bpref, SIGIR 2007 (Q).
Sakai & Robertson, Modelling a user population for designing information retrieval metrics, EVIA 2008 (NCU).
Chapelle, Metzler, Zhang & Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009 (nERR).
Sakai & Song, Evaluating diversified search results using per-intent graded relevance, SIGIR 2011 (D-Q, D#-Q).
"""

from __future__ import annotations

from typing import Any

from calipers.measures.diversity import GAMMA, subtopic_recall
from calipers.measures.forms import CUTOFF, IDEAL, RELEVANT, Cascade, Form, Smaller, TotalValue
from calipers.measures.forms.blended import Blended, FirstBlended, GeometricTotal, Preferred, RankBiasedBlended
from calipers.measures.forms.global_gain import OfGlobalGain, Sharp
from calipers.measures.gains import GainFrom, LinearGain, gain_of
from calipers.measures.parameters import GAIN, MAX_GRADE, POSITIVE_REL, REL, TOP_K, Parameter
from calipers.measures.registry import alias, measure
from calipers.measures.user_models import stop_of
from calipers.measures.weights import DISCOUNTS

ANY = 5e-324  # the smallest number above 0: every document with a gain is relevant
BLEND = Parameter("The weight of gains, compared to the number of relevant documents.", "number", 1, least=0)
Q_NORM = Parameter(
    "Divide by the number of relevant documents (R), or by the cutoff if that is smaller (min).",
    "word",
    "min",
    ("R", "min"),
)
STOP = Parameter(
    "Readers stop at all relevant documents with the same probability (uniform), by grade (graded), or mostly at the "
    "first relevant documents (rank).",
    "word",
    "uniform",
    ("uniform", "graded", "rank"),
)
STOPS = Parameter("With stop=graded, how often readers stop at a grade.", "table", open="the gain of the grade")
STOP_RATIO = Parameter(
    "With stop=rank, how often readers stop at a relevant document compared to the relevant document before it.",
    "number",
    0.95,
    above=0,
    most=1,
)


@measure("Q", cutoff=TOP_K, rel=REL, beta=BLEND, gain=GAIN, norm=Q_NORM, aliases=("Q-measure", "Q_measure"))
def q_measure(cutoff: int | None, rel: float, beta: float, gain: Any, norm: str) -> Form:
    """The sum of the blended ratios at the relevant documents, divided by R, or by the cutoff if that is smaller."""
    by = RELEVANT(rel) if cutoff is None or norm == "R" else Smaller(RELEVANT(rel), CUTOFF(cutoff))
    return Blended(gain_of(gain), rel, float(beta), cutoff) / by


@measure("O-measure", rel=REL, beta=BLEND, gain=GAIN, aliases=("O_measure",))
def o_measure(rel: float, beta: float, gain: Any) -> Form:
    """The blended ratio at the first relevant document."""
    return FirstBlended(gain_of(gain), rel, float(beta))


@measure("P-measure", rel=REL, beta=BLEND, gain=GAIN, aliases=("P_measure",))
def p_measure(rel: float, beta: float, gain: Any) -> Form:
    """The blended ratio at the first document of the best grade of the list."""
    return Preferred(gain_of(gain), rel, float(beta), mean=False)


@measure("P-plus", rel=REL, beta=BLEND, gain=GAIN, aliases=("P+", "P_plus", "PPlus"))
def p_plus(rel: float, beta: float, gain: Any) -> Form:
    """The mean blended ratio at the relevant documents down to the first one of the best grade of the list."""
    return Preferred(gain_of(gain), rel, float(beta), mean=True)


@measure("NCU", rel=REL, beta=BLEND, gain=GAIN, stop=STOP, stops=STOPS, gamma=STOP_RATIO)
def normalised_cumulative_utility(rel: float, beta: float, gain: Any, stop: str, stops: Any, gamma: float) -> Form:
    """The mean blended ratio at the relevant documents where readers stop: uniformly, by grade or by rank."""
    value = gain_of(gain)
    if stop == "uniform":
        return Blended(value, rel, float(beta)) / RELEVANT(rel)
    if stop == "graded":
        stopping = GainFrom(value if stops is None else gain_of(stops), rel)
        return Blended(value, rel, float(beta), stop=stopping) / TotalValue(stopping)
    return RankBiasedBlended(value, rel, float(beta), gamma) / GeometricTotal(rel, gamma)


@measure("nERR", cutoff=TOP_K, gain=GAIN.by_default("exp"), max_grade=MAX_GRADE)
def normalised_err(cutoff: int | None, gain: Any, max_grade: float | None) -> Form:
    """ERR divided by the ERR of the best order of the judged documents."""
    return Cascade(DISCOUNTS["zipf"].up_to(cutoff), stop_of(gain, max_grade)) / IDEAL


@measure("D-Q", cutoff=TOP_K, rel=POSITIVE_REL, beta=BLEND, gain=GAIN, reads="subtopics")
def d_q(cutoff: int | None, rel: float, beta: float, gain: Any) -> Form:
    """Q-measure with the sum over intents of probability times gain as the gain of a document."""
    by = RELEVANT(ANY) if cutoff is None else Smaller(RELEVANT(ANY), CUTOFF(cutoff))
    of = Blended(LinearGain(), ANY, float(beta), cutoff) / by
    return OfGlobalGain(of, gain_of(gain), rel)


@measure("D#-Q", cutoff=TOP_K, rel=POSITIVE_REL, gamma=GAMMA, beta=BLEND, gain=GAIN, reads="subtopics")
def d_sharp_q(cutoff: int | None, rel: float, gamma: float, beta: float, gain: Any) -> Form:
    """The weighted mean of D-Q and the share of intents that the top k answers."""
    recall = subtopic_recall(cutoff=cutoff, rel=rel)
    blended = d_q(cutoff=cutoff, rel=rel, beta=beta, gain=gain)
    return Sharp(((float(gamma), recall.form), (1.0 - gamma, blended.form)))


# pyNTCIREVAL's names.
alias("D-MSnDCG", "D-nDCG")
alias("D#-MSnDCG", "D#-nDCG")
alias("MSnDCG", "nDCG")
alias("OMeasure", "O-measure")
alias("PMeasure", "P-measure")
alias("PPlusMeasure", "P-plus")
alias("QMeasure", "Q")
alias("NCUguP", "NCU", stop="graded", beta=0)
alias("NCUguBR", "NCU", stop="graded")
alias("NCUrbP", "NCU", stop="rank", beta=0)
alias("NCUrbBR", "NCU", stop="rank")
