"""All commands: one file each, loaded when it is called."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec

import click

from calipers._version import __version__
from calipers.cli.printing import note
from calipers.errors import CalipersError, CheckFailed, UnknownName

COMMANDS = {
    "evaluate": "Score runs under measures: a table of systems x measures.",
    "bounds": "What the best, the worst and a random ranking would score, query by query.",
    "ranges": "Between which values scores lie, whatever the missing judgments say.",
    "pool": "Which documents to judge, first or next; whether a collection is reusable.",
    "queries": "The type of each query: how far systems get above a random ranking.",
    "audit": "Every tool's figures for the same rankings, and why they differ.",
    "measures": "Every measure in one line, or all about one: formula, parameters, properties.",
    "properties": "What measures do whatever the data: bounded, monotone, localized ...",
    "trec_eval": "Print what trec_eval prints, from its own options.",
    "compare": "Which systems really differ: tests, intervals, effect sizes, who beats whom.",
    "exposure": "Whether documents of one grade, and groups, get their share of attention.",
    "sampled": "Expected scores where irrelevant items are only a sample, as in recommender papers.",
    "diff": "What changed between two systems: queries, documents, means.",
    "check": "Whether a new system is worse than the old one: a gate for jobs and pull requests.",
    "plan": "How many queries an experiment needs, or what a budget of judgments can show.",
    "metaeval": "Judge the measures: discriminative power, consistency, stability.",
    "judges": "People, language models and others as judges: agreement, and what it does to systems.",
    "inform": "What rankings tell about the judgments, in bits: ric, joint, difference, tau.",
    "fuse": "Several runs as one, and the most that any fusion of them could reach.",
    "train": "Train a ranker on learning-to-rank files: nine methods, any measure.",
    "rank": "Score the documents of learning-to-rank files with a trained model.",
    "text": "Summaries and answers: scores between their bounds, tests, agreement with people, a report.",
    "report": "Everything about some runs on one HTML page, which needs no network.",
    "convert": "Write judgments or a run in another format.",
    "demo": "Make a small test collection, evaluate it, and show what comes out.",
}


class _Commands(click.Group):
    """Knows its commands by name and one line each, so that --help need not load them."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"calipers.cli.{name}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

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
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
    help="Show the version, and whether the scanner is compiled.",
)  # fmt: skip
def root() -> None:
    """Measure search rankings between their bounds, and judge the measures themselves.

    \b
    calipers evaluate qrels.txt runs/*.gz -m "nDCG@{5,10} AP RR"
    calipers evaluate test.svm scores.txt -m "nDCG(gain=exp)@10"
    calipers report qrels.txt runs/* -o report.html
    calipers demo
    """


def run(arguments: list[str]) -> int:
    """Run a command. Return the exit code: 0, 1 where a check failed, 2 for bad input."""
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
