"""Pairwise preferences of people, and which measure agrees with them.

An item is a document and two systems. The verdict of people is that of the majority of annotators. A new measure wins
an item if it prefers the text that people prefer and the base measure does not. It loses the item in the reverse case,
and ties if both are right or both are wrong. A measure that gives both texts the same score prefers neither. Shares are
computed per pair of systems, and then averaged over pairs.

Feng (2023), tables 8.4 and 9.2, whose annotations are not published.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from calipers.collection.files import shown_name
from calipers.collection.formats.named_rows import rows_of_file
from calipers.errors import CalipersError
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores
from calipers.results.tables import Cell, Table
from calipers.support.plurals import counted, verb

COLUMNS = ("id", "first", "second", "preferred")
NEITHER = frozenset({"", "tie", "neither", "both"})


@dataclass(frozen=True)
class Preference:
    """A preference of one annotator between two summaries of a document."""

    id: str
    first: str
    second: str
    preferred: str | None  # the system, or None for neither


def read_preferences(source: str | os.PathLike[str]) -> list[Preference]:
    """Read preferences from a table with the columns id, first, second, preferred: one line per annotator's verdict.

    `preferred` is first, second, the name of one of the two systems, or tie.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/preferences.csv"
    >>> with open(path, "w") as file:
    ...     _ = file.write("id,first,second,preferred\\nd1,a,b,first\\n")
    >>> read_preferences(path)
    [Preference(id='d1', first='a', second='b', preferred='a')]
    """
    name = shown_name(source)
    found = []
    for row in rows_of_file(source):
        cells = {column: str(row.cells.get(column) or "").strip() for column in COLUMNS}
        if any(column not in row.cells for column in COLUMNS) or not all(cells[column] for column in COLUMNS[:3]):
            raise row.error(f"expected the columns {', '.join(COLUMNS)}")
        preferred = {"first": cells["first"], "second": cells["second"]}.get(cells["preferred"], cells["preferred"])
        if preferred.lower() in NEITHER:
            preferred = ""
        elif preferred not in (cells["first"], cells["second"]) or cells["first"] == cells["second"]:
            raise row.error(f"'{preferred}' is not one of two systems, first, second or tie")
        found.append(Preference(cells["id"], cells["first"], cells["second"], preferred or None))
    if not found:
        raise CalipersError("there is no preference in this file", file=name)
    return found


OUTCOMES = ("win", "tie broken", "lost", "tie")


@dataclass(frozen=True, eq=False, repr=False)
class WinLostTie(Result):
    """Items per pair of systems, and the shares in which the new measure wins, breaks ties, loses and ties.

    win: the new measure prefers the text that people prefer, and the base prefers the other text. tie broken: the new
    measure prefers the text that people prefer, and the base scores both the same. lost: the base prefers the text that
    people prefer and the new measure does not, or the base scores both the same and the new measure prefers the other
    text. tie: all other items.
    """

    base: str
    new: str
    pairs: tuple[tuple[str, str], ...]
    items: tuple[int, ...]
    shares: np.ndarray  # [pair, win | tie broken | lost | tie]
    undecided: int  # items on which people prefer neither

    @property
    def title(self) -> str:
        return f"{self.new} against {self.base}: which of them prefers the texts that people prefer"

    @property
    def summary(self) -> str:
        win, broken, lost, _ = self.shares.mean(axis=0).tolist()
        return (
            f"On average over pairs of systems, {self.new} agrees with people and {self.base} does not in "
            f"{win + broken:.1%} of the items, and the reverse holds in {lost:.1%}."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.undecided:
            return ()
        items = counted(self.undecided, "item")
        return (f"{items} on which people prefer neither text {verb(self.undecided, 'is', 'are')} left out",)

    def tables(self) -> Mapping[str, Table]:
        return Tables({"pairs": self._pairs})

    def _pairs(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (f"{a} vs {b}", n, *share.tolist())
            for (a, b), n, share in zip(self.pairs, self.items, self.shares, strict=True)
        ]
        rows.append(("mean", sum(self.items), *self.shares.mean(axis=0).tolist()))
        return Table(("systems", "items", *OUTCOMES), tuple(rows), {"base": self.base, "new": self.new})


def _outcome(new: float, base: float) -> str:
    """Return the outcome of an item. A measure has 1 if it prefers what people prefer, -1 the other text, 0 neither."""
    if new == 1 and base != 1:
        return "tie broken" if base == 0 else "win"
    if (base == 1 and new != 1) or (base == 0 and new == -1):
        return "lost"
    return "tie"


def win_lost_tie(scores: Scores, base: str, new: str, preferences: Iterable[Preference]) -> WinLostTie:
    """Count how often one of two measures agrees with people's preference and the other does not.

    >>> from calipers import as_scores
    >>> scores = as_scores([[[0.5], [0.6]], [[0.4], [0.3]]], ["a", "b"], ["d1"], ["base", "new"])
    >>> print(win_lost_tie(scores, "base", "new", [Preference("d1", "a", "b", "a")]).table())
    systems  items     win  tie broken    lost     tie
    -------  -----  ------  ----------  ------  ------
    a vs b       1  1.0000      0.0000  0.0000  0.0000
    mean         1  1.0000      0.0000  0.0000  0.0000
    <BLANKLINE>
    """
    place_s = {name: i for i, name in enumerate(scores.systems)}
    place_d = {name: i for i, name in enumerate(scores.queries)}
    votes: dict[tuple[str, str], dict[str, Counter[str | None]]] = {}
    for each in preferences:
        for system in (each.first, each.second):
            if system not in place_s:
                raise CalipersError(f"a preference names the system '{system}', which wrote no text")
        if each.id not in place_d:
            raise CalipersError(f"a preference names the document '{each.id}', about which there is no text")
        pair = (each.first, each.second) if (each.second, each.first) not in votes else (each.second, each.first)
        votes.setdefault(pair, {}).setdefault(each.id, Counter())[each.preferred] += 1
    of_base, of_new = scores[base], scores[new]
    pairs, items, shares, undecided = [], [], [], 0
    for (a, b), documents in votes.items():
        counts = np.zeros(len(OUTCOMES))
        for id, said in documents.items():
            wanted = np.sign(said[a] - said[b]) if 2 * max(said[a], said[b]) > said.total() else 0
            if wanted == 0:
                undecided += 1
                continue
            d = place_d[id]
            signs = (np.sign(x[place_s[a], d] - x[place_s[b], d]) * wanted for x in (of_new, of_base))
            counts[OUTCOMES.index(_outcome(*signs))] += 1
        if counts.sum():
            pairs.append((a, b))
            items.append(int(counts.sum()))
            shares.append(counts / counts.sum())
    if not pairs:
        raise CalipersError("people prefer neither text in any item")
    return WinLostTie(base, new, tuple(pairs), tuple(items), np.array(shares), undecided)
