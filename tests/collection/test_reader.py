"""Files into columns and lists: packed, piped, damaged, cut into parts, and everything that can be wrong with them."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import io
import lzma
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers.collection import files, reader
from calipers.collection.files import blocks
from calipers.collection.formats import FORMATS, first_line, sniff
from calipers.collection.formats.letor import read_letor, read_scores
from calipers.collection.formats.trec import read_qrels, read_run, read_subtopics
from calipers.collection.reader import scan_run
from calipers.errors import CalipersError
from calipers.native.columns import Retrieved
from calipers.native.ids import Ids
from calipers.native.scanner import JudgedIndex, ScanError
from laws.fuzz_scanner import comparable

QRELS = b"1 0 a 1\n1 0 b 0\n2 0 c 2\n"
RUN = b"1 Q0 a 1 3.5 mine\n1 Q0 x 2 2.5 mine\n1 Q0 b 3 1.5 mine\n2 Q0 c 1 9 mine\n3 Q0 c 1 1 mine\n"
LETOR = b"2 qid:1 1:0.5 2:0.1 #docid = a\n0 qid:1 1:0.5 2:0.1 #docid = b\n"
SCORES = b"0.5\n-1e3\n"

PACK: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


def index_of(pools: dict[str, list[str]]) -> JudgedIndex:
    offsets = np.cumsum([0, *map(len, pools.values())])
    return JudgedIndex(Ids.of(pools), offsets, Ids.of(d for pool in pools.values() for d in pool))


@pytest.fixture
def index() -> JudgedIndex:
    return index_of({"1": ["a", "b"], "2": ["c"]})


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def write(content: bytes, name: str = "file") -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    return write


def content(result: Any) -> list[Any]:
    return [comparable(getattr(result, field.name)) for field in dataclasses.fields(result)]


def refusal(call: Callable[..., Any], *arguments: Any, **named: Any) -> CalipersError:
    with pytest.raises(CalipersError) as caught:
        call(*arguments, **named)
    assert "\n" not in str(caught.value)
    return caught.value


# ----------------------------------------------------------------------------------------------- what is in a file


@pytest.mark.parametrize("packing", PACK)
def test_packed_files_are_known_by_content(packing: str, write: Callable[..., str], index: JudgedIndex) -> None:
    path = write(PACK[packing](RUN), "a-name-that-says-nothing.txt")
    assert b"".join(map(bytes, blocks(path))) == RUN
    assert b"".join(map(bytes, blocks(path, size=3))) == RUN
    found = scan_run(path, index)
    assert found.tag == b"mine"
    assert found.docid_rank.tolist() == [1, 3, 1]
    assert found.unjudged_queries == 1
    assert read_run(path).documents.tolist() == [b"a", b"x", b"b", b"c", b"c"]


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
def test_packed_files_in_several_streams(packing: str, write: Callable[..., str]) -> None:
    pack = PACK[packing]
    lines = QRELS.splitlines(keepends=True)
    streams = b"".join(pack(line) for line in [*lines, b""])
    for path in (write(streams), write(streams + bytes(64), "padded")):
        assert read_qrels(path).documents.tolist() == [b"a", b"b", b"c"]


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
def test_more_than_a_block(packing: str, write: Callable[..., str]) -> None:
    pick = random.Random(1)
    text = b"".join(b"%d 0 %x 1\n" % (i // 99, pick.getrandbits(80)) for i in range(40_000))
    assert len(text) > 4 * files.BLOCK
    path = write(PACK[packing](text))
    assert b"".join(map(bytes, blocks(path))) == text
    assert max(map(len, blocks(path))) <= files.BLOCK


def test_small_blocks_leave_large_ones_as_they_are(write: Callable[..., str]) -> None:
    path = write(QRELS)
    assert len([*blocks(path, size=4)]) == -(-len(QRELS) // 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", 4)
        assert len([*blocks(path, size=4)]) == -(-len(QRELS) // 4)
    assert len([*blocks(path)]) == 1


def test_the_other_formats(write: Callable[..., str]) -> None:
    assert read_qrels(write(QRELS)).value.tolist() == [1, 0, 2]
    second, documents = read_subtopics(write(QRELS)).second, read_letor(write(LETOR)).documents
    assert [*(second or ())] == [b"0"] * 3
    assert [*(documents or ())] == [b"a", b"b"]
    assert read_scores(write(SCORES)).tolist() == [0.5, -1000]


@pytest.mark.parametrize("name", ["qrels", "run", "letor", "scores"])
@pytest.mark.parametrize("packing", PACK)
def test_sniff(name: str, packing: str, write: Callable[..., str]) -> None:
    text = {"qrels": QRELS, "run": RUN, "letor": LETOR, "scores": SCORES}[name]
    for start in (b"", b"\xef\xbb\xbf", b"# a comment\r\n\r\n \t\n"):
        path = write(PACK[packing](start + text.replace(b"\n", b"\r\n")))
        assert sniff(path) == name
        assert first_line(path).split() == text.splitlines()[0].split()
        assert FORMATS[name].read(path) is not None


def test_sniff_of_something_else(write: Callable[..., str]) -> None:
    error = refusal(sniff, write(b"one,two,three\n1 2 3 4 5\n".replace(b",", b" ")))
    assert error.message == (
        "no known format; the first line is 'one two three'; nearest are headerless (query document number): 'three' "
        "in the third column is not a number; and qrels (query iteration document grade): 3 fields, not 4"
    )
    assert sniff(write(b"# nothing\n\n1.5\n")) == "scores"
    assert refusal(sniff, write(b"# nothing\n\n")).message.startswith("no known format")


@pytest.mark.parametrize(
    "text",
    [
        RUN.replace(b" ", b"\t"),
        RUN.replace(b" ", b" \t "),
        RUN.replace(b"\n", b"\r\n"),
        RUN.replace(b"\n", b" \r\n"),
        b"\xef\xbb\xbf" + RUN,
        b"# made on Monday\n" + RUN.replace(b"\n", b"\n#\n\n"),
        RUN.rstrip(b"\n"),
        b"  " + RUN.replace(b"\n", b"\n\t"),
        RUN.replace(b"3.5", b"+35e-1"),
    ],
)
def test_ways_to_write_one_run(text: bytes, write: Callable[..., str], index: JudgedIndex) -> None:
    assert content(scan_run(write(text), index)) == content(scan_run(write(RUN, "other"), index))


def test_ids_are_bytes(write: Callable[..., str]) -> None:
    ids = ["é".encode(), "é".encode("latin-1"), b"\xff\xfe", b"007", b"7"]
    path = write(b"".join(b"1 0 " + identifier + b" 1\n" for identifier in ids))
    assert read_qrels(path).documents.tolist() == ids


# ---------------------------------------------------------------------------------------------------- bad input


def test_missing_file(tmp_path: Path, index: JudgedIndex) -> None:
    path = str(tmp_path / "none.txt")
    for call in (read_qrels, read_run, read_letor, read_scores, sniff):
        assert str(refusal(call, path)) == f"{path}: no such file"
    for jobs in (1, 2):
        assert str(refusal(scan_run, path, index, jobs=jobs)) == f"{path}: no such file"


def test_directory(tmp_path: Path, index: JudgedIndex) -> None:
    assert str(refusal(read_qrels, tmp_path)) == f"{tmp_path}: a directory: expected a file"
    assert refusal(scan_run, tmp_path, index).message == "a directory: expected a file"


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_device() -> None:
    assert refusal(read_qrels, "/dev/zero").message == "a device: expected a file"


def test_file_that_may_not_be_read(write: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = write(QRELS)
    monkeypatch.setattr(files, "opened", refuse)  # a mode would not keep root out
    assert str(refusal(read_qrels, path)) == f"{path}: cannot be read: Permission denied"


def test_name_too_long(tmp_path: Path) -> None:
    assert refusal(read_qrels, str(tmp_path / ("x" * 5000))).message.startswith("cannot be read: ")


@pytest.mark.parametrize("packing", PACK)
def test_empty_file(packing: str, write: Callable[..., str], index: JudgedIndex) -> None:
    path = write(PACK[packing](b""))
    assert str(refusal(read_qrels, path)) == f"{path}: the file is empty"
    assert refusal(scan_run, path, index).message == "the file is empty"
    assert refusal(sniff, path).message == "the file is empty"


def test_nothing_but_comments(write: Callable[..., str], index: JudgedIndex) -> None:
    path = write(b"# one\n\n# two\n")
    for call in (read_qrels, read_run, read_letor, read_scores):
        assert str(refusal(call, path)) == f"{path}:3: nothing but comments and empty lines"
    assert refusal(scan_run, path, index).message == "nothing but comments and empty lines"


@pytest.mark.parametrize("call", [read_qrels, read_run, read_letor, read_scores])
def test_binary_junk(call: Callable[..., Any], write: Callable[..., str]) -> None:
    pick = random.Random(3)
    for _ in range(50):
        error = refusal(call, write(pick.randbytes(3000).replace(b"\x1f\x8b", b"")))
        assert error.line is not None
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    assert refusal(call, write(png)).line == 1


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
def test_packed_binary_junk(packing: str, write: Callable[..., str]) -> None:
    path = write(PACK[packing](b"1 0 a 1\n" + bytes(5000)))
    assert str(refusal(read_qrels, path)) == f"{path}:2: binary data (a NUL byte): expected a text file"


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
def test_truncated(packing: str, write: Callable[..., str], index: JudgedIndex) -> None:
    pick = random.Random(2)
    run = b"".join(b"%d Q0 d%d 1 %r t\n" % (i // 9, i, pick.random()) for i in range(3000))
    packed = PACK[packing](run)
    for cut in (8, 20, len(packed) // 2, len(packed) - 9, len(packed) - 1):
        path = write(packed[:cut])
        error = refusal(scan_run, path, index)
        assert error.file == path
        assert error.message.endswith("data ends too early: the file is truncated")
    assert refusal(read_run, write(gzip.compress(run)[:-4])).line == 3001


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
def test_damaged(packing: str, write: Callable[..., str]) -> None:
    packed = bytearray(PACK[packing](QRELS * 1000))
    packed[len(packed) // 2] ^= 0xFF
    assert "is damaged" in refusal(read_qrels, write(bytes(packed))).message
    rest = PACK[packing](QRELS) + b"and something else"
    assert refusal(read_qrels, write(rest)).message.endswith("data: the file is damaged")


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
def test_file_that_unpacks_without_end(
    packing: str, write: Callable[..., str], index: JudgedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(PACK[packing](b"\n" * 3_000_000))
    error = refusal(read_qrels, path, max_unpacked=1_000_000)
    assert "unpacks to more than 1,000,000 bytes" in error.message
    assert "allow more with max_unpacked" in error.message
    assert error.file == path
    assert error.line is not None
    monkeypatch.setattr(files, "ROOM", 1000)
    monkeypatch.setattr(files, "RATIO", 10)
    for call in (read_qrels, read_run, read_letor, read_scores, lambda path: scan_run(path, index)):
        assert "unpacks to more than" in refusal(call, path).message
    assert refusal(read_qrels, path, max_unpacked=3_000_000).message == "nothing but comments and empty lines"


def test_what_a_packed_file_may_unpack_to(write: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROOM", 0)
    packed = gzip.compress(b"# a line that is there a hundred times\n" * 100 + QRELS)
    assert len(read_qrels(write(packed)).value) == 3
    assert refusal(read_qrels, write(packed), max_unpacked=100).message.startswith("the gzip data unpacks to more")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 Q0 d 5 2.5", "expected 6 fields (query Q0 document rank score tag), found 5"),
        (b"1 Q0 d 5 2.5 the tag", "expected 6 fields (query Q0 document rank score tag), found 7"),
        (b"1 Q0 d 5 abc tag", "score 'abc' is not a number"),
        (b"1 Q0 d 5 nan tag", "score 'nan' is not a finite number"),
        (b"1 Q0 d 5 inf tag", "score 'inf' is not a finite number"),
        (b"2 Q0 c 5 1 tag", "document 'c' appears twice for query '2'"),
    ],
)
def test_bad_run_lines(line: bytes, message: str, write: Callable[..., str], index: JudgedIndex) -> None:
    for packing, pack in PACK.items():
        path = write(pack(RUN.replace(b"3 Q0", line + b"\n3 Q0")), packing)
        assert str(refusal(scan_run, path, index)) == f"{path}:5: {message}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 0 d", "expected 4 fields (query iteration document grade), found 3"),
        (b"1 0 d high", "grade 'high' is not a number"),
        (b"1 0 d NaN", "grade 'NaN' is not a finite number"),
    ],
)
def test_bad_qrels_lines(line: bytes, message: str, write: Callable[..., str]) -> None:
    path = write(QRELS + line)
    assert str(refusal(read_qrels, path)) == f"{path}:4: {message}"


# ----------------------------------------------------------------------------------------------- standard input


def type_in(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))


@pytest.mark.parametrize("packing", PACK)
def test_standard_input(packing: str, monkeypatch: pytest.MonkeyPatch, index: JudgedIndex) -> None:
    scattered = RUN + b"1 Q0 late 4 0.5 mine\n"
    type_in(monkeypatch, PACK[packing](scattered))
    assert sniff("-") == "run"
    assert scan_run("-", index).length.tolist() == [4, 1]  # read twice: once to see that it must be regrouped
    type_in(monkeypatch, QRELS)
    assert len(read_qrels("-").value) == 3


def test_errors_in_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, QRELS + b"oops")
    assert str(refusal(read_qrels, "-")).startswith("<stdin>:4: expected 4 fields")
    type_in(monkeypatch, b"")
    assert str(refusal(read_qrels, "-")) == "<stdin>: the file is empty"


def test_too_much_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_SPOOLED", 10)
    type_in(monkeypatch, QRELS)
    assert str(refusal(read_qrels, "-")) == "<stdin>: more than 10 bytes: write them to a file first"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe(tmp_path: Path, index: JudgedIndex) -> None:
    """As with `calipers evaluate qrels <(zcat run.gz)`."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(RUN))
    writer.start()
    assert sniff(path) == "run"
    assert scan_run(path, index).docid_rank.tolist() == [1, 3, 1]
    writer.join()


