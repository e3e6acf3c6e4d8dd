"""AdaRank: boosting of single features, the queries weighted by how badly they are ranked.

    alpha_t = 1/2 ln( sum of P_t(q) (1 + E(q, h_t)) / sum of P_t(q) (1 - E(q, h_t)) )
    P_t+1(q) ~ exp(-E(q, f_t)),        f_t = sum of alpha_s h_s over s <= t

where h_t is the feature with the largest weighted E, and E any measure from -1 to 1. Each feature ranks every query in
one way only, so all E(q, h) are worked out before the first round.

Xu & Li, AdaRank: a boosting algorithm for information retrieval, SIGIR 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calipers.lists import Floats
from research.rankers.base import Arrays, Best, LinearRanker, Progress, check_positive
from research.rankers.training_examples import Examples, weighted_sums

FEATURES_AT_ONCE = 16
UNEVEN = 1e4  # deviations of two features that differ by more than this factor
REPEATS = 5  # rounds in a row that a feature may win; a lone feature would win for ever, as nothing changes


@dataclass(eq=False, kw_only=True)
class AdaRank(LinearRanker):
    """Boosts single features for any measure, under any convention.

    rounds: the largest number of rounds. patience: with validation data, stop after this number of rounds without a
    better score on it; the best round is kept.

    >>> from research.rankers import synthetic_letor
    >>> data = synthetic_letor(queries=40, seed=1)
    >>> AdaRank(rounds=20, metric="AP").fit(data.X, data.y, qid=data.qid).predict(data.X).shape == data.y.shape
    True
    """

    name: ClassVar[str] = "adarank"

    rounds: int = 500
    patience: int | None = 100

    @property
    def steps(self) -> int:
        return self.rounds

    def learn(self, train: Examples, valid: Examples | None, progress: Progress) -> Arrays:
        check_positive(self, "rounds")
        objective = train.objective(self.goal)
        objective.require_moving()
        on_valid = self._objective(valid)
        counted = objective.counts
        usable = np.flatnonzero(~train.constant)
        scale = _scale(objective.best[counted])
        spread = train.dense[:, usable].std(axis=0)
        if spread.max() > UNEVEN * spread.min():
            self.notes_.append(
                "features differ widely in scale, and AdaRank adds them as they are: try normalize=query"
            )
        # E of each feature on each query, some features at a time: all of them at once would be a copy of the data.
        parts = np.array_split(usable, -(-len(usable) // FEATURES_AT_ONCE))
        alone = np.concatenate([objective.of(train.dense.T[part])[:, counted] for part in parts]) / scale
        weight = np.full(counted.sum(), 1 / counted.sum())
        weights = np.zeros(train.width)
        score = np.zeros(len(train.y))
        valid_score = None if valid is None else np.zeros(len(valid.y))
        best, kept = Best(self.patience), weights.copy()
        last, streak = -1, 0
        for step in range(self.rounds):
            value = weighted_sums(alone, weight)
            if streak >= REPEATS and len(usable) > 1:
                value[last] = -np.inf
            chosen = int(np.argmax(value))
            streak = streak + 1 if chosen == last else 1
            last = chosen
            alpha = 0.5 * np.log(_share(1 + value[chosen]) / _share(1 - value[chosen]))
            feature = int(usable[chosen])
            weights[feature] += alpha
            score += alpha * train.dense[:, feature]
            reached = objective.of(score)[0, counted] / scale
            weight = np.exp(-reached)
            weight /= weight.sum()
            progress(1)
            if valid is None or valid_score is None or on_valid is None:
                continue
            valid_score += alpha * valid.dense[:, feature]
            if best.better(step, float(on_valid.mean(valid_score)[0])):
                kept = weights.copy()
            elif best.enough(step):
                break
        return {"weights": weights if valid is None else kept}


def _scale(best: Floats) -> float:
    """Return the factor that brings a measure that exceeds 1, such as DCG, into the range that the method needs."""
    return max(1.0, float(np.abs(best).max(initial=0.0)))


def _share(value: float) -> float:
    return max(float(value), 1e-12)  # a feature that ranks every query ideally has a large weight, not an infinite one
