"""Facts about the data of a check: judgments that differ, runs without judged documents, and other problems of runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, get_args

from calipers.collection.judgments import digest_text
from calipers.errors import CalipersError, CheckFailed, place_of
from calipers.results.messages import some
from calipers.results.scores import Coverage, Scores
from calipers.support.plurals import counted, verb

OtherJudgments = Literal["error", "warn"]
OTHER_JUDGMENTS = get_args(OtherJudgments)
FailOn = Literal["unmatched", "missing", "ties", "unjudged"]
FAIL_ON = get_args(FailOn)


def refuse_unmatched(*each_system: Scores) -> None:
    """Fail if a system has hardly any judged document: its scores mean nothing."""
    for scores in each_system:
        if scores.systems[0] in scores.metadata.get("unmatched", ()):
            raise CheckFailed(
                f"{scores.systems[0]}: hardly any query has a judged document, so that the scores cannot be compared. "
                "Do judgments and runs write document ids in the same way?"
            )


def judgments_of_both(
    new: Scores, old: Scores | None, other_judgments: OtherJudgments
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return warnings and remarks about the judgments of both scores. Fail if they differ and that is not allowed."""
    if old is None:
        return (), ()
    known = [digest_text(scores.metadata.get("judgments")) for scores in (new, old)]
    if known[0] is not None and known[1] is None:
        return (), (
            "the scores of the baseline do not tell which judgments they were made with: if the judgments have changed "
            "since, the comparison is wrong; scores by query in JSON tell it",
        )
    if None in known or known[0] == known[1]:
        return (), ()
    text = (
        f"{new.systems[0]} and {old.systems[0]} were scored with different judgments "
        f"(digests {known[0]} and {known[1]})"
    )
    if other_judgments == "error":
        raise CheckFailed(
            f"{text}: compute the scores of the baseline again, or set other_judgments to 'warn' to compare them anyway"
        )
    return (text,), ()


def notes_on_both(new: Scores, old: Scores, shared: int) -> list[str]:
    """Return warnings about queries and conventions that differ."""
    found = different_queries(new, old, shared)
    likes = [scores.metadata.get("like") for scores in (new, old)]
    if "like" in old.metadata and likes[0] != likes[1]:
        by = [like or "Calipers' own" for like in likes]
        found.append(f"the scores follow different conventions: {by[0]} (new) and {by[1]} (old)")
    return found


def different_queries(new: Scores, old: Scores, shared: int) -> list[str]:
    """Return a sentence for each system that has queries which the other one lacks."""
    found = []
    for one, other in ((new, old), (old, new)):
        if count := len(one.queries) - shared:
            known = set(other.queries)
            named = some([query for query in one.queries if query not in known])
            where = f"{verb(count, 'is', 'are')} not in {other.systems[0]} ({named}); left out"
            found.append(f"{counted(count, 'query')} of {one.systems[0]} {where}")
    return found


def problems_of_runs(scores: Scores, systems: Sequence[str], fail_on: Collection[str]) -> list[tuple[str, str]]:
    """Return the problems of runs that `fail_on` can name, as kind and sentence."""
    coverage = scores.coverage
    if coverage is None:
        if wanted := [kind for kind in FAIL_ON if kind in fail_on]:
            raise CalipersError(f"fail_on '{wanted[0]}' is about runs, and these scores were not made from runs")
        return []
    return [
        problem
        for system in systems
        for problem in _problems_of(system, place_of("system", system, scores.systems), coverage)
    ]


def _problems_of(system: str, place: int, coverage: Coverage) -> Iterator[tuple[str, str]]:
    if without := int(coverage.unjudged_queries[place]):
        yield "unmatched", f"{system} answers {counted(without, 'query')} without judgments"
    if lacking := int(coverage.missing[place].sum()):
        yield "missing", f"{system} lacks {counted(lacking, 'judged query')}"
    if tied := int((coverage.tied[place] > 0).sum()):
        yield "ties", f"{system} has ties in {counted(tied, 'list')}"
    if (share := float(coverage.unjudged_share_at_10()[place])) > 0:
        yield "unjudged", f"{share:.1%} of the documents in the top 10 of {system} are unjudged"
