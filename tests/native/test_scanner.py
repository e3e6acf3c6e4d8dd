"""What the scanner makes of lines: the rules by hand, and the compiled one against its plain twin."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
import threading
from decimal import Decimal, localcontext
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from calipers.native import plain as _plain
from calipers.native.columns import TieSpans
from calipers.native.ids import Ids
from calipers.native.scan_error import ScanError, shown
from laws import fuzz_scanner
from laws.fuzz_scanner import comparable, fields_of, outcome


@pytest.fixture(scope="session")
def compiled(require: Any) -> ModuleType:
    module: ModuleType = require.module("calipers.native._scanner")
    return module


@pytest.fixture(params=["plain", "compiled"], scope="session")
def scanner(request: pytest.FixtureRequest) -> ModuleType:
    """Both scanners, one after the other."""
    return _plain if request.param == "plain" else request.getfixturevalue("compiled")


def judged(scanner: ModuleType, pools: dict[str, list[str]]) -> Any:
    offsets = np.cumsum([0, *map(len, pools.values())])
    return scanner.JudgedIndex(Ids.of(pools), offsets, Ids.of(d for pool in pools.values() for d in pool))


def run_of(*lines: tuple[str, str, object]) -> bytes:
    return "".join(f"{q} Q0 {d} {i} {s} tag\n" for i, (q, d, s) in enumerate(lines, 1)).encode()


def scanned(made: Any, text: bytes, size: int = 1 << 20) -> Any:
    for start in range(0, len(text), size):
        made.feed(text[start : start + size])
    return made.finish()


def refusal(made: Any, text: bytes) -> tuple[int, str]:
    with pytest.raises(ScanError) as caught:
        scanned(made, text)
    return caught.value.line, caught.value.message


# ------------------------------------------------------------------------------------------------------ columns


def test_qrels(scanner: ModuleType) -> None:
    text = b"\xef\xbb\xbf# judged in spring\n401 0 FT-1 2\r\n\n402\t0  FT-2\t-1 \n 401 1 caf\xc3\xa9 0.5"
    found = scanned(scanner.ColumnScanner("qrels", keep_second=True), text)
    assert found.queries.tolist() == [b"401", b"402"]
    assert found.query.tolist() == [0, 1, 0]
    assert found.documents.texts() == ["FT-1", "FT-2", "café"]
    assert found.value.tolist() == [2, -1, 0.5]
    assert found.line.tolist() == [2, 4, 5]
    assert found.second.tolist() == [b"0", b"0", b"1"]
    assert found.tag == b""
    assert [a.dtype.name for a in (found.query, found.value, found.line)] == ["int32", "float64", "int64"]


def test_second_column_only_where_asked_for(scanner: ModuleType) -> None:
    assert scanned(scanner.ColumnScanner("qrels"), b"1 0 d 1\n").second is None
    assert scanned(scanner.ColumnScanner("run", keep_second=True), b"1 0 d 1 1 t\n").second is None


def test_run_columns(scanner: ModuleType) -> None:
    found = scanned(scanner.ColumnScanner("run"), b"1 Q0 a 1 2.5 mine\n1 Q0 a 2 2.5 other\n")
    assert found.documents.tolist() == [b"a", b"a"]
    assert found.value.tolist() == [2.5, 2.5]
    assert found.tag == b"mine"


def test_unknown_kind(scanner: ModuleType) -> None:
    with pytest.raises(ValueError, match="'qrels', 'run' or 'triples'"):
        scanner.ColumnScanner("csv")


def test_letor(scanner: ModuleType) -> None:
    text = b"2 qid:10 1:0.3 2:0.1 #docid = GX-1 inc = 1\n0 qid:10 #docid=GX-2\n"
    text += b"# c\n  # c\n1.5 qid:11 1:nonsense # docid\t=\tGX-3"
    found = scanned(scanner.LetorScanner(), text)
    assert found.queries.tolist() == [b"10", b"11"]
    assert found.query.tolist() == [0, 0, 1]
    assert found.label.tolist() == [2, 0, 1.5]
    assert found.documents.tolist() == [b"GX-1", b"GX-2", b"GX-3"]
    assert found.line.tolist() == [1, 2, 5]


@pytest.mark.parametrize(
    "comment", [b"", b" #", b" # nothing", b" #docid", b" #docid =", b" #docid = ", b" #Docid = x"]
)
def test_letor_documents_need_a_name_on_every_line(scanner: ModuleType, comment: bytes) -> None:
    assert scanned(scanner.LetorScanner(), b"1 qid:1 1:0 #docid = a\n1 qid:1" + comment + b"\n").documents is None


def test_scores(scanner: ModuleType) -> None:
    found = scanned(scanner.NumberScanner(), b" 1.5\n# c\n\n-2e-3\t\r\n7")
    assert found.tolist() == [1.5, -0.002, 7.0]


# ------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 Q0 d 1 0.5", "expected 6 fields (query Q0 document rank score tag), found 5"),
        (b"1 Q0 d 1 0.5 my tag", "expected 6 fields (query Q0 document rank score tag), found 7"),
        (b"1", "expected 6 fields (query Q0 document rank score tag), found 1"),
        (b" # c", "expected 6 fields (query Q0 document rank score tag), found 2"),
        (b"1 Q0 d 1 abc tag", "score 'abc' is not a number"),
        (b"1 Q0 d 1 nan tag", "score 'nan' is not a finite number"),
        (b"1 Q0 d 1 -Infinity tag", "score '-Infinity' is not a finite number"),
        (b"1 Q0 d 1 1e999 tag", "score '1e999' is not a finite number"),
        (b"1 Q0 d 1 0x1p3 tag", "score '0x1p3' is not a number"),
        (b"1 Q0 d 1 1_000 tag", "score '1_000' is not a number"),
        (b"1 Q0 d 1 1,5 tag", "score '1,5' is not a number"),
        (b"1 Q0 d 1 1.5\r tag", "score '1.5\\r' is not a number"),
        (b"1 Q0 d 1 \xff\x1b[2J tag", "score '\\xff\\x1b[2J' is not a number"),
        (b"1 Q0 d 1 0.5 t\0", "binary data (a NUL byte): expected a text file"),
        (b"# a comment \0", "binary data (a NUL byte): expected a text file"),
        (b"1 Q0 first 1 0.1 tag", "document 'first' appears twice for query '1'"),
    ],
)
def test_run_lines_that_are_refused(scanner: ModuleType, line: bytes, message: str) -> None:
    text = b"# c\n\n1 Q0 first 1 0.5 tag\n" + line + b"\n1 broken\n"
    index = judged(scanner, {"1": ["d"]})
    for regroup in (False, True):
        assert refusal(scanner.RunScanner(index, regroup=regroup), text) == (4, message)
    if "twice" not in message:
        assert refusal(scanner.ColumnScanner("run"), text) == (4, message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 0 d", "expected 4 fields (query iteration document grade), found 3"),
        (b"1 0 d 1 2", "expected 4 fields (query iteration document grade), found 5"),
        (b"1 0 d x", "grade 'x' is not a number"),
        (b"1 0 d inf", "grade 'inf' is not a finite number"),
    ],
)
def test_qrels_lines_that_are_refused(scanner: ModuleType, line: bytes, message: str) -> None:
    assert refusal(scanner.ColumnScanner("qrels"), b"1 0 d 1\n" + line) == (2, message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 1:0.5", "expected qid:ID after the label, found '1:0.5'"),
        (b"1 qid: 1:0.5", "expected qid:ID after the label, found 'qid:'"),
        (b"1 qid:#5", "expected qid:ID after the label, found 'qid:'"),
        (b"1", "expected qid:ID after the label, found nothing"),
        (b"1#qid:1", "expected qid:ID after the label, found nothing"),
        (b"x qid:1", "label 'x' is not a number"),
        (b"nan qid:1", "label 'nan' is not a finite number"),
    ],
)
def test_letor_lines_that_are_refused(scanner: ModuleType, line: bytes, message: str) -> None:
    assert refusal(scanner.LetorScanner(), b"1 qid:1\n" + line) == (2, message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 2", "expected one score per line, found 2 fields"),
        (b"one", "score 'one' is not a number"),
        (b"inf", "score 'inf' is not a finite number"),
    ],
)
def test_score_lines_that_are_refused(scanner: ModuleType, line: bytes, message: str) -> None:
    assert refusal(scanner.NumberScanner(), b"1\n" + line) == (2, message)


def test_a_line_without_end(scanner: ModuleType) -> None:
    made = scanner.NumberScanner()
    for block in [b"1\n", *[b"x" * (1 << 20)] * 16]:
        made.feed(block)
    with pytest.raises(ScanError, match="more than 16 MiB") as caught:
        made.feed(b"x")
    assert caught.value.line == 2
    assert refusal(scanner.NumberScanner(), b"1\n" + b" " * (1 << 24) + b"5\n2 3\n")[0] == 2
    assert scanned(scanner.NumberScanner(), b" " * ((1 << 24) - 1) + b"5\n").tolist() == [5]
    assert refusal(scanner.NumberScanner(), b" " * (1 << 24) + b"\0\n")[1].startswith("binary")


def test_a_scanner_is_used_once(scanner: ModuleType) -> None:
    made = scanner.NumberScanner()
    made.finish()
    for again in (made.finish, lambda: made.feed(b"1\n")):
        with pytest.raises(ValueError, match="finished"):
            again()
    made = scanner.NumberScanner()
    with pytest.raises(ScanError):
        made.feed(b"x\n")
    with pytest.raises(ValueError, match="refused"):
        made.feed(b"1\n")


def test_shown() -> None:
    assert shown(b"a'b") == "'a'b'"
    assert shown(b"\xe2\x82\xac\xff\n\x1b") == "'€\\xff\\n\\x1b'"
    assert shown(b"x" * 1000) == "'" + "x" * 60 + "...'"


# ------------------------------------------------------------------------------------------------------- numbers


def read_numbers(scanner: ModuleType, numbers: list[str]) -> list[float]:
    values: list[float] = scanned(scanner.NumberScanner(), "\n".join(numbers).encode()).tolist()
    return values


def bits(values: list[float]) -> bytes:
    return struct.pack(f"{len(values)}d", *values)


def between_two_doubles(pick: random.Random) -> str:
    """A decimal that is exactly, or all but exactly, half way between two doubles."""
    with localcontext(prec=900):
        middle = Decimal(2 * (2**52 + pick.getrandbits(52)) + 1) * Decimal(2) ** pick.randint(-70, 70)
        text = format(middle + pick.choice([-1, 0, 0, 1]) * Decimal(10) ** -200, "f")
    return text[: pick.choice([17, 18, 19, 20, 21, 30, 900])]


def test_numbers_are_rounded_as_python_does(compiled: ModuleType) -> None:
    pick = random.Random(5)
    numbers = ["1e308", "1.7976931348623157e308", "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324"]
    numbers += [
        "1e-99999999999",
        "0e99999999999",
        "-0",
        "-0.0e5",
        "1.",
        ".5",
        "+.5e+1",
        "0" * 400 + "1",
        "1" + "0" * 300,
    ]
    numbers += [
        "0." + "0" * 400 + "1",
        "0." + "0" * 400 + "1e401",
        "1" + "0" * 400 + "e-400",
        "123456789012345678901234567890",
    ]
    for _ in range(20_000):
        numbers += [repr(struct.unpack("d", struct.pack("Q", pick.getrandbits(64) & ~(1 << 62)))[0])]  # no inf, no nan
        numbers += [
            repr(pick.uniform(-30, 30)),
            f"{pick.uniform(0, 30):.{pick.randint(0, 20)}f}",
            between_two_doubles(pick),
        ]
        numbers += [f"{pick.getrandbits(pick.randint(1, 70))}e{pick.randint(-90, 90)}"]
    assert bits(read_numbers(compiled, numbers)) == bits([float(number) + 0.0 for number in numbers])


@given(st.text("0123456789.eE+-_xinfa ", max_size=12))
def test_a_number_is_a_number_for_both(text: str) -> None:
    compiled = pytest.importorskip("calipers.native._scanner")
    line = text.encode() + b"\n"
    assert outcome(compiled.NumberScanner(), [line]) == outcome(_plain.NumberScanner(), [line])


# ----------------------------------------------------------------------------------------- runs and judgments


def rows(found: Any) -> list[tuple[int, float, int, int, int, int]]:
    columns = (found.document, found.score, found.first, found.last, found.docid_rank, found.input_rank)
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def test_strictly_falling_scores(scanner: ModuleType) -> None:
    index = judged(scanner, {"q1": ["a", "b"], "q2": ["c"], "q3": ["d"]})
    run = run_of(("q2", "x", 3), ("q2", "c", 2), ("u", "a", 9), ("q1", "b", 3), ("q1", "y", 2), ("q1", "a", 1))
    found = scanned(scanner.RunScanner(index), run)
    assert found.query.tolist() == [1, 0]
    assert found.length.tolist() == [2, 3]
    assert found.tied.tolist() == [0, 0]
    assert found.offsets.tolist() == [0, 1, 3]
    assert rows(found) == [(2, 2, 2, 2, 2, 2), (1, 3, 1, 1, 1, 1), (0, 1, 3, 3, 3, 3)]
    assert found.unjudged.tolist() == [b"u"]
    assert found.unjudged_queries == 1
    assert found.tag == b"tag"
    assert not found.scattered


def test_ties_go_by_id_descending_as_bytes(scanner: ModuleType) -> None:
    # "9" is above "10", and "é" (two bytes, both above 0x7f) above "z"; an id is above what it starts with.
    ids = ["10", "9", "z", "é", "9a"]
    index = judged(scanner, {"q": ids})
    found = scanned(scanner.RunScanner(index), run_of(*(("q", d, 1.0) for d in ids)))
    assert found.tied.tolist() == [5]
    order = ["é", "z", "9a", "9", "10"]
    assert rows(found) == [(ids.index(d), 1, 1, 5, rank, ids.index(d) + 1) for rank, d in enumerate(order, 1)]


def test_unsorted_and_tied(scanner: ModuleType) -> None:
    index = judged(scanner, {"q": ["a", "b", "c"]})
    run = run_of(("q", "b", 1), ("q", "x", 2), ("q", "c", 2), ("q", "y", 3), ("q", "a", 1), ("q", "z", -1))
    found = scanned(scanner.RunScanner(index), run)
    assert found.tied.tolist() == [4]
    assert rows(found) == [(2, 2, 2, 3, 3, 3), (1, 1, 4, 5, 4, 4), (0, 1, 4, 5, 5, 5)]


def test_ties_are_kept_whether_judged_or_not(scanner: ModuleType) -> None:
    index = judged(scanner, {"q": ["a"], "r": ["b"], "s": ["c"]})
    of_q = (("q", "x", 3), ("q", "y", 3), ("q", "a", 2), ("q", "z", 1), ("q", "w", 1), ("q", "v", 1))
    run = run_of(*of_q, ("r", "b", 2), ("r", "x", 1), ("s", "c", 1), ("s", "x", 1))
    for depth, offsets, first, last in (
        (0, [0, 2, 2, 3], [1, 4, 1], [2, 6, 2]),
        (5, [0, 2, 2, 3], [1, 4, 1], [2, 5, 2]),
        (4, [0, 1, 1, 2], [1, 1], [2, 2]),
        (1, [0, 0, 0, 0], [], []),
    ):
        ties = scanned(scanner.RunScanner(index, depth=depth), run).all_ties
        assert (ties.offsets.tolist(), ties.first.tolist(), ties.last.tolist()) == (offsets, first, last)
    turned = TieSpans.joined([ties, TieSpans.of(np.array([0, 0, 1]), np.array([1, 1, 1]), np.array([2, 2, 1]), 2)])
    assert turned.take(np.array([4, 3])).offsets.tolist() == [0, 0, 1]
    assert turned.take(np.array([3])).last.tolist() == [2]


def test_depth_cuts_in_docid_order(scanner: ModuleType) -> None:
    index = judged(scanner, {"q": ["a", "b", "c", "d"]})
    run = run_of(("q", "a", 1), ("q", "b", 1), ("q", "d", 1), ("q", "c", 1), ("q", "x", 2))
    found = scanned(scanner.RunScanner(index, depth=3), run)  # keeps x, d, c; of these d comes first in the input
    assert found.length.tolist() == [3]
    assert found.tied.tolist() == [2]
    assert rows(found) == [(3, 1, 2, 3, 2, 2), (2, 1, 2, 3, 3, 3)]
    found = scanned(scanner.RunScanner(index, depth=2), run)  # one of the tie is left: no longer a tie
    assert found.tied.tolist() == [0]
    assert rows(found) == [(3, 1, 2, 2, 2, 2)]
    assert scanned(scanner.RunScanner(index, depth=100), run).length.tolist() == [5]
    with pytest.raises(ValueError, match="depth"):
        scanner.RunScanner(index, depth=-1)


def test_single_precision(scanner: ModuleType) -> None:
    index = judged(scanner, {"q": ["a", "b"]})
    run = run_of(("q", "a", "1.00000000002"), ("q", "b", "1.00000000001"))
    assert scanned(scanner.RunScanner(index), run).tied.tolist() == [0]
    found = scanned(scanner.RunScanner(index, precision="single"), run)
    assert found.tied.tolist() == [2]
    assert rows(found) == [(1, 1, 1, 2, 1, 2), (0, 1, 1, 2, 2, 1)]


def test_zero_has_no_sign(scanner: ModuleType) -> None:
    index = judged(scanner, {"q": ["a", "b"]})
    found = scanned(scanner.RunScanner(index), run_of(("q", "a", "-0.0"), ("q", "b", "0")))
    assert found.tied.tolist() == [2]
    assert bits(found.score.tolist()) == bits([0.0, 0.0])


def test_scattered_queries(scanner: ModuleType) -> None:
    index = judged(scanner, {"1": ["a", "b"], "2": ["a"]})
    run = run_of(("1", "a", 1), ("2", "a", 1), ("1", "b", 2), ("2", "x", 5))
    made = scanner.RunScanner(index)
    made.feed(run + b"unreadable \0")
    assert made.scattered
    assert made.idle
    made.feed(b"more \0 of it")
    assert made.finish().scattered
    found = scanned(scanner.RunScanner(index, regroup=True), run)
    assert found.scattered
    assert found.query.tolist() == [0, 1]
    assert found.length.tolist() == [2, 2]
    assert rows(found) == [(1, 2, 1, 1, 1, 1), (0, 1, 2, 2, 2, 2), (2, 1, 2, 2, 2, 2)]


def test_a_query_without_judgments_may_come_back(scanner: ModuleType) -> None:
    index = judged(scanner, {"1": ["a"]})
    run = run_of(("u", "a", 1), ("1", "a", 1), ("u", "a", 1))
    found = scanned(scanner.RunScanner(index), run)
    assert not found.scattered
    assert found.unjudged_queries == 1


def test_the_first_error_is_reported_when_regrouping(scanner: ModuleType) -> None:
    index = judged(scanner, {"1": ["a"], "2": ["a"], "3": []})
    run = run_of(("1", "a", 1), ("2", "x", 1), ("3", "y", 1), ("3", "y", 1), ("2", "x", 1), ("1", "a", 1))
    twice = (4, "document 'y' appears twice for query '3'")
    assert refusal(scanner.RunScanner(index, regroup=True), run) == twice
    assert refusal(scanner.RunScanner(index, regroup=True), run + b"bad\n") == twice
    assert refusal(scanner.RunScanner(index, regroup=True), run + b"\0") == twice
    assert refusal(scanner.RunScanner(index, regroup=True), b"bad\n" + run)[0] == 1


def test_only_parts_that_regroup_can_be_put_together(compiled: ModuleType) -> None:
    index = judged(compiled, {"1": ["a"]})

    def made(regroup: bool = True, **options: Any) -> Any:
        return compiled.RunScanner(index, regroup=regroup, **options)

    whole, cut = made(), made()
    cut.feed(b"1 Q0 a")
    for first, later in ((made(), made(False)), (made(False), made()), (whole, whole), (cut, made())):
        with pytest.raises(ValueError, match=r"put together|within a line"):
            first.absorb(later)
    with pytest.raises(ValueError, match="one index"):
        made().absorb(compiled.RunScanner(judged(compiled, {}), regroup=True))
    with pytest.raises(ValueError, match="split"):
        made(False).split(2)
    whole.absorb(made())
    assert [len(share.finish().query) for share in whole.split(2)] == [0, 0]
    with pytest.raises(ValueError, match="finished"):
        whole.split(2)


def test_nothing_to_read(scanner: ModuleType) -> None:
    found = scanned(scanner.RunScanner(judged(scanner, {"1": ["a"]})), b"# c\n\n")
    assert found.offsets.tolist() == [0]
    assert len(found.document) == len(found.query) == found.unjudged_queries == 0
    assert len(scanned(scanner.ColumnScanner("qrels"), b"").documents) == 0
    assert len(scanned(scanner.LetorScanner(), b"").label) == 0
    assert len(scanned(scanner.NumberScanner(), b"")) == 0


def test_queries_of_any_size(compiled: ModuleType) -> None:
    """Tables grow for a large query and are small again after it; ids of all lengths up to a slab of their own."""
    pick = random.Random(1)
    pools = {str(q): [f"d{i}" for i in range(0, 4000, 3)] for q in range(4)}
    lines: list[tuple[str, str, object]] = []
    for q, size in enumerate([3, 5000, 2, 700]):
        lines += [(str(q), f"d{i}" + "x" * (i if i % 911 == 0 else 0), pick.randint(0, 2000)) for i in range(size)]
    for order in (lines, pick.sample(lines, len(lines))):
        run = run_of(*order)
        outcomes = [
            outcome(module.RunScanner(judged(module, pools), regroup=order is not lines, depth=depth), [run])
            for module in (_plain, compiled)
            for depth in (0, 1500)
        ]
        assert outcomes[:2] == outcomes[2:]


def test_index(scanner: ModuleType) -> None:
    index = judged(scanner, {"q1": ["a", "b", "a"], "": [], "q2": ["a", "c" * 100]})
    assert len(index) == 3
    assert [index.query(q) for q in (b"q1", b"", b"q2", b"q", b"q11")] == [0, 1, 2, -1, -1]
    assert [index.find(0, d) for d in (b"a", b"b", b"c", b"")] == [0, 1, -1, -1]
    assert index.find(1, b"a") == -1
    assert [index.find(2, d) for d in (b"a", b"b", b"c" * 100, b"c" * 99)] == [3, -1, 4, -1]
    for query in (-1, 3):
        with pytest.raises(IndexError):
            index.find(query, b"a")


@pytest.mark.parametrize(
    ("pools", "distinct"),
    [
        ({"q1": ["a", "b"], "q2": ["a"]}, True),
        ({"q1": ["a", "b"], "q2": ["c", "a", "c"]}, False),
        ({"q1": [], "q2": []}, True),
    ],
)
def test_index_knows_whether_a_document_is_judged_twice(
    scanner: ModuleType, pools: dict[str, list[str]], distinct: bool
) -> None:
    assert judged(scanner, pools).distinct is distinct


@pytest.mark.parametrize("twice", [None, 0, 70_000, 149_999])
@pytest.mark.parametrize("way", ["lines", "regrouped", "rows"])
def test_a_long_list_finds_the_document_that_is_there_twice(compiled: ModuleType, way: str, twice: int | None) -> None:
    """Long enough that the filter in front takes several new documents for known ones."""
    count = 150_000
    documents = [f"d{i}" for i in range(count)] + ([] if twice is None else [f"d{twice}"])
    made = compiled.RunScanner(judged(compiled, {"q": ["d5", f"d{count - 1}", "x"]}), regroup=way == "regrouped")

    def scan() -> Any:
        if way != "rows":
            return scanned(made, run_of(*(("q", document, -i) for i, document in enumerate(documents))))
        scores = -np.arange(len(documents), dtype=np.float64)
        made.feed_rows(Ids.of(["q"]), np.zeros(len(documents), np.int32), Ids.of(documents), scores)
        return made.finish()

    if twice is None:
        found = scan()
        assert (found.length.tolist(), found.first.tolist()) == ([count], [6, count])
    else:
        with pytest.raises(ScanError) as caught:
            scan()
        assert (caught.value.line, caught.value.message) == (
            count + 1,
            f"document 'd{twice}' appears twice for query 'q'",
        )


@pytest.mark.parametrize("offsets", [[0, 1], [0, 1, 3], [1, 1, 2], [0, 2, 1, 2], [], [0, 3, 2]])
def test_index_checks_its_offsets(scanner: ModuleType, offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="one part per query"):
        scanner.JudgedIndex(Ids.of(["q1", "q2"]), np.array(offsets, np.int64), Ids.of(["a", "b"]))


def test_index_refuses_a_query_that_occurs_twice(scanner: ModuleType) -> None:
    with pytest.raises(ValueError, match="twice"):
        scanner.JudgedIndex(Ids.of(["q", "q"]), np.array([0, 1, 2]), Ids.of(["a", "b"]))


def test_index_does_not_trust_ids(compiled: ModuleType) -> None:
    damaged = Ids(np.frombuffer(b"abc", np.uint8), np.array([0, 2, 100]))
    for queries, documents in ((damaged, Ids.of(["a"])), (Ids.of(["a", "b"]), damaged)):
        with pytest.raises(ValueError, match="damaged"):
            compiled.JudgedIndex(queries, np.array([0, 1, 1]), documents)


def test_threads_share_an_index(compiled: ModuleType) -> None:
    index = judged(compiled, {str(q): [f"d{i}" for i in range(0, 300, 7)] for q in range(50)})
    run = run_of(*((str(q), f"d{i}", 1000 - i) for q in range(50) for i in range(300)))
    results: list[Any] = []

    def scan() -> None:
        results.append(outcome(compiled.RunScanner(index), [run[i : i + 999] for i in range(0, len(run), 999)]))

    threads = [threading.Thread(target=scan) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [outcome(compiled.RunScanner(index), [run])] * 4


def test_no_object_is_half_made(compiled: ModuleType) -> None:
    for made in (compiled.ColumnScanner, compiled.JudgedIndex, compiled.RunScanner):
        with pytest.raises(TypeError):
            made.__new__(made)
    with pytest.raises(TypeError):
        compiled.RunScanner(None)
    for made in (compiled.LetorScanner, compiled.NumberScanner):
        assert outcome(made.__new__(made), []) == outcome(made(), [])


# -------------------------------------------------------------------------------------------------- segments


def test_rank_segments(scanner: ModuleType) -> None:
    score = np.array([1.0, 3.0, 1.0, 2.0, 5.0, -0.0, 0.0])
    order, first, last = scanner.rank_segments(score, np.array([0, 4, 4, 5, 7]))
    assert order.tolist() == [1, 3, 0, 2, 4, 5, 6]
    assert first.tolist() == [1, 2, 3, 3, 1, 1, 1]
    assert last.tolist() == [1, 2, 4, 4, 1, 2, 2]
    assert [a.dtype.name for a in (order, first, last)] == ["int64", "int32", "int32"]
    assert [len(a) for a in scanner.rank_segments(np.array([]), np.array([0]))] == [0, 0, 0]


@pytest.mark.parametrize("offsets", [[], [0], [0, 2], [1, 3], [0, 4], [0, 2, 1, 3], [0, -1, 3]])
def test_rank_segments_checks_its_offsets(scanner: ModuleType, offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="segments"):
        scanner.rank_segments(np.ones(3), np.array(offsets, np.int64))


def test_rank_segments_refuses_nan(scanner: ModuleType) -> None:
    with pytest.raises(ValueError, match="NaN"):
        scanner.rank_segments(np.array([1.0, np.nan]), np.array([0, 2]))


def test_top_segments(scanner: ModuleType) -> None:
    score = np.array([1.0, 3.0, 1.0, 2.0, 5.0, -0.0, 0.0, -1.0])
    order, first, last, offsets, tied = scanner.top_segments(score, np.array([0, 4, 4, 5, 8]), 1)
    assert order.tolist() == [1, 4, 5, 6]  # a tie at the first rank stays whole
    assert (first.tolist(), last.tolist()) == ([1, 1, 1, 1], [1, 1, 2, 2])
    assert (offsets.tolist(), tied.tolist()) == ([0, 1, 1, 2, 4], [2, 0, 0, 2])
    assert [a.dtype.name for a in (order, first, last, offsets, tied)] == ["int64", "int32", "int32", "int64", "int32"]
    for bad, message in (
        ((score, [0, 3], 1), "segments"),
        (([np.nan], [0, 1], 1), "NaN"),
        ((score, [0, 8], 0), "depth"),
    ):
        with pytest.raises(ValueError, match=message):
            scanner.top_segments(np.array(bad[0]), np.array(bad[1]), bad[2])


@pytest.mark.parametrize("depth", [1, 10, 1000])
def test_top_of_large_segments(compiled: ModuleType, depth: int) -> None:
    rng = np.random.default_rng(4)
    offsets = np.array([0, 1, 4 * depth, 12_000, 20_000])
    for score in (rng.random(20_000), rng.integers(0, 99, 20_000) / 7, np.ones(20_000), -np.arange(20_000.0)):
        found, expected = (module.top_segments(score, offsets, depth) for module in (compiled, _plain))
        assert [*map(comparable, found)] == [*map(comparable, expected)]


def test_pairs_are_numbered_over_several_calls(scanner: ModuleType) -> None:
    pairs = scanner.PairNumbers()
    number, again = pairs.number(np.array([1, 0, 1]), Ids.of([b"a", b"a", b""]))
    assert (number.tolist(), again) == ([0, 1, 2], None)
    number, again = pairs.number(np.array([0, 1, 0, 0, 1]), Ids.of([b"b", b"a", b"a", b"b", b"a"]))
    assert (number.tolist(), again) == ([3, 0, 1, 3, 0], 3)  # the row that repeats one of the same call
    group, ids = pairs.pairs_so_far()
    assert [*zip(group.tolist(), ids, strict=True)] == [(1, b"a"), (0, b"a"), (1, b""), (0, b"b")]
    with pytest.raises(ValueError, match="not one per group"):
        pairs.number(np.array([0]), Ids.of([]))


def test_pairs_of_the_twins(compiled: ModuleType) -> None:
    random = np.random.default_rng(5)
    twins = compiled.PairNumbers(), _plain.PairNumbers()
    for size in (0, 1, 300, 3000):
        group = random.integers(0, 5, size).astype(np.int32)
        ids = Ids.of([b"d" * int(each % 30) + str(each).encode() for each in random.integers(0, 4000, size)])
        (found, again), (expected, expected_again) = (each.number(group, ids) for each in twins)
        assert found.tolist() == expected.tolist()
        assert again == expected_again
    (group, ids), (expected_group, expected_ids) = (each.pairs_so_far() for each in twins)
    assert group.tolist() == expected_group.tolist()
    assert ids.tolist() == expected_ids.tolist()
    with pytest.raises(ValueError, match="not one per group"):
        compiled.PairNumbers().number(np.array([-1]), Ids.of([b"a"]))


def test_number_distinct(scanner: ModuleType) -> None:
    number, first = scanner.number_distinct(np.array([7, 0, 7, 2**64 - 1, 0], np.uint64))
    assert (number.tolist(), first.tolist()) == ([0, 1, 0, 2, 1], [0, 1, 3])
    many = np.random.default_rng(6).integers(0, 9_000, 20_000).astype(np.uint64) << np.uint64(40)
    for keys in (many, many[:0]):
        assert [*map(comparable, scanner.number_distinct(keys))] == [*map(comparable, _plain.number_distinct(keys))]


def test_large_segments(compiled: ModuleType) -> None:
    rng = np.random.default_rng(3)
    for score in (rng.random(50_001), rng.integers(0, 99, 30_000) / 7, 1 + rng.integers(0, 9999, 20_000) * 2.0**-52):
        for offsets in (np.array([0, len(score)]), np.array([0, 1, 1000, len(score)])):
            found, expected = compiled.rank_segments(score, offsets), _plain.rank_segments(score, offsets)
            assert [*map(comparable, found)] == [*map(comparable, expected)]


# ------------------------------------------------------------------------------------------- cuts and twins


TEXTS = {
    "run": b"\xef\xbb\xbf# c\r\n1 Q0 a 1 2.25 t\n1\tQ0  b 2 2.25 t\r\n\n2 Q0 a 1 17.123456789012345 t\n2 Q0 c 2 1e-3 t",
    "qrels": b"\xef\xbb\xbf1 0 a 1\n1 0 bb 2\r\n# x\n2 0 a -1\n\n",
    "triples": b"\xef\xbb\xbf1 a 1\n1\tbb  2.5\r\n# x\n2 a -1\n\n",
    "letor": b"1 qid:1 1:0.5 #docid = x\n0 qid:2 1:0.5 2:7 # docid = yy\r\n",
    "scores": b"0.5\n1e5\r\n\n-7",
}


def maker(scanner: ModuleType, kind: str) -> Any:
    if kind == "run":
        return scanner.RunScanner(judged(scanner, {"1": ["a", "b"], "2": ["c"]}))
    if kind in ("qrels", "triples"):
        return scanner.ColumnScanner(kind, keep_second=True)
    return scanner.LetorScanner() if kind == "letor" else scanner.NumberScanner()


@pytest.mark.parametrize("kind", TEXTS)
def test_blocks_may_be_cut_anywhere(scanner: ModuleType, kind: str) -> None:
    good = TEXTS[kind]
    for text in (good, good + b"\n\nbad line here\nand more", good[:-9] + b"\0" + good[-9:]):
        whole = outcome(maker(scanner, kind), [text])
        for i in range(len(text) + 1):
            assert outcome(maker(scanner, kind), [text[:i], text[i:]]) == whole
            assert outcome(maker(scanner, kind), [text[:i], text[i : i + 1], b"", text[i + 1 :]]) == whole
        assert outcome(maker(scanner, kind), [text[i : i + 1] for i in range(len(text))]) == whole


def test_any_buffer_will_do(scanner: ModuleType) -> None:
    text = TEXTS["scores"]
    kinds = (bytes, bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8))
    assert all(fields_of(scanned(maker(scanner, "scores"), kind(text)))[0].tolist() == [0.5, 1e5, -7] for kind in kinds)


@pytest.mark.parametrize("start", range(0, 400, 50))
def test_twins_agree(compiled: ModuleType, start: int) -> None:
    for seed in range(start, start + 50):
        assert fuzz_scanner.difference(compiled, seed) is None


whole_lines = [b"1 Q0 a 1 0.5 t\n", b"1 Q0 b 1 0.5 t\n", b"2 Q0 a 1 1 t\r\n", b"1 0 a 1\n", b"1 qid:1 1:1 #docid = d\n"]
marks = [b" ", b"\t", b"\n", b"\r", b"\r\n", b"#", b"=", b"\0", b"\x01", b"\xef\xbb\xbf"]
words = [b"1", b"2", b"Q0", b"d", b"qid:", b"docid", b".5", b"e"]
pieces = st.sampled_from([*whole_lines, *marks, *words])


@given(st.lists(pieces, max_size=30).map(b"".join), st.data())
def test_twins_agree_on_any_bytes(text: bytes, data: st.DataObject) -> None:
    compiled = pytest.importorskip("calipers.native._scanner")
    cut = data.draw(st.integers(0, len(text)))
    for kind in TEXTS:
        plain = outcome(maker(_plain, kind), [text])
        assert outcome(maker(compiled, kind), [text[:cut], text[cut:]]) == plain


# ----------------------------------------------------------------------------------------------- which one it is


def python(code: str, **environment: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()


def test_the_plain_twin_can_be_asked_for(compiled: ModuleType) -> None:
    code = "from calipers.native.scanner import COMPILED, RunScanner; print(COMPILED, RunScanner.__module__)"
    assert python(code, CALIPERS_PLAIN="1") == "False calipers.native.plain"
    assert python(code, CALIPERS_PLAIN="") == "True calipers.native._scanner"


def test_both_have_the_same_names(compiled: ModuleType) -> None:
    from calipers.native import scanner

    offered = {name for name, value in vars(scanner).items() if name[0] != "_" and not isinstance(value, ModuleType)}
    offered -= {"annotations", "SLOW", "warn_user"}  # what it says where it is not compiled
    assert {"COMPILED", "ColumnScanner", "rank_segments"} <= offered
    for module in (_plain, compiled):
        assert [name for name in offered if not hasattr(module, name)] == []


@pytest.mark.parametrize("precision", ["double", "single"])
def test_ranks_in_a_dict_are_those_of_the_twin(compiled: ModuleType, precision: str) -> None:
    draw = random.Random(7)
    for _ in range(300):
        levels = draw.choice([1, 3, 1000])
        scores = {f"d{i}": draw.randint(1, levels) / 3 for i in draw.sample(range(40), draw.randint(0, 30))}
        if draw.random() < 0.3:
            scores = dict(sorted(scores.items(), key=lambda item: -item[1]))
        names = [f"d{i}" for i in draw.sample(range(60), 30)]
        start = draw.randint(0, 30)
        end = draw.randint(start, 30)
        ours, theirs = (twin.rank_documents(scores, names, start, end, precision) for twin in (compiled, _plain))
        assert ours[:2] == theirs[:2]
        for one, other in zip(ours[2:], theirs[2:], strict=True):
            assert one.tolist() == other.tolist()


def test_scores_that_change_their_dict_while_they_are_read(scanner: ModuleType) -> None:
    """The scores are those that were there at first; what is left of the dict is looked up."""

    class Changing:
        def __init__(self, score: float, scores: dict[str, Any]) -> None:
            self.score, self.scores = score, scores

        def __float__(self) -> float:
            for number in range(100):
                self.scores.setdefault(f"new{number}", 0.5)
            self.scores.pop("gone", None)
            return self.score

    scores: dict[str, Any] = {}
    scores |= {"a": Changing(3.0, scores), "b": Changing(2.0, scores), "gone": Changing(1.0, scores)}
    length, tied, place, score, first, last = scanner.rank_documents(scores, ["b", "gone", "a"], 0, 3, "double")
    assert (length, tied, place.tolist(), score.tolist()) == (3, 0, [0, 2], [2.0, 3.0])
    assert first.tolist() == last.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("scores", "error"),
    [({"a": float("nan")}, ValueError), ({"a": float("inf")}, ValueError), ({"a": "x"}, (TypeError, ValueError))],
)
def test_scores_in_a_dict_that_are_no_numbers(scanner: ModuleType, scores: dict[str, float], error: Any) -> None:
    with pytest.raises(error):
        scanner.rank_documents(scores, ["a"], 0, 1, "double")
