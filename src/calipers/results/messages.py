"""Sentences about scores and runs. Commands and the library use the same sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from calipers.collection.run_names import distinct_names, several_fit
from calipers.errors import CheckFailed
from calipers.measures.exactness import exactness_notes
from calipers.measures.normalisation import BELOW_WORST
from calipers.measures.populations import what_is_shuffled
from calipers.results.scores import Coverage, Reason, Scores
from calipers.support.plurals import counted, verb

if TYPE_CHECKING:
    from calipers.collection.runs import Run
    from calipers.native.ids import Ids


NAMED = 3  # number of queries named in a note


class RunSummary(NamedTuple):
    """Facts about one run that notes mention."""

    name: str
    renamed: bool  # named by its path, because an earlier run has the same name
    unjudged_queries: int
    missing_queries: int
    tied_lists: int
    unjudged_share: float  # of the documents in the top 10
    infinite: bool = False  # a score is infinite in single precision
    unjudged: tuple[str, ...] = ()  # names of some queries without judgments, if they are known
    missing: tuple[str, ...] = ()  # names of some judged queries that the run lacks


def seen_in(
    coverage: Coverage,
    runs: Sequence[Run],
    infinite: Sequence[bool] | None = None,
    queries: Sequence[str] = (),
    unjudged: Sequence[Ids] | None = None,
) -> list[RunSummary]:
    """Return a summary of each run.

    queries: the names of the judged queries. unjudged: the queries of each run that have no judgments.
    """
    columns = (
        coverage.unjudged_queries.tolist(),
        coverage.missing.sum(axis=1).tolist(),
        (coverage.tied > 0).sum(axis=1).tolist(),
        coverage.unjudged_share_at_10().tolist(),
        [False] * len(runs) if infinite is None else infinite,
        [()] * len(runs) if unjudged is None else [tuple(names[:NAMED].texts()) for names in unjudged],
        missing_names(coverage, queries) if queries else [()] * len(runs),
    )
    return [RunSummary(*run) for run in zip(*zip(*distinct_names(runs), strict=True), *columns, strict=True)]


def missing_names(coverage: Coverage, queries: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the names of some judged queries that each run lacks, in alphabetical order."""
    return [tuple(sorted(queries[q] for q in row.nonzero()[0])[:NAMED]) for row in coverage.missing]


def notes_on_lacking(seen: Sequence[RunSummary], queries: int) -> Iterator[str]:
    """Yield a note about judged queries that runs lack. It comes before other notes: such runs may have stopped early.

    queries: the number of judged queries.
    """
    missing = [run for run in seen if run.missing_queries]
    if not missing:
        return
    lacking = sum(run.missing_queries for run in missing)
    note = (
        f"{len(missing)} of {counted(len(seen), 'run')} {verb(len(missing), 'lacks', 'lack')} judged queries "
        f"({lacking} in all, {some([run.name for run in missing])}{_such_as(run.missing for run in missing)})"
    )
    most = [f"{run.name} ({run.missing_queries} of {queries})" for run in missing if 2 * run.missing_queries > queries]
    yield f"{note}; more than half of them are missing in {some(most)}" if most else note


def ties_averaged(drawn: Sequence[str] = ()) -> str:
    """Return how the orders of ties were averaged. drawn: measures for which some orders were drawn.

    >>> ties_averaged(["infAP"])
    'averaged over all orders (infAP: over drawn orders), where trec_eval orders by document id'
    """
    but = f" ({', '.join(drawn)}: over drawn orders)" if drawn else ""
    return f"averaged over all orders{but}, where trec_eval orders by document id"


def notes_about(
    seen: Sequence[RunSummary],
    ties: str,
    measure: str | None = None,
    gains: Sequence[float] = (),
    drawn: Sequence[str] = (),
) -> Iterator[str]:
    """Yield the notes about all runs, each note once, but those of `notes_on_lacking`.

    measure, gains: a measure, and how much judging could raise the mean of each run under it. drawn: measures whose
        average over ties is one over drawn orders.
    """
    total = len(seen)
    if renamed := [run.name for run in seen if run.renamed]:
        yield f"{some(renamed)}: named by its file, as another run has the same tag. name=path gives it another name"
    if unjudged := [run.unjudged_queries for run in seen if run.unjudged_queries]:
        yield (
            f"{len(unjudged)} of {counted(total, 'run')} {verb(len(unjudged), 'answers', 'answer')} queries without "
            f"judgments (at most {max(unjudged)}{_such_as(run.unjudged for run in seen)}); ignored"
        )
    if infinite := [run.name for run in seen if run.infinite]:
        yield (
            f"{len(infinite)} of {counted(total, 'run')} {verb(len(infinite), 'has', 'have')} scores beyond single "
            f"precision ({some(infinite)}): they are infinite there, and tie"
        )
    if tied := [run.tied_lists for run in seen if run.tied_lists]:
        runs = f"{len(tied)} of {counted(total, 'run')} {verb(len(tied), 'has', 'have')}"
        how = ties_averaged(drawn) if ties == "average" else f"documents are ordered by the tie rule '{ties}'"
        yield f"{runs} ties, in {counted(sum(tied), 'list')}; {how}"
    worst = max(seen, key=lambda run: run.unjudged_share)
    if worst.unjudged_share > 0:
        mean = sum(run.unjudged_share for run in seen) / total
        if mean == 1:
            yield (
                "all documents in the top 10 are unjudged and count as not relevant. Do the document ids of judgments "
                "and runs match? `inspect` shows examples"
            )
        else:
            yield (
                f"{mean:.1%} of the documents in the top 10 are unjudged "
                f"(at most {worst.unjudged_share:.1%}, {worst.name}); counted as not relevant"
            )
    if measure is not None and max(gains, default=0.0) >= 0.0005:  # less would be shown as 0
        rounded = [round(each, 9) for each in gains]  # so that the order of additions does not matter
        most = max(rounded)
        name = seen[rounded.index(most)].name
        mean = sum(gains) / total
        yield (
            f"judging all unjudged documents could raise the mean {measure} by up to {most:.3f} ({name})"
            + (f", by {mean:.3f} on average" if total > 1 else "")
            + "; `ranges` shows more"
        )


