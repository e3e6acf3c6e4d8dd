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

from calipers.errors import CalipersError
from calipers.measures.diversity import subtopic_recall
from calipers.measures.forms import CUTOFF, IDEAL, RELEVANT, Cascade, Form, Smaller, TotalValue
from calipers.measures.forms.blended import Blended, GeometricTotal, RankBiasedBlended
from calipers.measures.forms.blended_at_rank import FirstBlended, Preferred
from calipers.measures.forms.global_gain import OfGlobalGain, Sharp
from calipers.measures.gains import GainFrom, LinearGain, ShareOf, gain_of
from calipers.measures.registry import LARGEST, alias, is_finite, measure
from calipers.measures.user_models import stop_of
from calipers.measures.weights import DISCOUNTS

ANY = 5e-324  # the smallest number above 0: what has a gain is relevant


@measure("Q", cutoff=None, rel=1, beta=1, gain="linear", norm="min", aliases=("Q-measure", "Q_measure"))
def q_measure(cutoff: int | None, rel: float, beta: float, gain: Any, norm: str) -> Form:
    """The blended ratios at the relevant documents as a share of R, or of the cutoff where that is smaller."""
    if norm not in ("R", "min"):
        raise CalipersError(f"norm={norm} of 'Q' is not one of R, min")
    by = RELEVANT(rel) if cutoff is None or norm == "R" else Smaller(RELEVANT(rel), CUTOFF(cutoff))
    return Blended(gain_of(gain), rel, _beta("Q", beta), cutoff) / by


@measure("O-measure", rel=1, beta=1, gain="linear", aliases=("O_measure",))
def o_measure(rel: float, beta: float, gain: Any) -> Form:
    """The blended ratio at the first relevant document."""
    return FirstBlended(gain_of(gain), rel, _beta("O-measure", beta))


@measure("P-measure", rel=1, beta=1, gain="linear", aliases=("P_measure",))
def p_measure(rel: float, beta: float, gain: Any) -> Form:
    """The blended ratio at the first document of the best grade that the list has."""
    return Preferred(gain_of(gain), rel, _beta("P-measure", beta), mean=False)


@measure("P-plus", rel=1, beta=1, gain="linear", aliases=("P+", "P_plus", "PPlus"))
def p_plus(rel: float, beta: float, gain: Any) -> Form:
    """The mean blended ratio at the relevant documents down to the first one of the best grade that the list has."""
    return Preferred(gain_of(gain), rel, _beta("P-plus", beta), mean=True)


@measure("NCU", rel=1, beta=1, gain="linear", stop="uniform", stops=None, gamma=0.95)
def normalised_cumulative_utility(rel: float, beta: float, gain: Any, stop: str, stops: Any, gamma: float) -> Form:
    """The blended ratio where a reader stops: at relevant documents all alike, by their grade or by their number."""
    value, beta = gain_of(gain), _beta("NCU", beta)
    if stop == "uniform":
        return Blended(value, rel, beta) / RELEVANT(rel)
    if stop == "graded":
        stopping = GainFrom(value if stops is None else gain_of(stops), rel)
        return Blended(value, rel, beta, stop=stopping) / TotalValue(stopping)
    if stop != "rank":
        raise CalipersError(f"stop={stop} of 'NCU' is not one of uniform, graded, rank")
    if not 0 < gamma <= 1:
        raise CalipersError(f"gamma={gamma} of 'NCU' is not above 0 and at most 1")
    return RankBiasedBlended(value, rel, beta, gamma) / GeometricTotal(rel, gamma)


@measure("nERR", cutoff=None, gain="exp", max_grade=LARGEST)
def normalised_err(cutoff: int | None, gain: Any, max_grade: float | None) -> Form:
    """ERR as a share of the best that any order of the judged documents could give."""
    return Cascade(DISCOUNTS["zipf"].up_to(cutoff), stop_of(gain, max_grade)) / IDEAL


@measure("D-Q", cutoff=None, rel=1, beta=1, gain="linear", reads="subtopics")
def d_q(cutoff: int | None, rel: float, beta: float, gain: Any) -> Form:
    """Q-measure where a document gains what it is worth to the intents, by their probability."""
    by = RELEVANT(ANY) if cutoff is None else Smaller(RELEVANT(ANY), CUTOFF(cutoff))
    of = Blended(LinearGain(), ANY, _beta("D-Q", beta), cutoff) / by
    return OfGlobalGain(of, gain_of(gain), _level("D-Q", rel))


