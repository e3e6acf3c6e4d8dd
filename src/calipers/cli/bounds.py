"""The command `calipers bounds`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    costs_option,
    document_groups_option,
    draw,
    like_option,
    note,
    plot_option,
    population_option,
)
from calipers.cli.output import Output, output


@dataclass(frozen=True)
class Kind:
    """Which bounds: exact, sampled or published ones, and of which documents."""

    sd: str
    expected: str
    ideal: str
    costs: str | None
    document_groups: str | None


@grouped_command("bounds")
@inputs(optional=True)
@population_option
@like_option
@option_group("bounds", Kind)
@click.option(
    "--sd", type=LibraryChoice("calipers.choices:DeviationOfRandom"), default="exact", show_default=True,
    help="Draw random rankings where the standard deviation has no closed form.",
)  # fmt: skip
@click.option("--expected", type=LibraryChoice("calipers.choices:ExpectedOfRandom"), default="exact",
              show_default=True, help="The exact expected value, or the published one of SP and AP.")  # fmt: skip
@click.option("--ideal", type=LibraryChoice("calipers.choices:IdealRanking"), default="exact",
              show_default=True, help="The best ranking, the published ideal of SP and AP, or the greedy "
                                      "one of measures by subtopic.")  # fmt: skip
@costs_option
@document_groups_option
@plot_option("how many queries have which random score")
@output
def command(
    inputs: Inputs,
    population: str,
    like: Any,
    bounds: Kind,
    plot: str | None,
    output: Output,
) -> None:
    """Show the scores of the best, the worst and a random ranking of each query's documents.

    \b
    calipers bounds qrels.txt -m "nDCG@10 AP ERR@20"
    calipers bounds qrels.txt run.txt -m "nDCG@10" --population retrieved
    """
    from calipers.limits.pool_bounds import bounds as bounds_of
    from calipers.measures.exactness import exactness_notes
    from calipers.measures.populations import OF_LISTS, what_is_shuffled

    wanted = inputs.wanted()
    names = list(wanted)
    known = inputs.read_judgments(inputs.judgments, wanted.values())
    runs = inputs.runs() if inputs.systems else None
    found = bounds_of(known, names, population=population, runs=runs, like=like, **vars(bounds))
    if like is not None:
        note(f"like {like.name}: {like.sentence}")
    if runs is not None and population not in OF_LISTS:
        note(f"the bounds of the population {population} do not depend on the systems")
    for sentence in exactness_notes(found.inexact, found.largest_errors):
        note(sentence)
    note(what_is_shuffled(population))
    output.write(found.table())
    draw(plot, lambda charts: charts.stacked(*(charts.expected_histogram(found, name) for name in names)))