# ------------------------------------------------------------------------------------------- the order of lines


def simulated(seed: int = 0, queries: int = 40, documents: int = 60) -> tuple[JudgedIndex, list[bytes]]:
    pick = random.Random(seed)
    pools = {f"q{q}": [f"d{d}" for d in pick.sample(range(200), pick.randint(0, 30))] for q in range(queries) if q % 7}
    lines = []
    for q in pick.sample(range(queries), queries):
        chosen = pick.sample(range(200), pick.randint(1, documents))
        lines += [b"q%d Q0 d%d 0 %.1f mine\n" % (q, d, pick.uniform(0, 9)) for d in chosen]
    return index_of(pools), lines


def by_query(found: Retrieved) -> dict[int, list[Any]]:
    """The lists, whatever the order of the queries; input ranks left out, which depend on the order of the lines."""
    columns = ("document", "score", "first", "last", "docid_rank")
    lists = {}
    for s, query in enumerate(found.query.tolist()):
        part = slice(found.offsets[s], found.offsets[s + 1])
        lists[query] = [int(found.length[s]), int(found.tied[s])]
        lists[query] += [getattr(found, column)[part].tolist() for column in columns]
    return lists


@pytest.mark.parametrize("options", [{}, {"depth": 10}, {"precision": "single"}])
def test_any_order_of_lines(options: dict[str, Any], write: Callable[..., str]) -> None:
    index, lines = simulated()
    expected = scan_run(write(b"".join(lines)), index, **options)
    shuffled = random.Random(4).sample(lines, len(lines))
    found = scan_run(write(b"".join(shuffled), "shuffled"), index, **options)
    assert found.scattered
    assert not expected.scattered
    assert by_query(found) == by_query(expected)
    assert found.unjudged_queries == expected.unjudged_queries == 6
    interleaved = sorted(lines, key=lambda line: line.split()[2])
    assert by_query(scan_run(write(b"".join(interleaved), "mixed"), index, **options)) == by_query(expected)


