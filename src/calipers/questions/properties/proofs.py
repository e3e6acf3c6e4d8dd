"""Proofs of numeric properties: one rule per form, and one per divisor.

Only properties that hold are proved. A search for counterexamples refutes the others. Forms and divisors are final, so
that no subclass inherits a proof that does not hold for it.
"""

from __future__ import annotations

from functools import singledispatch

from calipers.measures.forms import (
    CUTOFF,
    RELEVANT,
    BinaryPreference,
    Cascade,
    Denominator,
    Form,
    JudgedOnly,
    JudgedPairs,
    Linear,
    Mixture,
    OwnIdeal,
    Paired,
    Peak,
    SelfNormalisedGain,
    SelfNormalisedPrecision,
    Share,
    Smaller,
    TotalValue,
    WeightedDepth,
    ZeroIfShort,
)
from calipers.measures.forms.blended import Blended, BlendedRatioForm, FirstBlended, Preferred, RankBiasedBlended
from calipers.measures.forms.browsing import Browsed
from calipers.measures.forms.denominators import Ideal, TotalWeight
from calipers.measures.forms.paired import precision_sum_level
from calipers.measures.gains import as_gain
from calipers.measures.normalisation import Normalised, standard_score, upper, v1, v2, v2s, worst_to_ideal
from calipers.measures.precision import PrefixDepth
from calipers.measures.weights import Facts

Proofs = dict[str, str]  # the reason for each property that is proved

ONLY_THE_TOP = "the score is a sum over the top k and depends on nothing else"
EMPTY_SUM = "a sum over no relevant document is 0"
SORTED_SCORES_ONE = {
    "bounded": "no ranking scores more than the best one",
    "realizable": "the best ranking gets 1, at every k",
}
KEPT_BY_SHARES = ("convergent", "top-weighted")  # these properties compare rankings of the same documents
MOVING_UP = "moving a relevant document up from rank j to i adds at least (1/i - 1/j) times the relevant ones down to i"


# -- proofs ------------------------------------------------------------------------------------------------


@singledispatch
def proofs(form: Form) -> Proofs:
    """Return the properties that hold for rankings of any length and any cutoff, each with its reason.

    Gains lie in [0, 1]. Measures with a relevance threshold are examined on two kinds of documents.
    """
    return {}


@proofs.register(Linear)
def proofs_of_linear(form: Linear) -> Proofs:
    proved = {"localized": ONLY_THE_TOP, "complete": EMPTY_SUM}
    facts, gain = _weight_facts(form), as_gain(form.value)
    if facts is None or not gain.unit:
        return proved
    proved["monotone"] = "no rank has a negative weight"
    if facts.total is not None and facts.total <= 1:
        proved["bounded"] = "the weights of all ranks sum to 1, and no document has a gain above 1"
    if gain.rising and facts.positive:
        proved["convergent"] = "every rank in the top k has a positive weight, and ranks outside have none"
    if gain.rising and facts.decreasing:
        proved["top-weighted"] = "every rank weighs more than the next"
    return proved


@proofs.register(Paired)
def proofs_of_paired(form: Paired) -> Proofs:
    return {
        "monotone": "a further document adds its precision, or nothing",
        "convergent": "a relevant document adds its precision and raises the precision of the relevant ones below it",
        "top-weighted": MOVING_UP,
        "localized": ONLY_THE_TOP,
        "complete": EMPTY_SUM,
    }


@proofs.register(Cascade)
def proofs_of_cascade(form: Cascade) -> Proofs:
    facts, stop = form.weight.discount.facts, as_gain(form.stop)
    proved = {"localized": ONLY_THE_TOP, "complete": EMPTY_SUM}
    if facts is None or not stop.chance:
        return proved
    proved["monotone"] = "a further document adds the gain of readers who stop there, or nothing"
    if facts.falling and facts.largest <= 1:
        proved["bounded"] = "a mean, over where readers stop, of weights of at most 1"
    if facts.decreasing and not stop.certain:
        proved["convergent"] = "some readers always go on, and stopping at a rank gains more than at any later rank"
        proved["top-weighted"] = (
            "after the swap, the same number of readers pass both documents, and more readers stop at the upper one"
        )
    if form.stops_at_first_relevant and facts.falling and form.weight.of_ranks(1)[0] == 1:
        proved["realizable"] = "a relevant document at rank 1 gets the largest score, 1, at every k"
    return proved


