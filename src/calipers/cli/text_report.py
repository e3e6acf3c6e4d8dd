"""The command `calipers text report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from calipers.cli.option_groups import grouped_command, option_group
from calipers.cli.options import OUTPUT, WholeNumber, note, progress, show, strict_option, typed_command, warn
from calipers.cli.policies import significance_options
from calipers.cli.text_options import TextRequest, details_of_measures, text_request, texts_and_measures
from calipers.support.atomic_files import write_whole
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.report.material import ReportOptions

SECTIONS = 7  # of the page


@grouped_command("report")
@texts_and_measures
@option_group("choices", "calipers.report.material:ReportOptions")
@click.option(
    "-o",
    "--output",
    default="summaries.html",
    show_default=True,
    metavar="FILE",
    type=OUTPUT,
    help="The page to write.",
)
@click.option("--title", default="", help="Title of the page [default: the systems and the file].")
@click.option(
    "--top",
    type=WholeNumber(0),
    default=10,
    show_default=True,
    help="How many documents the page shows with what systems wrote.",
)
@click.option("--baseline", default="", metavar="SYSTEM", help="The system that all others are compared with.")
@significance_options("holm", seeded=False)
@details_of_measures
@strict_option
@text_request
def command(request: TextRequest, choices: ReportOptions, output: str) -> None:
    """Write a report on summaries or answers: one HTML page that needs no server.

    Scores with intervals, between chance and the upper bound, who really differs, how measures agree with people, which
    measure tells systems apart, the documents on which systems differ most with what they wrote, and how all of it was
    computed. Where only one measure can be shown, it is the first; under an error, such as TER, less is better.

    \b
    calipers text report data.jsonl -o summaries.html
    calipers text report data.jsonl -m "ROUGE-2 V2(ROUGE-2)" --title "Our summaries" -o summaries.html
    calipers text report data.jsonl -m "TER V2(TER)" --baseline s0 -o edits.html
    calipers text report answers.jsonl -m "F1 NuggetRecall nDCG@10" -o answers.html
    """
    from calipers.report.page import check_packages
    from calipers.texts.report_page import text_report_page

    check_packages()
    evaluation, options = request.evaluate(*filter(None, [choices.baseline])), request.options
    scores = evaluation.scores
    with progress(SECTIONS, "sections") as advance:
        page, notes = text_report_page(
            evaluation,
            choices.changed(seed=options.seed),
            files=request.data.files(),
            command=typed_command(),
            progress=advance,
            parameters={
                "words": f"{options.tokenizer}{', stems' if options.stem else ''}",
                "several references": options.several,
                "length of random texts": options.length,
                "random texts": options.chance or "those of each measure",
                "upper bound": options.upper,
                "encoder": request.bert.encoder or "none",
            },
        )
    warn(notes, request.strict)
    write_whole(output, page)
    documents = counted(len(scores.queries), evaluation.collection.kind.unit)
    note(f"{counted(len(scores.systems), 'system')}, {documents}, {len(page) / 1e6:.2f} MB")
    show(f"{output}\n")
