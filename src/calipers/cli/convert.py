"""The command `calipers convert`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

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
from calipers.cli.printing import write_text
from calipers.collection.run_names import named_files, stem_of
from calipers.errors import CalipersError
from calipers.support.atomic_files import refuse_foreign


@dataclass(frozen=True)
class ParallelTexts:
    """Plain texts whose line n belongs to document n."""

    references: tuple[str, ...]
    source: str | None

    def write(self, systems: Sequence[str], output: str, max_unpacked: int | None) -> None:
        """Write the texts of systems, FILE or NAME=FILE, as rows of JSON lines."""
        from calipers.texts.text_files import parallel_texts

        refuse_foreign(output, ("jsonl", "ndjson"), "rows of texts are written as .jsonl")
        candidates: dict[str, str] = {}
        for name, path in (file for each in systems for file in named_files(each)):
            system = name or stem_of(path)
            if system in candidates:
                raise CalipersError(f"two systems have the name '{system}': name one of them, as other={path}")
            candidates[system] = path
        found = parallel_texts(candidates, self.references, self.source, max_unpacked=max_unpacked)
        rows = [
            {"id": document.id, "system": system, "candidate": text, "references": [*document.references]}
            | ({} if document.source is None else {"source": document.source})
            for system, texts in zip(found.systems, found.texts, strict=True)
            for document, text in zip(found.documents, texts, strict=True)
        ]
        write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), output)


@grouped_command("convert")
@option_group("reading", Reading)
@click.argument("files", metavar="IN OUT", nargs=-1, required=True, type=FILE)
@option_group(
    "parallel",
    ParallelTexts,
    click.option(
        "--references",
        multiple=True,
        metavar="FILE",
        type=FILE,
        help="Plain texts of references, one per line; may be repeated. IN are then the texts of systems, [NAME=]FILE.",
    ),
    click.option(
        "--source", metavar="FILE", type=FILE, help="With --references: what the texts are about, one per line."
    ),
)
@click.option("-o", "--output", metavar="OUT", type=OUTPUT, help="OUT, instead of the last argument.")
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
def command(
    files: tuple[str, ...],
    parallel: ParallelTexts,
    output: str | None,
    what: str | None,
    name: str | None,
    reading: Reading,
) -> None:
    """Write judgments or a run in another format, or plain texts as rows.

    The ending of OUT decides the format: .parquet, .json, .jsonl, .csv or .tsv. Other endings, such as .txt and .run,
    stand for TREC. An ending .gz, .bz2, .xz, .zst or .lz4 may follow. Endings of formats that cannot be written, such
    as .xlsx, are refused.

    With --references, line n of each file of texts belongs to document n, and OUT gets JSON lines: one row per document
    and system, as evaluate reads them.

    \b
    calipers convert run.txt.gz run.parquet
    calipers convert qrels.json qrels.txt --as judgments
    calipers convert a=old.txt b=new.txt --references r.txt --source s.txt -o texts.jsonl
    """
    *given, output = (*files, output) if output is not None else files
    if parallel.references:
        parallel.write(given, output, reading.max_unpacked)
        return
    if len(given) != 1 or parallel.source is not None:
        raise CalipersError("expected IN and OUT, or texts of systems with --references FILE and -o OUT")
    _convert(given[0], output, what, name, reading)


def _convert(source: str, output: str, what: str | None, name: str | None, reading: Reading) -> None:
    from calipers.collection.writing import format_of, write_qrels, write_run

    OUTPUT.convert(output, None, None)
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
