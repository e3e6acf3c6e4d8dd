"""Texts of queries and documents, from BEIR's queries.jsonl and corpus.jsonl, TSV, CSV and search responses."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from calipers.collection.column_names import NAMES, plain_name
from calipers.collection.files import Path, blocks, shown_name, start_of
from calipers.collection.first_line import cells_of, is_number
from calipers.collection.formats.responses import RESPONSES, documents_in
from calipers.collection.json_values import RATIO, ROOM, collect, is_json
from calipers.collection.line_blocks import short_lines, whole_lines
from calipers.errors import CalipersError

TEXT = ("text", "query", "contents", "content", "body", "passage", "title")  # by what is taken first
ID = ("_id", *(name for role in ("query", "document") for names in NAMES[role] for name in names if name != "query"))


def read_titles(source: Path, *, max_unpacked: int | None = None, ids: Collection[str] | None = None) -> dict[str, str]:
    """Return {id: text} of queries or documents.

    The file has JSON lines as in BEIR, an id and a text on each line as in MS MARCO, or responses of a search engine,
    which have titles and texts in `_source`. A title comes before the text. ids: keep only the texts of these, for
    example a few documents of a large collection.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "corpus.jsonl"
    >>> _ = file.write_text('{"_id": "d1", "title": "Tea", "text": "A hot drink."}\\n{"_id": "d2", "text": "Rain."}\\n')
    >>> read_titles(file)
    {'d1': 'Tea A hot drink.', 'd2': 'Rain.'}
    >>> read_titles(file, ids=["d2"])
    {'d2': 'Rain.'}
    """
    name, wanted = shown_name(source), None if ids is None else frozenset(ids)
    found: dict[str, str] = {}
    for number, identifier, text in _pairs(source, name, max_unpacked):
        if wanted is not None and identifier not in wanted:
            continue
        if found.setdefault(identifier, text) != text:
            raise CalipersError(f"'{identifier}' has two different texts", file=name, line=number)
    if not found and wanted is None:
        raise CalipersError("there are no texts", file=name)
    return found


def read_ids(source: Path) -> list[str]:
    """Return the first field of each line of a file."""
    name = shown_name(source)
    found = [identifier for _, identifier, _ in _pairs(source, name, None, alone=True)]
    if not found:
        raise CalipersError("there are no ids", file=name)
    return found


def _pairs(
    source: Path, name: str, max_unpacked: int | None, alone: bool = False
) -> Iterator[tuple[int | None, str, str]]:
    """Yield line, id and text. alone: the text may be missing."""
    if not alone and RESPONSES.matches(start_of(source, max_unpacked=max_unpacked)):
        yield from collect(source, _FoundTexts, max_unpacked=max_unpacked).pairs
        return
    header: dict[str, int] | None = None
    delimiter: str | None = None
    objects: bool | None = None  # as the first line shows: a text in a table may start with a brace, too
    for number, line in enumerate(lines_of(source, max_unpacked), 1):
        if not line.strip():
            continue
        if objects is None:
            objects = is_json(line)
        if objects:
            yield number, *_of_object(line, name, number, alone)
            continue
        if delimiter is None:
            delimiter = "\t" if b"\t" in line else cells_of(line)[1]
            header = _header(cells_of(line, delimiter)[0])
            if header:
                continue
        cells = cells_of(line, delimiter)[0] if header or delimiter != "\t" else _text(line).split("\t", 1)
        place = (header or {}).get("id", 0), (header or {}).get("text", 1)
        if len(cells) <= max(place) and not (alone and len(cells) > place[0]):
            raise CalipersError("expected an id and a text, with a tab or comma between", file=name, line=number)
        yield number, cells[place[0]], cells[place[1]] if len(cells) > place[1] else ""


class _FoundTexts:
    """Ids and texts of the documents in search responses. Documents without a text are left out."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.listed = False
        self.pairs: list[tuple[None, str, str]] = []

    def add(self, item: Any, number: int | None) -> None:
        """Add the documents of a response. Elasticsearch and OpenSearch have their fields in `_source`."""
        for document in documents_in(item):
            source = document.get("_source")
            identifier, text = _id_and_text(document | source if isinstance(source, dict) else document)
            if identifier is not None and text:
                self.pairs.append((None, identifier, text))


def lines_of(source: Path, max_unpacked: int | None = None) -> Iterator[bytes]:
    """Yield the lines of a file, unpacked and without line ends and byte order mark."""
    first = True
    for text in whole_lines(short_lines(blocks(source, max_unpacked=max_unpacked, room=ROOM, ratio=RATIO))):
        for line in text.removesuffix(b"\n").split(b"\n"):
            yield line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r") if first else line.rstrip(b"\r")
            first = False


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _of_object(line: bytes, name: str, number: int, alone: bool) -> tuple[str, str]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = getattr(error, "msg", "nested too deeply")
        raise CalipersError(f"not JSON: {why}", file=name, line=number) from None
    if not isinstance(found, dict):
        raise CalipersError("expected an object with an id and a text", file=name, line=number)
    identifier, text = _id_and_text(found)
    if identifier is None or not (alone or text is not None):
        raise CalipersError("expected an id (_id, id, qid, docno ...) and a text", file=name, line=number)
    return identifier, text or ""


def _id_and_text(found: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the id and the text of an object, or None for what it lacks. A title comes before the text."""
    plain = {"_id" if key == "_id" else plain_name(key): _single(value) for key, value in found.items()}
    identifier = _first(plain, ID)
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        identifier = str(identifier)
    text, title = _first(plain, TEXT), plain.get("title")
    if isinstance(title, str) and title and isinstance(text, str) and text != title:
        text = f"{title} {text}"
    return identifier if isinstance(identifier, str) else None, text if isinstance(text, str) else None


def _single(value: Any) -> Any:
    """Return the only item of a list: in Solr, a field may have several values."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _first(found: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((found[key] for name in names if (key := name if name == "_id" else plain_name(name)) in found), None)


def _header(cells: list[str]) -> dict[str, int] | None:
    """Return the places of id and text if the first line is a header, else None."""
    plain = [plain_name(cell) for cell in cells]
    if any(is_number(cell) for cell in cells):
        return None
    place = {"id": [plain_name(name) for name in ID], "text": [*TEXT]}
    found = {role: next((plain.index(name) for name in names if name in plain), None) for role, names in place.items()}
    if found["id"] is None or found["text"] is None or found["id"] == found["text"]:
        return None
    return {"id": found["id"], "text": found["text"]}
