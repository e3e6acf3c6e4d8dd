"""The command `calipers audit`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import grouped_command, option_group
from calipers.cli.options import Profile, alpha_option, depth_option, draw, jobs_option, note, plot_option, progress
from calipers.cli.output import Output, several_outputs
from calipers.cli.printing import show as show_text
from calipers.errors import CalipersError
from calipers.plurals import counted
from calipers.results.tables import visible

if TYPE_CHECKING:
    from calipers.auditing.audit import Audit
    from calipers.collection.judgments import Judgments
    from calipers.collection.runs import Run
    from calipers.results.tables import Table

SHOWN = ("figures", "causes", "parts", "correlations", "swaps", "significance", "changes")
BY_DEFAULT = ("figures", "causes", "correlations", "swaps", "significance", "changes")
TITLES = {
    "figures": "figures",
    "causes": "why they differ: parts of the difference, means over the systems",
    "parts": "parts of the difference of each system",
    "correlations": "tau between the orders of the systems",
    "swaps": "pairs of systems that two tools order differently",
    "significance": "significant differences between systems, and what becomes of them",
    "changes": "significant differences that appear, vanish or turn",
}
MANY_ROWS = 20  # more than this of a list are not shown on a terminal unless asked for


@dataclass(frozen=True)
class Tools:
    """Whose figures are compared with whose."""

    tools: tuple[Any, ...]
    reference: Any
    stated: bool

    def chosen(self) -> list[Any]:
        from calipers.conventions import CONVENTIONS, TOOLS

        chosen = list(self.tools or (CONVENTIONS[name] for name in TOOLS))
        if self.stated:
            chosen += [each for each in CONVENTIONS.values() if each.edition == "stated" and each not in chosen]
        return chosen


@dataclass(frozen=True)
class ExplainedQuery:
    """The query whose arithmetic is shown, and whose list of it; or the printed number that is to be explained."""

    query: str | None
    system: str | None
    number: str | None


@dataclass(frozen=True)
class How:
    """How lists are read, and at which level differences are significant."""

    depth: int | None
    alpha: float
    jobs: int | None


@grouped_command("audit")
@inputs()
@option_group("tools", Tools)
@click.option(
    "--tool", "tools", type=Profile(), multiple=True,
    help="A convention to look at, as letor4 or ours.toml; may be repeated [default: every tool].",
)  # fmt: skip
@click.option("--reference", type=Profile(), default="calipers", show_default=True,
              help="The convention that the others are compared with; calipers is what evaluate does.")  # fmt: skip
@click.option("--stated", is_flag=True, help="Also the tools as Busa-Fekete et al. (2012) states them.")
@option_group("explain", ExplainedQuery)
@click.option("--explain", "query", metavar="QUERY",
              help="Instead: the arithmetic of one query, term by term, under the reference and a tool.")  # fmt: skip
@click.option("--number", metavar="NUMBER",
              help="Instead: which tools and conventions print this figure, to its digits, and whether the order of "
                   "the systems survives all of them.")  # fmt: skip
@click.option("--system", metavar="NAME",
              help="Whose list --explain shows [default: the first], whose figure --number is [default: "
                   "any].")  # fmt: skip
@click.option("--show", type=click.Choice(SHOWN), multiple=True,
              help="One of the tables; may be repeated [default: all but parts].")  # fmt: skip
@plot_option("the figures of each tool, and why they differ")
@option_group("how", How)
@depth_option
@alpha_option
@jobs_option
@several_outputs
def command(
    inputs: Inputs,
    tools: Tools,
    explain: ExplainedQuery,
    show: tuple[str, ...],
    plot: str | None,
    how: How,
    output: Output,
) -> None:
    """Every tool's figures for the same rankings, side by side, and why they differ.

    The difference between a tool and the reference is divided among its causes; the parts add up to it.

    \b
    calipers audit test.svm a.txt b.txt c.txt -m "nDCG@10"
    calipers audit qrels.txt runs/* -m "nDCG@10 AP" --tool trec_eval --tool lightgbm
    calipers audit test.svm a.txt -m "nDCG@10" --tool letor4 --explain 18219
    calipers audit test.svm a.txt b.txt c.txt -m "nDCG@10" --number 0.7183
    """
    from calipers.auditing.audit import audit

    wanted = list(inputs.wanted("nDCG@10"))
    known, runs = inputs.open()
    if plot is not None and (explain.query is not None or explain.number is not None):
        raise CalipersError("--plot draws the causes: leave out --explain and --number")
    if explain.query is not None:
        output.write_several(_explained(known, runs, explain, wanted, tools, how.depth))
        return
    if explain.number is not None:
        _explain_number(known, runs, explain, wanted, how, output)
        return
    with progress(len(runs), "runs") as advance:
        found = audit(
            known, runs, wanted, like=tools.chosen(), reference=tools.reference, **vars(how), progress=advance
        )
    _say(found)
    output.write_several(_tables(found, show, output.format))
    if output.format == "table" and output.file is None:
        show_text("\n" + visible(found.advice(), keep="\n") + "\n")
    else:
        note(found.advice())
    draw(
        plot,
        lambda charts: charts.stacked(
            *(draws(found, name) for name in found.measures for draws in (charts.tool_scores, charts.tool_causes))
        ),
    )


def _explain_number(
    known: Judgments, runs: list[Run], explain: ExplainedQuery, wanted: list[str], how: How, output: Output
) -> None:
    from calipers.auditing.multiverse import multiverse
    from calipers.results.tables import Table

    tables: dict[str, tuple[str, Table]] = {}
    for name in wanted:
        with progress(len(runs), "runs") as advance:
            found = multiverse(
                known, runs, name, str(explain.number), system=explain.system, depth=how.depth, jobs=how.jobs,
                progress=advance,
            )  # fmt: skip
        for sentence in found.sentences():
            note(sentence)
        table = found.table()
        title = f"{name}: the conventions that print {explain.number}"
        if output.format == "table" and len(table.rows) > MANY_ROWS:
            title += f", the first {MANY_ROWS} of {len(table.rows)}"
            table = Table(table.columns, table.rows[:MANY_ROWS], table.metadata)
        if table.rows or output.format != "table":
            tables[f"number-{name}"] = (title, table)
        if len(found.systems) > 1:
            orders = f"{name}: the orders of the systems under all known conventions"
            tables[f"orders-{name}"] = (orders, found.orders())
    if tables:
        output.write_several(tables)


def _explained(
    known: Judgments, runs: list[Run], explain: ExplainedQuery, wanted: list[str], tools: Tools, depth: int | None
) -> dict[str, tuple[str, Table]]:
    from calipers.auditing.explanation import explained
    from calipers.auditing.rescoring import Rescorer

    query, system, reference = explain.query, explain.system, tools.reference
    if query not in known.queries:
        raise CalipersError(f"query '{query}' is not judged", file=known.name)
    rescorer = Rescorer(known, runs, depth)
    tables: dict[str, tuple[str, Table]] = {}
    for name in wanted:
        able = [each for each in tools.chosen() if each.name != reference.name and _is_able(rescorer, name, each)]
        if not able:
            raise CalipersError(f"none of the tools has a figure for {name}")
        place = 0 if system is None or system not in rescorer.systems else rescorer.systems.index(system)
        at = rescorer.queries.index(query)

        def score(tool: Any, name: str = name, place: int = place, at: int = at) -> float:
            return float(rescorer.scores(name, tool).values[0, place, at])

        tool = max(able, key=lambda each: _apart(score(each), score(reference)))
        found = explained(rescorer, name, query, [reference, tool], system)
        for like, table in found.tables.items():
            title = f"{name} of {found.system} for query {query}, like {like}: {found.scores[like]:.4f}"
            tables[f"{name}-{like}"] = (title, table)
        note(f"{reference.name}: {reference.sentence}")
        note(f"{tool.name}: {tool.sentence}")
    note("ranks without a line hold unjudged documents")
    return tables


def _is_able(rescorer: Any, name: str, tool: Any) -> bool:
    try:
        measure = rescorer.measure(name, tool)
        rescorer.scores(name, tool)
        return tool.offers(measure) and tool.refusal(rescorer.known(tool), [measure]) is None
    except CalipersError:
        return False


def _apart(a: float, b: float) -> float:
    """How far two scores are apart; one that is left out is as far as can be."""
    return abs(a - b) if a == a and b == b else 2.0 * (a == a or b == b)


def _say(found: Audit) -> None:
    """What the data is like, and which tools have no figure."""
    from calipers.measures.exactness import exactness_notes

    facts = found.facts
    for sentence in exactness_notes(found.exactness, found.errors):
        note(sentence)
    note(", ".join(f"{count} {what}" for what, count in facts.items() if count))
    if found.raised:
        count = counted(max(found.raised.values()), "label")
        note(f"{count} below 0 counted as 0 for {', '.join(found.raised)}, which have none below 0")
    reasons: dict[str, list[str]] = {}
    for (name, tool), reason in found.unavailable.items():
        reasons.setdefault(reason, []).append(f"{tool} ({name})")
    for reason, tools in reasons.items():
        note(f"n/a, {', '.join(tools)}: {reason}")


def _tables(found: Audit, show: tuple[str, ...], format: str) -> dict[str, tuple[str, Table]]:
    from calipers.results.tables import Table

    tables: dict[str, tuple[str, Table]] = {}
    for what in dict.fromkeys(show or BY_DEFAULT):
        for name in found.measures:
            table = getattr(found, what)(name)
            alone = len(found.systems) == 1 and what in ("correlations", "swaps", "significance", "changes")
            if not show and (alone or (not table.rows and format == "table")):
                continue
            title = f"{name}: {TITLES[what]}"
            if what == "causes":
                title += f" (from {found.reference.name})"
            if not show and format == "table" and len(table.rows) > MANY_ROWS and what in ("swaps", "changes"):
                title += f", the first {MANY_ROWS} of {len(table.rows)} (--show {what} shows all)"
                table = Table(table.columns, table.rows[:MANY_ROWS], table.metadata)
            tables[f"{what}-{name}"] = (title, table)
    return tables
