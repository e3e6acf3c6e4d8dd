"""Agreement with the tools that people use, where they are right; and their mistakes, as tests of ours."""

from __future__ import annotations

import random
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.errors import CalipersError

Pools = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
TIE_RULES = ("average", "docid", "input", "best", "worst")


def value(pools: Any, run: Any, name: str, **options: Any) -> float:
    """The mean score of one run."""
    return float(np.nanmean(cal.evaluate(pools, run, [name], **options).values))


# --- pytrec_eval: trec_eval itself, behind a Python face --------------------------------------------------

# Its name: ours.
TREC = {
    "map": "AP",
    "map_cut_5": "AP@5",
    "map_cut_100": "AP@100",
    "P_5": "P@5",
    "P_100": "P@100",
    "recall_5": "Recall@5",
    "recall_100": "Recall@100",
    "ndcg": "nDCG",
    "ndcg_cut_5": "nDCG@5",
    "ndcg_cut_100": "nDCG@100",
    "recip_rank": "RR",
    "Rprec": "RPrec",
    "bpref": "bpref",
    "success_1": "Success@1",
    "success_5": "Success@5",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_F": "SetF",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
}
# trec_eval's level has no effect on nDCG.
BLIND_TO_LEVEL = ("nDCG", "NumRet")


def random_collection(seed: int) -> tuple[Pools, Run]:
    """Judgments and a run whose scores are exact in float32, as pytrec_eval keeps them."""
    draw = random.Random(seed)
    pools: Pools = {}
    run: Run = {}
    for number in range(40):
        names = [f"D{draw.randint(0, 10 ** draw.randint(1, 6))}" for _ in range(60)]
        names = list(dict.fromkeys(names))
        grades = draw.choice([[0, 1], [0, 0, 0, 0, 1], [0, 1, 2, 3], [-2, -1, 0, 1, 2], [0]])
        pools[f"q{number}"] = {name: draw.choice(grades) for name in draw.sample(names, len(names) // 2)}
        levels = draw.choice([1, 4, 1000])
        shown = draw.sample(names, draw.randint(1, len(names)))
        run[f"q{number}"] = {name: draw.randint(-levels, levels) / 8 for name in shown}
    return pools, run


@pytest.mark.peers
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_trec_eval(seed: int, level: int, require: Any) -> None:
    pytrec_eval = require.module("pytrec_eval")
    pools, run = random_collection(seed)
    asked = {"map_cut.5,100", "P.5,100", "recall.5,100", "ndcg_cut.5,100", "success.1,5"}
    asked |= {name for name in TREC if not name.rsplit("_", 1)[-1].isdigit()}
    theirs = pytrec_eval.RelevanceEvaluator(pools, asked, relevance_level=level).evaluate(run)
    assert len(theirs) == len(pools)
    names = {
        their: our if level == 1 or our.startswith(BLIND_TO_LEVEL) else at_level(our, level)
        for their, our in TREC.items()
    }
    ours = cal.evaluate(pools, run, list(names.values()), ties="docid", empty=0.0)
    for their, our in names.items():
        for query, got in zip(ours.queries, ours[our][0], strict=True):
            assert got == pytest.approx(theirs[query][their], abs=1e-9), (their, query)


def at_level(name: str, level: int) -> str:
    """P@5 as P(rel=2)@5."""
    root, at, cutoff = name.partition("@")
    return f"{root}(rel={level}){at}{cutoff}"


@pytest.mark.peers
def test_trec_eval_names_mean_the_same_here() -> None:
    pools, run = random_collection(9)
    for their, our in TREC.items():
        got = cal.evaluate(pools, run, [their], ties="docid", empty="skip").values
        np.testing.assert_array_equal(got, cal.evaluate(pools, run, [our], ties="docid", empty="skip").values)


def test_trec_eval_order_is_by_bytes_descending() -> None:
    """Equal scores: "9" before "10", lower case before upper, and bytes, not characters, decide."""
    for first, second in [("9", "10"), ("a", "B"), ("ab", "a"), ("\U0001f600", "\uffff"), ("é", "z")]:
        pools = {"q": {first: 1, second: 0}}
        for documents in ([first, second], [second, first]):
            assert value(pools, {"q": dict.fromkeys(documents, 1.0)}, "RR", ties="docid") == 1


# --- scikit-learn: ties averaged, for DCG alone -----------------------------------------------------------


@pytest.mark.peers
def test_scikit_learn_averages_ties_alike(require: Any) -> None:
    metrics = require.module("sklearn.metrics")
    draw = np.random.default_rng(4)
    labels = draw.integers(0, 5, (30, 12))
    scores = draw.integers(0, 4, (30, 12)).astype(float)
    judgments = cal.Judgments.from_arrays(labels.ravel(), group=[12] * 30)
    for k in (3, 12):
        ours = cal.evaluate(judgments, scores.ravel(), [f"nDCG@{k}", f"DCG@{k}"]).values.mean(axis=2)[:, 0]
        theirs = [metrics.ndcg_score(labels, scores, k=k), metrics.dcg_score(labels, scores, k=k)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.peers
def test_scikit_learn_has_the_same_area_under_the_curve(require: Any) -> None:
    metrics = require.module("sklearn.metrics")
    draw = np.random.default_rng(5)
    labels = draw.integers(0, 3, (20, 12))
    labels[:, :2] = 0, 2
    scores = draw.integers(0, 5, (20, 12)).astype(float)
    judgments = cal.Judgments.from_arrays(labels.ravel(), group=[12] * 20)
    for rel in (1, 2):
        ours = cal.evaluate(judgments, scores.ravel(), [f"AUC(rel={rel})"]).values[0, 0]
        theirs = [metrics.roc_auc_score(label >= rel, score) for label, score in zip(labels, scores, strict=True)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.peers
def test_ir_measures_without_ties(require: Any) -> None:
    ir_measures = require.module("ir_measures")
    pools, run = random_collection(21)
    pools = {q: {d: max(g, 0) for d, g in pool.items()} for q, pool in pools.items() if max(pool.values()) > 0}
    run = {q: {d: s + i / 4096 for i, (d, s) in enumerate(run[q].items())} for q in pools}
    for name in (
        "nDCG@10",
        "AP",
        "AP(rel=2)@100",
        "RR",
        "P@5",
        "Recall@10",
        "Judged@10",
        "SetF",
    ):
        theirs = {
            row.query_id: row.value for row in ir_measures.iter_calc([ir_measures.parse_measure(name)], pools, run)
        }
        ours = cal.evaluate(pools, run, [name], empty=0.0)
        for query, got in zip(ours.queries, ours.values[0, 0], strict=True):
            assert got == pytest.approx(theirs.get(query, 0.0), abs=1e-6), (name, query)


# --- mistakes seen elsewhere ------------------------------------------------------------------------------


def test_queries_are_paired_by_key() -> None:
    """ranx pairs them by insertion order: MRR 0.0 in place of 1.0."""
    pools = {"q1": {"a": 1}, "q2": {"b": 1}}
    run = {"q2": {"b": 1.0, "x": 0.5}, "q1": {"a": 1.0, "x": 0.5}}
    assert value(pools, run, "RR") == 1
    assert value(dict(reversed(pools.items())), run, "RR") == 1


def test_rbp_stays_in_the_unit_interval() -> None:
    """ranx gives 1.46 on grades above 1."""
    pools = {"q": {f"d{row}": 4 for row in range(50)}}
    run = {"q": {f"d{row}": float(-row) for row in range(50)}}
    for name in ("RBP(p=0.8)", "RBP(p=0.8,gain=linear)", "RBP(p=0.8,gain=exp)", "RBP(p=0.5,rel=2)"):
        assert value(pools, run, name) == pytest.approx(1 - float(name[6:9]) ** 50)


def test_bpref_without_relevant_documents_follows_the_policy() -> None:
    """ranx gives NaN, whatever one wanted."""
    pools, run = {"q": {"a": 0, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}
    assert value(pools, run, "bpref") == 0
    assert value(pools, run, "bpref", empty=0.0) == 0
    assert np.isnan(cal.evaluate(pools, run, ["bpref"], empty="skip").values).all()


@pytest.mark.parametrize("ties", TIE_RULES)
def test_a_cutoff_does_not_change_the_tie_rule(ties: str) -> None:
    """ir_measures: RR = 1.0 and RR@10 = 0.333 on one tied run, as two providers break ties in two ways."""
    pools = {"q": {"a": 1, "b": 0, "c": 0}}
    for documents in (["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]):
        run = {"q": dict.fromkeys(documents, 1.0)}
        assert value(pools, run, "RR", ties=ties) == value(pools, run, "RR@10", ties=ties)


@pytest.mark.parametrize("ties", TIE_RULES)
def test_all_measures_break_ties_alike(ties: str) -> None:
    """trectools: MAP one way and NDCG the other. With one relevant document each gives its rank away."""
    pools = {"q": {"m": 1, "a": 0, "z": 0}}
    run = {"q": {"a": 1.0, "m": 1.0, "z": 1.0}}
    values = {name: value(pools, run, name, ties=ties) for name in ("RR", "AP", "nDCG", "RBP(p=0.5)", "ERR")}
    ranks = {"average": [1, 2, 3], "docid": [2], "input": [2], "best": [1], "worst": [3]}[ties]
    over = len(ranks)
    assert values == pytest.approx(
        {
            "RR": sum(1 / rank for rank in ranks) / over,
            "AP": sum(1 / rank for rank in ranks) / over,
            "nDCG": sum(1 / log2(rank + 1) for rank in ranks) / over,
            "RBP(p=0.5)": sum(0.5**rank for rank in ranks) / over,
            "ERR": sum(0.5 / rank for rank in ranks) / over,
        }
    )


def test_a_constant_scorer_learns_nothing_from_the_order_of_input() -> None:
    """Elsewhere it got MRR 1.0: ties kept the order of insertion, relevant documents first."""
    n = 100
    pools = {"q": {f"d{row}": int(row == 0) for row in range(n)}}
    run = {"q": dict.fromkeys(pools["q"], 0.0)}
    chance = sum(1 / rank for rank in range(1, n + 1)) / n
    assert value(pools, run, "RR") == pytest.approx(chance)
    assert value(pools, {"q": dict(reversed(run["q"].items()))}, "RR") == pytest.approx(chance)


def test_err_takes_any_ids() -> None:
    """ir_measures' ERR@k wants numeric query ids, and perl."""
    pools = {"première question": {"doc/ü 1": 2, "x": 0}, "q-2": {"y": 1}}
    run = {"première question": {"x": 2.0, "doc/ü 1": 1.0}, "q-2": {"y": 1.0}}
    scores = cal.evaluate(pools, run, ["ERR@10"])
    got = dict(zip(scores.queries, scores.values[0, 0], strict=True))
    assert got == pytest.approx({"première question": 3 / 4 / 2, "q-2": 1 / 4})


def test_the_order_of_the_lines_is_not_the_ranking() -> None:
    """cwl-eval never sorts."""
    pools = {"q": {"a": 1, "b": 0, "c": 0}}
    run = {"q": {"c": 1.0, "b": 2.0, "a": 3.0}}
    for name in ("RR", "AP", "nDCG", "ERR", "RBP"):
        for ties in TIE_RULES:
            assert value(pools, run, name, ties=ties) == value(pools, {"q": {"a": 9.0}}, name, ties=ties)


def test_nothing_is_written_where_one_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """cwl-eval leaves a log in the working directory."""
    monkeypatch.chdir(tmp_path)
    value({"q": {"a": 1}}, {"q": {"a": 1.0}}, "AP")
    assert list(tmp_path.iterdir()) == []


def test_fractional_gains_count() -> None:
    """trec_eval's ndcg.1=0.9,2=0.5 gives 0."""
    pools = {"q": {"a": 1, "b": 2}}
    run = {"q": {"b": 2.0, "a": 1.0}}
    got = value(pools, run, "nDCG(gain={1:0.9,2:0.5})")
    assert got == pytest.approx((0.5 + 0.9 / log2(3)) / (0.9 + 0.5 / log2(3)))


def test_fractional_grades_count() -> None:
    """pytrec_eval refuses them, and trec_eval reads 1.7 as 1."""
    pools = {"q": {"a": 1.7, "b": 0.5}}
    run = {"q": {"b": 2.0, "a": 1.0}}
    assert value(pools, run, "DCG") == pytest.approx(0.5 + 1.7 / log2(3))
    assert value(pools, run, "RR") == 1 / 2


def test_the_residual_keeps_its_tail() -> None:
    """trec_eval 10's rbp_resid drops p^n where all documents are judged."""
    pools = {"q": {"a": 1, "b": 0, "c": 2}}
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    assert value(pools, run, "RBP-residual(p=0.8)") == pytest.approx(0.8**3)


def test_scores_that_differ_in_the_last_digits_are_no_tie() -> None:
    """float32 scores, as in trec_eval 9, see a tie."""
    pools = {"q": {"a": 1, "z": 0}}
    run = {"q": {"z": 1.00000000001, "a": 1.00000000002}}
    assert value(pools, run, "RR", ties="docid") == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_scores_must_be_numbers(bad: float) -> None:
    """trec_eval sorts NaN somewhere."""
    with pytest.raises(CalipersError):
        value({"q": {"a": 1, "b": 0}}, {"q": {"a": bad, "b": 1.0}}, "AP")


def test_shuffled_input_gives_the_same_bits() -> None:
    """ranx: the order of ties is not stable."""
    pools, run = random_collection(2)
    wanted = cal.evaluate(pools, run, ["AP", "nDCG@10", "RR", "bpref"], ties="docid").values
    draw = random.Random(0)
    for _ in range(5):
        mixed = {q: dict(draw.sample(list(documents.items()), len(documents))) for q, documents in run.items()}
        got = cal.evaluate(pools, mixed, ["AP", "nDCG@10", "RR", "bpref"], ties="docid").values
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", ["NDCG@10", "ndcg_cut_10", "ndcg_cut.10", "MAP", "MRR", "Precision@5", "Rprec"])
def test_familiar_names(name: str) -> None:
    assert np.isfinite(value({"q": {"a": 1}}, {"q": {"a": 1.0}}, name))


def rank_biased_overlap(ranking: list[str], ideal: list[str], p: float, depth: int) -> float:
    """As the script that the authors of compatibility give away has it (compatibility.py, claclark/Compatibility)."""
    seen: set[str] = set()
    wanted: set[str] = set()
    score, normalizer, weight = 0.0, 0.0, 1.0
    for i in range(depth):
        seen |= set(ranking[i : i + 1])
        wanted |= set(ideal[i : i + 1])
        score += weight * len(wanted & seen) / (i + 1)
        normalizer += weight
        weight *= p
    return score / normalizer


@pytest.mark.parametrize(("p", "depth"), [(0.95, 1000), (0.8, 1000), (0.95, 4)])
def test_compatibility_is_that_of_its_authors_script(p: float, depth: int) -> None:
    draw = random.Random(8)
    qrels: dict[str, dict[str, int]] = {"ua": {"a": 1}}
    run: dict[str, dict[str, float]] = {"ua": {"u": 2.0, "a": 1.0}}
    for number in range(20):
        documents = [f"d{d:02}" for d in range(20)]
        qrels[f"q{number}"] = {d: draw.choice([0, 0, 1, 2, 3]) for d in draw.sample(documents, 9)} | {"d00": 1}
        run[f"q{number}"] = {d: draw.random() for d in draw.sample(documents, 8)}
    name = f"Compat(p={p})" + ("" if depth == 1000 else f"@{depth}")
    scores = cal.evaluate(qrels, run, [name], warn=False)
    for query, score in zip(scores.queries, scores[name][0], strict=True):
        ranking = sorted(run[query], key=lambda d: -run[query][d])
        place = {d: rank for rank, d in enumerate(ranking)}
        ideal = sorted((d for d, grade in qrels[query].items() if grade > 0), key=lambda d: place.get(d, len(ranking)))
        ideal.sort(key=lambda d: -qrels[query][d])
        best = rank_biased_overlap(ideal, ideal, p, depth)
        assert score == pytest.approx(rank_biased_overlap(ranking, ideal, p, depth) / best, rel=1e-9), query
    if name == "Compat(p=0.95)":
        assert scores[name][0, 0] == pytest.approx(0.683, abs=0.0005)


def test_a_request_finds_its_measures_by_their_own_names() -> None:
    given = cal.Experiment({"q": {"a": 1}}, {"s": {"q": ["b", "a"]}}, ["mine=RR", "AP"])
    assert repr(given.of_measures(["mine"]).measures) == "{'mine': RR}"
    with pytest.raises(cal.CalipersError, match="unknown measure 'other'"):
        given.of_measures(["other"])
