"""Settings of the rankers: quick ones, and those of the papers."""

from __future__ import annotations

from typing import Any

from calipers import CalipersError, UnknownName
from research.rankers.base import Ranker

# Busa-Fekete et al. (2012), section 4, where it says; elsewhere the settings of the methods' own papers or of RankLib.
LAYERS = tuple((units,) * layers for layers in (1, 2, 3) for units in (10, 50, 100, 500))
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "quick": {
        "lambdamart": {},
        "randomforest": {},
        "logistic": {"tune": {"C": (0.01, 1.0)}},
        "ranksvm": {"tune": {"C": (0.0001, 0.01)}, "pairs": 100_000},
        "ranknet": {"epochs": 50, "patience": 10},
        "listnet": {"epochs": 100, "patience": 15},
        "adarank": {},
        "rankboost": {},
        "coordinateascent": {},
    },
    "paper": {
        "lambdamart": {"leaves": 10, "rate": 0.1, "rounds": 1000, "patience": 200},
        "randomforest": {"rounds": 300, "leaves": 100},
        "logistic": {"tune": {"C": tuple(10.0**e for e in range(-6, 5))}},
        "ranksvm": {"tune": {"C": tuple(10.0**e for e in range(-6, 5))}, "tolerance": 0.001, "pairs": 1_000_000},
        "ranknet": {"tune": {"hidden": LAYERS}, "epochs": 200, "patience": 20},
        "listnet": {"epochs": 500, "patience": 50},
        "adarank": {"rounds": 500, "patience": None},
        "rankboost": {"rounds": 300, "patience": None},
        "coordinateascent": {"restarts": 30, "iterations": 100},
    },
}


def ranker(name: str, preset: str = "quick", **parameters: Any) -> Ranker:
    """Return a ranker by its name, with the settings of a preset. Given parameters replace those of the preset.

    >>> ranker("coordinateascent", "paper").get_params()["restarts"]
    30
    >>> ranker("lambdamrt")
    Traceback (most recent call last):
    ...
    calipers.errors.UnknownName: unknown ranker 'lambdamrt'; did you mean lambdamart?
    """
    from research.rankers import RANKERS

    if name not in RANKERS:
        raise UnknownName.among("ranker", name, RANKERS)
    if preset not in PRESETS:
        raise CalipersError(f"unknown preset '{preset}'; there are {', '.join(PRESETS)}")
    return RANKERS[name]().set_params(**{**PRESETS[preset][name], **parameters})
