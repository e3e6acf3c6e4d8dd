"""The command `calipers reproduce`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import click

from calipers.cli.options import FILE, note, progress
from calipers.cli.output import Output, output
from calipers.errors import CalipersError
from calipers.plurals import counted

if TYPE_CHECKING:
    from calipers.papers.registry import Reproduction
    from calipers.results.tables import Table


DATA = "CALIPERS_DATA"
Result = TypeVar("Result")


@click.command("reproduce")
@click.argument("tables", nargs=-1, metavar="[TABLE...]")
@click.option("--list", "listing", is_flag=True, help="List the tables that can be reproduced.")
@click.option(
    "--data",
    metavar="FOLDER",
    type=FILE,
    help="The folder with the data that a table needs [default: CALIPERS_DATA].",
)
@click.option(
    "--grid", is_flag=True, help="Search the readings of what a paper leaves open; one row per reading, best first."
)
@click.option("--cells", is_flag=True, help="With --grid: one row per printed figure, and how many readings give it.")
@click.option(
    "--groups",
    metavar="N",
    type=click.IntRange(min=2),
    help="How many groups of systems golbus2013/table-3 and figure-3 draw: more give narrower intervals.",
)
@click.option(
    "--cache",
    metavar="FOLDER",
    help="Keep what is done of --grid, or of the groups of systems, here, and go on from it later.",
)
@output
def command(
    tables: tuple[str, ...],
    listing: bool,
    data: str | None,
    grid: bool,
    cells: bool,
    groups: int | None,
    cache: str | None,
    output: Output,
) -> None:
    """The printed figures of the papers against computed ones, cell by cell.

    A TABLE is named by its paper and number (--list shows all); the paper alone stands for all of its tables. 000, 003
    and 004 are other names of karmaker2022, feng2023 and golbus2013. Verdicts: exact (the computed figure, cut at the
    printed digits, is the printed one), within rounding, differs, impossible, consistent (cannot be recomputed, and
    no other printed figure contradicts it), needs data.

    \b
    calipers reproduce --list
    calipers reproduce karmaker2022/table-9
    calipers reproduce karmaker2022 feng2023 --format csv
    calipers reproduce golbus2013/table-2 --data scores/
    calipers reproduce karmaker2022/table-19 --grid --cache done/
    calipers reproduce golbus2013/table-3 --data scores/ --groups 300000 --cache done/
    """  # fmt: skip
    from calipers.papers.printed_figures import VERDICTS
    from calipers.papers.registry import listing as list_of_tables
    from calipers.papers.registry import reproductions
    from calipers.results.tables import Table

    if listing:
        output.write(list_of_tables())
        return
    if not tables:
        raise CalipersError("name a table, as in calipers reproduce karmaker2022/table-9; --list shows what there is")
    chosen = reproductions(*tables)
    draws = any(each.groups for each in chosen)
    if not grid and (cells or (cache and not draws)):
        raise CalipersError(
            "--cells and --cache are for --grid, the search of readings; --cache also for tables that draw groups, "
            "golbus2013/table-3 and figure-3"
        )
    if groups and (grid or not draws):
        raise CalipersError("--groups is for tables that draw groups, golbus2013/table-3 and figure-3, without --grid")
    if grid:
        output.write(_searched(chosen, data, cells, cache))
        return
    found = []
    with progress(len(chosen), "tables") as advance:
        for each in chosen:
            found.append(_with_data(partial(each.table, groups=groups, cache=cache), data))
            advance(1)
    joined = Table(found[0].columns, tuple(row for table in found for row in table.rows))
    counts = {verdict: sum(row[4] == verdict for row in joined.rows) for verdict in VERDICTS}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    note(f"{counted(len(joined.rows), 'figure')}: {said}")
    if counts["needs data"] and data is None:
        for layout in dict.fromkeys(table.metadata["layout"] for table in found if table.metadata["layout"]):
            note(f"--data FOLDER: {layout}")
    output.write(joined)


def _with_data(compute: Callable[[str | None], Result], data: str | None) -> Result:
    """With the data of --data; or with what CALIPERS_DATA has of it, if anything."""
    folder = os.environ.get(DATA)
    if data is None and folder:
        try:
            return compute(folder)
        except CalipersError:
            pass  # its data is not about this table
    return compute(data)


def _searched(chosen: Sequence[Reproduction], data: str | None, cells: bool, cache: str | None) -> Table:
    """The search of the readings of all tables that leave something open."""
    from calipers.papers.readings import NeedsData, readings_of, said
    from calipers.results.tables import Table

    open_ones = [each for each in chosen if each.under is not None]
    if not open_ones:
        names = ", ".join(each.id for each in chosen[:3])
        raise CalipersError(
            f"no reading to search: {names} leave nothing open; calipers reproduce --list shows what does"
        )
    found, lacking = [], []
    with progress(sum(len(readings_of(each.axes)) for each in open_ones), "readings") as advance:
        for each in open_ones:
            try:
                found.append(_with_data(partial(each.grid, cache=cache, progress=advance), data))
            except NeedsData as error:
                lacking.append(error)
                advance(len(readings_of(each.axes)))
    if not found:
        raise lacking[0]
    if lacking:
        note(f"{counted(len(lacking), 'table')} left out: without --data FOLDER their readings make no difference")
    for search in found:
        best, total = search.order[0], len(search.figures[0])
        note(f"{search.table_id}: {search.given(best)} of {total} figures under the best reading: {said(search.best)}")
    parts = [search.cells() if cells else search.table() for search in found]
    return Table(parts[0].columns, tuple(row for part in parts for row in part.rows))
