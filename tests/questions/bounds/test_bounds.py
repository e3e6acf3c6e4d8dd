"""Bounds against every ranking of small pools in exact fractions, and the laws of the normalisations."""

from __future__ import annotations

import gc
import math
import random
import warnings
import weakref
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import calipers as cal
import oracle
from calipers.collection.runs import RememberedRun
from calipers.evaluation.inputs import as_runs
from calipers.lists import Lists
from calipers.measures.normalisation import Limits, population_of, upper, v1, v2, v2s, worst_to_ideal
from calipers.measures.random_rankings import enumerable, sampled_deviation
from calipers.measures.registry import declared
from calipers.questions.bounds import _rows_that_matter, depth_for_residual
from conftest import ROOT
from oracle_measures import LARGEST, MEASURES

NEAR = 1e-12


def pools(seed: int, count: int) -> dict[str, dict[str, float]]:
    """Random pools of up to seven documents; the first holds the largest grade, which binds max_grade."""
    draw = random.Random(seed)
    palettes = [[0, 1], [0, 0, 1], [0, 1, 2, 3, 4], [-1, 0, 1, 2], [1, 2], [0]]
    grades = [[LARGEST, 0, 1]]
    while len(grades) < count:
        palette = draw.choice(palettes)
        grades.append([draw.choice(palette) for _ in range(draw.randint(1, 7 if len(set(palette)) < 4 else 6))])
    return {f"q{q}": {f"d{d}": grade for d, grade in enumerate(pool)} for q, pool in enumerate(grades)}


POOLS = pools(3, 40)


def undefined_to_nan(value: oracle.Number | None) -> float:
    return math.nan if value is None else float(value)


@pytest.mark.parametrize(
    "name", [name for name in sorted(MEASURES) if cal.parse(name).form.exactness().ideal == "exact"]
)
def test_bounds_are_those_of_all_rankings(name: str) -> None:
    measure = MEASURES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cal.bounds(POOLS, [name])
    grades = [list(pool.values()) for pool in POOLS.values()]

    def check(ours: np.ndarray, theirs: list[oracle.Number | None]) -> None:
        np.testing.assert_allclose(ours, [undefined_to_nan(value) for value in theirs], rtol=NEAR, atol=NEAR)

    check(found.ideal[name], [oracle.highest(measure, pool) for pool in grades])
    check(found.expected[name], [oracle.expected(measure, pool) for pool in grades])
    check(found.worst[name], [oracle.lowest(measure, pool) for pool in grades])
    known = ~np.isnan(found.sd[name])
    variances = [oracle.variance(measure, pool) for pool, k in zip(grades, known, strict=True) if k]
    check(found.sd[name][known] ** 2, variances)


def test_variances_that_have_a_closed_form_are_there() -> None:
    found = cal.bounds(
        POOLS,
        "DCG@3 nDCG@3 P@5 Recall@2 RBP INSQ SP@4 AP AP(norm=min)@3 RPrec SDCG@2 "
        "RR RR@2 HIT HIT@2 Success@3 ERR@4 bpref",
    )
    for name in found.measures:
        defined = ~np.isnan(found.expected[name])
        assert defined.any()
        assert not np.isnan(found.sd[name][defined]).any(), name


def test_many_sets_are_gone_through_rank_by_rank_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    judged = {f"q{q}": {f"d{d}": draw.randint(0, 1) for d in range(draw.randint(1, 30))} for q in range(40)}
    judged |= {f"p{q}": {f"d{d}": int(draw.random() < q / 9) for d in range(300)} for q in range(10)}
    found = []
    for many, at_once in ((1, 64), (1, 1), (1, 10**6), (10**9, 64)):  # sums to which nothing is added are left early
        monkeypatch.setattr("calipers.measures.forms.cascade.MANY_TIES", many)
        monkeypatch.setattr("calipers.measures.forms.cascade.RANKS_AT_ONCE", at_once)
        bounds = cal.bounds(judged, "RR RR@3")
        tied = {q: dict.fromkeys(documents, 1) | {"top": 2, "low": 0} for q, documents in judged.items()}
        scores = cal.evaluate(judged, {"run": tied}, "RR RR@4").values
        found.append([*bounds.expected.values(), *bounds.sd.values(), *scores])
    for ways in zip(*found, strict=True):
        for way in ways[1:]:
            np.testing.assert_array_equal(way, ways[0])


