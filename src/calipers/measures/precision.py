"""Precision, recall, and the sums of precisions; measures of the retrieved set.

    P@k      = relevant documents in the top k / k
    Recall@k = relevant documents in the top k / R
    F@k      = (1 + beta^2) P@k Recall@k / (beta^2 P@k + Recall@k)
    Hits@k   = relevant documents in the top k
    RPrec@k  = P@min(k, R)
    SP@k     = sum over ranks i <= k of rel_i * P@i
    AP@k     = SP@k / R
    SN-AP@k  = SP@k / relevant documents in the top k
    GAP@k    = sum over grades j of t_j * SP@k at level j / sum over grades j of t_j * documents of grade j or more
    Success@k = 1 where the top k has a relevant document, else 0
    Judged@k = judged documents in the top k / min(k, documents retrieved)

Buckley & Voorhees, Retrieval system evaluation, in: TREC, MIT Press 2005 (P, Recall, RPrec, AP, Success, Judged,
    Hits).
Robertson, Kanoulas & Yilmaz, Extending average precision to graded relevance judgments, SIGIR 2010 (GAP).
van Rijsbergen, Information Retrieval, Butterworths 1979 (F).
Moffat, Seven numeric properties of effectiveness metrics, AIRS 2013 (SP, SN-AP).
Harman, Evaluation issues in information retrieval, Information Processing & Management 1992 (TrAP).

Measures of the retrieved set do not depend on its order:

    SetP = relevant retrieved / retrieved        SetR = relevant retrieved / R
    SetF = (1 + beta^2) SetP SetR / (beta^2 SetP + SetR)

van Rijsbergen, Information Retrieval, 1979.
"""

from __future__ import annotations

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists
from calipers.measures.forms import (
    CUTOFF,
    FOUND,
    RELEVANT,
    Counted,
    Denominator,
    Form,
    Linear,
    Mixture,
    OwnRelevant,
    Paired,
    Peak,
    RelevantPrefix,
    SelfNormalisedPrecision,
    Smaller,
    TotalValue,
    WeightedDepth,
    ZeroIfShort,
)
from calipers.measures.gains import AtLeast, Judged
from calipers.measures.parameters import MAX_GRADE, REL, SHORT, TOP_K, Parameter
from calipers.measures.registry import alias, measure
from calipers.measures.weights import FLAT
from calipers.support.record import Record

MOST_LEVELS = 1000  # levels of GAP: each is an average precision of its own
BETA = Parameter("The weight of recall: beta times as much as precision.", "number", 1, above=0, most=1e100)
NORM = Parameter(
    "Divide by the number of relevant documents (R), by the cutoff (k), or by the smaller of both (min).",
    "word",
    "R",
    ("R", "k", "min"),
)
RELEVANT_OF = Parameter(
    "R is the number of relevant documents that are judged (pool) or retrieved (list).",
    "word",
    "pool",
    ("pool", "list"),
)
T = Parameter(
    "For each grade from 1 on, the share of readers for whom it is the lowest relevant grade.",
    "list",
    least=0,
    open="the same share for each grade",
)


@measure("P", cutoff=TOP_K.required, rel=REL, short=SHORT, aliases=("Precision",))
def precision(cutoff: int, rel: float, short: str) -> Form:
    """The share of the first k ranks that hold a relevant document."""
    found = Linear(FLAT.up_to(cutoff), AtLeast(rel))
    share = found / (FOUND(cutoff) if short == "n" else CUTOFF(cutoff))
    return ZeroIfShort(share, cutoff) if short == "zero" else share


@measure("Recall", cutoff=TOP_K, rel=REL, aliases=("R",))
def recall(cutoff: int | None, rel: float) -> Form:
    """The share of the relevant documents that are in the top k."""
    return Linear(FLAT.up_to(cutoff), AtLeast(rel)) / RELEVANT(rel)


@measure("F", cutoff=TOP_K.required, beta=BETA, rel=REL, aliases=("F_beta",))
def f_measure(cutoff: int, beta: float, rel: float) -> Form:
    """The weighted harmonic mean of precision and recall in the top k; SetF is that of everything retrieved."""
    # With x relevant documents in the top k: (1 + beta^2) x / (k + beta^2 R).
    return Linear(FLAT.up_to(cutoff), AtLeast(rel)) / WeightedDepth(cutoff, beta, rel)


@measure("Hits", cutoff=TOP_K, rel=REL, example="Hits@10")
def hits(cutoff: int | None, rel: float) -> Form:
    """The number of relevant documents in the top k. Success is 1 if there is one; some tools call that hits too."""
    return Linear(FLAT.up_to(cutoff), AtLeast(rel))


@measure("RPrec", cutoff=TOP_K, rel=REL, aliases=("r-precision", "R-Prec", "R_Precision"))
def r_precision(cutoff: int | None, rel: float) -> Form:
    """Precision at R, the number of relevant documents, or at the cutoff if that is smaller."""
    prefix = RelevantPrefix(rel, cutoff)
    return prefix / PrefixDepth(prefix)


@measure("Success", cutoff=TOP_K, rel=REL, aliases=("hit", "hit_rate", "HR"), example="Success@10")
def success(cutoff: int | None, rel: float) -> Form:
    """1 if the top k has a relevant document, else 0."""
    return Peak(AtLeast(rel), cutoff)


