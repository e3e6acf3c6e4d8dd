"""Evaluation as information: against direct counting of pairs, the vectors of the mathematics, and real runs."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings, strategies as st

import calipers as cal
from calipers import plot
from calipers.cli.commands import root
from calipers.collection.runs import DictRun
from calipers.errors import CalipersError
from calipers.native import plain, scanner
from calipers.questions.information import rankings, sign_patterns
from calipers.questions.information.information_difference import difference, same_group_share
from calipers.questions.information.information_tau import tau, tau_between
from calipers.questions.information.joint_information import (
    estimate,
    joint,
    joint_of,
    known_by_groups,
    known_together,
    miller_madow,
    plug_in,
    shrinkage,
)
from calipers.questions.information.rankings import MISSING, QueryRankings, Rankings, pairs_of_grades
from calipers.questions.information.ric_scores import ric
from conftest import valid_spec

NEAR = 1e-12


def asked(question: Callable[..., Any]) -> Callable[..., Any]:
    """Return a question about an experiment as a function of judgments and runs."""

    def ask(judgments: Any, runs: Any, *, ties: Any = "average", depth: int | None = None, **options: Any) -> Any:
        return question(cal.Experiment(judgments, runs, ties=ties, depth=depth, unmatched="warn"), **options)

    return ask


information_difference, joint_ric = asked(difference), asked(joint)
ric_study, preference_ric = asked(ric), asked(cal.questions.information.preference_ric)
Pool = dict[str, float]
Ranked = dict[str, float]


# --- by hand ----------------------------------------------------------------------------------------------


def entropy(counts: Counter[Any]) -> float:
    total = sum(counts.values())
    return -sum(count / total * log2(count / total) for count in counts.values() if count)


def mutual(joint: Counter[tuple[Any, Any]]) -> float:
    """I(X; Y) from how often each (x, y) occurs."""
    x: Counter[Any] = Counter()
    y: Counter[Any] = Counter()
    for (one, other), count in joint.items():
        x[one] += count
        y[other] += count
    return entropy(x) + entropy(y) - entropy(joint)


def kept(pool: Pool, ranked: Ranked, rel: float) -> Ranked:
    """The scores of the judged documents down to the last relevant one."""
    judged = {d: s for d, s in ranked.items() if pool.get(d, -1) >= 0}
    relevant = [s for d, s in judged.items() if pool[d] >= rel]
    return {d: s for d, s in judged.items() if relevant and s >= min(relevant)}


def signs(pool: Pool, runs: list[Ranked], rel: float) -> Counter[tuple[tuple[int, ...], int]]:
    """How often the systems and the judgments say what, over all ordered pairs; ties both ways, half each."""
    lists = [kept(pool, ranked, rel) for ranked in runs]
    found: Counter[tuple[tuple[int, ...], int]] = Counter()
    for one, other in permutations([d for d in pool if pool[d] >= 0], 2):
        if pool[one] == pool[other]:
            continue
        for coin in (1, -1) if one < other else (-1, 1):  # the same tie is broken the same way by all
            said = []
            for scores in lists:
                x, y = scores.get(one, -math.inf), scores.get(other, -math.inf)
                said.append(0 if x == y == -math.inf else coin if x == y else 1 if x > y else -1)
            found[tuple(said), int(pool[one] > pool[other])] += 1
    return found


def direct(pool: Pool, runs: list[Ranked], rel: float = 1) -> float:
    return mutual(signs(pool, runs, rel))


def drawn_case(seed: int, systems: int, grades: list[float], ties: bool) -> tuple[Pool, list[Ranked]]:
    draw = random.Random(seed)
    names = [f"d{i}" for i in range(draw.randint(3, 9))]
    pool = {name: draw.choice(grades) for name in names}
    pool["d0"], pool["d1"] = 0, max(grades)
    runs = []
    for _ in range(systems):
        shown = draw.sample([*names, "u1", "u2"], draw.randint(0, len(names)))
        runs.append({d: float(draw.randint(1, 4)) if ties else draw.random() for d in shown})
    return pool, runs


def ric_of(pool: Pool, ranked: Ranked, name: str = "RIC", **options: Any) -> float:
    return float(cal.evaluate({"q": pool}, {"q": ranked}, [name], unmatched="warn", **options).values[0, 0, 0])


def in_order(documents: str | list[str]) -> Ranked:
    return {d: float(-i) for i, d in enumerate(documents)}


# --- information tau --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "tau"), [((1, 0, 2, 3), 2 / 3), ((1, 2, 0, 3), 1 / 3), ((2, 0, 3, 1), 0), ((3, 2, 1, 0), -1)]
)
def test_vectors_of_tau(other: tuple[int, ...], tau: float) -> None:
    wanted = sum((1 + s * tau) / 2 * log2(1 + s * tau) for s in (1, -1) if 1 + s * tau)
    assert tau_between([0, 1, 2, 3], other) == pytest.approx(wanted, abs=NEAR)


def test_vectors_of_conditional_tau() -> None:
    r, s, t = [0, 1, 2, 3], [0, 1, 3, 2], [1, 0, 2, 3]
    assert tau_between(r, s) == pytest.approx(0.349977578, abs=1e-9)
    assert tau_between(r, s, [t]) == pytest.approx(0.316689088, abs=1e-9)
    assert tau_between(r, s, [t, [0, 2, 1, 3]]) == pytest.approx(1 / 3, abs=NEAR)
    s, t = [0, 2, 3, 1], [1, 2, 0, 3]
    assert tau_between(r, s, [t]) - tau_between(r, s) == pytest.approx(0.169925, abs=1e-6)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_theorem_1(n: int) -> None:
    """Information tau is a function of Kendall's, for every pair of orderings."""
    for order in permutations(range(n)):
        t = cal.statistics.rank_correlation(range(n), order, "tau-a")
        wanted = sum((1 + sign * t) / 2 * log2(1 + sign * t) for sign in (1, -1) if 1 + sign * t > 1e-15)
        assert tau_between(range(n), order) == pytest.approx(wanted, abs=NEAR)


def test_identities_of_conditional_tau() -> None:
    draw = np.random.default_rng(4)
    for _ in range(20):
        a, b, t = draw.random((3, 7))
        assert tau_between(a, a, [t]) == pytest.approx(1 - tau_between(a, t), abs=NEAR)
        assert tau_between(a, b, [a]) == pytest.approx(0, abs=NEAR)
        assert tau_between(a, b, [t]) == pytest.approx(tau_between(b, a, [t]), abs=NEAR)
        assert tau_between(-a, b, [t]) == pytest.approx(tau_between(a, b, [t]), abs=NEAR)


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=2, max_size=6),
    st.sampled_from(["null", "drop"]),
)
def test_conditional_tau_by_counting(rows: list[list[int]], ties: str) -> None:
    """I(X; Y | T1, T2) as the mean of I(X; Y) in the parts that T1 and T2 make."""
    by_condition: dict[tuple[float, ...], Counter[tuple[Any, Any]]] = {}
    for one, other in permutations(rows, 2):
        sign = tuple(np.sign(np.subtract(one, other)).tolist())
        if ties == "null" or 0 not in sign:
            by_condition.setdefault(sign[2:], Counter())[sign[0], sign[1]] += 1
    total = sum(sum(part.values()) for part in by_condition.values())
    wanted = sum(sum(part.values()) / total * mutual(part) for part in by_condition.values()) if total else math.nan
    x, y, *given_lists = np.transpose(rows).tolist()
    assert tau_between(x, y, given_lists, ties=ties) == pytest.approx(wanted, abs=1e-9, nan_ok=True)


