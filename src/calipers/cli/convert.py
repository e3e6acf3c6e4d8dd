"""The command `calipers convert`."""

from __future__ import annotations

import click

from calipers.cli.inputs import Reading
from calipers.cli.option_groups import grouped_command, option_group
from calipers.cli.options import (
    FILE,
    OUTPUT,
    columns_option,
    combine_option,
    drop_own_ids_option,
    encoding_option,
    max_unpacked_option,
    query_ids_option,
    rename_option,
    rollup_options,
)
from calipers.errors import CalipersError


@grouped_command("convert")
@option_group("reading", Reading)
@click.argument("source", metavar="IN", type=FILE)
@click.argument("output", metavar="OUT", type=OUTPUT)
@click.option(
    "--as", "what", type=click.Choice(("judgments", "run")), help="Content of IN, for formats that could hold either."
)
@click.option("--name", help="Name of the run. By default, the name in IN.")
@columns_option
@combine_option
@rename_option
@rollup_options
@drop_own_ids_option
@query_ids_option
@encoding_option
@max_unpacked_option
def command(source: str, output: str, what: str | None, name: str | None, reading: Reading) -> None:
    """Write judgments or a run in another format.

    The ending of OUT decides the format: .parquet, .json, .jsonl, .csv or .tsv. Other endings, such as .txt and .run,
    stand for TREC. An ending .gz, .bz2, .xz, .zst or .lz4 may follow. Endings of formats that cannot be written, such
    as .xlsx, are refused.

    \b
    calipers convert run.txt.gz run.parquet
    calipers convert qrels.json qrels.txt --as judgments
    """
    from calipers.collection.writing import format_of, write_qrels, write_run

    format_of(output)  # refuses a wrong ending before anything is read
    what = what or _holds(source, reading)
    if what == "judgments":
        write_qrels(reading.read_judgments(source), output)
        return
    runs = reading.read_systems([source])
    if len(runs) > 1:
        raise CalipersError(f"there are {len(runs)} runs in it ({runs[0].name}, {runs[1].name} ...)", file=source)
    write_run(runs[0], output, name)


def _holds(source: str, reading: Reading) -> str:
    """Return "judgments" or "run" if the format holds only one of them."""
    from calipers.collection.formats import FORMATS, sniff
    from calipers.collection.sources import PREFIX
    from calipers.texts.recognition import refuse_texts

    if source.startswith(PREFIX):
        return "judgments"
    refuse_texts(source)
    format = FORMATS[sniff(source, max_unpacked=reading.max_unpacked)]
    holds = format.holds
    if holds == "table" and len(format.values) == 1:
        holds = "judgments" if "grade" in format.values else "run"
    found = {"judgments": "judgments", "labels": "judgments", "run": "run"}.get(holds)
    if found is None:
        raise CalipersError("this may hold judgments or a run: add --as judgments or --as run", file=source)
    return found