@measure("SP", cutoff=TOP_K, rel=REL)
def sum_of_precisions(cutoff: int | None, rel: float) -> Form:
    """The sum of the precisions at the relevant documents."""
    return Paired(rel, cutoff)


@measure("AP", cutoff=TOP_K, rel=REL, norm=NORM, ideal=RELEVANT_OF, aliases=("MAP",))
def average_precision(cutoff: int | None, rel: float, norm: str, ideal: str) -> Form:
    """The sum of the precisions at the relevant documents, divided by R, by k or by the smaller of both."""
    return Paired(rel, cutoff) / _norm(norm, RELEVANT(rel) if ideal == "pool" else OwnRelevant(rel), cutoff)


@measure("SN-AP", cutoff=TOP_K, rel=REL, aliases=("TrAP",))
def self_normalised_average_precision(cutoff: int | None, rel: float) -> Form:
    """The mean precision at the relevant documents found in the top k."""
    return SelfNormalisedPrecision(rel, cutoff)


@measure("GAP", cutoff=TOP_K, t=T, max_grade=MAX_GRADE)
def graded_average_precision(cutoff: int | None, t: list[float] | None, max_grade: float | None) -> Form:
    """Average precision for a reader for whom grade j is the lowest relevant one with probability t[j - 1]."""
    if t is None:
        levels = int(max_grade) if max_grade is not None else 1
        if levels > MOST_LEVELS:
            raise CalipersError(
                f"GAP takes a level for every grade, and the largest is {max_grade:g}: more than {MOST_LEVELS} levels; "
                "say t=[...], or divide the grades"
            )
        t = [1 / levels] * levels if levels else []
    if t and abs(sum(t) - 1) > 1e-9:
        raise CalipersError(f"t={t} of 'GAP' does not hold probabilities that add up to 1")
    chances = tuple((float(chance), float(grade)) for grade, chance in enumerate(t, start=1))
    return Mixture(tuple((chance, Paired(grade, cutoff)) for chance, grade in chances)) / TotalValue(
        ThresholdGain(chances)
    )


@measure("Judged", cutoff=TOP_K, example="Judged@10")
def judged(cutoff: int | None) -> Form:
    """The share of the first k documents (or of all, if there are fewer) that are judged."""
    return Linear(FLAT.up_to(cutoff), Judged()) / FOUND(cutoff)


class PrefixDepth(Denominator):
    """The number of ranks that R-precision looks at."""

    prefix: RelevantPrefix

    @property
    def formula(self) -> str:
        return self.prefix.ranks

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return self.prefix.depth(lists)


class ThresholdGain(Record):
    """The probability that a reader calls a document of this grade relevant."""

    chances: tuple[tuple[float, float], ...]

    def __call__(self, grade: Floats) -> Floats:
        return np.asarray(sum((chance * (grade >= level) for chance, level in self.chances), np.zeros(len(grade))))


for _beta in (1, 2):
    alias(f"F{_beta}", "F", beta=_beta)


def _norm(norm: str, relevant: RELEVANT | OwnRelevant, cutoff: int | None) -> Denominator:
    if norm == "R":
        return relevant
    if cutoff is None:
        raise CalipersError(f"AP with norm={norm} needs a cutoff, as in AP(norm={norm})@10")
    return CUTOFF(cutoff) if norm == "k" else Smaller(relevant, CUTOFF(cutoff))


@measure("SetP", rel=REL, aliases=("set_P", "ContextPrecision"))
def set_precision(rel: float) -> Form:
    """The share of the retrieved documents that are relevant."""
    return Counted(_precision, rel)


@measure("SetR", rel=REL, aliases=("set_recall", "ContextRecall"))
def set_recall(rel: float) -> Form:
    """The share of the relevant documents that are retrieved."""
    return Counted(_recall, rel)


@measure("SetF", beta=BETA, rel=REL, aliases=("set_F",))
def set_f(beta: float, rel: float) -> Form:
    """The weighted harmonic mean of SetP and SetR."""
    return Counted(_HarmonicMean(beta), rel)


@measure("NumRet", aliases=("num_ret",), average="sum")
def number_retrieved() -> Form:
    """The number of retrieved documents."""
    return Counted(_retrieved)


@measure("NumRel", rel=REL, aliases=("num_rel",), average="sum")
def number_relevant(rel: float) -> Form:
    """The number of relevant documents."""
    return Counted(_relevant, rel)


@measure("NumRelRet", rel=REL, aliases=("num_rel_ret",), average="sum")
def number_relevant_retrieved(rel: float) -> Form:
    """The number of relevant documents that are retrieved."""
    return Linear(FLAT, AtLeast(rel))


def _precision(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return found / np.maximum(retrieved, 1.0)


def _recall(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return np.where(relevant > 0, found / relevant, np.nan)


def _retrieved(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return retrieved


def _relevant(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return relevant


class _HarmonicMean(Record):
    beta: float

    def __call__(self, retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
        share = found / np.maximum(retrieved, 1.0)
        recall = np.where(relevant > 0, found / relevant, np.nan)
        down = self.beta**2 * share + recall
        return np.where(down == 0, 0.0, (1 + self.beta**2) * share * recall / down)
