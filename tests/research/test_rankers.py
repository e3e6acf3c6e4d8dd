"""What holds for every ranker: parameters, seeds, validation, saving, and clear answers to bad input."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from calipers import CalipersError, evaluate
from conftest import Require
from research.rankers import (
    PRESETS,
    RANKERS,
    AdaRank,
    CoordinateAscent,
    LambdaMART,
    LetorData,
    ListNet,
    RankBoost,
    Ranker,
    RankNet,
    RankSVM,
    folds_of,
    load,
    ranker,
    read_letor_data,
    sampled_queries,
    synthetic_letor,
    write_letor,
)
from research.rankers.letor_data import MOST_CELLS
from research.rankers.objective import Goal
from research.rankers.synthetic import write_collection
from research.rankers.training_examples import Examples, by_query

NAMES = tuple(RANKERS)
# Small, so that all of them together take seconds.
SMALL: dict[str, dict[str, Any]] = {
    "lambdamart": {"rounds": 30, "smallest": 5},
    "randomforest": {"rounds": 30, "leaves": 20},
    "logistic": {},
    "ranksvm": {},
    "ranknet": {"epochs": 8, "rate": 0.01, "hidden": (8,)},
    "listnet": {"epochs": 8, "rate": 0.01},
    "adarank": {"rounds": 20},
    "rankboost": {"rounds": 30},
    "coordinateascent": {"restarts": 2, "iterations": 3},
}
NEEDS = {
    "lambdamart": "lightgbm",
    "randomforest": "lightgbm",
    "logistic": "sklearn",
    "ranksvm": "sklearn",
    "ranknet": "torch",
    "listnet": "torch",
}


@pytest.fixture(scope="module")
def train() -> LetorData:
    return synthetic_letor(60, seed=1)


@pytest.fixture(scope="module")
def valid() -> LetorData:
    return synthetic_letor(30, seed=2)


@pytest.fixture(scope="module")
def unseen() -> LetorData:
    return synthetic_letor(60, seed=3)


def small(name: str, **parameters: Any) -> Ranker:
    if name in NEEDS:
        Require().module(NEEDS[name])
    return RANKERS[name](**{**SMALL[name], **parameters})


def fitted(name: str, train: LetorData, valid: LetorData | None = None, **parameters: Any) -> Ranker:
    eval_set = None if valid is None else (valid.X, valid.y, valid.qid)
    return small(name, **parameters).fit(train.X, train.y, qid=train.qid, eval_set=eval_set)


def mean(data: LetorData, scores: Any, measure: str = "nDCG(gain=exp)@10", like: str | None = None) -> float:
    return float(evaluate(data.judgments(), np.asarray(scores), measure, like=like).mean().rows[0][1])


# --------------------------------------------------------------------------------------------- every ranker


def test_names_are_fixed() -> None:
    assert NAMES == (
        "lambdamart",
        "randomforest",
        "logistic",
        "ranksvm",
        "ranknet",
        "listnet",
        "adarank",
        "rankboost",
        "coordinateascent",
    )
    assert all(set(preset) == set(NAMES) for preset in PRESETS.values())


@pytest.mark.parametrize("name", NAMES)
def test_learns_what_there_is_to_learn(name: str, train: LetorData, valid: LetorData, unseen: LetorData) -> None:
    """Far above a random ranking, on queries that it has not seen."""
    machine = fitted(name, train, valid)
    rng = np.random.default_rng(0)
    chance = np.mean([mean(unseen, rng.random(len(unseen))) for _ in range(5)])
    best = mean(unseen, unseen.y)
    assert mean(unseen, machine.predict(unseen.X)) > chance + 0.4 * (best - chance)
    assert machine.validation_ == pytest.approx(mean(valid, machine.predict(valid.X)), abs=1e-12)


ROUNDING = 1e-5  # of what is added in another order, by networks in single precision


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_model(name: str, train: LetorData, valid: LetorData) -> None:
    one, other = (fitted(name, train, valid, seed=7) for _ in range(2))
    assert one.predict(valid.X) == pytest.approx(other.predict(valid.X), rel=ROUNDING, abs=ROUNDING)


def another_order(data: LetorData) -> Any:
    """Rows such that queries come in another order, mixed with each other, and each query's documents in the same."""
    size = np.bincount(data.query)
    place = np.arange(len(data)) - np.repeat(np.cumsum(size) - size, size)
    return np.lexsort((np.random.default_rng(4).permutation(len(size))[data.query], place))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_does_not_depend_on_the_order_of_the_queries(name: str, train: LetorData, valid: LetorData) -> None:
    rows, others = another_order(train), another_order(valid)
    one = fitted(name, train, valid)
    other = small(name).fit(
        train.X[rows],
        train.y[rows],
        qid=[f"q{-int(train.query[row])}" for row in rows],
        eval_set=(valid.X[others], valid.y[others], valid.qid[others]),
    )
    assert one.predict(valid.X) == pytest.approx(other.predict(valid.X), rel=ROUNDING, abs=ROUNDING)


