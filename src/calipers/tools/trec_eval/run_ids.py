"""The name that trec_eval prints for a run: the tag of its last line."""

from __future__ import annotations

from calipers.collection.files import packing_of, regular
from calipers.native.id_text import decode

TAIL = 1 << 16  # bytes that hold the last line


def run_id(path: str | None, first: str) -> str:
    """The tag of the last line of a plain file; of a packed one, which would be unpacked again, that of the first."""
    if path is None:
        return first
    with open(regular(path), "rb") as file:
        if packing_of(file.read(8)):
            return first
        start = max(file.seek(0, 2) - TAIL, 0)
        file.seek(start)
        lines = file.read().split(b"\n")[1 if start else 0 :]  # of which the first may have lost its beginning
    for line in reversed(lines):
        fields = line.split()
        if len(fields) > 5 and not line.lstrip().startswith(b"#"):
            return decode(fields[5])
    return first
