"""calipers bounds"""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.options import (
    how_to_read,
    judgments_argument,
    like_option,
    measures_option,
    note,
    open_judgments,
    open_systems,
    optional_systems,
    output_options,
    population_option,
    write,
)
from calipers.errors import CalipersError


@click.command("bounds")
@judgments_argument
@optional_systems
@how_to_read
@measures_option
@population_option
@like_option
@click.option(
    "--sd", type=click.Choice(("exact", "sampled")), default="exact", show_default=True,
    help="Draw random rankings where the standard deviation has no closed form.",
)  # fmt: skip
@click.option("--expected", type=click.Choice(("exact", "paper")), default="exact", show_default=True,
              help="The exact expected value, or the published one of SP and AP.")  # fmt: skip
@click.option("--ideal", type=click.Choice(("exact", "k")), default="exact", show_default=True,
              help="The attainable ideal, or the published one of SP and AP.")  # fmt: skip
@click.option("--residual", is_flag=True,
              help="Instead: what judging unjudged documents could lead to (linear measures).")  # fmt: skip
@output_options
def command(
    judgments: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    population: str,
    like: Any,
    sd: str,
    expected: str,
    ideal: str,
    residual: bool,
    form: str,
    output: str | None,
) -> None:
    """What the best, the worst and a random ranking of each query's documents would score.

    \b
    calipers bounds qrels.txt -m "nDCG@10 AP ERR@20"
    calipers bounds qrels.txt run.txt -m "nDCG@10" --population retrieved
    calipers bounds qrels.txt run.txt -m "RBP(p=0.8)" --residual
    """
    from calipers.limits.exactness import exactness_notes
    from calipers.limits.pool_bounds import bounds, residuals
    from calipers.measures.grammar import DEFAULT_MEASURES, parse_all

    asked = parse_all(measures or DEFAULT_MEASURES)
    wanted = [name for name, _ in asked]
    known = open_judgments(judgments, (measure for _, measure in asked))
    runs = open_systems(systems) if systems else None
    if residual:
        if runs is None:
            raise CalipersError("--residual needs a system")
        write(residuals(known, runs, wanted).table(), form, output)
        return
    found = bounds(known, wanted, population=population, runs=runs, like=like, sd=sd, expected=expected, ideal=ideal)
    if like is not None:
        note(f"like {like.name}: {like.sentence}")
    if runs is not None and population != "retrieved":
        note(f"the bounds of the population {population} do not depend on the systems")
    for sentence in exactness_notes(found.inexact):
        note(sentence)
    note(f"random rankings of the population: {population}")
    write(found.table(), form, output)
