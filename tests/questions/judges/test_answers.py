"""Judges of nuggets and citations, compared with people."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError

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
    assert all(row["difference"] == 0.0 for row in found.table("systems"))
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


def test_scores_of_systems_by_either_are_those_of_evaluate_texts() -> None:
    other = judged("b", "not_support")
    found = cal.judge_answers(ROWS, {"strict": other})
    expected = [cal.evaluate_texts(rows, "NuggetRecall").mean() for rows in (ROWS, other)]
    rows = {row["system"]: row for row in found.table("systems") if row["measure"] == "NuggetRecall"}
    for system in "ab":
        assert rows[system]["by people"] == pytest.approx(expected[0][system, "NuggetRecall"])
        assert rows[system]["by judge"] == pytest.approx(expected[1][system, "NuggetRecall"])
    assert (rows["a"]["rank by people"], rows["b"]["rank by people"]) == (1, 1), "equal means share a rank"
    assert (rows["a"]["rank by judge"], rows["b"]["rank by judge"]) == (1, 2)


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


def test_the_command(tmp_path: Path) -> None:
    people, llm = tmp_path / "people.jsonl", tmp_path / "llm.jsonl"
    people.write_text("\n".join(map(json.dumps, ROWS)))
    llm.write_text("\n".join(map(json.dumps, judged("a", "support"))))
    shown = CliRunner().invoke(root, ["text", "judges", str(people), str(llm)], catch_exceptions=False)
    assert shown.exit_code == 0
    assert "llm agrees with people on" in shown.stderr
    assert "rank by judge" in shown.stdout
    labels = ["text", "judges", str(people), f"gpt={llm}", "--show", "labels", "--format", "csv"]
    rows = CliRunner().invoke(root, labels).stdout.splitlines()
    assert rows[0] == "item,query,system,kind,judge,label,human"
    assert len(rows) == 1 + 48 + 48 + 12
    assert len({row.split(",")[0] for row in rows}) == len(rows), "items are unique"
