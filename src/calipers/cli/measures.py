"""The command `calipers measures`."""

from __future__ import annotations

from typing import get_args

import click

from calipers.cli.options import MeasureNames
from calipers.cli.output import Output, output


@click.command("measures")
@click.argument("names", nargs=-1, metavar="[MEASURE]...", type=MeasureNames())
@output
def command(names: tuple[str, ...], output: Output) -> None:
    """All measures, one line each; or all about some: formula, parameters, other names, properties, citation.

    \b
    calipers measures
    calipers measures nDCG
    calipers measures "RBP(p=0.5)" alpha-nDCG
    """
    if names:
        from calipers.axioms.cards import measure_card
        from calipers.axioms.examined_measures import words_of

        output.write_text("\n".join(str(measure_card(name)) for text in names for name in words_of(text)))
        return
    from calipers.measures.registry import Reads, declared, other_names
    from calipers.results.tables import Table

    rows = [
        (each.name, each.sentence.partition("\n")[0], ", ".join(other_names(each)))
        for reads in get_args(Reads)
        for each in sorted(declared(reads), key=lambda each: each.name.lower())
    ]
    output.write(Table(("measure", "what it is", "other names"), tuple(rows)))
