"""Input that was made to hurt: every file and name ends in one line, at once, and takes no more memory than is allowed.

Limits are lowered where the real ones would take long to reach.
"""

from __future__ import annotations

import gzip
import math
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import calipers as cal
from calipers.cli import commands
from calipers.collection import files, json_values
from calipers.collection.arrow import coded
from calipers.collection.formats import sniff
from calipers.collection.run_names import files_of
from calipers.errors import CalipersError
from calipers.lists import Lists, Pool
from calipers.measures.forms import free
from calipers.measures.weights import discount_of
from calipers.results.averages import known_mean

JUDGED = {"q": {"a": 1, "b": 0, "c": 2}, "r": {"a": 1}}
RUN = {"q": {"a": 3.0, "x": 3.0, "b": 2.0}, "r": {"a": 1.0}}


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(CalipersError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1000
    return message


@contextmanager
def room(mebibytes: int) -> Iterator[None]:
    """What happens inside may take so much memory more than there was, or fails."""
    resource = pytest.importorskip("resource")
    pages = (
        int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
        if os.path.exists("/proc/self/statm")
        else None
    )
    if pages is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (mebibytes << 20), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], str]:
    def written(content: bytes) -> str:
        path = tmp_path / "file"
        path.write_bytes(content)
        return str(path)

    return written


# ------------------------------------------------------------------------------------------------ names of measures


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nDCG@" + "{1,2}" * 22, "more than 10,000 measures"),
        ("V1(" * 2000, "nested too deeply"),
        ("V1(" * 2000 + "AP" + ")" * 2000, "nested too deeply"),
        ("P@" + "9" * 5000, "not a whole number"),
        ("P@99999999999", "not a whole number from 1 to 2,147,483,647"),
        ("ndcg_cut." + "1" * 60_000 + "x", "not a number"),
        ("AP(rel=" + "9" * 5000 + ")", "not a value"),
        ("w(of=0x10)", "not a measure"),
        ("d#-ndcg(discount=())", "weights"),
        ("nDCG(gain={[]:1})@5", "not a value"),
        ("nDCG(gain={1:1e999})@5", "not a value"),
        ("nDCG(gain=3)@5", "neither a table nor"),
        ("nDCG(discount=3)@5", "neither a list"),
        ("AP(rel=None)", "not a number"),
        ("11pt_avg(points=3)", "not a list"),
        ("utility(weights=zipf)", "not a list"),
        ("SetF(beta=1e200)", "not a number above 0 and at most 1e+100"),
        ("INSQ(T=1e300)", "not a number above 0 and at most 1e+100"),
        ("INST(T=1e308)", "not a number from 0.5 to 1e+100"),
        ("INST(max_rel=1000000000)", "above 1,000"),
        ("GAP(max_grade=1000000)", "more than 1000 levels"),
        ("V2(AP,population=collection(99999999999))", "above 150,000,000"),
        ("a" * 70_000, "characters"),
    ],
)
def test_names_that_are_none(name: str, words: str) -> None:
    """Without the limits, some of them would take hours, or never end."""
    assert words in refusal(lambda: cal.parse(name))


def test_grade_of_a_million() -> None:
    assert "GAP" in refusal(lambda: cal.evaluate({"q": {"a": 1_000_000}}, {"q": {"a": 1.0}}, ["GAP"]))


