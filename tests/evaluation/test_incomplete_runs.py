"""Runs that lack more than half of the judged queries: said first, and refused where systems are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.errors import CheckFailed
from calipers.evaluation.options import ScoringOptions
from run_calipers import calipers

QUERIES = [f"q{i}" for i in range(10)]
QRELS = {query: {"a": 1, "b": 0} for query in QUERIES}


def answers(queries: int, first: str = "a") -> dict[str, list[str]]:
    return {query: [first, "b" if first == "a" else "a"] for query in QUERIES[:queries]}


RUNS = {"fair": answers(10), "half": answers(5), "weak": answers(1)}


def experiment(*names: str, **options: Any) -> cal.Experiment:
    return cal.Experiment(QRELS, {name: RUNS[name] for name in names}, "RR", warn=False, **options)


def test_a_run_that_lacks_more_than_half_of_the_queries_is_refused_with_its_count() -> None:
    with pytest.raises(CheckFailed, match=r"weak lacks 9 of 10\. .*set missing to 0") as refused:
        experiment("fair", "half", "weak").compare()
    assert refused.value.parameter == "missing"
    with pytest.raises(CheckFailed, match="weak lacks 9 of 10"):
        experiment("fair", "weak").check("weak", baseline="fair", max_drop=1)
    with pytest.raises(CheckFailed, match="weak lacks 9 of 10"):
        experiment("fair", "weak").check("fair", baseline="weak", max_drop=1)
    with pytest.raises(CheckFailed, match="weak lacks 9 of 10"):
        experiment("weak").check("weak", min=0.01)


def test_half_of_the_queries_is_enough_and_other_runs_do_not_matter() -> None:
    assert experiment("fair", "half").compare().table()["difference"] == [0.5]
    found = experiment("fair", "half", "weak")
    assert found.check("half", baseline="fair", max_drop=0.9).observed == "ok"
    assert len(cal.compare(found.scores.of_systems(["fair", "half"])).a) == 1
    with pytest.raises(CheckFailed, match="weak"):
        cal.compare(found.scores.of_systems(["fair", "weak"]))


@pytest.mark.parametrize("options", [{"missing": 0}, {"missing": "skip"}, {"like": "trec_eval"}, {"like": "beir"}])
def test_missing_that_is_given_or_set_by_a_profile_accepts_the_run(options: dict[str, Any]) -> None:
    found = experiment("fair", "weak", **options)
    assert len(found.compare(warn=False).a) == 1
    assert found.check("weak", baseline="fair", max_drop=1, warn=False).new == "weak"


def test_our_own_convention_sets_nothing_under_any_name_or_grade() -> None:
    for options in ({}, {"like": "calipers"}, {"relevant": 1}):
        assert ScoringOptions(**options).missing is None
        assert ScoringOptions(**options).missing_counts == 0.0
        with pytest.raises(CheckFailed, match="weak"):
            experiment("fair", "weak", **options).compare()
    assert ScoringOptions(like="trec_eval").missing == 0.0


def test_runs_of_a_fold_get_the_advice_to_skip() -> None:
    fold = {"one": answers(3), "other": answers(3, first="b")}
    scores = cal.evaluate(QRELS, fold, "RR", warn=False)
    with pytest.raises(CheckFailed, match="All runs lack the same queries: to leave them out, set missing to 'skip'"):
        cal.compare(scores)
    assert cal.compare(cal.evaluate(QRELS, fold, "RR", missing="skip", warn=False)).outcomes[0].n.tolist() == [3]


def test_scores_that_are_joined_are_refused_and_stored_ones_are_not(tmp_path: Path) -> None:
    one, other = (experiment(name).scores for name in ("fair", "weak"))
    with pytest.raises(CheckFailed, match="weak lacks 9 of 10"):
        cal.compare(cal.concat([one, other]))
    file = tmp_path / "scores.json"
    file.write_text(cal.concat([one, other]).to_json("per_query"))
    assert len(cal.compare(cal.read_scores(file), warn=False).a) == 1


def test_questions_that_decide_nothing_have_the_note_only() -> None:
    found = experiment("fair", "weak")
    assert found.metaeval().notes[0].endswith("more than half of them are missing in weak (9 of 10)")
    assert found.diff("fair", "weak").notes[0].startswith("1 of 2 runs lacks judged queries (9 in all, weak")


def test_the_note_is_the_first_one_also_in_the_report(tmp_path: Path) -> None:
    tied = {"fair": {query: {"a": 1, "b": 1} for query in QUERIES}, "weak": {"q1": {"c": 1, "d": 1}}}
    stars = {query: {"a": 3, "b": 1, "e": 2} for query in QUERIES}
    scores = cal.evaluate(stars, tied, "RR", unmatched="warn", warn=False)
    assert len(scores.notes) > 3
    assert "more than half of them are missing in weak (9 of 10)" in scores.notes[0]
    pytest.importorskip("jinja2")
    found = cal.Experiment(stars, tied, "RR", unmatched="warn", warn=False)
    page = tmp_path / "page.html"
    found.report(page)
    text = page.read_text()
    assert (
        0 < text.index("more than half of them are missing in weak") < text.index("all judged documents are relevant")
    )


def test_the_command_line_names_its_option(tmp_path: Path) -> None:
    qrels, fair, weak = (tmp_path / name for name in ("qrels", "fair.run", "weak.run"))
    qrels.write_text("".join(f"{query} 0 a 1\n{query} 0 b 0\n" for query in QUERIES))
    for path in (fair, weak):
        lists = RUNS[path.stem].items()
        path.write_text("".join(f"{q} Q0 {d} 1 {9 - i} {path.stem}\n" for q, ds in lists for i, d in enumerate(ds)))
    wanted = ("-m", "RR")
    for call in (
        ("compare", qrels, fair, weak),
        ("check", qrels, weak, "--baseline", fair, "--max-drop", "1"),
        ("evaluate", qrels, fair, weak, "--baseline", "fair"),
    ):
        refused = calipers(*call, *wanted)
        assert refused.returncode == 1, refused.stderr
        assert "weak lacks 9 of 10" in refused.stderr
        assert refused.stderr.rstrip().endswith("(option --missing)")
        assert calipers(*call, *wanted, "--missing", "0").returncode == 0