def test_deviations_without_a_closed_form_are_enumerated_or_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    grades = [2, 0, 1, 0, 0, 3, 1]
    pool = {"q": {f"d{d}": grade for d, grade in enumerate(grades)}}
    assert np.isnan(cal.bounds(pool, ["ERR"]).sd["ERR"]).all()
    values = oracle.pool_values(lambda r, p: oracle.err(r, p, 3, None), grades)
    wanted = float(np.std([float(v) for v in values]))
    found = cal.bounds(pool, ["ERR"], sd="sampled")
    assert found.sd["ERR"][0] == pytest.approx(wanted, rel=NEAR)
    assert found.exactness["ERR"]["sd"] == "enumerated"
    monkeypatch.setattr("calipers.measures.random_rankings.MOST_ORDERS", 0)
    drawn = cal.bounds(pool, ["ERR"], sd="sampled")
    assert drawn.sd["ERR"][0] == pytest.approx(wanted, rel=0.1)  # 1,000 draws
    assert drawn.exactness["ERR"]["sd"] == "sampled"


@pytest.mark.parametrize("population", ["pool", "collection(7)", "retrieved"])
def test_deviations_are_those_of_all_orders_of_any_population(population: str) -> None:
    """Of what a run retrieves, R and N of bpref are still those of all judged documents."""
    draw = random.Random(5)
    judged = {f"q{q}": {f"d{d}": draw.choice([-1, 0, 0, 1, 1, 2, 3]) for d in range(6)} | {"d0": 1} for q in range(8)}
    run = {q: {f"d{d}": -float(d) for d in draw.sample(range(9), 5)} for q in judged}
    names = ["RR", "RR(rel=2)@3", "Success@2", "HIT@2", "ERR@3", "bpref"]
    found = cal.bounds(judged, names, population=population, runs={"run": run})
    known = cal.Judgments.from_dict(judged)
    if population == "retrieved":
        whole = Lists.of(known.pool, [as_runs(run)[0].retrieved(known)]).all_shuffled()
    else:
        whole = population_of(population, known.pool)
    assert enumerable(whole).all()
    for name in names:
        wanted = sampled_deviation(cal.parse(name).bind(known.pool).form, whole)  # all orders
        np.testing.assert_allclose(found.sd[name], wanted, rtol=0, atol=1e-9, err_msg=name)


def test_accuracy_has_its_ends_with_a_cutoff_too() -> None:
    """The top two by grade hold no pair: the best order has a worthless document second, the worst one has it first."""
    pools = {"pairs": {"a": 1, "b": 1, "c": 0, "d": 0}, "none": {"a": 1, "b": 1}}
    found = cal.bounds(pools, ["Accuracy@2", "Accuracy@1"])
    assert (found.ideal["Accuracy@2"][0], found.worst["Accuracy@2"][0]) == (1, 0)
    assert found.exactness["Accuracy@2"]["ideal"] == "exact"
    assert np.isnan([found.ideal["Accuracy@2"][1], found.ideal["Accuracy@1"][0]]).all()
    ends = {"best": {"a": 2, "c": 1}, "worst": {"c": 2, "a": 1}}
    runs = {name: {"pairs": run} for name, run in ends.items()}
    assert cal.evaluate(pools, runs, "Accuracy@2")["Accuracy@2"][:, 0].tolist() == [1, 0]


def test_z_scores_are_exact_where_there_are_few_orders() -> None:
    """Grades 1, 0, 0: RR is 1, 1/2 and 1/3, each as often."""
    values = [1, 1 / 2, 1 / 3]
    score = cal.evaluate({"q": {"a": 1, "b": 0, "c": 0}}, {"q": {"a": 3, "b": 2, "c": 1}}, "Z(RR)").values[0, 0, 0]
    assert score == pytest.approx((1 - np.mean(values)) / np.std(values))


