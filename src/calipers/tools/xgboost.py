"""Early stopping of XGBoost on any measure.

metric = calipers.tools.xgboost.metric("V2(nDCG@10)")
xgboost.train({"objective": "rank:ndcg", "disable_default_eval_metric": True}, train, evals=[(valid, "valid")],
              custom_metric=metric, maximize=True, early_stopping_rounds=20)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from calipers.measures.registry import Measure
from calipers.support.extras import load
from calipers.tools.predictions import GroupScore, ScoringKeywords


def metric(measure: str | Measure, **options: Unpack[ScoringKeywords]) -> Callable[[Any, Any], tuple[str, float]]:
    """Return a measure as a `custom_metric` of `xgboost.train` and `xgboost.cv`. The matrix must have groups.

    XGBoost minimises by default: also set `maximize=True`. The options are those of `evaluate`: `like`, `ties`,
    `empty`, `degenerate` ...
    """
    load("xgboost", package="xgboost", what="metrics of xgboost")
    figure = GroupScore(measure, options)

    def custom_metric(scores: Any, data: Any) -> tuple[str, float]:
        ends = np.asarray(data.get_uint_info("group_ptr"), np.int64)
        known = figure.known(data, data.get_label(), np.diff(ends))
        return figure.label, figure.of(known, scores)

    return custom_metric
