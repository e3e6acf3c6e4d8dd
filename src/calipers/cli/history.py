"""The command `calipers history`, and the option `--history` of other commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from calipers.cli.option_groups import LibraryChoice, grouped_command
from calipers.cli.options import FILE, OUTPUT, draw, measures_option, note, plot_option
from calipers.cli.output import Output, several_outputs
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.results.scores import Scores

history_option = click.option(
    "--history", metavar="FILE", type=OUTPUT,
    help="Append one line of JSON per run to this file: time, name, digest of the judgments, means, intervals.",
)  # fmt: skip


def remember(history: str | None, scores: Scores, verdict: str | None = None) -> None:
    """Append the scores to the file that --history names, if it is given."""
    if history is None:
        return
    from calipers.changes.history import append_history

    if history == "-":
        raise CalipersError("--history appends to a file, not to standard output")
    append_history(history, scores, verdict=verdict)
    note(f"appended to {history}")


@grouped_command("history")
@click.argument("history", metavar="FILE", type=FILE)
@click.option("--name", "names", multiple=True, metavar="NAME", help="Only runs with this name; may be repeated.")
@measures_option
@click.option("--show", type=LibraryChoice("calipers.changes.history:PARTS"), multiple=True,
              help="All runs (trend), or only those that left their range (outside) [default: trend].")  # fmt: skip
@plot_option("the means over time with their intervals")
@several_outputs
def command(
    history: str,
    names: tuple[str, ...],
    measures: tuple[str, ...],
    show: tuple[str, ...],
    plot: str | None,
    output: Output,
) -> None:
    """Show how means moved over time, and which runs left their range.

    FILE is written by evaluate --history and check --history. The range of a measure is the confidence interval of the
    first run with the same name and the same judgments.

    \b
    calipers evaluate qrels.txt new.run -m "nDCG@10 RR" --history history.jsonl
    calipers history history.jsonl
    calipers history history.jsonl -m "nDCG@10" --show outside --format csv
    calipers history history.jsonl --plot trend.html
    """
    from calipers.changes.gate_limits import measure_place
    from calipers.changes.history import read_history
    from calipers.measures.grammar import parse_all

    found = read_history(history)
    if names:
        found = found.of_names(names)
    named = [name for name, _ in parse_all(measures)] if measures else [*found.measures]
    chosen = [found.measures[measure_place(name, found.measures, "measure")] for name in named]
    tables = {}
    for part in show or ("trend",):
        table = found.table(part)
        wanted = tuple(row for row in table.rows if row[table.columns.index("measure")] in chosen)
        tables[part] = (part, table.changed(rows=wanted))
    for text in found.notes:
        note(text)
    output.write_several(tables)
    note(found.summary)
    draw(plot, lambda charts: charts.stacked(*(charts.trend(found, name) for name in chosen)))
