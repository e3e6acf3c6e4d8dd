"""Reading the features of LETOR (SVMlight) files: the compiled scanner, its plain twin, and what is made of them."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.collection.features import MOST_CELLS, read_features
from calipers.errors import CalipersError
from calipers.native import plain as _plain
from calipers.native.columns import Features
from calipers.native.scan_error import ScanError
from conftest import Require


@pytest.fixture(params=["plain", "compiled"])
def scanner(request: pytest.FixtureRequest) -> ModuleType:
    if request.param == "plain":
        return _plain
    return Require().module("calipers.native._scanner")


def scanned(module: ModuleType, text: bytes, *cuts: int) -> Features:
    scanner = module.FeatureScanner()
    for start, end in zip((0, *cuts), (*cuts, len(text)), strict=True):
        scanner.feed(text[start:end])
    return scanner.finish()


def refusal(module: ModuleType, text: bytes) -> tuple[int, str]:
    with pytest.raises(ScanError) as found:
        scanned(module, text)
    return found.value.line, found.value.message


def test_full_lines_keep_no_index(scanner: ModuleType) -> None:
    found = scanned(scanner, b"2 qid:1 1:0.5 2:-1e3 #docid = a\n\n# nothing\n0 qid:1 1:0 2:7\r\n")
    assert found.index is None
    assert found.width == 2
    assert found.value.tolist() == [0.5, -1000.0, 0.0, 7.0]
    assert found.start.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("text", "index", "start"),
    [
        (b"1 qid:1 1:1 2:2\n0 qid:1 2:3\n", [0, 1, 1], [0, 2, 3]),
        (b"1 qid:1 1:1\n0 qid:1 1:3 2:4\n", [0, 0, 1], [0, 1, 3]),
        (b"1 qid:1 1:1 3:2\n", [0, 2], [0, 2]),
        (b"1 qid:1\n0 qid:1 1:3\n", [0], [0, 0, 1]),
    ],
)
def test_lines_with_gaps_keep_theirs(scanner: ModuleType, text: bytes, index: list[int], start: list[int]) -> None:
    found = scanned(scanner, text)
    assert found.index is not None
    assert found.index.tolist() == index
    assert found.start.tolist() == start


def test_a_file_without_a_line_end_and_with_a_byte_order_mark(scanner: ModuleType) -> None:
    assert scanned(scanner, b"\xef\xbb\xbf1 qid:1 1:0.25").value.tolist() == [0.25]


@pytest.mark.parametrize(
    "number", ["0.1234567890123456789", "1e-320", "123456789012345678901234", "2.2250738585072011e-308"]
)
def test_numbers_are_rounded_correctly(scanner: ModuleType, number: str) -> None:
    assert scanned(scanner, f"1 qid:1 1:{number}\n".encode()).value.tolist() == [float(number)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 qid:1 2:0.5 1:0.5", "feature 1 comes after feature 2: features must be in ascending order"),
        (b"1 qid:1 2:0.5 2:0.5", "feature 2 is there twice"),
        (b"1 qid:1 0:0.5", "feature '0:0.5': features are counted from 1"),
        (b"1 qid:1 1:nan", "feature 1 'nan' is not a finite number"),
        (b"1 qid:1 1:inf", "feature 1 'inf' is not a finite number"),
        (b"1 qid:1 1:NULL", "feature 1 'NULL' is not a number"),
        (b"1 qid:1 1:", "feature 1 '' is not a number"),
        (b"1 qid:1 sid:3 1:0.5", "expected a feature as INDEX:VALUE, found 'sid:3'"),
        (b"1 qid:1 1=0.5", "expected a feature as INDEX:VALUE, found '1=0.5'"),
        (b"1 qid:1 -1:0.5", "expected a feature as INDEX:VALUE, found '-1:0.5'"),
        (b"1 qid:1 2147483647:1", "feature '2147483647:1': the largest index is 2147483646"),
        (b"1 qid:1 99999999999999999999999:1", "feature '99999999999999999999999:1': the largest index is 2147483646"),
        (b"1 qid:1 1:0.5\x00", "binary data (a NUL byte): expected a text file"),
        (b"1 qid:1 1:0.5\r#x", "feature 1 '0.5\\r' is not a number"),
    ],
)
def test_lines_that_are_refused(scanner: ModuleType, line: bytes, message: str) -> None:
    assert refusal(scanner, b"1 qid:1 1:0\n" + line + b"\n") == (2, message)


def test_a_line_without_end_is_refused(scanner: ModuleType) -> None:
    assert refusal(scanner, b"1 qid:1 1:0\n1 qid:1 " + b" " * (1 << 24)) == (
        2,
        "a line of more than 16 MiB: expected a text file",
    )


def test_a_scanner_that_refused_takes_nothing_more(scanner: ModuleType) -> None:
    found = scanner.FeatureScanner()
    with pytest.raises(ScanError):
        found.feed(b"1 qid:1 0:1\n")
    with pytest.raises(ValueError, match="finished, or has refused"):
        found.feed(b"1 qid:1 1:1\n")


FIELDS = st.sampled_from(
    [
        b"1",
        b"0.5",
        b"qid:1",
        b"1:0.5",
        b"2:1e2",
        b"3:-0",
        b"7:.5",
        b"#",
        b"#docid = x",
        b"1:nan",
        b"2:",
        b":",
        b"a:1",
        b"\r",
    ]
)
TEXT = st.lists(
    st.tuples(st.lists(FIELDS, max_size=6), st.sampled_from([b" ", b"\t", b"  "]), st.sampled_from([b"\n", b"\r\n"]))
).map(lambda lines: b"".join(blank.join(fields) + end for fields, blank, end in lines))


@given(text=TEXT, cut=st.integers(0, 400))
def test_both_scanners_agree_wherever_blocks_are_cut(text: bytes, cut: int) -> None:
    compiled = Require().module("calipers.native._scanner")
    outcomes = []
    for module, cuts in ((_plain, ()), (compiled, ()), (compiled, (min(cut, len(text)),))):
        try:
            found = scanned(module, text, *cuts)
            index = None if found.index is None else found.index.tolist()
            outcomes.append((found.start.tolist(), index, found.value.tolist(), found.width))
        except ScanError as error:
            outcomes.append((error.line, error.message))
    assert outcomes[0] == outcomes[1] == outcomes[2]


# ------------------------------------------------------------------------------------------------------- files


def written(folder: Path, text: str) -> str:
    path = folder / "part.txt"
    path.write_text(text)
    return str(path)


def test_dense_and_sparse_are_the_same(tmp_path: Path) -> None:
    file = read_features(written(tmp_path, "1 qid:1 2:0.5\n0 qid:1\n2 qid:2 1:1 4:2\n"))
    expected = [[0, 0.5, 0, 0], [0, 0, 0, 0], [1, 0, 0, 2]]
    assert file.dense().tolist() == expected
    assert file.sparse().toarray().tolist() == expected
    assert file.dense(6).shape == file.sparse(6).shape == (3, 6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:0.5\n1 1:0.5\n", ":2: expected qid:ID after the label, found '1:0.5'"),
        (
            "1 1:0.5\n",
            ": expected qid:ID after the label, or the size of each query in part.txt.query or part.txt.group",
        ),
        (
            "1 qid:1 1:0.5\n1 qid:1 2:0.5 1:1\n",
            ":2: feature 1 comes after feature 2: features must be in ascending order",
        ),
        ("1 qid:1 1:nan\n", ":1: feature 1 'nan' is not a finite number"),
        ("1 qid:1 0:1\nx qid:1 1:1\n", ":1: feature '0:1': features are counted from 1"),
        ("x qid:1 1:1\n1 qid:1 0:1\n", ":1: label 'x' is not a number"),
        ("# nothing\n", ":1: nothing but comments and empty lines"),
    ],
)
def test_errors_name_the_first_line_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(CalipersError) as found:
        read_features(path)
    assert str(found.value) == path + message


def test_other_features_than_in_training_are_refused(tmp_path: Path) -> None:
    full = read_features(written(tmp_path, "1 qid:1 1:1 2:1\n0 qid:1 1:1 2:1\n"))
    with pytest.raises(CalipersError, match=r"part\.txt:1: every line has 2 features, where the training data has 3"):
        full.dense(3)
    gaps = read_features(written(tmp_path, "1 qid:1 1:1\n0 qid:1 1:1 5:1\n"))
    with pytest.raises(CalipersError, match=r"part\.txt:2: feature 5, where the training data has 4"):
        gaps.dense(4)
    assert gaps.dense(6).shape == (2, 6)


def test_a_matrix_that_would_be_huge_and_empty_is_refused(tmp_path: Path) -> None:
    file = read_features(written(tmp_path, f"1 qid:1 {MOST_CELLS}:1\n0 qid:1 1:1\n"))
    with pytest.raises(CalipersError, match="too large and nearly empty: read it as a sparse one"):
        file.dense()
    assert file.sparse().shape == (2, MOST_CELLS)


@pytest.mark.data
@pytest.mark.peers
def test_mq2008_is_what_scikit_learn_reads(data: Path, tmp_path: Path, require) -> None:
    lzma = importlib.import_module("lzma")
    packed = data / "letor" / "MQ2008" / "S1.txt.xz"
    plain = tmp_path / "S1.txt"
    plain.write_bytes(lzma.decompress(packed.read_bytes()))
    X, y, qid = require.module("sklearn.datasets").load_svmlight_file(str(plain), query_id=True)
    found = read_features(packed)
    assert (found.dense() == X.toarray()).all()
    assert (found.sparse() != X).nnz == 0
    assert (found.labels.label == y).all()
    names = np.array([int(query) for query in found.labels.queries])
    assert (names[found.labels.query] == qid).all()
