"""The command `calipers exposure`."""

from __future__ import annotations

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice, grouped_command
from calipers.cli.options import FILE, NUMBER, warn
from calipers.cli.output import Output, output


@grouped_command("exposure")
@inputs(measures=False)
@click.option(
    "--model",
    type=LibraryChoice("calipers.measures.exposure:MODELS"),
    default="rbp",
    show_default=True,
    help="How readers go down a list: a share of them at each rank, or until a document satisfies them.",
)
@click.option("--patience", type=NUMBER, default=0.5, show_default=True,
              help="The share of readers who go on to the next rank.")  # fmt: skip
@click.option(
    "--document-groups",
    "groups",
    type=FILE,
    metavar="FILE",
    help="Lines `document group`: what share of attention each group gets, and AWRF.",
)
@click.option(
    "--target",
    type=LibraryChoice("calipers.measures.forms.group_exposure:TARGETS"),
    default="relevant",
    show_default=True,
    help="The share that a group should get: of the relevant documents, of the target exposure, or all the same.",
)
@click.option("--stochastic", is_flag=True, help="Runs of one tag are samples of one stochastic ranking.")
@click.option("-q", "--per-query", is_flag=True, help="One row per system and query.")
@output
def command(
    inputs: Inputs,
    model: str,
    patience: float,
    groups: str | None,
    target: str,
    stochastic: bool,
    per_query: bool,
    output: Output,
) -> None:
    """Show whether documents of one grade get the same attention, and groups of documents their share.

    EE-L is the squared distance of the expected attention of each document from its target, EE-D how unequal attention
    is, EE-R how far it goes where it should. Ties are averaged over their orders: a tied ranking is a stochastic one.

    \b
    calipers exposure qrels.txt runs/*
    calipers exposure qrels.txt runs/* --model cascade --patience 0.8 -q --format csv
    """
    from calipers.attention.expected_exposure import exposure

    found = exposure(
        inputs.experiment(), model=model, patience=patience, groups=groups, target=target, stochastic=stochastic
    )
    warn(found.notes, False)
    if per_query:
        output.write(found.per_query())
    elif groups is None:
        output.write(found.table())
    else:
        output.write_several({"exposure": ("exposure", found.table()), "groups": ("groups", found.group_table())})
