"""Forms describe themselves: what every form of a declared measure must say, and that what it says is used."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.evaluation.inputs import as_judgments, as_runs
from calipers.lists import Lists
from calipers.measures.forms.base import OPAQUE, Form
from calipers.measures.forms.free import Deterministic
from calipers.measures.forms.global_gain import OfGlobalGain
from calipers.measures.forms.intents import Blend, IntentAware
from calipers.measures.forms.linear import weighted_sum
from calipers.measures.forms.shares import Denominator, numerator_and_denominator
from calipers.measures.gains import Gain, GivenGain
from calipers.measures.normalisation import Normalised
from calipers.measures.registry import examples
from calipers.measures.weights import Discount, GivenDiscount
from calipers.questions.audit.terms import best_lists, deepest_rank, gains_and_weights, inner_form
from calipers.questions.properties.examined_measures import walk
from calipers.questions.properties.proofs import is_best_when_sorted, proofs

FORMS = {name: cal.parse(name).form for name in (*examples(), *examples("subtopics"))}
# Declared to have no formula of their own: functions of whole lists, and counts whose name says all.
WITHOUT_FORMULA = {
    "Deterministic",
    "Free",
    "WithoutZeroGains",
    "Counted",
    "OfPool",
    "Unjudged",
    "GradesBetween",
    "PairInformation",
    "IntentAware",
    "Blend",
    "Sharp",
    "Pairwise",
}


def parts(kind: type) -> list[Any]:
    """All parts of that kind of all declared measures, one of each class."""
    found = {type(part): part for form in FORMS.values() for part in walk(form) if isinstance(part, kind)}
    return list(found.values())


def own(part: object, name: str) -> bool:
    """Whether the class says it by itself, not by the default of all forms."""
    return inspect.getattr_static(type(part), name) is not inspect.getattr_static(Form, name)


@pytest.mark.parametrize("form", parts(Form), ids=lambda form: type(form).__name__)
def test_a_form_has_a_formula_or_is_known_to_have_none(form: Form) -> None:
    if type(form).__name__ in WITHOUT_FORMULA:
        assert OPAQUE in form.formula({})
    else:
        assert own(form, "formula")
        assert OPAQUE not in form.formula({}) or any(type(part).__name__ in WITHOUT_FORMULA for part in walk(form))


@pytest.mark.parametrize("form", parts(Form), ids=lambda form: type(form).__name__)
def test_a_form_that_cuts_says_how_deep_it_reads(form: Any) -> None:
    """A cutoff of its own: then it says how deep it reads, or at least from where on nothing is added."""
    if getattr(form, "cutoff", None) is not None:
        assert own(form, "reach") or deepest_rank.dispatch(type(form)) is not deepest_rank.dispatch(object)
        assert deepest_rank(form) == form.cutoff


COLLECTION = (
    {"q": {"a": 2, "b": 0, "c": 1, "d": 1, "e": 0}, "r": {"f": 1}},
    {"q": {"a": 1.0, "b": 3.0, "c": 1.0, "x": 2.0, "e": 2.0}, "r": {"x": 1.0, "f": 0.5}},
)


def collection() -> Lists:
    known = as_judgments(COLLECTION[0])
    return Lists.of(known.pool, [run.retrieved(known) for run in as_runs(COLLECTION[1])]).under("average")


@pytest.mark.parametrize("form", parts(Form), ids=lambda form: type(form).__name__)
def test_what_a_form_says_it_is_made_of_gives_its_score(form: Form) -> None:
    """Whatever it declares of worths and weights, of a divisor, and of a form inside."""
    if any(isinstance(part, IntentAware | Blend | OfGlobalGain) for part in walk(form)):
        return
    lists = collection()
    score = form.score(lists)
    weighed = gains_and_weights(form, lists)
    if weighed is not None:
        assert lists.sum(weighed[0] * weighed[1]) == pytest.approx(score, nan_ok=True)
    numerator, divisor = numerator_and_denominator(form)
    assert (weighted_sum(form) is None) == (weighted_sum(numerator) is None)
    if divisor is not None:
        by = np.asarray(divisor(numerator, lists), np.float64)
        whole = numerator.score(lists)
        assert np.where(by > 0, whole / np.where(by > 0, by, 1.0), np.nan) == pytest.approx(score, nan_ok=True)
        best = best_lists(divisor, numerator, lists)
        if best is not None and not type(divisor).__name__.endswith("ToTheEnd"):
            assert numerator.score(best) == pytest.approx(np.broadcast_to(by, score.shape))
        assert divisor.constant is None or np.unique(by).tolist() == [divisor.constant]
    inner = inner_form(form, lists)
    if inner is not None and not inner.values:  # a rule about another form, which need not apply here
        assert inner.form.score(inner.lists) == pytest.approx(score, nan_ok=True)


def test_nothing_asks_a_form_which_one_it_is() -> None:
    """Forms, divisors, worths and discounts answer questions; nobody outside them looks at their classes.

    Measures of texts have a form that only says how texts are scored: no question about rankings has an answer there.
    """
    kinds = (Form, Denominator, Gain, Discount)
    named = {kind.__name__ for base in kinds for kind in subclasses(base)} - {"TextForm", "NormalisedTextForm"}
    asked = []
    for file in sorted(Path(cal.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                names = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                asked += [f"{file.name}:{node.lineno} {name}" for name in sorted(names & named)]
    assert asked == []


def subclasses(kind: type) -> set[type]:
    return {each for below in kind.__subclasses__() for each in (below, *subclasses(below))}


@pytest.mark.parametrize("kind", [Denominator, Discount, Gain])
def test_what_a_form_is_made_of_has_a_formula(kind: type) -> None:
    unknown = {"GivenGain", "GivenDiscount", "Grade", "Negative", "Except", "Listed", "IdealToTheEnd"}
    for part in parts(kind):
        assert "given" not in part.formula or type(part).__name__ in unknown


def test_what_users_hand_over_is_known_to_be_unknown() -> None:
    form = cal.Linear(cal.Weights(lambda rank: 1 / rank, 3), lambda grade: grade)
    assert isinstance(form.weight.discount, GivenDiscount)
    assert not is_best_when_sorted(form)
    assert set(proofs(form)) == {"localized", "complete"}
    assert GivenGain(np.square)(np.array([3.0])) == 9
    assert set(proofs(form / (lambda of, lists: 2.0))) == set()


def test_a_share_of_a_users_divisor_reads_everything() -> None:
    form = cal.parse("DCG@3").form
    assert form.reach == 3
    assert (form / (lambda of, lists: lists.length.astype(float))).reach is None


def test_only_normalisations_say_that_they_are() -> None:
    assert all(form.traits.is_normalised == isinstance(form, Normalised) for form in FORMS.values())
    assert not any(isinstance(form, Deterministic) and proofs(form) for form in FORMS.values())
