"""Names of systems that could refer to several files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from calipers.collection.run_names import several_fit
from calipers.results.scores import Scores


def refuse_ambiguous_names(scores: Scores, names: Iterable[str]) -> None:
    """Raise an error if a name could refer to several files. Its meaning would depend on the order of the files."""
    for name in names:
        if name in scores.ambiguous_names:
            raise several_fit(name, scores.ambiguous_names[name], by_path=False)


def without_ambiguous_names(scores: Scores) -> Scores:
    """Return the scores without their list of ambiguous names, for callers that know which systems they mean."""
    return replace(scores, ambiguous_names={})
