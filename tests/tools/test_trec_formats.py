"""Preferences, several judges and z-scores, on generated queries, against their definitions in exact fractions."""

from pathlib import Path

import pytest

import calipers as cal
from calipers.errors import CalipersError
from laws.trec_formats import broken


def test_generated_queries(tmp_path: Path) -> None:
    assert broken(0, 120, tmp_path) == []
    assert broken(478362200, 1, tmp_path, orders=False) == []  # 1/12 + 7/24 is compared with 3/8


def test_pairs_are_added_up_down_the_list() -> None:
    """As trec_eval does: the doubles are its own, and so is what -Z finds equal to a mean."""
    orders = {"x": "abc", "y": "bac", "z": "cba"}
    rows = [("q", judge, "1", d, 3.0 - place) for judge, best in orders.items() for place, d in enumerate(best)]
    known = cal.Preferences.from_rows(rows, "three judges")
    scores = cal.evaluate(known, {"q": {"c": 3.0, "b": 2.0, "a": 1.0}}, ["prefs_pair"])
    assert scores["prefs_pair"] == (1 / 3 + 1 / 3 + 2 / 3) / 3


def test_ties_of_a_judge_with_several_groups(tmp_path: Path) -> None:
    """Which documents of level 0 count depends on the order; no closed form is offered where pairs are partial."""
    known = cal.Preferences.from_pairs([("q", "a", "b")])
    assert cal.evaluate(known, {"q": {"a": 1.0, "b": 1.0}}, ["prefs_avgjg_Rnonrel"])["prefs_avgjg_Rnonrel"] == 4.5 / 5
    path = tmp_path / "prefs"
    path.write_text("q j 1 a 2\nq j 1 b 0\nq j 1 c 0\nq j 2 a 2\nq j 2 d 0\n")
    partial = cal.read_preferences(path)
    run = {"q": dict.fromkeys("abcd", 1.0)}
    with pytest.raises(CalipersError, match="use ties docid"):
        cal.evaluate(partial, run, ["prefs_avgjg_Rnonrel"])
    assert cal.evaluate(partial, run, ["prefs_avgjg_Rnonrel"], ties="best")["prefs_avgjg_Rnonrel"] == 1.0


def test_files_and_mappings_are_read_by_what_the_measures_need(tmp_path: Path) -> None:
    (tmp_path / "four").write_text("q x a 1\nq x b 0\nq y b 1\nq y a 0\n")
    (tmp_path / "five").write_text("q x 1 a 1\nq x 1 b 0\nq y 1 b 1\nq y 1 a 0\n")
    nested = {"q": {"x": {"a": 1, "b": 0}, "y": {"b": 1, "a": 0}}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    for source in (tmp_path / "four", tmp_path / "five", nested):
        assert cal.evaluate(source, run, ["prefs_simp"])["prefs_simp"] == 0.5
    for source in (tmp_path / "four", nested):
        assert cal.evaluate(source, run, ["map_avgjg", "MeanJudge(RR)"])["MeanJudge(RR)"] == 0.75
    with pytest.raises(CalipersError, match="map_avgjg needs judgments of several judges and prefs_simp preferences"):
        cal.evaluate(nested, run, ["map_avgjg", "prefs_simp"])
    with pytest.raises(CalipersError, match="needs judgments of several judges"):
        cal.evaluate({"q": {"a": 1}}, run, ["map_avgjg"])
    with pytest.raises(CalipersError, match="not prefs_simp"):
        cal.parse("MeanJudge(prefs_simp)")


def test_bounds_of_preferences() -> None:
    """One judge who does not contradict anybody: the best order fulfils all, the worst none, a random one half."""
    known = cal.Preferences.from_levels({"q": {"x": {"a": 2, "b": 1, "c": 0}}})
    found = cal.bounds(known, ["prefs_simp"])
    assert [part["prefs_simp"].item() for part in (found.worst, found.expected, found.ideal)] == [0.0, 0.5, 1.0]
    assert found.inexact.keys() == {"ideal of prefs_simp", "worst of prefs_simp"}  # several judges may contradict


def test_grades_of_judges_lose_their_fraction_under_trec_eval() -> None:
    known = cal.SeveralJudges.from_judges({"q": {"x": {"a": 0.9, "b": 1.5}, "y": {"a": 1.0, "b": 0.0}}})
    run = {"q": {"a": 2.0, "b": 1.0}}
    assert cal.evaluate(known, run, ["map_avgjg(rel=0.5)"])["map_avgjg(rel=0.5)"] == 1.0
    assert cal.evaluate(known, run, ["map_avgjg(rel=0.5)"], like="trec_eval")["map_avgjg(rel=0.5)"] == 0.75


def test_what_one_judge_says_twice(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("q x a 1\nq x a 1\nq y a 0\n")
    assert cal.read_several_judges(path).repeated == 1
    path.write_text("q x a 1\nq x a 0\n")
    with pytest.raises(CalipersError, match=r"qrels:2: document 'a' of query 'q' is judged 0 here and 1 before by"):
        cal.read_several_judges(path)
