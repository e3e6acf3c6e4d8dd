"""pytrec_eval's face, against pytrec_eval itself."""

from __future__ import annotations

import os
import random
from math import isnan, log
from typing import Any

import numpy as np
import pytest

from calipers.tools import pytrec_eval as drop_in
from calipers.tools.pytrec_eval import RelevanceEvaluator

Pools = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

# A case is a query: its judgments and a list. More of them: CALIPERS_CASES=100000.
CASES = int(os.environ.get("CALIPERS_CASES", "5000"))
AT_ONCE = 50
NUMBERS = sorted(drop_in.supported_measures - {"runid", "relstring"})
WITH_PARAMETERS = [
    "P.1,2,3", "P_7", "ndcg_cut.1,2,7", "ndcg_cut_3", "map_cut.2", "recall.1,4", "success.1,2", "relative_P.2,3",
    "iprec_at_recall.0.15,0.5,0.33", "Rprec_mult.0.1,0.5,1.7", "set_F.0.5", "set_F.2", "11pt_avg.0.25,0.5",
    "infAP", "bpref", "Rndcg", "G", "binG", "ndcg_rel", "official",
]  # fmt: skip
GRADES = [[0, 1], [0, 1, 2, 3], [-2, -1, 0, 1, 2], [0], [1], [0, 0, 0, 0, 0, 1], [0, 1, 5, 12]]


def judged(draw: random.Random, documents: list[str]) -> dict[str, int]:
    """Judgments of some of the documents; with grades below 0 only, pytrec_eval does not come back."""
    grades = draw.choice(GRADES)
    found = {document: draw.choice(grades) for document in draw.sample(documents, draw.randint(0, len(documents)))}
    return found if not found or max(found.values()) >= 0 else {**found, next(iter(found)): 0}


def retrieved(draw: random.Random, documents: list[str]) -> dict[str, float]:
    """Scores with many ties, a few, or some that only float64 tells apart."""
    levels = draw.choice([1, 2, 5, 1000])
    return {
        document: 1 + draw.random() * 1e-8 if levels == 5 else draw.randint(-levels, levels) / draw.choice([3, 4])
        for document in draw.sample(documents, draw.randint(1, len(documents)))
    }


def cases(draw: random.Random) -> tuple[Pools, Run]:
    pools: Pools = {}
    run: Run = {}
    for number in range(AT_ONCE):
        names = [f"{draw.choice('abAé')}{draw.randint(0, 40)}" for _ in range(draw.randint(1, 30))]
        documents = list(dict.fromkeys(names))
        if draw.random() < 0.95:
            pools[f"q{number}"] = judged(draw, documents)
        if draw.random() < 0.95:
            run[f"q{number}"] = retrieved(draw, documents)
    return pools, run


