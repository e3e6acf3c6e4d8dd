"""The command `calipers sampled`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice, command_with_several_values, option_group
from calipers.cli.options import (
    FILE,
    NOT_NEGATIVE,
    WholeNumber,
    draw,
    note,
    plot_option,
    seed_option,
    strict_option,
    warn,
)
from calipers.cli.output import Output, output
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.experiment import Experiment
    from calipers.questions.sampled.sampled_candidates import Missing
    from calipers.results.tables import Table


@dataclass(frozen=True)
class SampledOptions:
    """Options for drawing irrelevant items: keywords of `calipers.sampled`."""

    items: int
    replacement: bool
    missing: Missing
    popularity: str | None
    draws: int
    seed: int


@dataclass(frozen=True)
class SampledTables:
    """Table to show."""

    per_query: bool
    pairs: bool
    random: bool
    estimate: bool
    gamma: float


@command_with_several_values("sampled", "--negatives")
@inputs()
@option_group("options", SampledOptions)
@option_group("shown", SampledTables)
@click.option(
    "--negatives",
    type=WholeNumber(1),
    multiple=True,
    default=(100,),
    show_default=True,
    metavar="M",
    help="Number of irrelevant items drawn for each user. One number or several.",
)
@click.option(
    "--items", type=WholeNumber(2), required=True, metavar="N", help="Number of items in the whole catalogue."
)
@click.option("--replacement", is_flag=True, help="An irrelevant item may be drawn more than once.")
@click.option(
    "--missing",
    type=LibraryChoice("calipers.questions.sampled.sampled_candidates:MISSING"),
    default="error",
    show_default=True,
    help="Relevant items that a ranking lacks: stop, or rank them last.",
)
@click.option(
    "--ties",
    type=LibraryChoice("calipers.support.choices:TieRule"),
    default="average",
    show_default=True,
    help="Order of items with equal scores.",
)
@click.option(
    "--popularity",
    metavar="FILE",
    type=FILE,
    help="File of lines `item weight`: draw irrelevant items in proportion to their weight. Expected scores "
    "are then simulated.",
)
@click.option("-q", "--per-query", is_flag=True, help="One row per user instead of means.")
@click.option("--pairs", is_flag=True, help="Differences of all pairs of systems, and which change their order.")
@click.option("--random", is_flag=True, help="The expected score of a random ranking of relevant and sampled items.")
@click.option(
    "--estimate",
    is_flag=True,
    help="The systems are rankings of one relevant and M sampled items: estimate full scores.",
)
@click.option(
    "--gamma",
    type=NOT_NEGATIVE,
    default=0.1,
    show_default=True,
    help="With --estimate: 0 is least biased, larger values vary less.",
)
@click.option(
    "--draws", type=click.IntRange(2, 100_000), default=50, show_default=True, help="Number of simulated draws."
)
@seed_option
@plot_option("expected scores by the number of sampled items")
@strict_option
@output
def command(
    inputs: Inputs,
    options: SampledOptions,
    shown: SampledTables,
    negatives: tuple[int, ...],
    ties: str,
    plot: str | None,
    strict: bool,
    output: Output,
) -> None:
    """Show expected scores if relevant items are ranked among sampled ones, as in many recommender papers.

    The systems are rankings of the whole catalogue. The expected scores are exact, and need no draw. With
    --estimate the systems are rankings of sampled candidates, and full scores are estimated from them.

    \b
    calipers sampled qrels.txt runs/* -m "nDCG@10 RR Success@10" --negatives 100 --items 20000 --missing last
    calipers sampled qrels.txt runs/* -m RR --items 20000 --negatives 10 100 --missing last --plot a.html
    """
    from calipers.questions.sampled.sampled_candidates import SAMPLED_MEASURES, sampled

    if shown.per_query + shown.pairs + shown.random + shown.estimate > 1:
        raise CalipersError("-q, --pairs, --random and --estimate are different tables: ask for one of them")
    given = inputs.experiment(SAMPLED_MEASURES, ties=ties)
    if shown.estimate:
        output.write(_estimates(given, options, negatives, shown.gamma))
        return
    found = sampled(given, negatives=negatives, **vars(options))
    warn(found.warnings, strict)
    for text in found.remarks:
        note(text)
    if shown.random:
        output.write(found.random_ranking())
    elif shown.pairs:
        output.write(found.pairs())
    else:
        output.write(found.per_query() if shown.per_query else found.table())
    note(found.summary)
    draw(plot, lambda charts: charts.stacked(*(charts.sampled_order(found, name) for name in found.measures)))


def _estimates(given: Experiment, options: SampledOptions, negatives: tuple[int, ...], gamma: float) -> Table:
    from calipers.questions.sampled.full_from_sampled import candidate_ranks, estimate_full
    from calipers.questions.sampled.sampled_candidates import refuse_small_catalogue

    if len(negatives) > 1:
        raise CalipersError("--estimate takes one number of --negatives, the one that the candidates were drawn with")
    if options.popularity is not None:
        raise CalipersError("--estimate is for candidates that were drawn uniformly: leave out --popularity")
    refuse_small_catalogue(given, options.items)
    found = estimate_full(
        candidate_ranks(given),
        list(given.measures),
        negatives=negatives[0],
        items=options.items,
        replacement=options.replacement,
        gamma=gamma,
    )
    for text in found.notes:
        note(text)
    return found.table()
