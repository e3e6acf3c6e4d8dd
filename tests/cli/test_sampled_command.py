"""The command `calipers sampled`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli.commands import root
from conftest import valid_spec

QRELS = "u1 0 a 1\nu2 0 b 1\n"
ONE = "u1 Q0 x 1 9 one\nu1 Q0 a 2 8 one\nu2 Q0 b 1 9 one\nu2 Q0 y 2 8 one\n"
OTHER = "u1 Q0 a 1 9 other\nu1 Q0 x 2 8 other\nu2 Q0 y 1 9 other\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"qrels.txt": QRELS, "one.run": ONE, "other.run": OTHER}.items():
        Path(name).write_text(text, encoding="utf-8")


def printed(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(root, ["sampled", "qrels.txt", *arguments, "--items", "20"])
    if code:
        assert isinstance(result.exception, cal.CalipersError)
        return str(result.exception)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_it_writes_what_the_library_returns() -> None:
    arguments = ["one.run", "other.run", "-m", "RR", "--negatives", "2", "--negatives", "19", "--missing", "last"]
    given = cal.Experiment("qrels.txt", ["one.run", "other.run"], "RR", warn=False)
    found = cal.sampled(given, negatives=[2, 19], items=20, missing="last")
    assert printed(*arguments, "--format", "csv") == found.table().to_csv()
    assert printed(*arguments, "--format", "csv", "-q") == found.per_query().to_csv()
    assert printed(*arguments, "--format", "csv", "--pairs") == found.pairs().to_csv()
    assert printed(*arguments, "--format", "csv", "--random") == found.random_ranking().to_csv()
    assert found.table().to_csv().startswith("system,measure,negatives,full,expected,sd\n")


def test_popular_items_are_drawn_by_the_weights_of_a_file() -> None:
    Path("weights.txt").write_text("x 8\ny 1\nz\t1\n", encoding="utf-8")
    arguments = ["one.run", "-m", "RR", "--negatives", "2", "3", "--missing", "last", "--format", "csv"]
    given = cal.Experiment("qrels.txt", "one.run", "RR", warn=False)
    weights = {"x": 8, "y": 1, "z": 1}
    found = cal.sampled(given, negatives=[2, 3], items=20, missing="last", popularity=weights)
    result = CliRunner().invoke(
        root, ["sampled", "qrels.txt", *arguments, "--items", "20", "--popularity", "weights.txt"]
    )
    assert result.stdout == found.table().to_csv()
    assert "expected scores and standard deviations are simulated from 50 draws" in result.stderr
    assert (
        found.random_ranking().rows
        == cal.sampled(given, negatives=[2, 3], items=20, missing="last").random_ranking().rows
    )
    assert "leave out --popularity" in printed("one.run", "--estimate", "--popularity", "weights.txt", code=2)


def test_a_missing_item_stops_it() -> None:
    assert "1 of 1 relevant items are not in the ranking" in printed("other.run", code=2)


def test_estimates() -> None:
    ranks = cal.candidate_ranks(cal.Experiment("qrels.txt", "one.run"))
    found = cal.estimate_full(ranks, "RR", negatives=1, items=20, gamma=0.5)
    arguments = ["one.run", "-m", "RR", "--negatives", "1", "--estimate", "--gamma", "0.5", "--format", "csv"]
    assert printed(*arguments) == found.table().to_csv()
    assert "one number of --negatives" in printed(
        "one.run", "--negatives", "1", "--negatives", "2", "--estimate", code=2
    )
    assert "candidates already" in printed("one.run", "-m", "RR", "--negatives", "1", code=2)
    small = CliRunner().invoke(root, ["sampled", "qrels.txt", "one.run", "-m", "RR", "--items", "3", "--estimate"])
    assert "4 different items are ranked or relevant, more than the 3 items" in str(small.exception)
    assert "ask for one of them" in printed("one.run", "--pairs", "--random", code=2)


def test_a_chart_where_lines_cross() -> None:
    found = cal.sampled(
        cal.Experiment("qrels.txt", ["one.run", "other.run"], "RR", warn=False),
        negatives=[2, 5],
        items=20,
        missing="last",
    )
    data = valid_spec(cal.plot.sampled_order(found))
    assert "log" in str(data)
    assert {row["items"] for row in data["data"]["values"]} == {2, 5, 20}