@pytest.mark.parametrize("name", NAMES)
def test_a_document_has_its_score_wherever_it_stands(name: str, train: LetorData, valid: LetorData) -> None:
    """To the last bit, on every processor: in another order, among fewer documents, and alone."""
    machine = fitted(name, train, valid)
    scores = machine.predict(valid.X)
    rows = np.random.default_rng(5).permutation(len(valid))
    assert (machine.predict(valid.X[rows]) == scores[rows]).all()
    assert (machine.predict(valid.X[3:20]) == scores[3:20]).all()
    assert [machine.predict(valid.X[row : row + 1])[0] for row in range(7)] == scores[:7].tolist()


def test_examples_have_one_order() -> None:
    """To the last bit: queries by their content, their documents as they came; dense, sparse, by ids or by sizes."""
    data = synthetic_letor(40, seed=9)
    twice = np.concatenate([data.X, -0.0 * data.X[:5]])  # a query of zeros with either sign
    labels, query = np.append(data.y, [1.0, 0.0, 2.0, 0.0, 0.0]), np.append(data.query, [40] * 5)
    both = LetorData(twice, labels, query, (*data.queries, "zeros"))
    one = Examples.of(both.X, both.y, None, np.bincount(both.query), "x")
    rows = another_order(both)
    for features in (both.X[rows], csr_matrix(both.X[rows]), np.asfortranarray(both.X[rows])):
        other = Examples.of(features, both.y[rows], both.query[rows] * 7 % 41, None, "x")
        assert (other.dense == one.dense).all()
        assert (other.y == one.y).all()
        assert (other.size == one.size).all()
    assert sorted(one.size) == sorted(np.bincount(both.query))
    found = {tuple(map(tuple, part)) for part in np.split(one.dense, np.cumsum(one.size)[:-1])}
    assert found == {tuple(map(tuple, both.X[both.query == q])) for q in range(41)}


@pytest.mark.parametrize("name", ["logistic", "ranksvm", "adarank", "rankboost", "coordinateascent"])
def test_equal_documents_have_equal_scores(name: str, train: LetorData) -> None:
    """Wherever they stand in the matrix: a last bit of difference would break a tie."""
    machine = fitted(name, train)
    X = np.concatenate([train.X[:7], train.X, train.X[:1]])
    assert (machine.predict(X)[7:-1] == machine.predict(train.X)).all()
    for row in range(5):
        assert (machine.predict(train.X[row : row + 1]) == machine.predict(X)[row]).all()


@pytest.mark.parametrize("name", NAMES)
def test_sparse_features_are_the_same_features(name: str, train: LetorData) -> None:
    one = fitted(name, train).predict(train.X)
    sparse = small(name).fit(csr_matrix(train.X), train.y, qid=train.qid)
    assert sparse.predict(csr_matrix(train.X)) == pytest.approx(one, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_says_the_same(name: str, train: LetorData, valid: LetorData, tmp_path: Path) -> None:
    machine = fitted(name, train, valid, seed=3)
    path = str(tmp_path / "model.cal")
    machine.save(path)
    again = load(path)
    assert type(again) is type(machine)
    assert again.model_.keys() == machine.model_.keys()
    assert all((again.model_[key] == array).all() for key, array in machine.model_.items())
    assert again.predict(valid.X) == pytest.approx(machine.predict(valid.X), rel=ROUNDING, abs=ROUNDING)
    assert again.get_params() == machine.get_params()
    assert again.validation_ == machine.validation_
    assert type(machine).load(path).features_ == train.width
    wrong = AdaRank if name != "adarank" else RankSVM
    with pytest.raises(CalipersError, match=f"the model is a {name}, not a {wrong.name}"):
        wrong.load(path)
    again.save(str(tmp_path / "again.cal"))
    assert (tmp_path / "again.cal").read_bytes() == (tmp_path / "model.cal").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_parameters_by_name(name: str) -> None:
    machine = RANKERS[name]()
    parameters = machine.get_params()
    assert {"metric", "like", "normalize", "tune", "seed"} <= set(parameters)
    assert machine.set_params(seed=9).get_params() == {**parameters, "seed": 9}
    assert repr(machine).startswith(type(machine).__name__)
    with pytest.raises(CalipersError, match=f"{name} has no parameter 'depth'; there are metric"):
        machine.set_params(depth=3)


@pytest.mark.parametrize("name", NAMES)
def test_progress_adds_up(name: str, train: LetorData) -> None:
    done: list[int] = []
    machine = small(name)
    machine.fit(train.X, train.y, qid=train.qid, progress=done.append)
    assert sum(done) == machine.steps


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: (np.where(np.arange(d.X.size).reshape(d.X.shape) == 40, np.nan, d.X), d.y, d.qid),
            r"training data: feature 5 of document 4 is not a finite number",
        ),
        (lambda d: (np.ones_like(d.X), d.y, d.qid), "all 12 features are constant"),
        (lambda d: (d.X, np.zeros_like(d.y), d.qid), r"no document is relevant \(has a label above 0\)"),
        (lambda d: (d.X, d.y[:-1], d.qid), "documents with features, but .* labels"),
        (lambda d: (d.X, np.where(np.arange(len(d.y)) == 2, np.nan, d.y), d.qid), "the label of document 3 is not"),
        (lambda d: (d.X, d.y, d.qid[:-1]), "query ids for .* documents"),
        (lambda d: (d.X, d.y, None), "give either qid"),
        (lambda d: (d.X[0], d.y, d.qid), r"features must be \[document, feature\], not an array of shape \(12,\)"),
        (lambda d: (d.X[:0], d.y[:0], d.qid[:0]), "0 documents with 12 features: nothing to rank"),
    ],
)
def test_bad_training_data(
    name: str, change: Callable[[LetorData], tuple[Any, Any, Any]], message: str, train: LetorData
) -> None:
    X, y, qid = change(train)
    with pytest.raises(CalipersError, match=message):
        RANKERS[name]().fit(X, y, qid=qid)


