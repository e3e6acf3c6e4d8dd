"""RankSVM: a linear support vector machine on the differences of pairs of documents, by scikit-learn (liblinear).

    minimise  1/2 |w|^2 + C * sum over pairs (i above j) of max(0, 1 - w (x_i - x_j))^2

Herbrich, Graepel & Obermayer, Large margin rank boundaries for ordinal regression, 2000.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from research.rankers.base import Arrays, LinearRanker, Progress, check_positive
from research.rankers.pairs import ordered_pairs
from research.rankers.training_examples import Examples


@dataclass(eq=False, kw_only=True)
class RankSVM(LinearRanker):
    """Learns from pairs of documents of one query with different labels.

    C: cost of a pair in the wrong order. pairs: largest number of pairs; of more pairs, a sample of this size is drawn.
    tolerance: tolerance of the optimisation (0.001 in Busa-Fekete et al., 2012).

    >>> RankSVM().get_params()["C"]
    0.01
    """

    name: ClassVar[str] = "ranksvm"

    C: float = 0.01
    pairs: int = 300_000
    tolerance: float = 0.001
    most_steps: int = 1000

    def learn(self, train: Examples, valid: Examples | None, progress: Progress) -> Arrays:
        from sklearn.svm import LinearSVC

        check_positive(self, "C", "pairs", "tolerance", "most_steps")
        random = np.random.default_rng(self.seed)
        first, second = ordered_pairs(train, self.pairs, random)
        spread = train.dense.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        difference = (train.dense[first] - train.dense[second]) / spread
        # A classifier wants two classes: every second pair is turned round. The optimum does not change.
        sign = np.where(np.arange(len(difference)) % 2 == 0, 1.0, -1.0)
        machine = LinearSVC(
            C=self.C,
            dual=False,
            fit_intercept=False,
            tol=self.tolerance,
            max_iter=self.most_steps,
            random_state=self.seed,
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine.fit(difference * sign[:, None], sign)
        if any("converge" in str(each.message) for each in caught):
            self.notes_.append(f"RankSVM did not converge in {self.most_steps} steps at C={self.C:g}")
        progress(1)
        return {"weights": np.asarray(machine.coef_.ravel() / spread, dtype=np.float64)}
