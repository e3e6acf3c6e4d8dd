"""The command `calipers bounds`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    costs_option,
    draw,
    like_option,
    note,
    plot_option,
    population_option,
    relevant_option,
)
from calipers.cli.output import Output, output

if TYPE_CHECKING:
    from calipers.support.choices import DeviationOfRandom, ExpectedOfRandom, IdealRanking


@dataclass(frozen=True)
class BoundOptions:
    """Options of the bounds: keywords of `Experiment.bounds`."""

    population: str
    sd: DeviationOfRandom
    expected: ExpectedOfRandom
    ideal: IdealRanking


@dataclass(frozen=True)
class ScoringRules:
    """Rules of scoring: keywords of `Experiment`."""

    like: Any
    relevant: float | None
    costs: str | None


@grouped_command("bounds")
@inputs(optional=True)
@option_group("options", BoundOptions)
@option_group("rules", ScoringRules)
@population_option
@like_option
@relevant_option
@click.option(
    "--sd",
    type=LibraryChoice("calipers.support.choices:DeviationOfRandom"),
    default="exact",
    show_default=True,
    help="Draw random rankings if the standard deviation has no closed form.",
)
@click.option(
    "--expected",
    type=LibraryChoice("calipers.support.choices:ExpectedOfRandom"),
    default="exact",
    show_default=True,
    help="The exact expected score, or the published formula for SP and AP.",
)
@click.option(
    "--ideal",
    type=LibraryChoice("calipers.support.choices:IdealRanking"),
    default="exact",
    show_default=True,
    help="Score of the best ranking, the published ideal of SP and AP, or a greedy ranking for measures by subtopic.",
)
@costs_option
@plot_option("a histogram of the expected scores of random rankings")
@output
def command(inputs: Inputs, options: BoundOptions, rules: ScoringRules, plot: str | None, output: Output) -> None:
    """Show the scores of the best, the worst and a random ranking of each query's documents.

    \b
    calipers bounds qrels.txt -m "nDCG@10 AP ERR@20"
    calipers bounds qrels.txt run.txt -m "nDCG@10" --population retrieved
    """
    from calipers.measures.populations import OF_LISTS, what_is_shuffled

    experiment = inputs.experiment(**vars(rules))
    found = experiment.bounds(**vars(options))
    if rules.like is not None:
        note(f"like {rules.like.name}: {rules.like.sentence}")
    if experiment.runs and options.population not in OF_LISTS:
        note(f"the bounds of the population {options.population} do not depend on the systems")
    for sentence in found.notes:
        note(sentence)
    note(what_is_shuffled(options.population))
    output.write(found.table())
    draw(plot, lambda charts: charts.stacked(*(charts.expected_histogram(found, name) for name in found.measures)))
