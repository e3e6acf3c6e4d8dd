"""The base class of rankers: parameters, fit, predict, validation, saving.

A ranker is its parameters and, once fitted, a dictionary of arrays. Training gives the arrays, scoring reads them, and
a file holds them. A particular ranker implements two functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calipers import CalipersError, Measure
from calipers.conventions import Convention
from calipers.lists import Floats
from calipers.support.plurals import counted
from research.rankers.objective import Goal, Objective
from research.rankers.training_examples import OTHER, Examples, as_matrix, by_query, is_sparse, places, weighted_sums

Arrays = dict[str, NDArray[Any]]
Progress = Callable[[int], None]

METRIC = "nDCG(gain=exp)@10"
SEED = 42
NORMALIZATIONS = ("none", "query")  # of the features


@dataclass(eq=False, kw_only=True)
class Ranker(ABC):
    """The parameters that all rankers have; each adds its own.

    metric, like: the measure, and the tool whose conventions fill what it leaves open, by which rankers that optimise a
        measure do so, and by which all others choose on validation data.
    normalize: `query` brings every feature to 0 .. 1 inside each query, before training and before ranking.
    tune: {parameter: values}; all combinations are trained, and the best on validation data is kept.
    """

    name: ClassVar[str]
    takes_sparse: ClassVar[bool] = False

    metric: str | Measure = METRIC
    like: str | Convention | None = None
    normalize: str = "none"
    tune: Mapping[str, Sequence[Any]] | None = None
    seed: int = SEED

    features_: int = field(default=0, init=False, repr=False)
    model_: Arrays = field(default_factory=dict, init=False, repr=False)
    validation_: float | None = field(default=None, init=False, repr=False)  # the score on validation data
    chosen_: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # by tune
    notes_: list[str] = field(default_factory=list, init=False, repr=False)

    # -- what a ranker says of itself --------------------------------------------------------------

    @abstractmethod
    def learn(self, train: Examples, valid: Examples | None, progress: Progress) -> Arrays:
        """Learn; what `progress` is called with adds up to `steps`, unless training stops early."""

    @abstractmethod
    def scores_of(self, model: Arrays, X: Any) -> Floats:
        """Return the score of each document."""

    @classmethod
    @abstractmethod
    def shapes_of(cls, features: int, model: Arrays) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays of a model with this number of features."""

    @property
    def steps(self) -> int:
        """Into how many steps training falls."""
        return 1

    # -- what users call ---------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        eval_set: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn to rank.

        X: [document, feature], dense or scipy.sparse. y: a label each. qid or group: which documents belong to one
        query. eval_set: validation data as (X, y, qid), which decides when to stop, and what `tune` keeps.

        The model does not depend on the order in which queries come, only on that of each query's documents.
        """
        train = self._examples(X, y, qid, group, "training data")
        valid = None if eval_set is None else self._validation(eval_set)
        train.check_trainable()
        if valid is not None:
            valid.check_trainable()
            if valid.width != train.width:
                raise CalipersError(
                    f"{counted(valid.width, 'feature')}, where the training data has {train.width}: {OTHER}",
                    file=valid.name,
                )
        self.notes_ = self._remarks(train)
        combinations = self.combinations()
        if len(combinations) > 1 and valid is None:
            raise CalipersError(f"{self.name}: tuning {', '.join(self.tune or ())} needs validation data")
        report = progress or (lambda done: None)
        best: tuple[float, dict[str, Any], Arrays] | None = None
        for combination in combinations:
            candidate = self.with_(tune=None, **combination)
            model = candidate.learn(train, valid, report)
            self.notes_ += [note for note in candidate.notes_ if note not in self.notes_]
            score = np.nan if valid is None else self._score(candidate, model, valid)
            if best is None or score > best[0]:
                best = score, combination, model
        assert best is not None
        self.features_, self.model_, self.chosen_ = train.width, best[2], best[1]
        self.validation_ = None if valid is None else best[0]
        return self

    def predict(self, X: Any, *, qid: Any = None) -> Floats:
        """Return the score of each document; larger is better. qid is needed if normalize is `query`."""
        if not self.model_:
            from research.rankers.not_fitted import NotFitted

            raise NotFitted(f"{self.name} has not been fitted: call fit first, or load a model")
        matrix = as_matrix(X, "test data")
        if matrix.shape[1] != self.features_:
            raise CalipersError(
                f"{counted(matrix.shape[1], 'feature')}, where the training data had {self.features_}: {OTHER}",
                file="test data",
            )
        if self.normalize == "query":
            if qid is None:
                raise CalipersError(f"{self.name} brings features to 0 .. 1 inside each query: give qid to predict too")
            matrix = by_query(matrix, places(qid, matrix.shape[0], "test data"))
        if is_sparse(matrix) and not self.takes_sparse:
            matrix = matrix.toarray()
        return self.with_(**self.chosen_).scores_of(self.model_, matrix)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters, by name."""
        known = self.get_params()
        for key, value in parameters.items():
            if key not in known:
                raise CalipersError(f"{self.name} has no parameter '{key}'; there are {', '.join(known)}")
            setattr(self, key, value)
        return self

    def with_(self, **parameters: Any) -> Self:
        """Return an unfitted copy of this ranker with other parameters."""
        return type(self)(**self.get_params()).set_params(**parameters)

    def save(self, path: str) -> None:
        """Write the fitted ranker: text and plain arrays with a checksum, nothing that could run."""
        from research.rankers.model_files import save

        save(self, path)

    @classmethod
    def load(cls, path: str) -> Self:
        """Read a ranker of this kind that was saved."""
        from research.rankers.model_files import load

        found = load(path)
        if not isinstance(found, cls):
            raise CalipersError(f"the model is a {found.name}, not a {cls.name}", file=path)
        return found

    # -- pieces ------------------------------------------------------------------------------------

    def _examples(self, X: Any, y: Any, qid: Any, group: Any, name: str) -> Examples:
        if self.normalize not in NORMALIZATIONS:
            raise CalipersError(f"normalize='{self.normalize}' is not one of {', '.join(NORMALIZATIONS)}")
        found = Examples.of(X, y, qid, group, name)
        matrix = found.X
        if self.normalize == "query":
            matrix = by_query(matrix, found.query)
        elif is_sparse(matrix) and not self.takes_sparse:
            matrix = found.dense
        return Examples(matrix, found.y, found.size, name)

    def _validation(self, eval_set: Any) -> Examples:
        one = eval_set[0] if isinstance(eval_set, list) and len(eval_set) == 1 else eval_set
        if not isinstance(one, tuple) or len(one) != 3:
            raise CalipersError("eval_set must be (X, y, qid): features, labels and the query of each document")
        return self._examples(one[0], one[1], one[2], None, "validation data")

    def combinations(self) -> list[dict[str, Any]]:
        tune = self.tune or {}
        if unknown := [key for key in tune if key not in self.get_params() or key == "tune"]:
            raise CalipersError(f"{self.name} has no parameter '{unknown[0]}' to tune")
        return [dict(zip(tune, values, strict=True)) for values in product(*tune.values())]

    def _score(self, ranker: Ranker, model: Arrays, valid: Examples) -> float:
        return float(valid.objective(self.goal).mean(ranker.scores_of(model, valid.X))[0])

    @property
    def goal(self) -> Goal:
        return Goal(self.metric, self.like)

    def _objective(self, examples: Examples | None) -> Objective | None:
        return None if examples is None else examples.objective(self.goal)

    @staticmethod
    def _remarks(train: Examples) -> list[str]:
        constant = int(train.constant.sum())
        if not constant:
            return []
        return [f"{constant} of {train.width} features are constant over the training data: they rank nothing"]


