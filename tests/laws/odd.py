"""Odd collections: judgments and runs as TREC text, each drawn from a seed, most of them legal and some not.

What a file holds is known from how it was made (`Collection.grades`, `Collection.scores`), not from reading it back.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

Rows = list[tuple[bytes, bytes, bytes]]  # query, document, number

SHORT = [
    "nDCG@10",
    "nDCG",
    "nDCG(gain=exp)@3",
    "DCG@5",
    "DCG(gain=exp)",
    "AP",
    "AP@4",
    "AP(rel=2)",
    "P@1",
    "P(rel=2)@10",
    "Recall@5",
    "Recall(rel=2)@1000",
    "RPrec",
    "RPrec(rel=2)",
    "RR",
    "RR@2",
    "RR(rel=2)",
    "Success@1",
    "Success(rel=2)@5",
    "RBP",
    "RBP(p=0.5)",
    "RBP(p=0.95, rel=2)@7",
    "ndcg@2",
    "ap@100",
]
LONG = [
    "ERR@5",
    "ERR(max_grade=4)",
    "SDCG@5",
    "SP@5",
    "HIT@3",
    "INSQ@10",
    "SN-DCG@5",
    "SN-AP@5",
    "SetP",
    "SetR",
    "SetF(beta=2)",
    "Judged@10",
    "AP(norm=min)@5",
    "GAP@10",
    "bpref",
    "nDCG(discount=jk2)@5",
    "nDCG(gain={1:3, 2:9})",
    "P@3",
    "V2(nDCG@5)",
    "V1(P@5)",
    "V2(RR)",
    "U(AP)",
]
TREC = ["map", "P_5", "ndcg_cut_10", "ndcg", "recip_rank", "Rprec", "bpref", "recall_5", "map_cut_3", "success_1"]

PLAIN_IDS = [b"d%d" % i for i in range(30)]
STRANGE_IDS = [
    b"d",
    b"D",
    b"d1",
    b"d10",
    b"d\xc3\xa9",
    b"de\xcc\x81",
    b"\xf0\x9f\x90\x8d",
    b"\xff\xfe",
    b"a\x01b",
    b"#",
    b"##",
    b"</script><script>alert(1)</script>",
    b"<!--",
    b"=1+1",
    b'"',
    b"'",
    b"a,b",
    b"{",
    b"[{",
    b"**x**",
    b"*",
    b"-",
    b"--format",
    b"nan",
    b"1e3",
    b"01",
    b"1",
    b"\xc2\xa0",
    b"\xe2\x80\xa8",
    b"\xe2\x80\x8f",
    b"\x1b[31m",
    b"\x85",
    b"\x0b",
    b"\x1c",
    b"\\",
    b"%s",
    b"None",
    b"qid:1",
    b"a" * 8,
    b"a" * 9,
    b"x" * 70,
    b"y" * 300,
    b"\xef\xbb\xbfd",
    b"GX000-00-0000000",
]
QUERIES = [b"1", b"2", b"10", b"01", b"q1", b"Q1", b"301", b"-", b"q" * 90, b"\xc3\xa9", b"q,1", b"nan", b"=1"]

EXTREMES = [
    b"1e308",
    b"-1e308",
    b"1.7976931348623157e308",
    b"4.9e-324",
    b"1e-400",
    b"-0",
    b"0",
    b"0.0",
    b"1" * 30,
    b"+3",
    b"9007199254740993",
    b"0.1234567890123456789",
    b"5.",
    b".5",
    b"1E-2",
    b"0e999",
    b"17.123456789012345",
    b"00012",
]
GRADES = {
    "binary": [b"0", b"1"],
    "graded": [b"0", b"0", b"1", b"2", b"3"],
    "negative": [b"-2", b"-1", b"0", b"1", b"2"],
    "fractional": [b"0", b"0.5", b"1", b"1.5", b"2.25"],
    "relevant": [b"1", b"2"],
    "empty": [b"0"],
    "large": [b"0", b"1", b"12", b"30"],
    "huge": [b"0", b"1", b"1100", b"1000000", b"1e300"],
    "written": [b"+1", b"2.0", b"1e0", b"0.0", b"-0", b"03"],
}
NOT_NUMBERS = [
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
    b"1e400",
    b"9" * 400,
]
PACKINGS = ["gz", "bz2", "xz", "zst", "lz4"]


@dataclass(frozen=True)
class Collection:
    """Files, what is in them, and what is asked of them."""

    seed: int
    qrels: bytes
    runs: tuple[bytes, ...]
    grades: Rows | None  # of the judgments, line by line; None where what they hold is in doubt
    scores: tuple[Rows | None, ...]
    measures: tuple[str, ...]
    ties: str | None
    depth: int | None
    defects: tuple[str, ...] = ()
    traits: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_legal(self) -> bool:
        return not self.defects

    @property
    def must_be_refused(self) -> bool:
        """Whether no way may accept it: the only thing wrong is one that cannot be meant."""
        certain = ("no number", "twice with another number", "a zero byte", "nothing in it", "only comments")
        return len(self.defects) == 1 and self.defects[0] in {f"judgments: {name}" for name in certain}

    def __str__(self) -> str:
        asked = f"-m '{' '.join(self.measures)}' ties={self.ties} depth={self.depth}"
        return f"seed {self.seed} ({', '.join([*sorted(self.traits), *self.defects])}) {asked}"


def collection(seed: int) -> Collection:
    """The collection of a seed."""
    return _Maker(random.Random(seed)).make(seed)


def usual(seed: int) -> Collection:
    """A collection with nothing odd in it: every way must take it."""
    pick = random.Random(seed)
    maker = _Maker(pick)
    maker.traits, maker.documents, maker.queries = set(), PLAIN_IDS, [b"1", b"2", b"3", b"4"]
    maker.kinds = ["relevant"]
    made = maker.make(seed, defects=False)
    return replace(made, measures=("nDCG@10", "AP", "P@5"), ties="docid", depth=None)


class _Maker:
    def __init__(self, pick: random.Random) -> None:
        self.pick = pick

        def some(share: float) -> bool:
            return pick.random() < share

        names = (
            "crlf",
            "bom",
            "no final newline",
            "blank lines",
            "comments",
            "tabs",
            "double blanks",
            "trailing blanks",
            "leading blanks",
            "scattered",
            "scattered judgments",
            "returning",
            "repeated judgments",
            "missing queries",
            "unjudged queries",
            "unjudged query at the end",
        )
        likely = pick.choice([0.0, 0.05, 0.1, 0.2, 0.4])
        self.traits = {name for name in names if some(likely)}
        if "returning" in self.traits and some(0.6):
            self.traits.add("no final newline")
        self.documents = PLAIN_IDS
        if some(0.4):
            self.traits.add("strange ids")
            self.documents = [
                *dict.fromkeys(pick.sample(STRANGE_IDS, pick.randint(4, len(STRANGE_IDS))) + PLAIN_IDS[:5])
            ]
        self.queries = (
            pick.sample(QUERIES, pick.randint(1, 6))
            if some(0.5)
            else [b"q%d" % i for i in range(pick.choice([1, 2, 4, 16]))]
        )
        self.kinds = pick.sample([*GRADES], pick.randint(1, 3))
        if some(0.5):
            self.kinds = [pick.choice(["binary", "graded", "relevant", "fractional", "negative"])]
        if "huge" in self.kinds and some(0.7):
            self.kinds = [kind for kind in self.kinds if kind != "huge"] or ["graded"]

    def make(self, seed: int, defects: bool = True) -> Collection:
        pick = self.pick
        grades = self._grades()
        runs = [self._run() for _ in range(pick.choice([1, 1, 2, 3]))]
        if pick.random() < 0.75:
            measures = pick.sample(SHORT, pick.randint(1, 6))
            ties, depth = pick.choice([None, None, "average", "docid"]), pick.choice([None, None, None, 1, 5])
        else:
            measures = pick.sample(LONG, pick.randint(1, 4)) + pick.sample(SHORT, 1)
            ties, depth = (
                pick.choice([None, "average", "docid", "input", "best", "worst"]),
                pick.choice([None, None, 5]),
            )
        lines = [self._lines(grades, 4, b"t"), *(self._lines(run, 6, b"s%d" % i) for i, run in enumerate(runs))]
        contents: list[Rows | None] = [grades, *runs]
        found: list[str] = []
        if defects and pick.random() < 0.3:
            for _ in range(pick.choice([1, 1, 2])):
                place = pick.randrange(len(lines))
                name, spoil = pick.choice(DEFECTS)
                if not _row_places(lines[place]):
                    continue  # nothing is left to spoil
                lines[place], contents[place] = spoil(pick, lines[place], contents[place])
                found.append(f"{'judgments' if place == 0 else f'run {place - 1}'}: {name}")
        qrels, *texts = (self._text(each) for each in lines)
        return Collection(
            seed,
            qrels,
            tuple(texts),
            contents[0],
            tuple(contents[1:]),
            tuple(dict.fromkeys(measures)),
            ties,
            depth,
            tuple(found),
            frozenset(self.traits),
        )

    def _grades(self) -> Rows:
        pick, rows = self.pick, []
        for query in self.queries:
            kind = GRADES[pick.choice(self.kinds)]
            judged = pick.sample(self.documents, pick.randint(1, len(self.documents)))
            rows += [(query, document, pick.choice(kind)) for document in judged]
        if "repeated judgments" in self.traits:
            for row in pick.choices(rows, k=2):
                rows.insert(rows.index(row) + 1, row)
        if "scattered judgments" in self.traits:
            pick.shuffle(rows)
        return rows

    def _run(self) -> Rows:
        pick = self.pick
        number = pick.choice([self._few, self._few, self._falling, self._any, self._close, self._extreme])
        asked = list(self.queries)
        if "missing queries" in self.traits:
            asked = pick.sample(asked, pick.randint(0, len(asked)))
        if "unjudged queries" in self.traits:
            asked.insert(pick.randint(0, len(asked)), b"nobody")
        if pick.random() < 0.5:
            pick.shuffle(asked)
        if "unjudged query at the end" in self.traits or not asked:
            asked.append(b"unjudged")
        documents = self.documents if pick.random() < 0.7 else self.documents + [b"U%d" % i for i in range(40)]
        rows: Rows = []
        for query in asked:
            retrieved = pick.sample(documents, pick.randint(1, len(documents)))
            rows += [(query, document, number(i)) for i, document in enumerate(retrieved)]
        if "scattered" in self.traits:
            pick.shuffle(rows)
        elif "returning" in self.traits:  # one line comes back to an earlier query, mostly at the very end
            row = rows.pop(pick.randrange(len(rows)))
            rows.insert(pick.choice([len(rows), len(rows), pick.randint(0, len(rows))]), row)
        return rows

    def _few(self, i: int) -> bytes:
        return b"%d" % self.pick.randint(0, 3)

    def _falling(self, i: int) -> bytes:
        return b"%.4f" % (100 - i * 0.01)

    def _any(self, i: int) -> bytes:
        value = self.pick.uniform(-1, 1) * 10 ** self.pick.randint(-8, 8)
        return self.pick.choice([b"%r", b"%.3f", b"%e"]) % value

    def _close(self, i: int) -> bytes:
        return b"%r" % (1 + self.pick.randint(0, 3) * 2.0**-52)

    def _extreme(self, i: int) -> bytes:
        return self.pick.choice(EXTREMES)

    def _lines(self, rows: Rows, fields: int, tag: bytes) -> list[bytes]:
        """Lines without their ends."""
        pick = self.pick
        blank = b"\t" if "tabs" in self.traits else b" "
        lines = []
        for i, (query, document, number) in enumerate(rows):
            cells = [query, b"0", document, number] if fields == 4 else [query, b"Q0", document, b"%d" % i, number, tag]
            line = (b" " + blank if "double blanks" in self.traits and pick.random() < 0.5 else blank).join(cells)
            if "trailing blanks" in self.traits and pick.random() < 0.3:
                line += pick.choice([b" ", b"\t", b"  \t"])
            if "leading blanks" in self.traits and pick.random() < 0.3:
                line = pick.choice([b" ", b"\t\t"]) + line
            lines.append(line)
        end = len(lines) - ("returning" in self.traits)  # what comes back last is the last line
        if "comments" in self.traits:
            for _ in range(2):
                lines.insert(pick.randint(0, end), pick.choice([b"# a comment", b"#", b"#1 Q0 d 1 1 t"]))
        if "blank lines" in self.traits:
            for _ in range(2):
                lines.insert(pick.randint(0, end), pick.choice([b"", b" \t", b"  "]))
        return lines

    def _text(self, lines: list[bytes]) -> bytes:
        pick = self.pick
        ends = {"crlf": [b"\r\n"], "mixed": [b"\n", b"\r\n"], "lf": [b"\n"]}[
            pick.choice(["crlf", "mixed"]) if "crlf" in self.traits else "lf"
        ]
        text = b"".join(line + pick.choice(ends) for line in lines)
        if "no final newline" in self.traits:
            text = text.removesuffix(b"\n")
            if pick.random() < 0.8:
                text = text.removesuffix(b"\r")
        return b"\xef\xbb\xbf" + text if "bom" in self.traits else text


# -- what may be wrong with a file: lines in, lines out, and the rows that are left in no doubt -------------------

Spoiled = tuple[list[bytes], Rows | None]


def _row_places(lines: list[bytes]) -> list[int]:
    return [i for i, line in enumerate(lines) if line.strip() and not line.startswith(b"#")]


def _row_place(pick: random.Random, lines: list[bytes]) -> int:
    """A line with fields, the last one most often."""
    places = _row_places(lines)
    return places[-1] if pick.random() < 0.4 else pick.choice(places)


def _with_number(
    wrong: Callable[[random.Random], bytes],
) -> Callable[[random.Random, list[bytes], Rows | None], Spoiled]:
    def spoil(pick: random.Random, lines: list[bytes], rows: Rows | None) -> Spoiled:
        place = _row_place(pick, lines)
        cells = re.findall(rb"[^ \t]+", lines[place])
        if len(cells) >= 4:
            cells[4 if len(cells) > 4 else 3] = wrong(pick)
        return [*lines[:place], b" ".join(cells), *lines[place + 1 :]], None

    return spoil


def _rows_of(lines: list[bytes]) -> Rows | None:
    """The rows, where nothing else is wrong with them."""
    fields = [re.findall(rb"[^ \t]+", lines[place]) for place in _row_places(lines)]
    if any(len(cells) not in (4, 6) for cells in fields):
        return None
    return [(cells[0], cells[2], cells[4 if len(cells) == 6 else 3]) for cells in fields]


def _another_line(pick: random.Random, lines: list[bytes], rows: Rows | None) -> Spoiled:
    """A document that is there already: later, or at once."""
    place = _row_place(pick, lines)
    later = pick.choice([place + 1, len(lines), len(lines)])
    twice = [*lines[:later], lines[place], *lines[later:]]
    return twice, rows and _rows_of(twice)


def _another_grade(pick: random.Random, lines: list[bytes], rows: Rows | None) -> Spoiled:
    place = _row_place(pick, lines)
    cells = re.findall(rb"[^ \t]+", lines[place])
    if len(cells) >= 4:
        cells[4 if len(cells) > 4 else 3] = b"7"
    lines = [*lines, b" ".join(cells)]
    return lines, rows and _rows_of(lines)


def _spoiled_line(
    change: Callable[[random.Random, bytes], bytes],
) -> Callable[[random.Random, list[bytes], Rows | None], Spoiled]:
    def spoil(pick: random.Random, lines: list[bytes], rows: Rows | None) -> Spoiled:
        place = _row_place(pick, lines)
        return [*lines[:place], change(pick, lines[place]), *lines[place + 1 :]], None

    return spoil


def _cut(pick: random.Random, line: bytes) -> bytes:
    return line[: pick.randint(1, max(1, len(line) - 1))]


DEFECTS: list[tuple[str, Callable[[random.Random, list[bytes], Rows | None], Spoiled]]] = [
    ("no number", _with_number(lambda pick: pick.choice(NOT_NUMBERS))),
    ("twice", _another_line),
    ("twice with another number", _another_grade),
    ("a field too many", _spoiled_line(lambda pick, line: line + b" more")),
    ("a field too few", _spoiled_line(lambda pick, line: b" ".join(line.split()[:-1]))),
    ("a line cut short", _spoiled_line(_cut)),
    ("a zero byte", _spoiled_line(lambda pick, line: line[:3] + b"\0" + line[3:])),
    ("other bytes", _spoiled_line(lambda pick, line: pick.randbytes(pick.randint(1, 30)).replace(b"\n", b" "))),
    ("a carriage return inside", _spoiled_line(lambda pick, line: line[:4] + b"\r" + line[4:])),
    ("two ends", _spoiled_line(lambda pick, line: line + b"\r\r")),
    ("nothing in it", lambda pick, lines, rows: ([], None)),
    ("only comments", lambda pick, lines, rows: ([b"# nothing", b""], None)),
    ("a query like JSON", _spoiled_line(lambda pick, line: pick.choice([b"{", b"[", b'"', b'{"']) + line)),
    ("a comment that is none", _spoiled_line(lambda pick, line: b" #" + line)),
]
