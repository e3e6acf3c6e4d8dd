"""Judgments and runs that do not match are noticed, whatever they were read from."""

from __future__ import annotations

import json
import pickle
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.cli import commands
from calipers.collection.judgments import digest_text
from calipers.collection.mismatch import near_misses
from calipers.errors import CalipersError, CalipersWarning, CheckFailed
from calipers.questions.check import check as gate
from calipers.tools.pytrec_eval import RelevanceEvaluator

Nested = dict[str, dict[str, float]]

# What programs do to ids such as 00017: the spelling in the run, and what the message has to guess.
SPELLINGS: dict[str, tuple[Callable[[str], str], str]] = {
    "zeros": (lambda name: name.lstrip("0"), "leading zeros"),
    "fraction": (lambda name: f"{name}.0", "ends in .0"),
    "case": (lambda name: f"d{name}", "case"),
    "space": (lambda name: f"{name} ", "spaces"),
    "passage": (lambda name: f"{name}#3", "passage"),
    "address": (lambda name: f"https://example.org/{name}", "path"),
    "ending": (lambda name: f"{name}.txt", "file ending"),
}


def judgments(prefix: str = "") -> Nested:
    rng = random.Random(1)
    return {f"q{q}": {f"{prefix}{rng.randrange(10**4):05d}": float(d % 3) for d in range(5)} for q in range(40)}


def as_run(known: Nested, spelled: Callable[[str], str]) -> Nested:
    return {q: {spelled(name): 9.0 - rank for rank, name in enumerate(graded)} for q, graded in known.items()}


def rows(nested: Nested, number: str) -> dict[str, list[Any]]:
    triples = [(q, d, value) for q, inner in nested.items() for d, value in inner.items()]
    return {"query": [t[0] for t in triples], "doc": [t[1] for t in triples], number: [t[2] for t in triples]}


def as_dict(nested: Nested, number: str, folder: Path) -> Any:
    return nested


def as_pandas(nested: Nested, number: str, folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows(nested, number))


def as_polars(nested: Nested, number: str, folder: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(rows(nested, number))


def as_json(nested: Nested, number: str, folder: Path) -> str:
    path = folder / f"{number}.json"
    path.write_text(json.dumps(nested))
    return str(path)


def as_csv(nested: Nested, number: str, folder: Path) -> str:
    path = folder / f"{number}.csv"
    columns = rows(nested, number)
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return str(path)


def as_trec(nested: Nested, number: str, folder: Path) -> str:
    path = folder / f"{number}.txt"
    line = "{} 0 {} {:g}" if number == "grade" else "{} Q0 {} 1 {} t"
    path.write_text("".join(f"{line.format(*row)}\n" for row in zip(*rows(nested, number).values(), strict=True)))
    return str(path)


FORMS = [as_dict, as_pandas, as_polars, as_json, as_csv, as_trec]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_ids_that_do_not_match_are_refused(
    form: Callable[[Nested, str, Path], Any], spelling: str, tmp_path: Path
) -> None:
    """The law: in every form, other spellings are an error with both ids and the reason; as a choice they count 0."""
    if spelling == "space" and form is as_trec:
        pytest.skip("a field of TREC's formats holds no spaces")
    spelled, guess = SPELLINGS[spelling]
    known = judgments("D" if spelling == "case" else "")
    plain = form(known, "grade", tmp_path)
    run = as_run(known, (lambda name: name.lower()) if spelling == "case" else spelled)
    ours, theirs = next(iter(known["q0"])), next(iter(run["q0"]))
    system = form(run, "score", tmp_path)
    with pytest.raises(CalipersError) as refused:
        cal.evaluate(plain, system, "AP")
    assert f"'{ours}' is judged and '{theirs}' is retrieved" in str(refused.value)
    assert guess in str(refused.value)
    scores = cal.evaluate(plain, system, "AP", unmatched="warn", warn=False)
    assert not scores["AP"].any()
    assert any(guess in note for note in scores.notes)
    right = cal.evaluate(plain, form(as_run(known, str), "score", tmp_path), "AP", warn=False)
    assert right["AP"].all()
    for new, old in ((scores, right), (scores, scores), (right, scores)):
        with pytest.raises(CheckFailed, match="hardly any query has a judged document"):
            gate(new, new.systems[0], baseline=old, max_drop=0.9)


def audited(known: Any, run: Any) -> object:
    return cal.Experiment(known, run, "AP", unmatched="warn").audit()


@pytest.mark.parametrize("ask", [lambda *given: cal.Experiment(*given).ranges(), audited])
def test_other_questions_warn_of_ids_that_do_not_match(ask: Callable[..., object]) -> None:
    known = judgments("")
    spelled, guess = SPELLINGS["zeros"]
    with pytest.warns(CalipersWarning, match=guess):
        ask(known, as_run(known, spelled))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        ask(known, as_run(known, str))
    assert not [each for each in heard if "is judged" in str(each.message)]


def test_whole_numbers_beside_text(tmp_path: Path) -> None:
    """A column of whole numbers in a frame has lost the zeros that the judgments have."""
    pandas = pytest.importorskip("pandas")
    known = judgments()
    columns = rows(as_run(known, str), "score")
    columns["doc"] = [int(name) for name in columns["doc"]]
    with pytest.raises(CalipersError, match="leading zeros"):
        cal.evaluate(known, pandas.DataFrame(columns), "AP")


def test_share_of_queries_below_which_there_is_a_warning() -> None:
    """Fewer than 5% of the queries that a run answers: one of 40 is less, two of 40 are not."""
    known = judgments()
    wrong = as_run(known, SPELLINGS["zeros"][0])
    for right in (1, 2):
        run = {query: known[query] if place < right else ranked for place, (query, ranked) in enumerate(wrong.items())}
        scores = cal.evaluate(known, run, "AP", warn=False)
        said = [note for note in scores.notes if "have a judged document" in note]
        assert len(said) == (right == 1)
        if right == 1:
            assert said[0].startswith("run: only 1 of 40 queries have a judged document ('")
            with pytest.raises(CheckFailed, match="hardly any query"):
                gate(scores, scores.systems[0], baseline=scores, max_drop=0.9)
    part = dict(list(known.items())[:1])
    assert not any("judged document" in note for note in cal.evaluate(known, part, "AP", warn=False).notes)


def test_one_wrong_run_among_others_is_named() -> None:
    known = judgments()
    runs = {"good": as_run(known, str), "bad": as_run(known, SPELLINGS["zeros"][0])}
    with pytest.raises(CalipersError, match=r"^bad: none of its documents"):
        cal.evaluate(known, runs, "AP")
    other = {"good": runs["good"], "strange": {"x": {"00001": 1.0}}}
    with pytest.raises(
        CalipersError, match=r"^strange: .*the judgments have 'q0', 'q1', 'q2' \.\.\., the runs have 'x'"
    ):
        cal.evaluate(known, other, "AP")
    assert cal.evaluate(known, {"good": runs["good"], "empty": {}}, "AP", warn=False)["AP"].shape == (2, 40)


def test_documents_below_the_cut_count_as_matching() -> None:
    known = {"q": {"a": 1.0}}
    run = {"q": {"x": 2.0, "a": 1.0}}
    assert not cal.evaluate(known, run, "AP", depth=1, warn=False)["AP"].any()


def test_the_choice_is_checked() -> None:
    with pytest.raises(CalipersError, match="unmatched 'ignore' is unknown; expected error or warn"):
        cal.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, "AP", unmatched="ignore")


