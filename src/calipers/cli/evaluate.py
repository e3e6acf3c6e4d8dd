"""calipers evaluate"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.options import (
    form_for,
    judgments_and_systems,
    list_options,
    measures_option,
    note,
    open_collection,
    output_options,
    progress,
    warn,
    write,
)
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.collection.model import Judgments, Run
    from calipers.scores import Scores


@click.command("evaluate")
@judgments_and_systems
@measures_option
@click.option("-q", "--per-query", is_flag=True, help="One row a system and query instead of means.")
@click.option("--interval", type=float, metavar="LEVEL", help="Confidence intervals of the means, as 0.95.")
@click.option("--intents", metavar="FILE", help="For diversity: lines of query, subtopic and its probability.")
@list_options
@output_options
def command(
    judgments: str,
    systems: tuple[str, ...],
    judgments_as: str | None,
    systems_as: str | None,
    max_unpacked: float | None,
    measures: tuple[str, ...],
    per_query: bool,
    interval: float | None,
    intents: str | None,
    strict: bool,
    jobs: int | None,
    form: str,
    output: str | None,
    **policies: Any,
) -> None:
    """Score runs under measures.

    JUDGMENTS are TREC qrels or a labelled LETOR file; a SYSTEM is a TREC run, or, beside LETOR judgments, a file with
    one score a line. Files may be compressed; directories and globs stand for the files in them, - for standard input.

    \b
    calipers evaluate qrels.txt runs/*.gz -m "nDCG@{5,10} AP RR P@10 Recall@1000 RBP(p=0.8)"
    calipers evaluate qrels.txt run.txt -q --format csv
    calipers evaluate qrels.txt run.txt --like trec_eval-9 -m "map ndcg_cut_10 P_5"
    calipers evaluate test.svm model-a.txt model-b.txt -m "nDCG(gain=exp)@10"
    calipers evaluate test.svm model-a.txt -m "nDCG@10" --like letor4
    calipers evaluate diversity.qrels runs/* -m "ERR-IA@20 alpha-nDCG@20 D#-nDCG@10"
    """
    from calipers.evaluation import evaluate
    from calipers.measures.grammar import DEFAULT_MEASURES, parse_all

    wanted = parse_all(measures or DEFAULT_MEASURES)  # a wrong name is refused before anything is read
    form_of_judgments = judgments_as or form_for(measure for _, measure in wanted)
    known, runs = open_collection(judgments, systems, form_of_judgments, systems_as, max_unpacked)
    if intents is not None:
        known = _with_intents(known, intents)
    with progress(len(runs), "runs") as advance:
        scores = evaluate(known, runs, [name for name, _ in wanted], jobs=jobs, progress=advance, **policies)
    warn(warnings_of(scores, runs), strict)
    note_undefined(scores)
    if per_query:
        write(scores.per_query(), form, output)
    elif interval is not None:
        write(_with_intervals(scores, interval), form, output)
    else:
        write(scores.mean(), form, output)


def _with_intents(known: Judgments, path: str) -> Judgments:
    from calipers.collection.subtopics import SubtopicJudgments, read_probabilities

    if not isinstance(known, SubtopicJudgments):
        raise CalipersError("--intents is for measures of diversity, as ERR-IA@20", file=path)
    return known.with_probabilities(read_probabilities(path))


def _with_intervals(scores: Scores, level: float) -> Any:
    from calipers.tables import Table

    low, high = scores.interval(level)
    mean = scores.mean()
    columns = ["system", *(f"{name}{end}" for name in scores.measures for end in ("", " low", " high"))]
    rows = [
        (m[0], *(cell for triple in zip(m[1:], lo[1:], hi[1:], strict=True) for cell in triple))
        for m, lo, hi in zip(mean.rows, low.rows, high.rows, strict=True)
    ]
    return Table(tuple(columns), tuple(rows), scores.metadata)


def warnings_of(scores: Scores, runs: list[Run]) -> list[str]:
    """What a reader of the table should know, each counted over all systems."""
    from calipers.collection.model import distinct_names

    coverage = scores.coverage
    assert coverage is not None
    found = []
    if clashing := [name for name, clashes in distinct_names(runs) if clashes]:
        found.append(f"{len(clashing)} runs share a tag with another and go by their file names: {_some(clashing)}")
    if (unjudged := coverage.unjudged_queries > 0).any():
        most = int(coverage.unjudged_queries.max())
        found.append(f"{unjudged.sum()} of {len(runs)} runs answer queries without judgments (at most {most}); ignored")
    if (missing := coverage.missing.sum(axis=1)).any():
        found.append(
            f"{(missing > 0).sum()} of {len(runs)} runs lack judged queries "
            f"({missing.sum()} in all, {_some([s for s, m in zip(scores.systems, missing, strict=True) if m])})"
        )
    if (tied := (coverage.tied > 0).sum(axis=1)).any():
        found.append(
            f"{(tied > 0).sum()} of {len(runs)} runs have ties, in {tied.sum()} lists; "
            f"counted by ties={scores.metadata['ties']}"
        )
    unjudged_share = coverage.unjudged_share_at_10()
    if (unjudged_share > 0).any():
        found.append(
            f"{unjudged_share.mean():.1%} of the documents in the top 10 are unjudged "
            f"(at most {unjudged_share.max():.1%}, {scores.systems[int(unjudged_share.argmax())]}); "
            "counted as not relevant"
        )
    return found


def note_undefined(scores: Scores) -> None:
    """How many queries have no score of their own, and what they count."""
    from calipers.scores import Reason

    if like := scores.metadata.get("like"):
        note(f"like {like}: {scores.metadata['like_sentence']}")
    for reason, policy in (
        (Reason.NO_RELEVANT, "empty"),
        (Reason.NOTHING_FOUND, "missing"),
        (Reason.MISSING, "missing"),
        (Reason.DEGENERATE, "degenerate"),
    ):
        for plain in (True, False):
            concerned = [
                m
                for m, (definition, count) in enumerate(zip(scores.definitions, scores.undefined(reason), strict=True))
                if count and plain == ("of" not in definition.parameters)
            ]
            if concerned:
                queries = int((scores.reasons[concerned] == reason).any(axis=(0, 1)).sum())
                names = _some([scores.measures[m] for m in concerned])
                note(
                    f"{queries} of {len(scores.queries)} queries for {names}: {reason}; "
                    f"{_counted(_policy_of(scores, policy, plain), reason, plain)}"
                )
    populations = {d.parameters["population"] for d in scores.definitions if "population" in d.parameters}
    if populations:
        note(f"random rankings of the population: {', '.join(sorted(populations))}")


def _policy_of(scores: Scores, policy: str, plain: bool) -> Any:
    """What was given, or what the convention says."""
    given = scores.metadata[policy]
    return scores.metadata["empty_plain"] if given is None and policy == "empty" and plain else given


def _counted(policy: Any, reason: Any, plain: bool) -> str:
    from calipers.scores import Reason

    if isinstance(policy, int | float):
        return f"counted as {policy:g}"
    if policy is None and reason == Reason.DEGENERATE:
        return "counted as 0 where the list reaches the score of all rankings"
    return "counted as 0" if policy is None and plain else "skipped"


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