@pytest.mark.parametrize(
    ("n", "relevant", "k", "exact", "paper"), [(120, 30, 10, 15501 / 13328, 0.625), (2, 1, 1, 0.5, 0.25)]
)
def test_the_published_expected_precision_is_too_small(
    n: int, relevant: int, k: int, exact: float, paper: float
) -> None:
    pool = {"q": {f"d{d}": int(d < relevant) for d in range(n)}}
    assert cal.bounds(pool, f"SP@{k}").expected[f"SP@{k}"][0] == pytest.approx(exact, rel=NEAR)
    assert cal.bounds(pool, f"SP@{k}", expected="paper").expected[f"SP@{k}"][0] == pytest.approx(paper, rel=NEAR)
    assert cal.bounds(pool, f"SP@{k}", ideal="k").ideal[f"SP@{k}"][0] == k


def test_large_pools() -> None:
    grades = [0] * 40 + [1] * 30 + [2] * 20 + [3] * 8 + [4] * 2
    pool = {"err": {f"d{d}": g for d, g in enumerate(grades)}}
    assert cal.bounds(pool, "ERR@10").expected["ERR@10"][0] == pytest.approx(0.25500277445755937, rel=NEAR)
    pool = {"rr": {f"d{d}": int(d < 30) for d in range(120)}}
    assert cal.bounds(pool, "RR@10").expected["RR@10"][0] == pytest.approx(0.46015152920776287, rel=NEAR)
    for judged, expected in ((60, 11 / 102), (15, 1 / 2)):
        pool = {"bpref": {f"d{d}": int(d < 10) for d in range(judged)}}
        assert cal.bounds(pool, "bpref").expected["bpref"][0] == pytest.approx(expected, rel=NEAR)


# -- populations -------------------------------------------------------------------------------------------


def test_population_retrieved_is_what_the_run_returned() -> None:
    qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    found = cal.bounds(qrels, ["RR", "nDCG@2"], population="retrieved", runs={"q": {"a": 3, "u": 2, "b": 1}})
    assert found.n.tolist() == [3]
    assert found.relevant.tolist() == [1]
    assert found.expected["RR"][0] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert found.worst["RR"][0] == pytest.approx(1 / 3)
    assert found.ideal["nDCG@2"][0] == pytest.approx(1 / (1 + 1 / math.log2(3)))  # its own ideal knows of c


def test_population_collection_adds_documents_that_are_not_relevant() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    found = cal.bounds(qrels, ["RR", "P@2"], population="collection(4)")
    assert found.expected["RR"][0] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert found.expected["P@2"][0] == pytest.approx(1 / 4)
    assert found.worst["RR"][0] == pytest.approx(1 / 4)
    assert cal.bounds(qrels, "RR", population="collection(1000000)").expected["RR"][0] == pytest.approx(
        (math.log(1e6) + 0.5772156649) / 1e6, rel=1e-6
    )


UNION = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"d": 1, "e": 0}, "q3": {"f": 0, "g": 1}}
WITH_UNJUDGED = {
    "one": {"q1": {"u": 4.0, "c": 3.0, "v": 2.0, "a": 1.0}, "q2": {"d": 2.0, "w": 1.0}},
    "two": {"q1": {"a": 2.0, "u": 2.0}, "q2": {"e": 3.0, "d": 2.0}, "q3": {"x": 3.0, "y": 2.0, "z": 1.0}},
}