@proofs.register(Peak)
def proofs_of_peak(form: Peak) -> Proofs:
    proved = {"localized": "the best document of the top k decides", "complete": "the best of nothing is 0"}
    if as_gain(form.value).unit:
        proved["monotone"] = "the best of more documents is no worse"
        proved["bounded"] = "no document has a gain above 1"
        proved["realizable"] = "a document of gain 1 in the top k gets the largest score at every k"
    return proved


@proofs.register(BinaryPreference)
def proofs_of_binary_preference(form: BinaryPreference) -> Proofs:
    return {"monotone": "a further document adds its share of preferences, or nothing; R and N do not depend on k"}


@proofs.register(JudgedPairs)
def proofs_of_judged_pairs(form: JudgedPairs) -> Proofs:
    return {"bounded": "a share of the pairs"}


@proofs.register(SelfNormalisedGain)
def proofs_of_self_normalised_gain(form: SelfNormalisedGain) -> Proofs:
    facts, gain = form.weight.discount.facts, as_gain(form.value)
    if facts is None or not facts.falling or not gain.unit:
        return {}
    proved = {
        "bounded": "no order of the top k gets more than the sorted one",
        "localized": "score and divisor come from the top k",
        "realizable": "a sorted top k with something in it gets 1",
    }
    if facts.decreasing and gain.rising:
        proved["top-weighted"] = "every rank weighs more than the next; swaps inside the top k keep the divisor"
    return proved


@proofs.register(SelfNormalisedPrecision)
def proofs_of_self_normalised_precision(form: SelfNormalisedPrecision) -> Proofs:
    return {
        "bounded": "a mean of precisions",
        "top-weighted": f"{MOVING_UP}; swaps inside the top k keep the divisor",
        "localized": "score and divisor come from the top k",
        "realizable": "relevant documents first have precision 1, at every k",
    }


@proofs.register(FirstBlended)
def proofs_of_first_blended(form: FirstBlended) -> Proofs:
    return {"bounded": "a blended ratio, which is at most 1, or 0"}


@proofs.register(Preferred)
def proofs_of_preferred(form: Preferred) -> Proofs:
    return {"bounded": "blended ratios are at most 1, and so is their mean"}


@proofs.register(Browsed)
def proofs_of_browsed(form: Browsed) -> Proofs:
    proved = {}
    if form.reading.what in ("EU", "ETU"):
        proved["complete"] = EMPTY_SUM
    if form.reading.what == "EU" and as_gain(form.gain).unit:
        proved["bounded"] = "a weighted mean of values of at most 1"
    return proved


@proofs.register(Mixture)
def proofs_of_mixture(form: Mixture) -> Proofs:
    if not form.parts or any(weight <= 0 for weight, _ in form.parts):
        return {}
    each = [proofs(part) for _, part in form.parts]
    return {
        name: f"it holds for every part of the sum: {each[0][name]}"
        for name in ("monotone", "convergent", "top-weighted", "localized", "complete")
        if all(name in proved for proved in each)
    }


@proofs.register(Share)
def proofs_of_share(form: Share) -> Proofs:
    inner = proofs(form.of)
    same = "the divisor is the same before and after a swap"
    proved = {name: f"{inner[name]}; {same}" for name in KEPT_BY_SHARES if name in inner}
    if form.by.of_cutoff:
        kept = [name for name in ("localized", "complete") if name in inner]
        proved |= {name: f"{inner[name]}; the divisor depends on k alone" for name in kept}
    if form.by.of_query and "monotone" in inner:
        proved["monotone"] = f"{inner['monotone']}; the divisor does not depend on k"
    return {**proved, **proofs_of_division(form.by, form.of)}


@proofs.register(ZeroIfShort)
def proofs_of_zero_if_short(form: ZeroIfShort) -> Proofs:
    """Keep all proofs: the rankings of the properties have at least k documents."""
    return proofs(form.of)


@proofs.register(JudgedOnly)
def proofs_of_judged_only(form: JudgedOnly) -> Proofs:
    """Keep all proofs: the rankings of the properties have judged documents only."""
    return proofs(form.of)


