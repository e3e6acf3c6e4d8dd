"""Our measures inside other packages: models are trained, and stop where the measure says."""

from __future__ import annotations

import builtins
import csv
import inspect
import pickle
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.errors import CalipersError
from calipers.tools import (
    ir_measures as bridge,
    lightgbm as for_lightgbm,
    scikit_learn as for_sklearn,
    xgboost as for_xgboost,
)
from calipers.tools.sentence_transformers import retrieval_evaluator

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

SIZE, QUERIES, TRAINED = 12, 50, 30


def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and queries; one feature tells something, and some queries have nothing relevant."""
    draw = np.random.default_rng(1)
    features = draw.normal(size=(SIZE * QUERIES, 5))
    labels = np.clip(np.round(features[:, 0] + draw.normal(size=len(features)) * 0.7), 0, 2)
    query = np.repeat(np.arange(QUERIES), SIZE)
    labels[query % 7 == 0] = 0
    return features, labels, query


FEATURES, LABELS, QUERY = problem()
CUT = SIZE * TRAINED
VALID = cal.Judgments.from_arrays(LABELS[CUT:], group=[SIZE] * (QUERIES - TRAINED))


def figure(measure: str, scores: Any, **options: Any) -> float:
    return float(cal.evaluate(VALID, np.asarray(scores, float), measure, **options).mean().rows[0][1])


# --- LightGBM ---------------------------------------------------------------------------------------------

BOOSTED = {
    "objective": "lambdarank",
    "metric": "None",
    "verbose": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "min_data_in_leaf": 5,
    "seed": 1,
}


def test_lightgbm_stops_on_our_measure(require: Any) -> None:
    lightgbm = require.module("lightgbm")
    train = lightgbm.Dataset(FEATURES[:CUT], LABELS[:CUT], group=[SIZE] * TRAINED)
    valid = lightgbm.Dataset(FEATURES[CUT:], LABELS[CUT:], group=[SIZE] * (QUERIES - TRAINED), reference=train)
    result: dict[str, Any] = {}
    metrics = [for_lightgbm.metric("V2(nDCG@10)"), for_lightgbm.metric("nDCG@5", like="lightgbm")]
    model = lightgbm.train(
        {**BOOSTED, "metric": "ndcg", "eval_at": [5]},
        train,
        40,
        valid_sets=[valid],
        feval=metrics,
        callbacks=[lightgbm.record_evaluation(result), lightgbm.early_stopping(5, verbose=False)],
    )
    found = result["valid_0"]
    assert set(found) == {"ndcg@5", "V2(nDCG@10)", "nDCG@5,like_lightgbm"}
    assert found["nDCG@5,like_lightgbm"] == pytest.approx(found["ndcg@5"])
    assert 0 < model.best_iteration < 40
    for iteration in (1, model.best_iteration):
        wanted = figure("V2(nDCG@10)", model.predict(FEATURES[CUT:], num_iteration=iteration))
        assert found["V2(nDCG@10)"][iteration - 1] == pytest.approx(wanted)


def test_lightgbms_ranker(require: Any) -> None:
    lightgbm = require.module("lightgbm")
    ranker = lightgbm.LGBMRanker(n_estimators=10, n_jobs=1, verbose=-1, min_child_samples=5, random_state=1)
    ranker.fit(
        FEATURES[:CUT],
        LABELS[:CUT],
        group=[SIZE] * TRAINED,
        eval_set=[(FEATURES[CUT:], LABELS[CUT:])],
        eval_group=[[SIZE] * (QUERIES - TRAINED)],
        eval_metric=for_lightgbm.ranker_metric("RBP", like="letor4"),
    )
    found = ranker.evals_result_["valid_0"]["RBP,like_letor4"]
    assert found[-1] == pytest.approx(figure("RBP", ranker.predict(FEATURES[CUT:]), ties="input"))


def test_lightgbm_without_groups(require: Any) -> None:
    lightgbm = require.module("lightgbm")
    data = lightgbm.Dataset(FEATURES, LABELS, free_raw_data=False).construct()
    with pytest.raises(CalipersError, match="nDCG@5 needs to know the documents of each query"):
        for_lightgbm.metric("nDCG@5")(np.zeros(len(LABELS)), data)
    with pytest.raises(CalipersError, match="eval_group"):
        for_lightgbm.ranker_metric("nDCG@5")(LABELS, LABELS, None, None)


# --- XGBoost ----------------------------------------------------------------------------------------------


def test_xgboost_stops_on_our_measure(require: Any) -> None:
    xgboost = require.module("xgboost")
    train = xgboost.DMatrix(FEATURES[:CUT], LABELS[:CUT], qid=QUERY[:CUT])
    valid = xgboost.DMatrix(FEATURES[CUT:], LABELS[CUT:], qid=QUERY[CUT:])
    for measure, like in (("nDCG@5", "xgboost"), ("V2(nDCG@10)", None)):
        result: dict[str, Any] = {}
        model = xgboost.train(
            {"objective": "rank:ndcg", "eval_metric": "ndcg@5", "nthread": 1, "seed": 1},
            train,
            30,
            evals=[(valid, "valid")],
            custom_metric=for_xgboost.metric(measure, like=like),
            maximize=True,
            early_stopping_rounds=5,
            evals_result=result,
            verbose_eval=False,
        )
        name = measure if like is None else f"{measure},like_{like}"
        assert set(result["valid"]) == {"ndcg@5", name}
        if like:
            assert result["valid"][name] == pytest.approx(result["valid"]["ndcg@5"], abs=1e-5)
        assert 0 <= model.best_iteration < 29
        best = model.predict(valid, iteration_range=(0, model.best_iteration + 1))
        assert model.best_score == pytest.approx(figure(measure, best, like=like), abs=1e-5)


def test_xgboost_without_groups(require: Any) -> None:
    xgboost = require.module("xgboost")
    metric = for_xgboost.metric("nDCG(gain={0:0,1:1,2:3})@5")
    with pytest.raises(CalipersError, match="give the data its group"):
        metric(np.zeros(4), xgboost.DMatrix(np.zeros((4, 1)), label=[0, 1, 2, 0]))
    name, value = metric(LABELS[:SIZE], xgboost.DMatrix(FEATURES[:SIZE], label=LABELS[:SIZE] * 0 + 1, qid=QUERY[:SIZE]))
    assert ":" not in name
    assert value == pytest.approx(1)


# --- scikit-learn -----------------------------------------------------------------------------------------


def test_sklearn_selects_by_our_measure(require: Any) -> None:
    sklearn = require.module("sklearn")
    linear_model, selection = require.module("sklearn.linear_model"), require.module("sklearn.model_selection")
    shuffled = np.random.default_rng(2).permutation(len(LABELS))  # queries need not be contiguous
    x, y, query = FEATURES[shuffled], LABELS[shuffled], QUERY[shuffled]
    scoring = for_sklearn.scorer("V2(nDCG@10)")
    folds = selection.GroupKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        found = selection.cross_val_score(
            linear_model.Ridge(), x, y, cv=folds, scoring=scoring, params={"groups": query}
        )
        search = selection.GridSearchCV(linear_model.Ridge(), {"alpha": [0.1, 1e6]}, cv=folds, scoring=scoring)
        assert search.fit(x, y, groups=query).best_score_ >= found.mean() - 0.01
        again = pickle.loads(pickle.dumps(search))  # as n_jobs and joblib.dump do it
        assert again.fit(x, y, groups=query).best_score_ == search.best_score_
    wanted = []
    for train, test in folds.split(x, y, query):
        scores = linear_model.Ridge().fit(x[train], y[train]).predict(x[test])
        judgments = cal.Judgments.from_arrays(y[test], qid=query[test])
        wanted.append(cal.evaluate(judgments, scores, "V2(nDCG@10)").mean().rows[0][1])
    assert found.tolist() == pytest.approx(wanted)
    assert found.mean() > 0.3


def test_sklearn_without_groups(require: Any) -> None:
    ridge = require.module("sklearn.linear_model").Ridge().fit(FEATURES, LABELS)
    with pytest.raises(CalipersError, match="enable_metadata_routing"):
        for_sklearn.scorer("nDCG@10")(ridge, FEATURES, LABELS)


# --- sentence-transformers ----------------------------------------------------------------------------------


class Embeddings:
    """A model whose vectors are given, with the methods that evaluators call."""

    similarity_fn_name = "cosine"

    def __init__(self, vectors: dict[str, Any]) -> None:
        self.vectors = vectors
        self.reported: list[dict[str, float]] = []
        self.model_card_data = self

    def similarity(self, queries: Any, documents: Any) -> Any:
        return queries @ documents.T

    def encode_query(self, texts: Any, **options: Any) -> Any:
        return import_module("torch").tensor(np.array([self.vectors[text] for text in texts]))

    encode_document = encode_query

    def set_evaluation_metrics(self, evaluator: Any, metrics: dict[str, float], *more: Any) -> None:
        self.reported.append(metrics)


def test_sentence_transformers(require: Any, tmp_path: Path) -> None:
    """The measures that both have, with the real evaluator beside ours; ours alone on grades."""
    require.module("torch")
    require.module("sentence_transformers")
    theirs = require.module("sentence_transformers.sentence_transformer.evaluation").InformationRetrievalEvaluator
    draw = np.random.default_rng(3)
    queries, corpus = {f"q{i}": f"q{i}" for i in range(8)}, {f"d{i}": f"d{i}" for i in range(60)}
    model = Embeddings({text: draw.normal(size=12) for text in [*queries, *corpus]})
    relevant = {query: set(draw.choice([*corpus], 5, replace=False).tolist()) for query in queries}
    expected = theirs(queries, corpus, relevant, name="dev", write_csv=False)(model)
    names = {"nDCG@10": "ndcg@10", "RR@10": "mrr@10", "P@5": "precision@5", "Recall@10": "recall@10"}
    evaluator = retrieval_evaluator(queries, corpus, relevant, " ".join(names), name="dev")
    found = evaluator(model)
    assert evaluator.primary_metric == "dev_cosine_nDCG@10"
    assert model.reported[-1] == found
    wanted = {f"dev_cosine_{ours}": expected[f"dev_cosine_{name}"] for ours, name in names.items()}
    assert found == pytest.approx(wanted)
    graded = {query: {d: float(draw.integers(3)) for d in [*corpus][:30]} for query in queries}
    run = {q: {d: float(model.vectors[q] @ model.vectors[d]) for d in corpus} for q in queries}
    asked = ["V2(nDCG@10)", "AP"]
    table = cal.evaluate(graded, run, asked).mean()
    several = retrieval_evaluator(queries, corpus, graded, asked, options={"corpus_chunk_size": 7})(model)
    assert several == pytest.approx({f"cosine_{name}": table["run", name] for name in asked})
    with pytest.raises(CalipersError, match="no query has a relevant document"):
        retrieval_evaluator(queries, corpus, {})
    functions = {"dot": model.similarity, "cosine": lambda queries, documents: -model.similarity(queries, documents)}
    options = {"write_csv": True, "score_functions": functions, "main_score_function": "cosine"}
    chosen = retrieval_evaluator(queries, corpus, relevant, ["nDCG@10", "RBP(p=0.8, rel=1)"], options=options)
    for epoch in (1, 2):
        found = chosen(model, output_path=str(tmp_path), epoch=epoch, steps=5)
    assert chosen.primary_metric == "cosine_nDCG@10"
    assert found["cosine_nDCG@10"] < found["dot_nDCG@10"]
    with (tmp_path / chosen.csv_file).open(newline="") as lines:
        header, *rows = csv.reader(lines)
    assert header == ["epoch", "steps", *found]
    assert [[float(cell) for cell in row] for row in rows] == [[epoch, 5, *found.values()] for epoch in (1, 2)]


# --- ir_measures ------------------------------------------------------------------------------------------

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 0}, "q3": {"a": 1, "b": 0}}
RUN = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"a": 1.0}}


def test_ir_measures(require: Any) -> None:
    library = require.module("ir_measures")
    asked = {
        bridge.measure("V2(nDCG@10)"): cal.evaluate(QRELS, RUN, "V2(nDCG@10)"),
        bridge.measure("nDCG@10"): cal.evaluate(QRELS, RUN, "nDCG@10"),
        bridge.measure("nDCG@10", like="yahoo"): cal.evaluate(QRELS, RUN, "nDCG@10", like="yahoo"),
        bridge.measure("AP", ties="worst"): cal.evaluate(QRELS, RUN, "AP", ties="worst"),
    }
    found = library.calc_aggregate([*asked, library.RR], QRELS, RUN)
    assert len(found) == 5
    for measure, scores in asked.items():
        assert found[measure] == pytest.approx(scores.mean().rows[0][1]), measure
        assert measure.calc_aggregate(QRELS, RUN) == pytest.approx(found[measure])
    v2 = bridge.measure("V2(nDCG@10)")
    each = {metric.query_id: metric.value for metric in v2.iter_calc(QRELS, RUN)}
    assert set(each) == set(QRELS)
    assert np.isnan(each["q2"])
    assert each["q3"] == -1  # a query that the run lacks
    assert repr(v2 @ 2) == "V2(nDCG@2)"
    assert str(bridge.measure("nDCG@10", like="yahoo")) == "nDCG@10[yahoo]"
    assert pickle.loads(pickle.dumps(v2)) == v2


def test_ir_measures_on_frames_and_lists(require: Any) -> None:
    library, pandas = require.module("ir_measures"), require.module("pandas")
    measure = bridge.measure("V2(AP)")
    wanted = measure.calc_aggregate(QRELS, RUN)
    names = ["query_id", "doc_id"]
    judged = [(q, d, g) for q in QRELS for d, g in QRELS[q].items()]
    qrels = pandas.DataFrame(judged, columns=[*names, "relevance"])
    run = pandas.DataFrame([(q, d, s) for q in RUN for d, s in RUN[q].items()], columns=[*names, "score"])
    assert library.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(wanted)
    qrels = [library.Qrel(*row) for row in judged]
    assert library.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(wanted)
    assert measure.calc_aggregate(QRELS, {"z": {"a": 1.0}}) == 0


# --- what is missing, and what is wrong -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "package"),
    [
        (for_lightgbm.metric, "lightgbm"),
        (for_lightgbm.ranker_metric, "lightgbm"),
        (for_xgboost.metric, "xgboost"),
        (for_sklearn.scorer, "sklearn"),
        (bridge.measure, "ir_measures"),
    ],
)
def test_missing_packages_are_named(make: Any, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in list(sys.modules):
        if module.partition(".")[0] == package:
            monkeypatch.delitem(sys.modules, module)
    usual = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return usual(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CalipersError, match=f"need the package {package}: pip install"):
        make("nDCG@10")


def test_wrong_measures_are_refused_at_once() -> None:
    for make in (for_lightgbm.metric, for_xgboost.metric, for_sklearn.scorer, bridge.measure):
        with pytest.raises(CalipersError, match="names 2 measures"):
            make("nDCG@{5,10}")
        with pytest.raises(CalipersError, match="unknown measure"):
            make("nonsense")
        with pytest.raises(CalipersError, match="unknown convention"):
            make("nDCG@5", like="nobody")


def test_nothing_heavy_is_imported_with_the_package() -> None:
    for name in ("lightgbm", "xgboost", "scikit_learn", "ir_measures"):
        import_module(f"calipers.tools.{name}")
    import subprocess

    code = (
        "import sys; from calipers.tools import ir_measures, lightgbm, scikit_learn, xgboost; "
        "print([m for m in ('lightgbm', 'xgboost', 'sklearn', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_keywords_are_the_scoring_options() -> None:
    from calipers.evaluation.options import ScoringOptions
    from calipers.tools.predictions import ScoringKeywords

    assert [*ScoringKeywords.__annotations__] == [*inspect.signature(ScoringOptions.__init__).parameters][1:]
