"""The command `calipers text compare`."""

from __future__ import annotations

from dataclasses import replace

import click

from calipers.cli.compare import SHOWN, ComparisonMethod, compared_tables, conclude, method_options, say_compared
from calipers.cli.option_groups import grouped_command
from calipers.cli.options import note, plot_option, strict_option
from calipers.cli.output import Output, several_outputs
from calipers.cli.text_options import TextRequest, details_of_measures, in_words, text_request, texts_and_measures
from calipers.support.plurals import counted


@grouped_command("compare")
@texts_and_measures
@method_options(seeded=False)
@click.option(
    "--show",
    type=click.Choice(SHOWN),
    multiple=True,
    help="pairs, wins (with letters: systems that share one do not differ), matrix, or influence (pairs that "
    "one document decides); may be repeated [default: pairs and wins as a table, pairs otherwise].",
)
@plot_option("who differs from whom")
@details_of_measures
@strict_option
@text_request
@several_outputs
def command(
    request: TextRequest, method: ComparisonMethod, show: tuple[str, ...], plot: str | None, output: Output
) -> None:
    """Test which systems differ: tests over documents, intervals, effect sizes, who beats whom.

    The tests are those of `calipers compare`; documents (or the questions of answers) take the role of queries.

    \b
    calipers text compare data.jsonl -m "ROUGE-2 V2(ROUGE-2)" --baseline s0
    calipers text compare data.jsonl -m "ROUGE-L" --test randomization --show matrix
    """
    evaluation = request.evaluate(*method.baseline)
    scores = evaluation.scores
    compared = evaluation.compare(**vars(replace(method, seed=request.options.seed)), warn=False)
    note(f"{counted(len(scores.systems), 'system')}, {counted(len(scores.queries), evaluation.collection.kind.unit)}")
    say_compared(compared, request.strict)
    tables = compared_tables(compared, scores, show, output.format)
    shown = {name: (title, in_words(table, scores.unit)) for name, (title, table) in tables.items()}
    output.write_result(compared, shown)
    conclude(compared, plot)
