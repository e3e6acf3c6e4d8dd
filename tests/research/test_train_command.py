"""The commands `python -m research train` and `rank`."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from calipers import evaluate
from research.rankers import load, read_letor_data
from research.rankers.synthetic import write_collection
from research_command import Inside, inside_of, research
from run_calipers import calipers


@pytest.fixture
def inside(capsys: pytest.CaptureFixture[str]) -> Inside:
    return inside_of(capsys)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("letor") / "TINY", 60, seed=3)


# ------------------------------------------------------------------------------------------- train and rank


def test_train_rank_evaluate(inside: Inside, collection: Path, tmp_path: Path) -> None:
    model, scores = tmp_path / "model.cal", tmp_path / "scores.txt"
    done = inside(
        "train",
        "adarank",
        "--train",
        collection / "S1.txt",
        "--train",
        collection / "S2.txt",
        "--valid",
        collection / "S3.txt",
        "--metric",
        "V2(nDCG@10)",
        "--set",
        "rounds=10",
        "-o",
        model,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "24 queries, 12 features, labels up to 2" in done.stderr
    assert "1 of 12 features are constant over the training data" in done.stderr
    assert "V2(nDCG@10) on the validation data: 0." in done.stderr
    done = inside("rank", model, collection / "S5.txt", "-o", scores)
    assert done.returncode == 0
    data = read_letor_data(collection / "S5.txt")
    assert [float(line) for line in scores.read_text().splitlines()] == load(str(model)).predict(data.X).tolist()
    assert inside("rank", model, collection / "S5.txt").stdout == scores.read_text()
    done = calipers("evaluate", collection / "S5.txt", scores, "-m", "nDCG(gain=exp)@10", "--format", "csv")
    shown = next(csv.DictReader(done.stdout.splitlines()))
    expected = evaluate(data.judgments(), load(str(model)).predict(data.X), "nDCG(gain=exp)@10").mean().rows[0][1]
    assert float(shown["nDCG(gain=exp)@10"]) == pytest.approx(expected)


def test_a_normalised_model_normalises_what_it_ranks(inside: Inside, collection: Path, tmp_path: Path) -> None:
    path = collection / "S1.txt"
    train = ["train", "adarank", "--train", path, "--normalize", "query", "--set", "rounds=5", "-o", tmp_path / "m.cal"]
    assert inside(*train).returncode == 0
    data = read_letor_data(path)
    machine = load(str(tmp_path / "m.cal"))
    assert machine.normalize == "query"
    expected = machine.predict(data.X, qid=data.qid)
    assert [float(line) for line in inside("rank", tmp_path / "m.cal", path).stdout.split()] == expected.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["foo"], "unknown ranker 'foo'; there are lambdamart"),
        (["adarank", "--set", "depth=3"], "--set 'depth=3': expected NAME=VALUE, with one of rounds, patience"),
        (["adarank", "--set", "rounds=x"], "--set 'rounds=x': expected a number like 500"),
        (["ranknet", "--set", "hidden=a"], "--set 'hidden=a': expected whole numbers, such as 10,10"),
        (["adarank", "--metric", "nDGC@10"], "nDGC"),
        (["adarank", "--like", "letor9"], "unknown convention 'letor9'"),
        (["adarank", "--queries", "500"], "500 queries cannot be drawn from 12"),
    ],
)
def test_train_refuses(inside: Inside, collection: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = inside("train", *arguments, "--train", collection / "S1.txt", "-o", tmp_path / "m.cal")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "m.cal").exists()


def test_bad_files_are_answered_by_one_line(inside: Inside, collection: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.cal"
    assert (
        inside("train", "adarank", "--train", collection / "S1.txt", "--set", "rounds=3", "-o", model).returncode == 0
    )
    bad = tmp_path / "bad.txt"
    good = (collection / "S2.txt").read_text()
    for text, message in (
        (good.replace(" 5:", " 3:", 1), "bad.txt: the features cannot be read: Feature indices"),
        (good.replace("qid:13 ", "", 1), "bad.txt: expected qid:ID after the label"),
        (good.replace(" 1:", " 1:nan", 1), "bad.txt: the features cannot be read: could not convert"),
        ("\n".join(line.rpartition(" 12:")[0] for line in good.splitlines()), "bad.txt: every line has 11 features"),
        (good.replace(" #docid", " 13:1 #docid", 1), "bad.txt: feature 13, where the training data has 12"),
        ("", "bad.txt: the file is empty"),
    ):
        bad.write_text(text)
        done = inside("rank", model, bad)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    model.write_bytes(model.read_bytes()[:-1])
    done = inside("rank", model, collection / "S5.txt")
    assert done.returncode == 2
    assert "m.cal: the model is damaged" in done.stderr
    done = inside("train", "adarank", "--train", collection / "S1.txt", "-o", tmp_path / "none" / "m.cal")
    assert done.returncode == 2
    assert "cannot write here" in done.stderr


def test_figures_are_reproduced_without_the_libraries_of_rankers() -> None:
    absent = "import sys; sys.modules.update(dict.fromkeys(('lightgbm', 'sklearn', 'torch')))"
    done = research("reproduce", "--list", before=absent)
    assert done.returncode == 0, done.stderr