@pytest.mark.parametrize("name", ["AP", "nDCG@2", "RR", "P@1", "ERR", "bpref"])
def test_the_union_is_what_is_judged_and_what_the_run_ranks_above_it(name: str) -> None:
    """Every order of the pool and of the list's unjudged documents, scored one by one; a tie is counted whole."""
    above = {("one", "q1"): "uv", ("two", "q1"): "u"}
    found = cal.bounds(UNION, [name], population="union", runs=WITH_UNJUDGED)
    normalised = f"V2({name}, population=union)"
    scores = cal.evaluate(UNION, WITH_UNJUDGED, [name, normalised], warn=False)
    for s, system in enumerate(WITH_UNJUDGED):
        for q, (query, pool) in enumerate(UNION.items()):
            documents = [*pool, *above.get((system, query), "")]
            orders = {
                str(i): {query: {document: -float(rank) for rank, document in enumerate(order)}}
                for i, order in enumerate(permutations(documents))
            }
            every = cal.evaluate({query: pool, "largest": {"x": 2}}, orders, name, warn=False)[name][:, 0]
            a, e, u = scores[name][s, q], every.mean(), every.max()
            assert found.n[s, q] == len(documents)
            assert found.expected[name][s, q] == pytest.approx(e, rel=NEAR)
            assert found.ideal[name][s, q] == pytest.approx(u, rel=NEAR)
            assert found.worst[name][s, q] == pytest.approx(every.min(), rel=NEAR)
            assert scores[normalised][s, q] == pytest.approx((a - e) / (u - e if a >= e else e), rel=1e-9, abs=NEAR)


