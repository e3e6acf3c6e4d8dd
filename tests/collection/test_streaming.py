"""Large runs: grouped in memory where their queries are in no order, and progress in bytes."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import calipers as cal
from calipers.cli.reading_progress import FIRST, LINES_EVERY, _Bar, _ProgressLines, files_in, progress_line, reading
from calipers.collection.bytes_read import Meter, opened, watched
from calipers.collection.judgments import Judgments
from calipers.collection.reader import scan_run
from calipers.collection.simulate import simulate
from calipers.collection.sources import read_judgments, read_runs
from calipers.errors import CalipersError
from calipers.native.columns import TieSpans

MEASURES = ["nDCG@10", "AP", "RR"]


@pytest.fixture(scope="module")
def shuffled(tmp_path_factory):
    """A run whose lines are in no order, with ties, unjudged queries, and a query missing."""
    folder = tmp_path_factory.mktemp("shuffled")
    collection = simulate(topics=60, pool=20, systems=1, retrieved=80, ties=0.4, unjudged=0.4)
    qrels, (run,) = collection.write(folder, shuffle=True)
    judged = [line for line in qrels.read_text().splitlines(True) if int(line.split()[0]) % 7]
    qrels.write_text("".join(judged))
    return read_judgments(str(qrels)), run


def contents(found):
    """Everything that a scan gives, as plain values."""
    return {each.name: plain(getattr(found, each.name)) for each in fields(found)}


def plain(value):
    return contents(value) if isinstance(value, TieSpans) else value.tolist() if hasattr(value, "tolist") else value


@pytest.fixture
def little_memory(monkeypatch):
    """A machine on which only 20,000 bytes of a run can be grouped."""
    monkeypatch.setattr("calipers.collection.reader.most_held", lambda: 20_000)


SORT = "its rows are not grouped by query, and grouping them takes too much memory: sort it by query first"


@pytest.mark.parametrize("packing", ["", "gz", "zst"])
@pytest.mark.parametrize("jobs", [1, 3])
def test_what_is_too_large_to_be_grouped_is_to_be_sorted(
    shuffled, tmp_path, monkeypatch, require, little_memory, packing, jobs
):
    judgments, run = shuffled
    pack = gzip.compress if packing == "gz" else require.module("backports.zstd").compress if packing else bytes
    path = tmp_path / f"run{packing}"
    path.write_bytes(pack(run.read_bytes()))
    with pytest.raises(CalipersError) as caught:
        scan_run(path, judgments.index, jobs=jobs, smallest_part=2_000)
    assert str(caught.value) == f"{path}: {SORT}, as in LC_ALL=C sort -s -k1,1 RUN > SORTED"
    in_order = tmp_path / "sorted"
    lines = sorted(run.read_bytes().splitlines(True), key=lambda line: line.split()[0])
    in_order.write_bytes(b"".join(lines))
    found = scan_run(in_order, judgments.index, jobs=jobs, smallest_part=2_000)
    monkeypatch.undo()
    whole = scan_run(run, judgments.index, jobs=1)
    assert by_query(found) == by_query(whole)


def by_query(found):
    rows = np.array([found.document, found.score, found.first, found.last, found.docid_rank, found.input_rank]).T
    return {q: rows[found.offsets[i] : found.offsets[i + 1]].tolist() for i, q in enumerate(found.query.tolist())}


def test_a_lack_of_memory_is_told_too(shuffled, monkeypatch):
    judgments, run = shuffled

    def none(*_, **__):
        raise MemoryError

    monkeypatch.setattr("calipers.collection.reader.held", none)
    with pytest.raises(CalipersError, match=SORT):
        scan_run(run, judgments.index, jobs=1)


LINE = "{q} Q0 {d} 1 {s} tag\n"


@pytest.mark.parametrize(
    ("place", "text", "message"),
    [
        ((40,), "2 Q0 d1 1 nonsense tag\n", "41: score 'nonsense' is not a number"),
        ((40,), "2 Q0 d1 1\n", "41: expected 6 fields"),
        ((30, 60), "1 Q0 twice 1 3.5 tag\n", "61: document 'twice' appears twice for query '1'"),
    ],
)
def test_errors_name_the_line(tmp_path, monkeypatch, place, text, message):
    monkeypatch.setattr("calipers.collection.reader.BLOCK", 128)
    lines = [LINE.format(q=1 + i % 3, d=f"d{i}", s=i) for i in range(90)]
    for position in place:
        lines.insert(position, text)
    run = tmp_path / "bad.run"
    run.write_text("".join(lines))
    judgments = Judgments.from_dict({str(q): {"d1": 1} for q in (1, 2, 3)})
    for jobs in (1, 3):
        with pytest.raises(CalipersError) as caught:
            scan_run(run, judgments.index, jobs=jobs, smallest_part=300)
        assert str(caught.value).startswith(f"{run}:{message}")


def test_the_first_error_is_the_one_that_is_told(tmp_path, monkeypatch):
    """A document twice on lines 5 and 20, another before it, and nonsense after both."""
    monkeypatch.setattr("calipers.collection.reader.BLOCK", 128)
    lines = [LINE.format(q=1 + i % 3, d=f"d{i}", s=i) for i in range(60)]
    lines[5] = lines[20] = LINE.format(q=3, d="later", s=1)
    lines[2] = lines[11] = LINE.format(q=2, d="earlier", s=1)
    lines[50] = "nonsense\n"
    run = tmp_path / "bad.run"
    run.write_text("".join(lines))
    judgments = Judgments.from_dict({str(q): {"d1": 1} for q in (1, 2, 3)})
    for jobs in (1, 3):
        with pytest.raises(CalipersError, match=r"bad.run:12: document 'earlier' appears twice for query '2'"):
            scan_run(run, judgments.index, jobs=jobs, smallest_part=300)


def test_a_byte_order_mark_counts_at_the_start_only(tmp_path):
    mark = "\ufeff"
    lines = [mark + LINE.format(q="1", d="a", s=2), LINE.format(q="2", d="a", s=1), LINE.format(q="1", d="b", s=1)]
    lines += [mark + LINE.format(q="2", d="c", s=3)] * 1
    run = tmp_path / "run"
    run.write_text("".join(lines), encoding="utf-8")
    judgments = Judgments.from_dict({"1": {"a": 1}, "2": {"a": 1}})
    expected = scan_run(run, judgments.index, jobs=1)
    assert contents(scan_run(run, judgments.index, jobs=2, smallest_part=40)) == contents(expected)
    assert expected.unjudged.tolist() == ["\ufeff2".encode()]


def test_parquet_whose_queries_are_in_no_order(tmp_path, monkeypatch, require):
    parquet = require.module("pyarrow.parquet")
    pa = require.module("pyarrow")
    collection = simulate(topics=20, pool=10, systems=1, retrieved=40, ties=0.3)
    rows = [(q, d, s) for q, ranked in collection.runs["s1"].items() for d, s in ranked.items()]
    rows = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))]
    columns = dict(zip(("qid", "docno", "score"), map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), tmp_path / "run.parquet", row_group_size=100)
    found = cal.evaluate(collection.qrels, read_runs(str(tmp_path / "run.parquet")), MEASURES)
    np.testing.assert_array_equal(found.values, cal.evaluate(collection.qrels, collection.runs, MEASURES).values)
    monkeypatch.setattr("calipers.collection.reader.most_held", lambda: 2_000)
    with pytest.raises(CalipersError, match=f"{SORT}$"):
        cal.evaluate(collection.qrels, read_runs(str(tmp_path / "run.parquet")), MEASURES)


# -- progress ----------------------------------------------------------------------------------------


def test_bytes_are_counted_once_a_pass(tmp_path, shuffled):
    judgments, run = shuffled
    told = []
    with watched([str(run)], lambda done, total: told.append((done, total))) as meter:
        scan_run(str(run), judgments.index, jobs=1)
    size = os.path.getsize(run)
    assert all(done <= total for done, total in told)
    assert meter.done > size  # the first pass met a query again, the second took them all
    with opened(str(run)) as file:
        assert type(file) is io.FileIO  # nobody watches any more


def test_a_file_that_is_read_again_counts_again(tmp_path, monkeypatch):
    monkeypatch.setattr("calipers.collection.bytes_read.LOOKS", 0)
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    meter = Meter([str(path)], lambda done, total: None)
    real = os.path.realpath(path)
    totals = []
    for _ in range(4):
        meter.add(real, 60)
        totals.append((meter.done, meter.total))
    assert totals == [(60, 100), (120, 200), (180, 200), (240, 300)]


@pytest.mark.parametrize("packed", [False, True])
def test_all_the_bytes_of_a_file_are_told(tmp_path, packed):
    collection = simulate(topics=40, pool=10, systems=1, retrieved=200)
    qrels, (run,) = collection.write(tmp_path, compress="gz" if packed else "")
    told = []
    with watched([str(run)], lambda done, total: told.append((done, total))):
        cal.evaluate(str(qrels), str(run), MEASURES)
    assert told[-1][0] == told[-1][1] == os.path.getsize(run)


def test_progress_in_words(monkeypatch):
    assert progress_line(0, 100, 1.0) == "calipers: read 0.00 of 0.00 GB (0%), nan s left"
    moments = iter([0.0, FIRST / 2, FIRST, FIRST + LINES_EVERY / 2, 30.0])
    monkeypatch.setattr("calipers.cli.reading_progress.monotonic", lambda: next(moments))
    written = []
    lines = _ProgressLines(written.append)
    lines.tell(10**9, 4 * 10**9)
    assert not written  # it has hardly begun
    lines.tell(2 * 10**9, 4 * 10**9)
    assert written == [progress_line(2 * 10**9, 4 * 10**9, FIRST)]
    lines.tell(3 * 10**9, 4 * 10**9)
    assert len(written) == 1
    lines.stop()
    assert written[1] == "calipers: read 3.00 of 4.00 GB (75%), 10 s left"


def test_progress_is_for_those_who_see_it(tmp_path, capsys, monkeypatch):
    collection = simulate(topics=3, pool=5, systems=1, retrieved=10)
    qrels, (run,) = collection.write(tmp_path)
    with reading([str(run)]):
        cal.evaluate(str(qrels), str(run), MEASURES)
    assert capsys.readouterr().err == ""
    with reading([str(run)], show=True):
        cal.evaluate(str(qrels), str(run), MEASURES)
    assert "(100%), 0 s left" in capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with reading([str(run)], show=False):
        cal.evaluate(str(qrels), str(run), MEASURES)
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_shows_bytes_and_time_left(monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    bar = _Bar()
    bar._start = bar._last = -10.0
    bar.tell(500_000_000, 2_000_000_000)
    bar.stop()
    assert "read 0.50 of 2.00 GB (25%), " in shown.getvalue()
    assert "s left  [#########---------------------------]" in shown.getvalue()
    assert shown.getvalue().endswith("\r\033[K\033[?25h"), "the bar disappears, and the cursor is shown again"


def test_files_behind_arguments(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").write_text("x")
    assert files_in([str(tmp_path), "no such file", "-"]) == [str(tmp_path / "a"), str(tmp_path / "b")]


def test_jobs_over_files_do_not_change_a_digit(tmp_path):
    collection = simulate(topics=20, pool=20, systems=6, retrieved=60, ties=0.3)
    qrels, runs = collection.write(tmp_path)
    one, three = (cal.evaluate(str(qrels), [str(run) for run in runs], MEASURES, jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one.values, three.values)
    assert one.systems == three.systems


def test_the_command_shows_progress(shuffled):
    _, run = shuffled
    qrels = Path(run).with_name("qrels.txt")
    command = [
        sys.executable,
        "-m",
        "calipers",
        "evaluate",
        str(qrels),
        str(run),
        "-m",
        "AP V2(nDCG@10)",
        "--format",
        "csv",
    ]
    plain = subprocess.run(command, capture_output=True, text=True, check=True)
    shown = subprocess.run([*command, "--progress"], capture_output=True, text=True, check=True)
    assert shown.stdout == plain.stdout
    assert "calipers: read" in shown.stderr
    assert "calipers: read" not in plain.stderr
    gone = subprocess.run([*command, "--memory", "4"], capture_output=True, text=True, check=False)
    assert (gone.returncode, "`--memory` left Calipers" in gone.stderr, "sort" in gone.stderr) == (2, True, True)
