"""What the commands share: options, opening what a user names, writing tables, warnings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calipers.errors import CalipersError
from calipers.output import replacing as replacing

if TYPE_CHECKING:
    from calipers.collection.model import Judgments, Run
    from calipers.measures.registry import Measure
    from calipers.tables import Table

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("table", "csv", "json", "markdown", "latex")
TABLES = ("parquet", "json", "csv")  # formats.TABLES, likewise
TIES = ("average", "docid", "input", "best", "worst")
TESTS = ("t", "wilcoxon", "randomization", "bootstrap", "tukey")  # stats.significance.TESTS, likewise
CORRECTIONS = ("none", "bonferroni", "holm", "bh")


class FileName(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """A file, or anything else that stands for one; the shell completes file names."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class MeasureNames(click.ParamType):  # type: ignore[type-arg]
    """Measures by name, separated by blanks; the shell completes the last."""

    name = "names"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        from calipers.measures.registry import declared

        before, blank, last = incomplete.rpartition(" ")
        names = [each.name for reads in ("grades", "subtopics") for each in declared(reads)]
        return [CompletionItem(f"{before}{blank}{name}") for name in names if name.lower().startswith(last.lower())]


FILE = FileName()


def judgments_and_systems(command: Command) -> Command:
    """JUDGMENTS SYSTEM... and how to read them."""
    for option in (
        how_to_read,
        click.argument("systems", nargs=-1, required=True, metavar="SYSTEM...", type=FILE),
        judgments_argument,
    ):
        command = option(command)
    return command


def judgments_argument(command: Command) -> Command:
    return click.argument("judgments", metavar="JUDGMENTS", type=FILE)(command)


def optional_systems(command: Command) -> Command:
    """For commands that also work without."""
    return click.argument("systems", nargs=-1, metavar="[SYSTEM...]", type=FILE)(command)


def how_to_read(command: Command) -> Command:
    for option in reversed(
        (
            click.option(
                "--judgments-as",
                type=click.Choice(("qrels", "subtopics", "letor", *TABLES)),
                help="Do not guess what JUDGMENTS is.",
            ),
            click.option(
                "--systems-as", type=click.Choice(("run", "scores", *TABLES)), help="Do not guess what a SYSTEM is."
            ),
            columns_option,
            max_unpacked_option,
            memory_option,
        )
    ):
        command = option(command)
    return command


def max_unpacked_option(command: Command) -> Command:
    return click.option("--max-unpacked", type=float, metavar="GB", help="Most that a compressed file may unpack to.")(
        command
    )


def columns_option(command: Command) -> Command:
    """Kept in the context: it is for those who open files, not for the commands."""
    return click.option(
        "--columns", metavar="ROLE=NAME,...", expose_value=False, callback=_keep_columns,
        help="Columns of tables, as query=topic_id,document=url,score=bm25,grade=stars,system=model.",
    )(command)  # fmt: skip


def memory_option(command: Command) -> Command:
    """Kept in the context, as the columns are."""
    return click.option(
        "--memory", type=click.FloatRange(min=0, min_open=True), metavar="GB", expose_value=False,
        callback=_keep_memory,
        help="What a run may take whose queries are in no order; a larger one is sorted on disk [default: a quarter of "
             "the machine's].",
    )(command)  # fmt: skip


_COLUMNS = "calipers.columns"
_MEMORY = "calipers.memory"


def _keep_memory(context: click.Context, parameter: click.Parameter, value: float | None) -> None:
    if value is not None:
        context.meta[_MEMORY] = to_bytes(value)


def given_memory() -> int | None:
    """What --memory says, in bytes."""
    context = click.get_current_context(silent=True)
    found: int | None = context.meta.get(_MEMORY) if context else None
    return found


TYPED = "calipers.typed"  # in the context: the command line, where it is another than the shell's


