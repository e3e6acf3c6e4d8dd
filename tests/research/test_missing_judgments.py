"""The study of missing judgments runs, and hides what it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import calipers as cal
from research import missing_judgments as study


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    random = np.random.default_rng(2)
    (tmp_path / "runs").mkdir()
    documents = [f"d{i}" for i in range(40)]
    lines = [f"q{q} 0 {d} {random.integers(0, 3)}\n" for q in range(4) for d in documents[:30]]
    (tmp_path / "qrels.txt").write_text("".join(lines), encoding="utf-8")
    for s in range(3):
        rows = []
        for q in range(4):
            order = random.permutation(documents)[:25]
            rows += [f"q{q} Q0 {d} {i + 1} {25 - i} s{s}\n" for i, d in enumerate(order)]
        (tmp_path / "runs" / f"s{s}.run").write_text("".join(rows), encoding="utf-8")
    monkeypatch.setattr(study, "COLLECTIONS", {"small": ("qrels.txt", "runs", 1)})
    return tmp_path


def test_every_method_is_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.main([str(folder), "1"])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert {row[3] for row in rows} == {
        "unjudged as 0", "condensed lists", "expected, prior run", "expected, prior pool", "bpref", "infAP"
    }  # fmt: skip
    assert len(rows) == 6 * (4 + 6)


def test_judgments_that_are_kept(folder: Path) -> None:
    judged, runs, _ = study.read(folder, "small")
    for how, left in study.hidden(judged, runs, 0):
        for query, kept in left.items():
            assert kept.items() <= judged[query].items(), how
            assert max(kept.values()) == max(judged[query].values()), how
    everything = cal.evaluate(judged, runs, "AP(rel=1)", warn=False)["AP(rel=1)"].mean(axis=1)
    methods = {method: mean for target, method, mean in study.estimates(judged, judged, runs, 1) if target == "AP"}
    assert methods["unjudged as 0"] == pytest.approx(everything)
