"""Vectors of texts, kept in a folder: one file per text, written whole or not at all."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from calipers.atomic_files import replacing
from calipers.errors import CalipersError

PARTS = ("tokens", "vectors", "special", "cut")


class Cache:
    """By text, for one model and layer; another model's vectors lie elsewhere."""

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
            return None  # spoilt: it is made again
        return *arrays, bool(cut)

    def put(self, text: str, parts: Sequence[Any]) -> None:
        path = self._path(text)
        path.parent.mkdir(exist_ok=True)
        with replacing(str(path)) as temporary, open(temporary, "wb") as file:
            np.savez(file, **dict(zip(PARTS, parts, strict=True)))

    def _path(self, text: str) -> Path:
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self.folder / digest[:2] / f"{digest}.npz"
