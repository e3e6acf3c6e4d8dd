"""Coordinate Ascent: a linear model, one weight at a time, for any measure.

From a start, each pass goes through the features in random order. For one feature all steps, small and large, up and
down, and the weight 0, are tried at once: their scorings of the documents are ranked and scored in one go, and the best
is kept. A restart ends when a pass brings less than the tolerance. Of all restarts the model that is best on validation
data, or without it on training data, is kept.

Metzler & Croft, Linear feature-based models for information retrieval, Information Retrieval 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calipers.lists import Floats, Ints
from research.rankers.base import Arrays, LinearRanker, Progress, check_positive
from research.rankers.objective import Objective
from research.rankers.training_examples import Examples, weighted_sums

# Steps, as shares of the sum of all absolute weights.
STEPS = 0.01 * 2.0 ** np.arange(12)


@dataclass(eq=False, kw_only=True)
class CoordinateAscent(LinearRanker):
    """Tunes a linear model for any measure, under any convention.

    restarts: from equal weights first, then from random ones. iterations: passes over the features after each, at most.
    tolerance: a pass that brings less ends a restart.

    >>> from research.rankers import synthetic_letor
    >>> data = synthetic_letor(queries=40, seed=1)
    >>> CoordinateAscent(restarts=1, iterations=2).fit(data.X, data.y, qid=data.qid).weights.shape == (data.X.shape[1],)
    True
    """

    name: ClassVar[str] = "coordinateascent"

    restarts: int = 5
    iterations: int = 25
    tolerance: float = 0.001

    @property
    def steps(self) -> int:
        return self.restarts * self.iterations

    def learn(self, train: Examples, valid: Examples | None, progress: Progress) -> Arrays:
        check_positive(self, "restarts", "iterations")
        objective = train.objective(self.goal)
        objective.require_moving()
        on_valid = self._objective(valid)
        usable = np.flatnonzero(~train.constant)
        spread = train.dense.std(axis=0)
        columns = np.ascontiguousarray((train.dense / np.where(spread > 0, spread, 1.0)).T)
        random = np.random.default_rng(self.seed)
        best_score, best = -np.inf, np.zeros(train.width)
        for restart in range(self.restarts):
            weights = np.zeros(train.width)
            weights[usable] = 1.0 if restart == 0 else random.uniform(-1, 1, len(usable))
            weights /= np.abs(weights).sum()
            weights, score = self._climb(weights, usable, columns, objective, random, progress)
            scaled = weights / np.where(spread > 0, spread, 1.0)
            if valid is not None and on_valid is not None:
                score = float(on_valid.mean(weighted_sums(valid.dense, scaled))[0])
            if score > best_score:
                best_score, best = score, scaled
        return {"weights": best}

    def _climb(
        self,
        weights: Floats,
        usable: Ints,
        columns: Floats,
        objective: Objective,
        random: np.random.Generator,
        progress: Progress,
    ) -> tuple[Floats, float]:
        score = float(objective.mean(_scores_of(weights, columns))[0])
        for done in range(self.iterations):
            before = score
            total = _scores_of(weights, columns)
            for feature in random.permutation(usable).tolist():
                steps = np.concatenate([STEPS, -STEPS, [-weights[feature]]])
                if np.count_nonzero(weights) == 1:
                    steps = steps[:-1]  # without its only weight a model ties everything
                found = objective.mean(total + steps[:, None] * columns[feature])
                place = int(np.argmax(found))
                if found[place] > score:
                    score = float(found[place])
                    weights[feature] += steps[place]
                    weights /= np.abs(weights).sum()
                    total = _scores_of(weights, columns)
            progress(1)
            if score - before < self.tolerance:
                progress(self.iterations - done - 1)
                break
        return weights, score


def _scores_of(weights: Floats, columns: Floats) -> Floats:
    """Return the score of each document. Features are added one after the other, so that equal documents stay tied."""
    scores = np.zeros(columns.shape[1])
    for feature in np.flatnonzero(weights).tolist():
        scores += weights[feature] * columns[feature]
    return scores
