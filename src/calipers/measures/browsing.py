"""Measures of readers who go on from each rank with some probability, five readings of each reader, and user models.

    C(i) = the probability to go on from rank i; V(i) = product of C(j) over j < i; W(i) = V(i) / sum of V;
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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Pool
from calipers.measures.forms import Form, Linear
from calipers.measures.forms.browsing import (
    MOST_RANKS,
    READINGS,
    Bejeweled,
    Browser,
    ByRank,
    FadingReader,
    Foraging,
    Read,
    SatisfiedReader,
    browsing_model,
    read,
    staged,
    tallied,
)
from calipers.measures.grammar import parse
from calipers.measures.parameters import GAIN_OR_BINARY, MAX_GRADE, PERSISTENCE, REL, TOP_K, Parameter
from calipers.measures.registry import Declaration, Measure, measure
from calipers.measures.user_models import TARGET, relevance_or_gain
from calipers.measures.weights import DISCOUNTS, FLAT, Geometric, InverseSquare, PowerSteps, Weights
from calipers.support.checks import described

DEPTH = 1000  # ranks that are followed by default, as in cwl_eval
FOLLOWED = TOP_K.changed(most=MOST_RANKS)
READER = Parameter("The measure with the reader.", "measure").required
READER_DEPTH = Parameter(
    "The number of ranks that the reader is followed.", "whole number", DEPTH, least=1, most=MOST_RANKS
)
GAIN_WANTED = Parameter("The gain that the reader wants.", "number", 2)
COST_LIMIT = Parameter(
    "The cost that ends the search, written after the @. Without costs of documents, it is a number of documents.",
    "number",
    10,
    above=0,
)
GAIN_SHIFT = Parameter("How much T changes with the gain of each document above the median.", "number", 0)
COST_SHIFT = Parameter("How much K changes with the gain of each document above the median.", "number", 0)
MEDIAN = Parameter("The gain that changes neither T nor K.", "number", 0.5)
RATE_WANTED = Parameter("The rate of gain per cost that the reader expects.", "number", 0.2)
STOPPING = Parameter("How early the reader stops, independent of what was found.", "number", 0.9, least=0)
GAIN_STRICTNESS = Parameter("How strictly the reader wants the gain T. 0 means not at all.", "number", 10, least=0)
RATE_STRICTNESS = Parameter("How strictly the reader expects the rate A. 0 means not at all.", "number", 10, least=0)
POWER = Parameter("The value of i documents is i^beta.", "number", 0.5, above=0, most=1)
RATE = Parameter("The rate at which the value of further documents decreases.", "number", 0.1, above=0)
HALFLIFE = Parameter("The cost after which attention halves, for example in seconds.", "number", 224, above=0)
TEXT_LENGTH = Parameter("The cost after which attention is 0, for example in characters.", "number", 1000, above=0)


def browser_of(measure: Measure) -> Browser:
    """Return the reader of a measure. Raise an error if it has none."""
    found = browsing_model(measure.form) if measure.reads == "grades" else None
    if found is None:
        raise CalipersError(
            f"{measure!r} has neither falling weights of ranks nor a chance of going on from each, as RBP and INST"
        )
    return found


def _reading(name: str, sentence: str) -> Declaration:
    def build(of: Measure, depth: int) -> Form:
        return read(browser_of(of), name, depth)

    build.__doc__ = sentence
    build.__module__ = __name__
    return measure(name, example=f"{name}(RBP)", of=READER, depth=READER_DEPTH)(build)


EU = _reading("EU", "Expected utility: the gain of the reader of a measure per document that is read.")
ETU = _reading("ETU", "Expected total utility: the total gain of the reader of a measure.")
EC = _reading("EC", "Expected cost: the cost of the reader of a measure per document that is read.")
ETC = _reading("ETC", "Expected total cost: the total cost of the reader of a measure.")
ED = _reading("ED", "Expected depth: the number of documents that the reader of a measure reads.")


@measure(
    "BPM",
    at="K",
    T=GAIN_WANTED.changed(default=1, above=0),
    K=COST_LIMIT,
    hb=GAIN_SHIFT,
    hc=COST_SHIFT,
    median=MEDIAN,
    rel=REL,
    gain=GAIN_OR_BINARY,
    max_grade=MAX_GRADE,
)
def bejeweled_player(
    T: float, K: float, hb: float, hc: float, median: float, rel: float, gain: Any, max_grade: float | None
) -> Form:
    """The gain per document of a reader who stops after a gain of T or a cost of K. hb and hc change T and K."""
    value = relevance_or_gain(rel, gain, max_grade)
    return read(Bejeweled(value, float(T), float(K), float(hb), float(hc), float(median)), "EU", DEPTH)


@measure("NERR8", cutoff=FOLLOWED.required, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE)
def nearly_err_flat(cutoff: int, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The gain per document of a reader of at most k documents who stops at a satisfying document."""
    return read(SatisfiedReader(relevance_or_gain(rel, gain, max_grade), FLAT.up_to(cutoff)), "EU", cutoff)


