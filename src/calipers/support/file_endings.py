"""Endings of file names that stand for formats. Files with the ending of a format that is not written are refused."""

from __future__ import annotations

import os

from calipers.errors import CalipersError

# Endings that stand for no format (input.bm25, run.2) are not in this list.
_FOREIGN = frozenset(
    (
        "xlsx",
        "xls",
        "ods",
        "numbers",
        "docx",
        "doc",
        "odt",
        "rtf",
        "pdf",
        "pptx",
        "html",
        "htm",
        "md",
        "markdown",
        "tex",
        "xml",
        "yaml",
        "yml",
        "toml",
        "pkl",
        "pickle",
        "npy",
        "npz",
        "h5",
        "hdf5",
        "feather",
        "arrow",
        "avro",
        "orc",
        "db",
        "sqlite",
        "sqlite3",
        "png",
        "svg",
        "jpg",
        "jpeg",
        "gif",
        "zip",
        "tar",
        "tgz",
        "7z",
        "rar",
        "csv",
        "tsv",
        "json",
        "jsonl",
        "ndjson",
        "parquet",
        "gz",
        "bz2",
        "xz",
        "zst",
        "lz4",
    )
)


def ending_of(path: str) -> str:
    """Return the last ending of a file name, in lower case and without its dot.

    >>> ending_of("runs/Table.CSV"), ending_of("runs.d/table")
    ('csv', '')
    """
    return os.path.splitext(os.path.basename(path))[1].lower().lstrip(".")


def refuse_foreign(path: str, written: tuple[str, ...], hint: str) -> None:
    """Raise an error if the ending of a file name stands for a format that is not in `written`."""
    ending = ending_of(path)
    if ending in _FOREIGN and ending not in written:
        raise CalipersError(f"cannot be written as .{ending}; {hint}", file=path)
