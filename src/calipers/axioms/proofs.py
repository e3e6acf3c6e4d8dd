"""What the form of a measure proves about it, for rankings of any length and any cutoff.

    properties proved     by

    Linear                sums of w_i * v_i: w >= 0, w > 0, w strictly decreasing, the sum of all w
    Paired                each relevant document adds its precision, and raises that of those below it
    Cascade               what a reader who stops is worth, w_i, falls with the rank
    Peak                  one document decides
    Share                 dividing by what swaps do not change keeps what they do
    SelfNormalised...     the same, with a divisor that the top k itself gives
    Normalised            V1, V2 and their like rise strictly with the score

Only what holds is proved here; what does not is refuted by the search with a counterexample. Values lie in [0, 1],
as in the document; what a measure thresholds is examined on two kinds of documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calipers.axioms.subjects import Subject, walk
from calipers.limits.normalisation import Normalised, standard_score, upper, v1, v2, v2s, worst_to_ideal
from calipers.measures.forms import (
    CUTOFF,
    IDEAL,
    RELEVANT,
    TOTAL_WEIGHT,
    Cascade,
    Form,
    JudgedOnly,
    Linear,
    Mixture,
    OwnIdeal,
    Paired,
    Peak,
    Preference,
    RelevantPrefix,
    SelfNormalisedGain,
    SelfNormalisedPrecision,
    Share,
    Smaller,
    TotalValue,
    ZeroIfShort,
)
from calipers.measures.precision import PrefixDepth, ThresholdGain, WhereRelevant
from calipers.measures.values import (
    DISCOUNTS,
    AtLeast,
    ExponentialGain,
    Geometric,
    InverseSquare,
    JarvelinKekalainen,
    Judged,
    LinearGain,
    ShareOfLargest,
    StopProbability,
    Telescoping,
    Weights,
)

Proofs = dict[str, str]  # of each property that is proved, the reason


def proofs(subject: Subject) -> Proofs:
    """What the form proves. A form with a fixed cutoff inside, which does not follow k, proves nothing."""
    form = subject.form(1)
    if not subject.cuts and any(getattr(part, "cutoff", None) is not None for part in walk(form)):
        return {}
    return _proved(form)


@dataclass(frozen=True)
class Facts:
    """What is known of the weights of all ranks."""

    positive: bool  # every weight is above 0
    decreasing: bool  # each is larger than the next
    falling: bool  # none is smaller than the next
    largest: float  # no weight is larger
    total: float | None = None  # of all ranks; None where it has no limit


def weight_facts(weights: Weights) -> Facts | None:
    """The facts about weights of a known kind."""
    at = weights.at
    if at is DISCOUNTS["log2"].at or at is DISCOUNTS["zipf"].at:
        return Facts(True, True, True, 1.0)
    if at is DISCOUNTS["none"].at:
        return Facts(True, False, True, 1.0)
    if isinstance(at, Telescoping | InverseSquare):
        return Facts(True, True, True, 1.0, 1.0)
    if isinstance(at, Geometric):
        return Facts(0 < at.p < 1, 0 < at.p < 1, 0 <= at.p < 1, 1.0, 1.0)
    if isinstance(at, JarvelinKekalainen):
        return Facts(True, at.base < 2, True, 1.0)
    return None


def residual_weight(form: Form) -> bool:
    """Whether ranks beyond every cutoff still weigh something, so that a score is the lower end of a range."""
    if not isinstance(form, Linear):
        return False
    facts = weight_facts(form.weight)
    return facts is not None and facts.positive and facts.total is not None


def certain_stop(form: Form) -> bool:
    """Whether a reader surely stops at the first relevant document: then, without one, there is no rank."""
    return isinstance(form, Cascade) and isinstance(form.stop, AtLeast)


def _proved(form: Form) -> Proofs:
    for kind, proof in _BY_FORM:
        if type(form) is kind:
            found: Proofs = proof(form)
            return found
    return {}


_HERE = "the score is a sum over the top k, and nothing else is looked at"
_ALWAYS = "a sum over no relevant document is 0"


def _linear(form: Linear) -> Proofs:
    proved = {"localized": _HERE, "complete": _ALWAYS}
    facts = weight_facts(form.weight)
    if facts is None or not _known_value(form.value):
        return proved
    proved["monotone"] = "no rank has a negative weight"
    if facts.total is not None and facts.total <= 1:
        proved["bounded"] = "the weights of all ranks sum to 1, and no document is worth more than 1"
    if _sees_grades(form.value):
        if facts.positive:
            proved["convergent"] = "every rank in the top k has a positive weight, those outside have none"
        if facts.decreasing:
            proved["top-weighted"] = "every rank weighs more than the next"
    return proved


def _paired(form: Paired) -> Proofs:
    return {
        "monotone": "a further document adds its precision, or nothing",
        "convergent": "a relevant document adds its precision and raises that of the relevant ones below it",
        "top-weighted": "moved up from rank j to i it gains at least (1/i - 1/j) times the relevant ones down to i",
        "localized": _HERE,
        "complete": _ALWAYS,
    }


def _mixture(form: Mixture) -> Proofs:
    if not form.parts or any(weight <= 0 for weight, _ in form.parts):
        return {}
    each = [_proved(part) for _, part in form.parts]
    return {
        name: f"every part of the sum is so: {each[0][name]}"
        for name in ("monotone", "convergent", "top-weighted", "localized", "complete")
        if all(name in proved for proved in each)
    }


def _cascade(form: Cascade) -> Proofs:
    facts = weight_facts(form.weight)
    proved = {"localized": _HERE, "complete": _ALWAYS}
    if facts is None or not isinstance(form.stop, AtLeast | StopProbability | ShareOfLargest):
        return proved
    proved["monotone"] = "a further document adds what readers who stop there are worth, or nothing"
    if facts.falling and facts.largest <= 1:
        proved["bounded"] = "a mean, over where readers stop, of weights of at most 1"
    if isinstance(form.stop, StopProbability) and facts.decreasing:
        proved["convergent"] = "some readers always go on, and stopping at a rank is worth more than at any later one"
        proved["top-weighted"] = (
            "with better and worse swapped, as many readers come past both, and more of the others stop at the upper"
        )
    if certain_stop(form) and facts.falling and form.weight.of_ranks(1)[0] == 1:
        proved["realizable"] = "a relevant document at rank 1 gets the largest score, 1, at every k"
    return proved


def _peak(form: Peak) -> Proofs:
    proved = {"localized": "the best document of the top k decides", "complete": "the best of nothing is 0"}
    if _known_value(form.value):
        proved["monotone"] = "the best of more documents is no worse"
        proved["bounded"] = "no document is worth more than 1"
        proved["realizable"] = "a document worth 1, shown, gets the largest score at every k"
    return proved


_KEPT = ("convergent", "top-weighted")


def _share(form: Share) -> Proofs:
    of, by = form.of, form.by
    inner = _proved(of)
    proved = {
        name: f"{inner[name]}; the divisor is the same before and after a swap" for name in _KEPT if name in inner
    }
    if by is TOTAL_WEIGHT or isinstance(by, CUTOFF):
        for name in ("localized", "complete"):
            if name in inner:
                proved[name] = f"{inner[name]}; the divisor depends on k alone"
    if isinstance(by, RELEVANT | TotalValue) and "monotone" in inner:
        proved["monotone"] = f"{inner['monotone']}; the divisor does not depend on k"
    return {**proved, **_share_of_most(of, by)}


def _share_of_most(of: Form, by: Any) -> Proofs:
    """Where the divisor is at least what can be reached: bounded. Where it can always be reached: realizable."""
    facts = weight_facts(of.weight) if isinstance(of, Linear) else None
    if isinstance(by, WhereRelevant):
        return _share_of_most(of, by.of)
    flat = facts is not None and facts.largest <= 1
    level = _level(of)
    if (by is IDEAL or isinstance(by, OwnIdeal)) and facts is not None and _known_value(of.worth):
        return {
            "bounded": "no ranking gets more than the best one",
            "realizable": "the best ranking gets 1, at every k",
        }
    if by is TOTAL_WEIGHT and facts is not None and facts.positive and _known_value(of.worth):
        return {"bounded": "a weighted mean of values of at most 1"}
    if isinstance(by, CUTOFF) and ((flat and _known_value(of.worth)) or isinstance(of, Paired)):
        return {"bounded": "at most k terms of at most 1, divided by k"}
    if isinstance(by, RELEVANT) and level == by.rel and (flat or isinstance(of, Paired | Preference)):
        return {"bounded": "at most R terms of at most 1, divided by R"}
    if (
        isinstance(by, Smaller)
        and isinstance(of, Paired)
        and _parts_are(by, RELEVANT, CUTOFF)
        and level == _relevance(by)
    ):
        return {
            "bounded": "at most min(R, k) terms of at most 1, divided by min(R, k)",
            "realizable": "relevant documents first get 1, at every k",
        }
    if isinstance(by, PrefixDepth) and of == by.prefix and type(of) is RelevantPrefix:
        return {
            "bounded": "a share of the first min(R, k) ranks",
            "realizable": "relevant documents first fill all the ranks that count",
        }
    if isinstance(by, TotalValue) and isinstance(of, Mixture) and isinstance(by.value, ThresholdGain):
        parts = [(weight, part.rel) for weight, part in of.parts if isinstance(part, Paired)]
        if len(parts) == len(of.parts) and tuple(parts) == by.value.chances:
            return {"bounded": "at every level at most R terms of at most 1, divided by R"}
    return {}


def _preference(form: Preference) -> Proofs:
    return {"monotone": "a further document adds its share of preferences, or nothing; R and N do not depend on k"}


def _self_normalised_gain(form: SelfNormalisedGain) -> Proofs:
    facts = weight_facts(form.weight)
    if facts is None or not facts.falling or not _known_value(form.value):
        return {}
    proved = {
        "bounded": "no order of the top k gets more than the sorted one",
        "localized": "score and divisor come from the top k",
        "realizable": "a sorted top k with something in it gets 1",
    }
    if facts.decreasing and _sees_grades(form.value):
        proved["top-weighted"] = "every rank weighs more than the next; swaps inside the top k keep the divisor"
    return proved


def _self_normalised_precision(form: SelfNormalisedPrecision) -> Proofs:
    return {
        "bounded": "a mean of precisions",
        "top-weighted": f"{_paired(Paired(form.rel))['top-weighted']}; swaps inside the top k keep the divisor",
        "localized": "score and divisor come from the top k",
        "realizable": "relevant documents first have precision 1, at every k",
    }


def _normalised(form: Normalised) -> Proofs:
    """U, W, V1, V2 and V2s rise strictly with the score of the same documents, and their bounds bound them."""
    if form.population != "pool" or form.published_expected or form.published_ideal:
        return {}
    base = form.base
    sorted_best = _sorts_to_ideal(base)
    inner = _proved(base)
    strictly_rising = (upper, worst_to_ideal, v1, v2, standard_score)
    proved = {}
    if form.function in strictly_rising and sorted_best and base.exactness == "exact":
        for name in _KEPT:
            if name in inner:
                proved[name] = f"{inner[name]}; of the same documents a larger score is a larger normalised score"
    if sorted_best and form.function in (upper, worst_to_ideal, v1, v2, v2s):
        proved["bounded"] = "no ranking scores more than the ideal or less than nothing"
    if sorted_best and form.function in (upper, worst_to_ideal, v2, v2s):
        proved["realizable"] = "the ideal ranking gets 1, at every k"
    return proved


_BY_FORM: list[tuple[type[Form], Any]] = [
    (Linear, _linear),
    (Paired, _paired),
    (Mixture, _mixture),
    (Cascade, _cascade),
    (Peak, _peak),
    (Share, _share),
    (ZeroIfShort, lambda form: _proved(form.of)),  # a state has at least k documents
    (Preference, _preference),
    (SelfNormalisedGain, _self_normalised_gain),
    (SelfNormalisedPrecision, _self_normalised_precision),
    (Normalised, _normalised),
    (JudgedOnly, lambda form: _proved(form.of)),  # all that is tried is judged
]


def _sorts_to_ideal(form: Form) -> bool:
    """Whether the best ranking of any documents is known: best first, as the scores of these forms never fall by
    a better document moving up."""
    if isinstance(form, Share):
        return _sorts_to_ideal(form.of)
    if isinstance(form, Mixture):
        return all(weight >= 0 and _sorts_to_ideal(part) for weight, part in form.parts)
    if isinstance(form, Linear | Cascade):
        facts = weight_facts(form.weight)
        return facts is not None and facts.falling and _known_value(form.worth)
    return isinstance(form, Paired)


def _known_value(value: Any) -> bool:
    """A worth that is never negative, and at most 1 for the grades that are tried."""
    return isinstance(value, AtLeast | Judged | LinearGain | ExponentialGain | ShareOfLargest | StopProbability)


def _sees_grades(value: Any) -> bool:
    """Whether a better document is worth more."""
    return not isinstance(value, Judged)


def _level(form: Form) -> float | None:
    """The grade from which on a form takes a document for relevant."""
    if isinstance(form, Linear):
        return form.value.rel if isinstance(form.value, AtLeast) else None
    return form.rel if isinstance(form, Paired | Preference) else None


def _parts_are(by: Smaller, one: type, other: type) -> bool:
    return {type(by.one), type(by.other)} == {one, other}


def _relevance(by: Smaller) -> float | None:
    return next((part.rel for part in (by.one, by.other) if isinstance(part, RELEVANT)), None)
