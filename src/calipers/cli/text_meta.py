"""The command `calipers text meta`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import WholeNumber, alpha_option, note, strict_option, words
from calipers.cli.output import Output, several_outputs
from calipers.cli.text_options import TextRequest, details_of_measures, text_request, texts_and_measures
from calipers.errors import CalipersError, UnknownName
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.results.tables import Table
    from calipers.texts.collection import TextCollection

OF_PEOPLE = ("agreement", "tests")
TABLES = {
    "agreement": "agreement with people",
    "tests": "which measure agrees better",
    "power": "discriminative power",
}


@dataclass(frozen=True)
class MetaChoices:
    """Options of the meta-evaluation."""

    human: str | None
    tables: str | None
    level: str | None
    agreement: str
    exchange: str
    samples: int
    alpha: float

    def shown(self, collection: TextCollection) -> list[str]:
        """Return the requested tables. By default, tables of human judgments only if there are any."""
        if self.tables is None:
            return [*(OF_PEOPLE if collection.human else ()), "power"]
        names = words(self.tables)
        for name in names:
            if name not in TABLES:
                raise UnknownName.among("table", name, TABLES)
        if not names:
            raise CalipersError(f"no table is named; there are {', '.join(TABLES)}")
        return names


@grouped_command("meta")
@texts_and_measures
@option_group("choices", MetaChoices)
@click.option("--human", metavar="A,B,...", help="Aspects of human judgment [default: all that DATA has].")
@click.option(
    "--table", "tables", metavar="NAMES", help=f"{', '.join(TABLES)} [default: all; without human scores, power]."
)
@click.option(
    "--level",
    type=LibraryChoice("calipers.questions.metaeval.human_agreement:LEVELS"),
    help="Level of agreement and tests [default: all levels of agreement, tests at the level system]; the "
    "level pooled takes longest.",
)
@click.option(
    "--agreement",
    type=LibraryChoice("calipers.questions.metaeval.human_agreement:COEFFICIENTS"),
    default="pearson",
    show_default=True,
    help="The correlation that the tests compare.",
)
@click.option(
    "--exchange",
    type=LibraryChoice("calipers.questions.metaeval.measure_tests:EXCHANGES"),
    default="summaries",
    show_default=True,
    help="What the permutation test exchanges between two measures: scores of single summaries, of whole "
    "systems, or of whole documents.",
)
@click.option(
    "--samples",
    type=WholeNumber(1),
    default=1000,
    show_default=True,
    help="Permutations of the tests; if there are fewer, all of them.",
)
@alpha_option
@details_of_measures
@strict_option
@text_request
@several_outputs
def command(request: TextRequest, choices: MetaChoices, output: Output) -> None:
    """Show how well measures order texts as people do, and which measures do it better.

    Kendall's, Spearman's and Pearson's correlations at three levels; Williams' test and permutation tests between
    measures; and the share of pairs of systems that each measure tells apart.

    \b
    calipers text meta data.jsonl -m "ROUGE-1 ROUGE-L V2(ROUGE-1)" --human relevance
    calipers text meta data.jsonl -m "ROUGE-1 ROUGE-2" --table tests --level summary --agreement tau-b --samples 100
    calipers text meta data.jsonl -m "ROUGE-1 ROUGE-1(part=recall)" --table power
    """
    from calipers.questions.metaeval.human_agreement import LEVELS

    level = choices.level or "system"
    evaluation, seed = request.evaluate(), request.options.seed
    collection = evaluation.collection
    shown = choices.shown(collection)
    aspects = words(choices.human) if choices.human else list(collection.human)
    if not aspects and {*shown} & {*OF_PEOPLE}:
        raise CalipersError("has no human scores; --table power needs none", file=collection.name)
    meta = evaluation.meta(aspects or None, samples=choices.samples, seed=seed, alpha=choices.alpha)
    for sentence in meta.notes:
        note(sentence)
    unit = collection.kind.unit
    note(f"{counted(len(collection.systems), 'system')}, {counted(len(collection.ids), unit)}, seed {seed}")
    tables: dict[str, tuple[str, Table]] = {}
    for name in shown:
        if name == "agreement":
            tables[name] = (TABLES[name], meta.agreement(LEVELS if choices.level is None else [choices.level]))
        elif name == "tests":
            if len(meta.measures) < 2 and choices.tables is None:
                continue
            tested = meta.tests(level, choices.agreement, exchange=choices.exchange)
            own = len(tested.notes) - bool(tested.marks)  # notes that say which test to believe
            tables[name] = (TABLES[name], tested.changed(notes=tested.notes[: len(tested.notes) - own]))
            tests = counted(len(tested.rows), "test")
            note(f"{tests} of {choices.agreement} at the level {level}, corrected together by Holm")
            for sentence in tested.notes[bool(tested.marks) :]:
                note(sentence)
        else:
            note(f"discriminative power: paired t tests at alpha {choices.alpha:g}, without correction")
            tables[name] = (TABLES[name], meta.power())
    output.write_several(tables)
