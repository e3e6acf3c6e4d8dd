"""The name that trec_eval prints for a run: the tag of its last line."""

from __future__ import annotations

from calipers.collection.files import blocks, packing_of, regular
from calipers.native.id_text import decode

TAIL = 1 << 16  # bytes that most often hold the last line


def run_id(path: str | None, first: str) -> str:
    """The tag of the last line of a file; without a file, the tag that is known. A packed file is unpacked again."""
    if path is None:
        return first
    size, whole = TAIL, False
    while not whole:
        tail, whole = _tail(path, size)
        for line in reversed(tail.split(b"\n")):
            fields = line.split(maxsplit=6)
            if len(fields) > 5 and not line.lstrip().startswith(b"#"):
                return decode(fields[5])
        size *= 64
    return first


def _tail(path: str, most: int) -> tuple[bytes, bool]:
    """The last bytes of a file, without a line that has lost its beginning, and whether they are all of it."""
    with open(regular(path), "rb") as file:
        packed = packing_of(file.read(8)) is not None
        size = file.seek(0, 2)
        if not packed:
            file.seek(max(size - most, 0))
            tail = file.read()
    if packed:
        size, tail = 0, b""
        for block in blocks(path):
            size += len(block)
            tail = (tail + bytes(block[-most:]))[-most:]
    return (tail, True) if size <= most else (tail.partition(b"\n")[2], False)
