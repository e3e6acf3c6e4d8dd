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
    D-nERR@k  = nERR@k with that gain
    D#-nERR@k = gamma * I-rec@k + (1 - gamma) * D-nERR@k
    D-O-measure, D-P-measure, D-P-plus, D-NCU and their D#- forms: the same of these

Sakai, On the properties of evaluation metrics for finding one highly relevant document, IPSJ TOD 2007
(O-measure, P-measure, P-plus).
Sakai, Alternatives to bpref, SIGIR 2007 (Q).
Sakai & Robertson, Modelling a user population for designing information retrieval metrics, EVIA 2008 (NCU).
Chapelle, Metzler, Zhang & Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009 (nERR).
Sakai & Song, Evaluating diversified search results using per-intent graded relevance, SIGIR 2011
(D-Q, D#-Q, D-nERR, D#-nERR, D-O-measure, D#-O-measure, D-P-measure, D#-P-measure, D-P-plus, D#-P-plus, D-NCU, D#-NCU).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calipers.measures.diversity import GAMMA, subtopic_recall
from calipers.measures.forms import CUTOFF, IDEAL, RELEVANT, Cascade, Form, Smaller, TotalValue
from calipers.measures.forms.blended import Blended, GeometricTotal, RankBiasedBlended
from calipers.measures.forms.blended_at_rank import FirstBlended, Preferred
from calipers.measures.forms.global_gain import OfGlobalGain, Sharp
from calipers.measures.gains import GainFrom, LinearGain, ShareOf, gain_of
from calipers.measures.parameters import GAIN, MAX_GRADE, POSITIVE_REL, REL, TOP_K, Parameter
from calipers.measures.registry import alias, measure
from calipers.measures.user_models import stop_of
from calipers.measures.weights import DISCOUNTS

ANY = 5e-324  # the smallest number above 0: every document with a gain is relevant
BLEND = Parameter("The weight of gains, compared to the number of relevant documents.", "number", 1, least=0)
Q_NORM = Parameter(
    "Divide by the number of relevant documents (R), or by the cutoff if that is smaller (min).",
    "word", "min", ("R", "min"),
)  # fmt: skip
STOP = Parameter(
    "Readers stop at all relevant documents with the same probability (uniform), by grade (graded), or mostly at the "
    "first relevant documents (rank).",
    "word", "uniform", ("uniform", "graded", "rank"),
)  # fmt: skip
STOPS = Parameter("With stop=graded, how often readers stop at a grade.", "table", open="the gain of the grade")
STOP_RATIO = Parameter(
    "With stop=rank, how often readers stop at a relevant document compared to the relevant document before it.",
    "number", 0.95, above=0, most=1,
)  # fmt: skip


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
    return _sharp(gamma, cutoff, rel, d_q(cutoff=cutoff, rel=rel, beta=beta, gain=gain).form)


@measure("D-nERR", cutoff=TOP_K, rel=POSITIVE_REL, gain=GAIN, max_grade=MAX_GRADE, reads="subtopics")
def d_nerr(cutoff: int | None, rel: float, gain: Any, max_grade: float | None) -> Form:
    """nERR with the sum over intents of probability times gain as the gain of a document."""
    value = gain_of(gain)
    of = Cascade(DISCOUNTS["zipf"].up_to(cutoff), ShareOf(value, 1.0 if max_grade is None else max_grade)) / IDEAL
    return OfGlobalGain(of, value, rel)


@measure("D#-nERR", cutoff=TOP_K, rel=POSITIVE_REL, gamma=GAMMA, gain=GAIN, max_grade=MAX_GRADE, reads="subtopics")
def d_sharp_nerr(cutoff: int | None, rel: float, gamma: float, gain: Any, max_grade: float | None) -> Form:
    """The weighted mean of D-nERR and the share of intents that the top k answers."""
    return _sharp(gamma, cutoff, rel, d_nerr(cutoff=cutoff, rel=rel, gain=gain, max_grade=max_grade).form)


def _of_global_gain(name: str, of: Callable[..., Form], **parameters: Any) -> None:
    """Declare the D- and the D#- measure of a measure without a cutoff. `of` makes a form that reads global gains."""

    def plain(rel: float, gain: Any, **others: Any) -> Form:
        return OfGlobalGain(of(**others), gain_of(gain), rel)

    def sharp(rel: float, gamma: float, gain: Any, **others: Any) -> Form:
        return _sharp(gamma, None, rel, plain(rel, gain, **others))

    plain.__doc__ = f"{name} with the sum over intents of probability times gain as the gain of a document."
    sharp.__doc__ = f"The weighted mean of D-{name} and the share of intents that the list answers."
    plain.__module__ = sharp.__module__ = __name__
    measure(f"D-{name}", rel=POSITIVE_REL, **parameters, gain=GAIN, reads="subtopics")(plain)
    measure(f"D#-{name}", rel=POSITIVE_REL, gamma=GAMMA, **parameters, gain=GAIN, reads="subtopics")(sharp)


def _global_ncu(beta: float, stop: str, patience: float) -> Form:
    return normalised_cumulative_utility(rel=ANY, beta=beta, stop=stop, gamma=patience).form


# The grade is the global gain in these forms.
_of_global_gain("O-measure", lambda beta: FirstBlended(LinearGain(), ANY, float(beta)), beta=BLEND)
_of_global_gain("P-measure", lambda beta: Preferred(LinearGain(), ANY, float(beta), mean=False), beta=BLEND)
_of_global_gain("P-plus", lambda beta: Preferred(LinearGain(), ANY, float(beta), mean=True), beta=BLEND)
_of_global_gain("NCU", _global_ncu, beta=BLEND, stop=STOP, patience=STOP_RATIO)

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


def _sharp(gamma: float, cutoff: int | None, rel: float, of: Form) -> Form:
    return Sharp(((float(gamma), subtopic_recall(cutoff=cutoff, rel=rel).form), (1.0 - gamma, of)))
