"""The command `calipers ranges`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    NUMBER,
    POLICY,
    WholeNumber,
    alpha_option,
    costs_option,
    depth_option,
    draw,
    jobs_option,
    like_option,
    note,
    plot_option,
    progress,
    relevant_option,
    strict_option,
    warn,
)
from calipers.cli.output import Output, output
from calipers.support.choices import Correction, TestName

if TYPE_CHECKING:
    from calipers.questions.ranges.score_ranges import Ranges
    from calipers.results.tables import Table


@dataclass(frozen=True)
class RangeTables:
    """Table to show."""

    pairs: bool
    per_query: bool


@dataclass(frozen=True)
class Gradings:
    """Possible grades of unjudged documents: keywords of `Experiment.ranges`."""

    unseen: int
    max_grade: float | None


@dataclass(frozen=True)
class ListOptions:
    """Options for reading and scoring lists: keywords of `Experiment`."""

    like: Any
    ties: str | None
    relevant: float | None
    depth: int | None
    empty: float | str | None
    costs: str | None
    jobs: int | None


@dataclass(frozen=True)
class SignificanceTest:
    """Significance test of differences."""

    test: TestName
    correction: Correction
    alpha: float


@grouped_command("ranges")
@inputs()
@option_group("shown", RangeTables)
@option_group("gradings", Gradings)
@option_group("lists", ListOptions)
@option_group("testing", SignificanceTest)
@click.option(
    "--pairs", is_flag=True, help="Show ranges of the differences of all pairs of systems, and which pairs are decided."
)
@click.option("-q", "--per-query", is_flag=True, help="One row per query instead of means.")
@click.option(
    "--unseen",
    type=WholeNumber(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Number of documents per query that nobody retrieved, and that may be relevant, too.",
)
@click.option(
    "--max-grade",
    type=NUMBER,
    metavar="GRADE",
    help="The largest grade that unjudged documents may get [default: the judgments' largest].",
)
@like_option
@click.option(
    "--ties",
    type=LibraryChoice("calipers.questions.ranges.score_ranges:TIES"),
    help="Order of documents with equal scores [default: average, or the rule of --like].",
)
@relevant_option
@depth_option
@click.option(
    "--empty",
    type=POLICY,
    metavar="NUMBER",
    help="Score if a grading leaves a measure undefined, mostly because no document is relevant "
    "[default: 0, or the rule of --like].",
)
@costs_option
@click.option(
    "--test",
    type=LibraryChoice("calipers.support.choices:TestName"),
    default="t",
    show_default=True,
    help="With --pairs: significance test of the differences.",
)
@click.option(
    "--correction",
    type=LibraryChoice("calipers.support.choices:Correction"),
    default="holm",
    show_default=True,
    help="Correction for the number of pairs.",
)
@alpha_option
@plot_option("the ranges, or with --pairs the partial order of decided pairs")
@strict_option
@jobs_option
@output
def command(
    inputs: Inputs,
    shown: RangeTables,
    gradings: Gradings,
    lists: ListOptions,
    testing: SignificanceTest,
    plot: str | None,
    strict: bool,
    output: Output,
) -> None:
    """Show the smallest and the largest score that missing judgments could lead to.

    Every score counts unjudged documents as not relevant. Here they may get any grade: low and high are the smallest
    and the largest score over all possible grades. A pair of systems is decided if no judgment can change its order.

    \b
    calipers ranges qrels.txt runs/* -m "nDCG@10 AP RBP(p=0.8) RR P@10"
    calipers ranges qrels.txt runs/* -m "nDCG@10" --pairs
    calipers ranges qrels.txt runs/* -m "nDCG@10" --unseen 5 --plot ranges.html
    """
    with progress(len(inputs.runs()), "runs") as advance:
        found = inputs.experiment(progress=advance, **vars(lists)).ranges(**vars(gradings))
    _say(found, strict)
    if shown.pairs:
        output.write(_pairs(found, shown.per_query, testing))
    else:
        output.write(found.per_query() if shown.per_query else found.mean())
    kind = "decided_order" if shown.pairs else "score_ranges"
    draw(plot, lambda charts: charts.stacked(*(getattr(charts, kind)(found, name) for name in found.measures)))


def _pairs(found: Ranges, per_query: bool, testing: SignificanceTest) -> Table:
    """Return the pairs under all measures. Print how many are decided."""
    from calipers.results.tables import Table

    rows: list[Any] = []
    columns: tuple[str, ...] = ()
    for name in found.measures:
        with progress(len(found.queries), name) as advance:
            pairs = found.pair_ranges(name, advance)
        table = pairs.per_query() if per_query else found.pairs(name)
        columns = ("measure", *table.columns)
        rows += [(name, *row) for row in table.rows]
        total = len(pairs.a)
        note(pairs.summary)
        if len(found.queries) > 1:
            significant, turning = found.significant(name, testing.test, testing.correction, testing.alpha)
            note(
                f"{name}: with unjudged documents as 0, {significant} of {total} differences are significant "
                f"({testing.test}, {testing.correction}, alpha {testing.alpha:g}); {turning} of them could still turn"
            )
    return Table(columns, tuple(rows))


def _say(found: Ranges, strict: bool) -> None:
    """Print notes on the ranges, and on what was left out."""
    warn(found.reading_notes, strict)
    for text in found.inexact_ends:
        note(text)
    note(found.summary)
    for name, how in found.exactness.items():
        if how.startswith("enumerated"):
            note(f"{name}: all possible gradings of each list were tried")
