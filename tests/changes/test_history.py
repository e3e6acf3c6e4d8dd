"""A history of runs: what is written, what is read, and which runs left their range."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

import calipers as cal
from calipers.cli import commands
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError

SIMULATED = simulate(topics=20, systems={"old": 0.5, "new": 0.1}, retrieved=20, seed=5)


def remembered(path: Path, day: int, *scores: float, digest: str | None = None) -> None:
    made = cal.as_scores([scores], ["bm25"], measure="AP")
    made.metadata["judgments"] = digest
    cal.append_history(path, made, time=datetime(2026, 5, day, tzinfo=UTC))


def test_a_line_has_means_and_intervals_of_evaluate(tmp_path: Path) -> None:
    scores = cal.evaluate(SIMULATED.qrels, SIMULATED.runs, "nDCG@10 AP", warn=False)
    cal.append_history(tmp_path / "h.jsonl", scores, time=datetime(2026, 5, 1, 12, tzinfo=UTC), verdict="worse")
    lines = [json.loads(line) for line in (tmp_path / "h.jsonl").read_text().splitlines()]
    assert [each["name"] for each in lines] == list(scores.systems)
    low, high = cal.mean_intervals(scores, level=0.95)
    for each in lines:
        assert each["time"] == "2026-05-01T12:00:00+00:00"
        assert each["judgments"] == cal.Judgments.from_dict(SIMULATED.qrels, "x").digest
        assert (each["queries"], each["level"], each["verdict"]) == (20, 0.95, "worse")
        for measure in scores.measures:
            assert each["means"][measure] == scores.mean()[each["name"], measure]
            ends = [end[each["name"], measure] for end in (low, high)]
            assert each["intervals"][measure] == [None if end != end else end for end in ends]


def test_the_range_is_the_interval_of_the_first_run_with_the_same_judgments(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    remembered(path, 1, 0.4, 0.5, 0.6, digest="a")  # 0.5, interval about 0.28 to 0.72
    remembered(path, 2, 0.3, 0.4, 0.5, digest="a")
    remembered(path, 4, 0.0, 0.1, 0.2, digest="a")
    remembered(path, 3, 0.8, 0.9, 1.0, digest="a")  # a later line of an earlier day
    remembered(path, 5, 0.0, 0.1, 0.2, digest="b")
    remembered(path, 6, 0.1, 0.1, 0.1, digest="b")
    found = cal.read_history(path)
    assert [each.range for each in found.points] == ["first", "within", "above", "below", "first", "within"]
    assert [each.entry.time[:10] for each in found.outside] == ["2026-05-03", "2026-05-04"]
    assert found.notes == ("bm25: 2 sets of judgments; each starts a new range",)
    assert found.summary.startswith("2 runs of 6 left the range. The latest is bm25 at 2026-05-04")
    assert found.table("outside")["range"] == ["above", "below"]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    remembered(path, 1, 0.4, 0.5)
    good = path.read_text()
    for bad, message in (
        ("{", "Expecting property name"), ("[]", "expected an object"), ('{"time": "2026-05-01"}', "it has no 'name'"),
        (good.strip().replace("2026-05", "May"), "Invalid isoformat"), (good.strip().replace("0.45", '"x"'), "'x'"),
        (good.strip().replace('"bm25"', "7"), "expected a text, not 7"),
    ):  # fmt: skip
        path.write_text(good + bad + "\n")
        with pytest.raises(CalipersError, match=f"h.jsonl:2: this is not a line of a history: .*{message}"):
            cal.read_history(path)
    path.write_text(good + good[:20])
    with pytest.raises(CalipersError, match="the last line does not end"):
        remembered(path, 2, 0.4, 0.5)
    assert path.read_text() == good + good[:20]
    path.write_text("\n")
    with pytest.raises(CalipersError, match=r"h.jsonl: holds no runs"):
        cal.read_history(path)
    with pytest.raises(CalipersError, match=r"none\.jsonl: cannot be read: No such file"):
        cal.read_history(tmp_path / "none.jsonl")


def test_jobs_at_the_same_time_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda day: remembered(path, day, 0.4, 0.5), range(1, 29)))
    assert len(cal.read_history(path).entries) == 28


def test_a_write_that_is_cut_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    path = tmp_path / "h.jsonl"
    remembered(path, 1, 0.4, 0.5)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
        with pytest.raises(CalipersError, match="cannot be written completely"):
            remembered(path, 2, 0.4, 0.5)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == before


def test_commands_append_and_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    SIMULATED.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    shown = ["-m", "nDCG@10 RR", "--history", "h.jsonl"]
    assert commands.run(["evaluate", "qrels.txt", "shop=old.run", *shown]) == 0
    assert (
        commands.run(["check", "qrels.txt", "shop=new.run", "--baseline", "old.run", "--max-drop", "0.01", *shown]) == 1
    )
    found = cal.read_history("h.jsonl")
    assert [(each.name, each.verdict) for each in found.entries] == [("shop", None), ("shop", "worse")]
    assert {each.range for each in found.outside} == {"below"}
    capfd.readouterr()
    assert commands.run(["history", "h.jsonl", "-m", "nDCG@10", "--format", "csv"]) == 0
    out, err = capfd.readouterr()
    assert [line.split(",")[2] for line in out.splitlines()] == ["measure", "nDCG@10", "nDCG@10"]
    assert "calipers: 1 run of 2 left the range. The latest is shop at" in err
    assert commands.run(["history", "h.jsonl", "--name", "other"]) == 2
    assert commands.run(["evaluate", "qrels.txt", "old.run", "--history", os.devnull + "/x"]) == 2


def test_a_chart_of_each_measure(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    path = tmp_path / "h.jsonl"
    for day in (1, 2):
        remembered(path, day, 0.4 / day, 0.5 / day, 0.6 / day)
    made = cal.read_history(path).plot("AP").to_dict()
    assert made["title"] == "Mean AP over time"
