"""Judges of plain rows, and runs that are re-ranked by a judge's own labels."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli.commands import root
from calipers.judging.circularity import COLUMNS, circularity_notes
from calipers.judging.score_repair import prediction_powered
from calipers.judging.verdict_rows import is_verdict_table
from calipers.stats.correlation import kendall_b


def verdicts(items: int = 200, labelled: int = 60) -> list[dict[str, Any]]:
    """A judge that passes 20% of what people fail, more often if the answer is long."""
    random = np.random.default_rng(3)
    rows = []
    for item in range(items):
        good, length = bool(random.random() < 0.6), int(random.integers(10, 500))
        lenient = random.random() < (0.4 if length > 255 else 0.0)
        rows.append(
            {
                "item": f"i{item}",
                "judge": "gpt",
                "label": "pass" if good or lenient else "fail",
                "human": ("pass" if good else "fail") if item < labelled else "",
                "length": length,
            }
        )
    return rows


def number(word: str) -> float:
    return float(word == "pass")


def written(rows: list[dict[str, Any]], path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_agreement_and_pass_rates_are_those_of_the_rows() -> None:
    rows = verdicts()
    both = [(number(row["human"]), number(row["label"])) for row in rows if row["human"]]
    (row,) = cal.judge_verdicts(rows).table()
    ours, theirs = np.array(both).T
    observed = float((ours == theirs).mean())
    chance = ours.mean() * theirs.mean() + (1 - ours.mean()) * (1 - theirs.mean())
    assert row["agreement"] == pytest.approx(observed)
    assert row["kappa"] == pytest.approx((observed - chance) / (1 - chance))
    assert (row["items"], row["labelled"]) == (200, 60)
    assert row["human"] == pytest.approx(ours.mean())
    assert row["judged"] == pytest.approx(np.mean([number(row["label"]) for row in rows]))


def test_the_repaired_rate_is_that_of_prediction_powered_inference() -> None:
    rows = sorted(verdicts(), key=lambda row: row["item"])
    both, rest = ([row for row in rows if bool(row["human"]) is known] for known in (True, False))
    y, f = (np.array([[number(row[name]) for row in both]]) for name in ("human", "label"))
    others = np.array([[number(row["label"]) for row in rest]])
    expected = prediction_powered(y, f, others, within=(0.0, 1.0))
    (row,) = cal.judge_verdicts(rows).table()
    assert row["corrected"] == pytest.approx(float(expected.value[0]))
    assert (row["low"], row["high"]) == pytest.approx((float(expected.low[0]), float(expected.high[0])))
    assert row["low"] < 0.6 < row["high"] < row["judged"] + 0.2
    assert abs(row["corrected"] - 0.6) < abs(row["judged"] - 0.6)


def test_a_judge_that_likes_long_answers_is_found_out() -> None:
    found = cal.judge_verdicts(verdicts(400, 300)).table("bias")
    (row,) = found
    assert (row["judge"], row["by"], row["rows"]) == ("gpt", "length", 300)
    assert row["error_low"] < row["error_high"]
    assert 0 < row["low"] < row["difference"] < row["high"]
    fair = [{**row, "label": row["human"] or row["label"]} for row in verdicts(400, 300)]
    (none,) = cal.judge_verdicts(fair).table("bias")
    assert none["difference"] == 0


def test_a_judge_that_likes_the_first_position_is_found_out() -> None:
    rows = [
        {"id": f"i{i}", "score": float(position == 1), "gold": i % 2, "position": position}
        for i in range(40)
        for position in (1, 2)
    ]
    (row,) = cal.judge_verdicts(rows).table("bias")
    assert row["by"] == "position"
    assert (row["error_low"], row["error_high"]) == (0.5, -0.5)


def test_files_frames_and_dicts_are_read_alike(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows = verdicts()
    expected = cal.judge_verdicts(rows).to_csv()
    assert cal.judge_verdicts(pandas.DataFrame(rows)).to_csv() == expected
    assert cal.judge_verdicts(written(rows, tmp_path / "a.csv")).to_csv() == expected
    lines = "".join(json.dumps({**row, "human": row["human"] or None}) + "\n" for row in rows)
    (tmp_path / "a.jsonl").write_text(lines, encoding="utf-8")
    assert cal.judge_verdicts(tmp_path / "a.jsonl").to_csv() == expected
    renamed = [{"answer": row["item"], "gpt": row["label"], "expert": row["human"]} for row in rows]
    named = cal.judge_verdicts(renamed, columns={"item": "answer", "label": "gpt"})
    assert named.table()["corrected"] == cal.judge_verdicts(rows).table()["corrected"]


def test_scores_pass_from_a_threshold_on() -> None:
    rows = [{"item": i, "score": i % 5 + 1, "human": (i + i // 7) % 5 + 1 if i < 30 else None} for i in range(60)]
    passed = [
        {"item": row["item"], "score": row["score"] >= 4, "human": None if row["human"] is None else row["human"] >= 4}
        for row in rows
    ]
    assert cal.judge_verdicts(rows, threshold=4).to_csv() == cal.judge_verdicts(passed).to_csv()
    assert cal.judge_verdicts(rows).table()["judged"] == [3.0]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "there are no verdicts"),
        ([{"item": 1, "label": 1}], "no column for the human among item, label"),
        ([{"item": 1, "label": 1, "human": None}], "no row has a label of people"),
        ([{"item": 1, "label": "maybe", "human": 1}], "'maybe' in column 'label' is neither a number nor a word"),
        ([{"item": 1, "label": None, "human": 1}], "row 1 has no label of the judge"),
        ([{"item": 1, "label": 1, "human": 1}, {"item": 1, "label": 1, "human": 0}], "different human labels: 1 and 0"),
        (3, "cannot read verdicts from a int"),
    ],
)
def test_what_is_no_table_of_verdicts_is_refused(rows: Any, said: str) -> None:
    with pytest.raises(cal.CalipersError, match=said):
        cal.judge_verdicts(rows)


def test_the_command_reads_a_table_of_verdicts(tmp_path: Path) -> None:
    path = written(verdicts(), tmp_path / "verdicts.csv")
    done = CliRunner().invoke(root, ["judges", str(path), "--format", "csv"])
    assert done.exit_code == 0, done.output
    assert done.stdout == cal.judge_verdicts(path).to_csv()
    assert "the repaired one is" in done.stderr
    shown = CliRunner().invoke(root, ["judges", str(path)])
    assert "error_high" in shown.stdout
    (tmp_path / "a.qrels").write_text("q 0 a 1\n", encoding="utf-8")
    assert not is_verdict_table(str(tmp_path / "a.qrels"))
    refused = CliRunner().invoke(root, ["judges", str(tmp_path / "a.qrels")])
    assert "expected judges after the judgments of people" in str(refused.exception)


# -- circular evaluation ---------------------------------------------------------------------------------------


def test_a_judge_looks_perfect_to_itself() -> None:
    made = cal.simulate(topics=30, systems=6, pool=60, retrieved=20, ties=0.0, seed=4)
    random = np.random.default_rng(1)
    human = cal.Experiment(made.qrels, None).judgments.to_dict()
    judge = {
        query: {d: grade if random.random() < 0.7 else float(random.integers(0, 3)) for d, grade in of.items()}
        for query, of in human.items()
    }
    exp = cal.Experiment(human, made.runs, "nDCG@10", warn=False)
    (row,) = exp.judges({"judge": judge, "copy": human}).circularity().rows[:1]
    tau, again, gain_human, gain_judge = row[2:]
    assert tau == exp.judges({"judge": judge}).effects().rows[0][2]
    by_hand = {name: {q: reordered(of, judge.get(q, {})) for q, of in run.items()} for name, run in made.runs.items()}
    means = [cal.evaluate(known, by_hand, "nDCG@10", warn=False)["nDCG@10"].mean(axis=1) for known in (human, judge)]
    assert again == pytest.approx(kendall_b(means[0], means[1]))
    assert gain_human == pytest.approx((means[0] - exp.scores["nDCG@10"].mean(axis=1)).mean())
    assert gain_judge > gain_human > 0
    (copy,) = exp.judges({"copy": human}).circularity().rows
    assert copy[2:4] == (1.0, 1.0)
    assert copy[4] == pytest.approx(copy[5])
    assert circularity_notes(exp.judges({"copy": human}).circularity()) == []


def reordered(scores: dict[str, float], grade: dict[str, float]) -> dict[str, float]:
    order = sorted(scores, key=lambda d: (grade.get(d, -1.0), scores[d]))
    return {document: float(place) for place, document in enumerate(order)}


def test_a_drop_of_tau_is_a_warning() -> None:
    rows = (("gpt", "AP", 0.9, 0.3, 0.1, 0.4), ("gpt", "RR", 0.9, float("nan"), 0.1, 0.4), ("b", "AP", 0.9, 0.85, 0, 0))
    said = circularity_notes(cal.Table(COLUMNS, rows))
    assert len(said) == 2
    assert said[0].startswith("gpt, AP: tau drops from 0.90 to 0.30 if systems rank by the labels of gpt.")
    assert said[1].startswith("gpt, RR: no order of systems is left")
