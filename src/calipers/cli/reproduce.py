"""The command `calipers reproduce`."""

from __future__ import annotations

import click

from calipers.cli.options import FILE, note
from calipers.cli.output import Output, output
from calipers.errors import CalipersError
from calipers.plurals import counted


@click.command("reproduce")
@click.argument("tables", nargs=-1, metavar="[TABLE...]")
@click.option("--list", "listing", is_flag=True, help="List the tables that can be reproduced.")
@click.option("--data", metavar="FOLDER", type=FILE, help="The folder with the data that a table needs.")
@output
def command(tables: tuple[str, ...], listing: bool, data: str | None, output: Output) -> None:
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
    """
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
    found = [each.table(data) for each in chosen]
    joined = Table(found[0].columns, tuple(row for table in found for row in table.rows))
    counts = {verdict: sum(row[4] == verdict for row in joined.rows) for verdict in VERDICTS}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    note(f"{counted(len(joined.rows), 'figure')}: {said}")
    if counts["needs data"] and data is None:
        for layout in dict.fromkeys(table.metadata["layout"] for table in found if table.metadata["layout"]):
            note(f"--data FOLDER: {layout}")
    output.write(joined)
