"""pytrec_eval's face, against pytrec_eval itself."""

from __future__ import annotations

import collections
import importlib.util
import os
import pickle
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from math import inf, isnan, log, log2
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import calipers
from calipers.tools import pytrec_eval as drop_in
from calipers.tools.pytrec_eval import RelevanceEvaluator

Pools = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

# A case is a query: its judgments and a list. More of them: CALIPERS_CASES=100000.
CASES = int(os.environ.get("CALIPERS_CASES", "5000"))
AT_ONCE = 50
NUMBERS = sorted(drop_in.supported_measures - {"runid", "relstring"})
WITH_PARAMETERS = [
    "P.1,2,3",
    "P_7",
    "ndcg_cut.1,2,7",
    "ndcg_cut_3",
    "map_cut.2",
    "recall.1,4",
    "success.1,2",
    "relative_P.2,3",
    "iprec_at_recall.0.15,0.5,0.33",
    "Rprec_mult.0.1,0.5,1.7",
    "set_F.0.5",
    "set_F.2",
    "11pt_avg.0.25,0.5",
    "infAP",
    "bpref",
    "Rndcg",
    "G",
    "binG",
    "ndcg_rel",
    "official",
]
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


@pytest.mark.peers
@pytest.mark.parametrize("sign", [1, -1])
def test_infinite_scores(sign: int, require: Any) -> None:
    """As filters give them; two of them tie."""
    pools = {"q": {"a": 1, "b": 0, "c": 1}}
    run = {"q": {"a": sign * inf, "b": 1.0, "c": sign * inf, "d": 2.0}}
    theirs = require.module("pytrec_eval").RelevanceEvaluator(pools, {"map", "recip_rank"}).evaluate(run)
    for version in (9, 10):
        ours = RelevanceEvaluator(pools, {"map", "recip_rank"}, version=version).evaluate(run)
        assert ours["q"] == pytest.approx(theirs["q"])


def test_numbers_of_numpy() -> None:
    evaluator = RelevanceEvaluator({"q": {"a": np.int64(1), "b": True}}, {"map"}, relevance_level=np.int64(1))
    assert evaluator.evaluate({"q": {"a": np.float32(2), "b": 1}}) == {"q": {"map": 1.0}}


def test_wrong_use_is_refused_alike() -> None:
    pools = {"q": {"a": 1}}
    with pytest.raises(ValueError, match="unsupported measure nope"):
        RelevanceEvaluator(pools, {"nope"})
    with pytest.raises(ValueError, match="cutoff 0"):
        RelevanceEvaluator(pools, {"P_0"})  # pytrec_eval crashes
    with pytest.raises(TypeError, match="relevance_level should be positive"):
        RelevanceEvaluator(pools, {"map"}, relevance_level=0)
    with pytest.raises(ValueError, match="unsupported measure all_prefs"):
        RelevanceEvaluator(pools, {"all_prefs"})
    with pytest.raises(ValueError, match="unsupported version 8"):
        RelevanceEvaluator(pools, {"map"}, version=8)
    for grade in ("1", None, float("inf")):
        with pytest.raises(TypeError, match="Expected relevance to be a number"):
            RelevanceEvaluator({"q": {"a": grade}}, {"map"})
    for run in ({"q": {"a": "x"}}, {"q": 3}, {"q": {1: 1.0}}, {1: {"a": 1.0}}, {"q": {"a": float("nan")}}):
        with pytest.raises(TypeError, match="Unable to extract query/object scores"):
            RelevanceEvaluator(pools, {"map"}).evaluate(run)


def test_grades_with_fractions_count_as_they_are() -> None:
    pools, run = {"q": {"a": 0.5, "b": 1.5, "c": 0.0}}, {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}
    (row,) = RelevanceEvaluator(pools, {"ndcg", "map"}).evaluate(run).values()
    assert row["ndcg"] == pytest.approx((0.5 + 1.5 / 2) / (1.5 + 0.5 / log2(3)))
    assert row["map"] == 1 / 3
    assert RelevanceEvaluator(pools, {"map"}, relevance_level=0.5).evaluate(run)["q"]["map"] == (1 + 2 / 3) / 2


