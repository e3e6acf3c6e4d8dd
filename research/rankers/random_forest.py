"""A random forest of regression trees on the labels, by LightGBM.

Breiman, Random forests, Machine Learning 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from research.rankers.base import Arrays, Best, Progress, check_positive
from research.rankers.boosted import BoostedRanker, as_text
from research.rankers.training_examples import Examples


@dataclass(eq=False, kw_only=True)
class RandomForest(BoostedRanker):
    """The mean of trees that are grown on samples of the documents and of the features.

    rounds: trees. share, features: shares of the documents and of the features for each tree. smallest: documents in a
    leaf, at least. With validation data the number of trees that is best there is kept.

    >>> RandomForest().rounds
    300
    """

    name: ClassVar[str] = "randomforest"

    rounds: int = 300
    leaves: int = 100
    share: float = 0.632
    features: float = 0.3
    smallest: int = 5

    @property
    def steps(self) -> int:
        return self.rounds

    def learn(self, train: Examples, valid: Examples | None, progress: Progress) -> Arrays:
        import lightgbm

        check_positive(self, "rounds", "share", "features", "smallest")
        settings = self._settings() | {
            "boosting": "rf",
            "objective": "regression",
            "num_leaves": self.leaves,
            "bagging_fraction": self.share,
            "bagging_freq": 1,
            "feature_fraction": self.features,
            "min_data_in_leaf": self.smallest,
        }
        booster = lightgbm.Booster(settings, lightgbm.Dataset(train.X, train.y, params=settings))
        on_valid = self._objective(valid)
        best = Best(None)
        total = np.zeros(0 if valid is None else len(valid.y))
        for step in range(self.rounds):
            booster.update()
            progress(1)
            if valid is not None and on_valid is not None:
                # The mean of one tree is the tree itself.
                total += booster.predict(valid.X, start_iteration=step, num_iteration=1, num_threads=self.jobs)
                best.better(step, float(on_valid.mean(total)[0]))
        return as_text(booster, self.rounds if valid is None else best.step + 1)