def test_tau_between_measures() -> None:
    draw = np.random.default_rng(7)
    values = draw.integers(0, 9, (4, 8, 5)).astype(float)
    values[1, 3, 2] = np.nan
    scores = cal.as_scores(values, measure=["ERR", "nDCG", "AP", "P"])
    found = tau(scores, x="ERR", y="ndcg", given=["AP", "P"])
    assert [row[2] for row in found.rows] == [(), ("AP",), ("P",), ("AP", "P")]
    defined = ~np.isnan(values[1])
    for q in range(5):
        err, ndcg, ap, p = values[:, defined[:, q], q]
        assert found["ERR", "nDCG"][q] == pytest.approx(tau_between(err, ndcg), abs=NEAR)
        assert found["ERR", "nDCG", "AP", "P"][q] == pytest.approx(tau_between(err, ndcg, [ap, p]), abs=NEAR)
    table = found.table()
    assert table.columns == ("x", "y", "given", "tau_I", "queries")
    assert table.rows[0][3] == pytest.approx(found["ERR", "nDCG"].mean())
    assert len(tau(scores).rows) == 6
    assert len(tau(scores, given=["AP"]).rows) == 3 * 2


def test_tau_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = cal.as_scores(np.random.default_rng(1).random((3, 9, 11)), measure=["a", "b", "c"])
    whole = tau(scores, x="a", y="b", given=["c"]).values
    monkeypatch.setattr("calipers.questions.information.information_tau.CELLS_AT_ONCE", 80)
    np.testing.assert_allclose(tau(scores, x="a", y="b", given=["c"]).values, whole, atol=NEAR)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": "a"}, "give both x and y"),
        ({"x": "a", "y": "z"}, "unknown measure 'z'"),
        ({"given": ["a", "b"]}, "needs two measures"),
        ({"ties": "half"}, "ties=half"),
    ],
)
def test_bad_requests_for_tau(arguments: dict[str, Any], message: str) -> None:
    scores = cal.as_scores(np.zeros((3, 4, 2)), measure=["a", "b", "c"])
    with pytest.raises(CalipersError, match=message):
        tau(scores, **arguments)


def test_bad_lists_for_tau() -> None:
    with pytest.raises(CalipersError, match="of equal length"):
        tau_between([1, 2], [1, 2, 3])
    with pytest.raises(CalipersError, match="at least two systems"):
        tau(cal.as_scores(np.zeros((2, 1, 2)), measure=["a", "b"]))


# --- RIC --------------------------------------------------------------------------------------------------


BINARY = {"r1": 1, "r2": 1, "a": 0, "b": 0, "c": 0}


@pytest.mark.parametrize(
    ("ranking", "c", "d"),
    [
        ("r1 r2", 6, 0),
        ("r1 a r2 b c", 5, 1),
        ("a r1 r2", 4, 2),
        ("r1", 3, 0),
        ("r1 a b c r2", 3, 3),
        ("a b c r1 r2", 0, 6),
    ],
)
def test_vectors_of_ric(ranking: str, c: int, d: int) -> None:
    wanted = sum(n / 6 * log2(2 * n / (c + d)) for n in (c, d) if n)
    assert ric_of(BINARY, in_order(ranking.split())) == pytest.approx(wanted, abs=NEAR)
    signed = ric_of(BINARY, in_order(ranking.split()), "RIC(signed=True)")
    assert signed == pytest.approx(math.copysign(wanted, c - d), abs=NEAR)


@pytest.mark.parametrize(("ranking", "c", "d"), [("yxwz", 6, 2), ("xuwy", 5, 2)])
def test_graded_vectors_of_ric(ranking: str, c: int, d: int) -> None:
    pool = {"x": 2, "y": 1, "z": 1, "w": 0, "v": 0}
    wanted = sum(n / 8 * log2(2 * n / (c + d)) for n in (c, d))
    assert ric_of(pool, in_order(ranking)) == pytest.approx(wanted, abs=NEAR)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize("grades", [[0, 1], [0, 0, 1, 2], [-1, 0, 1, 2, 3], [0, 0.5, 1, 1.5, 2.5]], ids=str)
def test_ric_by_counting(grades: list[float], rel: float, ties: bool) -> None:
    cases = [drawn_case(seed, 1, grades, ties) for seed in range(60)]
    pools = {f"q{i}": pool for i, (pool, _) in enumerate(cases)}
    run = {f"q{i}": runs[0] for i, (_, runs) in enumerate(cases)}
    found = cal.evaluate(pools, run, [f"RIC(rel={rel})", f"RIC(rel={rel},signed=True)"], empty="skip")
    for q, (pool, runs) in enumerate(cases):
        counted = signs(pool, runs, rel)
        balance = sum(said[0] * count * (1 if better else -1) for (said, better), count in counted.items())
        if max(pool.values()) < rel:
            assert np.isnan(found.values[:, 0, q]).all()
            continue
        wanted = mutual(counted)
        assert found.values[0, 0, q] == pytest.approx(wanted, abs=NEAR)
        assert found.values[1, 0, q] == pytest.approx(math.copysign(wanted, balance) if balance else 0, abs=1e-9)


def weighted_by_hand(pool: Pool, run: Ranked, weight: str, p: float, rel: float = 1) -> float:
    """RIC with weights: c and d as means over every order of the ties, pair by pair."""
    known = {d: g for d, g in pool.items() if g >= 0}
    shown = [d for d in run if d in known]
    levels = sorted({run[d] for d in shown if known[d] >= rel})
    shown = [d for d in shown if levels and run[d] >= levels[0]]
    groups = [[d for d in shown if run[d] == score] for score in sorted({run[d] for d in shown}, reverse=True)]
    right = wrong = whole = Fraction(0)
    orders = [[d for group in order for d in group] for order in product(*(permutations(group) for group in groups))]
    for order in orders:
        place = {d: i for i, d in enumerate(order)}
        for one, other in permutations(known, 2):
            if known[one] > known[other]:
                here, there = place.get(one, math.inf), place.get(other, math.inf)
                first = min(here, there)
                worth = Fraction(known[one]) - Fraction(known[other]) if weight == "gain" else Fraction(0)
                if weight == "top" and first < math.inf:
                    worth = Fraction(p) ** int(first)
                whole += worth / len(orders)
                right += worth / len(orders) * (here < there)
                wrong += worth / len(orders) * (here > there)
    told = sum(float(n / whole) * log2(2 * n / (right + wrong)) for n in (right, wrong) if n and whole)
    return float(told)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weight", ["gain", "top"])
