"""Scores that are infinite, which other tools take: documents that a filter puts last often have -inf."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from calipers.errors import CalipersError

Found = TypeVar("Found")
LARGEST = sys.float_info.max  # stands for what is infinite: ranks are the same


def with_infinite_scores(score: Callable[[Any], Found], run: Mapping[str, Any]) -> Found:
    """What is made of a run, of which infinite scores are replaced where they are refused.

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
