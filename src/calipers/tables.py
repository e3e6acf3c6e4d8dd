"""Tables: what every command prints, in every form in which people want it."""

from __future__ import annotations

import csv
import io
import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Cell = str | float | int | bool | None

FORMATS = ("table", "csv", "json", "markdown", "latex")


@dataclass(frozen=True)
class Table:
    """Named columns and rows of text and numbers; `table["bm25", "AP"]` is the cell of a row's first field.

    >>> table = Table(("system", "AP"), (("bm25", 0.25), ("random", float("nan"))))
    >>> table["bm25", "AP"]
    0.25
    >>> print(table.to_csv(), end="")
    system,AP
    bm25,0.25
    random,
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __getitem__(self, key: tuple[str, str]) -> Cell:
        row, column = key
        for cells in self.rows:
            if cells[0] == row:
                return cells[self.columns.index(column)]
        raise KeyError(row)

    def column(self, name: str) -> list[Cell]:
        place = self.columns.index(name)
        return [cells[place] for cells in self.rows]

    def to(self, form: str) -> str:
        """The table as text in one of FORMATS, ending with a newline."""
        return {
            "table": self.to_text,
            "csv": self.to_csv,
            "json": self.to_json,
            "markdown": self.to_markdown,
            "latex": self.to_latex,
        }[form]()

    def to_csv(self) -> str:
        """Full precision; an empty field where a number is undefined."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_exact(cell) for cell in row] for row in self.rows)
        return out.getvalue()

    def to_json(self) -> str:
        """A list of objects, one a row; where scores follow another tool's conventions, each says whose."""
        like = {"like": self.metadata["like"]} if self.metadata.get("like") else {}
        rows = [
            like
            | {
                name: None if isinstance(cell, float) and not math.isfinite(cell) else cell
                for name, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]
        return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"

    def to_text(self) -> str:
        """Aligned columns for a terminal."""
        cells = [self.columns, *([_short(cell) for cell in row] for row in self.rows)]
        numeric = [
            bool(self.rows) and all(isinstance(row[i], int | float | None) for row in self.rows)
            for i in range(len(self.columns))
        ]
        widths = [max(_width(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = ["  ".join(_padded(*cell) for cell in zip(row, widths, numeric, strict=True)).rstrip() for row in cells]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join(lines) + "\n"

    def to_markdown(self) -> str:
        lines = [self.columns, ["---"] * len(self.columns), *([_short(c) for c in row] for row in self.rows)]
        return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)

    def to_latex(self) -> str:
        """A booktabs tabular."""
        body = [[_latex(_short(cell)) for cell in row] for row in self.rows]
        lines = [
            rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}",
            r"\toprule",
            " & ".join(map(_latex, self.columns)) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in body),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines) + "\n"

    def to_pandas(self) -> Any:
        import pandas

        return pandas.DataFrame({name: self.column(name) for name in self.columns})

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_short(cell))}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _exact(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return repr(float(cell)) if isinstance(cell, float) else str(cell)


def _short(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.4f}"
    return str(cell)


def _width(text: str) -> int:
    """The terminal columns that a text takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _padded(text: str, width: int, right: bool) -> str:
    blank = " " * (width - _width(text))
    return blank + text if right else text + blank


def _latex(text: str) -> str:
    special: Sequence[tuple[str, str]] = (
        ("\\", r"\textbackslash{}"),
        *((c, "\\" + c) for c in "&%$#_{}"),
        ("~", r"\textasciitilde{}"),
        ("^", r"\textasciicircum{}"),
    )
    table = str.maketrans(dict(special))
    return text.translate(table)
