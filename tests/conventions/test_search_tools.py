"""Profiles of search engines, RAG tools and recommenders, against the tools or against formulas from their source."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import log2
from typing import Any

import numpy as np
import pytest

import calipers as cal

Labels = dict[str, dict[str, int]]
Lists = dict[str, list[str]]


def given(seed: int, most: int, empty: bool = True) -> tuple[Labels, Lists]:
    """Labels from 0 to `most`, and lists of 1 to 14 documents, some of which are unjudged."""
    draw = random.Random(seed)
    labels: Labels = {}
    lists: Lists = {}
    for number in range(40):
        names = [f"d{i}" for i in range(20)]
        judged = draw.sample(names, draw.randint(1, 16))
        labels[f"q{number}"] = {name: draw.randint(0, most) for name in judged}
        if number % 8 == 0 and empty:
            labels[f"q{number}"] = dict.fromkeys(judged, 0)
        elif not any(labels[f"q{number}"].values()):
            labels[f"q{number}"][judged[0]] = 1
        lists[f"q{number}"] = draw.sample(names, draw.randint(1, 14))
    return labels, lists


def scores(labels: Labels, lists: Lists, measure: str, like: str) -> dict[str, float]:
    runs = {query: {name: -float(rank) for rank, name in enumerate(ranked)} for query, ranked in lists.items()}
    found = cal.evaluate(labels, runs, measure, like=like, warn=False)
    return dict(zip(found.queries, found[measure][0].tolist(), strict=True))


def dcg(grades: Sequence[float], exp: bool) -> float:
    return sum((2**grade - 1 if exp else grade) / log2(rank + 1) for rank, grade in enumerate(grades, 1))


def share(score: float, ideal: float) -> float:
    return score / ideal if ideal else 0.0


K = 10


def elasticsearch(grades: list[int], pool: list[int]) -> dict[str, float]:
    """DiscountedCumulativeGain and PrecisionAtK: the ideal has as many documents as the engine returned."""
    top = grades[:K]
    return {
        "nDCG@10": share(dcg(top, exp=True), dcg(pool[: len(top)], exp=True)),
        "P@10": sum(grade > 0 for grade in top) / len(top),
        "Recall@10": share(sum(grade > 0 for grade in top), sum(grade > 0 for grade in pool)),
    }


def opensearch(grades: list[int], pool: list[int]) -> dict[str, float]:
    """Evaluation.calculateNDCGAtK of search-relevance (2026), without its rounding to two digits."""
    return {"nDCG@10": share(dcg(grades[:K], exp=True), dcg(pool[:K], exp=True)), "DCG@10": dcg(grades[:K], exp=True)}


def quepid(grades: list[int], pool: list[int]) -> dict[str, float]:
    """The scorers ndcg@10, p@10 and ap@10: the ideal of nDCG has no cutoff."""
    top = grades[:K]
    hits = [sum(grade > 0 for grade in top[:rank]) / rank for rank, grade in enumerate(top, 1) if grade > 0]
    return {
        "nDCG@10": share(dcg(top, exp=True), dcg(pool, exp=True)),
        "P@10": sum(grade > 0 for grade in top) / len(top),
        "AP@10": share(sum(hits), sum(grade > 0 for grade in pool)),
    }


def recbole(grades: list[int], pool: list[int]) -> dict[str, float]:
    """recbole.evaluator.metrics: NDCG, MAP, Precision, Recall, MRR and Hit."""
    top, relevant = grades[:K], sum(pool)
    hits = [sum(top[:rank]) / rank for rank, grade in enumerate(top, 1) if grade]
    return {
        "nDCG@10": dcg(top, exp=False) / dcg(pool[:K], exp=False),
        "AP@10": sum(hits) / min(relevant, K),
        "P@10": sum(top) / K,
        "Recall@10": sum(top) / relevant,
        "RR@10": 1 / (top.index(1) + 1) if any(top) else 0.0,
        "Success@10": float(any(top)),
    }


def ragas(grades: list[int], _: list[int]) -> dict[str, float]:
    """_calculate_average_precision of context precision, without its 1e-10."""
    hits = [sum(grades[:rank]) / rank for rank, grade in enumerate(grades, 1) if grade]
    return {"AP": share(sum(hits), len(hits))}


@pytest.mark.parametrize(
    ("like", "definition", "most"),
    [
        ("elasticsearch", elasticsearch, 3),
        ("opensearch", opensearch, 3),
        ("quepid", quepid, 3),
        ("recbole", recbole, 1),
        ("ragas", ragas, 1),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_definitions_in_the_sources(
    like: str, definition: Callable[[list[int], list[int]], dict[str, float]], most: int, seed: int
) -> None:
    labels, lists = given(seed, most, empty=like != "recbole")
    wanted = {
        query: definition([labels[query].get(name, 0) for name in ranked], sorted(labels[query].values(), reverse=True))
        for query, ranked in lists.items()
    }
    for measure in wanted["q0"]:
        found = scores(labels, lists, measure, like)
        assert found == pytest.approx({query: values[measure] for query, values in wanted.items()}, abs=1e-12), measure


def test_examples_of_the_issues() -> None:
    """One of five relevant documents and nothing else: 0.3392 by the definition, 1 if the ideal ends with the list."""
    labels, run = {"q": dict.fromkeys("abcde", 1)}, {"q": ["a"]}
    ideal = sum(1 / log2(rank + 1) for rank in range(1, 6))
    for like in ("mlflow", "elasticsearch"):
        assert scores(labels, run, "nDCG@10", like)["q"] == 1
    assert scores(labels, run, "nDCG@10", "opensearch")["q"] == pytest.approx(1 / ideal)
    full = sum(1 / log2(rank + 1) for rank in range(1, 11))
    assert scores({"q": {"a": 1}}, run, "nDCG@10", "rectools")["q"] == pytest.approx(1 / full)  # a perfect list
    many = {"q": {f"d{i}": 1 for i in range(30)}}
    best = {"q": [f"d{i}" for i in range(10)]}
    whole = sum(1 / log2(rank + 1) for rank in range(1, 31))
    assert scores(many, best, "nDCG@10", "quepid")["q"] == pytest.approx(full / whole)  # a perfect list, too


def test_tools_that_know_no_grades_are_skipped_with_a_note() -> None:
    exp = cal.Experiment({"q": {"a": 2, "b": 0}}, {"q": {"a": 1.0, "b": 0.5}}, "nDCG@10")
    found = exp.audit(like=["mlflow", "elasticsearch"])
    assert found.figures()["run", "mlflow"] == "n/a"
    assert found.figures()["run", "elasticsearch"] == 1
    assert any("no figure for mlflow (nDCG@10): label 2 of query 'q'" in note for note in found.notes)


# --- the tools themselves -----------------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_mlflow(require: Any) -> None:
    metrics = require.module("mlflow.metrics")
    pandas = require.module("pandas")
    labels, lists = given(3, most=1)
    targets = pandas.Series([[name for name, grade in labels[query].items() if grade] for query in lists])
    predictions = pandas.Series(list(lists.values()))
    for name, theirs in (("nDCG@10", "ndcg_at_k"), ("P@10", "precision_at_k"), ("Recall@10", "recall_at_k")):
        wanted = getattr(metrics, theirs)(10).eval_fn(predictions, targets).scores
        found = scores(labels, lists, name, "mlflow")
        np.testing.assert_allclose([found[query] for query in lists], wanted, atol=1e-6, err_msg=name)


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_torchmetrics(require: Any) -> None:
    torch, theirs = require.module("torch"), require.module("torchmetrics.retrieval")
    draw = random.Random(4)
    sizes = [draw.randint(1, 15) for _ in range(30)]
    label = np.array([draw.randint(0, 3) if number % 5 else 0 for number, n in enumerate(sizes) for _ in range(n)])
    score = np.array([draw.randint(0, 4) / 4 for _ in label])
    index = np.repeat(np.arange(len(sizes)), sizes)
    found = cal.evaluate(
        cal.Judgments.from_arrays(label, group=sizes), score, ["nDCG", "nDCG@5"], like="torchmetrics", warn=False
    ).mean()
    for name, top_k in (("nDCG", None), ("nDCG@5", 5)):
        metric = theirs.RetrievalNormalizedDCG(top_k=top_k)
        value = metric(torch.tensor(score), torch.tensor(label), indexes=torch.tensor(index))
        assert found.rows[0][found.columns.index(name)] == pytest.approx(float(value), abs=1e-6)


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_rectools(require: Any) -> None:
    metrics, pandas = require.module("rectools.metrics"), require.module("pandas")
    labels, lists = given(5, most=1, empty=False)
    recommended = [(user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, 1)]
    liked = [(user, item) for user, items in labels.items() for item, grade in items.items() if grade]
    shown = pandas.DataFrame(recommended, columns=["user_id", "item_id", "rank"])
    interactions = pandas.DataFrame(liked, columns=["user_id", "item_id"])
    names = {
        "nDCG@10": "NDCG",
        "AP@10": "MAP",
        "P@10": "Precision",
        "Recall@10": "Recall",
        "RR@10": "MRR",
        "Success@10": "HitRate",
    }
    for name, theirs in names.items():
        wanted = getattr(metrics, theirs)(k=10).calc_per_user(shown, interactions)
        found = scores(labels, lists, name, "rectools")
        np.testing.assert_allclose([found[user] for user in wanted.index], wanted, atol=1e-12, err_msg=name)
