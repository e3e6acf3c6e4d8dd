"""Mean score of predictions: labels and predicted scores in groups. The interfaces of other libraries use it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.runs import ArrayRun
from calipers.conventions import Convention, convention
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import evaluate
from calipers.evaluation.options import ScoringOptions
from calipers.measures.registry import Measure
from calipers.native.columns import Precision
from calipers.results.tables import as_number
from calipers.support.checks import Policy
from calipers.support.choices import TieRule
from calipers.support.plurals import counted


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


class ScoringKeywords(TypedDict, total=False):
    """Scoring options by name, as `evaluate` takes them. A test compares them with `ScoringOptions`."""

    like: str | Convention | None
    ties: TieRule | None
    relevant: float | None
    depth: int | None
    condensed: bool
    empty: Policy | None
    missing: Policy | None
    degenerate: Policy | None
    precision: Precision | None


Found = TypeVar("Found")
LARGEST = sys.float_info.max  # replaces infinity, which keeps the ranks


def with_infinite_scores(score: Callable[[Any], Found], run: Mapping[str, Any]) -> Found:
    """Call a function with a run. If it refuses infinite scores, replace them and call it again.

    >>> def largest(run):
    ...     if math.inf in run["q"].values():
    ...         raise CalipersError("a score is infinite")
    ...     return max(run["q"], key=run["q"].get)
    >>> with_infinite_scores(largest, {"q": {"a": 1.0, "b": math.inf}})
    'b'
    """
    try:
        return score(run)
    except CalipersError:
        found = {query: _finite(ranked) if isinstance(ranked, Mapping) else ranked for query, ranked in run.items()}
        if found == run:
            raise
        return score(found)


def _finite(ranked: Mapping[str, Any]) -> dict[str, Any]:
    ends = {math.inf: LARGEST, -math.inf: -LARGEST}
    return {document: ends[each] if each in (math.inf, -math.inf) else each for document, each in ranked.items()}