@pytest.mark.parametrize("discount", ["log2", "zipf", "none", "telescoping", "jk2", "jk3000", "jk2999.5", [3, 2, 1]])
def test_weights_of_deep_ranks_are_integrated(discount: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of weights below the ranks that are kept one by one, against sums in exact fractions of the weights."""
    depth = 20_000
    weights = discount_of(discount).up_to(depth)
    each = [Fraction(weight) for weight in weights.of_ranks(depth).tolist()]
    monkeypatch.setattr("calipers.measures.weights.DEEP", 1 << 11)
    assert weights.total() == pytest.approx(float(sum(each)), rel=1e-9)
    first, last = np.array([1, 7, 2040, 2050, 5000, 19_000]), np.array([3, 7, 2060, 2050, 15_000, 30_000])
    exact = [float(sum(each[a - 1 : b]) / (b - a + 1)) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    assert weights.mean(first, last) == pytest.approx(exact, rel=1e-6, abs=1e-15)


def test_cutoffs_of_two_billion_ranks() -> None:
    with room(700):
        deep = cal.parse("SDCG@1000000000")
        score = cal.evaluate(JUDGED, RUN, [deep]).mean()["run", "SDCG@1000000000"]
        assert cal.parse("alpha-DCG(norm=perfect)@295421509").cutoff == 295421509
        assert cal.parse("alpha-DCG(norm=perfect, alpha=1e-12)@2000000000").cutoff == 2_000_000_000
    # li(x) ~ the sum of 1 / ln: within a thousandth of x / ln x (1 + 1 / ln x + 2 / ln^2 x + 6 / ln^3 x)
    x = 1e9
    total = math.log(2) * x / math.log(x) * sum(math.factorial(n) / math.log(x) ** n for n in range(4))
    gained = cal.evaluate(JUDGED, RUN, ["DCG"]).mean()["run", "DCG"]
    assert score == pytest.approx(gained / total, rel=2e-3)


# ------------------------------------------------------------------------------------------------ long lists


def test_orders_of_long_lists_are_uniform() -> None:
    """Drawn all at once: a tie of 2 in 3 places, a document alone, and a tie of 2 in 36 places."""
    pool = Pool(np.array([0, 5]), np.array([1.0, 0, 2, 1, 0]))
    first, last = np.array([1, 1, 4, 5, 5]), np.array([3, 3, 4, 40, 40])
    one = Lists(pool, np.array([0]), np.array([40]), np.array([0, 5]), np.arange(5), first, last)
    draws, generator = 5000, np.random.default_rng(1)
    ranks = np.concatenate([free._drawn_order(one, generator) for _ in range(draws)])
    assert all(len({*line}) == 5 for line in ranks.tolist())
    for row in range(5):
        span = int(last[row] - first[row] + 1)
        counts = np.bincount(ranks[:, row], minlength=41)[first[row] : last[row] + 1]
        assert counts.sum() == draws
        expected = draws / span
        assert ((counts - expected) ** 2 / expected).sum() < span + 6 * math.sqrt(2 * span)


@pytest.mark.parametrize("name", ["infAP", "11pt_avg", "INST"])
def test_long_lists_take_linear_memory(name: str) -> None:
    n = 100_000
    pool = Pool(np.array([0, n]), np.random.default_rng(0).integers(-1, 3, n).astype(float))
    ones = np.ones(n, np.int64)
    tied = Lists(pool, np.array([0]), np.array([n]), np.array([0, n]), np.arange(n), ones, n * ones)
    measure = cal.parse(name).bind(pool)
    with pytest.MonkeyPatch.context() as patch, room(200):
        patch.setattr(free, "CELLS", 1 << 18)
        score = measure.score(tied)
    assert 0 < score[0] < 1


def test_one_tie_in_a_long_list_is_enumerated() -> None:
    n = 50_000
    pool = Pool(np.array([0, n]), np.ones(n))
    first = np.arange(1, n + 1)
    last = first.copy()
    last[0], first[1] = 2, 1
    lists = Lists(pool, np.array([0]), np.array([n]), np.array([0, n]), np.arange(n), first, last)
    assert cal.parse("infAP").form.score(lists) == pytest.approx([1.0])


# ------------------------------------------------------------------------------------------------ packed files


def test_packed_json_takes_no_more_than_its_limit(write: Callable[[bytes], str]) -> None:
    bomb = write(gzip.compress(b"[" + b"{}," * 20_000_000 + b"{}]", 6))
    with room(400):
        assert "row 1" in refusal(lambda: cal.read_runs(bomb))


def test_packed_json_beyond_its_limit(write: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "ROOM", 1000)
    monkeypatch.setattr(json_values, "RATIO", 1)
    rows = b"".join(b'{"query": "q", "doc": "d%d", "score": 1}\n' % i for i in range(2000))
    packed = write(gzip.compress(rows))
    assert "unpacks to more than" in refusal(lambda: cal.read_runs(packed))
    assert len(cal.read_runs(packed, max_unpacked=1 << 20)[0].to_dict()["q"]) == 2000


def test_objects_of_json_come_and_go(write: Callable[[bytes], str]) -> None:
    """Blanks, empty lists, several queries, and what is broken between them."""

    def read(text: bytes) -> dict[str, dict[str, float]]:
        return cal.read_runs(write(text), format="json")[0].to_dict()

    assert read(b' [ {"query": "q", "doc": "a", "score": 1} ,\n{"query": "r", "doc": "b", "score": 2}\n] \n') == {
        "q": {"a": 1.0},
        "r": {"b": 2.0},
    }
    assert read(b'\n{ "q" : {"a": 1} , "r":{}\n,"s":{"b":2}}\n') == {"q": {"a": 1.0}, "r": {}, "s": {"b": 2.0}}
    assert read(b'{"q": {"a": 1}}\n\n{"r": {"b": 2}}') == {"q": {"a": 1.0}, "r": {"b": 2.0}}
    for text in (
        b'[{"query": "q"} 1]',
        b'[{"query": "q", "doc": "a", "score": 1},]',
        b'{"q": {"a": 1},}',
        b'{"q": {}',
        b'{"q": {"a": 1} "r": {}}',
        b'[{"query": "q", "doc": "a", "score": 1}] 1',
        b'{"q": {"a": 1}, 3: {}}',
        b'{"q": {"a": 1}, "q": {"b": 1}}',
        b'{"q": {"a": 1}, "r": 2}',
        b"[",
        b'{"q": {"a": 1}, "r"',
    ):
        refusal(lambda text=text: read(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"q": {"a": ' + b"1" * 5000 + b"}}", "too many digits"),
        (b'[{"query": "q", "doc": "a", "score": 1, "system": "\\ud800"}]', "half a character"),
        (b'{"q": {"\\ud800": 1}}', "half a character"),
        (b'{"q": ' + b"[" * 100_000, "nested|not JSON"),
    ],
)
def test_json_that_is_none(text: bytes, words: str, write: Callable[[bytes], str]) -> None:
    assert re.search(words, refusal(lambda: cal.evaluate(JUDGED, cal.read_runs(write(text)), ["AP"])))


def test_a_second_key_is_found_among_many(write: Callable[[bytes], str]) -> None:
    """It would take minutes if each key were sought among all before it."""
    keys = b", ".join(b'"d%d": 1' % i for i in range(200_000))
    assert "'d199999' appears twice" in refusal(
        lambda: cal.read_runs(write(b'{"q": {' + keys + b', "d199999": 2}}'))[0].to_dict()
    )


def test_streams_that_hold_nothing(write: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_TINY", 100)
    assert "streams" in refusal(lambda: files.whole(write(gzip.compress(b"") * 1000)))
    assert files.whole(write(gzip.compress(b"x" * 64) * 1000)) == b"x" * 64_000


@pytest.mark.parametrize("padding", [b"", b"\0", b"\0" * 300_000])
def test_streams_of_every_size(padding: bytes, write: Callable[[bytes], str]) -> None:
    noise = random.Random(1)
    parts = [noise.randbytes(size) for size in (1, 0, 10_000, 300_000, 7, 8191, 65_536)]
    packed = b"".join(gzip.compress(part, 1) + padding for part in parts)
    assert files.whole(write(packed)) == b"".join(parts)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (b"#" + b"x" * 200_000 + b"\nq 0 d 1\n", "qrels"),
        (b"q 0 " + b"d" * 200_000 + b" 1\n", "qrels"),
        (b"\n" * 200_000 + b"q Q0 d 1 1 t", "run"),
        (b"query,doc,score," + b",".join(b"column%d" % i for i in range(20_000)) + b"\nq,d,1\n", "csv"),
    ],
)
def test_first_lines_that_are_long(text: bytes, form: str, write: Callable[[bytes], str]) -> None:
    assert sniff(write(text)) == form


# ------------------------------------------------------------------------------------------------ Parquet, CSV


def _parquet(path: Path, table: Any, **options: Any) -> str:
    pytest.importorskip("pyarrow.parquet").write_table(table, path, **options)
    return str(path)


def test_parquet_is_held_to_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    from calipers.collection.formats import parquet

    n = 3000
    long_ids = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["x" * 1_000_000]))
    column = {"query": pa.array(["q"] * n), "score": pa.array(np.ones(n))}
    file = _parquet(tmp_path / "long", pa.table({**column, "doc": long_ids}))
    with room(600):
        assert "unpacks to more than" in refusal(lambda: cal.read_runs(file)[0].to_dict())
    many = _parquet(tmp_path / "many", pa.table({**column, "doc": pa.array(np.arange(n))}))
    assert "unpacks to more than" in refusal(lambda: cal.read_runs(many, max_unpacked=1000))
    assert len(cal.read_runs(many)[0].to_dict()["q"]) == n
    monkeypatch.setattr(parquet, "ROOM", 200_000)
    monkeypatch.setattr(parquet, "RATIO", 0)
    texts = {"plain": {"use_dictionary": False}, "coded": {"use_dictionary": ["doc"]}}
    texts["delta"] = {"use_dictionary": False, "column_encoding": {"doc": "DELTA_BYTE_ARRAY"}}
    for name, options in texts.items():
        short = pa.table({**column, "doc": pa.array([f"d{i}" for i in range(n)])})
        assert len(cal.read_runs(_parquet(tmp_path / name, short, **options))[0].to_dict()["q"]) == n
        grown = pa.table({**column, "doc": pa.array(["d" * (i // 10 + 1) + str(i) for i in range(n)])})
        wide = _parquet(tmp_path / f"{name}-wide", grown, **options)
        assert "unpacks to more than" in refusal(lambda wide=wide: cal.read_runs(wide))


def test_parquet_with_broken_text(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    places = pa.py_buffer(np.array([0, 1, 3], np.int32))
    broken = pa.Array.from_buffers(pa.string(), 2, [None, places, pa.py_buffer(b"\xff\xfe\xfd")])
    table = pa.table({"query": broken, "doc": broken, "score": [1.0, 2.0], "system": broken})
    runs = cal.read_runs(_parquet(tmp_path / "broken", table))
    assert [run.name for run in runs] == ["\udcff", "\udcfe\udcfd"]
    content = Path(_parquet(tmp_path / "names", pa.table({"query": ["q"], "doc": ["d"], "score": [1.0]}))).read_bytes()
    (tmp_path / "names").write_bytes(content.replace(b"query", b"que\xffy"))
    refusal(lambda: cal.read_runs(str(tmp_path / "names")))


def test_headers_that_are_odd(write: Callable[[bytes], str]) -> None:
    odd = write(b"query,doc,score,s\xffm\nq,a,1,t\n")
    assert f"{odd}:1: not text in UTF-8" in refusal(lambda: cal.read_runs(odd)[0].to_dict())
    assert cal.read_runs(odd, encoding="latin-1")[0].to_dict() == {"q": {"a": 1.0}}
    refusal(lambda: cal.read_runs(write(b"query,doc," + b"1" * 50_000 + b"x\nq,a,1\n")))


# ------------------------------------------------------------------------------------------------ the rest


@pytest.mark.parametrize("damage", [lambda raw: raw[:-30], lambda raw: b"PK\x03\x04" + raw[40:], lambda raw: b"PK\x03"])
def test_a_spoilt_cache_is_made_again(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    from calipers.texts.caches import PARTS, VectorCache

    kept = VectorCache(tmp_path, "model")
    parts = [np.ones((2, 3)) for _ in PARTS[:-1]]
    kept.put("text", [*parts, False])
    assert kept.get("text") is not None
    path = next(tmp_path.rglob("*.npz"))
    path.write_bytes(damage(path.read_bytes()))
    assert kept.get("text") is None


def test_long_texts_have_common_subsequences() -> None:
    """One at a time in long numbers, side by side in words of 64 places, and the plain recurrence: all the same."""
    from calipers.texts import subsequences

    generator = np.random.default_rng(3)
    for _ in range(30):
        references = [generator.integers(1, 5, generator.integers(1, 200)).tolist() for _ in range(2)]
        rows = generator.integers(0, 5, (2, int(generator.integers(1, 90))))
        lengths = np.array(sorted({1, rows.shape[1]}))
        where = subsequences.Places(references, 5)
        found = []
        for alone in (0, 10**9):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(subsequences, "ALONE", alone)
                patch.setattr(subsequences, "OFTEN", int(generator.integers(1, 50)))
                found.append(subsequences.common(rows, where, lengths).tolist())
        plain = [[[_common(row[:n], each) for each in references] for n in lengths] for row in rows.tolist()]
        assert found[0] == found[1] == plain
    long = generator.integers(1, 20_001, 20_000)  # minutes in words of 64 places
    subsequences.common(long[None, ::-1], subsequences.Places([long.tolist()], 20_000), np.array([20_000]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsequences, "LONGEST", 10)
        assert "words" in refusal(lambda: subsequences.Places([[1] * 11], 1))


def _common(one: list[int], other: list[int]) -> int:
    row = [0] * (len(other) + 1)
    for word in one:
        above = row
        row = [0]
        for j, beside in enumerate(other):
            row.append(above[j] + 1 if word == beside else max(above[j + 1], row[-1]))
    return row[-1]


def test_a_sentence_that_is_too_long_for_rouge_lsum(monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.texts import subsequences

    monkeypatch.setattr(subsequences, "MOST_CELLS", 100)
    assert "ROUGE-Lsum" in refusal(lambda: subsequences.union_matches([["a"] * 11], [["a"] * 11]))


def test_links_that_go_in_circles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub/a/b").mkdir(parents=True)
    for name in ("sub/x", "sub/a/y", "sub/a/b/z"):
        Path(name).write_text("1", encoding="utf-8")
    for i in range(6):
        os.symlink("..", f"sub/a/up{i}")
        os.symlink("../..", f"sub/a/b/up{i}")
    assert files_of("sub/**") == files_of("sub/**/*") == ["sub/a/b/z", "sub/a/y", "sub/x"]
    assert files_of("**/y") == ["sub/a/y"]
    assert files_of(f"{tmp_path}/s*/**/b/?") == [f"{tmp_path}/sub/a/b/z"]


# ------------------------------------------------------------------------------------------------ all kinds of files


FILES = {
    "json": b'{"q": {"a": 1, "b": 2.5}, "r": {"a": 1}}',
    "rows": b'[{"query": "q", "doc": "a", "score": 1, "run": "s"}, {"query": "r", "doc": "b", "score": 2, "run": "t"}]',
    "lines": b'{"query": "q", "doc": "a", "score": 1}\n{"query": "r", "doc": "b", "score": 2}\n',
    "csv": b'query,doc,score,system\nq,a,1,s\nr,"b",2.5,t\n',
    "letor": b"2 qid:1 1:0.5 3:1.5 #docid = a\n0 qid:1 2:1 #docid = b\n",
    "scores": b"1\n2.5\n-3e5\n",
    "qrels": b"q 0 a 1\nq 0 b 2\nr 0 a 0\n",
    "run": b"q Q0 a 1 3.5 t\nq Q0 b 2 2.5 t\nr Q0 a 1 1 t\n",
    "summaries": b'{"id": "d", "system": "s", "summary": "a", "references": ["a c"], "human": {"x": 1}}\n',
}
PIECES = (
    b"1" * 5000,
    b"9" * 400,
    b"1e999",
    b"-",
    b"nan",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b"\\ud800",
    b"\xff",
    b"\0",
    b"\r",
    b"\n",
    b",",
    b":",
    b" ",
    b"\t",
    b"#",
    b"null",
    b"{}",
    b"[]",
    b"\xef\xbb\xbf",
    b"=",
    b"[" * 3000,
    b'{"a":' * 3000,
)


@pytest.mark.filterwarnings("ignore::calipers.errors.CalipersWarning")
@pytest.mark.parametrize("kind", FILES)
def test_files_that_were_spoilt_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    """Whatever is done to a file, it is read, or refused in one line."""
    noise, path = random.Random(kind), tmp_path / "file"
    for _ in range(60):
        content = bytearray(FILES[kind])
        for _ in range(noise.choice((1, 1, 2, 5))):
            place = noise.randrange(len(content) + 1)
            content[place : place + noise.choice((0, 0, 1, 3))] = noise.choice(PIECES)
        path.write_bytes(content)
        for action in _ways(kind, str(path)):
            assert "\n" not in _said(action)


def _said(action: Callable[[], object]) -> str:
    """What it is refused with; nothing where it is not."""
    try:
        action()
    except CalipersError as error:
        return str(error)
    return ""


def _ways(kind: str, path: str) -> list[Callable[[], object]]:
    if kind == "summaries":
        from calipers.texts.text_files import as_collection

        return [lambda: as_collection(path)]
    return [
        lambda: cal.evaluate(JUDGED, cal.read_runs(path), ["AP", "P@5"]).mean(),
        lambda: [run.to_dict() for run in cal.read_runs(path)],
        lambda: cal.evaluate(cal.read_judgments(path), RUN, ["AP"]).mean(),
    ]


@pytest.mark.parametrize("value", ["inf", "nan", "-1", "1e300"])
def test_a_number_of_gigabytes_is_one(value: str, tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("1 Q0 a 1 1 t\n")
    assert commands.run(["evaluate", str(tmp_path / "q"), str(tmp_path / "r"), "--max-unpacked", value]) == 2


@pytest.mark.parametrize("index", [-1, 2])
def test_a_dictionary_that_lacks_what_a_row_names_is_damaged(index: int) -> None:
    arrow = pytest.importorskip("pyarrow")
    indices = arrow.array([0, index], arrow.int32())
    column = arrow.DictionaryArray.from_arrays(indices, arrow.array(["q", "p"]), safe=False)
    with pytest.raises(CalipersError, match="column 'query' is damaged"):
        coded(arrow.chunked_array([column]), "query", None, ordered=True)


# ----------------------------------------------------------------------------------------------- found by drawn options


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_gains_whose_squares_are_no_numbers_warn_of_nothing() -> None:
    found = cal.bounds({"q": {"a": 1e300, "b": 0, "c": 1}}, "DCG@5 nDCG@5")
    assert found.ideal["nDCG@5"].tolist() == [1.0]
    message = refusal(
        lambda: cal.Experiment({"q": {"a": 1e300, "b": 0}}, {"q": {"a": 1.0, "x": 0.5}}, "nDCG@5").ranges()
    )
    assert "the largest grade, 1e+300, is not a number from 0 to 10,000" in message


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_means_over_queries_that_are_all_undefined_warn_of_nothing() -> None:
    means = known_mean(np.array([[1.0, math.nan], [3.0, math.nan]]), axis=0)
    assert means.tolist() == pytest.approx([2.0, math.nan], nan_ok=True)


@pytest.mark.parametrize(
    "command", [["information", "joint", "qrels", "a.run", "b.run"], ["judges", "qrels", "b.qrels"]]
)
def test_draws_without_end_are_refused(command: list[str]) -> None:
    with pytest.raises(click.BadParameter, match="range"):
        commands.root.main([*command, "--draws", "4294967296"], standalone_mode=False)
