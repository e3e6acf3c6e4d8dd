"""Runs that lack more than half of the judged queries: they stopped early, or were made for a part of the queries.

Queries that a run lacks count as 0, so that its mean says little. Where systems are compared, such runs are refused
unless somebody said how missing queries count: the option `missing`, or a profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from calipers.errors import CheckFailed
from calipers.results.scores import Coverage, Scores


class Lacking(NamedTuple):
    """The number of judged queries that a run lacks."""

    queries: int
    of: int
    alike: bool  # all runs of the evaluation lack the same queries, and there are several


def incomplete_runs(coverage: Coverage, systems: Sequence[str]) -> dict[str, Lacking]:
    """Return the runs that lack more than half of the judged queries."""
    missing = coverage.missing
    alike = len(missing) > 1 and bool((missing == missing[0]).all())
    lacking = zip(systems, coverage.lacks_most, missing.sum(axis=1).tolist(), strict=True)
    return {name: Lacking(count, missing.shape[1], alike) for name, most, count in lacking if most}


def refuse_incomplete_runs(*each: Scores) -> None:
    """Fail if a system lacks more than half of the judged queries, and nobody said how they count.

    Scores from files and arrays do not tell which queries a run lacks, and are never refused.
    """
    found: dict[str, Lacking] = {}
    for scores in each:
        known = scores.metadata.get("incomplete", {})
        found |= {name: known[name] for name in scores.systems if name in known}
    if not found:
        return
    counts = ", ".join(f"{name} lacks {lacking.queries} of {lacking.of}" for name, lacking in found.items())
    advice = "Did it stop early? To count each missing query as 0, set missing to 0; to leave them out, to 'skip'"
    if all(lacking.alike for lacking in found.values()):
        advice = "All runs lack the same queries: to leave them out, set missing to 'skip'; to count them as 0, to 0"
    raise CheckFailed(
        f"more than half of the judged queries are missing and would count as 0: {counts}. {advice}",
        parameter="missing",
    )


def with_incomplete_runs(scores: Scores) -> Scores:
    """Return scores of which no system is refused, for questions that do not decide between systems."""
    return replace(scores, metadata={**scores.metadata, "incomplete": {}})
