"""Early stopping of LightGBM on any measure.

metric = calipers.tools.lightgbm.metric("V2(nDCG@10)")
lightgbm.train({"objective": "lambdarank", "metric": "None"}, train, valid_sets=[valid], feval=metric,
               callbacks=[lightgbm.early_stopping(20)])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.errors import CalipersError
from calipers.measures.registry import Measure
from calipers.support.extras import load
from calipers.tools.predictions import GroupScore, ScoringKeywords

Result = tuple[str, float, bool]


def metric(
    measure: str | Measure, *, higher_is_better: bool = True, **options: Unpack[ScoringKeywords]
) -> Callable[[Any, Any], Result]:
    """Return a measure as a `feval` of `lightgbm.train` and `lightgbm.cv`. The data must have groups.

    The options are those of `evaluate`: `like`, `ties`, `empty`, `degenerate` ...
    """
    load("lightgbm", package="lightgbm", what="metrics of lightgbm")
    figure = GroupScore(measure, options)

    def feval(scores: Any, data: Any) -> Result:
        known = figure.known(data, data.get_label(), data.get_group())
        return figure.label, figure.of(known, scores), higher_is_better

    return feval


def ranker_metric(
    measure: str | Measure, *, higher_is_better: bool = True, **options: Unpack[ScoringKeywords]
) -> Callable[[Any, Any, Any, Any], Result]:
    """Return a measure as an `eval_metric` of `LGBMRanker.fit`. The options are those of `metric`."""
    load("lightgbm", package="lightgbm", what="metrics of lightgbm")
    figure = GroupScore(measure, options)

    def eval_metric(labels: Any, scores: Any, weight: Any, group: Any) -> Result:
        if group is None:
            raise CalipersError(f"{figure.name} needs to know which documents belong to a query: give eval_group")
        known = Judgments.from_arrays(labels, group=np.asarray(group, np.int64))
        return figure.label, figure.of(known, scores), higher_is_better

    return eval_metric
