"""The answer to a question: tables, a conclusion in words, and notes about what was left out."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import UnknownName
from calipers.results.tables import DIGITS, Table, html_page, visible
from calipers.support.plurals import counted

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

SHOWN_IN_TEXT = 10  # rows of a table that `print` shows
SHOWN_IN_NOTEBOOKS = 50


class Tables(Mapping[str, Table]):
    """Tables by name. Each is made when it is asked for.

    >>> tables = Tables({"means": lambda: Table(("system", "AP"), (("bm25", 0.25),))})
    >>> list(tables), tables["means"]["bm25", "AP"]
    (['means'], 0.25)
    """

    def __init__(self, makers: Mapping[str, Callable[[], Table]]) -> None:
        self._makers = dict(makers)

    def __getitem__(self, name: str) -> Table:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class Result(ABC):
    """The answer to a question, such as a comparison of systems.

    `print(result)` shows the title, ten rows of the main table, and the conclusion. Every `to_` method takes the name
    of a table; without a name it converts the main one.

    A result is a dataclass with `frozen=True, eq=False, repr=False` that derives from this class. It defines its title,
    summary and tables, and inherits everything else. Its arrays cannot be written to.
    """

    def __post_init__(self) -> None:
        protect_arrays(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the input, for example about queries that were left out."""
        return ()

    @property
    @abstractmethod
    def title(self) -> str:
        """The subject of the result, in one line."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """The conclusion in one or two sentences."""

    @abstractmethod
    def tables(self) -> Mapping[str, Table]:
        """Return all tables by name. The first is the main one."""

    def table(self, name: str | None = None) -> Table:
        """Return a table by its name, or the main table."""
        tables = self.tables()
        if name is None:
            return next(iter(tables.values()))
        if name not in tables:
            raise UnknownName.among("table", name, tables)
        return tables[name]

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """Return a table as a pandas frame."""
        return self.table(table).to_pandas()

    def to_polars(self, table: str | None = None) -> pl.DataFrame:
        """Return a table as a polars frame."""
        return self.table(table).to_polars()

    def to_arrow(self, table: str | None = None) -> pa.Table:
        """Return a table as a pyarrow table."""
        return self.table(table).to_arrow()

    def to_csv(self, table: str | None = None) -> str:
        """Return a table as CSV with full precision."""
        return self.table(table).to_csv()

    def to_json(self, table: str | None = None) -> str:
        """Return the whole result as JSON: an object with `summary`, `notes` and `tables`.

        Each table is a list of rows. With the name of a table, only the list of its rows is returned.
        """
        if table is not None:
            return self.table(table).to_json()
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=1) + "\n"

    def as_dict(self, tables: Mapping[str, Table] | None = None) -> dict[str, Any]:
        """Return the title, the summary, the notes, and all tables or some of them. `to_json` writes it."""
        rows = {name: table.json_rows() for name, table in (tables or self.tables()).items()}
        return {**self._json(), "tables": rows}

    def _json(self) -> dict[str, Any]:
        """Return the entries of `as_dict` other than the tables."""
        return {"title": self.title, "summary": self.summary, "notes": list(self.notes)}

    def to_markdown(
        self,
        table: str | None = None,
        *,
        digits: int = DIGITS,
        percent: bool | Collection[str] = False,
        caption: str | None = None,
    ) -> str:
        """Return a table as Markdown. See `Table.to_markdown` for the options."""
        return self.table(table).to_markdown(digits=digits, percent=percent, caption=caption)

    def to_latex(
        self,
        table: str | None = None,
        *,
        digits: int = DIGITS,
        percent: bool | Collection[str] = False,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        """Return a table as LaTeX. See `Table.to_latex` for the options."""
        return self.table(table).to_latex(digits=digits, percent=percent, caption=caption, label=label)

    def to_html(self) -> str:
        """Return a page with all tables and the conclusion."""
        return html_page([*self.tables().items()], title=self.title, summary=self.summary)

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks: the title, the main table, the conclusion and the notes."""
        return html_of(self.title, self.table().head(SHOWN_IN_NOTEBOOKS), (self.summary, *self.notes))

    def __str__(self) -> str:
        return f"{visible(self.title)}\n{self.table().head(SHOWN_IN_TEXT)}{visible(self.summary)}"

    def __repr__(self) -> str:
        return str(self)


def protect_arrays(record: object) -> None:
    """Replace the arrays of a dataclass by views that cannot be written to."""
    for name, value in vars(record).items():
        object.__setattr__(record, name, _read_only(value))


def _read_only(value: Any) -> Any:
    """Return an array, or the arrays of a dictionary, as views that cannot be written to."""
    if isinstance(value, dict) and any(isinstance(each, np.ndarray) for each in value.values()):
        return {key: _read_only(each) for key, each in value.items()}
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def html_of(title: str, table: Table, sentences: Sequence[str]) -> str:
    """Return HTML of a heading, a table and some paragraphs."""
    from html import escape

    paragraphs = "".join(f"<p>{escape(visible(sentence))}</p>" for sentence in sentences)
    return f"<h4>{escape(visible(title))}</h4>{table._repr_html_()}{paragraphs}"


def in_short(conclusions: Sequence[str], most: int = 2) -> str:
    """Return the first few conclusions of a list with one per measure, and the number of further measures.

    >>> in_short(["AP: new beats old", "RR: no pair differs", "P@5: old beats new"])
    'AP: new beats old. RR: no pair differs. 1 more measure in the tables.'
    """
    more = len(conclusions) - most
    rest = [f"{counted(more, 'more measure')} in the tables"] if more > 0 else []
    return ". ".join([*conclusions[:most], *rest]) + "."
