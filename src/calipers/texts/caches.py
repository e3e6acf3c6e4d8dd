"""Folders that keep vectors of texts and scores of random texts. A file is written whole or not at all."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from calipers._version import __version__
from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.support.atomic_files import replacing
from calipers.texts.registry import Scorer, TextTask

PARTS = ("tokens", "vectors", "special", "cut")
AT_ONCE = 8  # documents that are scored before they are written, so that an interrupted run loses few


class ScoreCache:
    """A folder of scores. Measures without an identity are scored again every time."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder) / "scores"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CalipersError(f"cannot be a folder for scores: {error.strerror}", file=str(folder)) from None

    def scores(self, scorer: Scorer, tasks: list[TextTask]) -> list[Floats]:
        """Return the scores of each task, from the folder if they are there."""
        if not scorer.identity:
            return scorer.scores(tasks)
        paths = [self._path(scorer.identity, task) for task in tasks]
        found = [_read(path, len(task.texts)) for path, task in zip(paths, tasks, strict=True)]
        missing = [i for i, each in enumerate(found) if each is None]
        for start in range(0, len(missing), AT_ONCE):
            some = missing[start : start + AT_ONCE]
            for i, made in zip(some, scorer.scores([tasks[i] for i in some]), strict=True):
                found[i] = made
                with replacing(str(paths[i])) as temporary, open(temporary, "wb") as file:
                    np.save(file, made)
        return [each for each in found if each is not None]

    def _path(self, identity: str, task: TextTask) -> Path:
        what = [__version__, identity, task.document.references, task.document.source, task.texts]
        return self.folder / f"{sha256(json.dumps(what).encode()).hexdigest()}.npy"


def _read(path: Path, texts: int) -> Floats | None:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None  # missing or damaged: computed again
    return np.asarray(found) if found.ndim == 2 and len(found) == texts and found.dtype == np.float64 else None


class VectorCache:
    """A folder of vectors by text, for one model and layer."""

    def __init__(self, folder: str | os.PathLike[str], model: str) -> None:
        self.folder = Path(folder) / sha256(model.encode()).hexdigest()[:16]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CalipersError(f"cannot be a folder for vectors: {error.strerror}", file=str(folder)) from None

    def get(self, text: str) -> tuple[Any, ...] | None:
        path = self._path(text)
        if not path.is_file():
            return None
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
                *arrays, cut = (stored[part] for part in PARTS)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error, NotImplementedError, SyntaxError):
            return None  # damaged: computed again
        return *arrays, bool(cut)

    def put(self, text: str, parts: Sequence[Any]) -> None:
        path = self._path(text)
        path.parent.mkdir(exist_ok=True)
        with replacing(str(path)) as temporary, open(temporary, "wb") as file:
            np.savez(file, **dict(zip(PARTS, parts, strict=True)))

    def _path(self, text: str) -> Path:
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self.folder / digest[:2] / f"{digest}.npz"
