"""The files that a user means, and the names that runs go by."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Protocol

from calipers.errors import CalipersError


class HasName(Protocol):
    """A run, as far as its name goes; one that was read from a file also has a `path`."""

    @property
    def name(self) -> str: ...


def files_of(path: str) -> list[str]:
    """A file or a pipe itself, the files of a directory, or those that a pattern matches."""
    if path == "-" or (os.path.exists(path) and not os.path.isdir(path)):
        return [path]
    if os.path.isdir(path):
        inside = [os.path.join(path, name) for name in os.listdir(path) if not name.startswith(".")]
        found = sorted(file for file in inside if os.path.isfile(file))
        if not found:
            raise CalipersError("there is no file in this directory", file=path)
        return found
    from glob import has_magic  # the shell has mostly done it

    if has_magic(path):
        found = sorted({*_matching(path)})
        if not found:
            raise CalipersError("no file matches", file=path)
        return found
    raise CalipersError("no such file or directory", file=path)


def _matching(pattern: str) -> Iterator[str]:
    """The files that a pattern matches. `**` stands for folders within folders, each once: links may form cycles."""
    from glob import glob, has_magic

    head, deep, tail = pattern.partition("**")
    whole = (not head or head.endswith(("/", os.sep))) and (not tail or tail.startswith(("/", os.sep)))
    if not deep or not whole:
        yield from filter(os.path.isfile, glob(pattern))
        return
    met: set[str] = set()
    for top in [head or "."] if not has_magic(head) else [*filter(os.path.isdir, glob(head))]:
        for folder, inside, _ in os.walk(top, followlinks=True):
            inside[:] = [name for name in inside if not name.startswith(".")]
            real = os.path.realpath(folder)
            if real in met:
                inside.clear()
                continue
            met.add(real)
            below = os.path.join(folder if head or folder != "." else "", tail.lstrip("/" + os.sep) or "*")
            yield from _matching(os.path.normpath(below) if not head else below)


def distinct_names(runs: Sequence[HasName]) -> Iterator[tuple[str, bool]]:
    """The name of each run, and whether it had to be another than its tag because tags clash."""
    names = [run.name for run in runs]
    paths = [getattr(run, "path", None) for run in runs]
    files = [os.path.basename(path) if path else None for path in paths]
    for name, path, file in zip(names, paths, files, strict=True):
        if names.count(name) == 1:
            yield name, False
        elif path is None or file is None:
            raise CalipersError(f"two runs have the name '{name}'")
        else:
            yield (file if files.count(file) == 1 else str(path)), True
