"""Judges of plain rows, and runs that are re-ranked by a judge's own labels."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli.commands import root
from calipers.questions.judges.effects_on_systems import CIRCULARITY_COLUMNS as COLUMNS, circularity_notes
from calipers.questions.judges.score_repair import prediction_powered
from calipers.questions.judges.verdict_rows import are_labels_of_items, is_verdict_table
from calipers.statistics.correlation import kendall_b
from calipers.statistics.significance import SEED
from conftest import Require


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
    assert cal.judge_verdicts(rows, threshold=4, human_threshold=4).to_csv() == cal.judge_verdicts(passed).to_csv()
    assert cal.judge_verdicts(rows).table()["judged"] == [3.0]


def of_two_systems(items: int = 40, labelled: int = 20, judge: str = "gpt") -> list[dict[str, Any]]:
    """Answers of two systems. The judge errs on every fifth answer, and people labelled some items of both."""
    rows = []
    for item in range(items):
        for system, good in (("new", item % 10 < 7), ("old", item % 10 in (0, 1, 2, 8))):
            label = good if (item + (system == "new")) % 5 else not good
            human = int(good) if item < labelled else ""
            rows.append({"item": f"i{item:02}", "system": system, "judge": judge, "label": int(label), "human": human})
    return rows


def repaired_by_hand(human: dict[str, int], judged: dict[str, int]) -> tuple[Fraction, Fraction, Fraction]:
    """Means of people, of the judge, and the mean repaired with cross-fitted weights, in exact fractions."""
    both = sorted(human)
    y, f = ([Fraction(labels[item]) for item in both] for labels in (human, judged))
    others = [Fraction(judged[item]) for item in sorted(judged) if item not in human]
    half = np.random.default_rng(SEED).permutation(len(both)) % 2 == 0

    def mean(values: list[Fraction]) -> Fraction:
        return sum(values, Fraction(0)) / len(values)

    def covariance(one: list[Fraction], other: list[Fraction]) -> Fraction:
        products = [(a - mean(one)) * (b - mean(other)) for a, b in zip(one, other, strict=True)]
        return sum(products, Fraction(0)) / (len(one) - 1)

    weight = {}
    for side in (True, False):
        tuned = [place for place in range(len(both)) if half[place] != side]
        share = 1 + Fraction(len(both), len(others))
        best = covariance([y[p] for p in tuned], [f[p] for p in tuned]) / (share * covariance(f + others, f + others))
        weight[side] = min(max(best, Fraction(0)), Fraction(1))
    corrected = [y[p] - weight[bool(half[p])] * (f[p] - mean(others)) for p in range(len(both))]
    return mean(y), mean(f + others), mean(corrected)


def test_rates_and_their_difference_are_those_of_exact_fractions() -> None:
    rows = of_two_systems()
    study = cal.judge_verdicts(rows)
    judged = {name: {row["item"]: row["label"] for row in rows if row["system"] == name} for name in ("new", "old")}
    human = {
        name: {row["item"]: row["human"] for row in rows if row["system"] == name and row["human"] != ""}
        for name in ("new", "old")
    }
    for row in study.table():
        expected = repaired_by_hand(human[row["system"]], judged[row["system"]])
        assert (row["human"], row["judged"], row["corrected"]) == pytest.approx([float(each) for each in expected])
        assert row["low"] < row["corrected"] < row["high"]
    (pair,) = study.table("differences")
    assert (pair["system_a"], pair["system_b"], pair["items"], pair["labelled"]) == ("new", "old", 40, 20)
    lost, gained = ({item: of["new"][item] - of["old"][item] for item in of["new"]} for of in (human, judged))
    expected = repaired_by_hand(lost, gained)
    assert (pair["human"], pair["judged"], pair["corrected"]) == pytest.approx([float(each) for each in expected])
    values = [
        np.array([[of[item] for item in names]], float)
        for of, names in (
            (lost, sorted(lost)),
            (gained, sorted(lost)),
            (gained, sorted(gained.keys() - lost.keys())),
        )
    ]
    interval = prediction_powered(*values, within=(-1.0, 1.0))
    assert (pair["low"], pair["high"]) == pytest.approx((float(interval.low[0]), float(interval.high[0])))
    assert f"the repaired pass rate of new minus that of old is {float(expected[2]):+.3f}" in study.summary


@pytest.mark.parametrize(
    ("human", "judge"),
    [
        ([1, 1, 1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0, 1, 0]),  # labels of a system
        ([1, 1, 0, 0, 0, -1, -1, 1], [1, 0, 0, -1, 0, -1, 1, 1]),  # differences of two systems
    ],
)
def test_the_repaired_mean_is_unbiased(human: list[int], judge: list[int]) -> None:
    """Over all ordered samples of four labelled items, it is the mean of people's labels on all items."""
    chosen = np.array([*itertools.permutations(range(len(human)), 4)])
    rest = np.array([sorted(set(range(len(human))) - set(each)) for each in chosen.tolist()])
    y, f = np.array(human, float), np.array(judge, float)
    found = prediction_powered(y[chosen], f[chosen], f[rest], ahead=0)
    assert found.value.mean() == pytest.approx(y.mean(), abs=1e-12)
    assert found.weight.max() > 0.5 > found.weight.min()


