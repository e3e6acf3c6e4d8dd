"""Published results of real evaluations, from the submitted runs: to every digit that was printed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import calipers as cal

# Published with trec_eval 9, which keeps scores as float32. One run has scores that differ only beyond that:
# 259 of its 2355 documents tie in float32, none in float64, and three of its four figures move.
NEED_SINGLE = {("BERT", "ndcg@10"), ("BERT", "bpref"), ("BERT", "MAP")}


def means(judgments: Path, files: list[Path], names: list[str], **options: Any) -> dict[str, dict[str, float]]:
    """{measure: {run: mean over the queries}} under trec_eval's tie rule."""
    runs = cal.read_runs([str(file) for file in files])
    scores = cal.evaluate(cal.read_qrels(str(judgments)), runs, names, ties="docid", **options)
    return {
        name: dict(zip(scores.systems, scores.values[row].mean(axis=1).tolist(), strict=True))
        for row, name in enumerate(names)
    }


def printed(value: float, figure: str) -> bool:
    """Whether the value, printed to as many digits, reads like the figure (a dropped final 0 aside)."""
    return float(f"{value:.4f}") == float(figure)


def nist(data: Path, track: str) -> dict[tuple[str, str], str]:
    """{(run, measure): figure} of NIST's summaries."""
    with (data / "trec/nist-summaries.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return {(row["run"], row["measure"]): row["value"] for row in rows if row["track"] == track}


@pytest.mark.data
def test_trec_covid_round_1(data: Path) -> None:
    """143 runs, four measures: 572 figures of the leaderboard."""
    folder = data / "trec/covid-round1"
    with (folder / "leaderboard.csv").open(encoding="utf-8") as lines:
        board = {row["run"]: row for row in csv.DictReader(lines)}
    columns = {"nDCG@10": "ndcg@10", "P@5": "p@5", "bpref": "bpref", "AP": "MAP"}
    files = sorted((folder / "runs").glob("*.xz"))
    assert len(files) == 143
    for precision, apart in (("single", set()), ("double", NEED_SINGLE)):
        got = means(folder / "qrels-rnd1.txt", files, list(columns), precision=precision)
        for name in columns:
            assert set(got[name]) == set(board), "a run's name is its tag"
        differ = {
            (run, column)
            for name, column in columns.items()
            for run, value in got[name].items()
            if not printed(value, board[run][column])
        }
        assert differ == apart


@pytest.mark.data
def test_trec_deep_learning_2019(data: Path) -> None:
    """37 passage runs: nDCG@10 as it is, MAP and reciprocal rank at relevance level 2."""
    figures = nist(data, "trec28/deep")
    files = sorted((data / "trec/dl19-passage/runs").glob("*.xz"))
    assert len(files) == 37
    columns = {"nDCG@10": "ndcg_cut_10", "AP(rel=2)": "map", "RR(rel=2)": "recip_rank"}
    got = means(data / "trec/qrels/qrels.dl19-passage.txt.xz", files, list(columns))
    wrong = [
        (run, name, value, figures[run, column])
        for name, column in columns.items()
        for run, value in got[name].items()
        if not printed(value, figures[run, column])
    ]
    assert not wrong
    assert len(got["nDCG@10"]) == 37


@pytest.mark.data
def test_trec_robust_2003(data: Path) -> None:
    """17 runs on MAP; the data notes say that the printed P_10 does not agree, so it is left out."""
    figures = nist(data, "trec12/robust")
    files = sorted((data / "trec/robust03").glob("input.*.xz"))
    assert len(files) == 17
    got = means(data / "trec/robust03/robust03_qrels.txt.xz", files, ["AP"])["AP"]
    assert len(got) == 17
    assert not [
        (run, value, figures[run, "map"]) for run, value in got.items() if not printed(value, figures[run, "map"])
    ]