@pytest.mark.data
def test_trec_eval_10_from_python(data: Path) -> None:
    """What trec_eval 10 prints in its own test, query by query and for all queries."""
    folder = data / "trec/trec_eval-test"
    with (folder / "qrels.test").open() as qrels, (folder / "results.test").open() as run:
        pools, ranked = drop_in.parse_qrel(qrels), drop_in.parse_run(run)
    evaluator = RelevanceEvaluator(pools, ["all_trec"], version=10)
    by_query = {**evaluator.evaluate(ranked), "all": evaluator.aggregated(ranked)}
    text = {"runid", "relstring"}
    fields = (line.split("\t") for line in (folder / "out.test.aq").read_text().splitlines())
    printed = {(name.strip(), query): value for name, query, value in fields if name.strip() not in text}
    assert len(printed) > 300
    for (name, query), value in printed.items():
        assert by_query[query][name] == pytest.approx(float(value), abs=5.1e-5), (name, query)


def test_queries_that_a_run_lacks_count_where_asked_for() -> None:
    evaluator = RelevanceEvaluator({"q1": {"a": 1}, "q2": {"a": 1}}, {"map", "gm_map", "num_rel"})
    assert evaluator.aggregated({"q1": {"a": 1.0}}) == {"num_rel": 1.0, "map": 1.0, "gm_map": 1.0}
    complete = evaluator.aggregated({"q1": {"a": 1.0}}, complete=True)
    assert complete == {"num_rel": 2.0, "map": 0.5, "gm_map": pytest.approx(1e-5**0.5)}
    assert all(isnan(value) for value in evaluator.aggregated({}).values())


def test_scores_that_only_float64_tells_apart() -> None:
    run = {"q": {"b": 1.00000000001, "a": 1.00000000002}}
    found = [RelevanceEvaluator({"q": {"a": 1, "b": 0}}, {"map"}, version=v).evaluate(run)["q"]["map"] for v in (9, 10)]
    assert found == [0.5, 1.0]


def test_evaluators_travel() -> None:
    """Through pickles, and to several threads at once."""
    draw = random.Random(5)
    pools, run = cases(draw)
    evaluator = RelevanceEvaluator(pools, {"all_trec"}, 2, True, version=10)
    again = pickle.loads(pickle.dumps(evaluator))
    expected = evaluator.evaluate(run)
    fresh = pickle.loads(pickle.dumps(evaluator))
    with ThreadPoolExecutor(4) as threads:
        assert all(found == expected for found in threads.map(fresh.evaluate, [run] * 8))
    assert again.evaluate(run) == expected


# -- code that imports pytrec_eval ----------------------------------------------------------------------------