@pytest.mark.parametrize("grades", [[0, 1], [-1, 0, 1, 2, 4], [0, 0.5, 1, 2.5]], ids=str)
def test_weighted_ric_by_counting(grades: list[float], weight: str, ties: bool) -> None:
    draw = random.Random(f"{grades} {weight} {ties}")
    pools: dict[str, Pool] = {}
    run: dict[str, Ranked] = {}
    for q in range(25):
        names = [f"d{i}" for i in range(7)]
        pools[f"q{q}"] = {d: draw.choice(grades) for d in names} | {"d0": 1, "d1": 0}
        shown = draw.sample(names, draw.randint(1, 7))
        run[f"q{q}"] = {d: float(draw.randint(0, 2) if ties else i) for i, d in enumerate(shown)} | {"unjudged": 1.0}
    name = f"RIC(weight={weight}, p=0.7)"
    found = cal.evaluate(pools, run, [name], empty="skip").values[0, 0]
    for q in range(25):
        wanted = weighted_by_hand(pools[f"q{q}"], run[f"q{q}"], weight, 0.7)
        assert found[q] == pytest.approx(wanted, abs=1e-10), q


def test_weighted_ric_is_ric_where_weights_do_not_matter() -> None:
    pool, runs = drawn_case(3, 4, [0, 1], ties=True)
    names = ["RIC", "RIC(weight=gain)", "RIC(signed=True)", "RIC(weight=gain,signed=True)"]
    plain, gain, signed, both = cal.evaluate({"q": pool}, named(runs), names, unmatched="warn").values[:, :, 0]
    assert gain == pytest.approx(plain, abs=NEAR)
    assert both == pytest.approx(signed, abs=NEAR)
    for bad, words in (("weight=best", "weight=best of 'RIC'"), ("weight=top,p=1", "p=1 of 'RIC'")):
        with pytest.raises(CalipersError, match=words):
            cal.parse(f"RIC({bad})")


@pytest.mark.parametrize("weight", ["gain", "top"])
@pytest.mark.parametrize("grades", [(1, 0, 0, 0), (2, 1, 1, 0, 0), (3, 2, 0, 0)], ids=str)
def test_bounds_of_weighted_ric_hold_for_all_rankings(weight: str, grades: tuple[float, ...]) -> None:
    pool = {f"d{i}": grade for i, grade in enumerate(grades)}
    orders = {str(i): {"q": in_order(list(order))} for i, order in enumerate(permutations(pool))}
    for name in (f"RIC(weight={weight})", f"RIC(weight={weight},signed=True)"):
        scores = cal.evaluate({"q": pool}, orders, [name]).values[0, :, 0]
        bounds = cal.bounds({"q": pool}, [name])
        assert bounds.ideal[name][0] == pytest.approx(scores.max(), abs=NEAR)
        assert bounds.worst[name][0] <= scores.min() + NEAR
        assert abs(bounds.expected[name][0] - scores.mean()) <= 4 * bounds.error[name][0] + NEAR


def test_a_tied_pair_is_half_each_way() -> None:
    pool = {"r": 1, "s": 1, "a": 0, "b": 0}
    # Of the four pairs r b and s b are right, s a is wrong, and r a is half of each.
    assert ric_of(pool, {"r": 2, "a": 2, "s": 1}) == pytest.approx(
        2.5 / 4 * log2(2 * 2.5 / 4) + 1.5 / 4 * log2(2 * 1.5 / 4), abs=NEAR
    )
    assert ric_of(pool, dict.fromkeys(pool, 1.0)) == 0


@pytest.mark.parametrize("measure", ["RIC", "RIC(signed=True)"])
@pytest.mark.parametrize(
    "grades",
    [(1, 0), (1, 1, 0), (1, 0, 0, 0), (1, 1, 0, 0, 0), (2, 1, 0), (3, 2, 1, 0, 0), (2, 2, 1, 0, -1)],
    ids=str,
)
def test_bounds_of_ric_are_those_of_all_rankings(measure: str, grades: tuple[float, ...]) -> None:
    pool = {f"d{i}": grade for i, grade in enumerate(grades)}
    orders = {str(i): {"q": in_order(list(order))} for i, order in enumerate(permutations(pool))}
    scores = cal.evaluate({"q": pool}, orders, [measure]).values[0, :, 0]
    bounds = cal.bounds({"q": pool}, [measure])
    assert bounds.ideal[measure][0] == pytest.approx(scores.max(), abs=NEAR)
    assert bounds.worst[measure][0] == pytest.approx(scores.min(), abs=NEAR)
    assert bounds.expected[measure][0] == pytest.approx(scores.mean(), abs=NEAR)
    assert bounds.exactness[measure]["expected"] == "enumerated"


@pytest.mark.parametrize("shown", ["rs", "rab", "rsa", "rsab", "rsabc"])
def test_bounds_of_a_ranking_of_what_was_retrieved(shown: str) -> None:
    """Documents that stay missing make the reverse order the best one at times."""
    pool = {"r": 1, "s": 1, "t": 1, "a": 0, "b": 0, "c": 0}
    orders = {str(i): {"q": in_order(list(order))} for i, order in enumerate(permutations(shown))}
    scores = cal.evaluate({"q": pool}, orders, ["RIC", "RIC(signed=True)"]).values[:, :, 0]
    found = cal.bounds({"q": pool}, ["RIC", "RIC(signed=True)"], population="retrieved", runs={"q": in_order(shown)})
    for name, values in zip(("RIC", "RIC(signed=True)"), scores, strict=True):
        assert found.ideal[name][0] == pytest.approx(values.max(), abs=NEAR)
        if name != "RIC":
            assert found.worst[name][0] == pytest.approx(values.min(), abs=NEAR)
        else:
            assert found.worst[name][0] <= values.min() + NEAR


def test_sampled_bounds_do_not_depend_on_other_queries() -> None:
    pools = {"q1": BINARY, "q2": {"x": 2, "y": 1, "z": 0, "w": 0}}
    together = cal.bounds(pools, ["RIC"]).expected["RIC"]
    turned = {"q2": dict(reversed(pools["q2"].items())), "q1": BINARY}
    assert cal.bounds(turned, ["RIC"]).expected["RIC"].tolist() == together[::-1].tolist()


def test_ric_can_be_normalised() -> None:
    values = cal.evaluate({"q": BINARY}, {"q": in_order(["r1", "r2"])}, ["V2(RIC)", "U(RIC)"]).values.ravel()
    assert values.tolist() == [1, 1]


def test_undefined_ric() -> None:
    pools = {"q1": {"a": 1, "b": 1}, "q2": {"a": 0, "b": 0}, "q3": {"a": 1, "b": 0}}
    run = {q: {"a": 2.0, "b": 1.0} for q in pools}
    found = cal.evaluate(pools, run, ["RIC"], empty="skip", unmatched="warn").values.ravel()
    assert found.tolist() == pytest.approx([math.nan, math.nan, 1], nan_ok=True)
    assert ric_of(BINARY, {"a": 1.0}) == 0
    assert ric_of(BINARY, {"unknown": 1.0}) == 0
    with pytest.raises(CalipersError, match="signed=2"):
        cal.parse("RIC(signed=2)")


