"""The command `calipers report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from calipers.cli.inputs import Inputs, inputs, say_scores
from calipers.cli.option_groups import grouped_command, option_group
from calipers.cli.options import (
    FILE,
    OUTPUT,
    WholeNumber,
    document_texts_option,
    note,
    population_option,
    query_groups_option,
    query_texts_option,
    show,
    typed_command,
    warn,
)
from calipers.cli.policies import ListPolicies, lists, significance_options
from calipers.support.atomic_files import write_whole
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.report.material import ReportOptions, Texts


def _names(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Split names at spaces and commas."""
    return tuple(value.replace(",", " ").split())


@grouped_command("report")
@inputs(texts=True)
@option_group("choices", "calipers.report.material:ReportOptions")
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    metavar="FILE",
    type=OUTPUT,
    help="The HTML page to write.",
)
@click.option("--title", default="", help="Title of the page [default: names of the systems and the file].")
@click.option(
    "--baseline",
    default="",
    metavar="SYSTEM",
    help="Compare all systems with this one: its name, tag or file. Of two systems, it is the old one.",
)
@click.option(
    "--sections",
    default="",
    metavar="NAMES",
    callback=_names,
    help="Write only these sections, separated by spaces: systems, changes, between, differs, groups, judges, "
    "unjudged, plan, queries, tools, measures, trust, alike, quality, method; chance, people and texts only of texts.",
)
@click.option(
    "--top",
    type=WholeNumber(0),
    default=10,
    show_default=True,
    help="Number of documents of each ranking to show; of texts, the number of documents with what systems wrote.",
)
@option_group("texts", "calipers.report.material:Texts")
@query_texts_option
@document_texts_option
@query_groups_option
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="JUDGMENTS",
    type=FILE,
    help="Other judgments of the same queries to compare with: a file, a folder or a quoted pattern. May be repeated.",
)
@population_option
@significance_options("holm")
@lists
def command(
    inputs: Inputs, output: str, judges: tuple[str, ...], choices: ReportOptions, texts: Texts, lists: ListPolicies
) -> None:
    """Write everything about some runs, or texts, to one HTML page that needs no network.

    DATA is judgments of runs, or texts: rows with answers, summaries or translations of systems.

    The page starts with a verdict and what to do next. Then: scores with intervals, scores between those of random and
    ideal rankings, significant differences, unjudged documents, detectable differences, a map of the queries with their
    rankings, other tools, properties of the measures, similar systems, data quality, and how all of it was computed. Of
    texts: scores between chance and the upper bound, agreement with people, and the documents on which systems differ
    most, with what they wrote. Of two systems, the page shows the changes from the first (or the baseline) to the
    other. A section that can show only one measure shows the first.

    \b
    calipers report qrels.txt runs/* -o report.html
    calipers report qrels.txt runs/* -m "nDCG@10 AP RR" --test tukey --title "Our runs" -o report.html
    calipers report qrels.txt old=a.run new=b.run --baseline old --query-texts queries.tsv -o change.html
    calipers report qrels.txt runs/* --sections "systems differs" --baseline bm25 -o short.html
    calipers report human.qrels runs/* --judge llm.qrels -o report.html
    calipers report test.svm model-a.txt model-b.txt -m "nDCG(gain=exp)@10" -o models.html
    calipers report answers.jsonl -m "F1 NuggetRecall nDCG@10" -o answers.html
    calipers report data.jsonl -m "ROUGE-2 V2(ROUGE-2)" --baseline s0 -o summaries.html
    """
    from calipers.report.page import check_page_name, report_page
    from calipers.report.sections import SECTIONS

    check_page_name(output)
    if choices.baseline:
        inputs.baselines([choices.baseline])  # a wrong name is refused before anything is scored
    with inputs.scored(lists, len(SECTIONS)) as experiment:
        page, notes = report_page(
            experiment,
            choices,
            judges=inputs.read_judges(judges) if judges else None,
            texts=texts,
            command=typed_command(),
            progress=(experiment.texts or experiment).progress,
        )
    scores = experiment.scores
    if experiment.texts is not None:
        say_scores(experiment, lists.strict)
    warn(notes, lists.strict)  # with --strict, notes are an error and no page is written
    write_whole(output, page)
    systems, queries = counted(len(scores.systems), "system"), counted(len(scores.queries), scores.unit)
    note(f"{systems}, {queries}, {len(page) / 1e6:.2f} MB")
    show(f"{output}\n")