def test_systems_are_never_averaged() -> None:
    """The judge passes all answers of A and none of B; people labelled 30 answers of A."""
    rows = [
        {"item": item, "system": name, "label": name == "A", "human": True if name == "A" and item < 30 else None}
        for item in range(100)
        for name in "AB"
    ]
    study = cal.judge_verdicts(rows)
    first, second = study.table()
    assert (first["system"], first["items"], first["labelled"], first["judged"]) == ("A", 100, 30, 1.0)
    assert (second["system"], second["items"], second["labelled"], second["judged"]) == ("B", 100, 0, 0.0)
    assert [second[name] for name in ("agreement", "human", "corrected", "low")] == [None] * 4
    (pair,) = study.table("differences")
    assert (pair["judged"], pair["labelled"], pair["corrected"]) == (1.0, 0, None)
    assert study.notes == (
        "judge: no repaired mean (B): at least 4 items that people labelled are needed, and 2 others that only the "
        "judge labelled",
        "judge: no repaired difference (A and B): at least 4 items that people labelled for both systems are needed, "
        "and 2 others that only the judge labelled",
    )
    few = cal.judge_verdicts(of_two_systems(labelled=8))
    assert few.notes[1] == (
        "gpt: the interval of a difference is only known to hold from 15 items on that people labelled for both "
        "systems, here 8 (new and old)"
    )


def test_systems_have_one_order_for_all_judges_and_a_column_of_many_names() -> None:
    rows = [*of_two_systems(), *reversed(of_two_systems(judge="other"))]
    expected = cal.judge_verdicts(rows)
    pairs = [(row["judge"], row["system_a"], row["system_b"]) for row in expected.table("differences")]
    assert pairs == [("gpt", "new", "old"), ("other", "new", "old")]
    for name in ("model", "run"):
        renamed = [{name if key == "system" else key: value for key, value in row.items()} for row in rows]
        assert cal.judge_verdicts(renamed).to_csv() == expected.to_csv()
    arms = [{"arm" if key == "system" else key: value for key, value in row.items()} for row in rows]
    assert cal.judge_verdicts(arms, columns={"system": "arm"}).to_csv() == expected.to_csv()
    alone = cal.judge_verdicts([row for row in rows if row["system"] == "new"])
    assert "differences" not in alone.tables()
    assert alone.table()["corrected"] == [row["corrected"] for row in expected.table() if row["system"] == "new"]


def test_a_threshold_is_for_one_scale() -> None:
    """Scores of 1 to 5 of the judge, pass or fail of people: the threshold leaves people's labels as they are."""
    passed = [{"item": i, "label": int(i % 5 > 2), "human": int(i % 4 > 0) if i < 30 else None} for i in range(60)]
    stars = [{**row, "label": 1 + row["item"] % 5} for row in passed]
    assert cal.judge_verdicts(stars, threshold=4).to_csv() == cal.judge_verdicts(passed).to_csv()
    turned = [{**row, "human": None if row["human"] is None else 2 + 3 * row["human"]} for row in passed]
    assert cal.judge_verdicts(turned, human_threshold=3).to_csv() == cal.judge_verdicts(passed).to_csv()
    for rows, options, message, parameter in (
        (stars, {}, "judge are 1, 2, 3, 4, 5, those of people 0, 1: .* labels of judge count", "threshold"),
        (turned, {}, "judge are 0, 1, those of people 2, 5: .* labels of people count", "human_threshold"),
        (stars, {"threshold": 4, "human_threshold": 3}, "people are 0, 1: none would pass from 3", "human_threshold"),
        (turned, {"threshold": 4}, "judge are 0, 1: none would pass from 4", "threshold"),
        ([{**row, "label": 20 * row["label"]} for row in turned], {}, "labels of both count as passed", "threshold"),
    ):
        with pytest.raises(cal.CalipersError, match=message) as refused:
            cal.judge_verdicts(rows, **options)
        assert refused.value.parameter == parameter


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "there are no verdicts"),
        ([{"item": 1, "label": 1}], "no column for the human among item, label"),
        ([{"item": 1, "label": 1, "human": None}], "no row has a label of people"),
        ([{"item": 1, "label": "maybe", "human": 1}], "'maybe' in column 'label' is neither a number nor a word"),
        ([{"item": 1, "label": None, "human": 1}], "row 1: there is no label of the judge"),
        ([{"item": 1, "label": 1, "human": 1}, {"item": 1, "label": 1, "human": 0}], "different human labels: 1 and 0"),
        ([{"item": "", "label": 1, "human": 1}], "row 1: there is no item: column 'item' is empty"),
        ([{"item": 1, "label": 1, "human": 1}, {"id": 2, "label": 1, "human": 1}], "row 2: there is no item"),
        ([{"item": float("nan"), "label": 1, "human": 1}], "row 1: there is no item"),
        ([{"item": 1, "system": None, "label": 1, "human": 1}], "row 1: there is no system"),
        ([{"item": 1, "judge": " ", "label": 1, "human": 1}], "row 1: there is no judge"),
        (
            [{"item": 1, "system": "a", "label": 1, "human": 1}, {"item": 1, "system": "a", "label": 1, "human": 0}],
            "item '1' of a has different human labels",
        ),
        (3, "cannot read rows from a int"),
    ],
)
def test_what_is_no_table_of_verdicts_is_refused(rows: Any, said: str) -> None:
    with pytest.raises(cal.CalipersError, match=said):
        cal.judge_verdicts(rows)


