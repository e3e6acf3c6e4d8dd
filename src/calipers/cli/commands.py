"""All commands: one file each, loaded when it is called."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec

import click

from calipers._version import __version__
from calipers.cli.printing import note
from calipers.errors import CalipersError, CheckFailed, UnknownName

MAIN_COMMANDS = {
    "evaluate": "Score runs under measures: a table of systems and measures.",
    "report": "Write everything about some runs, or texts, to one HTML page that works offline.",
    "compare": "Test which systems differ: p values, intervals, effect sizes.",
    "diff": "Show what changed from an old system to a new one: means, queries, documents.",
    "check": "Decide whether a new system may replace the old one: a gate for CI jobs.",
    "ranges": "Show how far missing judgments could change the scores.",
    "judges": "Measure agreement between judges, such as people and language models.",
    "plan": "Compute how many queries an experiment needs.",
}
MORE_COMMANDS = {
    "audit": "Compute what other tools would print for the same rankings, and explain why they differ.",
    "bounds": "Show what the best, the worst and a random ranking would score on each query.",
    "convert": "Write judgments or a run in another format, or plain texts as rows.",
    "demo": "Make a small test collection, evaluate it, and write a report.",
    "fuse": "Merge several runs into one, and show the most that any fusion could reach.",
    "information": "Measure what rankings tell about the judgments, in bits.",
    "inspect": "Check judgments and runs before scoring: ids that do not match, duplicates, ties.",
    "measures": "List all measures, or describe one: formula, parameters, properties.",
    "metaeval": "Compare measures: discriminative power, consistency, stability.",
    "pool": "Choose the documents to judge first or next.",
    "properties": "Decide which numeric properties measures have, such as bounded or monotone.",
    "queries": "Show which queries are easy, hard or informative.",
    "sampled": "Compute expected scores for sampled candidates, as in recommender papers.",
    "text": "Show expected texts of summaries, and order documents from heterogeneous to homogeneous.",
    "trec_eval": "Print what trec_eval prints, with trec_eval's own options.",
}
COMMANDS = MAIN_COMMANDS | MORE_COMMANDS


class _Commands(click.Group):
    """All commands by name. A command's module is loaded when the command is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"calipers.cli.{name}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Main commands"):
            formatter.write_dl(list(MAIN_COMMANDS.items()))
        with formatter.section("More commands"):
            formatter.write_dl(list(MORE_COMMANDS.items()))

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownName.among("command", args[0], COMMANDS)
        return super().resolve_command(context, args)


def _version() -> str:
    plain = bool(os.environ.get("CALIPERS_PLAIN")) or find_spec("calipers.native._scanner") is None
    return f"calipers {__version__} ({'plain' if plain else 'compiled'} scanner)"


def _print_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(_version())
        context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version, and whether the scanner is compiled.",
)
def root() -> None:
    """Evaluate search rankings: scores, bounds, significance tests, reports.

    \b
    calipers evaluate qrels.txt runs/*.gz -m "nDCG@{5,10} AP RR"
    calipers evaluate test.svm scores.txt -m "nDCG(gain=exp)@10"
    calipers report qrels.txt runs/* -o report.html
    calipers demo

    `calipers help COMMAND` explains a command by examples.
    """


def run(arguments: list[str]) -> int:
    """Run a command. Return the exit code: 0, 1 where a check failed, 2 for bad input."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if "_CALIPERS_COMPLETE" in os.environ:
        root.main()  # the shell asks what could come next
    try:
        with root.make_context("calipers", arguments) as context:
            root.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except CalipersError as error:
        from calipers.cli.suggestions import explained_input

        note(explained_input(error))
        return 1 if isinstance(error, CheckFailed) else 2
    except click.ClickException as error:
        from calipers.cli.suggestions import explained

        note(explained(error))
        return 2
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    return 0
