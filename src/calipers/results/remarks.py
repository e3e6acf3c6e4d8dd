"""What is said beside scores: whose conventions they follow, what undefined queries count, and what is not exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from calipers.measures.exactness import exactness_notes
from calipers.measures.normalisation import BELOW_WORST
from calipers.measures.populations import what_is_shuffled
from calipers.plurals import counted
from calipers.results.notes import some
from calipers.results.scores import Reason, Scores

POLICIES = {"NO_RELEVANT": "empty", "NOTHING_FOUND": "missing", "MISSING": "missing", "DEGENERATE": "degenerate"}


def remarks_about(scores: Scores) -> Iterator[str]:
    """One sentence for each, in the words of `calipers evaluate`; nothing about scores that did not come from runs."""
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
    """What random rankings shuffle, where measures are normalised by them; and why a score may be below the worst."""
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
    """What such queries count: as was given, or as the convention says."""
    given = said["empty_plain"] if said[policy] is None and policy == "empty" and plain else said[policy]
    if isinstance(given, int | float):
        return f"counted as {given:g}"
    if given is None and reason == Reason.DEGENERATE:
        return "counted as 0 where the list reaches the score of all rankings"
    return "counted as 0" if given is None and plain else "skipped"
