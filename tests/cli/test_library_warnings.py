"""The library warns as the commands do: the same sentences, in one CalipersWarning per call, and none on request."""

from __future__ import annotations

import inspect
import shlex
import warnings
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import calipers as cal
import calipers.texts
from calipers.cli.commands import root

QUERIES = range(1, 9)
RUNS = {
    "good": {q: {"a": 3.0, "b": 2.0, "c": 1.0} for q in QUERIES},
    "poor": {q: {"c": 3.0, "b": 2.0, "a": 2.0} if q < 8 else {"c": 2.0, "b": 2.0} for q in QUERIES if q > 1},
    "blind": {q: {"x": 3.0, "y": 2.0} for q in QUERIES},
}
SUMMARIES = """\
{"id": "d1", "references": ["the cat on the mat"], "system": "s1", "summary": "the cat"}
{"id": "d1", "system": "s2", "summary": ""}
"""
FILES = {
    "qrels": "".join(f"{q} 0 {d} {g}\n" for q in QUERIES for d, g in (("a", 1), ("b", 0), ("c", 0))),
    "llm.qrels": "".join(f"{q} 0 {d} {g}\n" for q in QUERIES if q > 1 for d, g in (("a", 1), ("b", 1))),
    **{
        f"{name}.run": "".join(f"{q} Q0 {d} 1 {s} {name}\n" for q, of in run.items() for d, s in of.items())
        for name, run in RUNS.items()
    },
    "more.run": "".join(f"{q} Q0 {d} 1 1 more\n" for q in range(1, 10) for d in "ab"),
    "one.csv": "query,s,t\n1,0.5,0.3\n2,0.4,0.2\n3,0.7,0.1\n",
    "two.csv": "query,s,t,u\n1,0.5,0.3,1\n2,0.4,0.2,1\n",
    "data.jsonl": SUMMARIES,
}
ALL = ["good.run", "poor.run", "blind.run"]


def compared() -> object:
    return cal.compare(cal.evaluate("qrels", ALL, "AP", missing="skip", unmatched="warn"))


def checked() -> object:
    found = cal.Experiment("qrels", "poor.run", "AP")
    return found.check("poor", baseline=cal.read_scores("old.csv"), max_drop=0.01)


def text_scored() -> object:
    return cal.Experiment(cal.read_texts("data.jsonl"), measures="ROUGE-1").scores


CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "compare qrels good.run poor.run blind.run -m AP --missing skip --unmatched warn": (
        compared,
        "2 of 3 pairs miss queries under AP",
    ),
    "compare one.csv two.csv": (lambda: cal.compare(cal.read_scores(["one.csv", "two.csv"])), "left out"),
    "check qrels poor.run --baseline good=old.csv -m AP --max-drop 0.01": (checked, "left out"),
    "diff qrels good.run poor.run -m AP": (
        lambda: cal.Experiment("qrels", ["good.run", "poor.run"], "AP").diff("good", "poor"),
        "ties",
    ),
    "ranges qrels good.run poor.run blind.run -m AP": (lambda: cal.Experiment("qrels", ALL, "AP").ranges(), "unjudged"),
    "metaeval qrels good.run poor.run blind.run -m 'AP RR' --unmatched warn": (
        lambda: cal.Experiment("qrels", ALL, "AP RR", unmatched="warn").metaeval(),
        "lacks judged queries",
    ),
    "judges qrels llm.qrels": (lambda: cal.Experiment("qrels", None).judges("llm.qrels"), "lacks labels of the human"),
    "judges qrels llm.qrels --systems good.run --systems poor.run -m AP": (
        lambda: cal.Experiment("qrels", ["good.run", "poor.run"], "AP").judges("llm.qrels"),
        "lacks judged queries",
    ),
    "fuse good.run more.run": (lambda: cal.fuse(["good.run", "more.run"]), "the same score for all documents"),
    "fuse good.run poor.run --bound naive --qrels qrels": (
        lambda: cal.questions.fuse.fusion_bound("qrels", ["good.run", "poor.run"]),
        "answered by only one run",
    ),
    "information ric qrels good.run poor.run blind.run": (
        lambda: cal.questions.information.ric(cal.Experiment("qrels", ALL)),
        "no judged document",
    ),
    "information joint qrels good.run poor.run blind.run": (
        lambda: cal.questions.information.joint(cal.Experiment("qrels", ALL)),
        "no judged document",
    ),
    "information difference qrels good.run poor.run blind.run": (
        lambda: cal.questions.information.difference(cal.Experiment("qrels", ALL)),
        "no judged document",
    ),
    "evaluate data.jsonl -m ROUGE-1": (text_scored, "1 summary is empty"),
}


