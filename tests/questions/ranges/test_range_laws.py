"""Laws of ranges: brute-force completion of small lists stays inside the range, and its ends are attained."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

import calipers as cal
from calipers.measures.registry import examples
from calipers.questions.ranges.score_ranges import TIES

CLOSE = 1e-12
TOP = 2
OF_JUDGING = ("Judged", "RBP-residual", "unj")  # which have no range
MEASURES = [
    *(name for name in examples() if not name.startswith(OF_JUDGING)),
    *("nDCG(judged_only=True)@3", "AP(judged_only=True)", "P(judged_only=True)@2", "V2(P@2)", "V1(bpref)"),
    *("nDCG(ideal=list)@2", "nDCG(short=n)@4", "nDCG(short=zero)@4", "AP(norm=min)@2", "AP(ideal=list)"),
]


def small_case(seed: int) -> tuple[dict[str, int], dict[str, float]]:
    """Draw a judged pool and a list with ties, of which two documents are unjudged."""
    draw = random.Random(seed)
    names = [f"d{i}" for i in range(6)]
    listed = draw.sample(names, 5)
    unjudged = draw.sample(listed, 2)
    judged = {d: draw.choice([0, 0, 1, 2]) for d in names if d not in unjudged}
    return judged, {d: float(draw.randint(1, 3)) for d in listed}


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("seed", range(3))
def test_ranges_are_those_of_all_completions(ties: str, seed: int) -> None:
    judged, run = small_case(seed)
    other = {"other": {"x": TOP}}  # so that the largest grade is judged
    found = cal.Experiment({"q": judged, **other}, {"q": run}, MEASURES, ties=ties, warn=False).ranges()
    now = cal.evaluate({"q": judged, **other}, {"q": run}, MEASURES, ties=ties, empty=0.0, warn=False)
    unjudged = [d for d in run if d not in judged]
    every = {
        "-".join(map(str, grades)): {**judged, **dict(zip(unjudged, grades, strict=True))}
        for grades in product(range(TOP + 1), repeat=len(unjudged))
    }
    completed = cal.evaluate({**every, **other}, dict.fromkeys(every, run), MEASURES, ties=ties, empty=0.0, warn=False)
    for name in MEASURES:
        scores = completed[name][0, : len(every)]
        assert found.low[name][0, 0] == pytest.approx(scores.min(), abs=CLOSE), name
        assert found.high[name][0, 0] == pytest.approx(scores.max(), abs=CLOSE), name
        assert found.score[name][0, 0] == pytest.approx(now[name][0, 0], abs=CLOSE), name


@pytest.mark.parametrize(
    "measures", ["nDCG@3 AP RR P@2", "ERR(max_grade=4)@5", "bpref", "RBP(gain=linear,max_grade=4)"]
)
def test_with_a_larger_grade_the_score_is_that_of_evaluate(measures: str) -> None:
    judged, run = small_case(5)
    found = cal.Experiment({"q": judged}, {"q": run}, measures, warn=False).ranges(max_grade=4)
    now = cal.evaluate({"q": judged}, {"q": run}, measures, warn=False)
    for name in found.measures:
        assert found.score[name] == pytest.approx(now[name], abs=CLOSE), name


def test_a_convention_that_compares_scores_in_single_precision_keeps_its_ties() -> None:
    judged, run = {"q": {"b": 1}}, {"q": {"b": 1.0, "a": 1.0 + 1e-12}}  # a tie in single precision: b comes first
    found = cal.Experiment(judged, run, "RR", like="trec_eval-9", warn=False).ranges()
    assert found.score["RR"] == pytest.approx(cal.evaluate(judged, run, "RR", like="trec_eval-9", warn=False)["RR"])


@pytest.mark.parametrize("tied", [6, 8])
def test_ranges_are_called_sampled_where_evaluate_calls_scores_so(tied: int) -> None:
    """A tie of 8 different documents has more than 1,000 orders, one of 6 has not."""
    judged = {f"d{i}": grade for i, grade in enumerate([2, 1, 2, 1, 2, 1, 2][: tied - 1])}
    run: dict[str, Any] = {"q": dict.fromkeys([*judged, "x"], 1.0)}
    name = "INST(gain={0:0,1:0.25,2:0.5})"
    found = cal.Experiment({"q": judged}, run, name, warn=False).ranges()
    scores = cal.evaluate({"q": {**judged, "x": 1}}, run, name, warn=False)
    assert found.exactness[name] == ", ".join(("enumerated", *{scores.exactness[name]} - {"exact"}))
    sampled = [note for note in found.notes if note.startswith(f"range of {name}: sampled, not exact")]
    assert len(sampled) == ("sampled" in found.exactness[name]) == (tied == 8)
    assert any(f"({name}: over drawn orders)" in note for note in found.notes) == (tied == 8)


def test_a_measure_that_skips_unjudged_documents_has_the_range_of_its_completions() -> None:
    """bpref of a list with both judged documents relevant is 1 now and 1/3 once the others are judged as 0."""
    found = cal.Experiment(
        {"q": {"d3": 1, "d4": 1}}, {"q": {"d3": 4, "d2": 3, "d4": 2, "d0": 1}}, "bpref", warn=False
    ).ranges()
    assert found.score["bpref"].item() == 1
    assert found.low["bpref"].item() == pytest.approx(1 / 3)
    assert found.exactness["bpref"] == "enumerated"


@pytest.mark.parametrize("base", [cal.Linear, cal.Cascade, cal.Paired, cal.Peak, type(cal.parse("nDCG").form)])
def test_a_concrete_form_cannot_be_derived_from(base: type) -> None:
    with pytest.raises(TypeError, match=rf"{base.__name__} is final: .* Derive Mine from Form"):
        type("Mine", (base,), {"score": lambda self, lists: lists.length})


def test_a_form_of_ones_own_has_the_range_of_all_gradings() -> None:
    class Found(cal.Form):
        """How many relevant documents are found, doubled."""

        def score(self, lists: Any) -> Any:
            return 2.0 * lists.count(lists.grade >= 1)

    @cal.measure("FoundTwice")
    def found_twice() -> cal.Form:
        """Twice the number of relevant documents that are found."""
        return Found()

    found = cal.Experiment({"q": {"a": 1, "b": 0}}, {"q": {"a": 3, "x": 2, "y": 1}}, "FoundTwice", warn=False).ranges()
    assert (found.low["FoundTwice"].item(), found.high["FoundTwice"].item()) == (2, 6)
    assert found.exactness == {"FoundTwice": "enumerated"}