@proofs.register(Normalised)
def proofs_of_normalised(form: Normalised) -> Proofs:
    """U, W, V1, V2 and V2s rise strictly with the score of the same documents, and their bounds bound them."""
    base = form.base
    published = form.published_expected or form.published_ideal
    if form.population not in ("union", "pool") or published or not is_best_when_sorted(base):
        return {}
    inner = proofs(base)
    proved = {}
    if form.function in (upper, worst_to_ideal, v1, v2, standard_score) and base.exactness().expected == "exact":
        rising = "for the same documents, a larger score gives a larger normalised score"
        proved = {name: f"{inner[name]}; {rising}" for name in KEPT_BY_SHARES if name in inner}
    if form.function in (upper, worst_to_ideal, v1, v2, v2s):
        proved["bounded"] = "no ranking scores more than the ideal or less than 0"
    if form.function in (upper, worst_to_ideal, v2, v2s):
        proved["realizable"] = "the ideal ranking gets 1, at every k"
    return proved


# -- divisors ------------------------------------------------------------------------------------------------


@singledispatch
def proofs_of_division(by: Denominator, form: Form) -> Proofs:
    """Return what a divisor proves of the form that it divides.

    A divisor that no score exceeds proves `bounded`. A divisor that some score always equals proves `realizable`.
    """
    return {}


@proofs_of_division.register(Ideal)
@proofs_of_division.register(OwnIdeal)
def proofs_of_division_for_ideal(by: Denominator, form: Form) -> Proofs:
    return SORTED_SCORES_ONE if _weight_facts(form) is not None and as_gain(form.gain).unit else {}


@proofs_of_division.register(TotalWeight)
def proofs_of_division_for_total_weight(by: TotalWeight, form: Form) -> Proofs:
    facts = _weight_facts(form)
    known = facts is not None and facts.positive and as_gain(form.gain).unit
    return {"bounded": "a weighted mean of values of at most 1"} if known else {}


@proofs_of_division.register(RELEVANT)
def proofs_of_division_for_relevant(by: RELEVANT, form: Form) -> Proofs:
    fits = _relevance_level(form) == by.rel and _adds_at_most_one(form)
    return {"bounded": "at most R terms of at most 1, divided by R"} if fits else {}


@proofs_of_division.register(WeightedDepth)
def proofs_of_division_for_weighted_depth(by: WeightedDepth, form: Form) -> Proofs:
    fits = _relevance_level(form) == by.rel and _adds_at_most_one(form)
    return {"bounded": "at most min(R, k) terms of at most 1, divided by a mean of R and k"} if fits else {}


@proofs_of_division.register(TotalValue)
def proofs_of_division_for_total_value(by: TotalValue, form: Form) -> Proofs:
    levels = _precision_levels(form)
    if levels is None or levels != getattr(by.value, "chances", None):
        return {}
    return {"bounded": "at every level at most R terms of at most 1, divided by R"}


@proofs_of_division.register(CUTOFF)
def proofs_of_division_for_cutoff(by: CUTOFF, form: Form) -> Proofs:
    return {"bounded": "at most k terms of at most 1, divided by k"} if _adds_at_most_one(form) else {}


@proofs_of_division.register(PrefixDepth)
def proofs_of_division_for_prefix_depth(by: PrefixDepth, form: Form) -> Proofs:
    if form != by.prefix or by.prefix.multiple is not None:  # a multiple of R may look further
        return {}
    return {
        "bounded": "a share of the first min(R, k) ranks",
        "realizable": "relevant documents first fill all the ranks that count",
    }


@proofs_of_division.register(Smaller)
def proofs_of_division_for_smaller(by: Smaller, form: Form) -> Proofs:
    level = precision_sum_level(form)
    counts_the_same = level is not None and level in (_counted_from(by.one), _counted_from(by.other))
    if not (counts_the_same and (by.one.of_cutoff or by.other.of_cutoff)):
        return {}
    return {
        "bounded": "at most min(R, k) terms of at most 1, divided by min(R, k)",
        "realizable": "relevant documents first get 1, at every k",
    }


@singledispatch
def _counted_from(by: Denominator) -> float | None:
    """Return the smallest grade of the documents that a divisor counts, or None if it counts no documents."""
    return None


@_counted_from.register(RELEVANT)
@_counted_from.register(WeightedDepth)
def _counted_from_of_relevant(by: RELEVANT | WeightedDepth) -> float:
    return by.rel


# -- facts that proofs use -------------------------------------------------------------------------------------


@singledispatch
def is_best_when_sorted(form: Form) -> bool:
    """Return True if sorting the documents by gain is known to give the best ranking.

    The default is False: for a form without a rule, nothing is known.
    """
    return False