def _such_as(queries: Iterable[Sequence[str]]) -> str:
    """Return the end of a note that names the first queries of several runs, each once."""
    named = [*dict.fromkeys(chain.from_iterable(queries))][:NAMED]
    return f", such as {', '.join(repr(name) for name in named)}" if named else ""


def some(names: Sequence[str]) -> str:
    """Return the first three names, and the number of further names."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


POLICIES = {"NO_RELEVANT": "empty", "NOTHING_FOUND": "missing", "MISSING": "missing", "DEGENERATE": "degenerate"}


def remarks_about(scores: Scores) -> Iterator[str]:
    """Yield sentences about conventions, undefined queries and inexact scores.

    Scores that were not computed from runs get no sentences.
    """
    if not scores.definitions:
        return
    if like := scores.metadata.get("like"):
        yield f"like {like}: {scores.metadata['like_sentence']}"
    for reason in (Reason.NO_RELEVANT, Reason.NOTHING_FOUND, Reason.MISSING, Reason.DEGENERATE):
        for plain in (True, False):
            concerned = [
                m
                for m, (definition, count) in enumerate(zip(scores.definitions, scores.undefined(reason), strict=True))
                if count and plain == ("of" not in definition.parameters)
            ]
            if concerned:
                queries = int((scores.reasons[concerned] == reason).any(axis=(0, 1)).sum())
                names = some([scores.measures[m] for m in concerned])
                policy = counted_as(scores.metadata, POLICIES[reason.name], reason, plain)
                yield f"{queries} of {counted(len(scores.queries), 'query')} for {names}: {reason}; {policy}"
    if any("HIT" in (each.name, getattr(each.parameters.get("of"), "name", "")) for each in scores.definitions):
        yield "HIT@k is the largest gain in the top k; Success@k, also hit@k and HR@k, is 1 if a document is relevant"
    yield from exactness_notes(scores.exactness, scores.errors)
    yield from _about_random(scores)


def _about_random(scores: Scores) -> Iterator[str]:
    """Yield sentences about random rankings: the documents that they shuffle, and scores below the worst ranking."""
    populations: dict[str, list[str]] = {}
    for name, definition in zip(scores.measures, scores.definitions, strict=True):
        if "population" in definition.parameters:
            populations.setdefault(definition.parameters["population"], []).append(name)
    for population, names in populations.items():
        yield what_is_shuffled(population) + (f" ({some(names)})" if len(populations) > 1 else "")
    if names := _of_judged_documents_only(scores):
        yield (
            f"{some(names)}: most documents that the systems retrieved are unjudged, while a random ranking consists "
            "of judged documents only, which no system was given. The means can be below 0 for every system; use the "
            "population retrieved, or a cutoff"
        )
    below = [d.name == "W" and bool((v < -1e-9).any()) for d, v in zip(scores.definitions, scores.values, strict=True)]
    if any(below):
        yield BELOW_WORST


def _of_judged_documents_only(scores: Scores) -> list[str]:
    """Return the measures normalised by random rankings of the pool whose lists are mostly unjudged."""
    coverage = scores.coverage
    if coverage is None or scores.metadata.get("condensed"):
        return []
    return [
        name
        for name, definition in zip(scores.measures, scores.definitions, strict=True)
        if definition.parameters.get("population") == "pool"
        and definition.name not in ("U", "W")
        and coverage.mostly_unjudged(definition.form.reach)
    ]


def counted_as(said: Mapping[str, Any], policy: str, reason: Reason, plain: bool) -> str:
    """Return how queries that are undefined for this reason count, by the given policy or by the convention."""
    given = said["empty_plain"] if said[policy] is None and policy == "empty" and plain else said[policy]
    if isinstance(given, int | float):
        return f"counted as {given:g}"
    if given is None and reason == Reason.DEGENERATE:
        return "counted as 0 if the list reaches the score of all rankings"
    return "counted as 0" if given is None and plain else "skipped"


def refuse_ambiguous_names(scores: Scores, names: Iterable[str]) -> None:
    """Raise an error if a name could refer to several files. Its meaning would depend on the order of the files."""
    for name in names:
        if name in scores.ambiguous_names:
            raise several_fit(name, scores.ambiguous_names[name], by_path=False)


def without_ambiguous_names(scores: Scores) -> Scores:
    """Return the scores without their list of ambiguous names, for callers that know which systems they mean."""
    return replace(scores, ambiguous_names={})


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