@pytest.mark.parametrize("name", NAMES)
def test_other_features_than_in_training(name: str, train: LetorData, valid: LetorData) -> None:
    with pytest.raises(
        CalipersError, match="validation data: 11 features, where the training data has 12: other features"
    ):
        RANKERS[name]().fit(train.X, train.y, qid=train.qid, eval_set=(valid.X[:, 1:], valid.y, valid.qid))
    machine = fitted(name, train)
    with pytest.raises(CalipersError, match="test data: 13 features, where the training data had 12: other features"):
        machine.predict(np.ones((3, 13)))
    with pytest.raises(CalipersError, match="feature 1 of document 2 is not a finite number"):
        machine.predict(np.where(np.arange(24).reshape(2, 12) == 12, np.inf, 0.0))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_predicted_or_saved_before_it_is_fitted(name: str, tmp_path: Path) -> None:
    with pytest.raises(CalipersError, match=f"{name} has not been fitted"):
        RANKERS[name]().predict(np.ones((1, 1)))
    with pytest.raises(CalipersError, match=f"{name} has not been fitted"):
        RANKERS[name]().save(str(tmp_path / "x.cal"))


def test_constant_features_are_counted(train: LetorData) -> None:
    assert fitted("adarank", train).notes_ == [
        "1 of 12 features are constant over the training data: they rank nothing"
    ]


def test_features_are_normalised_inside_queries(train: LetorData, unseen: LetorData) -> None:
    """A factor and an offset for each query, which a query-wise normalisation takes back."""
    rng = np.random.default_rng(5)

    def bent(data: LetorData) -> Any:
        return (
            data.X * rng.uniform(1, 9, (len(data.queries), 1))[data.query]
            + rng.normal(size=len(data.queries))[data.query][:, None]
        )

    plain = fitted("adarank", train, metric="AP")
    other = small("adarank", metric="AP", normalize="query").fit(bent(train), train.y, qid=train.qid)
    expected = plain.predict(unseen.X)
    assert other.predict(bent(unseen), qid=unseen.qid) == pytest.approx(expected, abs=1e-9)
    with pytest.raises(CalipersError, match="give qid to predict too"):
        other.predict(unseen.X)
    with pytest.raises(CalipersError, match="normalize='all' is not one of none, query"):
        small("adarank", normalize="all").fit(train.X, train.y, qid=train.qid)


def test_query_wise_normalisation_of_scattered_queries() -> None:
    X = np.array([[1.0], [10.0], [3.0], [20.0], [2.0]])
    assert by_query(X, np.array([0, 1, 0, 1, 0])).ravel().tolist() == [0, 0, 1, 1, 0.5]


def test_tuning_keeps_the_best_on_validation_data(train: LetorData, valid: LetorData) -> None:
    Require().module("sklearn")
    values = (1e-6, 1e-3, 1.0)
    each = [fitted("ranksvm", train, valid, C=C).validation_ for C in values]
    tuned = fitted("ranksvm", train, valid, tune={"C": values})
    assert tuned.validation_ == max(each)
    assert tuned.chosen_ == {"C": values[int(np.argmax(each))]}
    with pytest.raises(CalipersError, match="tuning C needs validation data"):
        fitted("ranksvm", train, tune={"C": values})
    with pytest.raises(CalipersError, match="no parameter 'depth' to tune"):
        fitted("ranksvm", train, valid, tune={"depth": (1, 2)})


def test_a_tuned_network_is_saved_with_what_was_chosen(train: LetorData, valid: LetorData, tmp_path: Path) -> None:
    machine = fitted("ranknet", train, valid, epochs=2, tune={"hidden": ((4,), (3, 2))})
    machine.save(str(tmp_path / "model.cal"))
    again = load(str(tmp_path / "model.cal"))
    assert again.chosen_ == machine.chosen_
    assert (again.predict(valid.X) == machine.predict(valid.X)).all()