@pytest.mark.parametrize("line", CALLS)
def test_the_library_warns_as_the_command_does(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("old.csv").write_text("system,query,AP\n" + "".join(f"good,{q},1.0\n" for q in range(2, 12)), encoding="utf-8")
    call, sentence = CALLS[line]
    result = CliRunner().invoke(root, shlex.split(line))
    assert result.exit_code in (0, 1), result.stderr
    start = "calipers: warning: "
    said = [text.removeprefix(start) for text in result.stderr.splitlines() if text.startswith(start)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", cal.CalipersWarning)
        call()
    given = [str(each.message) for each in caught if isinstance(each.message, cal.CalipersWarning)]
    assert "; ".join(given) == "; ".join(said)
    assert sentence in "; ".join(given)
    assert len(given) <= line.startswith(("compare", "check")) + 1
    assert {Path(each.filename).name for each in caught} == {Path(__file__).name}


READ: dict[str, Callable[[], object]] = {  # calls that read files, and warn of nothing else
    "bounds qrels three.run --population retrieved -m AP": lambda: cal.bounds(
        "qrels", "AP", population="retrieved", runs="three.run"
    ),
    "pool three.run good.run --depth 2": lambda: cal.pool(["three.run", "good.run"], depth=2),
    "pool three.run good.run --judged qrels --budget 2 -m nDCG@5": lambda: cal.Experiment(
        "qrels", ["three.run", "good.run"], "nDCG@5"
    ).pool(budget=2),
    "audit qrels three.run -m nDCG@10": lambda: cal.Experiment("qrels", "three.run", "nDCG@10").audit(),
}


@pytest.mark.parametrize("line", READ)
def test_the_library_says_how_a_file_was_read(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("three.run").write_text(
        "".join(f"{q} {d} {rank}\n" for q in QUERIES for rank, d in enumerate("abc", 1)), encoding="utf-8"
    )
    with pytest.warns(cal.CalipersWarning, match="rank") as caught:
        READ[line]()
    (warning,) = (each for each in caught if issubclass(each.category, cal.CalipersWarning))
    assert Path(warning.filename).name == Path(__file__).name
    result = CliRunner().invoke(root, shlex.split(line))
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count(str(warning.message)) == 1


@pytest.mark.parametrize(
    "name",
    ["compare", "fuse", "questions.fuse.fusion_bound", "read_scores", "evaluate", "bounds", "pool"],
)
def test_one_switch_turns_warnings_off(name: str) -> None:
    assert inspect.signature(attrgetter(name)(cal)).parameters["warn"].default is True


def test_no_warning_where_none_is_wanted() -> None:
    runs: dict[str, Any] = {name: {str(q): of for q, of in run.items()} for name, run in RUNS.items()}
    known = {str(q): {"a": 1, "b": 0, "c": 0} for q in QUERIES}
    with warnings.catch_warnings():
        warnings.simplefilter("error", cal.CalipersWarning)
        found = cal.Experiment(known, runs, "AP", warn=False).ranges()
        cal.Experiment(known, runs, "AP", unmatched="warn", warn=False).metaeval()
        cal.fuse(runs, warn=False)
        cal.questions.information.joint(cal.Experiment(known, runs, warn=False))
        scores = cal.evaluate(known, runs, "AP", missing="skip", unmatched="warn", warn=False)
        compared = cal.compare(scores, warn=False)
    assert found.notes
    assert compared.notes
