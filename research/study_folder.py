"""A folder in which rankers are trained, fold by fold: what is done is kept, and a study goes on where it stopped.

    settings.json       what the models depend on; a folder with other settings is refused
    fold1/NAME.cal      a model
    fold1/NAME.txt      its scores of the test file, one per line

Every file is written whole or not at all. A model depends on its data, its parameters and its seed, never on what was
trained before it. So it does not matter where a study was cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from calipers import CalipersError
from calipers.collection.formats.letor import read_letor, read_scores
from calipers.lists import Floats
from calipers.support.atomic_files import TEMPORARY, write_whole
from calipers.support.plurals import counted
from research.rankers import (
    Fold,
    LetorData,
    Ranker,
    folds_of,
    joined,
    load,
    read_letor_file,
    sampled_queries,
    write_score_lines,
)

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class LetorCollection:
    """A folder of folds. Features are kept in memory for the files of one fold at a time."""

    folder: Path
    folds: list[Fold]
    queries: int | None = None  # take only so many of all of them, drawn at random
    seed: int = 42
    _files: dict[str, LetorData] = field(default_factory=dict, repr=False)
    _labels: dict[str, LetorData] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, folder: str, folds: int | None = None, queries: int | None = None, seed: int = 42) -> LetorCollection:
        return cls(Path(folder), folds_of(folder, folds), queries, seed)

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    def digest(self) -> str:
        """What the data is, whatever it is called."""
        files = sorted({file for fold in self.folds for file in _files_of(fold)})
        total = sha256()
        for file in files:
            with open(file, "rb") as opened:
                total.update(file_digest(opened, "sha256").digest())
        return total.hexdigest()

    def train(self, fold: Fold) -> LetorData:
        return self._checked(fold, "training", [self._features(fold, file) for file in fold.train])

    def valid(self, fold: Fold) -> LetorData:
        return self._checked(fold, "validation", [self._features(fold, file) for file in fold.valid])

    def test(self, fold: Fold) -> LetorData:
        return self._checked(fold, "test", [self._features(fold, file) for file in fold.test])

    def labels(self, fold: Fold) -> LetorData:
        """The test data of a fold, without its features."""
        return self._checked(fold, "test", [self._sampled(self._bare(file)) for file in fold.test])

    @cached_property
    def tests(self) -> LetorData:
        """The test data of all folds, one after another, without features."""
        return joined([self.labels(fold) for fold in self.folds], self.name)

    def _checked(self, fold: Fold, what: str, parts: list[LetorData]) -> LetorData:
        data = joined(parts, f"{self.name} {fold.name}, {what} data")
        if not (data.y > 0).any():
            raise CalipersError(
                f"no document of the {what} data of {fold.name} is relevant (has a label above 0)",
                file=", ".join(part.name for part in parts),
            )
        return data

    def _features(self, fold: Fold, file: str) -> LetorData:
        needed = _files_of(fold)
        for old in [each for each in self._files if each not in needed]:
            del self._files[old]
        for each in needed:
            if each not in self._files:
                self._files[each] = read_letor_file(each)
        width = max(self._files[each].width for each in needed)
        return self._sampled(self._files[file].widened(width, sparse=False))

    def _bare(self, file: str) -> LetorData:
        if file not in self._labels:
            found = read_letor(file)
            queries = tuple(query.decode("utf-8", "surrogateescape") for query in found.queries)
            bare = np.empty((len(found.label), 0))
            self._labels[file] = LetorData(bare, found.label, found.query.astype(np.int64), queries, file)
        return self._labels[file]

    def _sampled(self, data: LetorData) -> LetorData:
        if self.queries is None:
            return data
        total = sum(len(self._bare(file).queries) for fold in self.folds for file in fold.test)
        if self.queries > total:
            raise CalipersError(f"{counted(self.queries, 'query')} cannot be drawn from {total}", file=str(self.folder))
        count = max(1, round(self.queries * len(data.queries) / total))  # each file keeps its share
        return sampled_queries(data, min(count, len(data.queries)), self.seed)


def _files_of(fold: Fold) -> tuple[str, ...]:
    return (*fold.train, *fold.valid, *fold.test)


@dataclass(frozen=True, eq=False)
class TrainingFolder:
    """Where the models and scores of one collection are kept."""

    folder: Path
    say: Say = lambda text: None

    @classmethod
    def open(cls, folder: str, settings: Mapping[str, Any], say: Say) -> TrainingFolder:
        """Begin a study, or go on with one of the same settings."""
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CalipersError(f"cannot be made: {error.strerror}", file=folder) from None
        file = place / "settings.json"
        wanted = json.loads(json.dumps(settings))
        if file.exists():
            found = _read_settings(file)
            for key in sorted({*wanted, *found}):
                if wanted.get(key) != found.get(key):
                    raise CalipersError(
                        f"holds a study with other settings ({key} {_shown(found.get(key))}, "
                        f"not {_shown(wanted.get(key))}): choose another folder, or remove this one",
                        file=folder,
                    )
        elif any(not each.name.startswith(TEMPORARY) for each in place.iterdir()):  # those a killed study may leave
            raise CalipersError("is not empty, and holds no study: choose another one", file=folder)
        else:
            write_whole(file, (json.dumps(wanted, indent=1, sort_keys=True) + "\n").encode())
        return cls(place, say)

    def scores(self, ranker: Ranker, collection: LetorCollection, fold: Fold, part: str = "") -> Floats:
        """A ranker's scores of the test data of a fold: read, or predicted, or trained first; whatever is left to do.

        part: a folder inside, for those who train a ranker in several ways.
        """
        place = self.folder / part / fold.name
        place.mkdir(parents=True, exist_ok=True)
        model, scores = place / f"{ranker.name}.cal", place / f"{ranker.name}.txt"
        if not scores.exists():
            trained = load(str(model)) if model.exists() else self._trained(ranker, collection, fold, model, part)
            test = collection.test(fold)
            write_score_lines(trained.predict(test.X, qid=test.query), scores)
        found, expected = read_scores(str(scores)), len(collection.labels(fold))
        if len(found) != expected:
            raise CalipersError(
                f"{counted(len(found), 'score')} for {counted(expected, 'document')}: remove the file", file=str(scores)
            )
        return np.asarray(found)

    def _trained(self, ranker: Ranker, collection: LetorCollection, fold: Fold, model: Path, part: str) -> Ranker:
        train, valid = collection.train(fold), collection.valid(fold)
        start = monotonic()
        ranker.fit(train.X, train.y, qid=train.query, eval_set=(valid.X, valid.y, valid.query))
        ranker.save(str(model))
        self.say(
            f"{' '.join(filter(None, (collection.name, part, fold.name, ranker.name)))}: "
            f"{ranker.validation_:.4f} on the validation data, {monotonic() - start:.1f} s"
        )
        return ranker


def _shown(value: Any) -> str:
    try:
        text = str(value)
    except (RecursionError, ValueError):
        return "something else"
    return text if len(text) <= 80 else f"{text[:80]}..."


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise CalipersError("cannot be read: remove the folder, and begin again", file=str(file))
    return found
