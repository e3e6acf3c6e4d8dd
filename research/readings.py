"""What a paper leaves open, as a grid of readings, and which of them give the printed figures.

A table whose computation has open choices (ties, depth, gain ...) is registered with its *axes*: for each choice the
ways to read it. A *reading* takes one from each axis. `search` computes the table under every reading, keeps what is
done in a file of a folder, so that it can go on later, and says which figures come out under which readings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from calipers import CalipersError, Table
from calipers.results import Cell
from research.printed_figures import CHANCE, EXACT, NEEDS_DATA, ROUNDING, Figure

Reading = Mapping[str, str]
Axes = Mapping[str, Sequence[str]]
GIVEN = (EXACT, ROUNDING, CHANCE)


class NeedsData(CalipersError):
    """A search of readings that no figure depends on without the data."""

    def __init__(self, table_id: str) -> None:
        super().__init__(f"{table_id}: a search of its readings needs the data: --data FOLDER")


def readings_of(axes: Axes) -> list[dict[str, str]]:
    """All of them, the last axis changing first.

    >>> readings_of({"ties": ("average", "docid"), "depth": ("1000",)})
    [{'ties': 'average', 'depth': '1000'}, {'ties': 'docid', 'depth': '1000'}]
    """
    return [dict(zip(axes, chosen, strict=True)) for chosen in product(*axes.values())]


def said(reading: Reading) -> str:
    """A reading in words.

    >>> said({"ties": "docid", "depth": "100"})
    'ties docid, depth 100'
    """
    return ", ".join(f"{name} {value}" for name, value in reading.items())


@dataclass(frozen=True, eq=False)
class GridSearch:
    """The figures of one table under every reading."""

    table_id: str
    readings: tuple[dict[str, str], ...]
    figures: tuple[tuple[Figure, ...], ...]  # of each reading

    def given(self, reading: int) -> int:
        """Return how many figures come out under a reading: exactly, within rounding or within chance."""
        return sum(figure.verdict in GIVEN for figure in self.figures[reading])

    def distance(self, reading: int) -> float:
        """The root mean square of computed - printed, where both are numbers."""
        apart = [
            (figure.computed - number) ** 2
            for figure in self.figures[reading]
            if isinstance(figure.computed, float) and (number := _number(figure.printed)) is not None
        ]
        return (sum(apart) / len(apart)) ** 0.5 if apart else float("nan")

    def off(self, reading: int) -> float:
        """The root mean square of (computed - printed) / error, of figures that depend on what was drawn; 0 without."""
        apart = [
            ((figure.computed - number) / figure.error) ** 2
            for figure in self.figures[reading]
            if figure.error and isinstance(figure.computed, float) and (number := _number(figure.printed)) is not None
        ]
        return (sum(apart) / len(apart)) ** 0.5 if apart else 0.0

    @property
    def order(self) -> list[int]:
        """The readings, best first: by how many figures come out, then by how near the others are.

        Where figures depend on what was drawn, a reading with large errors would give all of them: there it is by how
        many standard errors they are off.
        """
        return sorted(range(len(self.readings)), key=lambda r: (self.off(r), -self.given(r), self.distance(r)))

    @property
    def best(self) -> dict[str, str]:
        return self.readings[self.order[0]]

    def table(self) -> Table:
        """Return one row per reading, the best first, with the numbers of figures that come out."""
        rows: list[tuple[Cell, ...]] = []
        for r in self.order:
            verdicts = [figure.verdict for figure in self.figures[r]]
            counts = (*(verdicts.count(each) for each in GIVEN), len(verdicts))
            rows.append((self.table_id, said(self.readings[r]), *counts, self.distance(r)))
        return Table(("table", "reading", *GIVEN, "of", "distance"), tuple(rows))

    def cells(self) -> Table:
        """table, cell, printed, readings that give it, of, nearest, its reading: one row per printed figure."""
        rows: list[tuple[Cell, ...]] = []
        for i, figure in enumerate(self.figures[0]):
            under = [figures[i] for figures in self.figures]
            giving = sum(each.verdict in GIVEN for each in under)
            number = _number(figure.printed)
            known = {r: value for r in self.order if isinstance(value := under[r].computed, float)}
            nearest = min(known, key=lambda r: abs(known[r] - (number or 0.0))) if known else None
            value, reading = (None, "") if nearest is None else (known[nearest], said(self.readings[nearest]))
            rows.append((self.table_id, figure.cell, figure.printed, giving, len(under), value, reading))
        return Table(("table", "cell", "printed", "readings that give it", "of", "nearest", "its reading"), tuple(rows))


def search(
    table_id: str,
    axes: Axes,
    check: Callable[[Path | None, Reading], Sequence[Figure]],
    folder: Path | None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> GridSearch:
    """Compute a table under every reading; what the cache folder has already is not computed again."""
    kept = KeptParts(cache, table_id, {name: list(values) for name, values in axes.items()}, folder)
    readings = readings_of(axes)
    found = []
    for reading in readings:
        done = kept.get(said(reading))
        figures = () if done is None else tuple(Figure(**figure) for figure in done)
        if done is None:
            figures = tuple(check(folder, reading))
            if any(figure.verdict == NEEDS_DATA for figure in figures) and all(f.computed is None for f in figures):
                raise NeedsData(table_id)
            kept.put(said(reading), [asdict(figure) for figure in figures])
        found.append(figures)
        if progress:
            progress(1)
    return GridSearch(table_id, tuple(readings), tuple(found))


class KeptParts:
    """A file of JSON lines, one for each part of a long computation that is done, for one state of the data."""

    def __init__(
        self, cache: str | os.PathLike[str] | None, table_id: str, options: Mapping[str, Any], folder: Path | None
    ) -> None:
        """options: what the parts depend on, apart from their names and the data."""
        self.path = None if cache is None else Path(cache) / f"{table_id.replace('/', '-')}.jsonl"
        self.known: dict[str, Any] = {}
        if self.path is None:
            return
        state = sha256(json.dumps([dict(options), _state_of(folder)]).encode()).hexdigest()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
            header = json.dumps({"state": state})
            kept = [line for line in lines[1:] if self._load(line)] if lines and lines[0] == header else []
            if not lines or lines[0] != header or kept != lines[1:]:  # other data, or a line that was cut by a stop
                self.path.write_text("".join(f"{line}\n" for line in (header, *kept)), encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CalipersError(f"cannot be a folder for what is done: {error}", file=str(cache)) from None

    def _load(self, line: str) -> bool:
        try:
            done = json.loads(line)
            self.known[done["part"]] = done["found"]
        except (ValueError, TypeError, KeyError):
            return False
        return True

    def get(self, part: str) -> Any:
        """What was found, or None."""
        return self.known.get(part)

    def put(self, part: str, found: Any) -> None:
        if self.path is not None:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"part": part, "found": found}) + "\n")


def _state_of(folder: Path | None) -> list[tuple[str, int]]:
    """The names and sizes of all files of a folder: other data is computed anew."""
    if folder is None:
        return []
    files = (Path(top) / name for top, _, names in os.walk(folder) for name in names)
    return sorted((str(path.relative_to(folder)), path.stat().st_size) for path in files if path.is_file())


def _number(printed: str) -> float | None:
    try:
        return float(printed)
    except ValueError:
        return None