def _keep_columns(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    pairs = [pair.partition("=") for pair in value.split(",")]
    for role, _, name in pairs:
        if not role.strip() or not name:
            raise CalipersError(f"--columns '{value}': expected query=NAME,document=NAME,...")
    context.meta[_COLUMNS] = {role.strip(): name for role, _, name in pairs}


def given_columns() -> dict[str, str] | None:
    """What --columns says."""
    context = click.get_current_context(silent=True)
    found: dict[str, str] | None = context.meta.get(_COLUMNS) if context else None
    return found


def population_option(command: Command) -> Command:
    return click.option(
        "--population", default="pool", show_default=True, metavar="pool|retrieved|collection(N)",
        help="Whose random rankings: all judged documents, those that a run returned, or N documents.",
    )(command)  # fmt: skip


def measures_option(command: Command) -> Command:
    return click.option(
        "-m", "--measure", "measures", multiple=True, metavar="NAMES", type=MeasureNames(),
        help='Measures, as "nDCG@{5,10} AP(rel=2)@100 RBP(p=0.8)"; may be repeated.',
    )(command)  # fmt: skip


class Profile(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """The name of a convention, or a TOML file. What is known is asked for only when it is needed."""

    name = "profile"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "PROFILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from calipers.conventions import convention

        return convention(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        from calipers.conventions import CONVENTIONS

        return [CompletionItem(name) for name in CONVENTIONS if name.startswith(incomplete)]


def like_option(command: Command) -> Command:
    return click.option(
        "--like", type=Profile(),
        help="Fill what is left open with the conventions of this tool, as trec_eval (10.0), letor4, yahoo, lightgbm, "
             "letor4:stated, or a TOML file.",
    )(command)  # fmt: skip


def list_options(command: Command) -> Command:
    """How lists are read and undefined scores counted."""
    for option in reversed(
        (
            like_option,
            click.option("--ties", type=click.Choice(TIES),
                         help="What documents of equal score count as: the average over all their orders, or one order "
                              "[default: average, or what --like says]."),
            depth_option,
            click.option("--condensed", is_flag=True, help="Leave unjudged documents out (after --depth)."),
            click.option("--empty", callback=_policy, metavar="NUMBER|skip|error",
                         help="What a query without relevant documents counts [default: 0, or what --like says; "
                              "normalised: skip]."),
            click.option("--missing", callback=_policy, metavar="NUMBER|skip|error",
                         help="What a query that a run lacks counts [default: 0, or what --like says]."),
            click.option("--degenerate", callback=_policy, metavar="NUMBER|skip|error",
                         help="What a normalised score counts where all rankings score the same."),
            strict_option,
            jobs_option,
        )
    ):  # fmt: skip
        command = option(command)
    return command


def depth_option(command: Command) -> Command:
    return click.option("--depth", type=click.IntRange(min=1), help="Cut every list after so many documents.")(command)


def strict_option(command: Command) -> Command:
    return click.option("--strict", is_flag=True, help="Treat warnings as errors.")(command)


def jobs_option(command: Command) -> Command:
    return click.option(
        "--jobs", type=click.IntRange(min=1), help="Threads that read files [default: the cores]."
    )(command)  # fmt: skip


def alpha_option(command: Command) -> Command:
    return click.option("--alpha", type=float, default=0.05, show_default=True, help="Significance level.")(command)


def seed_option(command: Command) -> Command:
    return click.option("--seed", type=int, default=42, show_default=True, help="Of everything that is drawn.")(command)


def plot_option(what: str) -> Callable[[Command], Command]:
    return click.option("--plot", metavar="FILE", type=FILE, help=f"Draw {what}, as .html, .svg, .png or .json.")


def significance_options(correction: str) -> Callable[[Command], Command]:
    """Which test, corrected how: with this correction where none is named."""

    def options(command: Command) -> Command:
        for option in reversed(
            (
                click.option("--test", type=click.Choice(TESTS), default="t", show_default=True,
                             help="Paired t, Wilcoxon, sign-flip randomisation, Sakai's bootstrap, or randomised "
                                  "Tukey HSD."),
                click.option("--correction", type=click.Choice(CORRECTIONS), default=correction, show_default=True,
                             help="For the number of pairs, within each measure. Tukey's test needs none."),
                alpha_option,
                click.option("--samples", metavar="N|all", callback=_samples,
                             help="Of the tests that sample; all enumerates, where few queries allow it."),
                seed_option,
            )
        ):  # fmt: skip
            command = option(command)
        return command

    return options


def _samples(context: click.Context, parameter: click.Parameter, value: str | None) -> int | str | None:
    if value is None or value == "all":
        return value
    if not value.isdigit() or int(value) < 1:
        raise CalipersError(f"--samples '{value}' is neither a whole number of at least 1 nor all")
    return int(value)


def output_options(command: Command) -> Command:
    for option in reversed(
        (
            click.option(
                "--format",
                "form",
                type=click.Choice(FORMATS),
                default="table",
                show_default=True,
                help="For a terminal, other programs, or papers.",
            ),
            click.option("-o", "--output", metavar="FILE", type=FILE, help="Write there instead of to the screen."),
        )
    ):
        command = option(command)
    return command


def _policy(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    if value is None or value in ("skip", "error"):
        return value
    try:
        return float(value)
    except ValueError:
        raise CalipersError(f"--{parameter.name} '{value}' is not a number, skip or error") from None


def open_collection(
    judgments: str,
    systems: Sequence[str],
    judgments_as: str | None,
    systems_as: str | None,
    max_unpacked: float | None,
) -> tuple[Judgments, list[Run]]:
    if [judgments, *systems].count("-") > 1:
        raise CalipersError("only one of the inputs can be - (standard input)")
    known = open_judgments(judgments, judgments_as, max_unpacked)
    return known, open_systems(systems, systems_as, max_unpacked)


def form_for(measures: Iterable[Measure]) -> str | None:
    """What the judgments have to be for these measures, where the file cannot tell: a second field may be idle."""
    from calipers.evaluation import reads_subtopics

    return "subtopics" if reads_subtopics(measures) else None


def open_judgments(judgments: str, form: str | None, max_unpacked: float | None) -> Judgments:
    from calipers.collection.sources import read_judgments

    return read_judgments(judgments, form, to_bytes(max_unpacked), given_columns())


def open_systems(systems: Sequence[str], form: str | None, max_unpacked: float | None) -> list[Run]:
    from calipers.collection.sources import read_runs

    return read_runs(
        systems, form=form, max_unpacked=to_bytes(max_unpacked), columns=given_columns(), memory=given_memory()
    )


def to_bytes(gigabytes: float | None) -> int | None:
    return None if gigabytes is None else int(gigabytes * 1e9)


def write(table: Table, form: str, output: str | None) -> None:
    """Print a table, or write it whole to a file: through a temporary file, so that nothing is left half written."""
    text = table.to(form)
    if output is None or output == "-":
        click.echo(text, nl=False)
        return
    with replacing(output) as temporary:
        Path(temporary).write_text(text, encoding="utf-8", errors="surrogateescape")


def note(text: str) -> None:
    """One line beside the result, never in it."""
    click.echo(f"calipers: {text}", err=True)


def warn(texts: Sequence[str], strict: bool) -> None:
    """Warnings, each once; with --strict the first is an error."""
    if texts and strict:
        raise CalipersError(f"{texts[0]} (--strict)")
    for text in texts:
        note(f"warning: {text}")


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """A bar on the terminal for what takes longer than a second; nothing elsewhere."""
    if not sys.stderr.isatty() or total < 2:
        yield lambda done: None
        return
    from calipers.progress import progress_bar

    with progress_bar(total, what) as advance:
        yield advance
