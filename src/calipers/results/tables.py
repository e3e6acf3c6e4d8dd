"""Tables, and their conversion to text, CSV, JSON, Markdown, LaTeX, HTML and data frames."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeGuard, get_args, overload

from calipers.collection.judgments import digest_text
from calipers.errors import UnknownName, place_of
from calipers.support.choices import TableFormat
from calipers.support.extras import load
from calipers.support.record import Record

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Cell = str | float | int | bool | None


TERMINAL = 80  # columns of a terminal
LEAST_PROSE = 30  # columns that sentences get, however wide the other columns are


def as_number(cell: Cell) -> float:
    """Return the number in a cell that holds a number."""
    assert cell is not None
    return float(cell)


FORMATS = get_args(TableFormat)
LEAST_P = 0.0001  # smaller p values are printed as <0.0001
DIGITS = 4  # decimals in printed tables, by default


class Table(Record):
    """Named columns and rows of text and numbers. A row is named by its first field.

    >>> table = Table(("system", "AP"), (("bm25", 0.25), ("random", float("nan"))))
    >>> table["AP"], table.row("bm25"), table["bm25", "AP"]
    ([0.25, nan], {'system': 'bm25', 'AP': 0.25}, 0.25)
    >>> len(table), [row["system"] for row in table]
    (2, ['bm25', 'random'])
    >>> print(table.to_csv(), end="")
    system,AP
    bm25,0.25
    random,
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    metadata: Mapping[str, Any] = MappingProxyType({})
    # For printed tables only: marks after cells, by (row, column), and notes that say what the marks mean.
    marks: Mapping[tuple[int, int], str] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    best: Mapping[str, str] = MappingProxyType({})  # {column: largest or smallest}: the best figure is in bold
    second_best: bool = False  # the second best figure of these columns is underlined
    is_prose: bool = False  # the last column holds sentences, which are broken into lines for a terminal

    @overload
    def __getitem__(self, key: str) -> list[Cell]: ...
    @overload
    def __getitem__(self, key: tuple[str, str]) -> Cell: ...
    def __getitem__(self, key: str | tuple[str, str]) -> list[Cell] | Cell:
        """Return a column, or one cell: `table["AP"]`, `table["bm25", "AP"]`."""
        if isinstance(key, tuple):
            row, column = key
            return self._cells_of(row)[place_of("column", column, self.columns)]
        place = place_of("column", key, self.columns)
        return [cells[place] for cells in self.rows]

    def row(self, name: str) -> dict[str, Cell]:
        """Return the row whose first field is this name."""
        return dict(zip(self.columns, self._cells_of(name), strict=True))

    def _cells_of(self, row: str) -> tuple[Cell, ...]:
        for cells in self.rows:
            if cells[0] == row:
                return cells
        raise UnknownName.among("row", row, (str(cells[0]) for cells in self.rows))

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        """Iterate over rows as dictionaries."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def head(self, rows: int) -> Table:
        """Return the table with its first rows only, and a note that counts the others.

        >>> print(Table(("system", "AP"), (("a", 0.25), ("b", 0.5), ("c", 0.125))).head(1), end="")
        system      AP
        ------  ------
        a       0.2500
        ... 2 more rows
        """
        left_out = len(self.rows) - rows
        if left_out <= 0:
            return self
        marks = {place: mark for place, mark in self.marks.items() if place[0] < rows}
        more = f"... {left_out} more {'row' if left_out == 1 else 'rows'}"
        return self.changed(rows=self.rows[:rows], marks=marks, notes=(more, *self.notes))

    def with_best(self, columns: Sequence[str] | None = None, *, smallest: bool = False, second: bool = False) -> Table:
        """Return the table with the best figure of each column in bold: the largest, or the smallest.

        All figures that are printed like the best one are in bold. If all figures of a column are printed alike, none
        is in bold. With `second`, the second best figures are underlined.

        >>> print(Table(("system", "AP"), (("a", 0.25), ("b", 0.5))).with_best(second=True).to_markdown(), end="")
        | system | AP |
        | --- | ---: |
        | a | <u>0.2500</u> |
        | b | **0.5000** |
        """
        for name in columns or ():
            place_of("column", name, self.columns)
        which = "smallest" if smallest else "largest"
        best = {**self.best, **dict.fromkeys(self.columns if columns is None else columns, which)}
        return self.changed(best=best, second_best=second or self.second_best)

    def best_cells(self, digits: int = DIGITS) -> tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]:
        """Return the best and the second best figures as sets of (row, column)."""
        best: set[tuple[int, int]] = set()
        second: set[tuple[int, int]] = set()
        for name, which in self.best.items():
            place = self.columns.index(name)
            shown = {i: cell for i, row in enumerate(self.rows) if _is_figure(cell := row[place])}
            first = _alike(shown, which, digits)
            if len(first) < len(shown):
                best |= {(i, place) for i in first}
                if self.second_best:
                    rest = {i: cell for i, cell in shown.items() if i not in first}
                    second |= {(i, place) for i in _alike(rest, which, digits)}
        return frozenset(best), frozenset(second)

    def to(self, format: str) -> str:
        """Return the table as text in one of FORMATS. The text ends with a newline."""
        return {
            "table": self.to_text,
            "csv": self.to_csv,
            "json": self.to_json,
            "markdown": self.to_markdown,
            "latex": self.to_latex,
            "html": self.to_html,
        }[format]()

    def without_formulas(self) -> Table:
        """Put ' before text that a spreadsheet would take for a formula. Numbers stay numbers.

        >>> print(Table(("system", "AP"), (("=1+1", -0.25),)).without_formulas().to_csv(), end="")
        system,AP
        '=1+1,-0.25
        """
        rows = tuple(tuple(_no_formula(cell) if isinstance(cell, str) else cell for cell in row) for row in self.rows)
        return self.changed(columns=tuple(map(_no_formula, self.columns)), rows=rows)

    def to_csv(self) -> str:
        """Return the table as CSV with full precision. Undefined numbers are empty fields."""
        import csv
        import io

        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_exact(cell) for cell in row] for row in self.rows)
        return out.getvalue()

    def to_json(self) -> str:
        """Return a JSON list of objects, one per row.

        If scores follow another tool's conventions, each object names the tool (`like`). If scores are not exact, each
        object says which and why (`exactness`). Scores by query have a digest of their judgments (`judgments`).
        """
        import json

        return json.dumps(self.json_rows(), ensure_ascii=False, indent=1) + "\n"

    def json_rows(self) -> list[dict[str, Any]]:
        """Return the rows as `to_json` writes them: numbers that are undefined or infinite are None."""
        about = self._about()
        return [
            about
            | {
                name: None if isinstance(cell, float) and not math.isfinite(cell) else cell
                for name, cell in zip(self.columns, row, strict=True)
            }
            | self._exactness(row)
            for row in self.rows
        ]

    def _about(self) -> dict[str, Any]:
        """Return the fields that are the same in each row: the conventions, and the digest of the judgments."""
        found = {"like": self.metadata.get("like")}
        if self.columns[:2] == ("system", "query"):
            found["judgments"] = digest_text(self.metadata.get("judgments"))
        return {name: value for name, value in found.items() if value}

    def _exactness(self, row: tuple[Cell, ...]) -> dict[str, Any]:
        """Return the inexact measures of a row: its own measure, or all measures that are columns."""
        found = {}
        for what in ("exactness", "standard_error"):
            known = self.metadata.get(what)
            if known and "measure" in self.columns:
                known = known.get(row[self.columns.index("measure")])
            elif known:
                known = {name: how for name, how in known.items() if name in self.columns}
            if known:
                found[what] = known
        return found

    def to_text(self) -> str:
        """Return aligned columns for a terminal, with marks after their numbers and notes below."""
        behind = [0] * len(self.columns)  # width of the marks in each column
        for (_, column), mark in self.marks.items():
            behind[column] = max(behind[column], _width(mark))
        cells = [[name + " " * room for name, room in zip(map(visible, self.columns), behind, strict=True)]]
        for r, row in enumerate(self.rows):
            marks = [self.marks.get((r, c), "") for c in range(len(row))]
            padded = [_padded(mark, room, False) for mark, room in zip(marks, behind, strict=True)]
            cells.append([visible(_short(cell)) + mark for cell, mark in zip(row, padded, strict=True)])
        if self.is_prose:
            cells = _with_broken_lines(cells)
        numeric = self._numeric()
        widths = [max(_width(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = ["  ".join(_padded(*cell) for cell in zip(row, widths, numeric, strict=True)).rstrip() for row in cells]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([*lines, *map(visible, self.notes)]) + "\n"

    def to_markdown(
        self, *, digits: int = DIGITS, percent: bool | Collection[str] = False, caption: str | None = None
    ) -> str:
        """Return a table of GitHub's Markdown: numbers to the right, the best in bold, marks raised, notes below.

        digits: decimals of numbers. percent: multiply numbers by 100, in all columns of fractions or in the columns
        that are named; whole numbers and p values stay. caption: a line above the table.
        """
        align = ["---:" if numeric else "---" for numeric in self._numeric()]
        best, second = self.best_cells(digits)
        lines = [[markdown_text(name) for name in self.columns], align]
        for r, texts in enumerate(self._texts(digits, percent)):
            line = []
            for c, text in enumerate(texts):
                cell = self.rows[r][c]
                text = str(cell) if isinstance(cell, Markdown) else markdown_text(text)
                text = f"**{text}**" if (r, c) in best else f"<u>{text}</u>" if (r, c) in second else text
                mark = self.marks.get((r, c))
                line.append(f"{text}<sup>{mark}</sup>" if mark else text)
            lines.append(line)
        title = f"{markdown_text(caption)}\n\n" if caption else ""
        notes = "".join(f"\n{markdown_text(note)}\n" for note in self.notes)
        return title + "".join("| " + " | ".join(line) + " |\n" for line in lines) + notes

    def to_latex(
        self,
        *,
        digits: int = DIGITS,
        percent: bool | Collection[str] = False,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        r"""Return a booktabs tabular: numbers to the right, the best in bold, marks raised, notes below.

        digits, percent: as for `to_markdown`. caption, label: with either of them, the tabular stands in a table that
        floats.

        >>> print(Table(("system", "AP"), (("a_b", 0.25), ("c", -0.5))).with_best().to_latex(digits=2), end="")
        % \usepackage{booktabs}
        \begin{tabular}{lr}
        \toprule
        system & AP \\
        \midrule
        a\_b & \textbf{0.25} \\
        c & $-$0.50 \\
        \bottomrule
        \end{tabular}
        """
        align = "".join("r" if numeric else "l" for numeric in self._numeric())
        best, second = self.best_cells(digits)
        body = [
            [self._latex(r, c, text, best, second) for c, text in enumerate(texts)]
            for r, texts in enumerate(self._texts(digits, percent))
        ]
        width = len(self.columns)
        lines = [
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            _latex_row([_latex(name) for name in self.columns]),
            r"\midrule",
            *map(_latex_row, body),
            r"\bottomrule",
            *(_latex_row([rf"\multicolumn{{{width}}}{{l}}{{\footnotesize {_latex(note)}}}"]) for note in self.notes),
            r"\end{tabular}",
        ]
        if caption or label:
            named = [rf"\caption{{{_latex(caption)}}}"] if caption else []
            named += [rf"\label{{{label}}}"] if label else []
            lines = [r"\begin{table}", r"\centering", *named, *lines, r"\end{table}"]
        return "\n".join([r"% \usepackage{booktabs}", *lines]) + "\n"

    def _latex(
        self,
        row: int,
        column: int,
        text: str,
        best: frozenset[tuple[int, int]],
        second: frozenset[tuple[int, int]],
    ) -> str:
        text = _latex(text)
        if _is_figure(self.rows[row][column]):
            text = text.replace("-", "$-$", 1) if text.startswith("-") else text
        if (row, column) in best:
            text = rf"\textbf{{{text}}}"
        elif (row, column) in second:
            text = rf"\underline{{{text}}}"
        mark = self.marks.get((row, column))
        if not mark:
            return text
        raised = _LATEX_MARKS.get(mark) or rf"\mathrm{{{''.join(_LATEX_MARKS.get(each, each) for each in mark)}}}"
        return f"{text}$^{{{raised}}}$"

    def _texts(self, digits: int, percent: bool | Collection[str]) -> Iterator[list[str]]:
        """Yield the cells of each row as printed text."""
        named: Collection[str] = self.columns if percent is True else percent or ()
        for name in named:
            place_of("column", name, self.columns)
        times_100 = [name in named for name in self.columns]
        for row in self.rows:
            yield [_short(cell, digits, hundred) for cell, hundred in zip(row, times_100, strict=True)]

    def _numeric(self) -> list[bool]:
        """Return True for each column that holds only numbers."""
        return [
            bool(self.rows) and all(isinstance(row[i], int | float | None) for row in self.rows)
            for i in range(len(self.columns))
        ]

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a pandas frame."""
        return load("pandas", extra="frames", what="frames").DataFrame({name: self[name] for name in self.columns})

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a polars frame. A column that has text and numbers becomes text."""
        columns = {name: self[name] for name in self.columns}
        return load("polars", extra="frames", what="frames").DataFrame(columns, strict=False)

    def to_arrow(self) -> pa.Table:
        """Return the table as a pyarrow table. A column that has text and numbers becomes text."""
        arrow = load("pyarrow", extra="frames", what="frames")
        return arrow.table({name: arrow.array(_one_type(self[name])) for name in self.columns})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table to any library that reads Arrow, such as polars and DuckDB."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Table(columns={self.columns!r}, rows={self.rows!r})"

    def to_html(self) -> str:
        """Return an HTML page with this table."""
        return html_page([("", self)])

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: numbers to the right, the best in bold, marks raised, notes below."""
        from html import escape

        side = [f' style="text-align: {"right" if numeric else "left"}"' for numeric in self._numeric()]
        head = "".join(f"<th{at}>{escape(name)}</th>" for at, name in zip(side, self.columns, strict=True))
        best, second = self.best_cells()
        lines = []
        for r, row in enumerate(self.rows):
            cells = []
            for c, cell in enumerate(row):
                text = escape(_short(cell))
                text = f"<b>{text}</b>" if (r, c) in best else f"<u>{text}</u>" if (r, c) in second else text
                mark = self.marks.get((r, c))
                cells.append(f"<td{side[c]}>{text}{f'<sup>{escape(mark)}</sup>' if mark else ''}</td>")
            lines.append("<tr>" + "".join(cells) + "</tr>")
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{notes}"


