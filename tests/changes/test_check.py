"""The gate: its limits against SciPy's t, its error rates by simulation, and what jobs read of it."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import calipers as cal
from calipers.changes import Decision
from calipers.changes import check as gate
from calipers.cli import commands
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError
from conftest import ROOT

SIMULATED = simulate(
    topics=40, systems={"old": 0.5, "new": 0.1, "same": 0.5, "best": 0.9}, retrieved=20, unjudged=0.1, seed=5
)


def checked(old: Any, new: Any, max_drop: Any = None, **more: Any) -> cal.changes.Check:
    """Check arrays of scores, [measure, query] or [query]."""
    old, new = np.atleast_2d(old), np.atleast_2d(new)
    names = [f"m{i}" for i in range(len(old))]
    both = cal.as_scores(np.stack([old, new], axis=1), ["old", "new"], measure=names)
    return gate(both, "new", baseline="old", max_drop=max_drop, **more)


def one(old: Any, new: Any, max_drop: Any, **more: Any) -> Decision:
    (decision,) = checked(old, new, max_drop, **more).decisions
    return decision


# -- the rule ----------------------------------------------------------------------------------------


def test_limits_are_those_of_the_t_distribution() -> None:
    from scipy.stats import sem, t

    draw = np.random.default_rng(7)
    for n, alpha in ((2, 0.05), (7, 0.1), (50, 0.01)):
        old, new = draw.random((2, n))
        found = one(old, new, 0.01, alpha=alpha)
        away = t.ppf(1 - alpha, n - 1) * sem(new - old)
        assert found.low == pytest.approx((new - old).mean() - away, rel=1e-12)
        assert found.high == pytest.approx((new - old).mean() + away, rel=1e-12)
        assert (found.old, found.new, found.queries) == (pytest.approx(old.mean()), pytest.approx(new.mean()), n)


def test_the_verdict_is_where_the_limits_lie() -> None:
    spread = np.array([0.01, -0.01] * 10)
    old = np.full(20, 0.5)
    assert one(old, old - 0.1 + spread, 0.05).verdict == "worse"
    assert one(old, old - 0.01 + spread, 0.05).verdict == "not worse"
    assert one(old, old - 0.05 + spread, 0.05).verdict == "undecided"
    assert one(old, old + spread, 0.0).verdict == "undecided"
    assert one(old, old + 0.1 + spread, 0.0).verdict == "not worse"
    found = checked([old, old], [old + 0.1 + spread, old - 0.1 + spread], 0.05)
    assert ([each.verdict for each in found.decisions], found.verdict) == (["not worse", "worse"], "worse")
    found = checked([old, old], [old + 0.1 + spread, old - 0.05 + spread], 0.05)
    assert found.verdict == "undecided"
    assert not found.failed
    assert checked([old, old], [old + 0.1 + spread, old - 0.05 + spread], 0.05, fail_on=["undecided"]).failed


def test_equal_differences_are_a_point_which_always_decides() -> None:
    old = np.array([0.1, 0.3, 0.5, 0.7])
    for new, max_drop, verdict in (
        (old, 0.0, "not worse"), (old, 0.01, "not worse"), (old - 0.01, 0.01, "not worse"), (old - 0.02, 0.01, "worse"),
        (old - 0.01, 0.0, "worse"), (old + 0.2, 0.0, "not worse"),
    ):  # fmt: skip
        found = one(old, new, max_drop)
        assert (found.verdict, found.needed) == (verdict, None)
        assert found.low == found.high == found.difference == pytest.approx(float((new - old)[0]))


def test_wrong_verdicts_are_as_rare_as_alpha_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the border itself, where they are most frequent: exactly alpha of each, for differences that are normal."""
    monkeypatch.setattr("calipers.changes.gate.smallest_n", lambda *given: None)  # slow, and not asked about
    draw = np.random.default_rng(11)
    samples, alpha = 600, 0.2
    new = 0.5 + draw.normal(-0.02, 0.1, (samples, 15))
    verdicts = [each.verdict for each in checked(np.full_like(new, 0.5), new, 0.02, alpha=alpha).decisions]
    three_errors = 3 * math.sqrt(alpha * (1 - alpha) / samples)
    for verdict in ("worse", "not worse"):
        assert abs(verdicts.count(verdict) / samples - alpha) < three_errors


