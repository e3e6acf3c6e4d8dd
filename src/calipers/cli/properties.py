"""The command `calipers properties`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from calipers.cli.option_groups import grouped_command, option_group
from calipers.cli.options import NUMBER, measures_option, note, progress
from calipers.cli.output import Output, output
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.questions.properties.verdicts import Properties


@dataclass(frozen=True)
class Search:
    """The space in which counterexamples are searched."""

    grades: tuple[float, ...] | None
    bound: float | None


@dataclass(frozen=True)
class Asked:
    """The measures, given as arguments or with -m as in other commands."""

    named: tuple[str, ...]
    measures: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.named + self.measures


@grouped_command("properties")
@option_group("asked", Asked)
@click.argument("named", nargs=-1, metavar="[MEASURE]...")
@measures_option
@click.option(
    "--why",
    is_flag=True,
    help="Show one line per property with its counterexample, its proof, or the size of the search.",
)
@click.option("--all", "everything", is_flag=True, help="Show more measures and two more properties.")
@click.option(
    "--prefer",
    metavar="PROPERTIES",
    help='Sort by these properties, the most important first, such as "bounded,localized".',
)
@click.option(
    "--find", metavar="PROPERTIES", help='Show only measures with all of these properties, such as "bounded monotone".'
)
@click.option("--card", metavar="MEASURE", help="Show everything about one measure, in Markdown.")
@option_group("search", Search)
@click.option("--grades", callback=lambda *given: _numbers(given[2]), metavar="0,G,...", help="Grades to try.")
@click.option("--bound", type=NUMBER, help="Largest score of a bounded measure [default: 1].")
@output
def command(
    asked: Asked,
    why: bool,
    everything: bool,
    prefer: str | None,
    find: str | None,
    card: str | None,
    search: Search,
    output: Output,
) -> None:
    """Decide the seven numeric properties of measures, by search and by proof.

    Without MEASUREs, it shows those of Moffat's Seven numeric properties of effectiveness metrics (AIRS 2013), Table 2.
    A property must hold for all cutoffs, so cutoffs of measures are ignored.

    \b
    calipers properties
    calipers properties "nDCG(gain=exp)@10" "V2(AP)" ERR --why
    calipers properties -m "nDCG@10 AP RR"
    calipers properties --prefer "bounded,monotone,realizable"
    calipers properties --find "bounded monotone localized"
    calipers properties --card "RBP(p=0.8)"
    """
    from calipers.questions.properties import property_tables
    from calipers.questions.properties.examined_measures import subjects_of
    from calipers.questions.properties.property_tables import CONFLICT, impossibility
    from calipers.questions.properties.verdicts import NINE, SEVEN, examine

    if card is not None:
        from calipers.questions.properties.cards import measure_card

        output.write_text(str(measure_card(card)))
        return
    wanted = property_tables.property_names(prefer) if prefer is not None else []
    needed = property_tables.property_names(find) if find is not None else []
    columns = list(NINE if everything or set(wanted + needed) - set(SEVEN) else SEVEN)
    everywhere = (*property_tables.DOCUMENT, *property_tables.FURTHER)
    subjects = subjects_of(asked.names or (everywhere if everything or needed else property_tables.DOCUMENT))
    rows: list[Properties] = []
    with progress(len(subjects), "measures") as advance:
        for subject in subjects:
            rows.append(examine(subject, grades=search.grades, bound=search.bound))
            advance(1)
    if wanted:
        rows = property_tables.preferred(rows, wanted)
    if needed:
        rows = [row for row in rows if row.has(needed)]
    if cut := [subject.name for subject in subjects if subject.fixed_cutoff is not None]:
        note(f"properties must hold for all cutoffs, so these cutoffs are ignored: {', '.join(cut[:3])}")
    if needed and not rows:
        note(f"none of the {len(subjects)} measures is {', '.join(needed)}")
    if why:
        output.write(property_tables.reasons(rows, columns))
    elif output.format in ("csv", "json"):
        output.write(property_tables.plain(rows, columns))
    else:
        output.write(property_tables.annotated(rows, wanted + [name for name in columns if name not in wanted]))
        click.echo("".join(f"{line}\n" for line in property_tables.notes_of(rows, columns)), nl=False, err=True)
    if set(CONFLICT) <= set(needed) or (why and len(rows) > 1):
        click.echo(impossibility(), err=True)


def _numbers(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.replace(",", " ").split())
    except ValueError:
        raise CalipersError(f"--grades '{text}' is not a list of numbers, such as 0,1,2") from None