def test_other_tools_keep_their_zeros(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    known = judgments()
    run = as_run(known, SPELLINGS["zeros"][0])
    evaluator = RelevanceEvaluator({q: {d: int(g) for d, g in of.items()} for q, of in known.items()}, {"map"})
    assert {found["map"] for found in evaluator.evaluate(run).values()} == {0.0}
    commands.run(["trec_eval", "-m", "map", as_trec(known, "grade", tmp_path), as_trec(run, "score", tmp_path)])
    assert capfd.readouterr().out.split() == ["map", "all", "0.0000"]


def test_the_command_has_the_option(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    known = judgments()
    files = [as_trec(known, "grade", tmp_path), as_trec(as_run(known, SPELLINGS["zeros"][0]), "score", tmp_path)]
    assert commands.run(["evaluate", *files, "-m", "AP"]) == 2
    assert commands.run(["evaluate", *files, "-m", "AP", "--unmatched", "warn"]) == 0
    assert "warning: t: none of its documents is judged" in capfd.readouterr().err
    check = ["check", *files, "--baseline", files[1], "-m", "AP", "--max-drop", "0.9", "--unmatched", "warn"]
    assert commands.run(check) == 1


# -- queries -----------------------------------------------------------------------------------------


def test_queries_that_do_not_match_are_named() -> None:
    known = judgments()
    run = {f" Q{place}".strip() if place < 4 else query: known[query] for place, query in enumerate(known)}
    notes = cal.evaluate(known, run, "AP", warn=False).notes
    assert "1 of 1 run answers queries without judgments (at most 4, such as 'Q0', 'Q1', 'Q2'); ignored" in notes
    assert "1 of 1 run lacks judged queries (4 in all, run, such as 'q0', 'q1', 'q2')" in notes
    assert "run: the judged query 'q0' may be its query 'Q0': upper and lower case differ" in notes
    with pytest.raises(CalipersError, match=r"the runs have 'q0 ', 'q1 ', 'q2 ' \.\.\.; there are spaces around one"):
        cal.evaluate(known, {f"{query} ": ranked for query, ranked in known.items()}, "AP")


def test_near_misses_are_no_ids_that_match() -> None:
    assert near_misses(["1", "01"], ["1", "01"]) == []
    assert near_misses(["000"], [""]) == []


# -- judgments of stored scores ----------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_the_digest_is_that_of_the_triples(form: Callable[[Nested, str, Path], Any], tmp_path: Path) -> None:
    """The same for every form and order of the judgments; another one for other grades, documents or queries."""
    known = judgments()
    shuffled = {q: dict(sorted(known[q].items(), reverse=True)) for q in sorted(known, reverse=True)}
    run = as_run(known, str)
    scores = cal.evaluate(form(shuffled, "grade", tmp_path), run, "AP", warn=False)
    digest = digest_text(scores.metadata["judgments"])
    assert digest == cal.Judgments.from_dict(known).digest
    assert pickle.loads(pickle.dumps(scores)).metadata["judgments"] == digest
    for changed in (
        {**known, "q0": {**known["q0"], "x": 0.0}},
        {**known, "q0": dict.fromkeys(known["q0"], 0.0)},
        {q: graded for q, graded in known.items() if q != "q0"},
    ):
        assert cal.Judgments.from_dict(changed).digest != digest


def test_a_stale_baseline_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    known = judgments()
    run = as_trec(as_run(known, str), "score", tmp_path)
    old = as_trec(known, "grade", tmp_path)
    stored = [str(tmp_path / name) for name in ("stored.json", "stored.csv")]
    for path in stored:
        assert commands.run(["evaluate", old, run, "-m", "AP", "-q", "-o", path]) == 0

    def check(judged: str, baseline: str, *more: str) -> int:
        return commands.run(["check", judged, run, "--baseline", baseline, "-m", "AP", "--max-drop", "0.9", *more])

    same = as_json(known, "grade", tmp_path)
    capfd.readouterr()
    assert check(same, stored[0], "--strict") == 0
    assert "judgments" not in capfd.readouterr().err
    fresh = as_csv({**known, "q0": {**known["q0"], "new": 1.0}}, "grade", tmp_path)
    assert check(fresh, stored[0]) == 1
    assert "were scored with different judgments" in capfd.readouterr().err
    assert check(fresh, stored[0], "--other-judgments", "warn") == 0
    assert "warning: t and t were scored with different judgments" in capfd.readouterr().err
    assert check(fresh, stored[1], "--strict") == 0
    assert "do not tell which judgments" in capfd.readouterr().err
    found = cal.evaluate(fresh, run, "AP", warn=False)
    with pytest.raises(CheckFailed, match="different judgments"):
        gate(found, found.systems[0], baseline=cal.read_scores(stored[0]), max_drop=0.9)


# -- what a file is ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["compare"], ["plan"], ["metaeval", "--sets", "all"]])
def test_judgments_of_numbers_are_no_scores(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """CSV judgments whose ids are numbers, beside runs."""
    known = {str(q): {str(d): float(d % 2) for d in range(1, 6)} for q in range(1, 9)}
    runs = [as_run(known, str), {q: {d: float(d) / 2 for d in of} for q, of in known.items()}]
    files = [as_csv(known, "grade", tmp_path)]
    for number, run in enumerate(runs):
        (tmp_path / f"{number}").mkdir()
        files.append(as_csv(run, "score", tmp_path / f"{number}"))
    name, *more = command
    systems = [f"{letter}={file}" for letter, file in zip("ab", files[1:], strict=True)]
    for said in ([], ["--judgments-as", "csv"]):
        code = commands.run([name, files[0], *systems, "-m", "AP", *more, *said])
        assert code == 0, capfd.readouterr().err


def test_exchanged_json_files_are_refused(tmp_path: Path) -> None:
    known = judgments()
    grades = as_json(known, "grade", tmp_path)
    ranked = {q: {d: 0.5 + i + place for i, d in enumerate(of)} for place, (q, of) in enumerate(known.items())}
    scores = as_json(ranked, "score", tmp_path)
    with pytest.raises(CalipersError, match="judgments come first, then runs"):
        cal.evaluate(scores, grades, "AP")
    assert cal.evaluate(grades, scores, "AP", warn=False)["AP"].any()
    (tmp_path / "halves").mkdir()
    halves = as_json(
        {q: {d: g / 2 + 0.5 for d, g in of.items()} for q, of in known.items()}, "grade", tmp_path / "halves"
    )
    kept = cal.evaluate(halves, grades, "AP", warn=False)  # a scale with halves, and whole scores
    assert kept["AP"].any()


def test_incomplete_responses_are_said(tmp_path: Path) -> None:
    def response(query: int, **more: Any) -> dict[str, Any]:
        return {"query_id": str(query), **more, "hits": {"hits": [{"_id": "a", "_score": 1.5}]}}

    path = tmp_path / "responses.jsonl"
    found = [
        response(1, timed_out=False, _shards={"total": 2, "failed": 0}),
        response(2, timed_out=True),
        response(3, _shards={"total": 2, "failed": 1}),
        response(4, responseHeader={"partialResults": True}),
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in found))
    (run,) = cal.read_runs(path)
    said = [note for note in getattr(run, "notes", ()) if "incomplete" in note]
    assert [note.partition(": ")[2] for note in said] == [
        "3 of 4 responses are incomplete: a search timed out, or shards failed (query 2, 3, 4)"
    ]
