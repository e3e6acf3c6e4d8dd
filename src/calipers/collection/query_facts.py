"""Groups and weights of queries."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from calipers.collection.column_names import NAMES, plain_name
from calipers.collection.first_line import BLANKS, cells_of
from calipers.collection.texts import lines_of
from calipers.errors import CalipersError, UnknownName

Source = str | os.PathLike[str]
QueryGroups = Source | Mapping[str, str | Collection[str]]  # a table of query and group, or {query: group or groups}
QueryWeights = Source | Mapping[str, float]  # a table of query and weight, or {query: weight}

QUERY = frozenset(plain_name(name) for names in NAMES["query"] for name in names) | {"document"}  # texts are about
GROUP = ("group", "segment", "category", "class", "type")
WEIGHT = ("weight", "traffic", "frequency", "count", "searches", "volume")


def read_query_groups(source: QueryGroups) -> dict[str, tuple[str, ...]]:
    """Return the queries of each group.

    source: a table with a column for the query and one for the group (`queries.csv:intent` names another column), or
        {query: group}. A query may belong to several groups: a row each, or {query: [group, group]}.

    >>> read_query_groups({"q1": "brand", "q2": ["brand", "long"]})
    {'brand': ('q1', 'q2'), 'long': ('q2',)}
    """
    if isinstance(source, Mapping):
        pairs = [
            (str(query), str(group))
            for query, groups in source.items()
            for group in ([groups] if isinstance(groups, str) else groups)
        ]
    else:
        pairs = [(query, group) for _, query, group in _rows(source, "group", GROUP) if group]
    found: dict[str, dict[str, None]] = {}
    for query, group in pairs:
        found.setdefault(group, {})[query] = None
    if not found:
        raise CalipersError("there are no query groups", file=None if isinstance(source, Mapping) else str(source))
    return {group: tuple(queries) for group, queries in found.items()}


def read_query_weights(source: QueryWeights) -> dict[str, float]:
    """Return the weight of each query, for example how often users asked it.

    source: a table with a column for the query and one for the weight (`log.csv:searches` names another column), or
        {query: weight}.

    >>> read_query_weights({"q1": 120, "q2": 3})
    {'q1': 120.0, 'q2': 3.0}
    """
    if isinstance(source, Mapping):
        return {str(query): _weight(weight, None, None) for query, weight in source.items()}
    found: dict[str, float] = {}
    for number, query, text in _rows(source, "weight", WEIGHT):
        if query in found:
            raise CalipersError(f"query '{query}' has a second weight", file=str(source), line=number)
        found[query] = _weight(text, str(source), number)
    return found


def _weight(given: Any, file: str | None, line: int | None) -> float:
    try:
        weight = float(given)
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not (math.isfinite(weight) and weight > 0):
        raise CalipersError(f"weight '{given}' is not a number above 0", file=file, line=line)
    return weight


def _rows(source: Source, what: str, names: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """Yield line, query and value of each row of a table. A header is optional if the table has two columns."""
    path, column = _file_and_column(os.fspath(source))
    places: tuple[int, int] | None = None
    delimiter: str | None = None
    for number, line in enumerate(lines_of(path), 1):
        if not line.strip():
            continue
        if delimiter is None:
            cells, delimiter = cells_of(line)
            delimiter = delimiter if len(cells) > 1 else BLANKS
        cells, _ = cells_of(line, delimiter)
        if places is None:
            places = _places(cells, what, names, column, path, number)
            if places is not None:
                continue
            places = (0, 1)
        if len(cells) <= max(places):
            raise CalipersError(f"expected a query and its {what}", file=path, line=number)
        yield number, cells[places[0]].strip(), cells[places[1]].strip()


def _file_and_column(source: str) -> tuple[str, str | None]:
    """Split FILE:COLUMN, unless a file of this name exists.

    >>> _file_and_column("queries.csv:intent"), _file_and_column("queries.csv")
    (('queries.csv', 'intent'), ('queries.csv', None))
    """
    path, _, column = source.rpartition(":")
    return (path, column) if len(path) > 1 and column and not os.path.exists(source) else (source, None)


def _places(
    cells: list[str], what: str, names: Collection[str], column: str | None, path: str, line: int
) -> tuple[int, int] | None:
    """Return the columns of the query and of the value, or None if the first line is not a header."""
    plain = [plain_name(cell) for cell in cells]
    query = next((place for place, name in enumerate(plain) if name in QUERY), None)
    if column is not None:
        if plain_name(column) not in plain or query is None:
            raise UnknownName.among("column", "query" if query is None else column, cells, file=path)
        return query, plain.index(plain_name(column))
    value = next((plain.index(name) for name in names if name in plain), None)
    if query is not None and value is not None:
        return query, value
    if len(cells) == 2:
        return None if query is None else (query, 1 - query)
    raise CalipersError(
        f"expected two columns, a query and its {what}, or a header; found {len(cells)} columns. "
        f"FILE:COLUMN names the column of the {what}",
        file=path,
        line=line,
    )
