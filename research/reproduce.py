"""The command `python -m research reproduce`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import click

from calipers import CalipersError, Table, progress_bar
from calipers.results import Cell
from calipers.support.plurals import counted
from research.command_line import note, table_output, write_table
from research.printed_figures import VERDICTS
from research.readings import NeedsData, readings_of, said
from research.registry import Reproduction, listing, reproductions

DATA = "CALIPERS_DATA"
DRAWING = "golbus2013/table-3 and golbus2013/figure-3"
Result = TypeVar("Result")


@click.command("reproduce")
@click.argument("tables", nargs=-1, metavar="[PAPER[/TABLE]]...")
@click.option("--list", "listed", is_flag=True, help="List the tables that can be reproduced.")
@click.option("--data", metavar="FOLDER", help="Folder with the data that a table needs [default: CALIPERS_DATA].")
@click.option(
    "--grid", is_flag=True, help="Search the readings of what a paper leaves open; one row per reading, best first."
)
@click.option("--cells", is_flag=True, help="With --grid: one row per printed figure, and how many readings give it.")
@click.option(
    "--groups",
    metavar="N",
    type=click.IntRange(min=2),
    help=f"Number of groups of systems that {DRAWING} draw. More groups give narrower intervals.",
)
@click.option(
    "--cache",
    metavar="FOLDER",
    help="Keep the finished part of --grid, or of the groups of systems, in this folder and continue from it later.",
)
@table_output
def reproduce(
    tables: tuple[str, ...],
    listed: bool,
    data: str | None,
    grid: bool,
    cells: bool,
    groups: int | None,
    cache: str | None,
    format: str | None,
    file: str | None,
) -> None:
    """Compare the printed figures of the papers with computed ones, cell by cell.

    A table is named by its paper and number (--list shows all); the name of a paper stands for all of its tables.
    Without a name, one line per paper counts the verdicts of all tables. 000, 003 and 004 are other names of
    karmaker2022, feng2023 and golbus2013, 001 and 002 of moffat2013 and busafekete2012. Verdicts: exact (the computed
    figure, cut off or rounded at the printed digits as its paper does it, is the printed one), within rounding (it is
    if done the other way, or if its sources are changed by less than their last digit), within chance (it lies in the
    range that random samples give), consistent (it cannot be recomputed, and nothing contradicts it), repeated (copied
    from another paper), differs, impossible, needs data.

    \b
    python -m research reproduce
    python -m research reproduce --list
    python -m research reproduce karmaker2022/table-9
    python -m research reproduce karmaker2022 feng2023 --format csv
    python -m research reproduce golbus2013/table-2 --data scores/
    python -m research reproduce karmaker2022/table-19 --grid --cache done/
    python -m research reproduce golbus2013/table-3 --data scores/ --groups 300000 --cache done/
    """
    if listed:
        write_table(listing(), format, file)
        return
    chosen = reproductions(*tables)
    draws = any(each.groups for each in chosen)
    if not grid and (cells or (cache and not draws)):
        raise CalipersError(
            f"--cells and --cache are for --grid, the search of readings; --cache also for {DRAWING}, which draw groups"
        )
    if groups and (grid or not draws):
        raise CalipersError(f"--groups is for {DRAWING}, which draw groups, without --grid")
    if grid:
        write_table(_searched(chosen, data, cells, cache), format, file)
        return
    found = []
    with progress_bar(len(chosen), "tables") as advance:
        for each in chosen:
            found.append(_with_data(partial(each.table, groups=groups, cache=cache), data))
            advance(1)
    joined = Table(found[0].columns, tuple(row for table in found for row in table.rows))
    counts = _counts(joined)
    note(f"{counted(len(joined.rows), 'figure')}: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n))
    if counts["needs data"] and data is None and tables:
        for layout in dict.fromkeys(table.metadata["layout"] for table in found if table.metadata["layout"]):
            note(f"--data FOLDER: {layout}")
    write_table(joined if tables else _by_paper(joined), format, file)


def _counts(figures: Table) -> dict[str, int]:
    return {verdict: sum(row[4] == verdict for row in figures.rows) for verdict in VERDICTS}


def _by_paper(figures: Table) -> Table:
    """Return one row per paper: the number of its figures, and how many have each verdict."""
    rows: list[tuple[Cell, ...]] = []
    for paper in dict.fromkeys(str(row[0]).partition("/")[0] for row in figures.rows):
        own = Table(figures.columns, tuple(row for row in figures.rows if str(row[0]).startswith(f"{paper}/")))
        rows.append((paper, len(own.rows), *_counts(own).values()))
    return Table(("paper", "figures", *VERDICTS), tuple(rows))


def _with_data(compute: Callable[[str | None], Result], data: str | None) -> Result:
    """Compute with the folder of --data, or else with CALIPERS_DATA if that folder has the data of this table."""
    folder = os.environ.get(DATA)
    if data is None and folder:
        try:
            return compute(folder)
        except CalipersError:
            pass  # its data is not about this table
    return compute(data)


def _searched(chosen: Sequence[Reproduction], data: str | None, cells: bool, cache: str | None) -> Table:
    """Search the readings of all tables that leave something open."""
    open_ones = [each for each in chosen if each.under is not None]
    if not open_ones:
        names = ", ".join(each.id for each in chosen[:3])
        raise CalipersError(f"no reading to search: {names} leave nothing open; --list shows what does")
    found, lacking = [], []
    with progress_bar(sum(len(readings_of(each.axes)) for each in open_ones), "readings") as advance:
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