def test_the_queries_that_are_needed_decide_with_the_power_that_is_asked_for() -> None:
    old = np.full(12, 0.5)
    new = old + np.array([0.08, -0.08, 0.03, -0.01, 0.0, 0.05, -0.06, 0.02, -0.02, 0.04, 0.01, -0.03])
    found = one(old, new, 0.01, power=0.9)
    assert found.verdict == "undecided"
    assert found.needed is not None
    sd = float(np.std(new - old, ddof=1))
    from scipy.stats import nct, t

    def power(n: int) -> float:
        effect = abs(found.difference + 0.01) / sd
        return float(nct.sf(t.ppf(0.95, n - 1), n - 1, effect * math.sqrt(n)))

    assert power(found.needed - 1) < 0.9 <= power(found.needed)
    assert f"about {found.needed} queries would decide it, and there are 12" in str(found)
    assert one(old, old + np.tile([0.125, -0.125], 6), 0.0).needed is None  # the difference is the margin itself


def test_the_worst_queries_are_the_largest_losses() -> None:
    found = one([0.5, 0.5, 0.5, 0.5], [0.4, 0.5, 0.1, 0.9], 0.1, worst=3)
    assert [(loss.query, loss.difference) for loss in found.worst] == [
        ("3", pytest.approx(-0.4)),
        ("1", pytest.approx(-0.1)),
    ]


def test_queries_of_one_side_are_left_out_and_said() -> None:
    old = cal.as_scores([[0.1, 0.2, 0.3, 0.9]], ["old"], ["a", "b", "c", "gone"], "AP")
    new = cal.as_scores([[0.2, 0.3, 0.4, math.nan, 0.0]], ["new"], ["b", "c", "a", "fresh", "more"], "ap")
    found = gate(new, "new", baseline=old, max_drop=0.01)
    assert found.decisions[0].queries == 3
    assert found.decisions[0].difference == pytest.approx(0.1)
    assert found.notes == (
        "2 queries of new are not in old (fresh, more); left out",
        "1 query of old is not in new (gone); left out",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_drop": -1}, "max_drop '-1' is not a number of at least 0"),
        ({"max_drop": math.nan}, "max_drop 'nan' is not a number of at least 0"),
        ({"max_drop": "AP=x"}, "max_drop 'x' is not a number of at least 0 or a percentage"),
        ({"max_drop": "RR=0.1"}, "unknown measure of max_drop 'RR'; there are AP"),
        ({"min": "2%"}, "min '2%' is not a number of at least 0$"),
        ({"max_drop": None}, "there is nothing to check"),
        ({"baseline": None}, "compare the new system with a baseline"),
        ({"baseline": "p"}, "unknown system 'p'"),
        ({"fail_on": ["tie"]}, "fail_on 'tie' is unknown; expected undecided, "),
        ({"fail_on": "ties"}, "fail_on 'ties' is a text"),
        ({"fail_on": ["ties"]}, "fail_on 'ties' is about runs"),
        ({"alpha": 0.5}, "alpha 0.5 is not between 0 and 0.5"),
        ({"power": 0.01}, "power 0.01 is not between alpha and 1"),
        ({"baseline": cal.as_scores([[0.1, 0.2]], ["o"], measure="RR")}, "unknown measure of the baseline 'AP'; "),
        ({"baseline": cal.as_scores([[0.1, 0.2]], ["o"], ["x", "y"], "AP")}, "n and o have no query in common"),
        ({"baseline": cal.as_scores([[0.1, math.nan]], ["o"], measure="AP")}, "fewer than two queries"),
        (
            {"baseline": cal.as_scores([[0.1, 0.2]] * 2, ["o", "p"], measure="AP")},
            "the baseline has scores of 2 systems",
        ),
    ],
)
def test_what_cannot_be_checked(change: dict[str, Any], message: str) -> None:
    new, old = (cal.as_scores([[0.1, 0.2]], [name], measure="AP") for name in ("n", "o"))
    with pytest.raises(CalipersError, match=message):
        gate(new, "n", **{"baseline": old, "max_drop": 0.1, **change})


