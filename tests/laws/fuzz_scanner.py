"""Feeds the compiled scanner and its plain twin the same lines, good and bad, and compares what they make of them.

    python tests/laws/fuzz_scanner.py --seconds 10 --seed 1 [--extension path/of/a/_scanner.so]

Prints the seed and the input of the first difference, and exits with 1. Meant to be run under AddressSanitizer too, so
it imports nothing but the two scanners.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import random
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from calipers.native import plain as _plain
from calipers.native.columns import Retrieved, TieSpans
from calipers.native.ids import Ids
from calipers.native.scan_error import ScanError

SCATTERED = 2 + [*Retrieved.__annotations__].index("scattered")  # in an `outcome`

IDS = [
    b"d1",
    b"d2",
    b"d10",
    b"D",
    b"d\xc3\xa9",
    b"\xff\xfe",
    b"GX000-00-0000000",
    b"a" * 8,
    b"a" * 9,
    b"a\x01b",
    b"a\x0cb",
    b"#",
    b"x" * 70,
]
QUERIES = [b"1", b"2", b"10", b"q-with-a-long-name" * 5, b"q\r", b"301"]
NUMBERS = [b"1", b"0", b"-0", b"2.5", b".5", b"5.", b"+3", b"1e3", b"1E-2", b"12.345678", b"0.1234567890123456789"]
NUMBERS += [b"17.123456789012345", b"1e308", b"4.9e-324", b"1e-400", b"1" * 30, b"9007199254740993", b"0e999999999999"]
WRONG = [
    b"nan",
    b"-inf",
    b"Infinity",
    b"1e309",
    b"0x1p3",
    b"1_0",
    b"1e",
    b"e5",
    b".",
    b"+",
    b"--1",
    b"abc",
    b"1,5",
    b"\xd9\xa1",
]
BLANKS = [b" "] * 6 + [b"\t", b"  ", b" \t "]
ENDS = [b"\n"] * 6 + [b"\r\n"] * 2 + [b"\n\n", b" \n", b"\t\r\n"]


class Source:
    """Random lines; `dirt` is how likely something is wrong with one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.dirt = self.random.choice([0.0, 0.0, 0.002, 0.02, 0.2])
        self.queries = [*QUERIES[: self.random.randint(1, len(QUERIES))]]
        self.documents = IDS + [b"D%d" % i for i in range(self.random.choice([3, 40, 300]))]
        self.scores = self.random.choice(["any", "few", "falling"])

    def number(self, i: int = 0) -> bytes:
        pick = self.random
        if pick.random() < self.dirt:
            return pick.choice(WRONG)
        if self.scores == "few":
            return b"%d" % pick.randint(0, 3)
        if self.scores == "falling":
            return b"%.4f" % (100 - i * 0.01)
        if pick.random() < 0.3:
            return pick.choice(NUMBERS)
        value = pick.uniform(-1, 1) * 10 ** pick.randint(-8, 8)
        return pick.choice([b"%r" % value, b"%.3f" % value, b"%e" % value])

    def line(self, fields: list[bytes]) -> bytes:
        pick = self.random
        if pick.random() < self.dirt:
            spoiled = [
                fields[:-1],
                [*fields, b"more"],
                [b"\0"],
                [b"\0", *fields],
                [pick.randbytes(pick.randint(1, 40))],
            ]
            fields = pick.choice(spoiled)
        line = pick.choice(BLANKS).join(fields) if pick.random() < 0.8 else b" ".join(fields)
        if pick.random() < 0.03:
            line = pick.choice([b" ", b"\t\t"]) + line
        if pick.random() < 0.03:
            line = pick.choice([b"# a comment\n", b"#\n", b"\n", b" \t\n", b"\r\n"]) + line
        return line + (b"\r\r\n" if pick.random() < self.dirt else pick.choice(ENDS))

    def text(self, lines: list[bytes]) -> bytes:
        text = b"".join(lines)
        if self.random.random() < 0.2:
            text = b"\xef\xbb\xbf" + text
        if self.random.random() < 0.3:
            text = text.rstrip(b"\n")
        if self.random.random() < 0.05:
            text = text[: self.random.randint(0, len(text))]
        return text

    def run(self) -> bytes:
        pick = self.random
        order = pick.choice(["contiguous", "contiguous", "mixed"])
        repeats = pick.random() < 0.3
        lines: list[tuple[bytes, bytes]] = []
        for query in pick.sample([*self.queries, b"unjudged", b"u"], pick.randint(1, len(self.queries))):
            size = pick.randint(0, min(200, len(self.documents)))
            chosen = pick.choices(self.documents, k=1 + size // 4) if repeats else pick.sample(self.documents, size)
            lines += [(query, document) for document in chosen]
        if order == "mixed":
            pick.shuffle(lines)
        tag = pick.choice([b"tag", b"t" * 80, b"\xe2\x82\xac"])
        return self.text([self.line([q, b"Q0", d, b"%d" % i, self.number(i), tag]) for i, (q, d) in enumerate(lines)])

    def qrels(self) -> bytes:
        pick = self.random
        return self.text(
            [
                self.line([pick.choice(self.queries), b"0", pick.choice(self.documents), self.number()])
                for _ in range(pick.randint(0, 80))
            ]
        )

    def letor(self) -> bytes:
        pick = self.random
        lines = []
        named = pick.choice([0.0, 1.0, 0.9])
        for _ in range(pick.randint(0, 60)):
            prefix = pick.choice([b"", b"q", b"qid", b"QID:"]) if pick.random() < self.dirt else b"qid:"
            fields = [self.number(), prefix + pick.choice(self.queries)]
            fields += [b"%d:%f" % (i, pick.random()) for i in range(pick.randint(0, 6))]
            if pick.random() < named:
                fields.append(pick.choice([b"#docid = ", b"# docid=", b"#docid =\t"]) + pick.choice(self.documents))
            elif pick.random() < 0.3:
                fields.append(pick.choice([b"#", b"# doc", b"#docid", b"#docid =", b"#docid = ", b"# docid x"]))
            lines.append(self.line(fields))
        return self.text(lines)

    def scores_file(self) -> bytes:
        return self.text([self.line([self.number(i)]) for i in range(self.random.randint(0, 60))])

    def cuts(self, text: bytes) -> list[bytes]:
        size = self.random.choice([1, 2, 7, 50, 1000, 1 << 20])
        pieces, start = [], 0
        while start < len(text):
            end = start + self.random.randint(1, 2 * size)
            pieces.append(text[start:end])
            start = end
        return pieces

    def judgments(self) -> tuple[Ids, Any, Ids]:
        pools = [self.random.sample(self.documents, self.random.randint(0, len(self.documents))) for _ in self.queries]
        offsets = np.cumsum([0, *map(len, pools)])
        return Ids.of(self.queries), offsets, Ids.of(document for pool in pools for document in pool)


def outcome(scanner: Any, pieces: list[bytes]) -> Any:
    """The result, or the error; where nothing that follows matters, only that."""
    try:
        for piece in pieces:
            # A buffer of its own size on the heap: AddressSanitizer sees a read past its end.
            scanner.feed(bytearray(piece))
        result = scanner.finish()
    except ScanError as error:
        return "error", error.line, error.message
    if scanner.idle:
        return "idle"
    return [scanner.lines, scanner.rows, *map(comparable, fields_of(result))]


def fields_of(result: Any) -> list[Any]:
    if not dataclasses.is_dataclass(result):
        return [result]
    return [getattr(result, field.name) for field in dataclasses.fields(result)]


def comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tobytes()
    if isinstance(value, TieSpans):
        return [*map(comparable, fields_of(value))]
    return value.tolist() if isinstance(value, Ids) else value


def cases(source: Source) -> list[tuple[str, bytes, Callable[[ModuleType], Any]]]:
    pick = source.random
    judgments = source.judgments()
    depth, regroup = pick.choice([0, 0, 1, 2, 5, 100]), pick.random() < 0.5
    precision = pick.choice(["double", "double", "single"])
    second = pick.random() < 0.5

    def run_scanner(module: ModuleType) -> Any:
        return module.RunScanner(module.JudgedIndex(*judgments), depth=depth, precision=precision, regroup=regroup)

    return [
        (f"run depth={depth} precision={precision} regroup={regroup}", source.run(), run_scanner),
        ("run columns", source.run(), lambda module: module.ColumnScanner("run")),
        ("qrels", source.qrels(), lambda module: module.ColumnScanner("qrels", keep_second=second)),
        ("triples", source.qrels().replace(b" 0 ", b" "), lambda module: module.ColumnScanner("triples")),
        ("letor", source.letor(), lambda module: module.LetorScanner()),
        ("scores", source.scores_file(), lambda module: module.NumberScanner()),
    ]


def difference(compiled: ModuleType, seed: int) -> str | None:
    """What the two make differently of the inputs that this seed gives; None if nothing."""
    source = Source(seed)
    for name, text, make in cases(source):
        plain = outcome(make(_plain), source.cuts(text))
        other = outcome(make(compiled), source.cuts(text))
        if plain != other:
            return f"seed {seed}, {name}: {text!r}\nplain    {plain!r}\ncompiled {other!r}"
    for find in (
        index_difference,
        segment_difference,
        parts_difference,
        rows_difference,
        documents_difference,
        means_difference,
    ):
        if found := find(compiled, source):
            return f"seed {seed}, {found}"
    return None


def index_difference(compiled: ModuleType, source: Source) -> str | None:
    judgments = source.judgments()
    plain, other = _plain.JudgedIndex(*judgments), compiled.JudgedIndex(*judgments)
    for query in [*source.queries, b"none", b""]:
        if plain.query(query) != other.query(query):
            return f"index: query {query!r} of {source.queries}"
    for document in [*source.documents[:40], b"", b"none"]:
        for q in range(len(source.queries)):
            if plain.find(q, document) != other.find(q, document):
                return f"index: document {document!r} of query {q}"
    return None


def segment_difference(compiled: ModuleType, source: Source) -> str | None:
    pick = source.random
    sizes = [pick.choice([0, 1, 2, 7, 8, 9, 16, 63, 120, 500]) for _ in range(pick.randint(0, 6))]
    values = pick.choice(
        [
            lambda: pick.random(),
            lambda: pick.choice([0.0, -0.0, 1.0, -1.0, float("inf")]),
            lambda: 1 + pick.randint(0, 50) * 2.0**-52,
            lambda: -pick.random() * 10.0 ** pick.randint(-300, 300),
        ]
    )
    offsets = np.cumsum([0, *sizes])
    scores = np.array([values() for _ in range(int(offsets[-1]))], np.float64)
    plain, other = (module.rank_segments(scores, offsets) for module in (_plain, compiled))
    if [*map(comparable, plain)] != [*map(comparable, other)]:
        return f"rank_segments({scores.tolist()}, {offsets.tolist()})"
    depth = pick.choice([1, 2, 3, 10, 100, 1000])
    plain, other = (module.top_segments(scores, offsets, depth) for module in (_plain, compiled))
    if [*map(comparable, plain)] != [*map(comparable, other)]:
        return f"top_segments({scores.tolist()}, {offsets.tolist()}, {depth})"
    return None


def parts_difference(compiled: ModuleType, source: Source) -> str | None:
    """Regrouping in parts, put together, against the plain scanner over the whole."""
    pick = source.random
    lines = source.run().splitlines(keepends=True)
    cuts = sorted(pick.randint(0, len(lines)) for _ in range(pick.randint(1, 3)))
    parts = [b"".join(lines[a:b]) for a, b in pairwise([0, *cuts, len(lines)])]
    text = b"".join(parts)
    if any(part.startswith(b"\xef\xbb\xbf") or not part.endswith(b"\n") for part in parts):
        return None
    judgments = source.judgments()
    depth = pick.choice([0, 3])
    expected = outcome(_plain.RunScanner(_plain.JudgedIndex(*judgments), depth=depth, regroup=True), [text])
    index = compiled.JudgedIndex(*judgments)
    for shares in (0, pick.randint(1, 4)):
        scanners = [compiled.RunScanner(index, depth=depth, regroup=True) for _ in parts]
        try:
            for scanner, part in zip(scanners, parts, strict=True):
                scanner.feed(bytearray(part))
        except ScanError:
            return None  # its line is not that of the whole
        first, *others = scanners
        for other in others:
            first.absorb(other)
        if not shares:
            found = outcome(first, [])
            if isinstance(found, list) and isinstance(expected, list):
                found[SCATTERED] = expected[SCATTERED]  # a query that goes on in the next part counts as scattered
            if found != expected:
                return f"absorb {parts!r}\nplain    {expected!r}\ncompiled {found!r}"
        elif expected[0] != "error":
            results = [share.finish() for share in first.split(shares)]
            for column in ("query", "length", "tied", "document", "score", "first", "docid_rank", "input_rank"):
                joined = comparable(np.concatenate([getattr(result, column) for result in results]))
                if joined not in expected:
                    return f"split {shares} {parts!r}: {column}"
    return None


def rows_difference(compiled: ModuleType, source: Source) -> str | None:
    """Rows that are columns already, among them some that are not there."""
    pick = source.random
    judgments = source.judgments()
    count = pick.randint(0, 200)
    beyond = pick.random() < source.dirt
    query = np.array([pick.randrange(len(source.queries) + beyond) for _ in range(count)], np.int32)
    regroup = pick.random() < 0.3
    query = query if regroup else np.sort(query)
    documents = Ids.of(pick.choices(source.documents, k=count) if beyond else [b"R%d" % i for i in range(count)])
    score = np.array([pick.choice([pick.random(), 1.0, -0.0]) for _ in range(count)], np.float64)
    if pick.random() < 0.3:
        score = -np.sort(-score)
    if count and pick.random() < source.dirt:
        score[pick.randrange(count)] = np.nan
    columns = Ids.of(source.queries), query, documents, score
    cut = pick.randint(0, count)
    options = {
        "regroup": regroup,
        "precision": pick.choice(["double", "double", "single"]),
        "depth": pick.choice([0, 0, 3]),
    }
    found = []
    for module in (_plain, compiled):
        scanner = module.RunScanner(module.JudgedIndex(*judgments), **options)
        try:
            for part in (slice(0, cut), slice(cut, count)):
                scanner.feed_rows(Ids.of(source.queries), query[part], documents[part], score[part])
            found.append(outcome(scanner, []))
        except (ScanError, ValueError) as error:
            found.append(str(error))
    return (
        None
        if found[0] == found[1]
        else f"feed_rows {options} {columns!r}\nplain    {found[0]!r}\ncompiled {found[1]!r}"
    )


def documents_difference(compiled: ModuleType, source: Source) -> str | None:
    pick = source.random
    names = [f"d{i}" for i in range(30)]
    values = [pick.choice([pick.random(), 1.0, 2**-60 + 1, 0.1]) for _ in names]
    scores = dict(zip(pick.sample(names, 20), values, strict=False))
    start = pick.randint(0, 30)
    arguments = scores, names, start, pick.randint(start, 30), pick.choice(["double", "single"])
    plain, other = (module.rank_documents(*arguments) for module in (_plain, compiled))
    if [*map(list_of, plain)] != [*map(list_of, other)]:
        return f"rank_documents{arguments}"
    return None


def means_difference(compiled: ModuleType, source: Source) -> str | None:
    pick = source.random
    stop = np.array([pick.choice([0.5, 0.25, 1.0, 0.0, pick.random()]) for _ in range(40)])
    members = np.array([pick.randint(0, 12) for _ in range(pick.randint(0, 6))], np.int64)
    start = np.array([pick.randint(0, 40 - count) for count in members], np.int64)
    size = members + [pick.randint(0, 5) for _ in members]
    depth = pick.randint(0, 15)
    plain, other = (module.symmetric_means(size, start, members, stop, depth) for module in (_plain, compiled))
    # Multiplying and adding at once, as some processors do, rounds once less.
    if plain.shape != other.shape or np.abs(plain - other).max(initial=0) > 1e-14:
        return f"symmetric_means({size}, {start}, {members}, {stop}, {depth})"
    return None


def list_of(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def load(extension: str | None) -> ModuleType:
    """The compiled scanner."""
    if extension is None:
        from calipers.native import _scanner

        return _scanner
    spec = importlib.util.spec_from_file_location("calipers.native._scanner", extension)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--iterations", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--extension", help="the file of a compiled scanner, instead of the installed one")
    options = parser.parse_args()
    compiled = load(options.extension)
    end, seed = time.monotonic() + options.seconds, options.seed
    while time.monotonic() < end and seed - options.seed < options.iterations:
        found = difference(compiled, seed)
        if found:
            print(found)
            return 1
        seed += 1
    print(f"{seed - options.seed} rounds from seed {options.seed}, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