def test_rankings_of_the_union_need_not_name_what_is_worth_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every measure has the bounds that it has where all documents are named, and most are quicker."""
    rng = random.Random(3)
    qrels = {f"q{q}": {f"d{d}": rng.choice((-1, 0, 0, 0, 1, 2)) for d in range(12)} for q in range(3)}
    runs = {
        f"s{s}": {q: {f"d{d}": rng.randint(0, 6) for d in rng.sample(range(20), 9)} for q in qrels} for s in range(3)
    }
    names = [each.example for each in declared("grades") if not cal.parse(each.example).form.traits.is_normalised]
    pool = cal.Judgments.from_dict(qrels).pool
    fewer = [name for name in names if _rows_that_matter(pool, cal.parse(name).bind(pool).form, "exact") is not None]
    assert {"AP", "RR", "P", "nDCG", "Recall"} <= {name.partition("@")[0] for name in fewer}
    found = cal.bounds(qrels, fewer, population="union", runs=runs)
    monkeypatch.setattr("calipers.questions.bounds._rows_that_matter", lambda *_: None)
    whole = cal.bounds(qrels, fewer, population="union", runs=runs)
    assert (found.n == whole.n).all()
    assert (found.relevant == whole.relevant).all()
    for name in fewer:
        for part in ("ideal", "expected", "worst", "sd", "error"):
            one, other = getattr(found, part)[name], getattr(whole, part)[name]
            assert one == pytest.approx(other, abs=1e-12, nan_ok=True), (name, part)
        assert found.exactness[name] == whole.exactness[name]


def test_the_union_is_the_pool_where_everything_is_judged() -> None:
    """As in learning to rank, where V2 stays what the papers print, bit by bit."""
    runs = {"q1": {"c": 2.0, "b": 1.0, "a": 0.5}, "q2": {"e": 2.0, "d": 1.0}}
    names = [f"{wrap}(AP{option})" for wrap in ("V1", "V2", "V2s", "W", "Z") for option in ("", ", population=union")]
    scores = cal.evaluate(UNION, runs, names, warn=False)
    assert (scores.values[0::2] == scores.values[1::2]).all()


@pytest.mark.data
def test_the_manual_says_over_which_queries_expected_precision_is(data: Path) -> None:
    """Over all 784 queries of MQ2008; the 220 without a relevant document count 0, as norm=k gives them a score."""
    name = "AP(norm=k)@5"
    files = sorted((data / "letor/MQ2008").glob("S*.txt.xz"))
    expected = np.concatenate([cal.bounds(cal.read_judgments(file), name).expected[name] for file in files])
    assert (len(expected), int((expected == 0).sum())) == (784, 220)
    page = (ROOT / "research/bounds.md").read_text()
    assert "over all 784 queries, 0 for the 220 without a relevant document" in page
    assert f"| 5 | {expected.mean():.4f} |" in page


@pytest.mark.data
def test_on_trec_covid_the_best_system_is_above_random(data: Path) -> None:
    """Random rankings of the pool, of documents that no system was given, beat every system by AP; a note says so."""
    judgments = cal.read_qrels(data / "trec/covid-round1/qrels-rnd1.txt")
    runs = [RememberedRun(run) for run in cal.read_runs(data / "trec/covid-round1/runs/[a-d]*")]
    scores = cal.evaluate(judgments, runs, ["AP", "V2(AP, population=retrieved)", "V2(AP)", "V2(P@5)"], warn=False)
    mean = np.nanmean(scores.values, axis=2)
    assert (mean[2] < 0).all()
    assert mean[1].max() > 0.1
    assert any(note.startswith("V2(AP): most documents that the systems retrieved are unj") for note in scores.remarks)
    random_ap = cal.bounds(judgments, "AP", population="union", runs=runs).expected["AP"].mean(axis=1)
    assert (random_ap < 0.2).all()
    assert mean[0].max() > random_ap.max()


@pytest.mark.parametrize(
    ("population", "message"),
    [
        ("pol", "unknown population"),
        ("collection(1)", "smaller"),
        ("retrieved", "needs a run"),
        ("union", "needs a run"),
    ],
)
def test_populations_that_cannot_be(population: str, message: str) -> None:
    with pytest.raises(cal.CalipersError, match=message):
        cal.bounds({"q": {"a": 1, "b": 0}}, "RR", population=population)


# -- V1, V2 and the others -----------------------------------------------------------------------------------

NUMBERS = {"allow_nan": False, "min_value": 0, "max_value": 1}


@st.composite
def limits_and_scores(draw: st.DrawFn) -> tuple[np.ndarray, Limits]:
    """Bounds in the right order, and a score between worst and ideal."""
    parts = draw(arrays(float, (4, 5), elements=st.floats(**NUMBERS)))
    worst, ideal = np.minimum(parts[0], parts[1]), np.maximum(parts[0], parts[1]) + 0.01
    expected = worst + parts[2] * (ideal - worst)
    return worst + parts[3] * (ideal - worst), Limits(ideal, np.maximum(expected, 1e-6), np.minimum(worst, expected))


@given(limits_and_scores())
def test_ranges_and_order(case: tuple[np.ndarray, Limits]) -> None:
    score, limits = case
    share = upper(score, limits)
    assert ((v1(score, limits) >= 0) & (v1(score, limits) <= share + NEAR)).all()
    assert ((v2(score, limits) >= -1) & (v2(score, limits) <= share + 1e-9)).all()
    assert ((v2s(score, limits) >= -1) & (v2s(score, limits) <= 1)).all()
    assert ((worst_to_ideal(score, limits) >= -NEAR) & (worst_to_ideal(score, limits) <= 1 + NEAR)).all()


@given(limits_and_scores(), st.floats(0.01, 100))
def test_scale_does_not_matter(case: tuple[np.ndarray, Limits], factor: float) -> None:
    score, limits = case
    scaled = Limits(limits.ideal * factor, limits.expected * factor, limits.worst * factor)
    for normalise in (upper, v1, v2, v2s, worst_to_ideal):
        np.testing.assert_allclose(normalise(score * factor, scaled), normalise(score, limits), rtol=1e-6, atol=1e-8)


@given(limits_and_scores(), st.floats(0, 1))
def test_a_higher_score_is_never_lower_when_normalised(case: tuple[np.ndarray, Limits], part: float) -> None:
    score, limits = case
    higher = score + part * (limits.ideal - score)
    for normalise in (upper, v1, v2, v2s, worst_to_ideal):
        assert (normalise(higher, limits) >= normalise(score, limits) - 1e-9).all()


@pytest.mark.parametrize("base", ["nDCG@3", "AP", "ERR@5", "RBP", "RR", "HIT@2", "SN-AP@3", "bpref"])
def test_ideal_random_and_worst_rankings_get_what_they_should(base: str) -> None:
    grades = [3, 0, 1, 0, 2, 0]
    qrels = {"q": {f"d{d}": g for d, g in enumerate(grades)}}
    runs = {
        "ideal": {"q": {f"d{d}": g for d, g in enumerate(grades)} | {"d1": -1.0, "d3": -2.0, "d5": -3.0}},
        "random": {"q": {f"d{d}": 0.0 for d in range(6)}},
    }
    scores = cal.evaluate(qrels, runs, [f"V2({base})", f"U({base})", f"V1({base})", f"Z({base})", f"V2s({base})"])
    assert scores[f"V2({base})"][:, 0].tolist() == pytest.approx([1, 0], abs=NEAR)
    assert scores[f"V2s({base})"][:, 0].tolist() == pytest.approx([1, 0], abs=NEAR)
    assert scores[f"U({base})"][0, 0] == pytest.approx(1)
    assert scores[f"Z({base})"][1, 0] == pytest.approx(0, abs=NEAR)
    assert scores[f"Z({base})"][0, 0] > 0


def test_the_order_of_systems_on_one_query_stays() -> None:
    qrels = {"q": {"a": 2, "b": 0, "c": 1, "d": 0}}
    runs = {"".join(order): {"q": {d: -float(i) for i, d in enumerate(order)}} for order in permutations("abcd")}
    scores = cal.evaluate(qrels, runs, ["nDCG@3", "V1(nDCG@3)", "V2(nDCG@3)"])
    plain = scores["nDCG@3"][:, 0].round(10)
    for name in ("V1(nDCG@3)", "V2(nDCG@3)"):
        normal = scores[name][:, 0].round(9)
        assert (np.sign(plain[:, None] - plain) == np.sign(normal[:, None] - normal)).all()


def test_degenerate_and_empty_queries() -> None:
    qrels = {"flat": {"a": 1, "b": 1}, "none": {"a": 0}, "usual": {"a": 1, "b": 0}, "more": {"a": 0, "b": 1}}
    run = {"flat": {"a": 2, "b": 1}, "none": {"a": 1}, "usual": {"a": 2, "b": 1}, "more": {"a": 2, "b": 1}}
    scores = cal.evaluate(qrels, run, ["V2(AP)", "AP"])
    assert scores["V2(AP)"][0].tolist() == pytest.approx([0, math.nan, 1, -1 / 3], nan_ok=True)
    assert scores["AP"][0, 1] == 0
    assert scores.reason("V2(AP)", "run", "flat") == "all rankings score the same"
    assert scores.reason("V2(AP)", "run", "none") == "no relevant document"
    assert math.isnan(cal.evaluate(qrels, run, "V2(AP)", degenerate="skip")["V2(AP)"][0, 0])
    assert cal.evaluate(qrels, run, "V2(AP)", degenerate=1.0)["V2(AP)"][0, 0] == 1
    assert cal.evaluate(qrels, run, "V2(AP)", empty=0.0)["V2(AP)"][0, 1] == 0
    with pytest.raises(cal.CalipersError, match="all rankings score the same"):
        cal.evaluate(qrels, run, "V2(AP)", degenerate="error")
    half = {"flat": {"b": 1}}  # a list with holes can score below what every full ranking gets
    assert cal.evaluate({**qrels, "flat": {"a": 1, "b": 1}}, {**run, **half}, "V2(AP)")["V2(AP)"][
        0, 0
    ] == pytest.approx(-0.5)


def test_judgments_with_positives_only_are_refused_with_advice() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": 1, "b": 0}}
    run = {q: {"a": 2.0, "b": 1.0, "c": 0.5} for q in qrels}
    with pytest.raises(cal.CheckFailed, match=r"collection\(N\).* retrieved"):
        cal.evaluate(qrels, run, "V2(RR)")
    for population in ("retrieved", "union", "collection(50)"):  # each has documents that are not relevant
        assert not np.isnan(cal.evaluate(qrels, run, f"V2(RR, population={population})").values).any()


def test_nothing_found_counts_as_nothing() -> None:
    qrels = {"q": {"a": 1, "b": 0, "c": 0}}
    assert cal.evaluate(qrels, {"q": {"b": 1}}, "V2(SN-AP@1)")["V2(SN-AP@1)"][0, 0] == -1
    assert math.isnan(cal.evaluate(qrels, {"q": {"b": 1}}, "V2(SN-AP@1)", missing="skip")["V2(SN-AP@1)"][0, 0])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("V2(V1(AP))", "not normalised again"),
        ("V2(nDCG(gain={1:-1,2:3}))", "negative gains"),
        ("V2(AP)@10", "goes to the measure inside"),
        ("V2(AP, population=all)", "unknown population"),
        ("V2(AP, expected=guess)", "not one of exact, paper"),
        ("V2", "needs of"),
        ("V2(nDCG, expected=paper)", None),
    ],
)
def test_what_cannot_be_normalised(name: str, message: str | None) -> None:
    with pytest.raises(cal.CalipersError, match=message):
        cal.evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 1}}, name)


def test_bounds_of_a_normalised_measure_are_refused() -> None:
    with pytest.raises(cal.CalipersError, match="ask for those of AP"):
        cal.bounds({"q": {"a": 1}}, "V2(AP)")


# -- depth of judging -----------------------------------------------------------------------------------------


def test_an_experiment_with_normalised_measures_has_bounds_and_types_of_queries() -> None:
    """As README's first example, which scores V2(AP) next to other measures."""
    qrels = {"q1": {"a": 2, "b": 0, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}}
    runs = {"one": {"q1": {"a": 2, "b": 1}, "q2": {"c": 2, "b": 1}}, "other": {"q1": {"c": 1}, "q2": {"a": 1}}}
    exp = cal.Experiment(qrels, runs, "V2(P@1) P@1 nDCG@2 U(AP)", warn=False)
    plain = exp.with_(measures="P@1 nDCG@2")
    for population in ("pool", "retrieved", "union"):
        found, expected = (each.bounds(population=population) for each in (exp, plain))
        assert (found.measures, found.table().rows) == (("P@1", "nDCG@2"), expected.table().rows)
        assert found.notes == ("V2(P@1), U(AP) are made of bounds: left out", *expected.notes)
        types, known = (each.queries(population=population) for each in (exp, plain))
        assert types.table().rows == known.table().rows
        assert types.notes == ("V2(P@1), U(AP) are made of bounds: left out", *known.notes)
    with pytest.raises(cal.CalipersError, match=r"V2\(P@1\) is made of bounds itself; ask for those of P@1"):
        exp.with_(measures="V2(P@1)").queries()