@dataclass(eq=False, kw_only=True)
class LinearRanker(Ranker):
    """A ranker whose score is a weighted sum of the features."""

    @property
    def weights(self) -> Floats:
        """The weight of each feature."""
        if not self.model_:
            from research.rankers.not_fitted import NotFitted

            raise NotFitted(f"{self.name} has not been fitted: call fit first, or load a model")
        return self.model_["weights"]

    def scores_of(self, model: Arrays, X: Any) -> Floats:
        return weighted_sums(X, model["weights"])

    @classmethod
    def shapes_of(cls, features: int, model: Arrays) -> dict[str, tuple[int, ...]]:
        return {"weights": (features,)}


class Best:
    """The best of a sequence of models by their score on validation data, and whether to go on looking."""

    def __init__(self, patience: int | None) -> None:
        self.patience = patience
        self.score = -np.inf
        self.step = -1

    def better(self, step: int, score: float) -> bool:
        """Take a score; true if it is the best so far."""
        if score > self.score:
            self.score, self.step = score, step
            return True
        return False

    def enough(self, step: int) -> bool:
        """Return True if the last `patience` steps brought no better score."""
        return self.patience is not None and step - self.step >= self.patience


def check_positive(ranker: Ranker, *names: str) -> None:
    """Refuse parameters that must be above 0 and are not."""
    for name in names:
        value = getattr(ranker, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise CalipersError(f"{ranker.name}: {name}={value!r} is not a number above 0")
