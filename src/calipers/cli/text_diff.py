"""The command `calipers text diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from calipers.cli.option_groups import grouped_command
from calipers.cli.options import LEVEL, WholeNumber, draw, note, plot_option, strict_option
from calipers.cli.output import Output, several_outputs
from calipers.cli.text_options import TextRequest, details_of_measures, in_words, text_request, texts_and_measures

if TYPE_CHECKING:
    from calipers.results.tables import Table


@grouped_command("diff")
@texts_and_measures
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="Level of the confidence intervals.")
@click.option(
    "--limit",
    type=WholeNumber(0),
    default=10,
    show_default=True,
    metavar="N",
    help="Documents with the largest loss, and documents with the largest gain, that are shown.",
)
@plot_option("the gain or loss of every document, sorted")
@details_of_measures
@strict_option
@text_request
@several_outputs
def command(
    request: TextRequest, old: str, new: str, level: float, limit: int, plot: str | None, output: Output
) -> None:
    """Show what changed between two systems of DATA: means, and the documents with the largest losses and gains.

    The first measure sorts the documents. A difference is new - old; its interval is Student's. Errors such as TER are
    negated, so that more is better.

    \b
    calipers text diff data.jsonl s0 s1 -m "ROUGE-1 ROUGE-2"
    calipers text diff data.jsonl s0 s1 -m "ROUGE-L" --limit 3 --format markdown
    """
    evaluation = request.evaluate(old, new)
    found = evaluation.diff(old, new, level=level)
    unit = evaluation.collection.kind.unit
    note(found.summary)
    tables = {"means": ("means", in_words(found.table(), unit))}
    for name, queries in (("losses", found.losses[:limit]), ("gains", found.gains[:limit])):
        if queries:
            tables[name] = (
                f"largest {name}, {found.measures[0]}",
                in_words(_scores_only(found.query_table(queries)), unit),
            )
    draw(plot, lambda charts: charts.gains_and_losses(found))
    output.write_several(tables)


def _scores_only(table: Table) -> Table:
    """Leave out the columns about retrieved documents."""
    return table.changed(columns=table.columns[:-3], rows=tuple(row[:-3] for row in table.rows))
