"""The command `calipers diff`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from calipers.cli.inputs import Inputs
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    FILE,
    LEVEL,
    WholeNumber,
    how_to_read,
    judgments_argument,
    measures_option,
    note,
    plot_option,
    warn,
)
from calipers.cli.output import Output, several_outputs
from calipers.cli.policies import ListPolicies, lists

if TYPE_CHECKING:
    from calipers.changes.difference import Difference
    from calipers.results.tables import Table


@dataclass(frozen=True, kw_only=True)
class TwoSystems(Inputs):
    """Judgments, and an old and a new system."""

    old: str
    new: str


@dataclass(frozen=True)
class Shown:
    """What is compared, and how much of it a reader is shown."""

    top: int | None
    level: float
    limit: int | None
    show: tuple[str, ...]


@grouped_command("diff")
@option_group(
    "inputs", TwoSystems, judgments_argument, click.argument("old", metavar="OLD", type=FILE),
    click.argument("new", metavar="NEW", type=FILE), how_to_read, measures_option,
)  # fmt: skip
@option_group("shown", Shown)
@click.option("--top", type=WholeNumber(0), metavar="K",
              help="Documents of each list that are compared [default: the cutoff of the first measure, or 10; at most "
                   "--depth].")  # fmt: skip
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="Level of the confidence intervals.")
@click.option("--limit", type=WholeNumber(0), metavar="N",
              help="Queries with the largest gain, and as many with the largest loss, that tables, Markdown and LaTeX "
                   "show [default: 10].")  # fmt: skip
@click.option("--show", type=LibraryChoice("calipers.changes.difference:PARTS"), multiple=True,
              help="means, queries (all of them) or documents (each that entered, left or moved); may be repeated "
                   "[default: means, largest gains and losses; as CSV queries; as JSON everything].")  # fmt: skip
@plot_option("the gain or loss of every query, sorted")
@lists
@several_outputs
def command(inputs: TwoSystems, shown: Shown, plot: str | None, lists: ListPolicies, output: Output) -> None:
    """What changed between two systems: queries by gain and loss, and the documents that entered, left and moved.

    The first measure sorts the queries. A difference is new - old; its interval is Student's. Documents stand with
    their grade (? where unjudged) and their ranks among the first K.

    \b
    calipers diff qrels.txt old.run new.run -m "nDCG@10 AP RR"
    calipers diff qrels.txt old.run new.run -m "nDCG@10" -o changes.md
    calipers diff qrels.txt old.run new.run -m "nDCG@10" --show documents --format csv
    calipers diff qrels.txt old.run new.run -m "AP" --top 20 --plot changes.html
    """
    from calipers.changes.difference import difference

    wanted = inputs.wanted()
    known = inputs.read_judgments(inputs.judgments, wanted.values())
    old, new = (inputs.read_systems([each]) for each in (inputs.old, inputs.new))
    found = difference(
        known, old, new, list(wanted), top=shown.top, level=shown.level, jobs=lists.jobs, warn=False, **lists.policies
    )
    _say(found, lists.strict)
    if plot is not None:
        from calipers import plot as charts

        charts.save(charts.gains_and_losses(found), plot)
        note(f"wrote {plot}")
    _write(found, shown, output)


def _say(found: Difference, strict: bool) -> None:
    from calipers.cli.evaluate import note_undefined

    warn(found.notes, strict)
    note_undefined(found.scores)
    note(f"{found.sentence()} ({found.level:.4g} interval)")
    other = sum(bool(each.documents) for each in found.queries if each.difference[0] == 0)
    if other:
        note(f"{other} {'query scores' if other == 1 else 'queries score'} the same with another top {found.top}")


def _write(found: Difference, shown: Shown, output: Output) -> None:
    from calipers.changes.difference import PARTS, SHOWN

    limit = SHOWN if shown.limit is None else shown.limit
    if output.format == "json" and not shown.show:
        output.write_text(found.to_json())
    elif output.format == "markdown" and not shown.show:
        output.write_text(found.to_markdown(limit))
    elif output.format != "csv" and not shown.show:
        tables: dict[str, tuple[str, Table]] = {"means": ("means", found.table())}
        tables |= {name: (title, table) for name, title, table in found.sections(limit)}
        output.write_several(tables)
    else:
        made = {"means": found.table, "queries": found.query_table, "documents": found.document_table}
        parts = shown.show or (PARTS if output.is_folder else ("queries",))
        output.write_several({part: (part, made[part]()) for part in dict.fromkeys(parts)})