def test_the_card_names_the_weaknesses() -> None:
    card = str(cal.measure_card("RIC"))
    assert "Known weaknesses" in card
    assert "RIC(signed=True)" in card
    assert "half in the right and half in the wrong order" in card
    assert "Golbus & Aslam" in card


# --- joint RIC --------------------------------------------------------------------------------------------


def named(runs: list[Ranked]) -> dict[str, dict[str, Ranked]]:
    return {f"s{i}": {"q": ranked} for i, ranked in enumerate(runs)}


def test_vectors_of_joint_ric() -> None:
    runs = {"A": {"q": in_order(["r1", "a", "r2"])}, "B": {"q": in_order(["r2", "b", "r1"])}}
    found = joint_ric({"q": BINARY}, runs)
    assert found.mean == pytest.approx(2 / 3, abs=NEAR)
    assert information_difference({"q": BINARY}, runs).matrix[0, 1] == pytest.approx(0.633378, abs=1e-6)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("grades", [[0, 1], [0, 0, 1, 2], [-1, 0, 0.5, 1, 2]], ids=str)
@pytest.mark.parametrize("systems", [1, 2, 3, 6])
def test_joint_ric_by_counting(systems: int, grades: list[float], ties: bool) -> None:
    for seed in range(25):
        pool, runs = drawn_case(seed, systems, grades, ties)
        runs = [run or {"d0": 1.0} for run in runs]
        found = joint_ric({"q": pool}, named(runs), draws=1)
        assert found.mean == pytest.approx(direct(pool, runs), abs=NEAR)
        assert found.alone[:, 0] == pytest.approx([direct(pool, [run]) for run in runs], abs=NEAR)
        assert found.alone.max() - NEAR <= found.mean <= 1 + NEAR


@pytest.mark.parametrize("systems", [13, 21, 40])
def test_many_systems_by_counting(systems: int) -> None:
    for ties in (False, True):
        pool, runs = drawn_case(systems, systems, [0, 1, 2], ties)
        runs = [run or {"d0": 1.0} for run in runs]
        assert joint_ric({"q": pool}, named(runs), draws=1).mean == pytest.approx(direct(pool, runs), abs=NEAR)


def test_more_than_forty_systems_are_refused() -> None:
    with pytest.raises(CalipersError, match="41 systems are too many: use at most 40"):
        joint_ric({"q": BINARY}, named([in_order(["r1"])] * 41))


def test_joint_ric_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [drawn_case(seed, systems, [0, 1, 2], ties=True) for seed, systems in ((3, 3), (4, 14))]
    whole = [(joint_ric({"q": p}, named(r)).null, direct(p, [x or {"d0": 1.0} for x in r])) for p, r in cases]
    monkeypatch.setattr(rankings, "PAIRS_AT_ONCE", 10)
    monkeypatch.setattr(sign_patterns, "COUNTED_DIRECTLY", 2)
    monkeypatch.setattr(sign_patterns, "MOST_NATIVE", 2)
    for (pool, runs), (null, wanted) in zip(cases, whole, strict=True):
        found = joint_ric({"q": pool}, named(runs))
        np.testing.assert_allclose(found.null, null, atol=NEAR)
        assert found.mean == pytest.approx(wanted, abs=NEAR)


def random_lists(relevant: int, others: int, systems: int, share: float, seed: int) -> QueryRankings:
    """Systems that know nothing, each with a random part of the judged documents in random order."""
    draw = np.random.default_rng(seed)
    n = relevant + others
    rank = np.full((systems, n), MISSING, np.int32)
    for line in rank:
        line[draw.permutation(n)[: int(share * n)]] = np.arange(int(share * n))
    grade = np.repeat([1.0, 0.0], [relevant, others])
    return QueryRankings("q", 0, rank, grade >= 1, pairs_of_grades(grade))


@pytest.mark.parametrize(("systems", "bias"), [(5, 0.31), (10, 0.95)])
def test_systems_that_know_nothing_seem_to_know_much(systems: int, bias: float) -> None:
    """20 relevant of 220 judged documents, half of them retrieved."""
    cases = [random_lists(20, 200, systems, 0.5, seed) for seed in range(20)]
    mean = np.mean([known_together(case, case.until_last_relevant()) for case in cases])
    assert mean == pytest.approx(bias, abs=0.05)


def test_the_null_value_is_that_of_systems_that_know_nothing() -> None:
    case = random_lists(20, 200, 5, 0.5, 1)
    judgments = cal.Judgments.from_arrays(case.relevant.astype(float), group=[220])
    names = tuple(f"s{i}" for i in range(5))
    found = rankings.Rankings(judgments, names, case.rank)
    chance = joint_of(found)
    assert abs(chance.mean - chance.null_mean) < 4 * chance.null_sd
    assert chance.mostly_bias
    assert joint_of(found).null.tolist() == chance.null.tolist()  # seeded
    assert joint_of(found, seed=1).null.tolist() != chance.null.tolist()


def several(cases: list[QueryRankings]) -> Any:
    """The joint value of the same systems on several queries of one shape."""
    size = len(cases[0].relevant)
    grades = np.concatenate([case.relevant.astype(float) for case in cases])
    judgments = cal.Judgments.from_arrays(grades, group=[size] * len(cases))
    ranks = np.hstack([case.rank for case in cases])
    return joint_of(Rankings(judgments, tuple(f"s{i}" for i in range(len(ranks))), ranks), draws=2)


@pytest.mark.parametrize("systems", [5, 10])
def test_the_corrected_value_is_right_at_both_ends(systems: int) -> None:
    """Systems that know nothing have 0, copies of one system its RIC, less the chance in that."""
    nothing = several([random_lists(20, 200, systems, 0.5, seed) for seed in range(40)])
    assert nothing.mean > 0.25
    assert abs(nothing.corrected_mean) < 4 * nothing.corrected_error
    draw = np.random.default_rng(systems)
    copies = []
    for _ in range(20):
        grade = np.repeat([1.0, 0.0], [20, 200])
        rank = np.argsort(np.argsort(-grade - draw.normal(0, 1, 220))).astype(np.int32)
        copies.append(QueryRankings("q", 0, np.tile(rank, (systems, 1)), grade >= 1, pairs_of_grades(grade)))
    found = several(copies)
    one = found.alone.mean()
    assert found.mean == pytest.approx(one, abs=NEAR)
    assert found.mean - found.null_mean < one - 0.05, "less the null value it is far too small"
    assert one - 0.03 < found.corrected_mean <= one
    assert estimate(copies[0], miller_madow) == pytest.approx(found.joint[0], abs=1e-3)
    random_case = random_lists(20, 200, systems, 0.5, 1)
    assert estimate(random_case, plug_in) >= estimate(random_case, miller_madow) > 0.2
    assert estimate(random_case, shrinkage) < estimate(random_case, plug_in)


