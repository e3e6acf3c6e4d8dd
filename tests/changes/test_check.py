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
from calipers.cli import commands
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError
from conftest import ROOT

SIMULATED = simulate(
    topics=40, systems={"old": 0.5, "new": 0.1, "same": 0.5, "best": 0.9}, retrieved=20, unjudged=0.1, seed=5
)


def checked(old: Any, new: Any, max_drop: float, **more: Any) -> cal.Check:
    """Of arrays of scores, [measure, query] or [query]."""
    old, new = np.atleast_2d(old), np.atleast_2d(new)
    names = [f"m{i}" for i in range(len(old))]
    both = cal.as_scores(np.stack([old, new], axis=1), ["old", "new"], measure=names)
    return cal.check(both.of_systems(["new"]), both.of_systems(["old"]), max_drop, **more)


def one(old: Any, new: Any, max_drop: float, **more: Any) -> cal.Decision:
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
    assert (found.fails(), found.fails(undecided=True)) == (False, True)


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
    monkeypatch.setattr("calipers.changes.check.smallest_n", lambda *given: None)  # slow, and not asked about
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
    found = cal.check(new, old, 0.01)
    assert found.decisions[0].queries == 3
    assert found.decisions[0].difference == pytest.approx(0.1)
    assert found.notes == (
        "2 queries of new are not in old (fresh, more); left out",
        "1 query of old is not in new (gone); left out",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_drop": -1}, "the largest drop allowed, -1,"),
        ({"max_drop": math.nan}, "the largest drop allowed, nan,"),
        ({"alpha": 0.5}, "alpha 0.5 is not between 0 and 0.5"),
        ({"power": 0.01}, "power 0.01 is not between alpha and 1"),
        ({"old": cal.as_scores([[0.1, 0.2]], ["o"], measure="RR")}, "unknown measure of the baseline 'AP'; "),
        ({"old": cal.as_scores([[0.1, 0.2]], ["o"], ["x", "y"], "AP")}, "n and o have no query in common"),
        ({"old": cal.as_scores([[0.1, math.nan]], ["o"], measure="AP")}, "fewer than two queries"),
        ({"old": cal.as_scores([[0.1, 0.2]] * 2, ["o", "p"], measure="AP")}, "the old scores are of 2 systems"),
    ],
)
def test_what_cannot_be_checked(change: dict[str, Any], message: str) -> None:
    given = {"new": cal.as_scores([[0.1, 0.2]], ["n"], measure="AP"), "old": None, "max_drop": 0.1, **change}
    given["old"] = given["old"] or cal.as_scores([[0.1, 0.2]], ["o"], measure="AP")
    with pytest.raises(CalipersError, match=message):
        cal.check(**given)


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
    assert capfd.readouterr().out.startswith("best is not worse than old by more than 0.01 (nDCG@10, RR)\n")
    assert check("same.run", "--baseline", "old.run", *measured) == 0
    assert capfd.readouterr().out.startswith("undecided whether same is worse than old by more than 0.01")
    assert check("same.run", "--baseline", "old.run", *measured, "--fail-undecided") == 1
    assert check("same.run", "--baseline", "same.run", *measured) == 0


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
    assert len(made[1].pop("notes")) == (form == "csv")  # which does not say what it was judged by
    assert made[0] == made[1] | {"notes": []}
    assert [each["measure"] for each in made[0]["measures"]] == ["nDCG@10", "RR"]
    assert made[0]["verdict"] == "worse"
    assert len(made[0]["measures"][0]["worst"]) == 5


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
    found = cal.check(scores.of_systems(["new"]), scores.of_systems(["old"]), 0.1)
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
    for more, counts, kind in (((), ("0", "1"), "warning"), (("--fail-undecided",), ("1", "0"), "error")):
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
        "**new is worse than old by more than 0.01 (AP)**\n\n| measure | verdict |"
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
    options = {"--baseline": "baseline", "-m": "measures", "--max-drop": "max-drop", "--junit": "junit"}
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
