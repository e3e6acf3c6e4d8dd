"""calipers evaluate"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.engines import engine_options, evaluate_on_spark
from calipers.cli.options import (
    given,
    judgments_and_systems,
    list_options,
    measures_option,
    note,
    open_collection,
    output_options,
    warn,
    write,
)
from calipers.cli.reading_progress import progress_option, reading
from calipers.errors import CalipersError
from calipers.results.notes import some

if TYPE_CHECKING:
    from calipers.cli.fast_evaluate import Answer
    from calipers.collection.model import Judgments
    from calipers.results.scores import Scores


INTERVALS = ("auto", "t", "logit", "bca")  # stats.bounded_intervals.METHODS, which would load NumPy


@click.command("evaluate")
@judgments_and_systems
@measures_option
@click.option("-q", "--per-query", is_flag=True, help="One row a system and query instead of means.")
@click.option("--interval", type=float, metavar="LEVEL", help="Confidence intervals of the means, as 0.95.")
@click.option("--interval-by", type=click.Choice(INTERVALS), default="auto", show_default=True,
              help="Student's interval, on the logit scale, or the BCa bootstrap's; auto is Student's, and logit where "
                   "that would leave the measure's range.")  # fmt: skip
@click.option("--baseline", metavar="SYSTEM",
              help="Mark significant differences from this system, in Markdown and LaTeX.")  # fmt: skip
@click.option("--intents", metavar="FILE", help="For diversity: lines of query, subtopic and its probability.")
@list_options
@engine_options
@progress_option
@output_options
def command(
    judgments: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    interval: float | None,
    interval_by: str,
    baseline: str | None,
    intents: str | None,
    strict: bool,
    jobs: int | None,
    engine: str,
    master: str | None,
    show: bool | None,
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
    calipers evaluate qrels.txt runs/*.gz -m "nDCG@10 AP" --format latex --baseline bm25
    calipers evaluate test.svm model-a.txt model-b.txt -m "nDCG(gain=exp)@10"
    calipers evaluate test.svm model-a.txt -m "nDCG@10" --like letor4
    calipers evaluate diversity.qrels runs/* -m "ERR-IA@20 alpha-nDCG@20 D#-nDCG@10"
    calipers evaluate qrels.parquet runs/*.parquet -m "nDCG@10" --engine spark --master "local[2]"
    """
    if engine == "spark":
        if baseline is not None:
            raise CalipersError("--baseline is not for --engine spark: its marks need all scores in one place")
        evaluate_on_spark(
            judgments, systems, measures, master=master, per_query=per_query, interval=interval, intents=intents,
            strict=strict, form=form, output=output, **policies,
        )  # fmt: skip
        return
    for_paper = form in ("markdown", "latex") and not per_query and interval is None
    read_otherwise = any(map(given, ("judgments_as", "systems_as", "max_unpacked", "columns")))
    unusual = (intents, interval, read_otherwise, for_paper, baseline, not click.get_current_context().obj)
    if not any(unusual) and (fast := _fast_answer(judgments, systems, measures, jobs, show, **policies)):
        warn(fast.notes(policies["ties"]), strict)
        write(fast.per_query() if per_query else fast.mean(), form, output)
        return
    from calipers.evaluation import evaluate
    from calipers.measures.grammar import DEFAULT_MEASURES, parse_all

    wanted = parse_all(measures or DEFAULT_MEASURES)  # a wrong name is refused before anything is read
    known, runs = open_collection(judgments, systems, (measure for _, measure in wanted))
    if intents is not None:
        known = _with_intents(known, intents)
    with reading(systems, show):
        scores = evaluate(known, runs, [name for name, _ in wanted], jobs=jobs, warn=False, **policies)
    warn(scores.notes, strict)
    note_undefined(scores)
    if per_query:
        write(scores.per_query(), form, output)
    elif interval is not None:
        write(_with_intervals(scores, interval, interval_by), form, output)
    elif for_paper:
        from calipers.stats.significance_marks import marked

        write(marked(scores, baseline), form, output)
    else:
        if baseline is not None:
            raise CalipersError("--baseline marks tables of means: --format markdown or latex")
        write(scores.mean(), form, output)


def _fast_answer(
    judgments: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    jobs: int | None,
    show: bool | None,
    *,
    ties: str | None,
    depth: int | None,
    **others: Any,
) -> Answer | None:
    """What can be said without loading NumPy."""
    if any(others.values()):  # a policy of 0 is what is done anyway
        return None
    from calipers.cli.fast_evaluate import fast_answer
    from calipers.measures.names import DEFAULT_MEASURES

    with reading(systems, show):
        return fast_answer(judgments, systems, measures or DEFAULT_MEASURES, ties=ties, depth=depth, jobs=jobs)


def _with_intents(known: Judgments, path: str) -> Judgments:
    from calipers.collection.subtopics import SubtopicJudgments, read_probabilities

    if not isinstance(known, SubtopicJudgments):
        raise CalipersError("--intents is for measures of diversity, as ERR-IA@20", file=path)
    return known.with_probabilities(read_probabilities(path))


def _with_intervals(scores: Scores, level: float, method: str) -> Any:
    from calipers.results.tables import Table
    from calipers.stats.bounded_intervals import mean_intervals

    low, high = mean_intervals(scores, level, method)
    mean = scores.mean()
    columns = ["system", *(f"{name}{end}" for name in scores.measures for end in ("", " low", " high"))]
    rows = [
        (m[0], *(cell for triple in zip(m[1:], lo[1:], hi[1:], strict=True) for cell in triple))
        for m, lo, hi in zip(mean.rows, low.rows, high.rows, strict=True)
    ]
    return Table(tuple(columns), tuple(rows), scores.metadata)


def note_undefined(scores: Scores) -> None:
    """How many queries have no score of their own, and what they count."""
    from calipers.limits.exactness import exactness_notes
    from calipers.results.scores import Reason

    if like := scores.metadata.get("like"):
        note(f"like {like}: {scores.metadata['like_sentence']}")
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
                counted = counted_as(scores.metadata, POLICIES[reason.name], reason, plain)
                note(f"{queries} of {len(scores.queries)} queries for {names}: {reason}; {counted}")
    for sentence in exactness_notes(scores.exactness):
        note(sentence)
    populations = {d.parameters["population"] for d in scores.definitions if "population" in d.parameters}
    if populations:
        note(f"random rankings of the population: {', '.join(sorted(populations))}")


POLICIES = {"NO_RELEVANT": "empty", "NOTHING_FOUND": "missing", "MISSING": "missing", "DEGENERATE": "degenerate"}


def counted_as(said: Mapping[str, Any], policy: str, reason: Any, plain: bool) -> str:
    """What such queries count: as was given, or as the convention says."""
    from calipers.results.scores import Reason

    given = said["empty_plain"] if said[policy] is None and policy == "empty" and plain else said[policy]
    if isinstance(given, int | float):
        return f"counted as {given:g}"
    if given is None and reason == Reason.DEGENERATE:
        return "counted as 0 where the list reaches the score of all rankings"
    return "counted as 0" if given is None and plain else "skipped"
