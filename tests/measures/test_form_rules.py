"""Functions that have one rule per form: each form has a rule, or a reason why it has none.

A new form fails here until its author has looked at each of these functions. A rule is not always needed: the default
of each function is correct for every form, and says less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import calipers
import calipers as cal
from calipers.evaluation.possible_gain import possible_gain
from calipers.measures.forms import Complement, Denominator, Form
from calipers.measures.forms.browsing import browsing_model
from calipers.measures.forms.extreme_orders import gain_alone, search_term
from calipers.measures.registry import declared
from calipers.questions.audit.terms import best_lists, gains_and_weights, inner_form
from calipers.questions.properties.proofs import proofs, proofs_of_division
from calipers.questions.properties.reader_sentences import reader
from calipers.questions.ranges.extreme_grades import extreme_grades, grade_increments, growth_of
from calipers.questions.sampled.sampled_ranks import rank_terms

Rules = Callable[..., Any]
OTHER_JUDGMENTS = "asked of judgments with one grade per document"
UNKNOWN_FUNCTION = "nothing is known of a function"
BY_INTENT = {"IntentAware", "IntentShare", "OfGlobalGain", "Sharp"}
OTHERS = {*BY_INTENT, "WeighedGains"}
COUNTS = {"Counted", "GradesBetween", "OfPool", "Unjudged"}
FUNCTIONS = {"Deterministic", "Free", "Pairwise", "WithoutZeroGains"}
BLENDED = {"Blended", "FirstBlended", "Preferred", "RankBiasedBlended"}
SUMS = {"Cascade", "Linear", "Paired"}
INFORMATION = {"PairInformation", "WeightedPairInformation"}
FORMS = {
    *BLENDED,
    *SUMS,
    *INFORMATION,
    "BinaryPreference",
    "Browsed",
    "JudgedPairs",
    "MeanOverCutoffs",
    "Mixture",
    "Peak",
    "RelevantPrefix",
    "SelfNormalisedGain",
    "SelfNormalisedPrecision",
}
WRAPPERS = {"Complement", "JudgedOnly", "Normalised", "Share", "ZeroIfShort"}

WITHOUT_RULE: dict[Rules, dict[str, set[str]]] = {
    proofs: {
        OTHER_JUDGMENTS: OTHERS,
        UNKNOWN_FUNCTION: FUNCTIONS,
        "no proof was written; the search decides": {
            *COUNTS,
            *INFORMATION,
            "Blended",
            "MeanOverCutoffs",
            "RankBiasedBlended",
            "RelevantPrefix",
        },
        "what rises in a form falls in its complement": {"Complement"},
    },
    proofs_of_division: {
        UNKNOWN_FUNCTION: {"GivenDenominator"},
        "no proof was written; the search decides": {
            "EstimatedIdeal",
            "FOUND",
            "GeometricTotal",
            "GreedyIdeal",
            "IdealToTheEnd",
            "OwnRelevant",
            "WholeIdeal",
        },
    },
    reader: {
        "no reader is declared": {*BY_INTENT, *COUNTS - {"Counted"}, "Mixture", "WeighedGains"},
    },
    inner_form: {
        "scores by itself": {*FORMS, *COUNTS, *FUNCTIONS, *OTHERS},
        "shown as what it divides, and by what": {"Share"},
        "its terms are one minus those inside, which no line shows": {"Complement"},
    },
    gains_and_weights: {
        "no sum of gains times weights": {*FORMS - {"Linear", "MeanOverCutoffs"}, *COUNTS, *FUNCTIONS, *OTHERS},
        "the form inside is asked": WRAPPERS,
    },
    best_lists: {
        "its ranks go on below the cutoff, where no row is shown": {"WholeIdeal"},
        "no score of a ranking": {
            "CUTOFF",
            "EstimatedIdeal",
            "FOUND",
            "GeometricTotal",
            "GivenDenominator",
            "OwnRelevant",
            "PrefixDepth",
            "RELEVANT",
            "Smaller",
            "TotalValue",
            "TotalWeight",
            "WeightedDepth",
        },
    },
    gain_alone: {"no measure by intent is made of it": {*FORMS - SUMS, *COUNTS, *FUNCTIONS, *OTHERS, *WRAPPERS}},
    search_term: {"no measure by intent is made of it": {*FORMS - SUMS, *COUNTS, *FUNCTIONS, *OTHERS, *WRAPPERS}},
    browsing_model: {
        OTHER_JUDGMENTS: OTHERS,
        "no reader goes on from each rank with some probability": {
            *FORMS - SUMS - {"Browsed", "SelfNormalisedPrecision"},
            *COUNTS,
        },
        "its score is not the expected utility of the reader inside": WRAPPERS - {"Share"},
    },
    possible_gain: {
        "no bound that is cheap": {*FORMS - {"Linear"}, *COUNTS, *OTHERS, *WRAPPERS - {"Share"}},
        UNKNOWN_FUNCTION: FUNCTIONS,
    },
    rank_terms: {
        OTHER_JUDGMENTS: OTHERS,
        UNKNOWN_FUNCTION: FUNCTIONS,
        "no closed form is known for sampled items": {
            *FORMS - SUMS - {"JudgedPairs", "Peak"},
            *COUNTS,
            *WRAPPERS - {"Share"},
        },
    },
    extreme_grades: {
        OTHER_JUDGMENTS: OTHERS,
        UNKNOWN_FUNCTION: FUNCTIONS,
        "no closed form is known; few gradings are all tried": {
            *FORMS - SUMS - {"Peak"},
            *COUNTS - {"Unjudged"},
            "Normalised",
        },
        "unjudged documents are not read": {"JudgedOnly"},
    },
    growth_of: {
        "no closed form is known; few gradings are all tried": {
            "EstimatedIdeal",
            "GeometricTotal",
            "GivenDenominator",
            "GreedyIdeal",
            "IdealToTheEnd",
            "OwnIdeal",
            "OwnRelevant",
            "PrefixDepth",
            "TotalValue",
            "WholeIdeal",
        },
    },
    grade_increments: {
        "no closed form is known; few gradings are all tried": {
            *FORMS - {"Linear", "Paired"},
            *COUNTS,
            *FUNCTIONS,
            *OTHERS,
            *WRAPPERS,
        },
    },
}


# Functions whose default is right for every form without a rule, not only unknown.
DEFAULT_HOLDS = {
    "deepest_rank": "the reach of the form",
    "depends_on_own_list_only": "False: a document that is not retrieved may count",
    "greedy_ideal": "the ideal",
    "has_residual": "False: only for weights that are positive at every rank",
    "is_best_when_sorted": "False: nothing is known",
    "is_undefined_if_degenerate": "False: only normalised scores are",
    "judged_only": "the form of lists without unjudged documents",
    "numerator_and_denominator": "the form itself, undivided",
    "order_reach": "the reach of the form",
    "population_of_bounds": "None: not normalised",
    "reader_of_share": "the reader of the numerator",
    "remark_on_terms": "an empty string: the terms explain themselves",
    "fades_until": "0: what a document adds does not depend on those above it",
    "stops_at_first_relevant": "False: only cascades stop",
    "precision_sum_level": "None: no sum of precisions",
    "tie_rule": "derived from the exactness of the form",
    "top_unknown": "None: all unknown documents may count",
    "weighted_sum": "None: no weighted sum",
}


def subclasses(kind: type) -> Iterator[type]:
    for below in kind.__subclasses__():
        yield below
        yield from subclasses(below)


def concrete(kind: type) -> set[type]:
    """Return the classes of this kind that Calipers makes objects of."""
    list(declared())  # loads all families of measures
    abstract = {
        "TextForm",
        "NormalisedTextForm",
        "Blend",
        "BestRanking",
        "BlendedRatioForm",
        "OverOrders",
        "Quotient",
        "Searched",
        "Wrapper",
    }
    return {each for each in subclasses(kind) if each.__module__.startswith("calipers.")} - {
        each for each in subclasses(kind) if each.__name__ in abstract
    }


@pytest.mark.parametrize("rules", WITHOUT_RULE, ids=lambda rules: rules.__name__)
def test_every_form_has_a_rule_or_a_reason_why_not(rules: Any) -> None:
    first = next(iter(rules.__wrapped__.__annotations__.values()))
    kinds = concrete(Denominator if first == "Denominator" else Form)
    without = {kind.__name__ for kind in kinds if rules.dispatch(kind) is rules.dispatch(object)}
    listed = [name for names in WITHOUT_RULE[rules].values() for name in names]
    assert len(listed) == len(set(listed))
    assert without == set(listed)


@pytest.mark.parametrize("rules", WITHOUT_RULE, ids=lambda rules: rules.__name__)
def test_no_wrapper_hands_a_question_on_for_all_its_subclasses(rules: Any) -> None:
    """A complement must answer the opposite: each wrapper has a rule of its own or none."""
    assert not {"Wrapper", "Quotient"} & {kind.__name__ for kind in rules.registry}


def test_every_function_with_rules_is_listed_here() -> None:
    found = set()
    for module in walk_packages(calipers.__path__, "calipers."):
        if module.name.split(".")[1] in ("evaluation", "measures", "questions"):
            for name, function in vars(import_module(module.name)).items():
                wrapped = getattr(function, "__wrapped__", None)
                first = next(iter(getattr(wrapped, "__annotations__", {}).values()), None)
                if hasattr(function, "dispatch") and first in ("Form", "Denominator") and not name.startswith("_"):
                    found.add(name)
    assert found == {*(rules.__name__ for rules in WITHOUT_RULE), *DEFAULT_HOLDS}


def test_a_form_has_few_members() -> None:
    """What only one feature asks is a function of that feature."""
    members = {name for name in vars(Form) if not name.startswith("_")}
    assert members == {
        "grade_affects_score",
        "error",
        "exactness",
        "expected",
        "extreme_order",
        "formula",
        "gain",
        "ideal",
        "is_degenerate",
        "published",
        "reach",
        "score",
        "substitute",
        "traits",
        "undefined_for_any_ranking",
        "variance",
        "worst",
    }


def test_a_complement_is_best_where_the_form_inside_is_worst() -> None:
    how = Complement(cal.parse("infAP").form).exactness()
    assert (how.ideal, how.worst, how.ties) == ("sorted", "sorted", "sampled")
