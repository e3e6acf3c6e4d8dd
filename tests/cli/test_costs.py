"""What documents cost reaches every command that scores lists, in one way."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli.commands import root

MEASURES = ["TBG(halflife=5)", "P@2"]
QRELS = {"p": {"a": 2, "b": 0, "c": 1}, "q": {"a": 0, "b": 1, "c": 0, "d": 1}, "r": {"a": 1, "b": 0, "c": 1}}
RUNS = {
    "one": {q: {"x": 4.0, "a": 3.0, "b": 2.0, "c": 1.0} for q in QRELS},
    "two": {q: {"b": 4.0, "c": 3.0, "y": 2.0, "a": 1.0} for q in QRELS},
}
COSTS = {"a": 2.0, "b": 7.0, "x": 9.0, "c": 0.5}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    lines = (f"{q} 0 {d} {grade}\n" for q, pool in QRELS.items() for d, grade in pool.items())
    (tmp_path / "qrels.txt").write_text("".join(lines))
    for name, run in RUNS.items():
        rows = (f"{q} Q0 {d} 0 {score} {name}\n" for q, scored in run.items() for d, score in scored.items())
        (tmp_path / f"{name}.run").write_text("".join(rows))
    (tmp_path / "costs.txt").write_text("".join(f"{document} {cost}\n" for document, cost in COSTS.items()))
    return tmp_path


def told(files: Path, command: str, *arguments: str) -> tuple[str, str]:
    paths = [str(files / name) for name in ("qrels.txt", "one.run", "two.run")]
    asked = [command, *paths, "-m", " ".join(MEASURES), "--costs", str(files / "costs.txt"), *arguments]
    done = CliRunner().invoke(root, asked)
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


def test_commands_score_with_costs(files: Path) -> None:
    scores = cal.evaluate(QRELS, RUNS, MEASURES, costs=COSTS, warn=False)
    plain = cal.evaluate(QRELS, RUNS, MEASURES, warn=False)
    tbg = scores["TBG(halflife=5)"]
    assert (tbg < plain["TBG(halflife=5)"] - 0.1).any()
    assert (scores["P@2"] == plain["P@2"]).all()
    one, two = tbg.mean(axis=1).tolist()
    assert f"{one:.4f}" in told(files, "evaluate")[0]
    assert f"{one - two:.4f}" in told(files, "compare")[0] + told(files, "diff")[0]
    assert "1 document of 5 that are retrieved have no cost" in told(files, "compare")[1]
    rows = csv.DictReader(io.StringIO(told(files, "ranges", "--format", "csv")[0]))
    found = {(row["system"], row["measure"]): float(row["score"]) for row in rows}
    assert found["one", "TBG(halflife=5)"] == pytest.approx(one)
    assert f"{100 * abs(one - two) / max(one, two):.4f}" in told(files, "metaeval")[0]  # PAD
    report = files / "report.html"
    told(files, "report", "-o", str(report))
    assert f"{one:.4f}" in report.read_text()


def test_bounds_are_of_documents_with_costs(files: Path) -> None:
    done = CliRunner().invoke(
        root, ["bounds", str(files / "qrels.txt"), "-m", "TBG(halflife=5)", "--costs", str(files / "costs.txt")]
    )
    assert done.exit_code == 0, done.output
    found = cal.bounds(QRELS, "TBG(halflife=5)", costs=COSTS)
    assert f"{found.ideal['TBG(halflife=5)'][0]:.4f}" in done.stdout
    assert found.ideal["TBG(halflife=5)"][0] == pytest.approx(1 + 2 ** (-2 / 5))  # a, and c below it
    every = cal.evaluate(QRELS, {"one": RUNS["one"]}, "U(TBG(halflife=5))", costs=COSTS, warn=False)
    assert every.values.max() <= 1


@pytest.mark.parametrize("of", ["bounds", "ranges", "evaluate"])
def test_costs_that_nothing_reads_are_refused(of: str) -> None:
    asked = {
        "bounds": lambda: cal.bounds(QRELS, "P@2", costs=COSTS),
        "ranges": lambda: cal.Experiment(QRELS, RUNS, "P@2", costs=COSTS).ranges(),
        "evaluate": lambda: cal.evaluate(QRELS, RUNS, "P@2", costs=COSTS),
    }
    with pytest.raises(cal.CalipersError, match="no measure depends on costs: P@2"):
        asked[of]()
