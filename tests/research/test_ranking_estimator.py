"""Rankers as estimators of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.tools.scikit_learn import scorer
from research import rankers
from research.rankers.scikit_learn_estimator import RankingEstimator

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

DATA = rankers.synthetic_letor(50, seed=1)
FEATURES, LABELS, QUERY = DATA.X, DATA.y, DATA.query

QUICK = {"rounds": 5, "epochs": 5, "restarts": 1, "iterations": 5}
WHOLE_LABELS = (
    "check_n_features_in_after_fitting check_regressors_train check_regressor_data_not_an_array check_n_features_in "
    "check_regressors_no_decision_function check_fit_idempotent check_fit_check_is_fitted"
)
# The checks that ranking does not allow, and why: research/rankers/README.md lists them.
NOT_ALLOWED = {
    "LambdaMART": dict.fromkeys(WHOLE_LABELS.split(), "labels are whole numbers"),
    "Logistic": dict.fromkeys(["check_estimators_dtypes", "check_fit2d_1feature"], "some documents are not relevant"),
}


@pytest.mark.parametrize("name", sorted(ranker.__name__ for ranker in rankers.RANKERS.values()))
def test_rankers_pass_sklearns_checks(name: str, require: Any) -> None:
    checks = require.module("sklearn.utils.estimator_checks")
    ranker = getattr(rankers, name)
    estimator = RankingEstimator(ranker(**{key: value for key, value in QUICK.items() if key in ranker().get_params()}))
    excused = NOT_ALLOWED.get(name, {})
    found = checks.check_estimator(estimator, expected_failed_checks=excused, on_skip=None)
    assert {check["check_name"] for check in found if check["status"] == "xfail"} == set(excused)
    assert sum(check["status"] == "passed" for check in found) >= 40
    page = (Path(__file__).parents[2] / "research/rankers/README.md").read_text(encoding="utf-8")
    (listed,) = [line for line in page.splitlines() if line.startswith(f"| {name} ")] if excused else [""]
    assert all(check.removeprefix("check_").removesuffix("_after_fitting") in listed for check in excused)


def test_rankers_in_sklearns_model_selection(require: Any) -> None:
    sklearn, selection = require.module("sklearn"), require.module("sklearn.model_selection")
    pipeline, preprocessing = require.module("sklearn.pipeline"), require.module("sklearn.preprocessing")
    folds, scoring = selection.GroupKFold(3), scorer("nDCG@10")
    with sklearn.config_context(enable_metadata_routing=True):
        model = RankingEstimator(rankers.RankSVM()).set_fit_request(groups=True)
        found = selection.cross_val_score(model, FEATURES, LABELS, cv=folds, scoring=scoring, params={"groups": QUERY})
        scaled = pipeline.make_pipeline(preprocessing.StandardScaler(), model)
        search = selection.GridSearchCV(scaled, {"rankingestimator__ranker__C": [1e-9, 1.0]}, cv=folds, scoring=scoring)
        search.fit(FEATURES, LABELS, groups=QUERY)
    wanted = []
    for train, test in folds.split(FEATURES, LABELS, QUERY):
        ranker = rankers.RankSVM().fit(FEATURES[train], LABELS[train], qid=QUERY[train])
        judgments = cal.Judgments.from_arrays(LABELS[test], qid=QUERY[test])
        wanted.append(cal.evaluate(judgments, ranker.predict(FEATURES[test]), "nDCG@10").mean().rows[0][1])
        alone = RankingEstimator(rankers.RankSVM()).fit(FEATURES[train], LABELS[train], QUERY[train])
        assert alone.score(FEATURES[test], LABELS[test], QUERY[test]) == pytest.approx(wanted[-1])
    assert found.tolist() == pytest.approx(wanted)
    assert search.best_params_.keys() == {"rankingestimator__ranker__C"}
    assert search.best_score_ > 0.5