def test_depth_for_residual() -> None:
    for p in (0.5, 0.8, 0.95):
        depth = depth_for_residual(p, 0.01)
        assert p**depth <= 0.01 < p ** (depth - 1)


# -- a user's own measures -------------------------------------------------------------------------------------


def test_a_callable_gets_bounds_by_search_and_sampling() -> None:
    @cal.measure("TopTwo")
    def top_two() -> object:
        """Half the sum of the first two grades."""
        return lambda ranking: float(ranking[:2].sum() / 2)

    qrels = {"small": {"a": 2, "b": 0, "c": 1}, "large": {f"d{d}": d % 3 for d in range(30)}}
    found = cal.bounds(qrels, "TopTwo")
    assert found.ideal["TopTwo"].tolist() == [1.5, 2]
    assert found.worst["TopTwo"].tolist() == [0.5, 0]
    assert found.expected["TopTwo"][0] == pytest.approx(1)  # all six orders
    assert found.error["TopTwo"][0] == 0
    assert found.exactness["TopTwo"] == {"ideal": "sorted", "expected": "sampled", "worst": "sorted"}
    assert abs(found.expected["TopTwo"][1] - 1) < 5 * found.error["TopTwo"][1]
    again = cal.bounds(qrels, "TopTwo")
    assert again.expected["TopTwo"].tolist() == found.expected["TopTwo"].tolist()


