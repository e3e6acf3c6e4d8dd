"""What the commands share: options, opening what a user names, writing tables, warnings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calipers.cli.printing import note as note
from calipers.cli.printing import show as show
from calipers.cli.printing import warn as warn
from calipers.cli.printing import write as _write
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.collection.model import Judgments, Run
    from calipers.measures.registry import Measure
    from calipers.results.tables import Table

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("table", "csv", "json", "markdown", "latex")
TABLES = ("parquet", "json", "csv")  # formats.TABLES, likewise
TIES = ("average", "docid", "input", "best", "worst")
TESTS = ("t", "wilcoxon", "sign", "randomization", "bootstrap", "tukey")  # stats.significance.TESTS, likewise
COMPARISON_TESTS = (*TESTS, "dunnett", "bayes")  # stats.comparison.TESTS, likewise
EFFECTS = ("d", "cliff", "rank-biserial")  # stats.effect_sizes.EFFECTS, likewise
CORRECTIONS = ("none", "bonferroni", "holm", "bh")


class FileName(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """A file, or anything else that stands for one; the shell completes file names."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class OutputFile(FileName):
    """Where something is written: refused before any work where that cannot be."""

    name = "output"

    def __init__(self, folder: bool = False) -> None:
        self.folder = folder  # may be a folder as well, for several tables

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from calipers.atomic_files import check_folder, check_output

        if self.folder and (value.endswith("/") or os.path.isdir(value)):
            check_folder(value)
        elif value != "-":
            check_output(value)
        return value


