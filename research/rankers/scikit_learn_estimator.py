"""Rankers as estimators of scikit-learn, for pipelines, cross-validation and searches.

    estimator = RankingEstimator(research.rankers.Logistic(), measure="nDCG@10")
    estimator.fit(X, y, groups=query_of_each_row)

`calipers.tools.scikit_learn` has scorers for any estimator.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from calipers import Judgments, evaluate
from calipers.lists import Floats
from research.rankers.base import Ranker
from research.rankers.logistic import Logistic


class RankingEstimator(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # untyped there
    """A ranker as a regressor. Its predictions are scores: documents with higher scores rank higher.

    ranker: a ranker of research.rankers; by default logistic regression on relevance.
    measure: the measure whose mean over the queries `score` returns.

    The rows of one query have the same group. Without groups, all rows belong to one query.

    >>> from research.rankers import Logistic
    >>> estimator = RankingEstimator(Logistic(), measure="RR")
    >>> fitted = estimator.fit([[0.0], [1.0], [0.2], [2.0]], [0, 1, 0, 1], groups=[1, 1, 2, 2])
    >>> fitted.score([[3.0], [1.0]], [1, 0], groups=[1, 1])
    1.0
    """

    def __init__(self, ranker: Ranker | None = None, measure: str = "nDCG@10") -> None:
        self.ranker = ranker
        self.measure = measure

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Train the ranker. y: the label of each row. groups: the query of each row."""
        X, y = validate_data(self, X, y, y_numeric=True, accept_sparse="csr")
        if len(y) == 1:
            raise ValueError("1 sample: at least 2 rows are needed to learn a ranking")
        self.ranker_ = self._ranker().with_()
        self.ranker_.fit(X, y, qid=_groups(groups, len(y)))
        return self

    def predict(self, X: Any, groups: Any = None) -> Floats:
        """Return the score of each row. groups: needed only if the ranker scales features to 0 .. 1 in each query."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr")
        return self.ranker_.predict(X, qid=groups if groups is None else np.asarray(groups))

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """Return the mean of the measure over the queries."""
        scores = self.predict(X, groups if self._ranker().normalize == "query" else None)
        known = Judgments.from_arrays(np.asarray(y, np.float64), qid=_groups(groups, len(scores)))
        return float(evaluate(known, scores, self.measure, warn=False).mean().rows[0][1] or 0.0)

    def _ranker(self) -> Ranker:
        return Logistic() if self.ranker is None else self.ranker

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # scores are not values of y
        tags.input_tags.sparse = True
        return tags


def _groups(groups: Any, rows: int) -> Any:
    return np.zeros(rows, np.int64) if groups is None else np.asarray(groups)
