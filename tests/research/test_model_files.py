"""Model files that were made to hurt: each is refused by one line."""

from __future__ import annotations

import json
import math
import os
import pickle
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from calipers import CalipersError
from research.rankers import load, ranker


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(CalipersError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1000
    return message


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("lightgbm")
    generator = np.random.default_rng(0)
    X = generator.random((300, 4))
    machine = ranker("lambdamart", "quick")
    machine.set_params(trees=3) if "trees" in machine.get_params() else machine.set_params(rounds=3)
    machine.fit(X, (X[:, 0] * 3).astype(int), qid=np.repeat(np.arange(30), 10))
    path = tmp_path_factory.mktemp("model") / "trees.cal"
    machine.save(str(path))
    return path


def _rewritten(model: Path, change: Callable[[dict[str, Any], bytes], tuple[dict[str, Any], bytes]], to: Path) -> str:
    """The model with another header and text, and a checksum that is right."""
    first, _, body = model.read_bytes().split(b"\n", 2)
    head, _, text = body.partition(b"\n")
    header, text = change(json.loads(head), text)
    if header["arrays"][0][0] == "text":
        header["arrays"] = [["text", "|u1", [len(text)]]]
    body = json.dumps(header).encode() + b"\n" + text
    to.write_bytes(first + b"\n" + sha256(body).hexdigest().encode() + b"\n" + body)
    return str(to)


def _set(text: bytes, key: bytes, place: int, value: bytes) -> bytes:
    """The first tree with another value in a field."""
    start = text.index(b"\n" + key + b"=", text.index(b"Tree=0")) + len(key) + 2
    end = text.index(b"\n", start)
    fields = text[start:end].split(b" ")
    fields[place] = value
    return text[:start] + b" ".join(fields) + text[end:]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (b"left_child", b"99999", "not there"),
        (b"left_child", b"0", "not there"),
        (b"right_child", b"-999", "not there"),
        (b"split_feature", b"4", "feature"),
        (b"split_feature", b"-1", "feature"),
        (b"split_feature", b"1 1", "numbers"),
        (b"threshold", b"nan", "numbers"),
        (b"threshold", b"1e999", "finite"),
        (b"leaf_value", b"inf", "numbers"),
        (b"decision_type", b"1", "decision"),
        (b"num_leaves", b"2147483648", "numbers"),
        (b"num_leaves", b"0", "leaf"),
        (b"num_cat", b"1", "categories"),
        (b"shrinkage", b"", "numbers"),
    ],
)
def test_trees_that_are_none(key: bytes, value: bytes, words: str, model: Path, tmp_path: Path) -> None:
    wrong = _rewritten(model, lambda header, text: (header, _set(text, key, 0, value)), tmp_path / "wrong.cal")
    assert words in refusal(lambda: load(wrong))


def test_trees_that_go_in_circles(model: Path, tmp_path: Path) -> None:
    """Two nodes that each hang from the other, where every node and leaf is there once."""
    from research.rankers.lightgbm_text import checked

    tree = (
        "Tree=0\nnum_leaves=4\nnum_cat=0\nsplit_feature=0 0 0\nthreshold=1 1 1\ndecision_type=2 2 2\n"
        "left_child={}\nright_child={}\nleaf_value=1 2 3 4\nshrinkage=1\n\n\n"
    )
    header = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=lambdarank\n"
    text = header + "feature_names=a\n\n" + tree + "end of trees\n"
    assert checked(text.format("1 2 -1", "-2 -3 -4"))[1] == 1
    with pytest.raises(ValueError, match="below itself"):
        checked(text.format("-1 2 1", "-2 -3 -4"))
    for damaged in (
        text.replace("Tree=0", "Tree=1"),
        text.replace("end of trees", ""),
        text.replace("v4", "v9"),
        text.replace("num_class=1", "num_class=2"),
        text.replace("lambdarank", "binary"),
    ):
        with pytest.raises(ValueError, match=r"tree|LightGBM|class|objective"):
            checked(damaged.format("1 2 -1", "-2 -3 -4"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("features", 10**12),
        ("features", -1),
        ("features", [[]]),
        ("features", 1e308),
        ("parameters", []),
        ("parameters", {"jobs": 10**9}),
        ("validation", "x"),
        ("arrays", [["text", "<f8", [10**30, 0]]]),
        ("arrays", 3),
        ("ranker", "x" * 5000),
        ("chosen", [1]),
    ],
)
def test_headers_of_models_that_are_none(key: str, value: Any, model: Path, tmp_path: Path) -> None:
    def change(header: dict[str, Any], text: bytes) -> tuple[dict[str, Any], bytes]:
        return {**header, key: {**header[key], **value} if key == "parameters" and value else value}, text

    first, _, body = model.read_bytes().split(b"\n", 2)
    header, text = change(json.loads(body.partition(b"\n")[0]), body.partition(b"\n")[2])
    body = json.dumps(header).encode() + b"\n" + text
    wrong = tmp_path / "wrong.cal"
    wrong.write_bytes(first + b"\n" + sha256(body).hexdigest().encode() + b"\n" + body)
    refusal(lambda: load(str(wrong)))


def test_models_that_are_deep_infinite_or_endless(model: Path, tmp_path: Path) -> None:
    first = model.read_bytes().partition(b"\n")[0]
    for body in (b"[" * 100_000 + b"\n", b'{"ranker": NaN}\n', b'{"ranker": ' + b"9" * 5000 + b"}\n"):
        path = tmp_path / "deep.cal"
        path.write_bytes(first + b"\n" + sha256(body).hexdigest().encode() + b"\n" + body)
        refusal(lambda path=path: load(str(path)))
    (tmp_path / "version.cal").write_bytes(b"calipers-model " + b"9" * 5000 + b"\n")
    refusal(lambda: load(str(tmp_path / "version.cal")))
    if os.path.exists("/dev/zero"):
        assert "no such file" in refusal(lambda: load("/dev/zero"))


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    machine, path = ranker("adarank", "quick"), tmp_path / "a.cal"
    machine.features_, machine.model_ = 2, {"weights": np.array([1.0, 3.5])}
    machine.save(str(path))
    start, _, body = path.read_bytes().split(b"\n", 2)
    body = body.replace(np.array(3.5).tobytes(), np.array(math.inf).tobytes())
    path.write_bytes(b"\n".join([start, sha256(body).hexdigest().encode(), body]))
    assert "finite" in refusal(lambda: load(str(path)))
    machine.model_["weights"][1] = math.inf
    assert "finite" in refusal(lambda: machine.save(str(path)))


def test_our_errors_pass_through_handlers_of_value_errors(tmp_path: Path) -> None:
    machine = ranker("ranksvm", tune=None).fit([[0.0], [1.0], [0.0], [1.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    machine.chosen_ = {"no_such_parameter": 1}
    with pytest.raises(CalipersError, match=r"^ranksvm has no parameter 'no_such_parameter'"):
        machine.save(str(tmp_path / "model"))


def test_an_unfitted_ranker_raises_what_scikit_learn_raises() -> None:
    for ask in (lambda r: r.predict([[1.0]]), lambda r: r.weights, lambda r: r.save("unused")):
        with pytest.raises(NotFittedError, match="has not been fitted") as found:
            ask(ranker("ranksvm"))
        assert isinstance(found.value, CalipersError)
        again = pickle.loads(pickle.dumps(found.value))
        assert isinstance(again, NotFittedError)
        assert str(again) == str(found.value)
