"""Output of a command: one table, or several tables with their titles, on the screen or in files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from calipers.cli.option_groups import LibraryChoice, declared, option_group
from calipers.cli.options import OUTPUT, OutputFile
from calipers.cli.printing import note, write_text
from calipers.results.tables import visible
from calipers.support.atomic_files import ending_of, refuse_foreign
from calipers.support.plurals import plural_of

if TYPE_CHECKING:
    from calipers.results.result import Result
    from calipers.results.tables import Table

SUFFIX = {"table": "txt", "csv": "csv", "json": "json", "markdown": "md", "latex": "tex", "html": "html"}
ENDINGS = {ending: format for format, ending in SUFFIX.items()} | {"markdown": "markdown", "htm": "html"}
WRITTEN = "tables are written as .csv, .json, .md, .tex, .html or .txt"


@dataclass(frozen=True)
class Output:
    """The format of tables, and the file that they are written to. Without a file, they are printed.

    If no format is given, the ending of the file decides.
    """

    endings: ClassVar[Mapping[str, str]] = ENDINGS  # formats by the ending of the file name
    format: str = ""  # or None if no format was given
    file: str | None = None
    safe_csv: bool = False

    def __post_init__(self) -> None:
        if not self.format:
            object.__setattr__(self, "format", format_of(self.file, self.endings))

    @property
    def is_folder(self) -> bool:
        """True if each of several tables goes to a separate file."""
        return self.file is not None and (self.file.endswith("/") or Path(self.file).is_dir())

    def write(self, table: Table) -> None:
        self.write_text(self._text(table))

    def write_several(self, tables: Mapping[str, tuple[str, Table]]) -> None:
        """Write tables, each with its title, one after the other, or one file per table if a folder was given."""
        if self.file is not None and self.is_folder:
            Path(self.file).mkdir(parents=True, exist_ok=True)
            for key, (_, table) in tables.items():
                file = str(Path(self.file) / f"{_as_file(key)}.{SUFFIX[self.format]}")
                Output(self.format, file, self.safe_csv).write(table)
        else:
            self.write_text(self._joined(tables))

    def write_result(self, result: Result, tables: Mapping[str, tuple[str, Table]]) -> None:
        """Write some tables of a result, each with its title. JSON also has the summary and the notes."""
        if self.format == "json" and not self.is_folder:
            parts = result.as_dict({key: table for key, (_, table) in tables.items()})
            self.write_text(json.dumps(parts, ensure_ascii=False, indent=1) + "\n")
        else:
            self.write_several(tables)

    def write_text(self, text: str) -> None:
        write_text(text, self.file)

    def _text(self, table: Table) -> str:
        if self.format not in ("csv", "json"):
            table = _in_words(table)
        return (table.without_formulas() if self.format == "csv" and self.safe_csv else table).to(self.format)

    def _joined(self, tables: Mapping[str, tuple[str, Table]]) -> str:
        from calipers.results.tables import html_page, markdown_text

        if len(tables) == 1:
            return self._text(next(iter(tables.values()))[1])
        if self.format == "html":
            return html_page([(title, _in_words(table)) for title, table in tables.values()])
        if self.format == "json":
            parts: dict[str, Any] = {key: json.loads(table.to_json()) for key, (_, table) in tables.items()}
            return json.dumps(parts, ensure_ascii=False, indent=1) + "\n"
        texts = []
        for title, table in tables.values():
            plain = visible(title)
            heads = {"table": f"{plain}\n", "markdown": f"### {markdown_text(title)}\n\n", "latex": f"% {plain}\n"}
            if self.format == "csv":
                note(title)
            texts.append(heads.get(self.format, "") + self._text(table))
        return "\n".join(texts)


def _in_words(table: Table) -> Table:
    """Return a table for people. Columns about queries are about documents if the scored texts are."""
    unit = table.metadata.get("unit", "query")
    names = {"query": unit, "queries": plural_of(unit)}
    return table.changed(columns=tuple(names.get(column, column) for column in table.columns))


def format_of(file: str | None, endings: Mapping[str, str] = ENDINGS) -> str:
    """Return the format for the ending of a file, `table` if the ending is unknown. Foreign formats are an error.

    >>> format_of("table.md"), format_of("table"), format_of(None)
    ('markdown', 'table', 'table')
    """
    if file is None or file == "-" or file.endswith("/") or Path(file).is_dir():
        return "table"
    spreadsheet = "; a spreadsheet opens .csv (with --safe-csv, text stays text)"
    hint = WRITTEN + (spreadsheet if ending_of(file) in ("xlsx", "xls", "ods", "tsv") else "")
    refuse_foreign(file, tuple(endings), hint)
    return endings.get(ending_of(file), "table")


def _as_file(key: str) -> str:
    return "".join(c if c.isalnum() or c in "-_.@" else "_" for c in key)


safe_csv_option = click.option(
    "--safe-csv", is_flag=True, help="In CSV, put ' before text that a spreadsheet would take for a formula."
)
_format = declared(
    click.option(
        "--format",
        type=LibraryChoice("calipers.support.choices:TableFormat"),
        help="Format of the output [default: by the ending of -o, or table].",
    ),
    safe_csv_option,
)

# One table, as `output`.
output = option_group(
    "output",
    Output,
    _format,
    click.option(
        "-o", "--output", "file", metavar="FILE", type=OUTPUT, help="Write to this file instead of the screen."
    ),
)
# Several tables, as `output`.
several_outputs = option_group(
    "output",
    Output,
    _format,
    click.option(
        "-o",
        "--output",
        "file",
        metavar="FILE",
        type=OutputFile(folder=True),
        help="Write to this file instead of the screen; into a folder, one file per table.",
    ),
)