def test_limits_by_measure_and_as_a_percentage() -> None:
    old = np.array([0.4, 0.6, 0.5, 0.5])
    found = checked([old, old], [old - 0.02, old - 0.02], "m0=0.01 m1=5%")
    assert [(each.verdict, each.max_drop) for each in found.decisions] == [
        ("worse", 0.01), ("not worse", pytest.approx(0.05 * 0.5)),
    ]  # fmt: skip
    assert checked(old, old - 0.02, {"m0": "5%"}).decisions[0].max_drop == pytest.approx(0.025)
    assert [each.measure for each in checked([old, old], [old, old], {"m1": 0.1}).decisions] == ["m1"]
    assert [each.max_drop for each in checked([old, old], [old, old], "0.1 m1=0.2").decisions] == [0.1, 0.2]


def test_a_floor_is_tested_on_the_lower_limit_and_a_floor_of_the_mean_on_the_mean() -> None:
    from scipy.stats import sem, t

    scores = np.random.default_rng(3).random(30)
    low = scores.mean() - t.ppf(0.9, 29) * sem(scores)
    given = cal.as_scores([scores], ["new"], measure="AP")
    for floor, verdict in ((low - 1e-6, "not below the floor"), (low + 1e-6, "below the floor")):
        found = gate(given, "new", min=floor, alpha=0.1)
        (each,) = found.floors
        assert (each.low, each.mean) == (pytest.approx(low, rel=1e-12), pytest.approx(scores.mean()))
        assert (found.verdict, found.failed) == (verdict, verdict == "below the floor")
        assert not gate(given, "new", min_mean=floor, alpha=0.1).failed
    assert gate(given, "new", min_mean={"AP": scores.mean() + 1e-6}).failed
    assert not gate(cal.as_scores([[0.5] * 3], ["new"]), "new", min=0.5).failed  # all scores are equal: a point


def test_no_query_may_lose_more_than_its_limit() -> None:
    old = np.full(20, 0.8)
    new = old + np.array([0.1] * 18 + [-0.3, -0.6])
    found = checked(old, new, 0.05, max_query_drop=0.3)
    assert (found.decisions[0].verdict, found.verdict, found.failed) == ("not worse", "worse", True)
    assert [(measure, loss.query) for measure, _, loss in found.query_drops] == [("m0", "20")]  # 0.3 itself is allowed
    assert "1 query loses more than is allowed per query: 20 -0.6000" in found.summary
    assert found.table("query_drops")["query"] == ["20"]
    assert not checked(old, new, max_query_drop=0.61).failed
    assert [loss.query for _, _, loss in checked(old, new, max_query_drop=0.1).query_drops] == ["20", "19"]


def test_groups_are_checked_with_corrected_limits() -> None:
    draw = np.random.default_rng(5)
    old = draw.random(40)
    new = old + draw.normal(0, 0.02, 40) - np.repeat([0.0, 0.2], 20)
    groups = {str(q + 1): "good" if q < 20 else "bad" for q in range(40)} | {"1": ["good", "alone"]}
    found = checked(old, new, 0.15, query_groups=groups, min_mean=0.01)
    parts = {each.group: each for each in found.decisions}
    assert {name: each.verdict for name, each in parts.items()} == {
        "": "not worse",
        "good": "not worse",
        "bad": "worse",
    }
    assert found.failed
    assert [each.alpha for each in found.decisions] == [0.05, 0.025, 0.025]
    alone = one(old[20:], new[20:], 0.15, alpha=0.025)
    assert (parts["bad"].low, parts["bad"].high) == (alone.low, alone.high)
    assert [each.group for each in found.floors] == ["", "good", "bad"]
    assert found.table()["group"] == ["(all)", "good", "bad"]
    assert "1 group of fewer than two queries; left out" in found.notes
    assert "new is worse than old by more than 0.15 (m0 of bad)" in found.summary


