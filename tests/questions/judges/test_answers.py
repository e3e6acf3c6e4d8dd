"""Judges of nuggets and citations, compared with people."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.questions.judges import prediction_powered
from calipers.texts import Evaluation

SUPPORT = ("not_support", "partial_support", "support")
ROWS: list[dict[str, Any]] = [
    {
        "id": f"q{query}",
        "system": system,
        "answer": "In Ulm.",
        "references": ["Ulm"],
        "nuggets": [
            {"text": f"nugget {n}", "importance": ("vital", "okay")[n % 2], "assignment": SUPPORT[(n + query) % 3]}
            for n in range(4)
        ],
        "statements": [{"text": "In Ulm.", "citations": [{"document": "d1", "support": ("full", "none")[query % 2]}]}],
    }
    for query in range(6)
    for system in ("a", "b")
]


def judged(system: str, assignment: str) -> list[dict[str, Any]]:
    """The same answers, with one assignment for all nuggets of a system."""
    rows = copy.deepcopy(ROWS)
    for row in rows:
        for nugget in row["nuggets"]:
            if row["system"] == system:
                nugget["assignment"] = assignment
    return rows


def test_a_judge_that_repeats_people_agrees_with_them() -> None:
    found = cal.judge_answers(ROWS, {"same": ROWS})
    for row in found.table("agreement"):
        assert (row["agreement"], row["weighted kappa"], row["bias"]) == (1.0, 1.0, 0.0)
    assert [row["n"] for row in found.table("agreement")] == [48, 48, 12]
    assert all(row["score_human"] == row["score_judge"] and row["gained"] == 0 for row in found.table("ranks"))
    assert found.notes == ()


def test_agreement_is_counted_label_by_label() -> None:
    """A judge that supports all nuggets of one system: the expected figures are counted from the rows."""
    found = cal.judge_answers(ROWS, {"kind": judged("a", "support")})
    given = [SUPPORT.index(n["assignment"]) / 2 for row in ROWS if row["system"] == "a" for n in row["nuggets"]]
    wrong = sum(label < 1 for label in given)
    nuggets = found.table("agreement").row("kind")
    assert nuggets["agreement"] == pytest.approx(1 - wrong / 48)
    assert nuggets["bias"] == pytest.approx(sum(1 - label for label in given) / 48)
    confusion = {
        (r["by people"], r["by judge"]): r["labels"] for r in found.table("confusion") if r["kind"] == "nuggets"
    }
    assert sum(confusion.values()) == 48
    assert confusion[0.0, 1.0] == given.count(0.0)


def test_scores_of_systems_by_either_are_those_of_an_experiment() -> None:
    other = judged("b", "not_support")
    found = cal.judge_answers(ROWS, {"strict": other})
    expected = [Evaluation(rows, "NuggetRecall").scores.mean() for rows in (ROWS, other)]
    rows = {row["system"]: row for row in found.table("ranks") if row["measure"] == "NuggetRecall"}
    for system in "ab":
        assert rows[system]["score_human"] == pytest.approx(expected[0][system, "NuggetRecall"])
        assert rows[system]["score_judge"] == pytest.approx(expected[1][system, "NuggetRecall"])
    assert (rows["a"]["rank_human"], rows["b"]["rank_human"]) == (1.5, 1.5), "equal means share a rank"
    assert (rows["a"]["rank_judge"], rows["b"]["rank_judge"], rows["b"]["gained"]) == (1, 2, -0.5)


def test_systems_are_compared_on_answers_that_both_labelled() -> None:
    """People who labelled no nugget of q0 leave it out of both means, be the row missing or only its labels."""
    other = judged("a", "support")
    bare = copy.deepcopy(ROWS)
    for row in bare[:2]:
        del row["nuggets"]
    expected = Evaluation(other[2:], "NuggetRecall").scores.mean()
    for people in (bare, ROWS[2:]):
        rows = cal.judge_answers(people, {"llm": other}, "NuggetRecall").table("ranks")
        assert [row["score_judge"] for row in rows] == [expected[row["system"], "NuggetRecall"] for row in rows]


def test_labels_of_one_side_only_are_left_out_and_counted() -> None:
    fewer = copy.deepcopy(ROWS)
    del fewer[0]["nuggets"][0]
    assert cal.judge_answers(ROWS, {"llm": fewer}).notes == (
        "2 labels were given by only one of people and llm; left out",
    )
    for row in fewer:
        del row["nuggets"], row["statements"]
    with pytest.raises(CalipersError, match="'llm' and people have no label of the same nugget or citation"):
        cal.judge_answers(ROWS, {"llm": fewer})


def test_importance_is_compared_only_if_a_nugget_is_vital() -> None:
    plain = copy.deepcopy(ROWS)
    for row in plain:
        for nugget in row["nuggets"]:
            del nugget["importance"]
    assert {row["kind"] for row in cal.judge_answers(plain, {"llm": plain}).table()} == {"nuggets", "citations"}


def test_the_order_of_rows_does_not_matter() -> None:
    other = judged("a", "support")
    one, two = (cal.judge_answers(rows, {"llm": other}).table("agreement") for rows in (ROWS, ROWS[::-1]))
    assert one.to_csv() == two.to_csv()


# -- the command ---------------------------------------------------------------------------------------------


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def calipers(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["judges", *map(str, arguments)])


def test_the_command(tmp_path: Path) -> None:
    people, llm = write(tmp_path / "people.jsonl", ROWS), write(tmp_path / "llm.jsonl", judged("a", "support"))
    shown = calipers(people, llm)
    assert shown.exit_code == 0
    assert "llm agrees with people on" in shown.stderr
    assert "rank_judge" in shown.stdout
    rows = calipers(people, f"gpt={llm}", "--show", "labels", "--format", "csv").stdout.splitlines()
    assert rows[0] == "item,query,system,kind,judge,label,human"
    assert len(rows) == 1 + 48 + 48 + 12
    assert len({row.split(",")[0] for row in rows}) == len(rows), "items are unique"


def test_the_content_decides_what_is_compared(tmp_path: Path) -> None:
    """JSON lines, JSON, CSV and Parquet with nuggets are answers, wherever these start. Grades are not."""
    llm = write(tmp_path / "llm.jsonl", judged("a", "support"))
    bare = {key: value for key, value in ROWS[0].items() if key not in ("nuggets", "statements")}
    files = [write(tmp_path / "late.jsonl", [bare, *ROWS[1:]])]
    files.append(tmp_path / "marked.jsonl")
    files[-1].write_bytes(b"\xef\xbb\xbf" + files[0].read_bytes())
    files.append(tmp_path / "people.json")
    files[-1].write_text("\n" + json.dumps(ROWS), encoding="utf-8")
    frame = pytest.importorskip("pandas").DataFrame(
        [{**row, **{name: json.dumps(row[name]) for name in ("nuggets", "statements")}} for row in ROWS]
    )
    frame["references"] = "Ulm"
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    for people in (*files, tmp_path / "people.csv", tmp_path / "people.parquet"):
        found = calipers(people, llm)
        assert found.exit_code == 0, found.output
        assert "labels of nuggets" in found.stderr
    grades = tmp_path / "grades.json"
    grades.write_text(json.dumps({"q1": {"d1": 1, "d2": 0}, "nuggets": {"d1": 1, "d2": 1}}))
    assert "agrees" not in calipers(grades, grades).stderr
    assert calipers(grades, grades).exit_code == 0


def test_the_command_repairs_scores(tmp_path: Path) -> None:
    human, judge = drawn()
    people, llm = (
        write(tmp_path / "people.jsonl", answers(human, 20)),
        write(tmp_path / "llm.jsonl", answers(judge, 60)),
    )
    found = calipers(people, llm, "-m", "NuggetRecall", "--correct", "--show", "differences", "--format", "csv")
    assert found.exit_code == 0, found.output
    expected = cal.judge_answers(people, {"llm": llm})
    assert expected.correct().to_csv() in found.stdout
    assert expected.correct_differences().to_csv() in found.stdout
    assert "llm, differences of NuggetRecall: 20 queries judged by people; " in found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected the answers with the labels of a judge, after those of people"),
        (["LLM", "--show", "effects"], "there is no table effects of answers; there are agreement, ranks"),
        (["LLM", "--map", "same"], "--systems, --map, --combine and --groups are for judgments"),
        (["LLM", "--threshold", "4"], "--threshold and --human-threshold are for a table of verdicts"),
        (["LLM", "--correct"], "there is nothing to correct: at least 4 queries must have labels"),
    ],
)
def test_what_answers_do_not_have_is_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    people, llm = write(tmp_path / "people.jsonl", ROWS), write(tmp_path / "llm.jsonl", ROWS)
    found = calipers(people, *(str(llm) if each == "LLM" else each for each in arguments))
    assert message in str(found.exception)


def test_answers_without_nuggets_are_refused(tmp_path: Path) -> None:
    bare = [{name: row[name] for name in ("id", "system", "answer", "references")} for row in ROWS]
    people, llm = write(tmp_path / "people.jsonl", bare), write(tmp_path / "llm.jsonl", ROWS)
    assert "no answer has nuggets or statements" in str(calipers(people, llm).exception)


def test_labels_are_refused_for_judgments(tmp_path: Path) -> None:
    grades = tmp_path / "grades.qrels"
    grades.write_text("q1 0 d1 1\nq1 0 d2 0\n")
    assert "the table labels needs answers" in str(calipers(grades, grades, "--show", "labels").exception)


def test_the_labels_are_drawn(tmp_path: Path) -> None:
    people, llm = write(tmp_path / "people.jsonl", ROWS), write(tmp_path / "llm.jsonl", judged("a", "support"))
    assert calipers(people, llm, "--plot", tmp_path / "chart.json").exit_code == 0
    assert "grade by llm, nuggets" in (tmp_path / "chart.json").read_text()


# -- repaired scores -----------------------------------------------------------------------------------------

Given = dict[tuple[str, str], float]  # the support of the only nugget by query and system


def answers(support: Given, queries: int) -> list[dict[str, Any]]:
    """Answers to the first queries with one nugget each, whose support is their NuggetRecall."""
    return [
        {"id": query, "system": system, "answer": "In Ulm.", "nuggets": [{"text": "Ulm", "assignment": value}]}
        for (query, system), value in support.items()
        if int(query[1:]) < queries
    ]


def drawn(queries: int = 60) -> tuple[Given, Given]:
    """Scores of two systems by people, and by a judge that is too kind to the second one."""
    random = np.random.default_rng(3)
    human, judge = {}, {}
    for q in range(queries):
        for system, mean, shift in (("a", 0.6, 0.0), ("b", 0.4, 0.3)):
            human[f"q{q}", system] = float(np.clip(random.normal(mean, 0.2), 0, 1))
            judge[f"q{q}", system] = float(np.clip(human[f"q{q}", system] + shift + random.normal(0, 0.05), 0, 1))
    return human, judge


def of_system(scores: Given, system: str) -> list[float]:
    return [scores[query, name] for query, name in sorted(scores) if name == system]


def test_means_and_differences_are_repaired_by_the_answers_that_people_labelled() -> None:
    human, judge = drawn()
    people = {key: value for key, value in human.items() if int(key[0][1:]) < 20}
    both, others = {key: judge[key] for key in people}, {key: judge[key] for key in judge if key not in people}
    found = cal.judge_answers(answers(human, 20), {"llm": answers(judge, 60)})
    of_a, of_b = ([np.array([of_system(each, system)]) for each in (people, both, others)] for system in "ab")
    for system, parts in (("a", of_a), ("b", of_b)):
        expected = prediction_powered(*parts, within=(0.0, 1.0))
        row = next(row for row in found.correct() if row["system"] == system)
        assert (row["measure"], row["n"], row["others"]) == ("NuggetRecall", 20, 40)
        assert row["human"] == pytest.approx(parts[0].mean())
        assert row["judged"] == pytest.approx(np.mean(of_system(judge, system)))
        assert row["corrected"] == pytest.approx(expected.value[0])
        assert (row["low"], row["high"]) == pytest.approx((expected.low[0], expected.high[0]))
    expected = prediction_powered(*(one - other for one, other in zip(of_a, of_b, strict=True)), within=(-1.0, 1.0))
    (row,) = found.correct_differences()
    assert (row["system_a"], row["system_b"]) == ("a", "b")
    assert row["corrected"] == pytest.approx(expected.value[0])
    low, high, judged_alone = (float(str(row[name])) for name in ("low", "high", "judged"))
    assert (low, high) == pytest.approx((expected.low[0], expected.high[0]))
    assert low < np.mean(of_system(human, "a")) - np.mean(of_system(human, "b")) < high
    assert judged_alone < low


def test_answers_without_labels_of_people_count_as_those_of_the_judge_only() -> None:
    """The file of people may have rows without nuggets: the figures are those of a file without these rows."""
    human, judge = drawn()
    whole = answers(human, 60)
    for row in whole:
        if int(row["id"][1:]) >= 20:
            del row["nuggets"]
            row["references"] = ["Ulm"]
    llm = {"llm": answers(judge, 60)}
    one, two = (cal.judge_answers(people, llm).correct() for people in (whole, answers(human, 20)))
    assert one.to_csv() == two.to_csv()


def test_answers_with_citations_that_nobody_labelled_are_not_judged() -> None:
    people = copy.deepcopy(ROWS)
    for row in people[8:]:
        row["statements"][0]["citations"] = ["d1"]
    found = cal.judge_answers(people, {"llm": ROWS})
    assert [row["n"] for row in found.table("agreement") if row["kind"] == "citations"] == [8]
    expected = cal.judge_answers(people[:8], {"llm": ROWS}, "CitationPrecision").correct()
    assert [(row["n"], row["others"]) for row in expected] == [(4, 2), (4, 2)]
    assert cal.judge_answers(people, {"llm": ROWS}, "CitationPrecision").correct().to_csv() == expected.to_csv()


def test_each_system_is_repaired_by_its_own_answers() -> None:
    human, judge = drawn()
    fewer = [row for row in answers(human, 30) if row["system"] == "a" or int(row["id"][1:]) < 2]
    found = cal.judge_answers(fewer, {"llm": answers(judge, 60)})
    table = found.correct()
    assert [(row["system"], row["n"], row["others"]) for row in table] == [("a", 30, 30)]
    assert table.notes[0].startswith("not corrected: NuggetRecall of b: at least 4 queries must have labels of people")
    with pytest.raises(CalipersError, match="there is nothing to correct: at least 4 queries must have labels"):
        found.correct_differences()


def test_measures_are_chosen() -> None:
    human, judge = drawn()
    found = cal.judge_answers(answers(human, 20), {"llm": answers(judge, 60)}, "NuggetRecall(part=strict)")
    assert {row["measure"] for row in found.correct()} == {"NuggetRecall(part=strict)"}
