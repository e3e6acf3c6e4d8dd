"""Expected scores with sampled irrelevant items: the closed forms against enumeration in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations, groupby, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import calipers as cal
from calipers.evaluation.inputs import as_judgments, as_runs
from calipers.lists import Lists
from calipers.questions.sampled.sampled_ranks import sampled_ranks

Grades = Mapping[str, int]


def weighted(ranked: list[int], weight: Any) -> Fraction:
    return sum((weight(i) * grade for i, grade in enumerate(ranked, 1)), Fraction(0))


def discount(rank: int) -> Fraction:
    return Fraction(1 / math.log2(rank + 1))


def precision_at_3(ranked: list[int]) -> Fraction:
    return Fraction(sum(grade >= 1 for grade in ranked[:3]), 3)


def recall_at_2(ranked: list[int]) -> Fraction:
    return Fraction(sum(grade >= 1 for grade in ranked[:2]), sum(grade >= 1 for grade in ranked))


def ndcg_at_3(ranked: list[int]) -> Fraction:
    best = sorted(ranked, reverse=True)
    return weighted(ranked[:3], discount) / weighted(best[:3], discount)


def average_precision(ranked: list[int], level: int = 1) -> Fraction:
    relevant = [i for i, grade in enumerate(ranked, 1) if grade >= level]
    if not relevant:
        return Fraction(0)
    return sum((Fraction(j, i) for j, i in enumerate(relevant, 1)), Fraction(0)) / len(relevant)


def reciprocal_rank(ranked: list[int]) -> Fraction:
    return next((Fraction(1, i) for i, grade in enumerate(ranked, 1) if grade >= 1), Fraction(0))


def expected_reciprocal_rank(ranked: list[int]) -> Fraction:
    through, found = Fraction(1), Fraction(0)
    for i, grade in enumerate(ranked, 1):
        stop = Fraction(2**grade - 1, 4)
        found += through * stop / i
        through *= 1 - stop
    return found


MEASURES = {
    "P@3": precision_at_3,
    "Recall@2": recall_at_2,
    "nDCG@3": ndcg_at_3,
    "AP": average_precision,
    "AP(rel=2)": lambda ranked: average_precision(ranked, 2),
    "RR": reciprocal_rank,
    "ERR(max_grade=2)": expected_reciprocal_rank,
    "Success@2": lambda ranked: Fraction(int(any(grade >= 1 for grade in ranked[:2]))),
    "HIT@2": lambda ranked: Fraction(max(ranked[:2])),
}
SURE = ("RR", "Success@2")  # whose standard deviation is exact however many items are relevant


def orders(scores: Mapping[str, int]) -> Iterator[list[str]]:
    """Every order of the items that the scores allow."""
    ranked = sorted(scores, key=lambda item: -scores[item])
    ties = [[*tie] for _, tie in groupby(ranked, key=lambda item: scores[item])]
    for parts in product(*(permutations(tie) for tie in ties)):
        yield [item for part in parts for item in part]


def enumerated(grades: Grades, scores: Mapping[str, int], measure: Any, negatives: int, again: bool) -> list[Fraction]:
    """The score of every equally likely sampled ranking."""
    others = [item for item in scores if not grades.get(item)]
    chosen = product(others, repeat=negatives) if again else combinations(others, negatives)
    every = list(orders(scores))
    found = []
    for drawn in chosen:
        times = {item: drawn.count(item) if item in others else 1 for item in scores}
        found += [measure([grades.get(item, 0) for item in order for _ in range(times[item])]) for order in every]
    return found


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, int], int]:
    items = draw(st.integers(3, 6))
    relevant = draw(st.integers(1, min(3, items - 1)))
    grades = {f"i{i}": draw(st.integers(1, 2)) for i in range(relevant)}
    scores = {f"i{i}": draw(st.integers(1, 5)) for i in range(items)}
    return grades, scores, draw(st.integers(1, min(3, items - relevant)))


@given(cases(), st.booleans())
def test_closed_forms_equal_enumeration(case: tuple[Grades, Mapping[str, int], int], again: bool) -> None:
    grades, scores, negatives = case
    judged = {"u": {**grades, "none": 0}}
    found = cal.sampled(
        cal.Experiment(judged, {"u": scores}, list(MEASURES), warn=False),
        negatives=negatives,
        items=len(scores),
        replacement=again,
    )
    for m, (name, measure) in enumerate(MEASURES.items()):
        values = enumerated(grades, scores, measure, negatives, again)
        mean = sum(values, Fraction(0)) / len(values)
        assert found.expected[m, 0, 0, 0] == pytest.approx(float(mean), abs=1e-12), name
        if name in SURE or len(grades) == 1:
            square = sum((value**2 for value in values), Fraction(0)) / len(values)
            assert found.variance[m, 0, 0, 0] == pytest.approx(float(square - mean**2), abs=1e-12), name


@given(cases())
def test_drawing_every_item_gives_the_full_score(case: tuple[Grades, Mapping[str, int], int]) -> None:
    grades, scores, _ = case
    names = list(MEASURES)
    found = cal.sampled(
        cal.Experiment({"u": grades}, {"u": scores}, names), negatives=len(scores) - len(grades), items=len(scores)
    )
    full = cal.evaluate({"u": grades}, {"u": scores}, names, warn=False)
    for m, name in enumerate(names):
        assert found.full[m, 0, 0] == pytest.approx(full[name][0, 0], abs=1e-12)
        assert found.expected[m, 0, 0, 0] == pytest.approx(found.full[m, 0, 0], abs=1e-12)


def big_case(users: int, items: int, relevant: int) -> tuple[dict[str, Any], dict[str, Any]]:
    random = np.random.default_rng(7)
    judged, run = {}, {}
    for u in range(users):
        chosen = random.choice(items, relevant, replace=False)
        scores = random.integers(0, items // 4, items) + 1.0  # many ties
        scores[chosen] += random.integers(0, items // 8, relevant)
        judged[f"u{u}"] = {f"i{i}": int(random.integers(1, 3)) for i in chosen}
        run[f"u{u}"] = {f"i{i}": float(score) for i, score in enumerate(scores)}
    return judged, run


@pytest.mark.parametrize("again", [False, True])
def test_simulation_agrees_within_its_error(again: bool) -> None:
    """Draws, ties in random order, are scored by the measures themselves."""
    judged, run = big_case(20, 120, 4)
    names = ["nDCG@10", "AP", "RR", "Success@5", "ERR(max_grade=2)", "RBP"]
    exact = cal.sampled(cal.Experiment(judged, run, names), negatives=15, items=150, replacement=again)
    known = as_judgments(judged)
    lists = Lists.of(known.pool, [each.retrieved(known) for each in as_runs(run)])
    ranks = sampled_ranks(lists, 150, str, "error")
    draws = 400
    scores = np.array(
        [
            [cal.parse(name).bind(known.pool).form.score(drawn) for name in names]
            for drawn in ranks.draws(15, again, draws, seed=1)
        ]
    )
    error = np.sqrt(scores.var(axis=0, ddof=1).sum(axis=1) / draws) / 20
    difference = scores.mean(axis=(0, 2)) - exact.expected[:, 0, 0].mean(axis=1)
    assert (np.abs(difference) < 4.5 * error).all()


def test_simulated_deviations_agree_with_enumeration() -> None:
    grades, scores = {"i1": 1, "i4": 2}, {f"i{i}": 9 - i for i in range(8)}
    found = cal.sampled(cal.Experiment({"u": grades}, {"u": scores}, "nDCG@3"), negatives=3, items=8, draws=4000)
    values = [float(value) for value in enumerated(grades, scores, ndcg_at_3, 3, False)]
    assert found.variance[0, 0, 0, 0] == pytest.approx(np.var(values), rel=0.1)
    assert any("simulated from 4000 draws" in note for note in found.notes)


def test_leave_one_out_needs_no_draws() -> None:
    found = cal.sampled(
        cal.Experiment({"u": {"a": 1}}, {"u": {"x": 2, "a": 1}}, "nDCG@10"), negatives=2, items=9, missing="last"
    )
    assert found.notes == ()


# -- popularity ------------------------------------------------------------------------------------------------


def test_popular_items_are_drawn_more_often() -> None:
    judged, run = {"u": {"a": 1}}, {"u": {"hit": 4, "a": 3, "x": 2, "y": 1}}
    weights = {"hit": 8.0, "x": 1.0, "y": 1.0}
    again = cal.sampled(cal.Experiment(judged, run, "RR"), negatives=1, items=4, popularity=weights, replacement=True)
    assert again.expected[0, 0, 0, 0] == pytest.approx(0.8 * 0.5 + 0.2)
    assert not again.simulated
    once = cal.sampled(cal.Experiment(judged, run, "RR"), negatives=2, items=4, popularity=weights, draws=3000)
    chance = 1 - 0.2 * 1 / 9  # that one of the two is the popular item: first, or after either of the others
    assert once.simulated
    assert once.expected[0, 0, 0, 0] == pytest.approx(chance * 0.5 + (1 - chance), abs=0.02)
    assert any("expected scores" in note for note in once.notes)


def test_equal_popularity_is_a_uniform_draw() -> None:
    judged, run = big_case(10, 40, 2)
    weights = {f"i{i}": 3.0 for i in range(40)}
    for again in (False, True):
        plain = cal.sampled(
            cal.Experiment(judged, run, "RR AP", ties="docid"), negatives=5, items=40, replacement=again
        )
        drawn = cal.sampled(
            cal.Experiment(judged, run, "RR AP"),
            negatives=5,
            items=40,
            replacement=again,
            popularity=weights,
            draws=800,
        )
        error = np.sqrt(plain.variance[:, 0, 0].sum(axis=1) / 800) / 10 if not again else 1e-12
        difference = plain.expected[:, 0, 0].mean(axis=1) - drawn.expected[:, 0, 0].mean(axis=1)
        assert (np.abs(difference) < 4.5 * error).all()


# -- missing items, errors, notes --------------------------------------------------------------------------------


def test_a_missing_relevant_item_is_an_error_or_last() -> None:
    judged, cut = {"u": {"a": 1, "b": 2}}, {"u": {"x": 2, "a": 1}}
    whole = {"u": {"x": 9, "a": 8, "y": 3, "z": 2, "b": 1}}
    with pytest.raises(cal.CalipersError, match="run, 'u': 1 of 2 relevant items are not in the ranking"):
        cal.sampled(cal.Experiment(judged, cut, "AP"), negatives=1, items=5)
    names = "AP nDCG@2 RR Recall@3"
    last = cal.sampled(cal.Experiment(judged, cut, names, warn=False), negatives=2, items=5, missing="last")
    assert last.expected == pytest.approx(
        cal.sampled(cal.Experiment(judged, whole, names), negatives=2, items=5).expected
    )
    assert last.full == pytest.approx(cal.sampled(cal.Experiment(judged, whole, names), negatives=2, items=5).full)
    assert any("1 relevant item of 1 ranking is missing" in note for note in last.notes)


def test_a_user_without_a_ranking_or_without_relevant_items() -> None:
    judged = {"u": {"a": 1}, "v": {"b": 1}, "w": {"c": 0}}
    run = {"u": {"a": 2, "x": 1}}
    found = cal.sampled(cal.Experiment(judged, run, "RR", warn=False), negatives=3, items=11, missing="last")
    assert found.full[0, 0].tolist() == pytest.approx([1, 1 / 11, 0])
    assert found.expected[0, 0, 0].tolist() == pytest.approx([1, 1 / 4, 0])
    assert any("1 query without a relevant item counts 0" in note for note in found.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"negatives": 3}, "3 items cannot be drawn from the 2 irrelevant items"),
        ({"negatives": 0}, "negatives 0 is not a whole number"),
        ({"negatives": []}, "negatives is empty"),
        ({"negatives": 10**9, "items": 10**9, "replacement": True}, "from 1 to 1,000,000"),
        ({"draws": 10**9}, "draws 1000000000 is not a whole number from 2 to 100,000"),
        ({"items": 2}, "3 items are ranked or relevant, more than the 2 items"),
        ({"measures": "bpref"}, "bpref: no closed form"),
        ({"measures": "Judged@2"}, "Judged@2: irrelevant items have a gain"),
        ({"measures": "gm_map"}, "gm_map: a geometric mean"),
        ({"measures": "AUC"}, "AUC: sampling does not change its expectation: .* its score on the whole catalogue"),
        ({"measures": "AUC(rel=2)"}, r"AUC\(rel=2\): some relevant items are below its `rel`"),
        ({"popularity": dict.fromkeys("axyz", 1)}, "4 different items are ranked or relevant, more than the 3 items"),
        ({"missing": "first"}, "missing items 'first'"),
        ({"popularity": {"x": -1}}, "the weight '-1' of item 'x' is not a number of at least 0"),
        ({"popularity": {"x": 0}}, "popularity must give some item a weight above 0"),
        ({"popularity": {"x": 1}, "negatives": 2}, "only 1 have a popularity above 0"),
    ],
)
def test_errors(options: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"negatives": 1, "items": 3, **options}
    measures = settings.pop("measures", "RR")
    with pytest.raises(cal.CalipersError, match=message):
        cal.sampled(cal.Experiment({"u": {"a": 1}}, {"u": {"x": 3, "a": 2, "y": 1}}, measures), **settings)


def test_rankings_of_candidates_are_refused() -> None:
    """Each list has its held-out items and two others, although the catalogue has 50: these were drawn before."""
    judged = {"u": {"a": 1}, "v": {"b": 1, "c": 2}, "w": {"d": 0}}
    candidates = {"u": {"x": 3, "a": 2, "y": 1}, "v": {"b": 4, "z": 3, "y": 2, "c": 1}, "w": {"d": 1}}
    with pytest.raises(cal.CalipersError, match=r"run: .* 2 others, of 50 items in .* candidates already") as refused:
        cal.sampled(cal.Experiment(judged, candidates, "RR", warn=False), negatives=[1, 2], items=50)
    assert refused.value.parameter == "estimate"
    longer = {**candidates, "u": {**candidates["u"], "z": 0}}
    with pytest.raises(cal.CalipersError, match="ours: "):
        cal.sampled(
            cal.Experiment(judged, {"whole": longer, "ours": candidates}, "RR", warn=False), negatives=2, items=50
        )
    cal.sampled(cal.Experiment(judged, candidates, "RR", warn=False), negatives=3, items=50)
    cal.sampled(cal.Experiment(judged, longer, "RR", warn=False), negatives=2, items=50)
    cal.sampled(cal.Experiment({"u": {"a": 1}}, {"u": candidates["u"]}, "RR"), negatives=2, items=3)  # all of them


def test_a_catalogue_is_at_least_as_large_as_what_is_ranked() -> None:
    """Four lists of three items each, and nine different items in all."""
    judged = {f"u{u}": {f"i{u}": 1} for u in range(4)}
    runs = {
        name: {f"u{u}": {f"i{u}": 3, f"x{u + shift}": 2, "y": 1} for u in range(4)}
        for name, shift in (("one", 0), ("other", 1))
    }
    cal.sampled(cal.Experiment(judged, {"one": runs["one"]}, "RR"), negatives=1, items=9)
    for items in (3, 8):
        with pytest.raises(cal.CalipersError, match=rf"9 different items .* the {items} items") as refused:
            cal.sampled(cal.Experiment(judged, {"one": runs["one"]}, "RR"), negatives=1, items=items)
        assert refused.value.parameter == "items"
    with pytest.raises(cal.CalipersError, match="10 different items"):
        cal.sampled(cal.Experiment(judged, runs, "RR"), negatives=1, items=9)


def test_labels_and_scores_without_ids_have_no_catalogue_to_compare(tmp_path: Path) -> None:
    labels, scores = tmp_path / "labels.txt", tmp_path / "scores.txt"
    labels.write_text("1 qid:1 1:1\n0 qid:1 1:2\n0 qid:1 1:3\n", encoding="utf-8")
    scores.write_text("1\n3\n2\n", encoding="utf-8")
    found = cal.sampled(cal.Experiment(labels, scores, "RR", warn=False), negatives=1, items=3)
    assert found.expected.ravel().tolist() == [1 / 2]


def area_under_curve(ranked: list[int]) -> Fraction:
    pairs = [(a, b) for a, grade in enumerate(ranked) if grade for b, other in enumerate(ranked) if not other]
    return Fraction(sum(a < b for a, b in pairs), len(pairs))


@given(cases(), st.booleans())
def test_sampling_does_not_change_the_expected_auc(case: tuple[Grades, Mapping[str, int], int], again: bool) -> None:
    """As the error for AUC says."""
    grades, scores, negatives = case
    full = [area_under_curve([grades.get(item, 0) for item in order]) for order in orders(scores)]
    values = enumerated(grades, scores, area_under_curve, negatives, again)
    assert sum(values, Fraction(0)) / len(values) == sum(full, Fraction(0)) / len(full)


def test_rankings_that_are_cut_by_an_option_are_refused() -> None:
    with pytest.raises(cal.CalipersError, match="leave out depth and condensed"):
        cal.sampled(cal.Experiment({"u": {"a": 1}}, {"u": {"a": 2}}, depth=5), items=3, negatives=1)


# -- results -----------------------------------------------------------------------------------------------------


def test_a_pair_that_sampling_turns_round() -> None:
    """One system is first for some users and hopeless for the others, the other one is mediocre for all."""
    items = [f"i{i}" for i in range(100)]

    def ranking(rank: int) -> dict[str, float]:
        order = [item for item in items if item != "i0"]
        order.insert(rank - 1, "i0")
        return {item: -float(place) for place, item in enumerate(order)}

    judged = {f"u{u}": {"i0": 1} for u in range(4)}
    bold = {f"u{u}": ranking(1 if u == 0 else 100) for u in range(4)}
    steady = {f"u{u}": ranking(8) for u in range(4)}
    found = cal.sampled(cal.Experiment(judged, {"bold": bold, "steady": steady}, "RR"), negatives=[5, 99], items=100)
    assert found.pairs("RR")["order"] == ["changed", "same"]
    assert "1 of 1 under RR" in found.summary
    assert found.table().columns == ("system", "measure", "negatives", "full", "expected", "sd")
    assert len(found.per_query().rows) == 2 * 4 * 2


@given(cases())
def test_a_random_ranking_scores_the_mean_over_all_orders(case: tuple[Grades, Mapping[str, int], int]) -> None:
    grades, scores, negatives = case
    names = list(MEASURES)
    found = cal.sampled(cal.Experiment({"u": grades}, {"u": scores}, names), negatives=negatives, items=len(scores))
    tied = {**dict.fromkeys(grades, 0), **{f"n{i}": 0 for i in range(negatives)}}
    for m, (name, measure) in enumerate(MEASURES.items()):
        values = [measure([grades.get(item, 0) for item in order]) for order in permutations(tied)]
        assert found.random[m, 0, 0] == pytest.approx(float(sum(values) / len(values)), abs=1e-12), name
    assert found.random_ranking()["expected"] == found.random[:, 0].mean(axis=1).tolist()


def test_runs_that_answer_no_judged_query_are_refused() -> None:
    with pytest.raises(cal.CalipersError, match=r"no query in common.*'q1'.*'Q1'; upper and lower case differ"):
        cal.sampled(cal.Experiment({"q1": {"a": 1}}, {"Q1": {"a": 1.0}}, "RR"), items=10, negatives=2)
