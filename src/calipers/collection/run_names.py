"""Files that a user names, and names of runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from calipers.errors import CalipersError, MissingFile, UnknownName
from calipers.support.plurals import counted


class HasName(Protocol):
    """A run, as far as its name goes; one that was read from a file also has a `path`, and maybe a `given_name`."""

    @property
    def name(self) -> str: ...


def files_of(path: str) -> list[str]:
    """Return a file or pipe itself, the files of a directory, or the files that a pattern matches."""
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
            raise MissingFile("no file matches", file=path)
        return found
    raise MissingFile("no such file or directory", file=path)


def _matching(pattern: str) -> Iterator[str]:
    """Yield the files that a pattern matches. `**` stands for nested folders; each folder is visited once."""
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


def named_files(system: str) -> list[tuple[str | None, str]]:
    """Return files with the names that a user gave them: `new=runs/bm25.gz` has a name, `runs/*.gz` has none.

    >>> named_files("no-such-file=")
    Traceback (most recent call last):
    ...
    calipers.errors.MissingFile: no-such-file=: no such file or directory
    """
    name, equals, path = system.partition("=")
    if not equals or not name or not path or os.sep in name or "/" in name or os.path.exists(system):
        return [(None, file) for file in files_of(system)]
    files = files_of(path)
    if len(files) > 1:
        raise CalipersError(f"one name ('{name}') for {counted(len(files), 'file')}", file=path)
    return [(name, files[0])]


_PACKED = re.compile(r"\.(gz|bz2|xz|zst|lz4)$", re.IGNORECASE)
_ENDING = re.compile(
    r"(?<=.)\.(txt|runs?|trec|res|results?|ranking|scores?|predictions|csv|tsv|jsonl?|ndjson|parquet|dat|out)$",
    re.IGNORECASE,
)


def stem_of(path: str) -> str:
    """Return the name of a file without its folder and endings.

    >>> stem_of("runs/bm25.run.gz"), stem_of("input.BM25-rm3"), stem_of("run.txt")
    ('bm25', 'input.BM25-rm3', 'run')
    """
    return _ENDING.sub("", _PACKED.sub("", os.path.basename(path.rstrip("/"))))


# Tags that tools write if nobody names a system. They say nothing about it.
GENERIC_TAGS = frozenset(
    {
        "run",
        "runid",
        "run_id",
        "run-id",
        "run_name",
        "run-name",
        "my-run",
        "my_run",
        "myrun",
        "tag",
        "rank",
        "ranking",
        "result",
        "results",
        "score",
        "scores",
        "system",
        "my-system-name",
        "my_system",
        "mysystem",
        "test",
        "default",
        "standard",
        "std",
        "exp",
        "trec",
        "trec_eval",
        "anserini",
        "pyserini",
        "pyterrier",
        "terrier",
        "indri",
        "lucene",
        "galago",
        "ranx",
        "beir",
        "ir_measures",
        "sentence-transformers",
        "q0",
        "none",
        "null",
    }
)


def run_name(tag: str, path: str) -> str:
    """Return the name of a run: its tag, or the stem of its file if there is no tag or a generic one.

    >>> run_name("bm25", "runs/a.gz"), run_name("", "runs/dense.txt"), run_name("my-system-name", "runs/new.txt")
    ('bm25', 'dense', 'new')
    """
    return stem_of(path) if tag.lower() in GENERIC_TAGS else tag or stem_of(path)


def distinct_names(runs: Sequence[HasName]) -> Iterator[tuple[str, bool]]:
    """Yield the name of each run, and True if it is not its own name because another run has that.

    Names that users give come first. A tag goes to the first run that has it; later ones go by the stem of their file,
    or by its path. So a run that is added at the end renames no other, and one in front only runs with its tag.
    """
    fixed = [_fixed_name(run) for run in runs]
    given = {name for name in fixed if name is not None}
    taken: set[str] = set()
    for run, own in zip(runs, fixed, strict=True):
        path: str | None = getattr(run, "path", None)
        others = () if path is None else (stem_of(path), path)
        free = (each for each in (run.name, *others) if each not in taken and (each == own or each not in given))
        name = next(free, None)
        if name is None:
            raise CalipersError(f"two runs have the name '{run.name}': give each run a name of its own", file=path)
        taken.add(name)
        yield name, name != run.name


def ambiguous_names(runs: Sequence[HasName]) -> dict[str, tuple[str, ...]]:
    """Return names that would belong to another run if an earlier run were left out, each with the files that it fits.

    They are the tags of several files that nobody gave a name to, and the names of files that go by their stems, or by
    their paths, as another run has their tag.
    """
    given = {_fixed_name(run) for run in runs}
    files: dict[str, list[str]] = {}
    for run, (_, renamed) in zip(runs, distinct_names(runs), strict=True):
        if _fixed_name(run) is None:
            path = str(getattr(run, "path", ""))
            for name in dict.fromkeys((run.name, *((stem_of(path), path) if renamed else ()))):
                files.setdefault(name, []).append(path)
    return {name: tuple(paths) for name, paths in files.items() if len(paths) > 1 and name not in given}


def system_meant(typed: str, runs: Sequence[HasName]) -> str:
    """Return the name of the run that a name, path, file, stem or tag stands for.

    A name that a user gave, and a path with its folder, are what they are. All others are refused where they fit
    several runs, so that a run that is added never changes which one is meant.
    """
    names = [name for name, _ in distinct_names(runs)]
    if typed in (run.name for run in runs if _fixed_name(run) is not None):
        return typed
    normal = os.path.normpath(typed)
    paths = [str(getattr(run, "path", None) or "") for run in runs]
    at_path = [name for name, path in zip(names, paths, strict=True) if path and os.path.normpath(path) == normal]
    if len(at_path) == 1 and os.path.dirname(typed):
        return at_path[0]
    found = [
        (name, path)
        for run, name, path in zip(runs, names, paths, strict=True)
        if typed in (name, getattr(run, "tag", None) or name, os.path.basename(path), stem_of(path)) or name in at_path
    ]
    if not found:
        raise UnknownName.among("baseline", typed, names)
    if len(found) > 1:
        raise several_fit(typed, [path or name for name, path in found])
    return found[0][0]


def several_fit(typed: str, files: Sequence[str], *, by_path: bool = True) -> CalipersError:
    """Return the error for a name that fits several files. by_path: the error suggests a path."""
    first = files[0] if os.path.dirname(files[0]) else os.path.join(os.curdir, files[0])
    path = f"type the path, as {first}, or " if by_path else ""
    return CalipersError(
        f"the baseline '{typed}' could be {' or '.join(files)}: {path}give the run a name, as name={files[0]}"
    )


def _fixed_name(run: HasName) -> str | None:
    """Return the name that a user gave to a run, or its only name, or None for a file named by tag or stem."""
    given: str | None = getattr(run, "given_name", None)
    return run.name if getattr(run, "path", None) is None else given
