"""Infinite scores. Other tools accept them, and filters often give -inf to documents that they put last."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from calipers.errors import CalipersError

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