@pytest.mark.peers
@pytest.mark.parametrize("part", range(10))
def test_random_cases(part: int, require: Any) -> None:
    """The same queries in the same order, the same names in the same order, the same values."""
    pytrec_eval = require.module("pytrec_eval")
    draw = random.Random(part)
    for _ in range(CASES // AT_ONCE // 10):
        pools, run = cases(draw)
        measures = set(NUMBERS if draw.random() < 0.6 else draw.sample(WITH_PARAMETERS, 5))
        options = (draw.choice([1, 1, 2]), draw.random() < 0.2)
        theirs = pytrec_eval.RelevanceEvaluator(pools, measures, *options).evaluate(run)
        ours = RelevanceEvaluator(pools, measures, *options).evaluate(run)
        assert list(ours) == list(theirs)
        for query, expected in theirs.items():
            assert list(ours[query]) == list(expected)
            for name, value in expected.items():
                # 0 / 0 where -J leaves nothing of a list
                wanted = 0.0 if isnan(value) else value
                assert abs(ours[query][name] - wanted) <= 1e-9, (name, options, pools[query], run[query])


@pytest.mark.peers
def test_the_module_has_the_same_face(require: Any) -> None:
    pytrec_eval = require.module("pytrec_eval")
    assert set(pytrec_eval.__all__) <= set(drop_in.__all__)
    assert drop_in.supported_measures == set(pytrec_eval.supported_measures)
    for name, measures in drop_in.supported_nicknames.items():
        assert measures == set(pytrec_eval.supported_nicknames[name])


@pytest.mark.peers
@pytest.mark.parametrize("name", [*NUMBERS, *WITH_PARAMETERS, "runid", "relstring", "relstring.3", "map.5", "map_5"])
def test_names_of_results(name: str, require: Any) -> None:
    pytrec_eval = require.module("pytrec_eval")
    pools, run = {"q": {"a": 1, "b": 0, "c": 2}}, {"q": {"b": 3.0, "a": 2.0, "x": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator(pools, {name}).evaluate(run)
    ours = RelevanceEvaluator(pools, {name}).evaluate(run)
    assert list(ours["q"]) == list(theirs["q"])
    assert ours["q"] == pytest.approx(theirs["q"], abs=1e-12)
    assert all(type(value) is float for value in ours["q"].values())


def test_one_evaluator_for_many_runs() -> None:
    evaluator = RelevanceEvaluator({"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}, {"map", "P_1"})
    assert evaluator.evaluate({"q1": {"a": 2.0, "b": 1.0}}) == {"q1": {"map": 1.0, "P_1": 1.0}}
    assert evaluator.evaluate({"q2": {"x": 2.0, "c": 1.0}, "q1": {"b": 1.0}}) == {
        "q2": {"map": 0.5, "P_1": 0.0},
        "q1": {"map": 0.0, "P_1": 0.0},
    }
    assert evaluator.evaluate({"q1": {"a": 2.0, "b": 1.0}}) == {"q1": {"map": 1.0, "P_1": 1.0}}


def test_queries_of_one_side_only_are_left_out() -> None:
    evaluator = RelevanceEvaluator({"q1": {"a": 1}, "q2": {"a": 1}, "q3": {}}, {"map"})
    assert evaluator.evaluate({"q2": {"a": 1.0}, "q3": {"a": 1.0}, "q4": {"a": 1.0}}) == {"q2": {"map": 1.0}}
    assert evaluator.evaluate({}) == {}
    assert evaluator.evaluate({"q1": {}}) == {"q1": {"map": 0.0}}
    assert RelevanceEvaluator({}, {"map"}).evaluate({"q1": {"a": 1.0}}) == {}


def test_numbers_of_numpy() -> None:
    evaluator = RelevanceEvaluator({"q": {"a": np.int64(1), "b": True}}, {"map"})  # type: ignore[dict-item]
    assert evaluator.evaluate({"q": {"a": np.float32(2), "b": 1}}) == {"q": {"map": 1.0}}  # type: ignore[dict-item]


def test_wrong_use_is_refused_alike() -> None:
    pools = {"q": {"a": 1}}
    with pytest.raises(ValueError, match="unsupported measure nope"):
        RelevanceEvaluator(pools, {"nope"})
    with pytest.raises(ValueError, match="cutoff 0"):
        RelevanceEvaluator(pools, {"P_0"})  # pytrec_eval crashes
    with pytest.raises(TypeError, match="relevance_level should be positive"):
        RelevanceEvaluator(pools, {"map"}, relevance_level=0)
    for grade in (1.5, "1", None):
        with pytest.raises(TypeError, match="Expected relevance to be integer"):
            RelevanceEvaluator({"q": {"a": grade}}, {"map"})  # type: ignore[dict-item]
    for run in ({"q": {"a": "x"}}, {"q": 3}, {"q": {1: 1.0}}, {1: {"a": 1.0}}, {"q": {"a": float("nan")}}):
        with pytest.raises(TypeError, match="Unable to extract query/object scores"):
            RelevanceEvaluator(pools, {"map"}).evaluate(run)  # type: ignore[arg-type]


def test_reading_lines() -> None:
    assert drop_in.parse_qrel(["q1 0 a 1\n", "q1 0 b -1", "q2 0 a 0"]) == {"q1": {"a": 1, "b": -1}, "q2": {"a": 0}}
    assert drop_in.parse_run(["q1 Q0 a 1 2.5 t\n", "q1 Q0 b 2 1e-3 t"]) == {"q1": {"a": 2.5, "b": 0.001}}
    with pytest.raises(AssertionError):
        drop_in.parse_qrel(["q1 0 a 1", "q1 0 a 1"])


def test_aggregation() -> None:
    assert drop_in.compute_aggregated_measure("num_ret", [3, 4]) == 7
    assert drop_in.compute_aggregated_measure("map", [0.25, 0.75]) == 0.5
    logs = [log(0.25), log(1e-5)]
    assert drop_in.compute_aggregated_measure("gm_map", logs) == pytest.approx((0.25 * 1e-5) ** 0.5)
