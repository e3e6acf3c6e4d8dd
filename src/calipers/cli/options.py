"""Options that commands share, each with one meaning everywhere; and bars of progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, get_args

import click

from calipers.cli.option_groups import Command, LibraryChoice, declared
from calipers.cli.printing import note as note, show as show, warn as warn
from calipers.errors import CalipersError
from calipers.measures.populations import COLLECTION, DEFAULT_POPULATION, NAMED, check_population
from calipers.support.checks import (
    LARGEST_COUNT,
    check_alpha,
    check_between_0_and_1,
    check_level,
    check_number,
    check_pairs,
    check_policy,
    check_samples,
    check_seed,
)


class FileName(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """A file, or anything else that stands for one; the shell completes file names."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class OutputFile(FileName):
    """A file to write to. It is checked before any work is done."""

    name = "output"

    def __init__(self, folder: bool = False) -> None:
        self.folder = folder  # may be a folder as well, for several tables

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from calipers.support.atomic_files import check_folder, check_output

        if self.folder and (value.endswith("/") or os.path.isdir(value)):
            check_folder(value)
        elif value != "-":
            check_output(value)
        return value


class OutputFolder(FileName):
    """A folder to write several files to."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from calipers.support.atomic_files import check_folder

        check_folder(value)
        return value


class ChartFile(FileName):
    """A file to write a chart to. A wrong ending, or a missing package for charts, is an error."""

    name = "chart"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from calipers.plot.drawing import check_chart

        check_chart(value)
        return value


class Checked(click.ParamType):  # type: ignore[type-arg]  # the same
    """A value that a function of the library checks. The error has the words of the library."""

    def __init__(self, name: str, read: Callable[[str], Any], check: Callable[[Any], Any]) -> None:
        self.name = name  # the placeholder in the help
        self.read = read
        self.check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        with suppress(ValueError):  # the check refuses text in its own words
            value = self.read(value)
        try:
            return self.check(value)
        except CalipersError as error:
            self.fail(str(error), param, ctx)


class WholeNumber(click.IntRange):
    """A whole number from `min` to the largest count that the library accepts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number > LARGEST_COUNT:
            self.fail(f"{number} is larger than {LARGEST_COUNT:,}", param, ctx)
        return number


def _bytes(gigabytes: Any) -> int:
    return int(check_number("value", gigabytes, above=0, most=MOST_GIGABYTES) * 1e9)


MOST_GIGABYTES = 1e9  # more than any machine has
ALPHA = Checked("float", float, check_alpha)
GIGABYTES = Checked("float", float, _bytes)
LEVEL = Checked("float", float, check_level)
PAIRS = Checked("integer", int, check_pairs)
SAMPLES = Checked("integer", int, check_samples)
SEED = Checked("integer", int, check_seed)
NUMBER = Checked("float", float, partial(check_number, "value"))
NOT_NEGATIVE = Checked("float", float, partial(check_number, "value", least=0))
POSITIVE = Checked("float", float, partial(check_number, "value", above=0))
SHARE = Checked("float", float, partial(check_between_0_and_1, "value"))  # between 0 and 1
POLICY = Checked("policy", float, partial(check_policy, "value"))  # what an undefined score counts


class MeasureNames(click.ParamType):  # type: ignore[type-arg]  # the same
    """Measures by name, separated by blanks; the shell completes the last."""

    name = "names"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        from calipers.measures.registry import Reads, declared

        before, blank, last = incomplete.rpartition(" ")
        names = [each.name for reads in get_args(Reads) for each in declared(reads)]
        return [CompletionItem(f"{before}{blank}{name}") for name in names if name.lower().startswith(last.lower())]


FILE = FileName()
OUTPUT = OutputFile()


def judgments_argument(command: Command) -> Command:
    return click.argument("judgments", metavar="JUDGMENTS", type=FILE)(command)


def data_argument(command: Command) -> Command:
    return click.argument("judgments", metavar="DATA", type=FILE)(command)


TYPED = "calipers.typed"  # in the context: the command line, where it is another than the shell's


def typed_command() -> str:
    """Return the command line as it was typed."""
    import shlex

    typed: str | None = click.get_current_context().meta.get(TYPED)
    return typed or shlex.join(["calipers", *sys.argv[1:]])


