"""Scorers for model selection in scikit-learn. Groups are the queries.

sklearn.set_config(enable_metadata_routing=True)
scoring = calipers.tools.scikit_learn.scorer("nDCG@10")
cross_val_score(model, X, y, cv=GroupKFold(), scoring=scoring, params={"groups": query_of_each_row})
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.errors import CalipersError
from calipers.measures.registry import Measure
from calipers.support.extras import load
from calipers.tools.predictions import GroupScore, ScoringKeywords


def scorer(measure: str | Measure, *, higher_is_better: bool = True, **options: Unpack[ScoringKeywords]) -> Any:
    """Return a scorer that requests `groups`, the query of each row, by metadata routing.

    Queries may be in any order. The options are those of `evaluate`.
    """
    metrics = load("sklearn.metrics", package="scikit-learn", what="metrics of scikit-learn")
    sklearn = load("sklearn", package="scikit-learn", what="metrics of scikit-learn")
    score = _MeanScore(GroupScore(measure, options))
    with sklearn.config_context(enable_metadata_routing=True):
        return metrics.make_scorer(score, greater_is_better=higher_is_better).set_score_request(groups=True)


class _MeanScore:
    """Mean of a measure over the queries. It is a class so that scorers can be pickled."""

    def __init__(self, figure: GroupScore) -> None:
        self.figure = figure
        self.__name__ = figure.label

    def __call__(self, y_true: Any, y_pred: Any, *, groups: Any = None) -> float:
        if groups is None:
            raise CalipersError(
                f"{self.figure.name} needs to know which rows belong to a query: params={{'groups': ...}}, with "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        known = Judgments.from_arrays(np.asarray(y_true, np.float64), qid=np.asarray(groups))
        return self.figure.of(known, y_pred)
