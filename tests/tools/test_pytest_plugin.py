"""The pytest plugin: tests that pass and fail, the table in the message, and what it costs to load."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import calipers as cal
from calipers.tools import pytest_plugin
from conftest import ROOT

QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(6)}
GOOD = {query: ["a", "b"] for query in QRELS}
BAD = {query: ["b", "a"] for query in QRELS}
TESTS = """
def test_not_worse(check_ranking):
    check_ranking("qrels.txt", "good.run", "RR", baseline="bad.run", max_drop=0.02)

def test_worse(check_ranking):
    check_ranking("qrels.txt", "bad.run", "RR", baseline="good.run", max_drop=0.02)

def test_worse_than_stored_scores(check_ranking):
    check_ranking("qrels.txt", "bad.run", "RR", baseline="stored.json", max_drop="2%")

def test_floor(check_ranking):
    found = check_ranking("qrels.txt", "bad.run", "RR P@1", min={"RR": "50%"}, ties="docid")
    assert (found.observed, found.verdict) == ("ok", "undecided")

def test_below(check_ranking):
    check_ranking("qrels.txt", "bad.run", "RR", min=0.6)
"""


def test_the_plugin_is_registered() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"calipers": pytest_plugin.__name__}


def test_a_failure_shows_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own: pytest's fixture `pytester` would unload NumPy, which cannot be loaded twice."""
    monkeypatch.chdir(tmp_path)
    cal.write_qrels(QRELS, "qrels.txt")
    for name, run in (("good", GOOD), ("bad", BAD)):
        scored = {query: {d: float(-rank) for rank, d in enumerate(ranked)} for query, ranked in run.items()}
        cal.write_run(scored, f"{name}.run", name=name)
    scores = cal.evaluate(QRELS, {"good": GOOD}, "RR")
    Path("stored.json").write_text(scores.per_query().to_json(), encoding="utf-8")
    Path("test_search.py").write_text(TESTS, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(Path(cal.__file__).resolve().parent.parent))
    installed = any(each.name == "calipers" for each in entry_points(group="pytest11"))
    load = [] if installed else ["-p", pytest_plugin.__name__]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", *load]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    out = done.stdout
    assert "3 failed, 2 passed" in out, out + done.stderr
    fact = "drops by more than is allowed against {}: RR by 0.5000 (0.02 allowed). Beyond these queries: undecided ("
    assert f"Failed: new {fact.format('baseline')}" in out
    assert f"Failed: new {fact.format('good')}" in out
    assert "more than the 0.02 allowed; shown beyond these 6 queries: no (could be chance; " in out
    assert "queries with the largest loss" in out
    assert "Failed: new is below the floor (RR: mean 0.5000, floor 0.6). Beyond these queries: undecided (RR; " in out
    assert "pytest_plugin.py" not in out  # its frames are hidden


def test_loading_the_plugin_does_not_load_the_library() -> None:
    code = (
        "import json, sys, calipers.tools.pytest_plugin; "
        "print(json.dumps([name for name in sys.modules if name == 'numpy' or name.startswith('calipers.')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = {"calipers.support", "calipers.support.lazy_names", "calipers.support.removed_names"}
    assert set(json.loads(done.stdout)) <= names | {
        "calipers._version",
        "calipers.tools",
        "calipers.tools.pytest_plugin",
    }


def test_the_fixture_takes_the_limits_of_check() -> None:
    import inspect

    from calipers.questions.check import check

    own, limits = (inspect.signature(each).parameters for each in (pytest_plugin.assert_ranking, check))
    assert set(limits) - set(own) == {"evaluation", "other_judgments", "warn"}


def test_a_failed_assertion_is_an_assertion_error() -> None:
    with pytest.raises(AssertionError, match="new drops by more than is allowed against baseline"):
        pytest_plugin.assert_ranking(QRELS, BAD, "RR", baseline=GOOD, max_drop=0.1)
