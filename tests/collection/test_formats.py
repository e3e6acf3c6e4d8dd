"""Every format that judgments and runs come in: read, written, told apart, refused."""

from __future__ import annotations

import gzip
import importlib
import json
import math
import random
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import calipers as cal
from calipers.cli import commands
from calipers.collection import files, table_rows as rows
from calipers.collection.formats import FORMATS, parquet as parquet_format, sniff
from calipers.collection.runs import DictRun
from calipers.errors import CalipersError
from calipers.native import plain as _plain, scanner
from calipers.native.ids import Ids
from laws.fuzz_scanner import comparable
from run_calipers import calipers

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

QRELS = {"1": {"a": 1, "b": 0}, "2": {"c": 2, "d": -1}}
RUN = {"1": {"a": 3.5, "x": 2.5, "b": 1.5}, "2": {"c": 9.0}, "3": {"c": 1.0}}
ENDINGS = ("txt", "json", "jsonl", "csv", "tsv", "parquet", "lz4")
PACKINGS = ("gz", "bz2", "xz", "zst", "lz4")
TREC = ("txt",)

Nested = Mapping[str, Mapping[str, float]]


def refusal(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    with pytest.raises(CalipersError) as caught:
        call(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value).partition("/file")[2] or str(caught.value)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def write(content: str | bytes, name: str = "file") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def table(path: Path | str, columns: dict[str, Any], **options: Any) -> str:
    pq.write_table(pa.table(columns), path, **options)
    return str(path)


def entries_of(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def bits(nested: Nested) -> dict[str, dict[str, bytes]]:
    """The numbers to the last bit, but for the sign of zero."""
    return {q: {d: struct.pack("d", value + 0.0) for d, value in of.items()} for q, of in nested.items()}


# -------------------------------------------------------------------------------------------------- round trips


numbers = st.floats(allow_nan=False, allow_infinity=False)
any_id = st.text(min_size=1, max_size=6)
trec_id = any_id.filter(lambda text: not set(text) & set(" \t\r\n\0") and text[0] not in "#\ufeff")
grades = st.one_of(st.integers(-2, 4), st.floats(-2, 9, allow_nan=False))


def nested(ids: st.SearchStrategy[str], values: st.SearchStrategy[float]) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.dictionaries(ids, values, min_size=1, max_size=4)
    return st.dictionaries(ids, lists, min_size=1, max_size=3)


@pytest.mark.slow
@given(run=nested(trec_id, numbers))
@settings(max_examples=10)
def test_runs_survive_every_pair_of_formats(run: Nested, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("runs")
    for first in ENDINGS:
        cal.write_run(run, folder / f"a.{first}", name="mine")
        read = cal.read_run(folder / f"a.{first}")
        assert bits(read.to_dict()) == bits(run), first
        for second in ENDINGS:
            cal.write_run(read, folder / f"b.{second}")
            again = cal.read_run(folder / f"b.{second}")
            assert bits(again.to_dict()) == bits(run), (first, second)
            ordered = {q: sorted(of, key=lambda d: -of[d]) for q, of in run.items()}
            assert {q: [*of] for q, of in again.to_dict().items()} == ordered, (first, second)


@given(qrels=nested(trec_id, grades))
@settings(max_examples=10)
def test_judgments_survive_every_pair_of_formats(qrels: Nested, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("qrels")
    for first in ENDINGS:
        cal.write_qrels(qrels, folder / f"a.{first}")
        read = cal.read_qrels(folder / f"a.{first}")
        assert bits(read.to_dict()) == bits(qrels), first
        assert [*read.queries] == [*qrels]
        for second in ENDINGS:
            cal.write_qrels(read, folder / f"b.{second}")
            assert bits(cal.read_judgments(folder / f"b.{second}").to_dict()) == bits(qrels), (first, second)


@given(run=nested(any_id, numbers))
@settings(max_examples=25)
def test_any_id_survives_all_but_trec(run: Nested, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("ids")
    for ending in ENDINGS:
        if ending not in TREC:
            cal.write_run(run, folder / f"a.{ending}", name="my run")
            assert bits(cal.read_run(folder / f"a.{ending}").to_dict()) == bits(run), ending


@pytest.mark.parametrize("bad", ["a b", "", "a\tb", "a\nb", "a\0"])
def test_trec_refuses_what_would_break_its_lines(bad: str, tmp_path: Path) -> None:
    for content in ({bad: {"d": 1.0}}, {"q": {bad: 1.0}}):
        for write in (cal.write_run, cal.write_qrels):
            assert "to a TREC file: ids must not" in refusal(write, content, tmp_path / "file")
    assert "name" in refusal(cal.write_run, RUN, tmp_path / "file", name="my run")
    assert "skipped" in refusal(cal.write_run, {"#1": {"d": 1.0}}, tmp_path / "file")
    assert [*tmp_path.iterdir()] == []


def test_ids_that_are_no_text(tmp_path: Path, write: Callable[..., str]) -> None:
    path = write(b"caf\xe9 Q0 \xff\xfe 1 2.5 t\n")
    want = cal.read_run(path).to_dict()
    for ending in ENDINGS:
        if ending in ("csv", "tsv"):
            assert "ids that are not text" in refusal(cal.write_run, cal.read_run(path), tmp_path / f"a.{ending}")
            continue
        cal.write_run(cal.read_run(path), tmp_path / f"a.{ending}")
        assert cal.read_run(tmp_path / f"a.{ending}").to_dict() == want


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("ending", ["txt", "json", "csv", "parquet"])
def test_packed(packing: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ending}.{packing}"
    cal.write_run(RUN, path)
    assert next(p for p in files.PACKINGS if path.read_bytes().startswith(p.magic))
    assert cal.read_run(path).to_dict() == RUN
    cal.write_qrels(QRELS, path)
    assert cal.read_judgments(path).to_dict() == QRELS
    assert (cal.evaluate(path, RUN).values == cal.evaluate(QRELS, RUN).values).all()


@pytest.mark.parametrize("text", ["1 0 a 1\n", "query,doc,grade\n1,a,1\n", '{"1": {"a": 1}}\n'])
def test_empty_lines_before_the_first_are_passed_over(
    text: str, write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_START", 2 * files.START)
    blank = b" \t\r\n" * files.START
    for content in (blank + text.encode(), gzip.compress(blank + text.encode())):
        assert cal.read_judgments(write(content)).to_dict() == {"1": {"a": 1}}
    assert "nothing but comments and empty lines" in refusal(cal.read_judgments, write(blank))


@pytest.mark.parametrize("packing", ["zst", "lz4"])
def test_damaged_and_endless(packing: str, tmp_path: Path) -> None:
    path, rng = tmp_path / "file", random.Random(1)
    run = {str(q): {str(d): rng.random() for d in range(50)} for q in range(50)}
    cal.write_run(run, tmp_path / f"run.txt.{packing}")
    packed = (tmp_path / f"run.txt.{packing}").read_bytes()
    path.write_bytes(packed[: len(packed) // 2])
    assert "truncated" in refusal(lambda: cal.read_run(path, format="run").to_dict())
    path.write_bytes(packed[:60] + bytes(40) + packed[100:])
    refusal(lambda: cal.read_run(path, format="run").to_dict())  # there need be no checksum: a line may be wrong
    path.write_bytes(packed + packed)
    assert "twice" in refusal(lambda: cal.read_run(path, format="run").to_dict())
    path.write_bytes(packed)
    assert "allow more with max_unpacked" in refusal(
        lambda: cal.read_run(path, format="run", max_unpacked=100).to_dict()
    )


def test_what_ranx_writes(require: Any, tmp_path: Path) -> None:
    lz4 = require.module("lz4.frame")
    path = tmp_path / "run.lz4"
    path.write_bytes(lz4.compress(json.dumps(RUN, separators=(",", ":")).encode(), compression_level=3))
    assert cal.read_run(path).to_dict() == RUN


def test_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("before")
    with pytest.raises(CalipersError):
        cal.write_run({"1": {"a": 1.0}, "2": {"b c": 1.0}}, path)
    assert path.read_text() == "before"
    assert [*tmp_path.iterdir()] == [path]
    assert "finite" in refusal(cal.write_run, {"1": {"a": math.nan}}, path)
    assert "not a number" in refusal(cal.write_run, {"1": {"a": "x"}}, path)
    assert "nothing to write" in refusal(cal.write_run, {}, path)
    assert "cannot write" in refusal(cal.write_run, RUN, tmp_path / "no" / "folder")


def test_the_same_content_gives_the_same_file(tmp_path: Path) -> None:
    for ending in (*ENDINGS, "txt.gz", "json.zst"):
        cal.write_run(RUN, tmp_path / f"a.{ending}")
        cal.write_run(RUN, tmp_path / f"b.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes(), ending


# ---------------------------------------------------------------------------------------------------- told apart


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("query_id\titeration\tdoc_id\trelevance\n1\t0\ta\t1\n", "csv"),
        ("qid,docno,score\n1,a,3\n", "csv"),
        ("# a comment\n\nqid;docno;score\n1;a;3\n", "csv"),
        ("one,two,three\n", "csv"),
        ("1,2,3\n", "headerless"),
        ("red shoes\td1\t3\nwarm socks\td7\t0\n", "headerless"),  # as many fields as TREC's judgments
        ("1 0\td1\t3\n2 0\td7\t0\n", "qrels"),
        ("1 d1 0.5\n", "headerless"),
        ("1 1:0.5 2:3\n", "svmlight"),
        ("1\t0\td,x\t1\n", "qrels"),
        ("q,1 Q0 d,x 1 2.5 t,u\n", "run"),
        ('{"1": {"a": 1}}\n', "json"),
        ('[{"qid": 1}]\n', "json"),
        ("\ufeff{}\n", "json"),
        ("{x} Q0 d 1 2.5 t\n", "run"),
        ("2 qid:1 1:0.5\n", "letor"),
    ],
)
def test_sniff(text: str, form: str, write: Callable[..., str]) -> None:
    assert sniff(write(text)) == form


# --------------------------------------------------------------------------------------------------- named columns


ROWS = {"1": {"007": 3.0, "x,y": 2.0}, "10": {"a": 1.0}}


@pytest.mark.parametrize(
    "header",
    ["qid,docno,score", "query_id,doc_id,score", "Query,DOC,Score", "q_id,document,score", "topic,docid,score"],
)
@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_columns_are_known_by_name(header: str, delimiter: str, write: Callable[..., str]) -> None:
    text = f'{header}\n1,007,3\n1,"x§y",2.0\n10,a,1e0\n'.replace(",", delimiter).replace("§", ",")
    assert cal.read_run(write(text)).to_dict() == ROWS
    assert cal.read_run(write(text.replace("\n", "\r\n"))).to_dict() == ROWS
    assert cal.read_run(write("\ufeff" + text)).to_dict() == ROWS
    assert cal.read_run(write(gzip.compress(text.encode()))).to_dict() == ROWS


@pytest.mark.parametrize("name", ["label", "relevance", "grade", "rel"])
def test_grades_are_known_by_name(name: str, write: Callable[..., str], tmp_path: Path) -> None:
    assert cal.read_qrels(write(f"qid,iter,docno,{name}\n1,0,a,2\n1,0,b,0.5\n")).to_dict() == {"1": {"a": 2, "b": 0.5}}
    path = table(tmp_path / "x", {"qid": [1, 1], "docno": ["a", "b"], name: [2, 0]})
    assert cal.read_judgments(path).to_dict() == {"1": {"a": 2, "b": 0}}


def test_ids_before_texts(write: Callable[..., str]) -> None:
    path = write('qid,docid,docno,rank,score,query\n1,77,a,0,2.5,"what, is\nthis"\n')
    assert cal.read_run(path).to_dict() == {"1": {"a": 2.5}}


def test_columns_may_be_named(write: Callable[..., str], tmp_path: Path) -> None:
    columns = {"query": "topic id", "document": "url", "score": "bm25", "grade": "stars", "system": "model"}
    content = {"topic id": ["1", "1"], "url": ["a", "b"], "bm25": [2.0, 1.0], "stars": [3, 0], "model": ["m", "m"]}
    text = "topic id,url,bm25,stars,model\n1,a,2,3,m\n1,b,1,0,m\n"
    lines = "".join(json.dumps(entry) + "\n" for entry in entries_of(content))
    for path in (table(tmp_path / "x", content), write(text), write(lines, "lines")):
        (run,) = cal.read_runs(path, columns=columns)
        assert (run.name, run.to_dict()) == ("m", {"1": {"a": 2.0, "b": 1.0}})
        assert cal.read_judgments(path, columns=columns).to_dict() == {"1": {"a": 3, "b": 0}}
        assert cal.read_qrels(path, columns=columns).to_dict() == {"1": {"a": 3, "b": 0}}
        assert "there is no column 'nope' for the query; the columns are 'topic id', 'url'" in refusal(
            lambda path=path: cal.read_runs(path, columns={"query": "nope"})[0].to_dict()
        )
    assert "there is no 'doc', only query, document" in refusal(cal.read_runs, path, columns={"doc": "url"})


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_several_runs_in_one_table(form: str, tmp_path: Path, write: Callable[..., str]) -> None:
    content = {"qid": [1, 1, 1, 2], "docno": ["a", "b", "a", "c"], "score": [2.0, 1.0, 5.0, 7.0], "run": [*"mmnm"]}
    entries = entries_of(content)
    if form == "parquet":
        path = table(tmp_path / "x", content)
    elif form == "csv":
        path = write("\n".join([",".join(content), *(",".join(map(str, row.values())) for row in entries)]))
    else:
        path = write("\n".join(map(json.dumps, entries)))
    runs = cal.read_runs(path)
    assert [run.name for run in runs] == ["m", "n"]
    assert [run.to_dict() for run in runs] == [{"1": {"a": 2.0, "b": 1.0}, "2": {"c": 7.0}}, {"1": {"a": 5.0}}]
    scores = cal.evaluate(QRELS, path, ["RR"])
    assert scores.systems == ("m", "n")
    assert scores["RR"].tolist() == [[1.0, 1.0], [1.0, 0.0]]
    assert "there are 2 runs in it (m, n ...): use read_runs" in refusal(cal.read_run, path)
    assert "one name" in refusal(cal.read_runs, path, name="x")
    # The same names in another file: the files' names tell them apart.
    again = Path(path).with_name("again")
    again.write_bytes(Path(path).read_bytes())
    assert len({*cal.evaluate(QRELS, [path, str(again)], ["RR"]).systems}) == 4


# ------------------------------------------------------------------------------------------------------------ JSON


@pytest.mark.parametrize(
    "text",
    [
        '{"1": {"a": 1.5}, "2": {"b": 2}}',
        '{"1": {"a": 1.5}}\n{"2": {"b": 2}}\n',
        '{"query": "1", "doc": "a", "score": 1.5}\n\n{"query": 2, "doc": "b", "score": 2}',
        '[{"qid": "1", "docno": "a", "score": 1.5, "rank": 1}, {"qid": "2", "docno": "b", "score": 2, "rank": 1}]',
        '\ufeff\r\n{"1":\r\n{"a": 1.5},\r\n"2": {"b": 2}}\r\n',
    ],
)
def test_shapes_of_json(text: str, write: Callable[..., str]) -> None:
    assert cal.read_run(write(text)).to_dict() == {"1": {"a": 1.5}, "2": {"b": 2.0}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "there are no documents"),
        ('{"1": {}}', "there are no documents"),
        ('{"1": [1, 2]}', "there is no column for the query .*; the columns are '1'"),
        ('{"1": {"a": 1}, "2": 3}', "expected .query: .document: number.., or rows"),
        ("[{}, 1]", "row 1: expected"),
        ('{"1": {"a": {"b": 1}}}', "score of query .1., document .a.: .* is not a number"),
        ('{"1": {"a": "x"}}', 'score of query .1., document .a.: "x" is not a number'),
        ('{"1": {"a": true}}', "score of query .1., document .a.: true is not a number"),
        ('{"1": {"a": null}}', "score of query .1., document .a.: there is no value"),
        ('{"1": {"a": NaN}}', "NaN is not a finite number"),
        ('{"1": {"a": 1e999}}', "is not a finite number"),
        ('{"1": {"a": 1' + "0" * 400 + "}}", "is not a finite number"),
        ('{"1": {"a": 1, "a": 2}}', ": 'a' appears twice in one object"),
        ('{"1": {"a": 1}}\n{"1": {"a": 2}}', ":2: document 'a' appears twice for query '1'"),
        ('{"1": {"a": 1}}\n{"qid": 1, "docno": 2, "score": 3}', ":2: expected"),
        ('{"qid": 1, "docno": 2, "score": 3}\n{"1": {"a": 1}}', ":2: expected"),
        ('{"qid": 1, "docno": 2, "score": 3}\n{"qid": 1, "docno": 2}', ":2: there is no 'score'"),
        ('{"qid": 1.5, "docno": 2, "score": 3}', "column 'qid': the id 1.5 is neither text nor a whole number"),
        ('{"qid": 1, "docno": null, "score": 3}', "column 'docno': the id null is neither text nor a whole number"),
        ('{"1": {"a": 1}', ":1: not JSON"),
        ('{"1": {"a": 1}}\n{"2": \n', ":2: not JSON"),
        ('{"1": {"a": 1}} {"2": {"a": 1}}\n', ":1: not JSON: something follows"),
        ('{"1": {"\\ud800": 1}}', "half a character"),
        ('{"1": ' + '{"a": ' * 100_000, "nested too deeply|not JSON"),
    ],
)
def test_json_of_another_shape(text: str, words: str, write: Callable[..., str]) -> None:
    assert re.search(words, refusal(lambda: cal.read_run(write(text), format="json").to_dict()))


def test_json_has_to_be_utf8(write: Callable[..., str]) -> None:
    assert ":2: not UTF-8" in refusal(lambda: cal.read_run(write(b'{"1":\n{"\xff": 1}}')).to_dict())


# ---------------------------------------------------------------------------------------------------- bad tables


GOOD = {"qid": ["1", "1", "2"], "docno": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]}


@pytest.mark.parametrize(
    ("column", "content", "words"),
    [
        ("score", [3.0, None, 1.0], "column 'score', row 2: there is no value"),
        ("score", [3.0, 2.0, math.nan], "column 'score', row 3: nan is not a finite number"),
        ("score", [-math.inf, 2.0, 1.0], "column 'score', row 1: -inf is not a finite number"),
        ("score", ["3", "2", "1"], "column 'score' holds string: a score is a number"),
        ("score", [True, False, True], "column 'score' holds bool: a score is a number"),
        ("score", pa.nulls(3), "column 'score', row 1: there is no value"),
        ("qid", ["1", None, "2"], "column 'qid', row 2: there is no value"),
        ("qid", pa.array(["1", "1", None]).dictionary_encode(), "column 'qid', row 3: there is no value"),
        ("qid", [1.0, 1.0, 2.0], "column 'qid' holds double: ids are text or whole numbers"),
        ("docno", ["a", "b", None], "column 'docno', row 3: there is no value"),
        ("docno", [["a"], ["b"], []], "column 'docno' holds list.*: ids are text or whole numbers"),
        ("docno", ["a", "a", "c"], "row 2: document 'a' appears twice for query '1'"),
        ("system", ["x", None, "x"], "column 'system', row 2: there is no value"),
    ],
)
@pytest.mark.parametrize("groups", [1, 100])
def test_parquet_that_is_no_run(column: str, content: Any, words: str, groups: int, tmp_path: Path) -> None:
    path = table(tmp_path / "file", GOOD | {column: content}, row_group_size=groups)
    assert re.search(words, refusal(cal.evaluate, QRELS, path))
    if column != "system":
        assert re.search(words, refusal(lambda: cal.read_run(path).to_dict()))


def test_parquet_that_is_no_judgments(tmp_path: Path) -> None:
    graded = {"qid": ["1", "1", "1"], "docno": ["a", "b", "a"], "label": [1, 0, 2]}
    path = table(tmp_path / "file", graded)
    assert "row 3: document 'a' of query '1' is judged 2 here and 1 before" in refusal(cal.read_qrels, path)
    path = table(tmp_path / "file", graded | {"label": [1, 0, 1]})
    assert cal.read_qrels(path).to_dict() == {"1": {"a": 1, "b": 0}}
    path = table(tmp_path / "file", graded | {"label": [1, None, 1]})
    assert cal.read_qrels(path).to_dict() == {"1": {"a": 1}}
    assert cal.read_qrels(path).notes == (f"{path}: 1 row without a grade in 'label'; left out",)
    assert "there is no column for the score" in refusal(cal.read_runs, path)
    assert "the columns are 'qid', 'docno', 'label'" in refusal(cal.read_runs, path)


def test_columns_missing_or_ambiguous(tmp_path: Path, write: Callable[..., str]) -> None:
    path = table(tmp_path / "file", {"qid": ["1"], "query_id": ["1"], "docno": ["a"], "score": [1.0]})
    words = refusal(cal.read_runs, path)
    assert "the query could be any of the columns 'qid', 'query_id'" in words
    assert "Say which one it is with columns, as query=qid" in words
    assert cal.read_runs(path, columns={"query": "qid"})[0].to_dict() == {"1": {"a": 1.0}}
    for text in ("a,b,c\n1,2,3\n", '{"a": 1, "b": 2, "c": 3}'):
        words = refusal(lambda text=text: cal.read_runs(write(text))[0].to_dict())
        assert "there is no column for the query" in words
        assert "the columns are 'a', 'b', 'c'" in words
    assert "'score', 'score'" in refusal(cal.read_runs, write("qid,docno,score,score\n1,a,1,2\n"))
    assert "two columns have the name 'x'" in refusal(
        cal.read_runs, write("qid,docno,x,x\n1,a,1,2\n"), columns={"score": "x"}
    )


def test_empty_and_damaged_tables(tmp_path: Path, write: Callable[..., str]) -> None:
    pq.write_table(pa.table(GOOD).slice(0, 0), path := tmp_path / "file")
    assert "there are no rows" in refusal(lambda: cal.read_runs(path)[0].to_dict())
    assert "there are no rows" in refusal(lambda: cal.read_runs(write("qid,docno,score\n"))[0].to_dict())
    assert "the file is empty" in refusal(cal.read_runs, write(""))
    whole = Path(table(tmp_path / "file", GOOD)).read_bytes()
    assert "the Parquet data is damaged" in refusal(cal.read_runs, write(whole[:-10]))
    assert "the Parquet data is damaged" in refusal(cal.read_runs, write(whole[:20] + whole[-20:]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("qid,docno,score\n1,a,3\n1,b,x\n", "column 'score', row 2: 'x' is not a number"),
        ("qid,docno,score\n1,a,3\n1,b,\n", "column 'score', row 2: there is no value"),
        ("qid,docno,score\n1,a,3\n,b,2\n", "column 'qid', row 2: there is no value"),
        ("qid,docno,score\n1,a,nan\n", "column 'score', row 1: 'nan' is not a finite number"),
        ("qid,docno,score\n1,a,1e999\n", "column 'score', row 1: '1e999' is not a finite number"),
        ("qid,docno,score\n1,a,0x10\n", "column 'score', row 1: '0x10' is not a number"),
        ("qid,docno,score\n1,a,1_0\n", "column 'score', row 1: '1_0' is not a number"),
        ("qid,docno,score\n1,a,3\n1,b\n", "row 2: expected 3 cells, as in the first line, found 2"),
        ("qid,docno,score\n1,a,3\n1,a,2\n", "row 2: document 'a' appears twice for query '1'"),
    ],
)
def test_csv_that_is_no_run(text: str, words: str, write: Callable[..., str]) -> None:
    assert re.search(words, refusal(cal.evaluate, QRELS, write(text)))


# ------------------------------------------------------------------------------------------------- rows in pieces


def scattered(rng: random.Random, queries: int, together: bool) -> list[tuple[str, str, float]]:
    found = [
        (str(q), f"d{d}", rng.choice([0.5, 1.0, rng.random()]))
        for q in range(queries)
        for d in rng.sample(range(20), rng.randint(1, 12))
    ]
    if not together:
        rng.shuffle(found)
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("plain", [False, True])
def test_pieces_and_threads_change_nothing(
    seed: int, plain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    entries = scattered(rng, rng.randint(1, 12), together=seed % 3 > 0)
    judged = {str(q): {f"d{d}": rng.randint(0, 2) for d in range(0, 20, 3)} for q in range(0, 14, 2)}
    content = {"qid": [e[0] for e in entries], "docno": [e[1] for e in entries], "score": [e[2] for e in entries]}
    path = table(tmp_path / "x", content, row_group_size=rng.choice([1, 3, 7, 1000]))
    for module in (rows, parquet_format):
        monkeypatch.setattr(module, "SMALLEST_PART", 1)
        monkeypatch.setattr(module, "AT_ONCE", rng.choice([1, 2, 5, 1000]))
    if plain:
        monkeypatch.setattr(rows, "RunScanner", _plain.RunScanner)
        monkeypatch.setattr("calipers.collection.judgments.JudgedIndex", _plain.JudgedIndex)
    known = cal.Judgments.from_dict(judged)
    lists: dict[str, dict[str, float]] = {}
    for query, document, score in entries:
        lists.setdefault(query, {})[document] = score
    # Both have all queries in the order of the judgments here.
    for depth, precision in ((0, "double"), (4, "single")):
        want = by_query(DictRun(lists, "x").retrieved(known, depth, precision))
        for jobs in (1, 2, 5):
            assert by_query(cal.read_run(path, name="x").retrieved(known, depth, precision, jobs)) == want
            frame = cal.read_run(pa.table(content), name="x")
            assert by_query(frame.retrieved(known, depth, precision, jobs)) == want


def by_query(found: Any) -> Any:
    order = np.argsort(found.query)
    columns = (found.document, found.score, found.first, found.last, found.docid_rank, found.input_rank)
    lists = [[column[found.offsets[s] : found.offsets[s + 1]].tolist() for column in columns] for s in order.tolist()]
    ties = found.all_ties.take(order)
    lists += [part.tolist() for part in (ties.offsets, ties.first, ties.last)]
    return (
        found.query[order].tolist(),
        found.length[order].tolist(),
        found.tied[order].tolist(),
        lists,
        found.tag,
        sorted(found.unjudged.tolist()),
    )


@pytest.mark.slow
def test_one_large_row_group_and_many(tmp_path: Path) -> None:
    """Without any setting changed: enough rows for pieces and threads."""
    rng = np.random.default_rng(1)
    n = 2 * rows.SMALLEST_PART + 3 * rows.AT_ONCE + 17
    query = np.arange(n) // 1000
    content = {"qid": query.astype(str), "docno": (np.arange(n) * 7 % 1000003).astype(str), "score": rng.random(n)}
    judged = {str(q): {content["docno"][q * 1000 + 5]: 1} for q in range(0, int(query[-1]), 7)}
    values = {}
    for groups in (n, 100_000):
        path = table(tmp_path / "x", content, row_group_size=groups)
        for jobs in (1, 3):
            values[groups, jobs] = cal.evaluate(judged, path, ["RR", "nDCG"], jobs=jobs).values.tolist()
    values["frame"] = cal.evaluate(judged, pa.table(content), ["RR", "nDCG"]).values.tolist()
    assert len({json.dumps(value) for value in values.values()}) == 1


@pytest.mark.skipif(not scanner.COMPILED, reason="there is only the plain scanner")
@given(data=st.data())
@settings(max_examples=60)
def test_rows_and_lines_are_scanned_alike(data: st.DataObject) -> None:
    from calipers.native import _scanner

    scores = st.sampled_from([0.5, -0.0, 0.0, 1e300, 2.5])
    entries = data.draw(st.lists(st.tuples(st.sampled_from("123"), st.sampled_from("abcdefgh"), scores)))
    cut = data.draw(st.integers(0, len(entries)))
    precision = data.draw(st.sampled_from(["double", "single"]))
    regroup, depth = data.draw(st.booleans()), data.draw(st.integers(0, 4))
    outcomes = []
    for module in (_scanner, _plain):
        index = module.JudgedIndex(Ids.of(["1", "3"]), np.array([0, 2, 4]), Ids.of("abcd"))
        by_rows, by_lines = (
            module.RunScanner(index, depth=depth, precision=precision, regroup=regroup) for _ in range(2)
        )

        def feed(by_rows: Any = by_rows) -> Any:
            for part in (entries[:cut], entries[cut:]):
                names = sorted({q for q, _, _ in part})
                by_rows.feed_rows(
                    Ids.of(names),
                    np.array([names.index(q) for q, _, _ in part], np.int32),
                    Ids.of(d for _, d, _ in part),
                    np.array([s for _, _, s in part], np.float64),
                )
            return by_rows.finish()

        def lines(by_lines: Any = by_lines) -> Any:
            by_lines.feed("".join(f"{q} Q0 {d} 1 {s!r} t\n" for q, d, s in entries).encode())
            return by_lines.finish()

        outcomes += [outcome(feed), outcome(lines)]
    assert outcomes[0] == outcomes[1] == outcomes[2] == outcomes[3]


def outcome(call: Callable[[], Any]) -> Any:
    try:
        found = call()
    except scanner.ScanError as error:
        return error.message, error.line
    names: tuple[str, ...] = (
        "query",
        "length",
        "tied",
        "offsets",
        "document",
        "score",
        "first",
        "last",
        "docid_rank",
        "input_rank",
        "all_ties",
    )
    if found.scattered:
        names = ()  # without regrouping there is nothing to compare; with it, the plain test has the columns
    return [comparable(getattr(found, name)) for name in (*names, "unjudged", "scattered")]


@pytest.mark.parametrize("module", [_plain, pytest.param(scanner, id="chosen")])
def test_columns_that_do_not_fit(module: Any) -> None:
    index = module.JudgedIndex(Ids.of(["1"]), np.array([0, 1]), Ids.of("a"))
    good = (Ids.of(["1"]), np.array([0], np.int32), Ids.of(["a"]), np.array([1.0]))
    module.RunScanner(index).feed_rows(*good)
    for place, bad in (
        (1, np.array([1], np.int32)),
        (1, np.array([-1], np.int32)),
        (1, np.array([0, 0], np.int32)),
        (2, Ids.of(["a", "b"])),
        (3, np.array([math.nan])),
        (3, np.array([1.0, 2.0])),
    ):
        with pytest.raises(ValueError, match=r"columns|NaN"):
            module.RunScanner(index).feed_rows(*good[:place], bad, *good[place + 1 :])
    cut_short = module.RunScanner(index)
    cut_short.feed(b"1 Q0 a")
    with pytest.raises(ValueError, match="not finished"):
        cut_short.feed_rows(*good)


# -------------------------------------------------------------------------------------------------- other sources


def test_judgments_of_ir_datasets(tmp_path: Path, require: Any) -> None:
    ir_datasets = require.module("ir_datasets")
    formats = importlib.import_module("ir_datasets.formats")
    file = tmp_path / "qrels"
    file.write_text("1 0 a 1\n1 0 b 0\n2 0 c 2\n2 0 d -1\n")
    qrels = formats.TrecQrels(ir_datasets.util.LocalDownload(file), {0: "no", 1: "yes", 2: "very", -1: "junk"})
    name = f"calipers-{tmp_path.name}"
    ir_datasets.registry.register(name, ir_datasets.Dataset(qrels))
    ir_datasets.registry.register(f"{name}/bare", ir_datasets.Dataset())
    assert cal.read_judgments(f"irds:{name}").to_dict() == QRELS
    assert (cal.evaluate(f"irds:{name}", RUN).values == cal.evaluate(QRELS, RUN).values).all()
    assert "no judgments" in refusal(cal.read_judgments, f"irds:{name}/bare")
    assert "does not know" in refusal(cal.read_judgments, "irds:no-such-dataset")


@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [
        ("lz4.frame", lambda folder: cal.read_run(folder / "run.lz4"), "packed"),
        ("backports.zstd", lambda folder: cal.read_run(folder / "run.txt.zst"), "packed"),
        ("pyarrow.parquet", lambda folder: cal.read_run(folder / "run.parquet"), "frames"),
        ("narwhals", lambda folder: cal.read_run(pa.table(GOOD)), "frames"),
        ("ir_datasets", lambda folder: cal.read_judgments("irds:x"), "irds"),
    ],
)
def test_missing_packages_are_named(
    module: str, call: Callable[[Path], Any], extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if module == "backports.zstd" and sys.version_info >= (3, 14):
        pytest.skip("the standard library has it")
    for ending in ("lz4", "txt.zst", "csv", "parquet"):
        cal.write_run(RUN, tmp_path / f"run.{ending}")
    monkeypatch.setitem(sys.modules, module, None)
    package = module if module.startswith("backports") else module.partition(".")[0]
    assert f"need the package {package}: pip install 'calipers[{extra}]'" in refusal(call, tmp_path)


def test_nothing_optional_is_loaded_for_nothing() -> None:
    code = """
import sys, calipers as cal
cal.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}})
found = {"pyarrow", "narwhals", "pandas", "polars", "lz4", "ir_datasets", "backports.zstd"} & {*sys.modules}
assert not found, found
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------------------------------------------- command line


def test_command_line(tmp_path: Path) -> None:
    cal.write_qrels(QRELS, tmp_path / "qrels.parquet")
    cal.write_run(RUN, tmp_path / "run.jsonl.gz", name="mine")
    done = calipers("evaluate", tmp_path / "qrels.parquet", tmp_path / "run.jsonl.gz", "-m", "RR", "--format", "csv")
    assert done.stdout == "system,RR\nmine,1.0\n", done.stderr
    (tmp_path / "own.csv").write_text("t,d,s\n1,a,3.5\n2,c,9\n")
    named = calipers(
        "evaluate",
        tmp_path / "qrels.parquet",
        tmp_path / "own.csv",
        "-m",
        "RR",
        "--format",
        "csv",
        "--columns",
        "query=t,document=d,score=s",
    )
    assert named.returncode == 2  # the same names are looked for in the judgments
    assert "there is no column 't' for the query" in named.stderr
    cal.write_qrels(QRELS, tmp_path / "qrels.txt")
    named = calipers(
        "evaluate",
        tmp_path / "qrels.txt",
        tmp_path / "own.csv",
        "-m",
        "RR",
        "--format",
        "csv",
        "--columns",
        "query=t,document=d,score=s",
    )
    assert named.stdout == "system,RR\nown,1.0\n", named.stderr
    wrong = calipers("evaluate", tmp_path / "qrels.txt", tmp_path / "own.csv", "--columns", "query")
    assert "--columns 'query': expected" in wrong.stderr


def test_convert(tmp_path: Path) -> None:
    cal.write_run(RUN, tmp_path / "run.txt", name="mine")
    cal.write_qrels(QRELS, tmp_path / "qrels.json")
    assert calipers("convert", tmp_path / "run.txt", tmp_path / "run.parquet").returncode == 0
    assert cal.read_run(tmp_path / "run.parquet").name == "mine"
    assert cal.read_run(tmp_path / "run.parquet").to_dict() == RUN
    done = calipers("convert", tmp_path / "qrels.json", tmp_path / "qrels.txt")
    assert "this may hold judgments or a run: add --as judgments or --as run" in done.stderr
    assert calipers("convert", tmp_path / "qrels.json", tmp_path / "qrels.txt", "--as", "judgments").returncode == 0
    assert (tmp_path / "qrels.txt").read_text() == "1 0 a 1\n1 0 b 0\n2 0 c 2\n2 0 d -1\n"


@given(text=st.text(max_size=60))
@settings(max_examples=60)
def test_no_text_makes_the_reader_fail_otherwise(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("any") / "x"
    path.write_text(text, encoding="utf-8", newline="")
    for form in ("json", "csv"):
        for value in ("score", "grade"):
            with suppress(CalipersError):
                FORMATS[form].read(str(path), value=value)  # type: ignore[call-arg]  # which tables take


# -- CSV and TSV: the standard library reads them ----------------------------------------------------

WITHOUT_EXTRAS = """
import sys
for name in ("pyarrow", "narwhals", "pandas", "polars"):
    sys.modules[name] = None
import calipers as cal
for ending, delimiter in (("csv", ","), ("tsv", "\\t"), ("txt", ";")):
    for header in (True, False):
        lines = [["1", "d 1", "1"], ["1", "d,2", "0"], ["2", '"d;3"', "1"]]
        table = ([["query", "doc", "{}"]] if header else []) + lines
        for number in ("grade", "score"):
            quoted = [[f'"{c}"' if delimiter in c and c[0] != '"' else c for c in row] for row in table]
            text = "\\n".join(map(delimiter.join, quoted))
            open(f"{number}.{ending}", "w").write(text.format(number) + "\\n")
        scores = cal.evaluate(f"grade.{ending}", f"score.{ending}", "AP", warn=False)
        assert scores["AP"].tolist() == [[1.0, 1.0]], scores["AP"]
"""


def test_csv_without_extras(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("rows", [1, 1000])
def test_text_that_is_not_utf_8_is_refused_with_its_line(
    rows: int, write: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The law: a table in another encoding is an error with the line, and reads alike where the encoding is named."""
    monkeypatch.setattr("calipers.collection.files.BLOCK", 512)
    monkeypatch.setattr("calipers.collection.table_rows.AT_ONCE", 64)
    text = "query,doc,{}\n" + "".join(f"q,plain{i},1\n" for i in range(rows)) + "q,caf\u00e9,2\n"
    want = cal.read_judgments(write(text.format("grade").encode(), "utf8.csv")).to_dict()
    for encoding in ("cp1252", "latin-1"):
        path = write(text.format("grade").encode(encoding), "other.csv")
        message = refusal(cal.read_judgments, path)
        assert f"{path}:{rows + 2}: not text in UTF-8" in message
        assert "name its encoding" in message
        assert cal.read_judgments(path, encoding=encoding).to_dict() == want
    run = write(text.format("score").encode("cp1252"), "run.csv")
    assert f"{run}:{rows + 2}: not text in UTF-8" in refusal(lambda: cal.read_run(run).to_dict())
    assert cal.read_run(run, encoding="cp1252").to_dict()["q"]["caf\u00e9"] == 2
    trec = write("".join(f"q Q0 {d} 1 {s} t\n" for d, s in want["q"].items()).encode("cp1252"), "run.txt")
    assert cal.read_run(trec, encoding="cp1252").to_dict()["q"] == want["q"]
    assert cal.evaluate(want, cal.read_run(trec, encoding="cp1252"), "NumRet", warn=False)["NumRet"] == rows + 1
    assert "unknown encoding 'cp9999'" in refusal(lambda: cal.read_judgments(path, encoding="cp9999"))
    assert commands.run(["evaluate", path, run, "-m", "P@1", "--encoding", "cp1252"]) == 0
    assert commands.run(["evaluate", path, run, "-m", "P@1"]) == 2


@given(
    st.lists(st.tuples(any_id, any_id, st.floats(-1e300, 1e300)), min_size=1, max_size=40),
    st.sampled_from(["csv", "tsv"]),
)
def test_csv_is_read_as_python_writes_it(rows: list[tuple[str, str, float]], ending: str) -> None:
    """Ids of any text, in any order of queries, are read back as they were, in pieces of any size."""
    run: dict[str, dict[str, float]] = {}
    for query, document, score in rows:
        run.setdefault(query, {})[document] = score
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("calipers.collection.formats.csv.AT_ONCE", 3)
        cal.write_run(run, Path(folder) / f"run.{ending}")
        assert cal.read_run(Path(folder) / f"run.{ending}").to_dict() == run


def test_empty_ids_are_not_written_to_csv(tmp_path: Path) -> None:
    assert "cannot write an empty id" in refusal(cal.write_run, {"q": {"": 1.0}}, tmp_path / "run.csv")


def test_queries_of_json_without_documents_count(write: Callable[..., str]) -> None:
    """A judged query without documents is a query, in its place, as in a dictionary."""
    known: dict[str, dict[str, float]] = {"none": {}, "1": {"a": 1}, "empty": {}, "2": {"b": 0}}
    path = write(json.dumps(known), "qrels.json")
    assert cal.read_judgments(path).to_dict() == known
    scores = [cal.evaluate(each, {"1": {"a": 1.0}}, "AP", warn=False) for each in (known, path)]
    assert scores[0].queries == scores[1].queries
    assert scores[0].values.tolist() == scores[1].values.tolist()
