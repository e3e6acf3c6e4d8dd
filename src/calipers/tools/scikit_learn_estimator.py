"""Our rankers as estimators of scikit-learn: for its pipelines, its cross-validation and its searches.

    estimator = RankingEstimator(calipers.rankers.Logistic(), measure="nDCG@10")
    estimator.fit(X, y, groups=query_of_each_row)

This module needs scikit-learn; `calipers.tools.scikit_learn` has scorers for any estimator.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.extras import load
from calipers.lists import Floats
from calipers.rankers.base import Ranker
from calipers.tools.group_scores import GroupScore

_base: Any = load("sklearn.base", package="scikit-learn", what="estimators of scikit-learn")
_validation: Any = load("sklearn.utils.validation", package="scikit-learn", what="estimators of scikit-learn")


class RankingEstimator(_base.RegressorMixin, _base.BaseEstimator):  # type: ignore[misc]  # untyped there
    """A ranker as a regressor whose predictions are scores: the larger, the higher a document ranks.

    ranker: one of calipers.rankers; without it, logistic regression on relevance. measure: what `score` gives, as the
    mean over the queries. Rows of one query have one group; without groups all rows are one query.

    >>> from calipers.rankers import Logistic
    >>> estimator = RankingEstimator(Logistic(), measure="RR")
    >>> fitted = estimator.fit([[0.0], [1.0], [0.2], [2.0]], [0, 1, 0, 1], groups=[1, 1, 2, 2])
    >>> fitted.score([[3.0], [1.0]], [1, 0], groups=[1, 1])
    1.0
    """

    def __init__(self, ranker: Ranker | None = None, measure: str = "nDCG@10") -> None:
        self.ranker = ranker
        self.measure = measure

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn to rank: a label for each row, and its query."""
        X, y = _validation.validate_data(self, X, y, y_numeric=True, accept_sparse="csr")
        if len(y) == 1:
            raise ValueError("1 sample: there is nothing to rank")
        self.ranker_ = self._ranker().with_()
        self.ranker_.fit(X, y, qid=_groups(groups, len(y)))
        return self

    def predict(self, X: Any, groups: Any = None) -> Floats:
        """The score of each row. groups: only where the ranker brings features to 0 .. 1 inside each query."""
        _validation.check_is_fitted(self)
        X = _validation.validate_data(self, X, reset=False, accept_sparse="csr")
        return self.ranker_.predict(X, qid=groups if groups is None else np.asarray(groups))

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """The mean of the measure over the queries."""
        scores = self.predict(X, groups if self._ranker().normalize == "query" else None)
        known = Judgments.from_arrays(np.asarray(y, np.float64), qid=_groups(groups, len(scores)))
        return GroupScore(self.measure, {}).of(known, scores)

    def _ranker(self) -> Ranker:
        if self.ranker is not None:
            return self.ranker
        from calipers.rankers import Logistic

        return Logistic()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # scores are not values of y
        tags.input_tags.sparse = True
        return tags


def _groups(groups: Any, rows: int) -> Any:
    return np.zeros(rows, np.int64) if groups is None else np.asarray(groups)
