"""The command `calipers queries`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import grouped_command, option_group
from calipers.cli.options import NUMBER, WholeNumber, draw, like_option, note, plot_option, population_option, progress
from calipers.cli.output import Output, output

if TYPE_CHECKING:
    from calipers.limits.query_types import QueryTypes, Thresholds


@dataclass(frozen=True)
class QuerySelection:
    """Which queries are shown: those of the largest and of the smallest differences, or all."""

    top: int | None
    bottom: int | None
    absolute: bool

    def of(self, types: QueryTypes) -> set[str]:
        largest = types.largest(self.top, self.absolute) if self.top else ()
        return {*largest, *(types.smallest(self.bottom, self.absolute) if self.bottom else ())}


@grouped_command("queries")
@inputs()
@population_option
@like_option
@option_group("thresholds", "calipers.limits.query_types:Thresholds")
@click.option("--uninformative", type=NUMBER, default=0.1, show_default=True,
              help="Largest difference of an uninformative query.")  # fmt: skip
@click.option("--ideal", type=NUMBER, default=0.5, show_default=True, help="Smallest difference of an ideal query.")
@click.option("--hard", type=NUMBER, default=0.3, show_default=True, help="Largest actual score of a hard query.")
@click.option("--easy", type=NUMBER, default=0.7, show_default=True, help="Smallest expected score of an easy query.")
@option_group("ends", QuerySelection)
@click.option("--top", type=WholeNumber(1), help="Only the N queries with the largest difference.")
@click.option("--bottom", type=WholeNumber(1), help="Only the N queries with the smallest difference.")
@click.option("--absolute", is_flag=True, help="With --top and --bottom: leave out the sign of the difference.")
@plot_option("the map of queries and the histogram")
@output
def command(
    inputs: Inputs,
    population: str,
    like: Any,
    thresholds: Thresholds,
    ends: QuerySelection,
    plot: str | None,
    output: Output,
) -> None:
    """Show the type of each query: how far systems get above a random ranking of its documents.

    Scores are shares of the ideal one, averaged over systems and measures. A query is ideal or informative where
    systems clearly beat a random ranking, and uninformative where they do not: hard where both score low, easy
    where both score high.

    \b
    calipers queries qrels.txt runs/* -m "nDCG@10" --plot queries.html
    calipers queries qrels.txt runs/* -m "nDCG@{5,10,20}" --bottom 50
    """
    from calipers.evaluation.evaluation import evaluate
    from calipers.limits.pool_bounds import bounds
    from calipers.limits.query_types import query_types
    from calipers.measures.exactness import exactness_notes
    from calipers.measures.populations import what_is_shuffled
    from calipers.results.tables import Table

    measures = inputs.wanted("nDCG@10")
    wanted = list(measures)
    known, runs = inputs.open(measures.values())
    with progress(len(runs), "runs") as advance:
        scores = evaluate(known, runs, wanted, like=like, empty="skip", progress=advance, warn=False)
    if like is not None:
        note(f"like {like.name}: {like.sentence}")
    limits = bounds(known, wanted, population=population, runs=runs, like=like)
    for sentence in exactness_notes(scores.exactness | limits.inexact, scores.errors | limits.largest_errors):
        note(sentence)
    types = query_types(scores, limits, thresholds)
    note(f"{', '.join(f'{count} {t}' for t, count in types.counts().items() if count)}")
    note(what_is_shuffled(population))
    draw(
        plot,
        lambda charts: charts.stacked(
            charts.query_map(types, " ".join(wanted)), *(charts.expected_histogram(limits, name) for name in wanted)
        ),
    )
    table = types.table()
    chosen = ends.of(types)
    if chosen:
        table = Table(table.columns, tuple(row for row in table.rows if row[0] in chosen))
    output.write(table)