@pytest.fixture(params=[9, 10])
def stand_in(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`import pytrec_eval` finds ours, as long as a test runs."""
    monkeypatch.setitem(sys.modules, "pytrec_eval", ModuleType("pytrec_eval"))
    return drop_in.install(version=request.param)


def generated(seed: int) -> tuple[Pools, Run]:
    """Judgments and a run that all of them take: grades of 0 and more, no two documents with one score."""
    draw = random.Random(seed)
    documents = [f"d{i}" for i in range(40)]
    pools = {f"q{q}": {d: draw.choice([0, 0, 1, 2]) for d in draw.sample(documents, 25)} for q in range(12)}
    run = {f"q{q}": dict(zip(draw.sample(documents, 30), draw.sample(range(100), 30), strict=True)) for q in range(12)}
    return pools, {query: {d: score / 7 for d, score in ranked.items()} for query, ranked in run.items()}


@pytest.mark.peers
def test_ir_measures_on_it(stand_in: ModuleType, require: Any) -> None:
    """Its provider, made anew, takes ours for pytrec_eval; its measures come out as they do with the real one."""
    ir_measures = require.module("ir_measures")
    provider = type(ir_measures.pytrec_eval)
    pools, run = generated(1)
    names = ["nDCG@10", "AP(rel=2)", "P@5", "RR", "R@20", "Bpref", "SetF", "Success@3", "infAP", "NumRelRet(rel=1)"]
    measures = [ir_measures.parse_measure(name) for name in names]
    theirs = ir_measures.pytrec_eval.calc_aggregate(measures, pools, run)
    ours = provider()
    assert ours.is_available()
    assert ours.pytrec_eval is stand_in
    assert ours.calc_aggregate(measures, pools, run) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.peers
def test_beir_on_it(stand_in: ModuleType, require: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """BEIR's own evaluation, once on pytrec_eval and once on ours."""
    beir = require.module("beir.retrieval.evaluation")
    pools, run = generated(2)
    found = []
    for module in (require.module("pytrec_eval_ext") and real_pytrec_eval(), stand_in):
        monkeypatch.setattr(beir, "pytrec_eval", module)
        found.append(beir.EvaluateRetrieval.evaluate(pools, run, [1, 3, 10, 100]))
    assert found[0] == found[1]
    assert found[0][0]["NDCG@10"] > 0.1


@pytest.mark.peers
def test_mteb_on_it(stand_in: ModuleType, require: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """MTEB's scores of a retrieval task, once on pytrec_eval and once on ours."""
    metrics = mteb_retrieval_metrics(require, monkeypatch)
    pools, run = generated(3)
    found = []
    for module in (real_pytrec_eval(), stand_in):
        monkeypatch.setattr(metrics, "pytrec_eval", module)
        found.append(metrics.calculate_retrieval_scores(run, pools, [1, 3, 10, 100]))
    for part in ("ndcg", "map", "recall", "precision", "hit_rate", "mrr", "naucs"):
        assert getattr(found[0], part) == pytest.approx(getattr(found[1], part), abs=1e-9), part
    assert found[0].ndcg["NDCG@10"] > 0.1


@pytest.mark.peers
@pytest.mark.parametrize("tool", ["beir", "mteb"])
def test_the_profiles_of_beir_and_mteb(tool: str, require: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries that the run lacks, documents with the id of their query, and ties that float32 makes."""
    pools, run = generated(4)
    first, second, third = [query for query in pools if query in run][:3]
    del run[first]
    run[second] = {second: 1e6, **run[second]}
    run[third] = {document: 1 + score * 1e-9 for document, score in run[third].items()}
    ours = calipers.evaluate(pools, run, "nDCG@10 AP@10 Recall@10 P@10", like=tool, warn=False).mean()
    if tool == "beir":
        evaluation = require.module("beir.retrieval.evaluation")
        monkeypatch.setattr(evaluation, "pytrec_eval", real_pytrec_eval())  # whatever it was imported with
        copied = {query: dict(ranked) for query, ranked in run.items()}
        found = evaluation.EvaluateRetrieval.evaluate(pools, copied, [10])
    else:
        metrics = mteb_retrieval_metrics(require, monkeypatch)
        monkeypatch.setattr(metrics, "pytrec_eval", real_pytrec_eval())
        scores = metrics.calculate_retrieval_scores(run, pools, [10])
        found = scores.ndcg, scores.map, scores.recall, scores.precision
    figures = [value for part in found for value in part.values()]
    assert [round(float(value), 5) for value in next(iter(ours.rows))[1:]] == figures


def real_pytrec_eval() -> ModuleType:
    """The package itself, loaded anew beside the one that stands in for it."""
    spec = next(found for finder in sys.meta_path if (found := finder.find_spec("pytrec_eval", None)) is not None)
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


def mteb_retrieval_metrics(require: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module alone: the package around it wants models and datasets."""
    found = importlib.util.find_spec("mteb")
    if found is None or not found.submodule_search_locations:
        require.module("mteb")
    assert found is not None
    assert found.submodule_search_locations
    parts = "all_scores ndcg map recall precision naucs mrr naucs_mrr hit_rate"
    result = collections.namedtuple("result", parts)
    package, types = ModuleType("mteb"), SimpleNamespace(RetrievalEvaluationResult=result)
    monkeypatch.setitem(sys.modules, "mteb", package)
    monkeypatch.setitem(sys.modules, "mteb.types", types)
    path = Path(found.submodule_search_locations[0]) / "_evaluators/retrieval_metrics.py"
    spec = importlib.util.spec_from_file_location("mteb_retrieval_metrics", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reading_lines() -> None:
    assert drop_in.parse_qrel(["q1 0 a 1\n", "q1 0 b -1", "q2 0 a 0"]) == {"q1": {"a": 1, "b": -1}, "q2": {"a": 0}}
    assert drop_in.parse_run(["q1 Q0 a 1 2.5 t\n", "q1 Q0 b 2 1e-3 t"]) == {"q1": {"a": 2.5, "b": 0.001}}
    assert drop_in.parse_qrel(["q1 0 a 1"])["q2"] == drop_in.parse_run([])["q2"] == {}
    with pytest.raises(AssertionError):
        drop_in.parse_qrel(["q1 0 a 1", "q1 0 a 1"])


def test_aggregation() -> None:
    assert drop_in.compute_aggregated_measure("num_ret", [3, 4]) == 7
    assert drop_in.compute_aggregated_measure("map", [0.25, 0.75]) == 0.5
    logs = [log(0.25), log(1e-5)]
    assert drop_in.compute_aggregated_measure("gm_map", logs) == pytest.approx((0.25 * 1e-5) ** 0.5)
