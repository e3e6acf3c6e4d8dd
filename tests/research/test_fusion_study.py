"""The study of fusion of Golbus & Aslam (2013), section 6, and the correlations of RIC of its figure 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.errors import CalipersError
from calipers.questions.fuse.oracles import BOUNDS
from research.golbus2013.charts import ric_scatter
from research.golbus2013.fusion_study import fusion_study
from research.golbus2013.ric_validation import correlations
from research_command import research

RUNS = {name: {"q": {"a": 1.0, "b": 2.0}} for name in "xyz"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fusion_study({"q": {"a": 1}}, RUNS, size=4), "groups of 4 cannot be drawn from 3 systems"),
        (lambda: fusion_study({"q": {"a": 1}}, RUNS, size=2, fusions=["x"]), "unknown fusion 'x'"),
        (lambda: fusion_study({"q": {"a": 1}}, RUNS, size=2, samples=1), "samples 1"),
    ],
)
def test_bad_input(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(CalipersError) as caught:
        call()
    assert words in str(caught.value)


def test_the_study_on_a_simulated_collection() -> None:
    made = cal.simulate(topics=4, pool=40, systems=8, retrieved=60)
    study = fusion_study(made.qrels, made.runs, samples=6, size=3, draws=3)
    table = study.table()
    assert table.columns == ("fusion", "RIC", "tau", "rho", "RMSE")
    assert [row[0] for row in table.rows[:6]] == ["combanz", "combmnz", "condorcet", "majoritarian", "pareto", "naive"]
    assert all(len(set(group)) == 3 for group in study.groups.tolist())
    for values in study.ric.values():
        assert ((values >= 0) & (values <= 1)).all()
    assert (study.joint >= study.best - 1e-12).all()
    first = study.groups[0].tolist()
    names = [study.systems[s] for s in first]
    runs = {name: made.runs[name] for name in names}
    assert study.joint[0] == pytest.approx(cal.questions.information.joint(cal.Experiment(made.qrels, runs)).mean)
    for name in ("combmnz", "condorcet"):
        ric = cal.evaluate(made.qrels, cal.fuse(runs, name), "RIC", empty="skip").values
        assert study.ric[name][0] == pytest.approx(np.nanmean(ric))
    for name in BOUNDS:
        ric = cal.evaluate(
            made.qrels, cal.questions.fuse.fusion_bound(made.qrels, runs, name), "RIC", empty="skip"
        ).values
        assert study.ric[name][0] == pytest.approx(np.nanmean(ric))
    rmse = np.sqrt(np.mean((study.joint - study.ric["naive"]) ** 2))
    assert table["naive", "RMSE"] == pytest.approx(rmse)
    tau = cal.statistics.rank_correlation(study.joint, study.ric["combmnz"], "tau-b")
    assert table["combmnz", "tau"] == pytest.approx(tau)
    again = fusion_study(made.qrels, made.runs, samples=6, size=3, draws=3)
    assert again.per_sample().rows == study.per_sample().rows


def test_the_study_as_a_command(tmp_path: Path) -> None:
    made = cal.simulate(topics=3, pool=30, systems=5, retrieved=40)
    qrels, runs = made.write(tmp_path)
    options = ["--samples", "4", "--size", "2", "--format", "csv"]
    done = research("study", "fusion", qrels, *runs, *options, "--plot", tmp_path / "f.svg")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "fusion,RIC,tau,rho,RMSE"
    assert "4 groups of 2 of 5 systems, seed 42; joint RIC" in done.stderr
    assert (tmp_path / "f.svg").read_text().startswith("<svg")
    rows = research("study", "fusion", qrels, *runs, *options, "--per-sample").stdout.splitlines()
    assert len(rows) == 5


@pytest.mark.data
@pytest.mark.slow
def test_the_study_on_trec_covid(data: Path) -> None:
    folder = data / "trec/covid-round1"
    runs = sorted((folder / "runs").iterdir())[:40]
    study = fusion_study(folder / "qrels-rnd1.txt", runs, samples=2, size=5, draws=1)
    mean = {name: values.mean() for name, values in study.ric.items()}
    assert mean["naive"] > mean["pareto"] > mean["majoritarian"] > mean["combmnz"] > mean["combanz"]
    assert study.skipped == 0
    assert 0.05 < study.null.mean() < study.joint.mean()  # a fourth of it is bias, with so few judged documents


# --- RIC against other measures -----------------------------------------------------------------------------


def test_correlations_of_ric() -> None:
    made = cal.simulate(topics=6, pool=40, systems=12, retrieved=60)
    study = cal.questions.information.ric(cal.Experiment(made.qrels, made.runs))
    table = correlations(study, top=5)
    assert [row[:2] for row in table.rows] == [
        *((one, other) for one in ("RIC", "signed") for other in ("AP", "nDCG", "GAP")),
        ("AP", "nDCG"),
    ]
    ric, ap = study.mean("RIC"), study.mean("AP")
    best = np.argsort(-ap, kind="stable")[:5]
    wanted = [
        cal.statistics.rank_correlation(ric[some], ap[some], kind)
        for some in (slice(None), best)
        for kind in ("tau-b", "spearman")
    ]
    assert table.rows[0][2:] == pytest.approx(tuple(wanted))
    assert len(ric_scatter(study).to_dict()["data"]["values"]) == 12


@pytest.mark.data
@pytest.mark.slow
def test_correlations_of_ric_on_trec_covid(data: Path) -> None:
    folder = data / "trec/covid-round1"
    measured = {
        row[:2]: row[2:]
        for row in correlations(
            cal.questions.information.ric(cal.Experiment(folder / "qrels-rnd1.txt", folder / "runs"))
        ).rows
    }
    for other in ("AP", "nDCG", "GAP"):
        assert measured["RIC", other][0] > 0.75
        assert measured["RIC", other][1] > 0.9
    assert measured["RIC", "AP"][0] < measured["AP", "nDCG"][0]  # as in the paper