def _roles(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, str] | None:
    if value is None:
        return None
    pairs = [pair.partition("=") for pair in value.split(",")]
    for role, _, name in pairs:
        if not role.strip() or not name:
            raise CalipersError(f"{parameter.opts[0]} '{value}': expected query=NAME,document=NAME,...")
    return {role.strip(): name for role, _, name in pairs}


def _new_grades(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[float, float] | None:
    if value is None:
        return None
    pairs = [pair.partition(":") for pair in words(value)]
    try:
        found = {float(old): float(new) for old, _, new in pairs}
    except ValueError:
        found = {}
    if not found or len(found) < len(pairs):
        raise CalipersError(f"{parameter.opts[0]} '{value}': expected one new grade for each grade, as 1:0 2:1 3:2")
    return found


def systems_as_option(called: str, formats: LibraryChoice) -> Callable[[Command], Command]:
    return click.option("--systems-as", type=formats, help=f"Format of each {called}. By default, the content decides.")


TABLES_OR_RUN = LibraryChoice("calipers.collection.formats:RUN_TABLES", before=("run",))
max_unpacked_option = click.option(
    "--max-unpacked", type=GIGABYTES, metavar="GB", help="Largest size that a compressed file may unpack to."
)
columns_option = click.option(
    "--columns",
    metavar="ROLE=NAME,...",
    callback=_roles,
    help="Names of the columns of tables, as query=topic_id,document=url,score=bm25,grade=stars,system=model. Columns "
    "of a table without a header have the names 1, 2, ...",
)
columns_apart = declared(
    click.option(
        "--judgments-columns",
        metavar="ROLE=NAME,...",
        callback=_roles,
        help="Columns of the judgments, if they differ from --columns.",
    ),
    click.option(
        "--systems-columns",
        metavar="ROLE=NAME,...",
        callback=_roles,
        help="Columns of the systems, if they differ from --columns.",
    ),
)
combine_option = click.option(
    "--combine",
    "combine_grades",
    type=LibraryChoice("calipers.collection.repeated:COMBINE"),
    help="Combine several grades of a document into one. Without this option, different grades are an error.",
)
rename_option = click.option(
    "--rename-grades",
    metavar="GRADES",
    callback=_new_grades,
    help='Read each grade as another one, such as "1:0 2:1 3:2 4:3 5:4" for stars. Names all grades of the judgments.',
)
rollup_options = declared(
    click.option(
        "--rollup",
        type=LibraryChoice("calipers.collection.repeated:ROLLUP"),
        help="Turn passages into documents, scored by their best passage, the sum of passages, or the first.",
    ),
    click.option(
        "--rollup-by",
        metavar="SEPARATOR|FILE",
        help="Text between the ids of document and passage, or a file with a passage and its document on each "
        "line [default: #].",
    ),
)
drop_own_ids_option = click.option(
    "--drop-own-ids",
    is_flag=True,
    help="Leave out documents that have the id of their query, as in the runs of ArguAna and Quora.",
)
query_ids_option = click.option(
    "--query-ids",
    metavar="FILE",
    type=FILE,
    help="File with one query id per line, for search responses that contain no query id. The order must match the "
    "responses.",
)
encoding_option = click.option(
    "--encoding",
    metavar="NAME",
    help="Encoding of text files that are not in UTF-8, for example cp1252 for files of Windows programs.",
)
how_to_read_files = declared(
    click.option(
        "--judgments-as",
        type=LibraryChoice("calipers.collection.sources:JUDGMENT_FORMATS"),
        help="Format of JUDGMENTS. By default, the content decides.",
    ),
    systems_as_option("SYSTEM", LibraryChoice("calipers.collection.sources:SYSTEM_FORMATS")),
    columns_option,
    columns_apart,
    rollup_options,
    drop_own_ids_option,
    query_ids_option,
    encoding_option,
    max_unpacked_option,
)
how_to_read = declared(how_to_read_files, combine_option, rename_option)


class PopulationName(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """The name of a population of documents."""

    name = "population"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "|".join((*NAMED, COLLECTION))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        check_population(value)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in NAMED if name.startswith(incomplete)]


def population_option(command: Command) -> Command:
    return click.option(
        "--population",
        default=DEFAULT_POPULATION,
        show_default=True,
        type=PopulationName(),
        help="Documents that random rankings shuffle: the judged ones (pool), those that the run returned (retrieved), "
        "the judged ones and the unjudged ones that the run ranks above them (union), or N documents, of "
        "which the unjudged ones are not relevant.",
    )(command)


def _import_files(context: click.Context, parameter: click.Parameter, paths: tuple[str, ...]) -> None:
    from calipers.measures.grammar import import_measures

    for path in paths:
        import_measures(path)


def import_option(command: Command) -> Command:
    """Add --import FILE. The measures that the file declares are known before names of measures are read."""
    return click.option(
        "--import",
        multiple=True,
        metavar="FILE.py",
        type=FILE,
        expose_value=False,
        is_eager=True,
        callback=_import_files,
        help="Python file that declares measures of your own; may be repeated.",
    )(command)


def measures_option(command: Command) -> Command:
    """Add -m NAMES and --import FILE."""
    return click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        metavar="NAMES",
        type=MeasureNames(),
        help='Measures, such as "nDCG@{5,10} AP(rel=2)@100 RBP(p=0.8)"; may be repeated.',
    )(import_option(command))


