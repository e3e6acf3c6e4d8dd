"""Measures without a closed form under ties: which orders are drawn, how many, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import calipers as cal
from calipers.lists import Lists
from calipers.measures.forms.free import PRECISE, ROUND, Free

MIXED = {f"d{d}": d % 3 for d in range(30)}  # as one tie it has far more than 1,000 orders
EQUAL = {f"d{d}": 1 if d < 15 else 0 for d in range(30)}
IN_TWO_TIES = {"q": {document: float(grade) for document, grade in EQUAL.items()}}  # each tie has one grade
IN_ONE_TIE = {"q": dict.fromkeys(MIXED, 1.0)}


def lists_of(grades: dict[str, int], run: dict[str, dict[str, float]]) -> Lists:
    given = cal.Experiment({"q": grades}, run, "RR", warn=False)
    return Lists.of(given.judgments.pool, [given.runs[0].retrieved(given.judgments)])


def counting(score: Callable[[np.ndarray], float]) -> tuple[Free, list[int]]:
    """Return a form of a function, and a list that grows with each of its calls."""
    calls: list[int] = []

    def function(ranking: np.ndarray) -> float:
        calls.append(1)
        return score(ranking)

    return Free(function), calls


@pytest.mark.parametrize("measure", ["infAP", "IPrec@0.5", "11pt_avg", "Rndcg", "Accuracy", "Compat"])
def test_ties_of_equal_judged_documents_are_exact(measure: str) -> None:
    tied = cal.evaluate({"q": EQUAL}, IN_TWO_TIES, measure, warn=False)
    ordered = {"q": [*EQUAL]}
    assert tied.values == cal.evaluate({"q": EQUAL}, ordered, measure).values
    assert tied.exactness == {measure: "exact"}
    assert tied.errors == {}
    assert "averaged over all orders, where" in tied.notes[0]


def test_a_tie_of_equal_documents_has_one_order() -> None:
    form, calls = counting(lambda ranking: float(ranking[0]))
    assert form.score(lists_of(EQUAL, IN_TWO_TIES)).tolist() == [1.0]
    assert len(calls) == 1


def test_an_unjudged_document_in_a_tie_leaves_orders() -> None:
    with_other = {"q": {**IN_TWO_TIES["q"], "other": 1.0}}
    form, calls = counting(lambda ranking: float(ranking[0]))
    assert 0.5 < form.score(lists_of(EQUAL, with_other))[0] < 1
    assert len(calls) > 1


@pytest.mark.parametrize("measure", ["Accuracy@5"])
def test_ties_below_the_cutoff_are_not_drawn(measure: str) -> None:
    below = {"q": {document: 9.0 - place if place < 5 else 1.0 for place, document in enumerate(MIXED)}}
    tied = cal.evaluate({"q": MIXED}, below, measure, warn=False)
    assert tied.exactness == {measure: "exact"}
    assert tied.values == cal.evaluate({"q": MIXED}, {"q": [*MIXED]}, measure).values


def test_one_round_is_drawn_if_it_is_precise_and_all_orders_allowed_otherwise() -> None:
    near, calls = counting(lambda ranking: 1 + float(ranking[0]) * PRECISE)
    lists = lists_of(MIXED, IN_ONE_TIE)
    assert near.score(lists)[0] == pytest.approx(1 + PRECISE, abs=PRECISE)
    assert len(calls) == ROUND
    far, calls = counting(lambda ranking: float(ranking[0]))
    assert abs(far.score(lists)[0] - 1) < 5 * far.error(lists)[0]
    assert len(calls) == far.orders == 1000


def test_the_note_on_ties_names_the_measures_whose_orders_were_drawn() -> None:
    found = cal.evaluate({"q": MIXED}, IN_ONE_TIE, "AP infAP Accuracy Z(ERR)", warn=False)
    assert "averaged over all orders (infAP, Accuracy: over drawn orders), where" in found.notes[0]
    assert found.remarks[0].startswith("infAP, Accuracy: sampled, not exact (seed 42, standard error up to")
    exact = cal.evaluate({"q": MIXED}, IN_ONE_TIE, "AP nDCG@10", warn=False)
    assert "averaged over all orders, where" in exact.notes[0]