@pytest.mark.parametrize("eval_set", [[1], (1, 2), "x"])
def test_validation_data_of_the_wrong_form(eval_set: Any, train: LetorData) -> None:
    with pytest.raises(CalipersError, match=r"eval_set must be \(X, y, qid\)"):
        AdaRank().fit(train.X, train.y, qid=train.qid, eval_set=eval_set)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rounds": 0}, "adarank: rounds=0 is not a number above 0"),
        ({"rounds": True}, "adarank: rounds=True is not a number above 0"),
        ({"metric": "nDCG@10 AP"}, "names 2 measures; expected one"),
        ({"metric": "nDGC@10"}, "nDCG"),
        ({"like": "letor9"}, "unknown convention 'letor9'"),
        ({"metric": "NumRel"}, "NumRel says the same of every ranking of these queries"),
        ({"metric": "alpha-nDCG@10"}, "needs judgments by subtopic"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str, train: LetorData) -> None:
    with pytest.raises(CalipersError, match=message):
        AdaRank(**parameters).fit(train.X, train.y, qid=train.qid)


def test_labels_that_a_convention_cannot_express(train: LetorData) -> None:
    with pytest.raises(CalipersError, match="label 4 of query '1' is beyond what the profile 'letor4' can express"):
        AdaRank(metric="nDCG@10", like="letor4").fit(train.X, train.y * 0 + 4, qid=train.qid)
    Require().module("lightgbm")
    with pytest.raises(CalipersError, match=r"lambdamart takes whole labels from 0 to 30, not 0\.5"):
        LambdaMART(rounds=2).fit(train.X, train.y / 2, qid=train.qid)


def test_unknown_names() -> None:
    with pytest.raises(CalipersError, match="unknown ranker 'adarnk'; did you mean adarank"):
        ranker("adarnk")
    with pytest.raises(CalipersError, match="unknown preset 'slow'; there are quick, paper"):
        ranker("adarank", "slow")


def test_the_papers_settings() -> None:
    """Busa-Fekete et al. (2012), section 4."""
    assert ranker("coordinateascent", "paper").get_params().items() >= {"restarts": 30, "iterations": 100}.items()
    assert ranker("lambdamart", "paper").get_params().items() >= {"leaves": 10, "rate": 0.1}.items()
    layers = ranker("ranknet", "paper").tune["hidden"]
    assert {len(hidden) for hidden in layers} == {1, 2, 3}
    assert (min(min(h) for h in layers), max(max(h) for h in layers)) == (10, 500)
    grid = ranker("ranksvm", "paper").tune["C"]
    assert (min(grid), max(grid)) == pytest.approx((1e-6, 1e4))
    assert ranker("ranksvm", "paper").get_params()["tolerance"] == 0.001


# ---------------------------------------------------------------------------------------------- model files


@pytest.fixture
def model(train: LetorData, tmp_path: Path) -> Path:
    path = tmp_path / "model.cal"
    fitted("adarank", train).save(str(path))
    return path


def rewritten(path: Path, old: bytes, new: bytes) -> None:
    """Change the content of a model, with a checksum that fits."""
    from hashlib import sha256

    first, _, body = path.read_bytes().split(b"\n", 2)
    assert old in body
    body = body.replace(old, new)
    path.write_bytes(first + b"\n" + sha256(body).hexdigest().encode() + b"\n" + body)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: b[:-1] + bytes([b[-1] ^ 1]), "the model is damaged: its checksum does not match"),
        (lambda b: b[:-8], "the model is damaged: its checksum does not match"),
        (lambda b: b[:30], "the model is damaged: its checksum does not match"),
        (lambda b: b"", "not a model of calipers"),
        (lambda b: b"\x80\x04K\x01.", "not a model of calipers"),
        (
            lambda b: b.replace(b"calipers-model 1", b"calipers-model 2", 1),
            "a model of format 2, and this version reads format 1",
        ),
        (lambda b: b.replace(b"calipers-model 1", b"calipers-model x", 1), "not a model of calipers"),
    ],
)
def test_a_damaged_model_is_refused(model: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    model.write_bytes(damage(model.read_bytes()))
    with pytest.raises(CalipersError, match=re.escape(str(model)) + ": " + message):
        load(str(model))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"ranker": "adarank"', b'"ranker": "pagerank"', "unknown ranker 'pagerank'"),
        (b'"features": 12', b'"features": 11', "not one that adarank can read"),
        (b'"<f8"', b'"|O8"', "not one that adarank can read"),
        (b"[12]]]", b"[13]]]", "not one that adarank can read"),
        (b'"rounds": 20', b'"depth": 20', "not one that adarank can read"),
        (b'{"arrays"', b'["arrays"', "its header cannot be read"),
    ],
)
def test_a_model_that_was_tampered_with_is_refused(model: Path, old: bytes, new: bytes, message: str) -> None:
    rewritten(model, old, new)
    with pytest.raises(CalipersError, match=message):
        load(str(model))


