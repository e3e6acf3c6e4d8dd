"""Mean score of labels and scores in groups. The callbacks for other libraries use it."""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.runs import ArrayRun
from calipers.conventions import convention
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import evaluate
from calipers.evaluation.options import ScoringOptions
from calipers.measures.registry import Measure
from calipers.results.tables import as_number
from calipers.support.plurals import counted
from calipers.tools.keywords import ScoringKeywords


class GroupScore:
    """A measure with scoring options, as a function of scores. The judgments of each data set are made once."""

    def __init__(self, measure: str | Measure, options: ScoringKeywords) -> None:
        like = options.get("like")
        self.like = None if like is None else convention(like)
        named = ScoringOptions(**options).named(measure)
        if len(named) != 1:
            raise CalipersError(f"'{measure}' names {counted(len(named), 'measure')}; expected one")
        [(self.name, self.measure)] = named.items()
        self.options: ScoringKeywords = {**options, "like": self.like}
        self._known: WeakKeyDictionary[Any, Judgments] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without judgments, because scikit-learn sends scorers to other processes."""
        return {**vars(self), "_known": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _known=WeakKeyDictionary())

    @property
    def label(self) -> str:
        """Name for logs, without blanks and colons."""
        name = self.name if self.like is None else f"{self.name}, like {self.like.name}"
        return name.replace(":", "=").replace(", ", ",").replace(" ", "_")

    def of(self, judgments: Judgments, scores: Any) -> float:
        """Return the mean score over the queries that count."""
        run = ArrayRun(np.asarray(scores, np.float64).ravel())
        found = evaluate(judgments, run, self.measure, warn=False, **self.options)
        value = as_number(found.mean().rows[0][1])
        if math.isnan(value):
            raise CalipersError(f"{self.name} is undefined for every query of this data")
        return value

    def known(self, data: Any, labels: Any, groups: Any) -> Judgments:
        """Return the judgments of a data set. They are made at the first iteration and kept."""
        found = self._known.get(data)
        if found is None:
            if groups is None or not len(groups):
                raise CalipersError(f"{self.name} needs to know the documents of each query: give the data its group")
            found = self._known[data] = Judgments.from_arrays(labels, group=np.asarray(groups, np.int64))
        return found
