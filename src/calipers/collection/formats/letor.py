"""Learning to rank: labelled lines with features, and score files that belong to them, one score per line.

letor      label qid:ID 1:0.3 2:0.1 ... #docid = GX000-00     (SVMlight; features are skipped)
svmlight   label 1:0.3 2:0.1 ...     the size of each query is in FILE.query (LightGBM) or FILE.group (XGBoost)
scores     one number per line
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calipers.collection.files import Block, Path, blocks, shown_name, start_of
from calipers.collection.first_line import fields_of, first_content, first_fields, is_number
from calipers.collection.formats.format import Format
from calipers.collection.line_blocks import short_lines, whole_lines
from calipers.collection.reader import scan
from calipers.errors import CalipersError
from calipers.native.columns import Labels
from calipers.native.scanner import LetorScanner, NumberScanner

__all__ = ["read_letor", "read_scores"]

GROUPS = (".query", ".group")  # endings of the files that hold the size of each query
MOST_DOCUMENTS = 1 << 40
_LABEL = re.compile(rb"^[ \t]*[^#\s][^ \t\r\n]*", re.MULTILINE)
_FEATURE = re.compile(rb"\d+:[^:]+")


def read_letor(path: Path, *, max_unpacked: int | None = None) -> Labels:
    """Labels and queries of all lines, and the documents where comments name them."""
    return scan(path, LetorScanner, source=_blocks(path, max_unpacked=max_unpacked))


def _blocks(path: Path, *, max_unpacked: int | None = None) -> Iterator[Block]:
    """Return the bytes of a LETOR file. If lines have no qid, it is added from the file with the sizes of queries."""
    source = blocks(path, max_unpacked=max_unpacked)
    if not _lacks_qid(start_of(path, max_unpacked=max_unpacked)):
        return source
    name = shown_name(path)
    sizes_file = next((name + ending for ending in GROUPS if os.path.isfile(name + ending)), None)
    if sizes_file is None:
        endings = " or ".join(f"{os.path.basename(name)}{ending}" for ending in GROUPS)
        raise CalipersError(f"expected qid:ID after the label, or the size of each query in {endings}", file=name)
    sizes = scan(sizes_file, NumberScanner, max_unpacked=max_unpacked)
    if (sizes != np.rint(sizes)).any() or (sizes < 0).any() or sizes.sum() > MOST_DOCUMENTS:
        raise CalipersError("the size of a query is a whole number", file=sizes_file)
    return _with_qid(short_lines(source), np.cumsum(sizes.astype(np.int64)).tolist(), name, sizes_file)


def _with_qid(source: Iterator[Block], ends: list[int], name: str, sizes_file: str) -> Iterator[bytes]:
    """Yield the lines with the number of their query. ends: the first line after each query."""
    place = query = 0

    def label(found: re.Match[bytes]) -> bytes:
        nonlocal place, query
        while query < len(ends) and place >= ends[query]:
            query += 1
        place += 1
        return b"%s qid:%d" % (found[0], query + 1)

    for text in whole_lines(source):
        yield _LABEL.sub(label, text)
    if place != ends[-1]:
        raise CalipersError(f"{place} documents, where {sizes_file} has the sizes of {ends[-1]}", file=name)


def read_scores(path: Path, *, max_unpacked: int | None = None) -> NDArray[np.float64]:
    """Read one score per line."""
    return scan(path, NumberScanner, max_unpacked=max_unpacked)


def _is_letor(start: bytes) -> bool:
    fields = first_fields(start)
    return len(fields) > 1 and fields[1].startswith(b"qid:")


def _lacks_qid(start: bytes) -> bool:
    """Return True for lines of a label and features without a qid."""
    label, *features = fields_of(first_content(start).partition(b"#")[0])[:20] or [b""]
    return bool(features) and _is_number(label) and all(map(_FEATURE.fullmatch, features))


def _is_number(field: bytes) -> bool:
    return is_number(field.decode("utf-8", "surrogateescape"))


def _misfit(start: bytes) -> tuple[float, str]:
    fields = first_fields(start)
    second = fields[1].decode("utf-8", "backslashreplace") if len(fields) > 1 else ""
    near = any(b":" in field for field in fields[1:])
    return (1 if near else 6), (
        f"'{second[:40]}' after the label is no qid:ID" if second else "there is only one field"
    )


def _misfit_of_scores(start: bytes) -> tuple[float, str]:
    fields = first_fields(start)
    if len(fields) == 1:
        return 0.5, f"'{fields[0].decode('utf-8', 'backslashreplace')[:40]}' is not a number"
    return len(fields), f"{len(fields)} fields, not 1"


LETOR = Format(
    name="letor",
    holds="labels",
    line="label qid:ID 1:0.3 2:0.1 ...",
    noun="a LETOR file",
    matches=_is_letor,
    misfit=_misfit,
    read=read_letor,
)

SVMLIGHT = Format(
    name="svmlight",
    holds="labels",
    line="label 1:0.3 2:0.1 ... with FILE.query or FILE.group",
    noun="an SVMlight file without qid",
    matches=_lacks_qid,
    read=read_letor,
)

SCORES = Format(
    name="scores",
    holds="scores",
    line="one score",
    noun="a file of one number per line",
    matches=lambda start: len(fields := first_fields(start)) == 1 and _is_number(fields[0]),
    misfit=_misfit_of_scores,
    read=read_scores,
)
