"""The command `calipers audit`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import grouped_command, option_group
from calipers.cli.options import (
    Profile,
    alpha_option,
    depth_option,
    draw,
    jobs_option,
    note,
    plot_option,
    progress,
    relevant_option,
    warn,
)
from calipers.cli.output import Output, several_outputs
from calipers.cli.printing import show as show_text
from calipers.errors import CalipersError
from calipers.results.tables import visible

if TYPE_CHECKING:
    from calipers.questions.audit.explanation import Explanation
    from calipers.questions.audit.matching_conventions import MatchingConventions
    from calipers.questions.audit.tool_audit import Audit
    from calipers.results.tables import Table

Titled = dict[str, tuple[str, "Table"]]
DEFAULT_MEASURE = "nDCG@10"
KINDS = ("figures", "causes", "parts", "correlations", "swaps", "significance", "changes")
BY_DEFAULT = ("figures", "causes", "correlations", "swaps", "significance", "changes")
OF_SEVERAL = ("correlations", "swaps", "significance", "changes")  # tables that need two systems
TITLES = {
    "figures": "figures",
    "causes": "causes of the differences: means over the systems",
    "parts": "parts of the difference, per system",
    "correlations": "tau between the orders of the systems",
    "swaps": "pairs of systems that two tools order differently",
    "significance": "number of significant differences between systems",
    "changes": "significant differences that appear, vanish or change sign",
}
FEW_SYSTEMS = 8  # up to which the table of figures has a row per tool on a terminal
MOST_ROWS = 20  # rows of a long table on a terminal, unless the table is asked for


@dataclass(frozen=True)
class Tools:
    """Tools to compare, the convention that they are compared with, and the level of the tests."""

    tools: tuple[Any, ...]
    reference: Any
    stated: bool
    alpha: float

    def chosen(self) -> list[Any]:
        """Return the conventions of the tools."""
        from calipers.conventions import CONVENTIONS, TOOLS

        chosen = list(self.tools or (CONVENTIONS[name] for name in TOOLS))
        if self.stated:
            chosen += [each for each in CONVENTIONS.values() if each.edition == "stated" and each not in chosen]
        return chosen


@dataclass(frozen=True)
class Instead:
    """Other questions: the arithmetic of one query, or the conventions that print a number."""

    query: str | None
    number: str | None
    run: str | None


@dataclass(frozen=True)
class AuditedLists:
    """Options for reading and scoring lists: keywords of `Experiment`."""

    relevant: float | None
    depth: int | None
    jobs: int | None


@grouped_command("audit")
@inputs()
@option_group("tools", Tools)
@click.option(
    "--tool",
    "tools",
    type=Profile(),
    multiple=True,
    help="A tool to compare, such as letor4. May be repeated [default: every tool].",
)
@click.option(
    "--reference",
    type=Profile(),
    default="calipers",
    show_default=True,
    help="The convention that the tools are compared with. calipers is the default of evaluate.",
)
@click.option("--stated", is_flag=True, help="Add the tools as Busa-Fekete et al. (2012) describe them.")
@option_group("instead", Instead)
@click.option("--number", metavar="NUMBER", help="List the conventions that print this figure, to its digits.")
@click.option(
    "--explain",
    "query",
    metavar="QUERY",
    help="Show the arithmetic of one query, term by term, under the reference and a tool.",
)
@click.option(
    "--run",
    metavar="NAME",
    help="The run that --explain shows [default: the first], or that --number belongs to [default: any].",
)
@click.option(
    "--show",
    type=click.Choice(KINDS),
    multiple=True,
    help="Print only this table. May be repeated [default: all but parts].",
)
@plot_option("the figures of each tool, and the causes of their differences")
@option_group("lists", AuditedLists, relevant_option, depth_option, jobs_option)
@alpha_option
@several_outputs
def command(
    inputs: Inputs,
    tools: Tools,
    instead: Instead,
    show: tuple[str, ...],
    plot: str | None,
    lists: AuditedLists,
    output: Output,
) -> None:
    """Compare the figures of other tools for the same rankings, and show why they differ.

    The difference between a tool and the reference is divided among its causes. The parts add up to the difference.

    \b
    calipers audit qrels.txt runs/* -m "nDCG@10 AP" --tool trec_eval --tool lightgbm
    calipers audit qrels.txt runs/* -m "nDCG@10" --number 0.7458
    calipers audit test.svm a.txt -m "nDCG@10" --tool letor4 --explain 18219
    """
    from calipers.questions.audit.explanation import explain

    asked = replace(inputs, measures=inputs.measures or (DEFAULT_MEASURE,))
    if plot is not None and (instead.query is not None or instead.number is not None):
        raise CalipersError("--plot draws the causes: leave out --explain and --number")
    with progress(len(asked.runs()), "runs") as advance:
        experiment = asked.experiment(unmatched="warn", progress=advance, **vars(lists))
        if instead.query is not None:
            explanation = explain(
                experiment, instead.query, run=instead.run, like=tools.tools or None, reference=tools.reference
            )
        elif instead.number is not None:
            matching = experiment.audit(number=instead.number, run=instead.run)
        else:
            found = experiment.audit(like=tools.chosen(), reference=tools.reference, alpha=tools.alpha)
    if instead.query is not None:
        _say(explanation)
        output.write_several(_terms(explanation))
    elif instead.number is not None:
        _say(matching)
        output.write_several(_matches(matching, output.format))
        _conclude(matching.summary, output)
    else:
        _say(found)
        output.write_several(_tables(found, show, output.format))
        _conclude(found.summary, output)
        draw(
            plot,
            lambda charts: charts.stacked(
                *(draws(found, name) for name in found.measures for draws in (charts.tool_scores, charts.tool_causes))
            ),
        )


def _say(result: Audit | Explanation | MatchingConventions) -> None:
    """Print the notes of a result."""
    warn(result.reading_notes, strict=False)
    for text in result.notes[len(result.reading_notes) :]:
        note(text)


def _conclude(summary: str, output: Output) -> None:
    """Print the conclusion: below the tables on a terminal, else as a note."""
    if output.format == "table" and output.file is None:
        show_text("\n" + visible(summary, keep="\n") + "\n")
    else:
        note(summary)


def _terms(found: Explanation) -> Titled:
    """Return the terms under each convention, with titles."""
    return {
        f"{name}-{like}": (
            f"{name} of {found.system} for query {found.query}, like {like}: {found.scores[name, like]:.4f}",
            table,
        )
        for (name, like), table in found.terms.items()
    }


def _matches(found: MatchingConventions, format: str) -> Titled:
    """Return the conventions that print a number, and the orders of the systems, with titles."""
    tables: Titled = {}
    for name in found.by_measure:
        title = f"{name}: conventions that print {found.number}"
        tables[f"number-{name}"] = _shortened(title, found.table(f"number-{name}"), format)
        if len(found.systems) > 1:
            title = f"{name}: orders of the systems under all known conventions"
            tables[f"orders-{name}"] = (title, found.table(f"orders-{name}"))
    return tables


def _tables(found: Audit, show: tuple[str, ...], format: str) -> Titled:
    """Return the tables of an audit, with titles."""
    tables: Titled = {}
    for kind in dict.fromkeys(show or BY_DEFAULT):
        for name in found.measures:
            table = found.table(f"{kind}-{name}")
            alone = len(found.systems) == 1 and kind in OF_SEVERAL
            if not show and (alone or (not table.rows and format == "table")):
                continue
            title = f"{name}: {TITLES[kind]}"
            if kind == "figures" and format == "table" and len(found.systems) <= FEW_SYSTEMS:
                table = found.figures_by_tool(name)  # it is narrower
            if kind == "causes":
                title += f" (from {found.reference.name})"
            if not show and kind in ("swaps", "changes"):
                tables[f"{kind}-{name}"] = _shortened(title, table, format, f" (--show {kind} shows all)")
            else:
                tables[f"{kind}-{name}"] = (title, table)
    return tables


def _shortened(title: str, table: Table, format: str, hint: str = "") -> tuple[str, Table]:
    """Return a table with its title. On a terminal, only the first rows of a long table are kept."""
    if format != "table" or len(table.rows) <= MOST_ROWS:
        return title, table
    return f"{title}, the first {MOST_ROWS} of {len(table.rows):,}{hint}", table.head(MOST_ROWS)