class Profile(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """The name of a convention."""

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
        "--like",
        type=Profile(),
        help="Use the conventions of a tool as defaults: trec_eval (10.0), letor4, yahoo, lightgbm, letor4:stated and "
        "others.",
    )(command)


def relevant_option(command: Command) -> Command:
    return click.option(
        "--relevant",
        type=NUMBER,
        metavar="GRADE",
        help="Smallest relevant grade, for measures whose name leaves it open, such as AP, and for tools that know "
        "only relevant or not [default: 1, or that of --like].",
    )(command)


def depth_option(command: Command) -> Command:
    return click.option("--depth", type=WholeNumber(1), help="Keep only the first N documents of each list.")(command)


def strict_option(command: Command) -> Command:
    return click.option("--strict", is_flag=True, help="Treat warnings as errors.")(command)


def jobs_option(command: Command) -> Command:
    return click.option(
        "--jobs", type=WholeNumber(1), help="Number of threads that read files [default: number of cores]."
    )(command)


def alpha_option(command: Command) -> Command:
    return click.option("--alpha", type=ALPHA, default=0.05, show_default=True, help="Significance level.")(command)


def seed_option(command: Command) -> Command:
    return click.option("--seed", type=SEED, default=42, show_default=True, help="Random seed.")(command)


def repeats_option(command: Command) -> Command:
    return click.option(
        "--repeats",
        metavar="PATTERN",
        help="Several runs of one system (seeds, folds), whose luck is a random effect: how they are named, such as "
        "'{system}-seed{repeat}'.",
    )(command)


def plot_option(what: str) -> Callable[[Command], Command]:
    return click.option("--plot", metavar="FILE", type=ChartFile(), help=f"Draw {what}, as .html, .svg, .png or .json.")


def words(text: str) -> list[str]:
    """Return the words of a list that is separated by commas or spaces."""
    return text.replace(",", " ").split()


def draw(path: str | None, chart: Callable[[Any], Any]) -> None:
    """Write a chart to the file of --plot, if there is one. chart: makes the chart from the module `calipers.plot`."""
    if path is None:
        return
    from calipers import plot

    plot.save(chart(plot), path)
    note(f"wrote {path}")


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal after a second. Yield a function of the number of finished items."""
    if not sys.stderr.isatty() or total < 2:
        yield lambda done: None
        return
    from calipers.support.progress import progress_bar

    with progress_bar(total, what) as advance:
        yield advance


costs_option = click.option(
    "--costs",
    metavar="FILE",
    type=FILE,
    help="For TBG, U-measure, BPM, IFT, EC(...) and others: lines of document and the cost of reading it.",
)


query_texts_option = click.option(
    "--query-texts",
    type=FILE,
    metavar="FILE",
    help="Texts of the queries: BEIR's queries.jsonl, or lines of an id and a text.",
)
document_texts_option = click.option(
    "--document-texts",
    type=FILE,
    metavar="FILE",
    help="Titles or texts of the documents, in the same formats.",
)

query_groups_option = click.option(
    "--query-groups",
    metavar="FILE[:COLUMN]",
    type=FILE,
    help="Add results for groups of queries. A table of queries and groups, such as queries.csv:intent.",
)

query_weights_option = click.option(
    "--query-weights",
    metavar="FILE[:COLUMN]",
    type=FILE,
    help="Weighted means: a table of queries and weights, such as how often users asked each query.",
)


def read_system_groups(path: str, systems: Collection[str] = ()) -> dict[str, str]:
    """Return the group of each system, from two columns of a CSV file. The first row may be a header."""
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