def test_a_model_with_foreign_trees_is_refused(train: LetorData, tmp_path: Path) -> None:
    path = tmp_path / "trees.cal"
    fitted("lambdamart", train).save(str(path))
    rewritten(path, b"max_feature_idx=11", b"max_feature_idx=12")
    with pytest.raises(CalipersError, match="not one that lambdamart can read"):
        load(str(path))


def test_a_boosted_model_cannot_read_beyond_the_features(train: LetorData, tmp_path: Path) -> None:
    machine = fitted("rankboost", train)
    path = tmp_path / "x.cal"
    machine.save(str(path))
    features = machine.model_["feature"].astype("<i4")
    rewritten(path, features.tobytes(), np.full_like(features, 12).tobytes())
    with pytest.raises(CalipersError, match="a feature beyond the 12"):
        load(str(path))
    machine.model_["feature"][0] = 12
    with pytest.raises(CalipersError, match="a feature beyond the 12"):
        machine.save(str(path))


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.cal", tmp_path):
        with pytest.raises(CalipersError, match="there is no such file"):
            load(str(path))


# ------------------------------------------------------------------------------------- measures, conventions


MEASURES = [
    ("nDCG(gain=exp)@10", None),
    ("V2(nDCG@10)", None),
    ("V1(AP@10)", None),
    ("nDCG@10", "letor4"),
    ("nDCG@10", "yahoo"),
    ("nDCG@10", "definition"),
    ("nDCG@10", "ranklib"),
    ("nDCG", "letor4"),
    ("AP", "xgboost-minus"),
    ("P@5", "letor3"),
    ("ERR@10", None),
    ("RBP(p=0.8)", None),
    ("bpref", None),
    ("RR", None),
    ("gm_map", None),
    ("DCG@10", None),
]


@pytest.mark.parametrize(("measure", "like"), MEASURES)
def test_the_objective_is_what_evaluate_says(measure: str, like: str | None, train: LetorData) -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(3, len(train))).round(1)  # with ties
    y = np.minimum(train.y, 1) if like == "xgboost-minus" else train.y
    data = LetorData(train.X, y, train.query, train.queries)
    objective = Goal(measure, like).on(y, np.bincount(train.query))
    assert objective.mean(scores) == pytest.approx([mean(data, each, measure, like) for each in scores], abs=1e-12)


@pytest.mark.parametrize(("measure", "like"), MEASURES)
@pytest.mark.parametrize("name", ["adarank", "coordinateascent"])
def test_any_measure_can_be_optimised(name: str, measure: str, like: str | None, train: LetorData) -> None:
    """The model is better than each feature alone (or as good), by the measure that it was trained for."""
    y = np.minimum(train.y, 1) if like == "xgboost-minus" else train.y
    machine = RANKERS[name](
        metric=measure, like=like, **({"restarts": 1, "iterations": 4} if name[0] == "c" else {"rounds": 5})
    )
    machine.fit(train.X, y, qid=train.qid)
    objective = Goal(measure, like).on(y, np.bincount(train.query))
    reached = float(objective.mean(machine.predict(train.X))[0])
    alone = objective.mean(train.X.T)
    assert reached >= (alone.max() if name == "coordinateascent" else np.sort(alone)[-3]) - 1e-9


@pytest.mark.parametrize(("measure", "like"), [("V2(nDCG@10)", None), ("AP", None), ("nDCG@10", "letor4")])
def test_lambdamart_stops_by_any_measure(measure: str, like: str | None, train: LetorData, valid: LetorData) -> None:
    """Of all numbers of trees the one with the best score on validation data is kept."""
    lightgbm = Require().module("lightgbm")
    machine = small("lambdamart", metric=measure, like=like, patience=None)
    machine.fit(train.X, train.y, qid=train.qid, eval_set=(valid.X, valid.y, valid.qid))
    kept = lightgbm.Booster(model_str=machine.model_["text"].tobytes().decode()).num_trees()
    every = small("lambdamart", metric=measure, like=like).fit(train.X, train.y, qid=train.qid)
    booster = lightgbm.Booster(model_str=every.model_["text"].tobytes().decode())
    scores = [mean(valid, booster.predict(valid.X, num_iteration=n), measure, like) for n in range(1, 31)]
    assert machine.validation_ == pytest.approx(max(scores), abs=1e-12)
    assert scores[kept - 1] == pytest.approx(max(scores), abs=1e-12)


def test_what_a_convention_leaves_untaught(train: LetorData) -> None:
    """Under letor4 lists shorter than the cutoff teach nothing; queries without a relevant document never do."""
    size = np.bincount(train.query)
    graded = np.array([len(set(train.y[train.query == q])) > 1 for q in range(len(size))])
    assert (Goal("nDCG@10", "definition").on(train.y, size).moving == graded).all()
    assert (Goal("nDCG@10", "letor4").on(train.y, size).moving == (graded & (size >= 10))).all()