def test_fail_on_chooses_what_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(4)}
    good = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    runs = {
        "good": good, "tied": {**good, "q0": {"a": 1.0, "b": 1.0}}, "short": {q: good[q] for q in ("q0", "q1", "q2")},
        "more": {**good, "other": {"a": 1.0}}, "unjudged": {**good, "q1": {"a": 2.0, "new": 1.0}},
    }  # fmt: skip
    kinds = {"tied": "ties", "short": "missing", "more": "unmatched", "unjudged": "unjudged"}
    exp = cal.Experiment(qrels, runs, "RR", warn=False)
    for system, own in kinds.items():
        for kind in kinds.values():
            found = exp.check(system, baseline="good", max_drop=1, fail_on=[kind])
            assert found.failed == (kind == own), (system, kind)
        assert not exp.check(system, baseline="good", max_drop=1).failed
        assert f"(fail_on {own})" in exp.check(system, baseline="good", max_drop=1, fail_on=[own]).summary
    for name, run in runs.items():
        cal.write_run(run, tmp_path / f"{name}.run", name=name)
    cal.write_qrels(qrels, tmp_path / "qrels")
    given = ["check", str(tmp_path / "qrels"), str(tmp_path / "tied.run"), "-m", "RR", "--min-mean", "0.1"]
    assert commands.run(given) == 0
    assert commands.run([*given, "--fail-on", "missing,ties"]) == 1
    assert commands.run([*given, "--fail-on", "missing", "--fail-on", "unmatched"]) == 0
    assert commands.run([*given, "--fail-on", "tie"]) == 2
    assert "'tie' is not one of undecided, unmatched, missing, ties, unjudged" in capfd.readouterr().err


def test_measures_that_are_better_the_smaller_are_refused() -> None:
    scores = cal.evaluate({"q": {"a": 1}, "p": {"a": 1}}, {"q": {"a": 1}, "p": {"a": 1}}, "EE-L", warn=False)
    with pytest.raises(CalipersError, match="smaller values of EE-L are better"):
        gate(scores, scores.systems[0], min=0.1)


# -- the command -------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    SIMULATED.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> int:
    return commands.run(["check", "qrels.txt", *arguments])


