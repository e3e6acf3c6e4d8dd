"""The command `calipers diff`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from calipers.cli.check import two_runs
from calipers.cli.inputs import Inputs, relevant_documents_option, say_scores, system_of
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    FILE,
    LEVEL,
    WholeNumber,
    data_argument,
    draw,
    how_to_read,
    measures_option,
    note,
    plot_option,
    query_groups_option,
    warn,
)
from calipers.cli.output import Output, several_outputs
from calipers.cli.policies import ListPolicies, lists
from calipers.errors import CalipersError
from calipers.support.plurals import counted, verb

if TYPE_CHECKING:
    from calipers.questions.diff.difference import Difference
    from calipers.results.tables import Table


OPTIONAL = ("queries", "p", "ties")  # columns that a narrow terminal does not show, the last ones first


@dataclass(frozen=True, kw_only=True)
class TwoSystems(Inputs):
    """Judgments, and an old and a new system."""

    old: str
    new: str


@dataclass(frozen=True)
class Shown:
    """Parts of the result that are written."""

    limit: int
    show: tuple[str, ...]
    query: str | None


@grouped_command("diff")
@option_group(
    "inputs",
    TwoSystems,
    data_argument,
    click.argument("old", metavar="OLD", type=FILE),
    click.argument("new", metavar="NEW", type=FILE),
    relevant_documents_option,
    how_to_read,
    measures_option,
)
@click.option(
    "--top",
    type=WholeNumber(0),
    metavar="K",
    help="Documents of each list that are compared [default: the cutoff of the first measure, or 10; at most --depth].",
)
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="Level of the confidence intervals.")
@query_groups_option
@option_group("shown", Shown)
@click.option("--query", metavar="TEXT", help="Show both rankings of this query side by side: its id, or a part of it.")
@click.option(
    "--limit",
    type=WholeNumber(0),
    default=10,
    show_default=True,
    metavar="N",
    help="Queries with the largest loss, and queries with the largest gain, that tables, Markdown and LaTeX show.",
)
@click.option(
    "--show",
    type=LibraryChoice("calipers.questions.diff.difference:PARTS"),
    multiple=True,
    help="means, groups (means for each of --query-groups), queries (all of them) or documents (each that "
    "entered, left or moved); may be repeated [default: means, groups, largest losses and gains; as "
    "CSV queries; as JSON everything].",
)
@plot_option("the gain or loss of every query, sorted")
@lists
@several_outputs
def command(
    inputs: TwoSystems,
    top: int | None,
    level: float,
    query_groups: str | None,
    shown: Shown,
    plot: str | None,
    lists: ListPolicies,
    output: Output,
) -> None:
    """Show what changed between two systems: queries by loss and gain, and documents that entered, left and moved.

    DATA is judgments, and OLD and NEW are runs; or DATA is texts, and OLD and NEW are names of systems in it. Errors of
    texts, such as TER, are negated. The first measure sorts the queries, largest loss first. A difference is new - old;
    its interval is Student's. Documents are shown with their grade (? if unjudged) and their ranks among the first K.

    \b
    calipers diff qrels.txt old.run new.run -m "nDCG@10 AP RR"
    calipers diff qrels.txt old.run new.run -m "nDCG@10" --query 1
    calipers diff qrels.txt old.run new.run -m "nDCG@10" -o changes.md
    calipers diff qrels.txt old.run new.run -m "nDCG@10" --query-groups queries.csv:intent
    calipers diff qrels.txt old.run new.run -m "nDCG@10" --show documents --format csv
    calipers diff qrels.txt old.run new.run -m "AP" --top 20 --plot changes.html
    calipers diff data.jsonl s0 s1 -m "ROUGE-1 ROUGE-2" --limit 3
    """
    from calipers.experiment import Experiment

    given = replace(inputs, systems=(inputs.old, inputs.new))
    if given.are_texts:
        with given.scored(lists) as experiment:
            say_scores(experiment, lists.strict)
        systems: Sequence[str] = (system_of(inputs.old), system_of(inputs.new))
    else:
        wanted = inputs.wanted()
        known = inputs.read_judgments(inputs.judgments, wanted.values())
        runs = two_runs(inputs.read_systems([inputs.old]), inputs.read_systems([inputs.new]))
        experiment = Experiment(known, runs, inputs.typed(), jobs=lists.jobs, warn=False, **lists.policies)
        systems = experiment.systems
    found = experiment.diff(*systems, top=top, level=level, query_groups=query_groups)
    _say(found, lists.strict)
    draw(plot, lambda charts: charts.gains_and_losses(found))
    _write(found, shown, output)


def _say(found: Difference, strict: bool) -> None:
    warn(found.notes, strict)
    for text in (*found.scores.remarks, found.summary):
        note(text)
    other = sum(bool(each.documents) for each in found.queries if each.difference[0] == 0)
    if other:
        note(f"{counted(other, 'query')} {verb(other, 'scores', 'score')} the same with another top {found.top}")


def _write(found: Difference, shown: Shown, output: Output) -> None:
    from calipers.questions.diff.difference import PARTS, narrowed

    if shown.query is not None:
        _write_query(found, shown.query, output)
        return
    tables: dict[str, tuple[str, Table]] = {name: (name, found.table(name)) for name in shown.show}
    if not shown.show and output.format in ("json", "markdown"):
        output.write_text(found.to_json() if output.format == "json" else found.for_pull_request(shown.limit))
        return
    if not shown.show and output.format == "csv":
        parts = [part for part in PARTS if part in found.tables()] if output.is_folder else ["queries"]
        tables = {part: (part, found.table(part)) for part in parts}
    elif not shown.show:
        means = ("means", "groups") if found.groups else ("means",)
        width = _width(output)
        for part in means:
            table = found.table(part)
            tables[part] = (part, table if width is None else narrowed(table, width, OPTIONAL))
        sections = found.sections(shown.limit, width=width)
        tables |= {name: (title, table) for name, title, table in sections}
    output.write_several(tables)


def _write_query(found: Difference, text: str, output: Output) -> None:
    if not found.top:
        raise CalipersError("--query shows documents, and --top 0 leaves them out")
    each = found.query(text)
    for name, old, new in zip(found.measures, each.old, each.new, strict=True):
        note(f"query {each.query}: {name} {old:.4f} ({found.old}), {new:.4f} ({found.new})")
    output.write(found.side_by_side(each.query))


def _width(output: Output) -> int | None:
    """Return the width that tables must fit, or None if they are not printed to a terminal."""
    if output.format != "table" or output.file is not None:
        return None
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else None