def test_yahoo_adds_a_constant_and_so_changes_no_model(train: LetorData, valid: LetorData) -> None:
    """For what optimises a mean, counting empty queries as 1 is the same goal."""
    for name in ("coordinateascent", "lambdamart"):
        one, other = (fitted(name, train, valid, metric="nDCG@10", like=like) for like in ("definition", "yahoo"))
        assert (one.predict(valid.X) == other.predict(valid.X)).all()
        assert other.validation_ > one.validation_


def test_ties_by_document_id_are_averaged_in_training(train: LetorData) -> None:
    size = np.bincount(train.query)
    tied = np.zeros(len(train))
    assert Goal("nDCG@10", "trec_eval").on(train.y, size).mean(tied) == Goal("nDCG@10").on(train.y, size).mean(tied)


# ------------------------------------------------------------------------------------------- the three of ours


def test_adarank_is_the_papers(train: LetorData) -> None:
    """Against the algorithm as it is written, round by round."""
    size = np.bincount(train.query)
    objective = Goal("AP").on(train.y, size)
    usable = [f for f in range(train.width) if np.ptp(train.X[:, f]) > 0]
    P = np.full(len(size), 1 / len(size))
    weights, recent = np.zeros(train.width), []
    for _ in range(12):
        value = {f: float(P @ objective.of(train.X[:, f])[0]) for f in usable if recent[-5:] != [f] * 5}
        best = max(value, key=lambda f: value[f])
        E = objective.of(train.X[:, best])[0]
        weights[best] += 0.5 * np.log((P * (1 + E)).sum() / (P * (1 - E)).sum())
        recent.append(best)
        P = np.exp(-objective.of(train.X @ weights)[0])
        P /= P.sum()
    assert len(set(recent)) > 1
    assert AdaRank(metric="AP", rounds=12).fit(train.X, train.y, qid=train.qid).weights == pytest.approx(weights)


def test_yahoos_convention_can_change_which_features_adarank_takes() -> None:
    """An empty query counts 1 for every feature. That changes the weights of features, and so later choices."""
    draw = np.random.default_rng(234)
    X = draw.random((40, 6)).round(1) + 1e-3 * draw.random((40, 6))
    labels = draw.integers(0, 3, 40)
    query = np.repeat(np.arange(8), 5)
    labels[query % 2 == 0] = 0
    taken = []
    for like in ("definition", "yahoo"):
        machine = AdaRank(rounds=50, metric="nDCG(gain=exp)@5", like=like).fit(X, labels, qid=query)
        taken.append(np.flatnonzero(machine.model_["weights"]).tolist())
    assert taken[0] != taken[1]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rankboost_stops_where_no_pair_has_weight_left(sign: float, tmp_path: Path) -> None:
    """One threshold orders all pairs: scores would grow until their weights are 0/0."""
    X = sign * np.array([[0.0], [1.0], [0.0], [1.0]])
    machine = RankBoost(rounds=300).fit(X, [0, 1, 0, 1], qid=[1, 1, 2, 2])
    assert np.isfinite(machine.model_["alpha"]).all()
    assert np.sign(np.diff(machine.predict(X)))[[0, 2]].tolist() == [1.0, 1.0]
    machine.save(str(tmp_path / "model.cal"))
    assert load(str(tmp_path / "model.cal")).predict(X).tolist() == machine.predict(X).tolist()


@pytest.mark.parametrize("name", [name for name in SMALL if NEEDS.get(name) != "lightgbm"])  # which writes text
def test_a_model_that_cannot_be_read_is_not_written(name: str, train: LetorData, tmp_path: Path) -> None:
    machine = fitted(name, train)
    array = next(each for each in machine.model_.values() if each.dtype.kind == "f")
    array.flat[0] = np.nan
    with pytest.raises(CalipersError, match=f"{name} learnt cannot be used .*: it is not saved"):
        machine.save(str(tmp_path / "model.cal"))
    assert list(tmp_path.iterdir()) == []


def test_rankboost_is_the_papers(train: LetorData) -> None:
    """Against pairs of documents, each with its weight."""
    X, y = train.X, train.y
    worse, better = np.nonzero((y[:, None] < y) & (train.query[:, None] == train.query))
    D = np.full(len(worse), 1 / len(worse))
    score = np.zeros(len(y))
    for _ in range(6):
        found = []
        for feature in range(train.width):
            for threshold in np.unique(X[:, feature])[:-1]:
                h = X[:, feature] > threshold
                found.append((float(D @ (h[better].astype(float) - h[worse])), feature, threshold))
        r, feature, threshold = max(found, key=lambda each: abs(each[0]))
        alpha = 0.5 * np.log((1 + r) / (1 - r))
        h = (X[:, feature] > threshold).astype(float)
        score += alpha * h
        D *= np.exp(-alpha * (h[better] - h[worse]))
        D /= D.sum()
    machine = RankBoost(rounds=6, thresholds=10**6).fit(X, y, qid=train.qid)
    assert machine.predict(X) == pytest.approx(score, abs=1e-9)


