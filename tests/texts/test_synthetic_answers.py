"""Synthetic answers: their judgments follow from what they state. And the demonstration that uses them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from click.testing import CliRunner

import calipers as cal
from calipers.cli.commands import root
from calipers.texts import Evaluation

ASSIGNMENT = {"full": "support", "partial": "partial_support", "none": "not_support"}


def test_judgments_follow_from_the_statements(tmp_path: Path) -> None:
    people, _ = cal.texts.write_answers(tmp_path)
    for line in people.read_text().splitlines():
        row = json.loads(line)
        passages = dict(zip(row["retrieved"], row["passages"], strict=True))
        assignments = {nugget["text"]: nugget["assignment"] for nugget in row["nuggets"]}
        for statement in row["statements"]:
            for cited in statement["citations"]:
                stated = passages[cited["document"]]  # a cited passage was retrieved
                assert (cited["support"] == "full") == (statement["text"] == stated)
                assert assignments[stated] == ASSIGNMENT[cited["support"]]
        supported = {text for text, assignment in assignments.items() if assignment == "support"}
        assert supported == {statement["text"] for statement in row["statements"]} & {*assignments}
        assert set(row["relevant"]) & set(row["retrieved"]) == {
            id for id, text in passages.items() if text in assignments
        }


def test_the_same_seed_gives_the_same_answers(tmp_path: Path) -> None:
    files = [cal.texts.write_answers(tmp_path / name, questions=5, seed=seed) for name, seed in (("a", 1), ("b", 1))]
    other = cal.texts.write_answers(tmp_path / "c", questions=5, seed=2)
    assert [path.read_text() for path in files[0]] == [path.read_text() for path in files[1]]
    assert files[0][0].read_text() != other[0].read_text()


def test_the_demonstration_scores_compares_judges_and_reports(tmp_path: Path) -> None:
    done = CliRunner().invoke(root, ["demo", "--rag", "-o", str(tmp_path / "rag")], catch_exceptions=False)
    assert done.exit_code == 0
    typed = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("$ ")]
    assert typed[:4] == ["evaluate", "compare", "metaeval", "judges"]
    means = Evaluation(tmp_path / "rag" / "answers.jsonl", "NuggetRecall").scores.mean()
    assert means["strong", "NuggetRecall"] > means["fair", "NuggetRecall"] > means["weak", "NuggetRecall"]
    if all(find_spec(name) for name in ("jinja2", "vl_convert")):
        page = (tmp_path / "rag" / "report.html").read_text(encoding="utf-8")
        first = page[page.index('<details class="texts">') :]
        order = [first.index(f"<dt>{word}</dt>") for word in ("question", "reference")]
        assert order == sorted(order)
        assert order[1] < first.index('class="nuggets"') < first.index('class="passages"')