@measure("D#-Q", cutoff=None, rel=1, gamma=0.5, beta=1, gain="linear", reads="subtopics")
def d_sharp_q(cutoff: int | None, rel: float, gamma: float, beta: float, gain: Any) -> Form:
    """D-Q, and how many intents the top k answers."""
    return _sharp("D#-Q", gamma, cutoff, rel, d_q(cutoff=cutoff, rel=rel, beta=beta, gain=gain))


@measure("D-nERR", cutoff=None, rel=1, gain="linear", max_grade=LARGEST, reads="subtopics")
def d_nerr(cutoff: int | None, rel: float, gain: Any, max_grade: float | None) -> Form:
    """nERR where a document gains what it is worth to the intents, by their probability."""
    value = gain_of(gain)
    of = Cascade(DISCOUNTS["zipf"].up_to(cutoff), ShareOf(value, 1.0 if max_grade is None else max_grade)) / IDEAL
    return OfGlobalGain(of, value, _level("D-nERR", rel))


@measure("D#-nERR", cutoff=None, rel=1, gamma=0.5, gain="linear", max_grade=LARGEST, reads="subtopics")
def d_sharp_nerr(cutoff: int | None, rel: float, gamma: float, gain: Any, max_grade: float | None) -> Form:
    """D-nERR, and how many intents the top k answers."""
    return _sharp("D#-nERR", gamma, cutoff, rel, d_nerr(cutoff=cutoff, rel=rel, gain=gain, max_grade=max_grade))


def _of_global_gain(name: str, what: str, of: Callable[..., Form], **defaults: Any) -> None:
    """Declare the D- and the D#- form of a measure that reads no cutoff: what it is of, from gains by their worth."""

    def plain(rel: float, gain: Any, **parameters: Any) -> Form:
        return OfGlobalGain(of(**parameters), gain_of(gain), _level(f"D-{name}", rel))

    def sharp(rel: float, gamma: float, gain: Any, **parameters: Any) -> Form:
        return _sharp(f"D#-{name}", gamma, None, rel, plain(rel, gain, **parameters))

    plain.__doc__ = f"{what} where a document gains what it is worth to the intents, by their probability."
    sharp.__doc__ = f"D-{name}, and how many intents the list answers."
    plain.__module__ = sharp.__module__ = __name__
    measure(f"D-{name}", rel=1, **defaults, gain="linear", reads="subtopics")(plain)
    measure(f"D#-{name}", rel=1, gamma=0.5, **defaults, gain="linear", reads="subtopics")(sharp)


def _global_ncu(beta: float, stop: str, patience: float) -> Form:
    if stop not in ("uniform", "graded", "rank"):
        raise CalipersError(f"stop={stop} of 'D-NCU' is not one of uniform, graded, rank")
    return normalised_cumulative_utility(
        rel=ANY, beta=beta, gain="linear", stop=stop, stops=None, gamma=patience
    )  # of the global gain, which is the grade


_of_global_gain(
    "O-measure", "O-measure", lambda beta: FirstBlended(LinearGain(), ANY, _beta("D-O-measure", beta)),
    beta=1,
)  # fmt: skip
_of_global_gain(
    "P-measure", "P-measure",
    lambda beta: Preferred(LinearGain(), ANY, _beta("D-P-measure", beta), mean=False), beta=1,
)  # fmt: skip
_of_global_gain(
    "P-plus", "P-plus",
    lambda beta: Preferred(LinearGain(), ANY, _beta("D-P-plus", beta), mean=True), beta=1,
)  # fmt: skip
_of_global_gain("NCU", "NCU", _global_ncu, beta=1, stop="uniform", patience=0.95)

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


def _sharp(name: str, gamma: float, cutoff: int | None, rel: float, of: Form) -> Form:
    if not is_finite(gamma) or not 0 <= gamma <= 1:
        raise CalipersError(f"gamma={gamma} of '{name}' is not between 0 and 1")
    return Sharp(((float(gamma), subtopic_recall(cutoff=cutoff, rel=rel)), (1.0 - gamma, of)))


def _beta(name: str, value: float) -> float:
    if not is_finite(value) or value < 0:
        raise CalipersError(f"beta={value} of '{name}' is not a number of at least 0")
    return float(value)


def _level(name: str, rel: float) -> float:
    if not rel > 0:
        raise CalipersError(f"rel={rel} of '{name}', a measure by subtopic, must be above 0")
    return rel