@measure("NERR9", cutoff=FOLLOWED.required, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE)
def nearly_err(cutoff: int, rel: float, gain: Any, max_grade: float | None) -> Form:
    """NERR8 for a reader whose attention also falls as one over the rank, like that of the reader of ERR."""
    return read(SatisfiedReader(relevance_or_gain(rel, gain, max_grade), DISCOUNTS["zipf"].up_to(cutoff)), "EU", cutoff)


@measure("NERR10", p=PERSISTENCE.by_default(0.9), rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE)
def nearly_err_persistent(p: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """NERR8 for a reader who goes on with probability p after a document that does not satisfy, as in RBP."""
    return read(SatisfiedReader(relevance_or_gain(rel, gain, max_grade), Weights(Geometric(p))), "EU", DEPTH)


@measure("NERR11", T=TARGET, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE)
def nearly_err_patient(T: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """NERR8 for a reader who goes on like the reader of INSQ after a document that does not satisfy."""
    weights = Weights(InverseSquare(float(T)))
    return read(SatisfiedReader(relevance_or_gain(rel, gain, max_grade), weights), "EU", DEPTH)


@measure("IFT-C1", T=GAIN_WANTED, b1=STOPPING, R1=GAIN_STRICTNESS, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE)
def foraging_goal(T: float, b1: float, R1: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The gain per document of a forager whose probability to stop grows as the gain approaches T."""
    return read(Foraging(relevance_or_gain(rel, gain, max_grade), goal=(float(T), float(b1), float(R1))), "EU", DEPTH)


@measure("IFT-C2", A=RATE_WANTED, b2=STOPPING, R2=RATE_STRICTNESS, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE)
def foraging_rate(A: float, b2: float, R2: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The gain per document of a forager who goes on while the rate of gain by cost is above A."""
    return read(Foraging(relevance_or_gain(rel, gain, max_grade), rate=(float(A), float(b2), float(R2))), "EU", DEPTH)


@measure(
    "IFT-C1-C2",
    T=GAIN_WANTED,
    b1=STOPPING,
    R1=GAIN_STRICTNESS,
    A=RATE_WANTED,
    b2=STOPPING,
    R2=RATE_STRICTNESS,
    rel=REL,
    gain=GAIN_OR_BINARY,
    max_grade=MAX_GRADE,
)
def foraging(
    T: float, b1: float, R1: float, A: float, b2: float, R2: float, rel: float, gain: Any, max_grade: float | None
) -> Form:
    """The gain per document of a forager with both a goal T of gain and a rate A of gain by cost."""
    goal, rate = (float(T), float(b1), float(R1)), (float(A), float(b2), float(R2))
    return read(Foraging(relevance_or_gain(rel, gain, max_grade), goal, rate), "EU", DEPTH)


@measure("SET", cutoff=FOLLOWED.by_default(10), beta=POWER, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE)
def search_economics(cutoff: int, beta: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The gain per document of a reader of at most k documents, where i documents have the value i^beta."""
    weights = Weights(PowerSteps(float(beta)), cutoff)
    return read(ByRank(relevance_or_gain(rel, gain, max_grade), weights), "EU", cutoff)


@measure("NPV", cutoff=TOP_K, rate=RATE, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE)
def net_present_value(cutoff: int | None, rate: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """RBP with p = 1 / (1 + rate): an interest rate reduces the value of each further document."""
    p = 1.0 / (1.0 + rate)
    return Linear(Weights(Geometric(p), cutoff), relevance_or_gain(rel, gain, max_grade))


@measure("TBG", halflife=HALFLIFE, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE)
def time_biased_gain(halflife: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The gain of a reader whose attention halves with each halflife of cost spent above a document."""
    faded = FadingReader(relevance_or_gain(rel, gain, max_grade), halflife=float(halflife))
    return read(faded, "ETU", DEPTH)


@measure("U-measure", L=TEXT_LENGTH, rel=REL, gain=GAIN_OR_BINARY, max_grade=MAX_GRADE, aliases=("UMeasure",))
def u_measure(L: float, rel: float, gain: Any, max_grade: float | None) -> Form:
    """The gain of a reader whose attention falls linearly to 0 over a text of length L."""
    return read(FadingReader(relevance_or_gain(rel, gain, max_grade), limit=float(L)), "ETU", DEPTH)


@dataclass(frozen=True, eq=False)
class UserModel:
    """The reader of a measure on one list. C, W and L have one number per rank.

    >>> model = user_model("RBP(p=0.5)", [1, 0, 1])
    >>> model.C[:2], model.W[:3], model.readings["ED"]
    (array([0.5, 0.5]), array([0.5  , 0.25 , 0.125]), 2.0)
    """

    measure: Measure
    gain: Floats
    cost: Floats
    C: Floats  # the probability to go on from the rank
    W: Floats  # the share of the attention of the rank
    L: Floats  # the probability that the rank is the last one
    readings: dict[str, float]  # EU, ETU, EC, ETC and ED


def user_model(
    measure: str | Measure, grades: Sequence[float], *, costs: Sequence[float] | None = None, depth: int = DEPTH
) -> UserModel:
    """Return how the reader of a measure reads a list of documents with these grades.

    measure: a measure with decreasing weights of ranks, or with a probability to go on from each rank: RBP, INST, P@10,
        nDCG@10, AP, RR, BPM, IFT-C1 ...
    costs: the costs of the documents, 1 each by default.
    depth: the number of ranks that are followed. Ranks below the list have no gain and cost 1.

    >>> user_model("RR", [0, 1, 0]).L[:3]
    array([0., 1., 0.])
    """
    parsed = measure if isinstance(measure, Measure) else parse(measure)
    try:
        grade = np.asarray(grades, np.float64)
    except (TypeError, ValueError):
        raise CalipersError(f"grades: expected numbers, one for each rank, found {described(grades)}") from None
    if grade.ndim != 1 or not len(grade) or not np.isfinite(grade).all():
        raise CalipersError("the grades of a list must be finite numbers, one for each rank")
    paid = np.ones(len(grade)) if costs is None else np.asarray(costs, np.float64)
    if paid.shape != grade.shape or not (np.isfinite(paid) & (paid > 0)).all():
        raise CalipersError("costs must be numbers above 0, one for each grade")
    bound = parsed.bind(Pool(np.array([0, len(grade)]), grade))
    READER_DEPTH.check("user_model", "depth", depth)
    browser, ranks = browser_of(bound), depth
    gain, cost = np.zeros((1, ranks)), np.ones((1, ranks))
    shown = min(len(grade), ranks)
    gain[0, :shown], cost[0, :shown] = browser.value(grade)[:shown], paid[:shown]
    at = staged(gain, cost)
    goes_on = Read(browser, "ED", ranks).goes_on(at)
    seen = np.cumprod(np.append(1.0, goes_on[0, :-1]))
    readings = {what: float(tallied(what, at, goes_on).value(what)[0]) for what in READINGS}
    return UserModel(bound, gain[0], cost[0], goes_on[0], seen / seen.sum(), seen * (1.0 - goes_on[0]), readings)