class OutputFolder(FileName):
    """Where several files are written."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from calipers.atomic_files import check_folder

        check_folder(value)
        return value


class ChartFile(FileName):
    """Where a chart is written: a wrong ending, or charts that cannot be made here, are refused as well."""

    name = "chart"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from calipers.plot.drawing import check_chart

        check_chart(value)
        return value


class MeasureNames(click.ParamType):  # type: ignore[type-arg]  # likewise
    """Measures by name, separated by blanks; the shell completes the last."""

    name = "names"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        from calipers.measures.registry import declared

        before, blank, last = incomplete.rpartition(" ")
        names = [each.name for reads in ("grades", "subtopics") for each in declared(reads)]
        return [CompletionItem(f"{before}{blank}{name}") for name in names if name.lower().startswith(last.lower())]


FILE = FileName()
OUTPUT = OutputFile()


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


# How to read the inputs is for those who open files, not for the commands: these options are kept in the context.
_GIVEN = "calipers.given."
TYPED = "calipers.typed"  # in the context as well: the command line, where it is another than the shell's


def given(name: str) -> Any:
    """What the option judgments_as, systems_as, columns, max_unpacked or memory says; the last two in bytes."""
    context = click.get_current_context(silent=True)
    return context.meta.get(_GIVEN + name) if context else None


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None:
        context.meta[f"{_GIVEN}{parameter.name}"] = value


def _keep_flag(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    _keep(context, parameter, value or None)


MOST_GIGABYTES = 1e9  # more than any machine has: infinity and what is no number are refused with it


def _keep_bytes(context: click.Context, parameter: click.Parameter, value: float | None) -> None:
    if value is not None and not 0 <= value <= MOST_GIGABYTES:
        raise CalipersError(f"--{str(parameter.name).replace('_', '-')} {value:g} is not a number of gigabytes")
    _keep(context, parameter, None if value is None else int(value * 1e9))


def _keep_columns(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    pairs = [pair.partition("=") for pair in value.split(",")]
    for role, _, name in pairs:
        if not role.strip() or not name:
            raise CalipersError(f"--columns '{value}': expected query=NAME,document=NAME,...")
    _keep(context, parameter, {role.strip(): name for role, _, name in pairs})


def how_to_read(command: Command) -> Command:
    for option in reversed(
        (
            click.option(
                "--judgments-as",
                type=click.Choice(("qrels", "subtopics", "letor", *TABLES)),
                expose_value=False,
                callback=_keep,
                help="Do not guess what JUDGMENTS is.",
            ),
            systems_as_option("SYSTEM", "run", "scores", *TABLES),
            columns_option,
            max_unpacked_option,
            memory_option,
        )
    ):
        command = option(command)
    return command


def systems_as_option(called: str, *forms: str) -> Callable[[Command], Command]:
    return click.option(
        "--systems-as", type=click.Choice(forms), expose_value=False, callback=_keep,
        help=f"Do not guess what a {called} is.",
    )  # fmt: skip


def max_unpacked_option(command: Command) -> Command:
    return click.option(
        "--max-unpacked", type=float, metavar="GB", expose_value=False, callback=_keep_bytes,
        help="Most that a compressed file may unpack to.",
    )(command)  # fmt: skip


def columns_option(command: Command) -> Command:
    return click.option(
        "--columns", metavar="ROLE=NAME,...", expose_value=False, callback=_keep_columns,
        help="Columns of tables, as query=topic_id,document=url,score=bm25,grade=stars,system=model.",
    )(command)  # fmt: skip


def memory_option(command: Command) -> Command:
    return click.option(
        "--memory", type=click.FloatRange(min=0, min_open=True), metavar="GB", expose_value=False,
        callback=_keep_bytes,
        help="What a run may take whose queries are in no order; a larger one is sorted on disk [default: a quarter of "
             "the machine's].",
    )(command)  # fmt: skip


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
            click.option("--empty", callback=policy_of, metavar="NUMBER|skip|error",
                         help="What a query without relevant documents counts [default: 0, or what --like says; "
                              "normalised: skip]."),
            click.option("--missing", callback=policy_of, metavar="NUMBER|skip|error",
                         help="What a query that a run lacks counts [default: 0, or what --like says]."),
            click.option("--degenerate", callback=policy_of, metavar="NUMBER|skip|error",
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


def repeats_option(command: Command) -> Command:
    return click.option(
        "--repeats", metavar="PATTERN|FILE",
        help="Several runs of one system (seeds, folds), whose luck is a random effect: names as "
             "'{system}-seed{repeat}', a regular expression of two groups, or a CSV file with run, system, repeat.",
    )(command)  # fmt: skip


def plot_option(what: str) -> Callable[[Command], Command]:
    return click.option("--plot", metavar="FILE", type=ChartFile(), help=f"Draw {what}, as .html, .svg, .png or .json.")


def significance_options(correction: str, tests: Sequence[str] = TESTS) -> Callable[[Command], Command]:
    """Which of the tests, corrected how: with this correction where none is named."""
    others = ", Dunnett's against --baseline, or posterior probabilities (bayes)" if "bayes" in tests else ""

    def options(command: Command) -> Command:
        for option in reversed(
            (
                click.option("--test", type=click.Choice(tests), default="t", show_default=True,
                             help="Paired t, Wilcoxon, sign test, sign-flip randomisation, Sakai's bootstrap, or "
                                  f"randomised Tukey HSD{others}."),
                click.option("--correction", type=click.Choice(CORRECTIONS), default=correction, show_default=True,
                             help="For the number of pairs, within each measure. Tukey's and Dunnett's need none."),
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


def safe_csv_option(command: Command) -> Command:
    return click.option(
        "--safe-csv", is_flag=True, expose_value=False, callback=_keep_flag,
        help="In CSV, put ' before text that a spreadsheet would take for a formula.",
    )(command)  # fmt: skip


def output_options(command: Command) -> Command:
    """In which form a table is printed, and where."""
    return _output_options(command, OUTPUT, "Write there instead of to the screen.")


def several_output_options(command: Command) -> Command:
    """The same of several tables, which may go to a folder."""
    words = "Write there instead of to the screen; into a folder, one file per table."
    return _output_options(command, OutputFile(folder=True), words)


def _output_options(command: Command, place: OutputFile, words: str) -> Command:
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
            safe_csv_option,
            click.option("-o", "--output", metavar="FILE", type=place, help=words),
        )
    ):
        command = option(command)
    return command


def write(table: Table, form: str, output: str | None = None) -> None:
    """Print a table, or write it to a file, as the options say."""
    _write(as_asked(table, form), form, output)


def as_asked(table: Table, form: str) -> Table:
    """The table as --safe-csv wants it."""
    return table.without_formulas() if form == "csv" and given("safe_csv") else table


def policy_of(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    if value is None or value in ("skip", "error"):
        return value
    try:
        return float(value)
    except ValueError:
        raise CalipersError(f"--{parameter.name} '{value}' is not a number, skip or error") from None


def open_collection(
    judgments: str, systems: Sequence[str], measures: Iterable[Measure] = ()
) -> tuple[Judgments, list[Run]]:
    """The judgments, as these measures need them, and the systems."""
    if [judgments, *systems].count("-") > 1:
        raise CalipersError("only one of the inputs can be - (standard input)")
    known = open_judgments(judgments, measures)
    return known, open_systems(systems)


def form_for(measures: Iterable[Measure]) -> str | None:
    """What the judgments have to be for these measures, where the file cannot tell: a second field may be idle."""
    from calipers.evaluation import reads_subtopics

    return "subtopics" if reads_subtopics(measures) else None


def open_judgments(judgments: str, measures: Iterable[Measure] = ()) -> Judgments:
    from calipers.collection.sources import read_judgments

    form = given("judgments_as") or form_for(measures)
    return read_judgments(judgments, format=form, columns=given("columns"), max_unpacked=given("max_unpacked"))


def open_judges(judges: Sequence[str]) -> dict[str, Judgments]:
    """Judgments by the names of their files without the ending."""
    from calipers.collection.run_names import files_of
    from calipers.judging.panel import judge_names

    irds = [judge for judge in judges if judge.startswith("irds:")]
    files = [file for judge in judges if judge not in irds for file in files_of(judge)] + irds
    return {name: _open_judge(file) for name, file in zip(judge_names(files), files, strict=True)}


def _open_judge(file: str) -> Judgments:
    try:
        return open_judgments(file)
    except CalipersError as error:
        if error.message.endswith("looks like a run"):  # what a shell makes of --systems runs/*
            raise CalipersError(f"{error.message}; quote the pattern: --systems 'runs/*'", file=error.file) from None
        raise


def open_systems(systems: Sequence[str]) -> list[Run]:
    from calipers.collection.sources import read_runs

    return read_runs(
        systems, format=given("systems_as"), max_unpacked=given("max_unpacked"), columns=given("columns"),
        memory=given("memory"),
    )  # fmt: skip


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """A bar on the terminal for what takes longer than a second; nothing elsewhere."""
    if not sys.stderr.isatty() or total < 2:
        yield lambda done: None
        return
    from calipers.progress import progress_bar

    with progress_bar(total, what) as advance:
        yield advance


def read_groups(path: str, systems: Collection[str] = ()) -> dict[str, str]:
    """The group of each system, from two columns of a CSV file; a first row that names a system is no header."""
    import csv

    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        raise CalipersError(f"cannot be read: {error.strerror}", file=path) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise CalipersError(f"is not CSV: {error}", file=path) from None
    if any(len(row) < 2 for row in rows) or len(rows) < 2:
        raise CalipersError("expected a header and rows that begin with a system and its group", file=path)
    rows = rows if rows[0][0].strip() in systems else rows[1:]
    return {row[0].strip(): row[1].strip() for row in rows}