def test_ric_of_preferences() -> None:
    for seed in range(10):
        pool, runs = drawn_case(seed, 3, [0, 1, 2], ties=seed % 2 == 1)
        pairs = [("q", a, b) for a, b in permutations(pool, 2) if pool[a] > pool[b]]
        kept = random.Random(seed).sample(pairs, max(1, len(pairs) // 2))
        runs = [run or {"d0": 1.0} for run in runs]
        found = preference_ric(cal.Preferences.from_pairs(kept), named(runs), draws=2)
        liked = {better for _, better, _ in kept}
        for s, run in enumerate(runs):
            judged = {d for _, *two in kept for d in two}
            last = min((run[d] for d in liked if d in run), default=math.inf)
            place = {d: -score for d, score in run.items() if d in judged and score >= last}
            sides = [(place.get(a, math.inf), place.get(b, math.inf)) for _, a, b in kept]
            right = sum((x < y) + (x == y < math.inf) / 2 for x, y in sides)
            wrong = sum((x > y) + (x == y < math.inf) / 2 for x, y in sides)
            wanted = sum(n / len(kept) * log2(2 * n / (right + wrong)) for n in (right, wrong) if n)
            assert abs(found.bits[s, 0]) == pytest.approx(wanted, abs=NEAR)
        assert found.null.shape == (2, 3, 1)


# --- information difference -------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("grades", [[0, 1], [-1, 0, 0.5, 1, 2]], ids=str)
def test_information_difference_by_counting(grades: list[float], ties: bool) -> None:
    """Two queries; I(S; Q | T) + I(T; Q | S) by their definitions."""
    for seed in range(0, 40, 2):
        cases = [drawn_case(seed + i, 4, grades, ties) for i in (0, 1)]
        pools = {f"q{i}": pool for i, (pool, _) in enumerate(cases)}
        runs = {f"s{s}": {f"q{i}": lists[s] or {"d0": 1.0} for i, (_, lists) in enumerate(cases)} for s in range(4)}
        found = information_difference(pools, runs)
        for a, b in product(range(4), repeat=2):
            wanted = []
            for i, (pool, _) in enumerate(cases):
                said = signs(pool, [runs[f"s{a}"][f"q{i}"], runs[f"s{b}"][f"q{i}"]], 1)
                h = {
                    part: entropy(sum((Counter({key(s, q): n}) for (s, q), n in said.items()), Counter()))
                    for part, key in KEYS.items()
                }
                wanted.append(
                    (h["sb"] - h["b"] + h["qb"] - h["sqb"] - h[""]) + (h["sb"] - h["s"] + h["sq"] - h["sqb"] - h[""])
                )
            assert found.matrix[a, b] == pytest.approx(np.mean(wanted), abs=1e-9)
        assert (found.matrix.diagonal() == 0).all()
        assert (found.matrix >= 0).all()
        assert found.matrix.max() <= 2


KEYS: dict[str, Any] = {
    "": lambda s, q: 0,
    "s": lambda s, q: s[0],
    "b": lambda s, q: s[1],
    "sb": lambda s, q: s,
    "sq": lambda s, q: (s[0], q),
    "qb": lambda s, q: (s[1], q),
    "sqb": lambda s, q: (s, q),
}


def test_each_run_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()
    whole = DictRun.retrieved

    def retrieved(self: DictRun, *arguments: Any, **named: Any) -> Any:
        read[self.name] += 1
        return whole(self, *arguments, **named)

    monkeypatch.setattr(DictRun, "retrieved", retrieved)
    runs = [DictRun({"q": in_order(list(order))}, order) for order in ("abc", "cab")]
    information_difference({"q": {"a": 1, "b": 0, "c": 0}}, runs)
    assert read == {"abc": 1, "cab": 1}


def test_the_largest_difference() -> None:
    """Two relevant and two other documents: 1.8774 bits, between a r and a s."""
    pool = {"r": 1, "s": 1, "a": 0, "b": 0}
    lists = [list(order) for n in range(1, 5) for order in permutations(pool, n)]
    found = information_difference({"q": pool}, {str(i): {"q": in_order(x)} for i, x in enumerate(lists)})
    assert found.matrix.max() == pytest.approx(1.8774, abs=1e-4)
    assert found.matrix[lists.index(["a", "r"]), lists.index(["a", "s"])] == found.matrix.max()
    assert found.matrix[lists.index(list("rsab")), lists.index(list("abrs"))] == 0  # not a metric


def test_differences_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, runs = drawn_case(5, 5, [0, 1, 2], ties=True)
    whole = information_difference({"q": pool}, named(runs)).matrix
    monkeypatch.setattr(rankings, "PAIRS_AT_ONCE", 10)
    np.testing.assert_allclose(information_difference({"q": pool}, named(runs)).matrix, whole, atol=NEAR)


@pytest.mark.parametrize("grades", [[0, 1], [0, 1, 2, 3]], ids=str)
def test_preferences_that_grades_imply(grades: list[float]) -> None:
    """All pairs that grades order, given one by one, in a mixed order: the same bits."""
    for seed in range(8):
        pool, runs = drawn_case(seed, 4, grades, ties=seed % 2 == 1)
        pairs = [("q", a, b) for a, b in permutations(pool, 2) if pool[a] > pool[b]]
        random.Random(seed).shuffle(pairs)
        preferred = cal.Preferences.from_pairs(pairs)
        named_runs = named([run or {"d0": 1.0} for run in runs])
        graded = {"q": {d: g for d, g in pool.items() if d in {d for _, *two in pairs for d in two}}}
        lowest = min(g for g in graded["q"].values() if g > min(graded["q"].values()))
        for find in (joint_ric, information_difference):
            one, other = find(graded, named_runs, rel=lowest), find(preferred, named_runs)
            name = "joint" if find is joint_ric else "matrix"
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=NEAR)


def test_preferences_need_not_be_an_order() -> None:
    """a over b, b over c, c over a, and a over b once more: a list has three of four, or two, in order."""
    preferred = cal.Preferences.from_pairs([("q", *pair) for pair in ("ab", "bc", "ca", "ab")])
    found = joint_ric(preferred, named([in_order(list(order)) for order in ("abc", "cab", "bca")]))
    three = 3 / 4 * log2(2 * 3 / 4) + 1 / 4 * log2(2 / 4)
    assert found.alone[:, 0] == pytest.approx([three, three, 0], abs=NEAR)


@pytest.mark.parametrize("words", [1, 5, 300])
@pytest.mark.parametrize("share", [0.0, 0.002, 0.3])
def test_shared_bits(words: int, share: float) -> None:
    """Compiled and plain, dense and sparse rows, against counting bits one by one."""
    draw = np.random.default_rng(words)
    one, other = (np.packbits(draw.random((rows, 64 * words)) < share, axis=1).view(np.uint64) for rows in (3, 4))
    bits = [np.unpackbits(each.view(np.uint8), axis=1).astype(int) for each in (one, other)]
    for shared in (scanner.shared_bits, plain.shared_bits):
        assert shared(one, other).tolist() == (bits[0] @ bits[1].T).tolist()
        assert shared(one, one).tolist() == (bits[0] @ bits[0].T).tolist()
        with pytest.raises(ValueError, match="rows of one length"):
            shared(one, other[:, :-1])


@pytest.mark.parametrize("worses", [1, 63, 64, 200])
def test_bits_of_orders(worses: int) -> None:
    """Compiled and plain, against comparing pair by pair; which bit is whose is open, but alike in all lists."""
    draw = np.random.default_rng(worses)
    missing = int(np.iinfo(np.int16).max)
    better, worse = (draw.integers(0, 6, (3, size)).astype(np.int16) for size in (4, worses))
    for each in (better, worse):
        each[draw.random(each.shape) < 0.3] = missing
    better[1], worse[1] = better[0], worse[0]
    one, other = better[:, :, None], worse[:, None, :]
    above, tied = one < other, (one == other) & (one != missing)
    lacked = (one == missing) & (other == missing)
    only_plus = ((above + tied / 2)[:, None] * lacked).sum(axis=(2, 3))
    for module in (scanner, plain):
        found = module.order_bits(better, worse, missing)
        for bits, signs in zip(found, (above, tied), strict=True):
            flat = signs.reshape(3, -1).astype(int)
            assert plain.shared_bits(bits, bits).tolist() == (flat @ flat.T).tolist()
        assert not plain.shared_bits(*found)[0, 0]
        assert module.one_sided_pairs(better, worse, missing).tolist() == only_plus.tolist()
        for function in (module.order_bits, module.one_sided_pairs):
            with pytest.raises(ValueError, match="as many lists"):
                function(better, worse[:2], missing)
            with pytest.raises(ValueError, match="16 bits"):
                function(better, worse.astype(np.int32), missing)


@pytest.mark.parametrize("lists", [1, 4, 10])
def test_patterns_are_counted_alike(lists: int) -> None:
    draw = np.random.default_rng(lists)
    better, worse = (draw.integers(0, 5, (lists, size)).astype(np.int16) for size in (7, 600))
    worse[draw.random(worse.shape) < 0.3] = np.iinfo(np.int16).max
    better[draw.random(better.shape) < 0.3] = np.iinfo(np.int16).max
    wanted: Counter[int] = Counter()
    for a, b in product(better.T.astype(int), worse.T.astype(int)):
        wanted[sum(int(np.sign(y - x)) * 3**i for i, (x, y) in enumerate(zip(a, b, strict=True)))] += 1
    bits = sum(n * log2(2 * n / (n + wanted[-s])) for s, n in wanted.items())
    for module, kind in product((scanner, plain), (np.int32, np.int64)):
        found = np.zeros(3**lists, kind)
        module.count_patterns(better, worse, found)
        assert {int(at) - len(found) // 2: int(found[at]) for at in np.flatnonzero(found)} == wanted
        assert module.pattern_bits(found) == pytest.approx(bits, abs=1e-8)
        with pytest.raises(ValueError, match="at most ten lists"):
            module.count_patterns(better, worse, found[:-1])
        with pytest.raises(ValueError, match="its opposite"):
            module.pattern_bits(found[:-1])


def test_bits_of_groups_are_those_of_the_twin() -> None:
    draw = np.random.default_rng(11)
    missing = int(np.iinfo(np.int16).max)
    sides = [
        tuple(draw.integers(0, 9, (6, size)).astype(np.int16) for size in sizes) for sizes in ((3, 70), (1, 5), (4, 0))
    ]
    for numbers in (each for side in sides for each in side):
        numbers[draw.random(numbers.shape) < 0.4] = missing
    for members in (1, 2, 5):
        groups = np.array([draw.permutation(6)[:members] for _ in range(8)])
        found, expected = (module.bits_of_groups(sides, groups, missing) for module in (scanner, plain))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_bits_of_many_pairs() -> None:
    """Counts beyond those that are looked up."""
    counts = np.array([70_000, 3, 5, 4096, 4095], np.int32)
    for module in (scanner, plain):
        assert module.pattern_bits(counts) == pytest.approx(
            sign_patterns.told(counts.astype(float), counts[::-1]) * counts.sum(), rel=1e-12
        )


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("grades", [[0, 1], [-1, 0, 1, 2]], ids=str)
def test_groups_of_systems_know_what_their_members_do(grades: list[float], ties: bool) -> None:
    groups = np.array(list(permutations(range(5), 3)))
    for seed in range(6):
        pool, runs = drawn_case(seed, 5, grades, ties)
        read = Rankings.of({"q": pool}, named([run or {"d0": 1.0} for run in runs]))
        for query in read.queries():
            wanted = [
                known_together(part := replace(query, rank=query.rank[g]), part.until_last_relevant()) for g in groups
            ]
            np.testing.assert_allclose(known_by_groups(query, groups), wanted, atol=NEAR)


def simulated(systems: int = 8) -> tuple[dict[str, Pool], dict[str, dict[str, Ranked]]]:
    """Systems in pairs, the second of each with a little noise."""
    draw = np.random.default_rng(3)
    pools, runs = {}, {f"{'ab'[s % 2]}{s // 2}": {} for s in range(systems)}
    for q in range(6):
        names = [f"d{i}" for i in range(40)]
        grade = draw.integers(0, 3, 40)
        pools[f"q{q}"] = dict(zip(names, map(float, grade), strict=True))
        for pair in range(systems // 2):
            score = grade + draw.normal(0, 1 + pair, 40)
            for first in "ab":
                noisy = score + draw.normal(0, 0.05, 40)
                runs[f"{first}{pair}"][f"q{q}"] = dict(zip(names, noisy.tolist(), strict=True))
    return pools, runs


def test_pairs_bins_and_clusters() -> None:
    pools, runs = simulated()
    found = information_difference(pools, runs)
    table = found.table()
    assert table.columns == ("system_a", "system_b", "information_difference", "delta_ap")
    assert len(table.rows) == 28
    bits = table["information_difference"]
    assert bits == sorted(bits)
    groups = {name: name[1] for name in runs}
    assert same_group_share(table, groups, top=4) == 1
    assert 0 <= same_group_share(table, groups, top=4, by="delta_ap") <= 1
    ap = cal.evaluate(pools, runs, "AP").values[0].mean(axis=1)
    np.testing.assert_allclose(found.ap, ap, atol=NEAR)
    ric = cal.evaluate(pools, runs, "RIC").values[0].mean(axis=1)
    np.testing.assert_allclose(found.ric, ric, atol=NEAR)
    assert len(found.within_bins(4).rows) == 4
    assert len(found.within_bins(1).rows) == 28
    label = found.clusters(max(bits[:4]) + NEAR)
    assert all(label[f"a{pair}"] == label[f"b{pair}"] for pair in range(4))
    assert sorted(found.order()) == list(range(8))
    for bins in (0, 9):
        with pytest.raises(CalipersError, match="bins"):
            found.within_bins(bins)


def test_systems_of_no_judged_document() -> None:
    runs = {"A": {"q": in_order(["r1", "a", "r2"])}, "none": {"q": in_order(["u"])}}
    found = information_difference({"q": BINARY}, runs)
    assert found.matrix[0, 1] == pytest.approx(found.ric[0], abs=NEAR)
    assert Rankings.of({"q": BINARY}, runs).finds_nothing == ["none"]


def test_queries_that_tell_nothing_apart_are_skipped_and_counted() -> None:
    pools = {"q1": BINARY, "q2": {"x": 1, "y": 1}, "q3": {"x": 0}}
    runs = {name: {q: in_order(list(pools[q])) for q in pools} for name in ("A", "B")}
    assert information_difference(pools, runs).skipped == 2
    assert joint_ric(pools, runs).skipped == 2
    assert ric_study(pools, runs).skipped == 2
    for function in (information_difference, joint_ric, ric_study):
        with pytest.raises(CalipersError, match="documents of different grades"):
            function({"q2": pools["q2"]}, runs)
    with pytest.raises(CalipersError, match="at least two systems"):
        information_difference(pools, {"A": runs["A"]})


# --- validation -------------------------------------------------------------------------------------------


def test_ric_beside_other_measures() -> None:
    pools, runs = simulated()
    study = ric_study(pools, runs)
    scores = cal.evaluate(pools, runs, ["RIC", "RIC(signed=True)", "AP", "nDCG", "GAP"])
    np.testing.assert_allclose(study.scores.values, scores.values, atol=NEAR)
    assert study.table().columns == ("system", "RIC", "signed", "AP", "nDCG")
    wrong = {name: {q: {d: -s for d, s in lists.items()} for q, lists in run.items()} for name, run in runs.items()}
    assert ric_study(pools, wrong).wrong_way_round.mean() > 0.9


# --- charts and commands ----------------------------------------------------------------------------------


def test_charts(tmp_path: Path) -> None:
    pools, runs = simulated()
    found = information_difference(pools, runs)
    study = ric_study(pools, runs)
    found_tau = tau(study.scores, x="AP", y="nDCG", given=["RIC"])
    charts = [plot.heat_map(found), plot.dendrogram(found), plot.difference_scatter(found), plot.tau_scatter(found_tau)]
    for chart in (*charts, plot.stacked(*charts)):
        valid_spec(chart)
    links = plot.dendrogram(found).to_dict()["data"]["values"]
    assert max(link["bits"] for link in links) == pytest.approx(found.linkage()[-1, 2])
    with pytest.raises(CalipersError, match="needs a condition"):
        plot.tau_scatter(tau(study.scores, x="AP", y="nDCG"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pools, runs = simulated()
    qrels = [f"{q} 0 {d} {grade:g}\n" for q, pool in pools.items() for d, grade in pool.items()]
    (tmp_path / "qrels.txt").write_text("".join([*qrels, "same 0 x 1\n", "same 0 y 1\n"]))
    for name, run in runs.items():
        lines = [f"{q} Q0 {d} 1 {score!r} {name}\n" for q, ranked in run.items() for d, score in ranked.items()]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "nothing.run").write_text("q0 Q0 unknown 1 1.0 nothing\n")
    (tmp_path / "groups.csv").write_text("run,team\n" + "".join(f"{name},{name[1]}\n" for name in runs))
    return tmp_path


def inform(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["information", *map(str, arguments)])


def rows(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.output + str(result.exception)
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_inform_ric(folder: Path) -> None:
    done = inform("ric", folder / "qrels.txt", folder / "a*.run", "--format", "csv")
    assert list(rows(done)[0]) == ["system", "RIC", "signed", "AP", "nDCG"]
    assert "1 of 7 queries" in done.stderr
    study = ric_study(folder / "qrels.txt", sorted(folder.glob("a*.run")))
    assert [float(row["RIC"]) for row in rows(done)] == study.mean("RIC").tolist()
    assert len(rows(inform("ric", folder / "qrels.txt", folder / "a*.run", "-q", "--format", "csv"))) == 4 * 6
    done = inform("ric", folder / "qrels.txt", folder / "a0.run", folder / "nothing.run")
    assert "1 of 2 runs retrieves no judged document" in done.stderr


def test_inform_joint(folder: Path) -> None:
    done = inform("joint", folder / "qrels.txt", folder / "a*.run", "--format", "csv")
    (row,) = rows(done)
    assert list(row) == ["systems", "joint", "null_mean", "null_sd", "corrected", "corrected_error"]
    found = joint_ric(folder / "qrels.txt", sorted(folder.glob("a*.run")))
    assert row == {
        "systems": "4",
        "joint": repr(found.mean),
        "null_mean": repr(found.null_mean),
        "null_sd": repr(found.null_sd),
        "corrected": repr(found.corrected_mean),
        "corrected_error": repr(found.corrected_error),
    }
    assert "seed 42" in done.stderr
    assert len(rows(inform("joint", folder / "qrels.txt", folder / "a*.run", "-q", "--format", "csv"))) == 6
    assert "mostly bias" not in done.stderr
    for i in range(41):
        (folder / f"copy{i}.run").write_text(f"q0 Q0 d1 1 1.0 copy{i}\n")
    assert "at most 40" in str(inform("joint", folder / "qrels.txt", folder / "copy*.run").exception)
    assert "none of the runs" in str(inform("joint", folder / "qrels.txt", folder / "nothing.run").exception)


def test_inform_joint_warns_of_bias(tmp_path: Path) -> None:
    draw = random.Random(1)
    (tmp_path / "qrels.txt").write_text("".join(f"q 0 d{i} {int(i < 5)}\n" for i in range(20)))
    for s in range(8):
        lines = [f"q Q0 d{i} 1 {draw.random()} s{s}\n" for i in range(20)]
        (tmp_path / f"s{s}.run").write_text("".join(lines))
    done = inform("joint", tmp_path / "qrels.txt", tmp_path / "*.run")
    assert done.exit_code == 0
    assert "mostly bias" in done.stderr
    assert inform("joint", tmp_path / "qrels.txt", tmp_path / "*.run", "--strict").exit_code != 0


def test_inform_difference(folder: Path) -> None:
    pytest.importorskip("vl_convert")
    done = inform("difference", folder / "qrels.txt", folder / "[ab]*.run", "--format", "csv")
    assert list(rows(done)[0]) == ["system_a", "system_b", "information_difference", "delta_ap"]
    assert len(rows(done)) == 28
    bits = [float(row["information_difference"]) for row in rows(done)]
    assert bits == sorted(bits)
    arguments = ["difference", folder / "qrels.txt", folder / "[ab]*.run", "--groups", folder / "groups.csv"]
    done = inform(*arguments, "--limit", 2, "--format", "csv")
    assert len(rows(done)) == 2
    assert "same group: 100.0% of the 2 most similar pairs" in done.stderr
    done = inform(
        "difference", folder / "qrels.txt", folder / "a*.run", folder / "nothing.run", "--plot", folder / "d.html"
    )
    assert done.exit_code == 0, done.output
    assert "1 of 5 runs retrieves no judged document" in done.stderr
    assert (folder / "d.html").exists()
    assert "at least two systems" in str(inform("difference", folder / "qrels.txt", folder / "a0.run").exception)
    bad = inform("difference", folder / "qrels.txt", folder / "a*.run", "--groups", folder / "missing.csv")
    assert "cannot be read" in str(bad.exception)


def test_inform_tau(folder: Path) -> None:
    pytest.importorskip("vl_convert")
    scores = cal.evaluate(folder / "qrels.txt", sorted(folder.glob("[ab]*.run")), ["AP", "nDCG", "ERR"], empty="skip")
    (folder / "scores.csv").write_text(scores.per_query().to_csv())
    arguments = ["tau", folder / "scores.csv", "--x", "ERR", "--y", "nDCG", "--given", "AP"]
    done = inform(*arguments, "--format", "csv", "--plot", folder / "tau.svg")
    found = tau(scores, x="ERR", y="nDCG", given=["AP"])
    assert [row["given"] for row in rows(done)] == ["", "AP"]
    assert [float(row["tau_I"]) for row in rows(done)] == pytest.approx(found.values.mean(axis=1).tolist())
    assert (folder / "tau.svg").exists()
    assert "1 of 7 queries" in inform(*arguments, "--ties", "drop").stderr  # there all systems tie
    assert len(rows(inform(*arguments, "-q", "--format", "csv"))) == 7 * 2
    assert "unknown measure" in str(inform("tau", folder / "scores.csv", "--x", "ERR", "--y", "Err@20").exception)


# --- real runs --------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.slow
def test_trec_covid_round_1(data: Path) -> None:
    """Golbus & Aslam's (2013) validation on 143 runs."""
    from calipers.collection.runs import RememberedRun
    from calipers.questions.information.information_difference import difference_of

    folder = data / "trec/covid-round1"
    judgments = cal.read_qrels(folder / "qrels-rnd1.txt")
    runs = [RememberedRun(run) for run in cal.read_runs(folder / "runs/*")]
    study = ric_study(judgments, runs)
    assert (len(study.systems), len(study.scores.queries), study.skipped) == (143, 30, 0)
    # The run with the second smallest AP has half of its lists the wrong way round: third by RIC, last by signed.
    place = study.systems.index("lda400s5000")
    assert study.wrong_way_round[place].sum() == study.wrong_way_round.sum(axis=1).max()
    assert study.mean("signed").argmin() == place
    assert study.mean("RIC").argmin() != place
    found = difference_of(Rankings.of(judgments, runs), study.scores["AP"])
    with open(folder / "leaderboard.csv", encoding="utf-8", newline="") as file:
        teams = {row["run"]: row["team"] for row in csv.DictReader(file)}
    for table in (found.table(), found.within_bins(20)):
        by_bits, by_ap = (same_group_share(table, teams, 27, by) for by in table.columns[2:])
        assert by_bits > by_ap
    chance = np.mean([teams[a] == teams[b] for a, b, *_ in found.table().rows])
    assert same_group_share(found.table(), teams, 27) > 5 * chance


# -- the cut, apart from relevance -------------------------------------------------------------------------------------


def _graded() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    draw = np.random.default_rng(11)
    names = [f"d{i}" for i in range(30)]
    judgments = {f"q{q}": {d: int(draw.integers(0, 3)) for d in names} for q in range(5)}
    runs = {
        f"s{s}": {q: {d: float(draw.random()) for d in draw.permutation(names)[:18]} for q in judgments}
        for s in range(6)
    }
    return judgments, runs


def test_lists_that_are_not_cut() -> None:
    """Without the cut all that a list shows counts, whatever is relevant; AP stays that of the relevant grade."""
    judgments, runs = _graded()
    for rel in (1, 2):
        plain = information_difference(judgments, runs, rel=rel)
        whole = information_difference(judgments, runs, rel=rel, cut="none")
        everything = information_difference(judgments, runs, rel=0)
        assert whole.matrix == pytest.approx(everything.matrix, abs=1e-12)
        assert whole.ap == pytest.approx(plain.ap, abs=1e-12)
        assert np.abs(whole.matrix - plain.matrix).max() > 0.001
        joint = [joint_ric(judgments, runs, rel=rel, cut=cut, draws=2) for cut in ("relevant", "none")]
        assert joint[1].mean == pytest.approx(joint_ric(judgments, runs, rel=0, draws=2).mean, abs=1e-12)
        assert joint[0].mean != joint[1].mean
        study = ric_study(judgments, runs, rel=rel, cut="none")
        names = [f"RIC(rel={rel},cut=none)", f"AP(rel={rel})"]
        wanted = cal.evaluate(judgments, runs, [*names, "RIC(rel=0)"], empty="skip", warn=False)
        assert study.scores["RIC"] == pytest.approx(wanted[names[0]], abs=1e-12)
        assert study.scores["RIC"] == pytest.approx(wanted["RIC(rel=0)"], abs=1e-12)
        assert study.scores["AP"] == pytest.approx(wanted[names[1]], abs=1e-12)
        assert whole.ric == pytest.approx(study.scores["RIC"].mean(axis=1), abs=1e-12), "two ways to one number"


@pytest.mark.parametrize("weight", ["gain", "top"])
def test_weighted_pairs_of_lists_that_are_not_cut(weight: str) -> None:
    judgments, runs = _graded()
    one, other = f"RIC(rel=2,cut=none,weight={weight})", f"RIC(rel=0,weight={weight})"
    found = cal.evaluate(judgments, runs, [one, other], empty="skip", warn=False)
    assert found[one] == pytest.approx(found[other], abs=1e-12)


def test_an_unknown_cut_is_refused() -> None:
    judgments, runs = _graded()
    for ask in (information_difference, joint_ric, ric_study):
        with pytest.raises(CalipersError, match="unknown cut 'last'"):
            ask(judgments, runs, cut="last")
    with pytest.raises(CalipersError, match="cut=last of 'RIC' is not one of relevant, none"):
        cal.evaluate(judgments, runs, "RIC(cut=last)")


def test_bins_of_equal_size() -> None:
    judgments, runs = _graded()
    found = replace(information_difference(judgments, runs), ap=np.array([0.0, 0.09, 0.11, 0.31, 0.39, 0.4]))
    by_size = {tuple(sorted(map(str, row[:2]))) for row in found.within_bins(3).rows}
    assert by_size == {("s0", "s1"), ("s2", "s3"), ("s4", "s5")}


def test_the_cut_as_an_option(tmp_path: Path) -> None:
    judgments, runs = _graded()
    cal.write_qrels(judgments, tmp_path / "qrels.txt")
    paths = []
    for name, run in runs.items():
        paths.append(str(tmp_path / f"{name}.run"))
        cal.write_run(run, paths[-1], name)
    ask = ["information", "difference", str(tmp_path / "qrels.txt"), *paths, "--format", "json"]
    whole = CliRunner().invoke(root, [*ask, "--cut", "none"])
    assert whole.exit_code == 0, whole.stderr
    wanted = information_difference(judgments, runs, cut="none").table()
    assert [row["information_difference"] for row in json.loads(whole.stdout)["tables"]["pairs"]] == pytest.approx(
        [row[2] for row in wanted.rows], abs=1e-9
    )
