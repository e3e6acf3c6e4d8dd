"""Wherever a line, block, part, member or row group ends, a run means the same: every way to read it agrees.

Runs are generated with queries that come back, documents that are there twice, and a last line with or without its
end; each is read whole, in parts, packed in members cut anywhere, as Parquet and in Spark's splits.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from calipers.collection import files, reader, table_rows as rows
from calipers.collection.formats import parquet
from calipers.collection.judgments import Judgments
from calipers.collection.runs import FileRun
from calipers.collection.sources import read_qrels, read_run
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import evaluate
from calipers.native import plain as _plain
from calipers.native.ids import Ids

QUERIES = ("1", "2", "3", "4", "5", "nobody judged this")
MEASURES = ("AP", "P@2", "RR")
Pack = Callable[[bytes], bytes]
PACKINGS: dict[str, Pack] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def optional_packings() -> Iterator[tuple[str, Pack]]:
    try:
        yield "zst", files.zstd().compress
        yield "lz4", files.lz4().compress
    except CalipersError:  # an extra that is not there
        return


Row = tuple[str, str, int]


def generated(rng: random.Random) -> tuple[list[Row], bytes]:
    """Rows of query, document and score, and their text."""
    found: list[Row] = []
    for _ in range(rng.randrange(1, 16)):
        query = rng.choice(QUERIES)
        most = 40 if rng.random() < 0.9 else 4
        found += [(query, f"d{rng.randrange(most)}", rng.randrange(3)) for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.7:  # mostly without the documents that are there twice
        found = [row for i, row in enumerate(found) if row[:2] not in {other[:2] for other in found[:i]}]
    if rng.random() < 0.6:  # in order but for the last row, whose query stood shortly before
        found = [(query, f"d{d}", d % 3) for query in QUERIES for d in rng.sample(range(39), rng.randrange(1, 4))]
        query, document, _ = rng.choice(found[-6:])
        found.append((query, rng.choice(("d39", "d39", document)), rng.randrange(4)))
    end = rng.choice((b"\n", b"\r\n"))
    lines = [f"{query.replace(' ', '_')} Q0 {document} 1 {score} t".encode() for query, document, score in found]
    if rng.random() < 0.2:
        lines.insert(rng.randrange(len(lines)), rng.choice((b"", b"# a comment")))
    return found, end.join(lines) + rng.choice((b"", b"", end, end + end, end + b"#"))


def expected(known: Judgments, found: list[Row]) -> Any:
    """What the rows say, from a dictionary; or the message about a document that is there twice."""
    run: dict[str, dict[str, float]] = {}
    for query, document, score in found:
        name = query.replace(" ", "_")
        if document in run.setdefault(name, {}):
            if query in known.queries:
                return f"document '{document}' appears twice for query '{query}'"
            continue
        run[name][document] = float(score)
    if not set(run) & set(known.queries):
        return "no query in common"
    return evaluate(known, run, MEASURES, ties="docid", unmatched="warn", warn=False).values.tolist()


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except CalipersError as error:
        message = error.message.partition(": ")[2] if error.message.startswith("row ") else error.message
        return message.partition(":")[0]


def of_run(known: Judgments, run: Any, jobs: int = 1) -> Any:
    return outcome(
        lambda: evaluate(known, [run], MEASURES, ties="docid", unmatched="warn", jobs=jobs, warn=False).values.tolist()
    )


def retrieved(path: Path, index: Any, jobs: int) -> Any:
    """Of each query: the length of its list, and the ranks of its judged documents."""
    found = outcome(lambda: reader.scan_run(path, index, jobs=jobs))
    if isinstance(found, str):
        return found
    ranked = [*zip(found.document.tolist(), found.first.tolist(), found.docid_rank.tolist(), strict=True)]
    parts = pairwise(found.offsets.tolist())
    return {q: (n, sorted(ranked[i:j])) for q, n, (i, j) in zip(found.query, found.length, parts, strict=True)}


def members(text: bytes, pack: Pack, rng: random.Random) -> bytes:
    cuts = sorted([0, *(rng.randrange(len(text) + 1) for _ in range(rng.randrange(4))), len(text)])
    return b"".join(pack(text[start:stop]) for start, stop in pairwise(cuts))


@pytest.mark.parametrize("seed", range(30))
def test_every_way_to_read_a_run_agrees(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    qrels = tmp_path / "qrels"
    qrels.write_text("".join(f"{q} 0 d{d} {d % 2}\n" for q in QUERIES[:-1] for d in range(0, 40, 3)))
    known = read_qrels(qrels)
    found, text = generated(rng)
    path = tmp_path / "run"
    path.write_bytes(text)
    wanted = expected(known, found)
    assert of_run(known, FileRun(str(path))) == wanted
    monkeypatch.setattr(files, "BLOCK", rng.choice((8, 13, 100)))
    monkeypatch.setattr(reader, "BLOCK", files.BLOCK)
    monkeypatch.setattr(reader, "SMALLEST_PART", 1)
    monkeypatch.setattr(reader.scan_run, "__kwdefaults__", {**reader.scan_run.__kwdefaults__, "smallest_part": 1})
    for jobs in (1, 2, 3, 7):
        assert of_run(known, FileRun(str(path)), jobs) == wanted, jobs
    for name, pack in [*PACKINGS.items(), *optional_packings()]:
        packed = tmp_path / f"run.{name}"
        packed.write_bytes(members(text, pack, rng))
        assert of_run(known, FileRun(str(packed))) == wanted, name
    compiled = retrieved(path, known.index, 1)
    with monkeypatch.context() as plain:
        plain.setattr(reader, "RunScanner", _plain.RunScanner)
        plain.setattr(reader, "COMPILED", False)
        index = _plain.JudgedIndex(Ids.of(known.queries), known.pool.offsets, known.documents)
        for jobs in (1, 2, 5):
            assert retrieved(path, index, jobs) == compiled, jobs
    in_row_groups(found, tmp_path / "run.parquet", known, wanted, rng, monkeypatch)
    in_splits(path, known, found, rng, monkeypatch)


def in_row_groups(
    found: list[Row], path: Path, known: Judgments, wanted: Any, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table([*zip(*found, strict=True)], names=["qid", "docno", "score"])
    pq.write_table(table, path, row_group_size=rng.randrange(1, 5))
    monkeypatch.setattr(parquet, "SMALLEST_PART", 1)
    monkeypatch.setattr(rows, "SMALLEST_PART", 1)
    for jobs in (1, 2, 5):
        assert of_run(known, read_run(path), jobs) == wanted, jobs


def in_splits(
    path: Path, known: Judgments, found: list[Row], rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Spark's workers make of parts of a file, without Spark."""
    pytest.importorskip("pyarrow")
    from calipers.spark import files

    monkeypatch.setattr(files, "SPLIT", rng.randrange(1, 60))
    monkeypatch.setattr(files, "BLOCK", rng.randrange(1, 60))
    splits = files.Splits("run", (str(path),), ("t",), files._splits([str(path)]))
    read = [batch for split in splits.splits for batch in splits._read(*split)]
    columns = [[value for batch in read for value in batch.column(name).to_pylist()] for name in ("query", "document")]
    rows = [(query.replace(" ", "_"), document.encode()) for query, document, _ in found]
    assert [*zip(*columns, strict=True)] == rows


def test_the_last_line_counts_without_its_end(tmp_path: Path) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("1 0 a 1\n2 0 b 1\n")
    for end in ("", "\n"):
        run = tmp_path / "run"
        run.write_text(f"1 Q0 x 1 1 t\n2 Q0 b 1 1 t\n1 Q0 a 2 2 t{end}")
        assert evaluate(str(qrels), str(run), "AP")["AP"].tolist() == [[1.0, 1.0]]
