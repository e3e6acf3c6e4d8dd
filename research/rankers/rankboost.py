"""RankBoost: boosting of thresholds on single features, pairs of documents weighted by how badly they are ordered.

A weak ranker is h(x) = 1 where feature f of x is above a threshold. With D(i, j) the weight of a pair in which j should
be above i, each round takes the h with the largest |r|, r = sum of D(i, j) (h(j) - h(i)), adds
alpha = 1/2 ln((1 + r) / (1 - r)) times h to the score H, and weights pairs by

    D(i, j) ~ exp(H(i) - H(j)).

That is a product of one factor for each document, so that a pair is never looked at: the part of a document in r,

    pi(j) = exp(-H(j)) * sum of exp(H(i)) over i below j - exp(H(j)) * sum of exp(-H(i)) over i above j,

needs sums over the labels of its query only, as RankBoost.B has it for two labels.

Freund, Iyer, Schapire & Singer, An efficient boosting algorithm for combining preferences, JMLR 2003.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calipers import CalipersError
from calipers.lists import Floats, Ints
from research.rankers.base import Arrays, Best, Progress, Ranker, check_positive
from research.rankers.training_examples import ROWS_AT_ONCE, Examples, weighted_sums

CELLS_AT_ONCE = 1 << 26


@dataclass(eq=False, kw_only=True)
class RankBoost(Ranker):
    """Boosts thresholds on features for the number of pairs in the right order.

    thresholds: candidates for each feature, at equal shares of its values. patience: as for AdaRank.

    >>> from research.rankers import synthetic_letor
    >>> data = synthetic_letor(queries=40, seed=1)
    >>> RankBoost(rounds=20).fit(data.X, data.y, qid=data.qid).model_["feature"].shape
    (20,)
    """

    name: ClassVar[str] = "rankboost"

    rounds: int = 300
    thresholds: int = 64
    patience: int | None = 100

    @property
    def steps(self) -> int:
        return self.rounds

    def learn(self, train: Examples, valid: Examples | None, progress: Progress) -> Arrays:
        check_positive(self, "rounds", "thresholds")
        pairs = WeightedPairs(train)
        candidates = Candidates(train.dense, self.thresholds)
        on_valid = self._objective(valid)
        valid_score = None if valid is None else np.zeros(len(valid.y))
        best = Best(self.patience)
        score = np.zeros(len(train.y))
        found: list[tuple[int, float, float]] = []
        for step in range(self.rounds):
            parts = pairs.parts(score)
            if parts is None:
                break  # scores are so far apart that pairs have no weight left
            r, feature, threshold = candidates.best(parts)
            alpha = 0.5 * np.log(max(1 + r, 1e-12) / max(1 - r, 1e-12))
            if abs(r) < 1e-12:
                break  # no threshold orders the weighted pairs better than chance
            found.append((feature, threshold, alpha))
            score += alpha * (train.dense[:, feature] > threshold)
            progress(1)
            if valid is None or valid_score is None or on_valid is None:
                continue
            valid_score += alpha * (valid.dense[:, feature] > threshold)
            if not best.better(step, float(on_valid.mean(valid_score)[0])) and best.enough(step):
                break
        if valid is not None:
            found = found[: best.step + 1]
        return {
            "feature": np.array([each[0] for each in found], np.int32),
            "threshold": np.array([each[1] for each in found], np.float64),
            "alpha": np.array([each[2] for each in found], np.float64),
        }

    def scores_of(self, model: Arrays, X: Any) -> Floats:
        score = np.empty(len(X))
        rows = max(1, min(ROWS_AT_ONCE, CELLS_AT_ONCE // max(len(model["feature"]), 1)))
        for start in range(0, len(X), rows):
            part = X[start : start + rows][:, model["feature"]] > model["threshold"]
            score[start : start + len(part)] = weighted_sums(part, model["alpha"])
        return score

    @classmethod
    def shapes_of(cls, features: int, model: Arrays) -> dict[str, tuple[int, ...]]:
        feature = model["feature"]
        if ((feature < 0) | (feature >= features)).any():
            raise ValueError(f"a feature beyond the {features} of the model")
        return dict.fromkeys(("feature", "threshold", "alpha"), (len(feature),))


class WeightedPairs:
    """The pairs of documents of one query with different labels, without a list of them."""

    def __init__(self, train: Examples) -> None:
        self.query = train.query
        self.queries = len(train.size)
        levels, level = np.unique(train.y, return_inverse=True)
        self.level = level.ravel()
        self.levels = len(levels)
        cell = self.query * self.levels + self.level
        counts = np.bincount(cell, minlength=self.queries * self.levels).reshape(self.queries, self.levels)
        if not (np.count_nonzero(counts, axis=1) > 1).any():
            raise CalipersError("no query has documents with different labels: nothing can be learnt", file=train.name)
        self.cell = cell
        self.several = (np.count_nonzero(counts, axis=1) > 1)[self.query]

    def parts(self, score: Floats) -> Floats | None:
        """Return pi, how much raising a document would gain over all pairs of total weight 1.

        Returns None where the weights of pairs leave the range of doubles.
        """
        # The largest score of a query is taken off: factors cancel in every pair, and none overflows.
        shift = np.zeros(self.queries)
        np.maximum.at(shift, self.query, score)
        with np.errstate(over="ignore", invalid="ignore"):
            up, down = np.exp(score - shift[self.query]), np.exp(shift[self.query] - score)
            below = self._sums(up, lower=True)
            above = self._sums(down, lower=False)
            part = down * below - up * above
            total = float((down * below).sum())
        return part / total if total > 0 and np.isfinite(part).all() and math.isfinite(total) else None

    def _sums(self, factor: Floats, lower: bool) -> Floats:
        """Return, per document, the sum of the factors of documents of its query with a lower (or higher) label."""
        by_level = np.bincount(self.cell, factor, self.queries * self.levels).reshape(self.queries, self.levels)
        total = np.cumsum(by_level, axis=1)
        sums = total - by_level if lower else total[:, -1:] - total
        return np.asarray(sums.ravel()[self.cell])


class Candidates:
    """Thresholds on features, and which documents lie between them."""

    def __init__(self, X: Floats, most: int) -> None:
        self.width = X.shape[1]
        self.values = [_cuts(column, most) for column in X.T]
        self.slots = max(len(cuts) for cuts in self.values) + 1
        bins = [np.searchsorted(cuts, column, side="left") for cuts, column in zip(self.values, X.T, strict=True)]
        self.slot: Ints = (np.stack(bins) + np.arange(self.width)[:, None] * self.slots).ravel()

    def best(self, part: Floats) -> tuple[float, int, float]:
        """Return the r of largest absolute value, its feature and its threshold."""
        inside = np.bincount(self.slot, np.tile(part, self.width), self.width * self.slots)
        above = np.cumsum(inside.reshape(self.width, self.slots)[:, ::-1], axis=1)[:, ::-1][:, 1:]
        place = int(np.argmax(np.abs(above)))
        feature, cut = divmod(place, above.shape[1])
        if cut >= len(self.values[feature]):  # beyond the last threshold nothing is above: r is rounding noise
            return 0.0, feature, np.inf
        return float(above[feature, cut]), feature, float(self.values[feature][cut])


def _cuts(column: Floats, most: int) -> Floats:
    """Thresholds between the values of a feature: each of them but the largest, or as many at equal shares."""
    values = np.unique(column)
    if len(values) - 1 <= most:
        return values[:-1]
    shares = np.quantile(column, np.arange(most) / most, method="inverted_cdf")
    cuts = np.unique(shares)
    return np.asarray(cuts[cuts < values[-1]])
