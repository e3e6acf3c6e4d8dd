"""Expected scores of lists whose unjudged documents have random grades, against all gradings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers as cal
from calipers.unjudged.grade_priors import check_prior

NAMES = [
    "nDCG@3",
    "nDCG",
    "AP",
    "AP@2",
    "RR",
    "ERR(max_grade=2)",
    "P@2",
    "RBP",
    "DCG@3",
    "Recall@2",
    "Success@2",
    "HIT@2",
    "F@2",
    "SP",
    "AP(norm=min)@2",
    "AP(rel=2)",
]
GIVEN = {1: Fraction(1, 4), 2: Fraction(1, 8)}
CHANCE = {0: 1 - sum(GIVEN.values()), **GIVEN}
PRIOR = {grade: float(chance) for grade, chance in GIVEN.items()}
Judged = dict[str, dict[str, int]]
Lists = dict[str, dict[str, float]]


def gradings(documents: list[str]) -> Iterator[tuple[Fraction, dict[str, int]]]:
    """Every grading of these documents, with its probability."""
    for grades in product(CHANCE, repeat=len(documents)):
        chance = Fraction(1)
        for grade in grades:
            chance *= CHANCE[grade]
        yield chance, dict(zip(documents, grades, strict=True))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Judged, Lists]:
    judged = {f"d{i}": draw(st.integers(0, 2)) for i in range(draw(st.integers(1, 4)))}
    ranked = {f"d{i}": draw(st.integers(1, 4)) for i in range(draw(st.integers(1, 3)))}
    ranked |= {f"x{i}": draw(st.integers(1, 4)) for i in range(draw(st.integers(0, 3)))}
    return {"q": {**judged, "top": 2}}, {"q": {name: float(score) for name, score in ranked.items()}}


@given(cases())
def test_closed_forms_equal_the_mean_over_all_gradings(case: tuple[Judged, Lists]) -> None:
    judged, run = case
    found = cal.Experiment(judged, run, NAMES, warn=False).ranges(prior=PRIOR, draws=2)
    open_documents = [document for document in run["q"] if document not in judged["q"]]
    total = dict.fromkeys(NAMES, 0.0)
    for chance, graded in gradings(open_documents):
        scores = cal.evaluate({"q": {**judged["q"], **graded}}, run, NAMES, warn=False)
        for name in NAMES:
            total[name] += float(chance) * scores[name][0, 0]
    for name in NAMES:
        assert found.expected[name].exact, name
        assert found.expected[name].expected[0, 0] == pytest.approx(total[name], abs=1e-12), name


@given(cases(), st.sampled_from(["run", "pool", PRIOR]))
def test_the_expected_score_lies_inside_the_range(case: tuple[Judged, Lists], prior: Any) -> None:
    judged, run = case
    names = [*NAMES, "bpref", "V2(nDCG@3)"] if len(run["q"]) < 5 else NAMES
    found = cal.Experiment(judged, run, names, warn=False).ranges(prior=prior, draws=5)
    for name in found.measures:
        expected = found.expected[name].expected
        assert (found.low[name] - 1e-12 <= expected).all(), name
        assert (expected <= found.high[name] + 1e-12).all(), name
        drawn = found.expected[name].drawn[:, 0]
        assert (found.low[name][0, 0] - 1e-12 <= drawn).all(), name
        assert (drawn <= found.high[name][0, 0] + 1e-12).all(), name


def test_nothing_relevant_counts_what_the_policy_says() -> None:
    judged, run = {"q": {"a": 0, "b": 0}}, {"q": {"x": 2.0, "a": 1.0}}
    for empty in (0.0, 0.5):
        found = cal.Experiment(judged, run, ["AP", "nDCG@2"], empty=empty, warn=False).ranges(
            prior={1: 0.2}, max_grade=1
        )
        for name in found.measures:
            assert found.expected[name].expected[0, 0] == pytest.approx(0.2 + 0.8 * empty)


@pytest.fixture(scope="module")
def larger() -> tuple[Judged, dict[str, Lists]]:
    random = np.random.default_rng(11)
    judged: Judged = {}
    runs: dict[str, Lists] = {"one": {}, "two": {}}
    for q in range(6):
        documents = [f"d{i}" for i in range(60)]
        known = random.choice(60, 25, replace=False)
        judged[f"q{q}"] = {f"d{i}": int(random.choice([0, 1, 2], p=[0.6, 0.3, 0.1])) for i in known} | {"d0": 1}
        for run in runs.values():
            run[f"q{q}"] = {name: float(random.integers(0, 40)) for name in random.choice(documents, 40, replace=False)}
    return judged, runs


@pytest.mark.parametrize("prior", ["pool", PRIOR])
def test_draws_agree_with_closed_forms_within_their_error(larger: Any, prior: Any) -> None:
    judged, runs = larger
    names = ["nDCG@10", "AP", "RR", "P@10", "Recall@10", "Success@1", "ERR(max_grade=2)"]
    found = cal.Experiment(judged, runs, names, warn=False).ranges(prior=prior, draws=400)
    for name in names:
        each = found.expected[name]
        assert each.exact, name
        mean = each.expected.mean(axis=1)
        assert (np.abs(each.drawn.mean(axis=0) - mean) <= 4.5 * each.sd / 20 + 1e-12).all(), name


def test_priors_by_rank_are_sampled_where_the_divisor_counts(larger: Any) -> None:
    judged, runs = larger
    found = cal.Experiment(judged, runs, ["nDCG@10", "RR", "P@5"], warn=False).ranges(prior="run")
    assert [found.expected[name].exact for name in found.measures] == [False, True, True]
    (remark,) = found.remarks
    assert "so are the expected scores of nDCG@10 (standard error up to" in remark
    assert found.mean().columns[5:] == ("expected", "expected_sd", "expected_low", "expected_high")
    assert found.per_query().columns[6:] == ("expected", "expected_sd")


@pytest.mark.parametrize("prior", ["pool", "run", PRIOR])
def test_the_expected_score_lies_inside_the_exact_range(larger: Any, prior: Any) -> None:
    judged, runs = larger
    names = ["nDCG@10", "nDCG(gain=exp)@5", "AP", "RR", "P@10", "Recall@10", "Success@1", "ERR(max_grade=2)", "RBP"]
    found = cal.Experiment(judged, runs, names, warn=False).ranges(prior=prior, draws=20)
    for name in names:
        expected = found.expected[name].expected
        assert (found.low[name] <= expected + 1e-12).all(), name
        assert (expected <= found.high[name] + 1e-12).all(), name


def test_priors_are_shares_with_one_document_added() -> None:
    judged = {"q": {"a": 1, "b": 0, "c": 0}, "r": {"d": 1}}
    run = {"q": {"a": 3.0, "x": 2.0}, "r": {"y": 2.0, "d": 1.0}}
    overall = 2 / 4
    pool = cal.Experiment(judged, run, "P@2", warn=False).ranges(prior="pool")
    own = {"q": (1 + overall) / 4, "r": (1 + overall) / 2}
    assert pool.expected["P@2"].expected[0] == pytest.approx([(1 + own["q"]) / 2, (1 + own["r"]) / 2])
    by_run = cal.Experiment(judged, run, "P@2", warn=False).ranges(prior="run")
    first, second = (1 + overall) / 2, (1 + overall) / 2  # one judged document at rank 1, one at ranks 2 and 3
    assert by_run.expected["P@2"].expected[0] == pytest.approx([(1 + second) / 2, (1 + first) / 2])


@pytest.mark.parametrize("name", ["P@2", "nDCG@2", "AP"])
def test_the_probability_that_a_system_is_better(name: str) -> None:
    """All documents of both lists are judged, so that both scores have one divisor."""
    judged = {"q": {"a": 1, "b": 2}}
    runs = {"one": {"q": {"x": 3.0, "a": 2.0, "y": 1.0}}, "two": {"q": {"y": 3.0, "z": 2.0, "a": 1.0}}}
    wins = Fraction(0)
    for chance, graded in gradings(["x", "y", "z"]):
        scores = cal.evaluate({"q": {**judged["q"], **graded}}, runs, name, warn=False)[name][:, 0]
        wins += chance * (Fraction(1, 2) if abs(scores[0] - scores[1]) < 1e-12 else int(scores[0] > scores[1]))
    draws = 2000
    found = cal.Experiment(judged, runs, name, warn=False).ranges(prior=PRIOR, draws=draws)
    table = found.pairs(name)
    assert table.columns[-1] == "probability"
    error = np.sqrt(float(wins * (1 - wins)) / draws)
    assert table.rows[0][-1] == pytest.approx(float(wins), abs=4.5 * error)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("all", "unknown prior 'all'"),
        ("1=x", "not a list of GRADE=PROBABILITY"),
        ({}, "a prior is run, pool"),
        ({1: -0.1}, "probabilities of at least 0"),
        ("1=0.7,2=0.6", "add up to 1.3"),
        ({7: 0.1}, "the prior names grade 7"),
    ],
)
def test_priors_that_are_refused(prior: Mapping[float, float] | str, message: str) -> None:
    with pytest.raises(cal.CalipersError, match=message):
        cal.Experiment({"q": {"a": 2}}, {"q": {"a": 1.0, "x": 0.5}}, "AP", warn=False).ranges(prior=prior)
    assert check_prior("pool") == "pool"


def test_without_a_prior_nothing_is_expected() -> None:
    found = cal.Experiment({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, "AP", warn=False).ranges()
    assert found.remarks == ()
    assert found.mean().columns == ("system", "measure", "low", "score", "high")
    with pytest.raises(cal.CalipersError, match="need a prior"):
        found.beating_chances("AP")
