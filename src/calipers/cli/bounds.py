"""The command `calipers bounds`."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice
from calipers.cli.options import like_option, note, population_option
from calipers.cli.output import Output, output
from calipers.errors import CalipersError


@click.command("bounds")
@inputs(optional=True)
@population_option
@like_option
@click.option(
    "--sd", type=LibraryChoice("calipers.limits.pool_bounds:SD_CHOICES"), default="exact", show_default=True,
    help="Draw random rankings where the standard deviation has no closed form.",
)  # fmt: skip
@click.option("--expected", type=LibraryChoice("calipers.limits.pool_bounds:EXPECTED_CHOICES"), default="exact",
              show_default=True, help="The exact expected value, or the published one of SP and AP.")  # fmt: skip
@click.option("--ideal", type=LibraryChoice("calipers.limits.pool_bounds:IDEAL_CHOICES"), default="exact",
              show_default=True, help="The attainable ideal, or the published one of SP and AP.")  # fmt: skip
@click.option("--residual", is_flag=True,
              help="Instead: what judging unjudged documents could lead to (linear measures).")  # fmt: skip
@output
def command(
    inputs: Inputs,
    population: str,
    like: Any,
    sd: str,
    expected: str,
    ideal: str,
    residual: bool,
    output: Output,
) -> None:
    """What the best, the worst and a random ranking of each query's documents would score.

    \b
    calipers bounds qrels.txt -m "nDCG@10 AP ERR@20"
    calipers bounds qrels.txt run.txt -m "nDCG@10" --population retrieved
    calipers bounds qrels.txt run.txt -m "RBP(p=0.8)" --residual
    """
    from calipers.limits.exactness import exactness_notes
    from calipers.limits.pool_bounds import bounds, residuals

    wanted = inputs.wanted()
    names = list(wanted)
    known = inputs.read_judgments(inputs.judgments, wanted.values())
    runs = inputs.runs() if inputs.systems else None
    if residual:
        if runs is None:
            raise CalipersError("--residual needs a system")
        output.write(residuals(known, runs, names).table())
        return
    found = bounds(known, names, population=population, runs=runs, like=like, sd=sd, expected=expected, ideal=ideal)
    if like is not None:
        note(f"like {like.name}: {like.sentence}")
    if runs is not None and population != "retrieved":
        note(f"the bounds of the population {population} do not depend on the systems")
    for sentence in exactness_notes(found.inexact):
        note(sentence)
    note(f"random rankings of the population: {population}")
    output.write(found.table())
