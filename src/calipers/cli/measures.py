"""The command `calipers measures`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from calipers.cli.option_groups import grouped_command
from calipers.cli.options import MeasureNames, draw, import_option, plot_option, words
from calipers.cli.output import Output, output
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.measures.browsing import UserModel


@grouped_command("measures")
@click.argument("names", nargs=-1, metavar="[MEASURE]...", type=MeasureNames())
@import_option
@plot_option("the readers of measures: the probabilities to go on (C), to look at a rank (W) and to stop (L)")
@click.option(
    "--ranking", metavar="GRADES", default="0", help="Grades of the list that readers read in --plot, such as 0,1,0,2."
)
@output
def command(names: tuple[str, ...], plot: str | None, ranking: str, output: Output) -> None:
    """List all measures, or show formula, parameters, other names, properties and citation of some measures.

    \b
    calipers measures
    calipers measures nDCG
    calipers measures "RBP(p=0.5)" alpha-nDCG
    calipers measures ROUGE-2 NuggetRecall
    calipers measures RBP "INST(T=2)" RR --plot readers.html --ranking 0,1,0,0,1
    """
    if plot is not None:
        models = _models(names, ranking)
        draw(plot, lambda charts: charts.user_models(models))
    from calipers.questions.properties.cards import list_measures, measure_card

    if names:
        from calipers.questions.properties.examined_measures import words_of

        output.write_text("\n".join(str(measure_card(name)) for text in names for name in words_of(text)))
        return
    output.write(list_measures())


def _models(names: tuple[str, ...], ranking: str) -> list[UserModel]:
    from calipers.measures.browsing import user_model
    from calipers.measures.grammar import parse_all

    try:
        grades = [float(grade) for grade in words(ranking)]
    except ValueError:
        raise CalipersError(f"--ranking '{ranking}' is not a list of grades, such as 0,1,0,2") from None
    return [user_model(measure, grades) for _, measure in parse_all(names)]