def test_coordinate_ascent_climbs_and_finds_the_weights(train: LetorData) -> None:
    """With labels that one feature minus another decides, a linear model ranks ideally."""
    rng = np.random.default_rng(2)
    X = rng.random((400, 4))
    y = np.digitize(X[:, 0] - X[:, 2], (0.0, 0.4)).astype(float)
    qid = np.repeat(np.arange(20), 20)
    scores = [
        float(
            Goal("nDCG@10")
            .on(y, np.full(20, 20))
            .mean(
                CoordinateAscent(metric="nDCG@10", restarts=1, iterations=n, tolerance=0).fit(X, y, qid=qid).predict(X)
            )[0]
        )
        for n in (1, 2, 4, 8)
    ]
    assert scores == sorted(scores)
    assert scores[-1] > 0.995


def test_more_restarts_are_never_worse_on_validation_data(train: LetorData, valid: LetorData) -> None:
    scores = [fitted("coordinateascent", train, valid, restarts=n).validation_ for n in (1, 3)]
    assert scores[1] >= scores[0]


@pytest.mark.parametrize("kind", [RankNet, ListNet])
def test_networks_rank_without_pytorch(kind: type[RankNet | ListNet], train: LetorData) -> None:
    """NumPy's forward pass is PyTorch's."""
    torch = Require().module("torch")
    machine = kind(epochs=2, hidden=(5, 3)).fit(train.X, train.y, qid=train.qid)
    model = machine.model_
    value = torch.tensor((train.X - model["mean"]) / model["spread"], dtype=torch.float32)
    for layer in range(3):
        value = value @ torch.tensor(model[f"weight{layer}"]) + torch.tensor(model[f"bias{layer}"])
        value = torch.relu(value) if layer < 2 else value
    assert machine.predict(train.X) == pytest.approx(value.ravel().double().numpy(), abs=1e-5)


def test_pairs_are_drawn_where_there_are_too_many(train: LetorData) -> None:
    from research.rankers.pairs import ordered_pairs

    examples = Examples.of(train.X, train.y, train.qid, None, "x")
    every = set(zip(*(rows.tolist() for rows in ordered_pairs(examples, 10**6, np.random.default_rng(1))), strict=True))
    expected = sum(
        int((train.y[train.query == q][:, None] > train.y[train.query == q]).sum()) for q in range(len(train.queries))
    )
    assert len(every) == expected
    for most in (50, expected - 5):
        drawn = ordered_pairs(examples, most, np.random.default_rng(1))
        pairs = list(zip(*(rows.tolist() for rows in drawn), strict=True))
        assert len(pairs) == most
        assert set(pairs) <= every


def test_no_two_documents_of_a_query_differ(train: LetorData) -> None:
    y = (train.query % 2 == 0).astype(float)  # all documents of a query alike
    for name in ("rankboost", "ranksvm", "adarank"):
        with pytest.raises(CalipersError, match="nothing can be learnt"):
            small(name).fit(train.X, y, qid=train.qid)


# ------------------------------------------------------------------------------------------------------ data


def test_synthetic_data_is_as_described() -> None:
    data = synthetic_letor(400, empty=0.2, short=0.3, seed=5)
    size = np.bincount(data.query)
    relevant = np.bincount(data.query, data.y > 0)
    assert 0.27 < (size < 10).mean() < 0.33
    assert (relevant == 0).mean() >= 0.2
    assert set(data.y) == {0.0, 1.0, 2.0}
    correlation = [abs(np.corrcoef(data.X[:, f], data.y)[0, 1]) for f in range(11)]
    assert min(correlation[:6]) > 0.15 > 0.06 > max(correlation[6:])
    assert np.ptp(data.X[:, 11]) == 0
    assert (synthetic_letor(400, empty=0.2, short=0.3, seed=5).X == data.X).all()


def test_written_data_is_read_back(tmp_path: Path, train: LetorData) -> None:
    write_letor(train, tmp_path / "a.txt")
    again = read_letor_data(tmp_path / "a.txt")
    assert np.allclose(again.X, train.X, rtol=0, atol=1e-6)
    assert (again.y == train.y).all()
    assert again.queries == train.queries
    assert (again.query == train.query).all()