def test_duplicates_in_scattered_queries(write: Callable[..., str]) -> None:
    index, lines = simulated()
    shuffled = random.Random(4).sample(lines, len(lines))
    judged = [i for i, line in enumerate(shuffled) if index.query(line.split()[0]) >= 0]
    shuffled[judged[-5]] = shuffled[judged[3]]
    shuffled[judged[-9]] = shuffled[judged[7]]
    shuffled.append(b"and a bad line\n")
    error = refusal(scan_run, write(b"".join(shuffled)), index)
    assert error.line == judged[-9] + 1
    assert "appears twice for query" in error.message


# --------------------------------------------------------------------------------------------- parts and threads


def parts_of(path: str, jobs: int) -> list[tuple[int, int]]:
    return reader._parts(path, jobs, 1)


@pytest.mark.parametrize("jobs", [2, 3, 7, 50])
def test_threads_give_what_one_thread_gives(jobs: int, write: Callable[..., str]) -> None:
    for seed in range(5):
        index, lines = simulated(seed)
        lines[0:0] = [b"# a run\n", b"\n"]
        for i in range(5, len(lines), 50):
            lines[i] = b"# comment\n\n \t" + lines[i]
        path = write(b"".join(lines))
        assert len(parts_of(path, jobs)) > 1
        for options in ({}, {"depth": 9}, {"precision": "single"}):
            alone = scan_run(path, index, jobs=1, **options)
            assert not alone.scattered
            assert content(scan_run(path, index, jobs=jobs, smallest_part=1, **options)) == content(alone)


