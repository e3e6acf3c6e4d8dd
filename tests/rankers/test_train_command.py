"""The commands `calipers train` and `calipers rank`."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from calipers.evaluation.evaluation import evaluate
from calipers.rankers import load, read_letor_data
from calipers.rankers.synthetic import write_collection
from run_calipers import calipers


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("letor") / "TINY", 60, seed=3)


# ------------------------------------------------------------------------------------------- train and rank


def test_train_rank_evaluate(collection: Path, tmp_path: Path) -> None:
    model, scores = tmp_path / "model.cal", tmp_path / "scores.txt"
    done = calipers(
        "train", "adarank", "--train", collection / "S1.txt", "--train", collection / "S2.txt",
        "--valid", collection / "S3.txt", "--metric", "V2(nDCG@10)", "--set", "rounds=10", "-o", model,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert "24 queries, 12 features, labels up to 2" in done.stderr
    assert "1 of 12 features are constant over the training data" in done.stderr
    assert "V2(nDCG@10) on the validation data: 0." in done.stderr
    done = calipers("rank", model, collection / "S5.txt", "-o", scores)
    assert done.returncode == 0
    data = read_letor_data(collection / "S5.txt")
    assert [float(line) for line in scores.read_text().splitlines()] == load(str(model)).predict(data.X).tolist()
    assert calipers("rank", model, collection / "S5.txt").stdout == scores.read_text()
    done = calipers("evaluate", collection / "S5.txt", scores, "-m", "nDCG(gain=exp)@10", "--format", "csv")
    shown = next(csv.DictReader(done.stdout.splitlines()))
    expected = evaluate(data.judgments(), load(str(model)).predict(data.X), "nDCG(gain=exp)@10").mean().rows[0][1]
    assert float(shown["nDCG(gain=exp)@10"]) == pytest.approx(expected)


def test_a_normalised_model_normalises_what_it_ranks(collection: Path, tmp_path: Path) -> None:
    path = collection / "S1.txt"
    train = ["train", "adarank", "--train", path, "--normalize", "query", "--set", "rounds=5", "-o", tmp_path / "m.cal"]
    assert calipers(*train).returncode == 0
    data = read_letor_data(path)
    machine = load(str(tmp_path / "m.cal"))
    assert machine.normalize == "query"
    expected = machine.predict(data.X, qid=data.qid)
    assert [float(line) for line in calipers("rank", tmp_path / "m.cal", path).stdout.split()] == expected.tolist()


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
def test_train_refuses(collection: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = calipers("train", *arguments, "--train", collection / "S1.txt", "-o", tmp_path / "m.cal")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "m.cal").exists()


def test_bad_files_are_answered_by_one_line(collection: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.cal"
    assert (
        calipers("train", "adarank", "--train", collection / "S1.txt", "--set", "rounds=3", "-o", model).returncode == 0
    )
    bad = tmp_path / "bad.txt"
    good = (collection / "S2.txt").read_text()
    for text, message in (
        (
            good.replace(" 5:", " 3:", 1),
            "bad.txt:1: feature 3 comes after feature 4: features must be in ascending order",
        ),
        (good.replace("qid:13 ", "", 1), "bad.txt: expected qid:ID after the label"),
        (good.replace(" 1:", " 1:nan", 1), "is not a"),
        ("\n".join(line.rpartition(" 12:")[0] for line in good.splitlines()), "bad.txt:1: every line has 11 features"),
        (good.replace(" #docid", " 13:1 #docid", 1), "bad.txt:1: feature 13, where the training data has 12"),
        ("", "bad.txt: the file is empty"),
    ):
        bad.write_text(text)
        done = calipers("rank", model, bad)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    model.write_bytes(model.read_bytes()[:-1])
    done = calipers("rank", model, collection / "S5.txt")
    assert done.returncode == 2
    assert "m.cal: the model is damaged" in done.stderr
    done = calipers("train", "adarank", "--train", collection / "S1.txt", "-o", tmp_path / "none" / "m.cal")
    assert done.returncode == 2
    assert "cannot write here" in done.stderr


def test_what_is_missing_is_asked_for_by_name(collection: Path, tmp_path: Path) -> None:
    for name, package, extra in (
        ("lambdamart", "lightgbm", "rankers"),
        ("ranksvm", "sklearn", "rankers"),
        ("listnet", "torch", "neural"),
    ):
        code = f"import sys; sys.modules['{package}'] = None; from calipers.cli import main; main()"
        command = ["train", name, "--train", str(collection / "S1.txt"), "-o", str(tmp_path / "m.cal")]
        done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True)
        assert done.returncode == 2
        assert f"need the package {package}: pip install 'calipers[{extra}]'" in done.stderr


def test_the_demo_trains_ranks_and_evaluates(tmp_path: Path) -> None:
    done = calipers("demo", "--letor", "-o", tmp_path / "demo")
    assert done.returncode == 0
    assert [line.split()[2] for line in done.stdout.splitlines() if line[0] == "$"] == ["train", "rank", "evaluate"]
    assert float(done.stdout.split()[-2]) > 0.7  # V2: far above a random ranking
