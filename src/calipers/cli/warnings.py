"""What a reader of scores should know of the runs behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from calipers.collection.model import Run
    from calipers.scores import Scores


class Seen(NamedTuple):
    """What one run was like."""

    name: str
    renamed: bool  # goes by its file, as its tag is another's too
    unjudged_queries: int
    missing_queries: int
    tied_lists: int
    unjudged_share: float  # of the documents in the top 10


def seen_in(scores: Scores, runs: Sequence[Run]) -> list[Seen]:
    from calipers.collection.naming import distinct_names

    coverage = scores.coverage
    assert coverage is not None
    columns = (
        coverage.unjudged_queries.tolist(),
        coverage.missing.sum(axis=1).tolist(),
        (coverage.tied > 0).sum(axis=1).tolist(),
        coverage.unjudged_share_at_10().tolist(),
    )
    return [Seen(*run) for run in zip(*zip(*distinct_names(runs), strict=True), *columns, strict=True)]


def warnings_of(scores: Scores, runs: Sequence[Run]) -> list[str]:
    return list(warnings_about(seen_in(scores, runs), scores.metadata["ties"]))


def warnings_about(seen: Sequence[Seen], ties: str) -> Iterator[str]:
    """Each warning once, counted over all systems."""
    total = len(seen)
    if renamed := [run.name for run in seen if run.renamed]:
        yield f"{len(renamed)} runs share a tag with another and go by their file names: {some(renamed)}"
    if unjudged := [run.unjudged_queries for run in seen if run.unjudged_queries]:
        yield f"{len(unjudged)} of {total} runs answer queries without judgments (at most {max(unjudged)}); ignored"
    if missing := [run for run in seen if run.missing_queries]:
        lacking = sum(run.missing_queries for run in missing)
        yield (
            f"{len(missing)} of {total} runs lack judged queries "
            f"({lacking} in all, {some([run.name for run in missing])})"
        )
    if tied := [run.tied_lists for run in seen if run.tied_lists]:
        yield f"{len(tied)} of {total} runs have ties, in {sum(tied)} lists; counted by ties={ties}"
    worst = max(seen, key=lambda run: run.unjudged_share)
    if worst.unjudged_share > 0:
        mean = sum(run.unjudged_share for run in seen) / total
        yield (
            f"{mean:.1%} of the documents in the top 10 are unjudged "
            f"(at most {worst.unjudged_share:.1%}, {worst.name}); counted as not relevant"
        )


def some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