def test_parts_start_where_a_query_does(write: Callable[..., str]) -> None:
    _, lines = simulated()
    text = b"".join(lines)
    path = write(text)
    for jobs in range(2, 60):
        parts = parts_of(path, jobs)
        assert [start for start, _ in parts] == [0, *(end for _, end in parts[:-1])]
        assert parts[-1][1] == len(text)
        for start, _ in parts[1:]:
            assert text[start - 1 : start] == b"\n"
            before, after = text[:start].splitlines()[-1], text[start:].splitlines()[0]
            assert before.split()[0] != after.split()[0]


def test_queries_larger_than_the_window(write: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_WINDOW", 256)
    index, lines = simulated(documents=200)
    path = write(b"".join(lines))
    alone = scan_run(path, index, jobs=1)
    for jobs in (2, 3, 5):
        assert len(parts_of(path, jobs)) == jobs
        assert content(scan_run(path, index, jobs=jobs, smallest_part=1)) == content(alone)
    monkeypatch.setattr(reader, "_WINDOW", 16)  # not even a line
    assert len(parts_of(path, 3)) == 1


def test_a_run_with_one_query_is_one_part(write: Callable[..., str], index: JudgedIndex) -> None:
    path = write(b"".join(b"1 Q0 d%d 0 %d t\n" % (i, -i) for i in range(20_000)))
    assert parts_of(path, 4) == [(0, os.path.getsize(path))]
    assert scan_run(path, index, jobs=4, smallest_part=1).length.tolist() == [20_000]


def test_small_and_packed_runs_are_not_cut(write: Callable[..., str]) -> None:
    _, lines = simulated()
    assert len(parts_of(write(gzip.compress(b"".join(lines))), 4)) == 1
    path = write(b"".join(lines))
    assert len(reader._parts(path, 4, os.path.getsize(path))) == 1


def test_a_part_does_not_start_with_a_byte_order_mark(write: Callable[..., str]) -> None:
    """In the middle of a file these bytes belong to the query."""
    index = index_of({"\ufeffq1": ["a"], "\ufeffq2": ["b"], "q1": ["a"], "q2": ["b"]})
    lines = [b"\xef\xbb\xbfq%d Q0 d%d 1 %d t\n" % (i // 50, i, -i) for i in range(200)]
    path = write(b"q9 Q0 x 1 1 t\n" + b"".join(lines))
    assert parts_of(path, 3) == [(0, os.path.getsize(path))]
    assert scan_run(path, index, jobs=3, smallest_part=1).query.tolist() == [0, 1]


@pytest.mark.parametrize("jobs", [2, 3])
def test_scattered_queries_in_parts(jobs: int, write: Callable[..., str]) -> None:
    index, lines = simulated()
    expected = by_query(scan_run(write(b"".join(lines)), index, jobs=1))
    names = [line.split()[0] for line in lines]
    i = next(i for i, name in enumerate(names) if index.query(name) >= 0 and names[i + 1] == name)
    moved = [*lines[:i], *lines[i + 1 :], lines[i]]  # one query in the first part and in the last
    for order in (moved, random.Random(1).sample(lines, len(lines))):
        found = scan_run(write(b"".join(order)), index, jobs=jobs, smallest_part=1)
        assert found.scattered
        assert by_query(found) == expected
        assert content(found) == content(scan_run(write(b"".join(order)), index, jobs=1))


@pytest.mark.parametrize("jobs", [1, 2, 3, 9])
def test_the_first_error_wins(jobs: int, write: Callable[..., str]) -> None:
    index, lines = simulated()
    for first, second in ((3, 1000), (400, 401), (len(lines) - 2, len(lines) - 1)):
        bad = [*lines]
        bad[first] = b"only four fields here\n"
        bad[second] = b"q1 Q0 d 1 x t\n"
        error = refusal(scan_run, write(b"".join(bad)), index, jobs=jobs, smallest_part=1)
        assert (error.line, error.message[:17]) == (first + 1, "expected 6 fields")
    # A duplicate across two parts comes before an error further down.
    judged = next(i for i, line in enumerate(lines) if index.query(line.split()[0]) >= 0)
    repeated = [*lines, lines[judged], b"and a bad line\n"]
    error = refusal(scan_run, write(b"".join(repeated)), index, jobs=jobs, smallest_part=1)
    assert error.line == len(lines) + 1
    assert "appears twice" in error.message


@pytest.mark.parametrize("place", [0, 1])
def test_threads_catch_what_a_file_can_cause_and_nothing_else(place: int) -> None:
    def tasks(error: Exception) -> list[Callable[[], int]]:
        def fails() -> int:
            raise error

        return [fails if i == place else lambda: 1 for i in range(2)]

    for error in (CalipersError("bad"), ScanError("bad"), OSError("bad"), MemoryError("bad")):
        assert reader.in_threads(tasks(error)) is None
    for mistake in (TypeError("a mistake"), AssertionError("a mistake"), ValueError("a mistake")):
        with pytest.raises(type(mistake), match="a mistake"):
            reader.in_threads(tasks(mistake))
    assert reader.in_threads([lambda: 1, lambda: 2]) == [1, 2]


def test_unjudged_queries_are_counted_once(write: Callable[..., str]) -> None:
    index, lines = simulated()
    lines += [b"u%d Q0 d 1 1 t\n" % (i % 5) for i in range(400)]
    lines += [b"q0 Q0 d 1 1 t\n"]
    alone = scan_run(write(b"".join(lines)), index, jobs=1)
    assert not alone.scattered
    assert alone.unjudged_queries == 6 + 5
    found = scan_run(write(b"".join(lines)), index, jobs=5, smallest_part=1)
    assert content(found) == content(alone)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs ru_maxrss in KiB")
def test_memory_does_not_grow_with_the_run(tmp_path: Path, require: Any) -> None:
    require.module("calipers.native._scanner")
    code = """if True:
        import resource, sys
        import numpy as np
        from calipers.native.ids import Ids
        from calipers.collection.reader import scan_run
        from calipers.native.scanner import JudgedIndex, ScanError
        def run(name, queries):
            lines = [b" Q0 d%d 0 %d tag\\n" % (i, -i) for i in range(1000)]
            with open(name, "wb") as file:
                for q in range(queries):
                    file.write(b"".join(b"%d" % q + line for line in lines))
            return name
        index = JudgedIndex(Ids.of(str(q) for q in range(2000)), np.arange(2001), Ids.of(["d7"] * 2000))
        small, large = run(sys.argv[1], 50), run(sys.argv[2], 2000)
        scan_run(small, index, jobs=2, smallest_part=1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert len(scan_run(large, index, jobs=2).query) == 2000
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    command = [sys.executable, "-c", code, str(tmp_path / "small"), str(tmp_path / "large")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "CALIPERS_PLAIN": ""})
    assert os.path.getsize(tmp_path / "large") > 30 << 20
    assert int(ran.stdout) < 8 << 10
