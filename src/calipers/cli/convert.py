"""The command `calipers convert`."""

from __future__ import annotations

import click

from calipers.cli.options import FILE, OUTPUT, columns_option, max_unpacked_option
from calipers.errors import CalipersError


@click.command("convert")
@click.argument("source", metavar="IN", type=FILE)
@click.argument("output", metavar="OUT", type=OUTPUT)
@click.option("--as", "what", type=click.Choice(("judgments", "run")), help="What IN holds, where it does not say.")
@click.option("--name", help="The name of the run, instead of the one that IN has.")
@columns_option
@max_unpacked_option
def command(
    source: str,
    output: str,
    what: str | None,
    name: str | None,
    columns: dict[str, str] | None,
    max_unpacked: int | None,
) -> None:
    """Write judgments or a run in another format.

    The ending of OUT says which: .parquet, .json, .jsonl, .csv, .tsv, anything else is TREC's; and .gz, .bz2, .xz,
    .zst, .lz4 behind it.

    \b
    calipers convert run.txt.gz run.parquet
    calipers convert qrels.json qrels.txt --as judgments
    """
    from calipers.collection.formats import FORMATS, sniff
    from calipers.collection.ir_datasets import PREFIX
    from calipers.collection.sources import read_judgments, read_run
    from calipers.collection.writing import write_qrels, write_run

    if what is None:
        holds = "judgments" if source.startswith(PREFIX) else FORMATS[sniff(source, max_unpacked=max_unpacked)].holds
        what = {"judgments": "judgments", "labels": "judgments", "run": "run"}.get(holds)
        if what is None:
            raise CalipersError("say what it holds: --as judgments or --as run", file=source)
    if what == "judgments":
        write_qrels(read_judgments(source, max_unpacked=max_unpacked, columns=columns), output)
    else:
        write_run(read_run(source, max_unpacked=max_unpacked, columns=columns), output, name)