def test_tables_of_verdicts_are_read_like_other_tables(tmp_path: Path, require: Require) -> None:
    """Packed, in UTF-16, in Parquet, and with characters at which only some programs end a line."""
    rows = [{**row, "comment": "one\u2028two\x85three"} for row in verdicts(40, 20)]
    expected = cal.judge_verdicts(rows).table()
    plain = written(rows, tmp_path / "verdicts.csv")
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    (tmp_path / "wide.csv").write_bytes(plain.read_text("utf-8").encode("utf-16"))
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / "verdicts.jsonl").write_text(lines, encoding="utf-8")
    require.module("pandas").DataFrame(rows).to_parquet(tmp_path / "verdicts.parquet")
    for name in ("verdicts.csv", "packed.csv.gz", "wide.csv", "verdicts.jsonl", "verdicts.parquet"):
        assert is_verdict_table(str(tmp_path / name)), name
        assert cal.judge_verdicts(tmp_path / name).table() == expected, name
        assert CliRunner().invoke(root, ["judges", str(tmp_path / name)]).exit_code == 0


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


def apart(folder: Path) -> tuple[list[dict[str, Any]], Path, Path]:
    """Rows of two systems with labels of people, and files with the labels of people, and of the judge, in each."""
    rows = of_two_systems()
    own = [{"item": row["item"], "system": row["system"], "label": row["label"]} for row in rows]
    people = [{**row, "label": known["human"]} for row, known in zip(own, rows, strict=True)][::-1]
    return rows, written(people, folder / "people.csv"), written(own, folder / "gpt.csv")


def test_tables_of_people_and_of_judges_are_one_table(tmp_path: Path) -> None:
    """Labels are matched by item and system, and those that people did not give are empty or not there."""
    rows, people, judge = apart(tmp_path)
    expected = cal.judge_verdicts(rows)
    few = [row for row in csv.DictReader(people.read_text(encoding="utf-8").splitlines()) if row["label"]]
    for given in (people, few, [{"item": r["item"], "system": r["system"], "human": r["label"]} for r in few]):
        found = cal.judge_verdicts(given, {"gpt": judge})
        assert found.table().to_csv() == expected.table().to_csv()
        assert found.table("differences").to_csv() == expected.table("differences").to_csv()
    with pytest.raises(cal.CalipersError, match="has different human labels: 1 and 0"):
        cal.judge_verdicts([{"item": "a", "label": 1}, {"item": "a", "label": 0}], {"gpt": judge})


def test_the_command_reads_tables_of_people_and_of_judges(tmp_path: Path) -> None:
    rows, people, judge = apart(tmp_path)
    expected, found = (
        CliRunner().invoke(root, ["judges", *files, "--format", "csv"])
        for files in ([str(written(rows, tmp_path / "both.csv"))], [str(people), f"gpt={judge}"])
    )
    assert (found.exit_code, found.stdout) == (0, expected.stdout)
    named = tmp_path / "named.csv"
    named.write_text(people.read_text(encoding="utf-8").replace("label", "ours"), encoding="utf-8")
    assert are_labels_of_items(str(people))
    assert not are_labels_of_items(str(named))


@pytest.mark.parametrize(
    "text",
    [
        "query,document,grade\nq1,d1,1\n",
        "user_id,item_id,rating\nu,i,3\n",
        "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
        "q1 0 d1 1\n",
        '{"q1": {"d1": 1}}\n',
        '{"query": "q1", "document": "d1", "label": 1}\n',
    ],
)
def test_judgments_of_documents_are_no_labels_of_items(tmp_path: Path, text: str) -> None:
    path = tmp_path / "judgments"
    path.write_text(text, encoding="utf-8")
    assert not are_labels_of_items(str(path))


def test_the_command_has_both_thresholds_and_the_difference(tmp_path: Path) -> None:
    rows = [{**row, "label": 2 + 3 * row["label"]} for row in of_two_systems()]
    path = written(rows, tmp_path / "verdicts.csv")
    expected = cal.judge_verdicts(path, threshold=4)

    def judges(*arguments: str) -> Result:
        return CliRunner().invoke(root, ["judges", str(path), *arguments])

    done = judges("--threshold", "4", "--show", "differences", "--format", "csv")
    assert done.stdout == expected.to_csv("differences")
    assert "differences of systems, repaired" in judges("--threshold", "4").stdout
    assert "these are different scales" in str(judges().exception)
    assert "none would pass from 4 on" in str(judges("--threshold", "4", "--human-threshold", "4").exception)
    assert "use --threshold and --human-threshold" in str(judges("--map", "same").exception)


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