def test_sorting_that_is_not_ideal_is_found_out() -> None:
    @cal.measure("LastGrade")
    def last_grade() -> object:
        """The grade of the last document."""
        return lambda ranking: float(ranking[-1])

    with pytest.warns(UserWarning, match="does not give the extreme"):
        found = cal.bounds({"q": {"a": 2, "b": 0}}, "LastGrade")
    assert (found.ideal["LastGrade"][0], found.worst["LastGrade"][0]) == (2, 0)


def test_a_users_linear_form_gets_exact_bounds() -> None:
    @cal.measure("Middle")
    def middle() -> cal.Form:
        """Only the second rank counts."""
        return cal.Linear(cal.Weights(lambda rank: (rank == 2).astype(float)), cal.AtLeast(1))

    found = cal.bounds({"q": {"a": 1, "b": 0, "c": 0}}, ["Middle", "V2(Middle)"][0])
    assert found.ideal["Middle"][0] == 1  # by the rearrangement of weights, not by sorting
    assert found.worst["Middle"][0] == 0
    assert found.expected["Middle"][0] == pytest.approx(1 / 3)
    scores = cal.evaluate({"q": {"a": 1, "b": 0, "c": 0}}, {"q": {"b": 3, "a": 2, "c": 1}}, "V2(Middle)")
    assert scores["V2(Middle)"][0, 0] == 1