def test_exit_codes_and_the_sentence(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    measured = ("-m", "nDCG@10 RR", "--max-drop", "0.01")
    assert check("new.run", "--baseline", "old.run", *measured) == 1
    out, _ = capfd.readouterr()
    assert out.startswith("new is worse than old by more than 0.01 (nDCG@10")
    assert "queries with the largest loss" in out
    assert check("best.run", "--baseline", "old.run", *measured) == 0
    assert capfd.readouterr().out.startswith("best is not worse than old by more than 0.01 (nDCG@10, RR).\n")
    assert check("same.run", "--baseline", "old.run", *measured) == 0
    assert capfd.readouterr().out.startswith("Undecided whether same is worse than old by more than 0.01")
    assert check("same.run", "--baseline", "old.run", *measured, "--fail-on", "undecided") == 1
    assert check("same.run", "--baseline", "same.run", *measured) == 0


def test_the_command_takes_floors_and_limits_without_a_baseline(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert check("best.run", "-m", "nDCG@10 RR", "--min", "nDCG@10=0.1", "--min-mean", "RR=0.1") == 0
    assert capfd.readouterr().out.startswith("best is not below the floor (nDCG@10: lower limit ")
    assert check("best.run", "-m", "nDCG@10", "--min", "1.5") == 1
    assert check("new.run", "--baseline", "old.run", "-m", "RR AP", "--max-drop", "RR=99%", "--max-drop", "AP=1") == 0
    assert check("new.run", "--baseline", "old.run", "-m", "RR", "--max-query-drop", "0.1", "--junit", "c.xml") == 1
    assert '<failure type="worse"' in (files / "c.xml").read_text()
    capfd.readouterr()
    assert check("best.run", "-m", "RR") == 2
    assert "give --max-drop, --max-query-drop, --min or --min-mean" in capfd.readouterr().err
    assert check("best.run", "-m", "RR", "--max-drop", "0.1") == 2
    assert "give --baseline" in capfd.readouterr().err


@pytest.mark.parametrize("form", ["json", "csv"])
def test_stored_scores_are_a_baseline(form: str, files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What evaluate -q wrote gives what the run gives, also under another name of the measure."""
    name = f"scores.{form}"
    assert (
        commands.run(["evaluate", "qrels.txt", "old.run", "-m", "ndcg@10 RR", "-q", "--format", form, "-o", name]) == 0
    )
    capfd.readouterr()
    made = []
    for baseline in ("old.run", name):
        assert check("new.run", "--baseline", baseline, "-m", "nDCG@10 RR", "--max-drop", "0", "--format", "json") == 1
        made.append(json.loads(capfd.readouterr().out))
    assert any("which judgments" in note for note in made[1]["notes"]) == (form == "csv")  # CSV has no digest
    for each in made:
        each.pop("problems")  # those of a run that was read
    assert made[0] | {"notes": []} == made[1] | {"notes": []}
    assert [each["measure"] for each in made[0]["tables"]["measures"]] == ["nDCG@10", "RR"]
    assert (made[0]["verdict"], made[0]["failed"]) == ("worse", True)
    assert len(made[0]["tables"]["worst"]) == 10


def test_a_baseline_of_several_systems_is_chosen_by_name(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    commands.run(["evaluate", "qrels.txt", "old.run", "same.run", "-m", "AP", "-q", "--format", "json", "-o", "s.json"])
    assert check("new.run", "--baseline", "s.json", "-m", "AP", "--max-drop", "0.01") == 2
    assert "s.json: holds 2 systems: choose one, as --baseline old=s.json" in capfd.readouterr().err
    assert check("new.run", "--baseline", "same=s.json", "-m", "AP", "--max-drop", "0.01") == 1
    assert "new is worse than same" in capfd.readouterr().out
    commands.run(["evaluate", "qrels.txt", "old.run", "-m", "AP", "--format", "json", "-o", "means.json"])
    assert check("new.run", "--baseline", "means.json", "-m", "AP", "--max-drop", "0.01") == 2
    assert "means.json: holds means, which cannot be compared query by query" in capfd.readouterr().err


def test_a_run_in_a_table_with_systems_is_a_run(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"system": "old", "query": query, "docno": document, "score": score}
        for query, ranked in SIMULATED.runs["old"].items()
        for document, score in ranked.items()
    ]
    (files / "old.json").write_text(json.dumps(rows))
    made = []
    for baseline in ("old.run", "old.json"):
        check("new.run", "--baseline", baseline, "-m", "AP", "--max-drop", "0.01", "--format", "json")
        made.append(capfd.readouterr().out)
    assert made[0] == made[1]


def test_other_conventions_and_lost_queries_are_said(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    commands.run(["evaluate", "qrels.txt", "old.run", "-m", "AP", "-q", "--like", "trec_eval", "--format", "json",
                  "-o", "s.json"])  # fmt: skip
    stored = json.loads((files / "s.json").read_text())
    (files / "s.json").write_text(json.dumps(stored[1:]))
    lines = [line for line in (files / "new.run").read_text().splitlines() if not line.startswith("2 ")]
    (files / "new.run").write_text("\n".join(lines) + "\n")
    capfd.readouterr()
    check("new.run", "--baseline", "s.json", "-m", "AP", "--max-drop", "0.01")
    err = capfd.readouterr().err
    assert "warning: 1 of 1 run lacks judged queries (1 in all, new, such as '2')" in err
    assert "warning: 1 query of new is not in old (1); left out" in err
    assert "different conventions: Calipers' own (new) and trec_eval (old)" in err
    assert check("new.run", "--baseline", "s.json", "-m", "AP", "--max-drop", "0.01", "--strict") == 2


def test_junit_and_annotations(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What a job reads: failures where it is worse, skipped or failed where undecided; ids cannot break out of it."""
    worse = 'a\r\n::error::,%&<"\x01\udcff\uffff'
    qrels = {f"{worse}{i}": {"x": 1} for i in range(3)}
    runs = {"old": {q: {"x": 1.0} for q in qrels}, "new": {q: {"y": 2.0, "x": 1.0} for q in qrels}}
    scores = cal.evaluate(qrels, runs, "RR")
    found = gate(scores, "new", baseline="old", max_drop=0.1)
    tree = ElementTree.fromstring(found.to_junit().encode())
    assert tree.attrib["failures"] == "1"
    failure = tree.find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.text is not None
    assert len(failure.text.splitlines()) == 3
    (line,) = found.annotations()
    assert "\n" not in line
    assert line.startswith("::error title=new against old%3A worse::worse: RR -0.5000, from 1.0000 to 0.5000")
    assert "%25&<" in line
    arguments = ("same.run", "--baseline", "old.run", "-m", "AP", "--max-drop", "0.01", "--junit", "c.xml")
    for more, counts, kind in (
        ((), ("0", "1"), "warning"),
        (
            (
                "--fail-on",
                "undecided",
            ),
            ("1", "0"),
            "error",
        ),
    ):
        check(*arguments, "--annotate", *more)
        out = capfd.readouterr().out
        suite = ElementTree.parse(files / "c.xml").getroot()
        assert (suite.attrib["failures"], suite.attrib["skipped"]) == counts
        assert sum(line.startswith(f"::{kind} title=") for line in out.splitlines()) == 1
    assert check(*arguments, "--annotate", "--format", "json") == 2
    assert "--annotate prints to the screen" in capfd.readouterr().err


def test_markdown_and_csv(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ("new.run", "--baseline", "old.run", "-m", "AP", "--max-drop", "0.01", "--format")
    check(*arguments, "markdown")
    assert capfd.readouterr().out.startswith(
        "**new is worse than old by more than 0.01 (AP).**\n\nMean differences:\n\n| measure | verdict |"
    )
    check(*arguments, "csv")
    out, err = capfd.readouterr()
    assert out.startswith("measure,verdict,old,new,difference,low,high,max_drop,queries,needed\nAP,worse,")
    assert "calipers: new is worse than old by more than 0.01 (AP)" in err


def test_the_workflow_of_the_manual_works(
    files: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its two commands, in a repository as it describes one."""
    workflow = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/check.md").read_text(), re.DOTALL | re.MULTILINE)[0]
    (files / "eval").mkdir()
    for name, copy in (("qrels.txt", "eval/qrels.txt"), ("old.run", "eval/released.run")):
        (files / copy).write_bytes((files / name).read_bytes())
    commands.run(
        ["evaluate", "qrels.txt", "old.run", "-m", "nDCG@10 RR", "-q", "--format", "json", "-o", "eval/baseline.json"]
    )
    capfd.readouterr()
    given = dict(re.findall(r"^          ([a-z-]+): \"?([^\"\n]+)\"?$", workflow, re.MULTILINE))
    options = {"--baseline": "baseline", "-m": "measure", "--max-drop": "max-drop", "--junit": "junit"}
    called = [
        [
            "check",
            given["judgments"],
            given["run"],
            "--annotate",
            *(part for name, key in options.items() for part in (name, given[key])),
        ],
        *(shlex.split(line.partition(">>")[0]) for line in re.findall(r"calipers (\w[^-].*\n.*)", workflow)),
    ]
    assert [call[0] for call in called] == ["check", "diff"]
    assert [commands.run(call) for call in called] == [1, 0]
    out = capfd.readouterr().out
    assert "\n::error title=new against old%3A worse::" in out
    assert "**new** against **old**" in out
    assert (files / "check.xml").exists()