def _is_figure(cell: Cell) -> TypeGuard[float]:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and not math.isnan(cell)


def _exact(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return repr(float(cell)) if isinstance(cell, float) else str(cell)


def _short(cell: Cell, digits: int = DIGITS, percent: bool = False) -> str:
    """Return the printed text of a cell. P values have four decimals and are never percentages."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-" if isinstance(cell, Statistic) else ""
    if isinstance(cell, PValue):
        return f"<{LEAST_P:.4f}" if cell < LEAST_P else four_digits(cell)
    if isinstance(cell, float):
        return four_digits(100 * cell if percent else cell, f".{digits}f")
    return str(cell)


def _with_broken_lines(cells: list[list[str]]) -> list[list[str]]:
    """Return rows whose last cell fits into a terminal. A long text continues in the rows below."""
    import textwrap

    before = sum(max(_width(row[i]) for row in cells) + 2 for i in range(len(cells[0]) - 1))
    broken = []
    for row in cells:
        first, *others = textwrap.wrap(row[-1], max(TERMINAL - before, LEAST_PROSE)) or [""]
        broken += [[*row[:-1], first], *([*[""] * (len(row) - 1), line] for line in others)]
    return broken


def _alike(figures: Mapping[int, float], which: str, digits: int) -> set[int]:
    """Return the rows of the largest or smallest figure, and of figures that are printed like it."""
    extreme = (min if which == "smallest" else max)(figures.values(), default=0.0)
    return {row for row, figure in figures.items() if _short(figure, digits) == _short(extreme, digits)}


def _one_type(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return cells of one type, as Arrow requires for a column: numbers, or text if some cells are text."""
    if any(isinstance(cell, str) for cell in cells):
        return [None if cell is None else cell if isinstance(cell, str) else _exact(cell) for cell in cells]
    if any(isinstance(cell, float) for cell in cells):
        return [None if cell is None else float(cell) for cell in cells]
    return cells


def four_digits(value: float, format: str = ".4f") -> str:
    """Return a number with four decimals.

    It is first rounded to ten decimals, because later decimals may depend on the order of a sum.

    >>> four_digits(0.00005), four_digits(0.00005 - 1e-17), four_digits(-1e-17)
    ('0.0001', '0.0001', '0.0000')
    """
    return f"{round(value, 10) + 0.0:{format}}"


def _width(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _padded(text: str, width: int, right: bool) -> str:
    blank = " " * (width - _width(text))
    return blank + text if right else text + blank


class Statistic(float):
    """An end of an interval, an effect size or a p value. Printed tables have a dash if it is undefined.

    >>> print(Table(("low",), ((Statistic("nan"),), (Statistic(0.25),))))
       low
    ------
         -
    0.2500
    <BLANKLINE>
    """

    __slots__ = ()


class PValue(Statistic):
    """A p value. Printed tables show small ones as <0.0001; CSV and JSON have all digits.

    >>> print(Table(("p",), ((PValue(0.00002),), (PValue(0.02),))))
          p
    -------
    <0.0001
     0.0200
    <BLANKLINE>
    """

    __slots__ = ()


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: system-ui, sans-serif; margin: 2em }} table {{ border-collapse: collapse }}
th, td {{ padding: .2em .8em; border-bottom: 1px solid #ddd }} thead th {{ border-bottom: 2px solid #888 }}</style>
</head><body>
{body}
</body></html>
"""


def html_page(tables: Sequence[tuple[str, Table]], title: str = "", summary: str = "") -> str:
    """Return an HTML page with the summary and some tables, each below its name."""
    from html import escape

    names = [escape(visible(name)) for name, _ in tables]
    heads = [f"<h2>{name}</h2>\n" if name else "" for name in names]
    body = "\n".join(head + table._repr_html_() for head, (_, table) in zip(heads, tables, strict=True))
    if title:
        body = f"<h1>{escape(visible(title))}</h1>\n<p>{escape(visible(summary))}</p>\n{body}"
    body = body.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _PAGE.format(title=escape(visible(title)) or names[0] or "Calipers", body=body)


class Markdown(str):
    """Text of a cell that is Markdown already."""

    __slots__ = ()


# Characters with a meaning in Markdown. An underscore inside a word and a backslash before a letter have none.
_BEGINS_MARKDOWN = re.compile(r"[|*`\[~$]|(?<![^\W_])_|_(?![^\W_])|\\(?=[!-/:-@\[-`{-~])")


def markdown_text(text: str) -> str:
    r"""Escape text for Markdown, so that it contains no column, line, tag, link or emphasis.

    >>> print(markdown_text("**a_b** | [c](d) <e> &lt;"))
    \*\*a_b\*\* \| \[c](d) &lt;e> &amp;lt;
    """
    text = visible(" ".join(text.splitlines()))
    text = _BEGINS_MARKDOWN.sub(r"\\\g<0>", text)
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text


_LATEX_MARKS = {"†": r"\dagger", "‡": r"\ddagger", "*": r"\ast"}


def _latex_row(cells: Sequence[str]) -> str:
    """Return a row of a LaTeX table.

    A row that begins with a bracket or a star gets {} in front. LaTeX would take it for an option of the line break.
    """
    line = " & ".join(cells) + r" \\"
    return "{}" + line if line.startswith(("[", "*")) else line


def _latex(text: str) -> str:
    special: Sequence[tuple[str, str]] = (
        ("\\", r"\textbackslash{}"),
        *((c, "\\" + c) for c in "&%$#_{}"),
        ("~", r"\textasciitilde{}"),
        ("^", r"\textasciicircum{}"),
        ("<", r"\textless{}"),
        (">", r"\textgreater{}"),
        ("|", r"\textbar{}"),
        ("†", r"$\dagger$"),
        ("‡", r"$\ddagger$"),
    )
    text = visible(" ".join(text.splitlines())).translate({ord(character): written for character, written in special})
    return text.replace("--", "-{}-")  # two hyphens would become a dash


# Characters that control a terminal: control characters (also as invalid UTF-8 bytes), line ends, text directions.
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udc9f]")

# Commands of GitHub's runner in a workflow log: a line that starts with `::`, and the older `##[` anywhere in a line.
_WORKFLOW_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\[)", re.MULTILINE)


def visible(text: str, keep: str = "") -> str:
    r"""Escape the characters of a text that control a terminal, except those in `keep`.

    >>> print(visible("a\x1b[31mb\n\u202ec"))
    a\x1b[31mb\n\u202ec
    """
    if text.isprintable():
        return text
    return _OBEYED.sub(lambda found: found[0] if found[0] in keep else _written(found[0]), text)


def without_workflow_commands(text: str) -> str:
    r"""Escape the commands of GitHub's runner in a text.

    >>> print(without_workflow_commands("::stop-commands::x  0.5"))
    \x3a:stop-commands::x  0.5
    """
    return _WORKFLOW_COMMAND.sub(lambda found: found[0][:-1] + f"\\x{ord(found[0][-1]):02x}", text)


def _written(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")