@is_best_when_sorted.register(Paired)
@is_best_when_sorted.register(JudgedPairs)
@is_best_when_sorted.register(FirstBlended)
@is_best_when_sorted.register(RankBiasedBlended)
def is_best_when_sorted_of_paired(form: Form) -> bool:
    return True


@is_best_when_sorted.register(Linear)
def is_best_when_sorted_of_linear(form: Linear) -> bool:
    facts = _weight_facts(form)
    return facts is not None and facts.falling and as_gain(form.value).unit


@is_best_when_sorted.register(Cascade)
def is_best_when_sorted_of_cascade(form: Cascade) -> bool:
    facts = form.weight.discount.facts
    return facts is not None and facts.falling and as_gain(form.stop).unit


@is_best_when_sorted.register(Blended)
def is_best_when_sorted_of_blended(form: Blended) -> bool:
    return form.stop is None


@is_best_when_sorted.register(Mixture)
def is_best_when_sorted_of_mixture(form: Mixture) -> bool:
    return all(weight >= 0 and is_best_when_sorted(part) for weight, part in form.parts)


@is_best_when_sorted.register(Share)
def is_best_when_sorted_of_share(form: Share) -> bool:
    return is_best_when_sorted(form.of)


@singledispatch
def _weight_facts(form: Form) -> Facts | None:
    """Return what is known of the weights of the ranks, or None if the form is not a weighted sum."""
    return None


@_weight_facts.register(Linear)
def _weight_facts_of_linear(form: Linear) -> Facts | None:
    return form.weight.discount.facts


@singledispatch
def _relevance_level(form: Form) -> float | None:
    """Return the smallest grade of a relevant document, or None if the form knows no such grade."""
    return None


@_relevance_level.register(Linear)
def _relevance_level_of_linear(form: Linear) -> float | None:
    return as_gain(form.value).level


@_relevance_level.register(Paired)
@_relevance_level.register(BinaryPreference)
@_relevance_level.register(JudgedPairs)
@_relevance_level.register(BlendedRatioForm)
def _relevance_level_of_paired(form: Paired | BinaryPreference | JudgedPairs | BlendedRatioForm) -> float:
    return form.rel


@singledispatch
def _adds_at_most_one(form: Form) -> bool:
    """Return True if each document adds at most 1 to the score."""
    return False


@_adds_at_most_one.register(Paired)
@_adds_at_most_one.register(BinaryPreference)
def _adds_at_most_one_of_paired(form: Form) -> bool:
    return True


@_adds_at_most_one.register(Linear)
def _adds_at_most_one_of_linear(form: Linear) -> bool:
    facts = _weight_facts(form)
    return facts is not None and facts.largest <= 1 and as_gain(form.value).unit


@_adds_at_most_one.register(Blended)
def _adds_at_most_one_of_blended(form: Blended) -> bool:
    return form.stop is None


@singledispatch
def _precision_levels(form: Form) -> tuple[tuple[float, float], ...] | None:
    """Return the weights and relevance levels of a weighted sum of sums of precisions, or None for other forms."""
    return None


@_precision_levels.register(Mixture)
def _precision_levels_of_mixture(form: Mixture) -> tuple[tuple[float, float], ...] | None:
    return form.precision_levels


# -- facts that notes on properties use -------------------------------------------------------------------------


@singledispatch
def has_residual(form: Form) -> bool:
    """Return True if ranks below every cutoff still have some weight, so that a score is the lower end of a range."""
    return False


@has_residual.register(Linear)
def has_residual_of_linear(form: Linear) -> bool:
    facts = _weight_facts(form)
    return facts is not None and facts.positive and facts.total is not None


@singledispatch
def stops_at_first_relevant(form: Form) -> bool:
    """Return True if every reader stops at the first relevant document. Without one there is no rank to score."""
    return False


@stops_at_first_relevant.register(Cascade)
def stops_at_first_relevant_of_cascade(form: Cascade) -> bool:
    return form.stops_at_first_relevant


@singledispatch
def is_undefined_if_degenerate(form: Form) -> bool:
    """Return True if the form is 0 / 0 where random and ideal rankings score the same."""
    return False


@is_undefined_if_degenerate.register(Normalised)
def is_undefined_if_degenerate_of_normalised(form: Normalised) -> bool:
    return form.function not in (upper, v1)
