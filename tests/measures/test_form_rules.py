"""Functions that have one rule per form: each form has a rule, or a reason why it has none.

A new form fails here until its author has looked at each of these functions. A rule is not always needed: the default
of each function is correct for every form, and says less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from calipers.axioms.proofs import proofs, proofs_of_division
from calipers.axioms.readers import reader
from calipers.measures.forms import Denominator, Form
from calipers.measures.registry import declared

Rules = Callable[..., Any]
OTHER_JUDGMENTS = "properties are examined on judgments of one grade per document"
PAIRS_OF_DOCUMENTS = {"AsManyNonRelevant", "NumberOfPairs", "ShareByDocuments", "ShareByJudge", "ShareOfPairs"}
BY_INTENT = {"IntentAware", "IntentShare", "OfGlobalGain", "Sharp"}
COUNTS = {"Counted", "GradesBetween", "OfPool", "Unjudged"}
FUNCTIONS = {"Deterministic", "Free", "Pairwise", "Worthy"}

WITHOUT_RULE: dict[Rules, dict[str, set[str]]] = {
    proofs: {
        OTHER_JUDGMENTS: {*PAIRS_OF_DOCUMENTS, *BY_INTENT, "GroupExposure", "OverJudges", "WeighedGains"},
        "nothing is known of a function": FUNCTIONS,
        "no proof was written; the search decides": {
            *COUNTS, "Blended", "MeanOverCutoffs", "PairInformation", "RankBiasedBlended", "RelevantPrefix",
            "WeightedPairInformation",
        },
        "what rises in a form falls in its complement": {"Complement"},
    },
    proofs_of_division: {
        "nothing is known of a function": {"GivenDenominator"},
        "no proof was written; the search decides": {
            "EstimatedIdeal", "EstimatedRelevant", "FOUND", "GeometricTotal", "GreedyIdeal", "IdealToTheEnd",
            "OwnRelevant",
        },
    },
    reader: {
        "no reader is declared": {*BY_INTENT, *COUNTS - {"Counted"}, "Mixture", "OverJudges", "WeighedGains"},
    },
}  # fmt: skip


def subclasses(kind: type) -> Iterator[type]:
    for below in kind.__subclasses__():
        yield below
        yield from subclasses(below)


def concrete(kind: type) -> set[type]:
    """Return the classes of this kind that Calipers makes objects of."""
    list(declared())  # loads all families of measures
    abstract = {"Blend", "BestRanking", "OfBlendedRatios", "OverOrders", "PairForm", "Quotient", "Searched", "Wrapper"}
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
