"""L2-regularised logistic regression of relevance, by scikit-learn.

    P(relevant | x) = 1 / (1 + exp(-(w x + b)))

Documents are ranked by that probability. Fan et al., LIBLINEAR: a library for large linear classification, JMLR 2008.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calipers import CalipersError
from research.rankers.base import Arrays, LinearRanker, Progress, check_positive
from research.rankers.training_examples import Examples


@dataclass(eq=False, kw_only=True)
class Logistic(LinearRanker):
    """Learns from each document alone whether it is relevant.

    C: the inverse of the strength of regularisation. rel: the lowest label that is relevant.

    >>> Logistic(C=0.5).get_params()["C"]
    0.5
    """

    name: ClassVar[str] = "logistic"

    C: float = 1.0
    rel: float = 1.0
    most_steps: int = 1000

    def learn(self, train: Examples, valid: Examples | None, progress: Progress) -> Arrays:
        from sklearn.linear_model import LogisticRegression

        check_positive(self, "C", "most_steps")
        relevant = train.y >= self.rel
        if relevant.all() or not relevant.any():
            which = "all" if relevant.all() else "none"
            raise CalipersError(f"{which} of the documents are relevant (label {self.rel:g} or more)", file=train.name)
        spread = train.dense.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        model = LogisticRegression(C=self.C, max_iter=self.most_steps)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit((train.dense - train.dense.mean(axis=0)) / spread, relevant)
        if any("converge" in str(each.message) for each in caught):
            self.notes_.append(f"logistic regression did not converge in {self.most_steps} steps at C={self.C:g}")
        progress(1)
        return {"weights": np.asarray(model.coef_.ravel() / spread, dtype=np.float64)}
