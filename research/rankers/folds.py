"""The folds of a learning-to-rank collection: which of its files train, validate and test.

LETOR lists them in a readme (`Fold1  S1, S2, S3  S4  S5`) in the folder of S1 .. S5. MSLR-WEB has folders Fold1 ..
Fold5 with train.txt, vali.txt and test.txt. Without a readme, S1 .. S5 go round as in LETOR.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from calipers import CalipersError

_LINE = re.compile(r"^\s*Fold\s*(\d+)\b(.*)$", re.IGNORECASE)
_PART = re.compile(r"\bS\d+\b", re.IGNORECASE)
LAYOUT = (
    "expected S1, S2, ... (and a readme that lists the folds), or folders Fold1, Fold2, ... with train, vali and test"
)


@dataclass(frozen=True)
class Fold:
    """Files that train, validate and test."""

    name: str
    train: tuple[str, ...]
    valid: tuple[str, ...]
    test: tuple[str, ...]


def folds_of(folder: str | Path, count: int | None = None) -> list[Fold]:
    """Return the folds of a collection, or only the first `count` of them."""
    place = Path(folder)
    if not place.is_dir():
        raise CalipersError(f"is not a folder; {LAYOUT}", file=str(folder))
    found = _from_readme(place) or _from_folders(place) or _from_parts(place)
    if not found:
        raise CalipersError(f"has no folds: {LAYOUT}", file=str(folder))
    if count is not None and not 1 <= count <= len(found):
        raise CalipersError(f"has {len(found)} folds, not {count}", file=str(folder))
    return found[:count]


def _from_readme(folder: Path) -> list[Fold]:
    readme = _file(folder, "readme")
    if readme is None:
        return []
    folds = []
    for line in readme.read_text(encoding="utf-8", errors="replace").splitlines():
        found = _LINE.match(line)
        parts = _PART.findall(found[2]) if found else []
        if not found or not parts:
            continue
        if len(parts) < 3:
            raise CalipersError(
                f"fold {found[1]} names {len(parts)} parts: one each to validate and to test, the others to train",
                file=str(readme),
            )
        files = tuple(_needed(folder, part) for part in parts)
        folds.append(Fold(f"fold{found[1]}", files[:-2], files[-2:-1], files[-1:]))
    return folds


def _from_folders(folder: Path) -> list[Fold]:
    places = [each for each in folder.iterdir() if each.is_dir() and re.fullmatch(r"fold\d+", each.name.lower())]
    return [
        Fold(
            place.name.lower(),
            (_needed(place, "train"),),
            (_needed(place, "vali", "valid"),),
            (_needed(place, "test"),),
        )
        for place in sorted(places, key=lambda each: int(each.name[4:]))
    ]


def _from_parts(folder: Path) -> list[Fold]:
    parts: list[str] = []
    while (file := _file(folder, f"s{len(parts) + 1}")) is not None:
        parts.append(str(file))
    n = len(parts)
    if n < 3:
        return []
    turned = [tuple(parts[(start + i) % n] for i in range(n)) for start in range(n)]
    return [Fold(f"fold{i}", each[:-2], each[-2:-1], each[-1:]) for i, each in enumerate(turned, 1)]


def _file(folder: Path, *names: str) -> Path | None:
    """Return the file that has one of these names, with any ending, or None."""
    for each in sorted(folder.iterdir()):
        if each.is_file() and each.name.split(".")[0].lower() in names:
            return each
    return None


def _needed(folder: Path, *names: str) -> str:
    found = _file(folder, *(name.lower() for name in names))
    if found is None:
        raise CalipersError(f"there is no file {names[0]}; {LAYOUT}", file=str(folder))
    return str(found)
