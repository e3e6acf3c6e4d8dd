"""The command `calipers report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from calipers.atomic_files import write_whole
from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import grouped_command, option_group
from calipers.cli.options import (
    FILE,
    OUTPUT,
    WholeNumber,
    note,
    population_option,
    progress,
    show,
    typed_command,
    warn,
)
from calipers.cli.policies import ListPolicies, lists, significance_options
from calipers.plurals import counted

if TYPE_CHECKING:
    from calipers.report.material import ReportOptions, Texts


def _names(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(value.replace(",", " ").split())


@grouped_command("report")
@inputs()
@option_group("choices", "calipers.report.material:ReportOptions")
@click.option("-o", "--output", default="report.html", show_default=True, metavar="FILE", type=OUTPUT,
              help="The page to write.")  # fmt: skip
@click.option("--title", default="", help="Title of the page [default: the systems and the judgments].")
@click.option("--top", type=WholeNumber(0), default=10, show_default=True,
              help="How many documents of each ranking the page shows.")  # fmt: skip
@click.option(
    "--baseline",
    default="",
    metavar="SYSTEM",
    help="The system that all others are compared with: a name, tag or file; of two systems the old one.",
)
@click.option(
    "--sections",
    default="",
    metavar="NAMES",
    callback=_names,
    help="Only these sections, with spaces between: systems, changes, between, differs, judges, unjudged, "
    "plan, queries, tools, measures, alike, quality, method.",
)
@option_group("texts", "calipers.report.material:Texts")
@click.option(
    "--query-texts",
    type=FILE,
    metavar="FILE",
    help="Texts of the queries to show: BEIR's queries.jsonl, or an id and a text on each line.",
)
@click.option(
    "--document-texts",
    type=FILE,
    metavar="FILE",
    help="Titles or texts of the documents, of which the beginnings are shown.",
)
@click.option("--judge", "judges", multiple=True, metavar="JUDGMENTS", type=FILE,
              help="Other judgments of the same queries, a folder or a quoted pattern: a section says what they would "
                   "change; may be repeated.")  # fmt: skip
@population_option
@significance_options("holm")
@lists
def command(
    inputs: Inputs, output: str, judges: tuple[str, ...], choices: ReportOptions, texts: Texts, lists: ListPolicies
) -> None:
    """Everything about some runs on one HTML page: one file, which opens anywhere and asks no server for anything.

    A verdict, scores with intervals, between their bounds, who really differs, what is not judged, what these queries
    can show, the map of queries with their rankings, what other tools would say, which measure to trust, which systems
    are alike, the quality of the data, and how all of it was computed. Of two systems it shows what changed from the
    first, or from the baseline, to the other. Where only one measure can be shown, it is the first.

    \b
    calipers report qrels.txt runs/* -o report.html
    calipers report qrels.txt runs/* -m "nDCG@10 AP RR" --test tukey --title "Our runs" -o report.html
    calipers report qrels.txt old=a.run new=b.run --baseline old --query-texts queries.tsv -o change.html
    calipers report qrels.txt runs/* --sections "systems differs" --baseline bm25 -o short.html
    calipers report human.qrels runs/* --judge llm.qrels -o report.html
    calipers report test.svm model-a.txt model-b.txt -m "nDCG(gain=exp)@10" -o models.html
    """  # fmt: skip
    from calipers.report.page import check_page_name, report_page
    from calipers.report.sections import SECTIONS

    check_page_name(output)
    if choices.baseline:
        inputs.name_of(choices.baseline)  # a wrong name is refused before anything is read
    with progress(len(inputs.runs()) + len(SECTIONS), "runs and sections") as advance:
        experiment = inputs.experiment(jobs=lists.jobs, progress=advance, **lists.policies)
        page, notes = report_page(
            experiment, choices, judges=inputs.read_judges(judges) if judges else None, texts=texts,
            command=typed_command(), progress=advance,
        )  # fmt: skip
    warn(notes, lists.strict)  # with --strict, notes are an error and no page is written
    write_whole(output, page)
    queries = counted(len(experiment.judgments.queries), "query")
    note(f"{counted(len(experiment.runs), 'system')}, {queries}, {len(page) / 1e6:.2f} MB")
    show(f"{output}\n")