def test_any_weight_vector() -> None:
    qrels, run = {"q": {"a": 1, "b": 1, "c": 0, "d": 1}}, {"q": {"a": 4, "c": 3, "b": 2, "d": 1}}
    name = "Weighted(discount=[0.5,0.3,0.2])"
    assert cal.evaluate(qrels, run, name)[name][0, 0] == pytest.approx(0.5 + 0.2)
    assert cal.bounds(qrels, name).ideal[name][0] == pytest.approx(1)
    assert repr(cal.parse(name)) == name
    with pytest.raises(cal.CalipersError, match="weights of at least 0"):
        cal.parse("Weighted(discount=[1,-1])")


# -- query types -------------------------------------------------------------------------------------------------


def test_query_types_by_threshold_and_by_rank() -> None:
    qrels = {
        "ideal": {"a": 1, **{f"n{i}": 0 for i in range(9)}},
        "hard": {"a": 1, **{f"n{i}": 0 for i in range(9)}},
        "easy": {f"n{i}": int(i < 9) for i in range(10)},
        "none": {"a": 0},
    }
    runs = {"ideal": {"a": 1.0}, "hard": {"n1": 1.0}, "easy": {"n1": 1.0}, "none": {"a": 1.0}}
    scores = cal.evaluate(qrels, runs, "P@1", empty="skip")
    types = cal.query_types(scores, cal.bounds(qrels, "P@1"))
    assert dict(zip(types.queries, types.types, strict=True)) == {
        "ideal": "ideal",
        "hard": "hard",
        "easy": "easy",
        "none": "undefined",
    }
    assert types.notes == ("a random ranking shuffles the judged documents of the query",)
    assert cal.Experiment(qrels, runs, "P@1", empty="skip").queries().notes == types.notes
    assert types.largest(1) == ("ideal",)
    assert types.smallest(1) == ("hard",)
    assert types.smallest(1, absolute=True) == ("hard",)
    with pytest.raises(cal.CalipersError, match="between 1 and the 3"):
        types.largest(4)


@pytest.mark.parametrize("measure", ["nDCG@10", "V2(AP)", "V2(nDCG@10, population=collection(50))"])
def test_judgments_are_freed_with_their_last_reference(measure: str) -> None:
    """Not when Python next collects reference cycles: in a loop over large arrays that may be too late."""
    judgments = cal.Judgments.from_arrays([2.0, 0.0, 1.0, 0.0], group=[2, 2])
    cal.evaluate(judgments, {"a": np.array([1.0, 2.0, 3.0, 4.0])}, [measure])
    kept = weakref.ref(judgments.pool)
    gc.disable()
    try:
        del judgments
        assert kept() is None
    finally:
        gc.enable()
