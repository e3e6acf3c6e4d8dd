"""Measures of readers who go on from each rank to the next with some chance, and five readings of every such reader.

    C(i) = the chance of going on from rank i; V(i) = product of C(j) over j < i; W(i) = V(i) / sum of V;
    L(i) = V(i) * (1 - C(i))
    EU = sum of W(i) * gain(i)                          ETU = sum of L(i) * (gain(1) + ... + gain(i))
    EC = sum of W(i) * cost(i)                          ETC = sum of L(i) * (cost(1) + ... + cost(i))
    ED = sum of V(i)
    BPM: C(i) = 1 while less than T is gained and less than K spent
    NERR8@k, NERR9@k: C(i) = 1 - gain(i), times i / (i + 1); NERR10: p (1 - gain(i)); NERR11: that of INSQ (1 - gain(i))
    IFT-C1: C(i) = 1 - 1 / (1 + b1 exp(R1 (T - gained)))
    IFT-C2: C(i) = 1 / (1 + b2 exp(R2 (A - gained / spent)));  IFT-C1-C2: the product of both
    SET@k = sum of W(i) * gain(i), W as (i + 1)^beta - i^beta for i <= k;  NPV = RBP with p = 1 / (1 + rate)
    TBG = sum of gain(i) * 2^(-spent above i / halflife);  U-measure = sum of gain(i) * max(0, 1 - spent above i / L)

Moffat, Bailey, Scholer & Thomas, Incorporating user expectations and behavior into the measurement of search
    effectiveness, TOIS 2017 (EU, ETU, ED).
Azzopardi, Thomas & Moffat, cwl_eval: An evaluation tool for information retrieval, SIGIR 2019 (EC, ETC, NPV).
Azzopardi, Modelling interaction with economic models of search, SIGIR 2014 (SET).
Zhang, Liu, Li, Zhang, Xu & Ma, Evaluating web search with a bejeweled player model, SIGIR 2017 (BPM).
Azzopardi, Mackenzie & Moffat, ERR is not C/W/L: Exploring the relationship between expected reciprocal rank and other
    metrics, ICTIR 2021 (NERR8, NERR9, NERR10, NERR11).
Azzopardi, Thomas & Craswell, Measuring the utility of search engine result pages, SIGIR 2018 (IFT-C1, IFT-C2,
    IFT-C1-C2).
Smucker & Clarke, Time-based calibration of effectiveness measures, SIGIR 2012 (TBG).
Sakai & Dou, Summaries, ranked retrieval and sessions: A unified framework for information access evaluation, SIGIR 2013
    (U-measure).
"""

from __future__ import annotations

from typing import Any

from calipers.errors import CalipersError
from calipers.measures.forms import Form, Linear
from calipers.measures.forms.browsing import (
    MOST_RANKS,
    Bejeweled,
    Browser,
    ByRank,
    FadingReader,
    Foraging,
    SatisfiedReader,
    above_zero,
    browsing_model,
    ranks_read,
    read,
)
from calipers.measures.registry import LARGEST, NEEDED, Measure, measure
from calipers.measures.user_models import worth_of
from calipers.measures.weights import DISCOUNTS, FLAT, Geometric, InverseSquare, PowerSteps, Weights

DEPTH = 1000  # ranks that a reader is followed down, as in cwl_eval


def browser_of(measure: Measure) -> Browser:
    """The reader of a measure; refused where it has none."""
    found = browsing_model(measure.form) if measure.reads == "grades" else None
    if found is None:
        raise CalipersError(
            f"{measure!r} has neither falling weights of ranks nor a chance of going on from each, as RBP and INST"
        )
    return found


def _reading(name: str, sentence: str) -> None:
    def build(of: Measure, depth: int) -> Form:
        return read(browser_of(of), name, ranks_read(depth, name))

    build.__doc__ = sentence
    build.__module__ = __name__
    measure(name, example=f"{name}(RBP)", of=NEEDED, depth=DEPTH)(build)


_reading("EU", "Expected utility: what the reader of a measure gains per document that is looked at.")
_reading("ETU", "Expected total utility: what the reader of a measure gains in all.")
_reading("EC", "Expected cost: what the reader of a measure spends per document that is looked at.")
_reading("ETC", "Expected total cost: what the reader of a measure spends in all.")
_reading("ED", "Expected depth: how many documents the reader of a measure looks at.")


@measure("BPM", at="K", T=1, K=10, hb=0, hc=0, median=0.5, rel=1, gain=None, max_grade=LARGEST)
def bejeweled_player(
    T: float, K: float, hb: float, hc: float, median: float, rel: float, gain: Any, max_grade: float | None
) -> Form:
    """The gain per document of a reader who stops once T is gained or K is spent; hb and hc move both on the way."""
    limits = above_zero(T, "BPM", "T"), above_zero(K, "BPM", "K")
    return read(Bejeweled(worth_of(rel, gain, max_grade), *limits, float(hb), float(hc), float(median)), "EU", DEPTH)


