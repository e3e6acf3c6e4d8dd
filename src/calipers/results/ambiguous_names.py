"""Names of systems that fit several files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from calipers.collection.run_names import several_fit
from calipers.results.scores import Scores


def refuse_ambiguous_names(scores: Scores, names: Iterable[str]) -> None:
    """Raise an error if a name fits several files. The name would depend on the order in which they were given."""
    for name in names:
        if name in scores.ambiguous_names:
            raise several_fit(name, scores.ambiguous_names[name], by_path=False)


def without_ambiguous_names(scores: Scores) -> Scores:
    """Return scores whose names are all taken as they are. For callers that know which system is meant."""
    return replace(scores, ambiguous_names={})
