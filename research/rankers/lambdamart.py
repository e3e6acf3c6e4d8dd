"""LambdaMART, by LightGBM: boosted regression trees on the gradients of swapping two documents.

Wu, Burges, Svore & Gao, Adapting boosting for information retrieval measures, Information Retrieval 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from research.rankers.base import Arrays, Best, Progress, check_positive
from research.rankers.boosted import BoostedRanker, as_text, check_labels
from research.rankers.training_examples import Examples


@dataclass(eq=False, kw_only=True)
class LambdaMART(BoostedRanker):
    """Boosted trees. The gradients are LightGBM's, of nDCG with exponential gains. The number of trees is the one that
    is best for `metric`, which may be any measure, on validation data.

    Queries for which all rankings have the same `metric` are left out of training (for example, under `letor4`, queries
    with fewer documents than the cutoff).

    leaves: leaves per tree. rate: learning rate. smallest: smallest number of documents in a leaf. patience: as for
    AdaRank.

    >>> LambdaMART(metric="V2(nDCG@10)").get_params()["leaves"]
    10
    """

    name: ClassVar[str] = "lambdamart"

    rounds: int = 500
    leaves: int = 10
    rate: float = 0.1
    smallest: int = 20
    patience: int | None = 50

    @property
    def steps(self) -> int:
        return self.rounds

    def learn(self, train: Examples, valid: Examples | None, progress: Progress) -> Arrays:
        import lightgbm

        check_positive(self, "rounds", "rate", "smallest")
        check_labels(self, train)
        objective = train.objective(self.goal)
        objective.require_moving()
        taught = train.queries(objective.moving)
        settings = self._settings() | {
            "objective": "lambdarank",
            "num_leaves": self.leaves,
            "learning_rate": self.rate,
            "min_data_in_leaf": self.smallest,
        }
        data = lightgbm.Dataset(taught.X, taught.y, group=taught.size, params=settings)
        booster = lightgbm.Booster(settings, data)
        on_valid = self._objective(valid)
        best = Best(self.patience)
        score = None if valid is None else np.zeros(len(valid.y))
        for step in range(self.rounds):
            finished = booster.update()
            progress(1)
            if valid is not None and on_valid is not None:
                score += self._tree(booster, valid.X, step)
                if not best.better(step, float(on_valid.mean(score)[0])) and best.enough(step):
                    break
            if finished:
                break
        return as_text(booster, booster.current_iteration() if valid is None else best.step + 1)

    def _tree(self, booster: Any, X: Any, step: int) -> Any:
        """Return what the latest tree adds to the scores."""
        return booster.predict(X, raw_score=True, start_iteration=step, num_iteration=1, num_threads=self.jobs)