def test_queries_of_two_files_are_different_queries(tmp_path: Path, train: LetorData) -> None:
    for name in ("a.txt", "b.txt"):
        write_letor(train, tmp_path / name)
    both = read_letor_data([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert len(set(both.queries)) == 2 * len(train.queries)
    assert (both.query[len(train) :] - both.query[: len(train)] == len(train.queries)).all()
    sparse = read_letor_data([tmp_path / "a.txt", tmp_path / "b.txt"], sparse=True)
    assert (sparse.X.toarray() == both.X).all()


def test_dense_and_sparse_features_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "part.txt"
    path.write_text("1 qid:a 2:0.5\n0 qid:a\n\n2 qid:b 1:1 4:2 # x\n")
    expected = [[0, 0.5, 0, 0], [0, 0, 0, 0], [1, 0, 0, 2]]
    assert read_letor_data(path).X.tolist() == expected
    assert read_letor_data(path, sparse=True).X.toarray().tolist() == expected
    assert read_letor_data(path).qid.tolist() == ["a", "a", "b"]
    assert read_letor_data(path, width=6).X.shape == read_letor_data(path, width=6, sparse=True).X.shape == (3, 6)
    with pytest.raises(CalipersError, match=r"part\.txt: feature 4, where the training data has 3: other features"):
        read_letor_data(path, width=3)


@pytest.mark.parametrize("opened", [gzip.open, bz2.open, lzma.open])
def test_compressed_files_and_sizes_of_queries(opened: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / f"part.{ {gzip.open: 'gz', bz2.open: 'bz2', lzma.open: 'xz'}[opened] }"
    with opened(path, "wt") as file:
        file.write("# made by hand\n2 1:0.5 3:1\n0 2:1\r\n\n1 1:0.25 # x\n0 1:0.75\n")
    path.with_name(f"{path.name}.query").write_text("2\n2\n")
    data = read_letor_data(path)
    assert data.X[:, 0].tolist() == [0.5, 0, 0.25, 0.75]
    assert (data.y.tolist(), data.query.tolist()) == ([2, 0, 1, 0], [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:0.5\n1 1:0.5\n", ":2: expected qid:ID after the label, found '1:0.5'"),
        ("x qid:1 1:1\n1 qid:1 0:1\n", ":1: label 'x' is not a number"),
        ("# nothing\n", ":1: nothing but comments and empty lines"),
        ("1 qid:1\n0 qid:1\n", ": no line has a feature"),
        ("1 qid:1 0:1\n", ": the features cannot be read: Invalid index 0"),
        ("1 qid:1 2:0.5 1:1\n", ": the features cannot be read: Feature indices"),
        ("1 qid:1 1:NULL\n", ": the features cannot be read: could not convert string to float"),
        ("1 qid:1 99999999999999999999:1\n", ": the features cannot be read: "),
    ],
)
def test_files_that_cannot_be_read(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "part.txt"
    path.write_text(text)
    with pytest.raises(CalipersError, match=re.escape(f"{path}{message}")):
        read_letor_data(path)


def test_a_matrix_that_would_be_huge_and_empty_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "part.txt"
    path.write_text(f"1 qid:1 {MOST_CELLS}:1\n0 qid:1 1:1\n")
    with pytest.raises(CalipersError, match="too large and nearly empty: read it as a sparse one"):
        read_letor_data(path)
    assert read_letor_data(path, sparse=True).X.shape == (2, MOST_CELLS)


def test_sampled_queries_are_whole(train: LetorData) -> None:
    part = sampled_queries(train, 10, seed=3)
    assert len(part.queries) == 10
    for q, name in enumerate(part.queries):
        assert (part.X[part.query == q] == train.X[train.qid == name]).all()
    assert sampled_queries(train, 10, seed=3).queries == part.queries != sampled_queries(train, 10, seed=4).queries
    with pytest.raises(CalipersError, match="61 queries cannot be drawn from 60"):
        sampled_queries(train, 61)


def test_folds_of_a_readme_of_parts_and_of_folders(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "c", 25)
    with_readme = folds_of(folder)
    (folder / "readme.txt").unlink()
    assert folds_of(folder) == with_readme
    first = with_readme[0]
    assert [Path(file).name for file in (*first.train, *first.valid, *first.test)] == [f"S{i}.txt" for i in range(1, 6)]
    assert len(folds_of(folder, 2)) == 2
    place = tmp_path / "m" / "Fold1"
    place.mkdir(parents=True)
    for name in ("train.txt.gz", "vali.txt", "test.txt"):
        (place / name).write_text("x")
    (fold,) = folds_of(tmp_path / "m")
    assert [Path(file).name for file in (*fold.train, *fold.valid, *fold.test)] == [
        "train.txt.gz",
        "vali.txt",
        "test.txt",
    ]


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda f: f.rmdir(), "is not a folder"),
        (lambda f: None, "has no folds"),
        (lambda f: (f / "readme.txt").write_text("Fold1 S1, S2 S3 S4\n"), "there is no file S1"),
        (lambda f: (f / "readme.txt").write_text("Fold1 S1\n"), "fold 1 names 1 parts"),
        (lambda f: (f / "Fold1").mkdir(), "there is no file train"),
    ],
)
def test_folders_without_folds(tmp_path: Path, prepare: Callable[[Path], Any], message: str) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    prepare(folder)
    with pytest.raises(CalipersError, match=message):
        folds_of(folder)


def test_more_folds_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(CalipersError, match="has 5 folds, not 6"):
        folds_of(write_collection(tmp_path, 25), 6)
