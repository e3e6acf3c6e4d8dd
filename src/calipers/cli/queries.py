"""The command `calipers queries`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import grouped_command, option_group
from calipers.cli.options import (
    NUMBER,
    WholeNumber,
    draw,
    like_option,
    note,
    plot_option,
    population_option,
    progress,
    relevant_option,
)
from calipers.cli.output import Output, output

if TYPE_CHECKING:
    from calipers.questions.queries import QueryTypes, Thresholds


@dataclass(frozen=True)
class QuerySelection:
    """Selection of queries: those with the largest and the smallest differences, or all."""

    top: int | None
    bottom: int | None
    absolute: bool

    def of(self, types: QueryTypes) -> set[str]:
        """Return the selected queries. Empty if all queries are shown."""
        largest = types.largest(self.top, self.absolute) if self.top else ()
        return {*largest, *(types.smallest(self.bottom, self.absolute) if self.bottom else ())}


@grouped_command("queries")
@inputs()
@population_option
@like_option
@relevant_option
@option_group("thresholds", "calipers.questions.queries:Thresholds")
@click.option(
    "--uninformative", type=NUMBER, default=0.1, show_default=True, help="Largest difference of an uninformative query."
)
@click.option("--ideal", type=NUMBER, default=0.5, show_default=True, help="Smallest difference of an ideal query.")
@click.option("--hard", type=NUMBER, default=0.3, show_default=True, help="Largest actual score of a hard query.")
@click.option("--easy", type=NUMBER, default=0.7, show_default=True, help="Smallest expected score of an easy query.")
@option_group("ends", QuerySelection)
@click.option("--top", type=WholeNumber(1), help="Show only the N queries with the largest difference.")
@click.option("--bottom", type=WholeNumber(1), help="Show only the N queries with the smallest difference.")
@click.option("--absolute", is_flag=True, help="With --top and --bottom: ignore the sign of the difference.")
@plot_option("the map of queries and the histogram")
@output
def command(
    inputs: Inputs,
    population: str,
    like: Any,
    relevant: float | None,
    thresholds: Thresholds,
    ends: QuerySelection,
    plot: str | None,
    output: Output,
) -> None:
    """Show the type of each query: how far systems get above a random ranking of its documents.

    Scores are shares of the ideal score, averaged over systems and measures. A query is ideal or informative if
    systems clearly beat a random ranking. It is uninformative if they do not: hard if both score low, easy if both
    score high.

    \b
    calipers queries qrels.txt runs/* -m "nDCG@10" --plot queries.html
    calipers queries qrels.txt runs/* -m "nDCG@{5,10,20}" --bottom 50
    """
    from calipers.results.tables import Table

    with progress(len(inputs.runs()), "runs") as advance:
        experiment = inputs.experiment("nDCG@10", like=like, relevant=relevant, empty="skip", progress=advance)
        types = experiment.queries(population=population, thresholds=thresholds)
    if like is not None:
        note(f"like {like.name}: {like.sentence}")
    note(types.summary)
    for sentence in types.notes:
        note(sentence)

    def chart(charts: Any) -> Any:
        limits = experiment.bounds(population=population)
        histograms = (charts.expected_histogram(limits, name) for name in limits.measures)
        return charts.stacked(charts.query_map(types, " ".join(limits.measures)), *histograms)

    draw(plot, chart)
    table = types.table()
    chosen = ends.of(types)
    if chosen:
        table = Table(table.columns, tuple(row for row in table.rows if row[0] in chosen))
    output.write(table)
