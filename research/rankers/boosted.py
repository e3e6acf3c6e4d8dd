"""The base of LambdaMART and the random forest: LightGBM, its model as text, and the choice of the number of trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from calipers import CalipersError
from calipers.lists import Floats
from research.rankers.base import Arrays, Ranker
from research.rankers.lightgbm_text import checked
from research.rankers.training_examples import Examples

LARGEST_LABEL = 30  # LightGBM's gains end there


@dataclass(eq=False, kw_only=True)
class BoostedRanker(Ranker):
    """Trees by LightGBM. jobs: threads; the model does not depend on them."""

    takes_sparse: ClassVar[bool] = True

    jobs: int = 1

    def _settings(self) -> dict[str, Any]:
        """Return settings that make LightGBM quiet and its result reproducible."""
        return {
            "verbosity": -1,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": self.jobs,
            "metric": "None",
            "feature_pre_filter": False,
        }

    def scores_of(self, model: Arrays, X: Any) -> Floats:
        booster = booster_of(model["text"].tobytes())
        return np.asarray(booster.predict(X, num_threads=self.jobs), dtype=np.float64)

    @classmethod
    def shapes_of(cls, features: int, model: Arrays) -> dict[str, tuple[int, ...]]:
        found = int(booster_of(model["text"].tobytes()).num_feature())
        if found != features:
            raise ValueError(f"trees over {found} features, not {features}")
        return {"text": (len(model["text"]),)}


@lru_cache(maxsize=4)
def booster_of(text: bytes) -> Any:
    """Return a booster from text that LightGBM wrote. The text is checked first."""
    import lightgbm

    try:
        return lightgbm.Booster(model_str=checked(text.decode("utf-8"))[0])
    except (lightgbm.basic.LightGBMError, UnicodeDecodeError) as error:
        raise ValueError(f"LightGBM cannot read the trees: {error}") from None


def as_text(booster: Any, trees: int) -> Arrays:
    """Return the first trees of a booster as text."""
    text = booster.model_to_string(num_iteration=trees)
    return {"text": np.frombuffer(text.encode("utf-8"), np.uint8).copy()}


def check_labels(ranker: Ranker, examples: Examples) -> None:
    y = examples.y
    wrong = (y < 0) | (y > LARGEST_LABEL) | (y != np.trunc(y))
    if wrong.any():
        raise CalipersError(
            f"{ranker.name} takes whole labels from 0 to {LARGEST_LABEL}, not {y[np.argmax(wrong)]:g}",
            file=examples.name,
        )