@measure("NERR8", cutoff=NEEDED, rel=1, gain=None, max_grade=LARGEST)
def nearly_err_flat(cutoff: int, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The gain per document of a reader of at most k documents who stops where one satisfies."""
    return read(SatisfiedReader(worth_of(rel, gain, max_grade), FLAT.up_to(cutoff)), "EU", _deep(cutoff))


@measure("NERR9", cutoff=NEEDED, rel=1, gain=None, max_grade=LARGEST)
def nearly_err(cutoff: int, rel: float, gain: Any, max_grade: float | None) -> Form:
    """NERR8 for a reader who also tires as one over the rank, as the reader of ERR does."""
    return read(SatisfiedReader(worth_of(rel, gain, max_grade), DISCOUNTS["zipf"].up_to(cutoff)), "EU", _deep(cutoff))


@measure("NERR10", p=0.9, rel=1, gain=None, max_grade=LARGEST)
def nearly_err_persistent(p: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """NERR8 for a reader who goes on with probability p where a document does not satisfy, as in RBP."""
    if not 0 <= p < 1:
        raise CalipersError(f"p={p} of 'NERR10' is not a probability below 1")
    return read(SatisfiedReader(worth_of(rel, gain, max_grade), Weights(Geometric(p))), "EU", DEPTH)


@measure("NERR11", T=1, rel=1, gain=None, max_grade=LARGEST)
def nearly_err_patient(T: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """NERR8 for a reader who goes on as that of INSQ where a document does not satisfy."""
    weights = Weights(InverseSquare(above_zero(T, "NERR11", "T")))
    return read(SatisfiedReader(worth_of(rel, gain, max_grade), weights), "EU", DEPTH)


@measure("IFT-C1", T=2, b1=0.9, R1=10, rel=1, gain=None, max_grade=LARGEST)
def foraging_goal(T: float, b1: float, R1: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The gain per document of a forager who stops the more surely the nearer the gain is to T."""
    return read(Foraging(worth_of(rel, gain, max_grade), goal=_three("IFT-C1", T=T, b1=b1, R1=R1)), "EU", DEPTH)


@measure("IFT-C2", A=0.2, b2=0.9, R2=10, rel=1, gain=None, max_grade=LARGEST)
def foraging_rate(A: float, b2: float, R2: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The gain per document of a forager who goes on while the rate of gain by cost is above A."""
    return read(Foraging(worth_of(rel, gain, max_grade), rate=_three("IFT-C2", A=A, b2=b2, R2=R2)), "EU", DEPTH)


@measure("IFT-C1-C2", T=2, b1=0.9, R1=10, A=0.2, b2=0.9, R2=10, rel=1, gain=None, max_grade=LARGEST)
def foraging(
    T: float, b1: float, R1: float, A: float, b2: float, R2: float, rel: float, gain: Any, max_grade: float | None
) -> Form:
    """The gain per document of a forager with both a goal T of gain and a rate A of gain by cost."""
    goal, rate = _three("IFT-C1-C2", T=T, b1=b1, R1=R1), _three("IFT-C1-C2", A=A, b2=b2, R2=R2)
    return read(Foraging(worth_of(rel, gain, max_grade), goal, rate), "EU", DEPTH)


@measure("SET", cutoff=10, beta=0.5, rel=1, gain=None, max_grade=LARGEST)
def search_economics(cutoff: int, beta: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The gain per document of a reader of k documents at most, to whom i of them are worth i^beta."""
    if not 0 < beta <= 1:
        raise CalipersError(f"beta={beta} of 'SET' is not above 0 and at most 1")
    weights = Weights(PowerSteps(float(beta)), _deep(cutoff))
    return read(ByRank(worth_of(rel, gain, max_grade), weights), "EU", cutoff)


@measure("NPV", cutoff=None, rate=0.1, rel=1, gain=None, max_grade=LARGEST)
def net_present_value(cutoff: int | None, rate: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """RBP for a reader to whom each further document is worth less by an interest rate: p = 1 / (1 + rate)."""
    p = 1.0 / (1.0 + above_zero(rate, "NPV", "rate"))
    return Linear(Weights(Geometric(p), cutoff), worth_of(rel, gain, max_grade))


@measure("TBG", halflife=224, rel=1, gain=None, max_grade=LARGEST)
def time_biased_gain(halflife: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """What a reader gains whose attention halves with each halflife that was spent above a document."""
    faded = FadingReader(worth_of(rel, gain, max_grade), halflife=above_zero(halflife, "TBG", "halflife"))
    return read(faded, "ETU", DEPTH)


@measure("U-measure", L=1000, rel=1, gain=None, max_grade=LARGEST, aliases=("UMeasure",))
def u_measure(L: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """What a reader gains whose attention falls evenly to nothing over a text of length L."""
    return read(FadingReader(worth_of(rel, gain, max_grade), limit=above_zero(L, "U-measure", "L")), "ETU", DEPTH)


def _deep(cutoff: int) -> int:
    """As deep as a cutoff goes."""
    if cutoff > MOST_RANKS:
        raise CalipersError(f"cutoff {cutoff} is above {MOST_RANKS:,}, down to which a reader is followed")
    return cutoff


def _three(name: str, **parameters: float) -> tuple[float, float, float]:
    """A level, and two numbers of at least 0 that say how strictly it is taken."""
    for parameter, value in [*parameters.items()][1:]:
        if value < 0:
            raise CalipersError(f"{parameter}={value:g} of '{name}' is below 0")
    first, second, third = parameters.values()
    return float(first), float(second), float(third)
