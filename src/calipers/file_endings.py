"""Endings of file names that stand for a format which Calipers does not write: refused, instead of something else."""

from __future__ import annotations

import os

from calipers.errors import CalipersError

# What a name may end in without meaning a format (input.bm25, run.2) is not here.
_FOREIGN = frozenset(
    (
        "xlsx", "xls", "ods", "numbers", "docx", "doc", "odt", "rtf", "pdf", "pptx", "html", "htm", "md", "markdown",
        "tex", "xml", "yaml", "yml", "toml", "pkl", "pickle", "npy", "npz", "h5", "hdf5", "feather", "arrow", "avro",
        "orc", "db", "sqlite", "sqlite3", "png", "svg", "jpg", "jpeg", "gif", "zip", "tar", "tgz", "7z", "rar", "csv",
        "tsv", "json", "jsonl", "ndjson", "parquet", "gz", "bz2", "xz", "zst", "lz4",
    )
)  # fmt: skip


def ending_of(path: str) -> str:
    """The last ending, in lower case and without its dot.

    >>> ending_of("runs/Table.CSV"), ending_of("runs.d/table")
    ('csv', '')
    """
    return os.path.splitext(os.path.basename(path))[1].lower().lstrip(".")


def refuse_foreign(path: str, written: tuple[str, ...], hint: str) -> None:
    """Refuse a name that ends in what stands for a format other than those that are written."""
    ending = ending_of(path)
    if ending in _FOREIGN and ending not in written:
        raise CalipersError(f"cannot be written as .{ending}; {hint}", file=path)
