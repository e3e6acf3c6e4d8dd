"""The fast path of `calipers evaluate` leaves to the full path what it must; that both agree, tests/laws shows."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.cli import commands
from calipers.cli.fast_evaluate import Answer, fast_answer
from calipers.cli.fast_path import answered
from calipers.native.scanner import COMPILED
from calipers.results.notes import seen_in
from calipers.tools.trec_eval.fast_reports import fast_reports
from calipers.tools.trec_eval.request import read_request

pytestmark = pytest.mark.skipif(not COMPILED, reason="the plain scanner does not score")


def write_collection(folder: Path, pick: random.Random, systems: int = 3) -> tuple[str, list[str]]:
    """Small pools, few different scores, unjudged documents, queries that are missing or that nobody judged."""
    queries = [f"q{i}" for i in range(pick.randint(1, 6))]
    documents = [f"d{i}" for i in range(pick.randint(3, 30))]
    qrels = folder / "qrels.txt"
    lines = []
    for query in queries:
        pool = pick.sample(documents, pick.randint(2, len(documents)))
        grades = [2, *(pick.choice([-1, 0, 0, 1, 2, 3]) for _ in pool[1:])]
        lines += [f"{query} 0 {document} {grade}\n" for document, grade in zip(pool, grades, strict=True)]
    qrels.write_text("".join(lines))
    runs = []
    for system in range(systems):
        lines = []
        scores = pick.choice([lambda i: pick.randint(0, 3), lambda i: pick.random(), lambda i: 100 - i])
        for query in [queries[0], *(q for q in queries[1:] if pick.random() < 0.8), "nobody"]:
            retrieved = pick.sample(documents, pick.randint(1, len(documents)))
            lines += [f"{query} Q0 {d} {i} {scores(i)} s{system}\n" for i, d in enumerate(retrieved)]
        runs.append(folder / f"{system}.run")
        runs[-1].write_text("".join(lines))
    return str(qrels), [str(run) for run in runs]


def assert_agree(short: Answer | None, qrels: str, runs: list[str], **options: Any) -> None:
    assert short is not None
    systems = cal.read_runs(runs)
    scores = cal.evaluate(qrels, systems, short.measures, warn=False, **options)
    assert tuple(short.queries) == scores.queries
    for s, run in enumerate(short.runs):
        for m, measure in enumerate(short.measures):
            assert run.scores[m] == pytest.approx(scores[measure][s].tolist(), rel=1e-12, abs=1e-15), measure
    mean = scores.mean()
    for row, expected in zip(short.mean().rows, mean.rows, strict=True):
        assert row[0] == expected[0]
        assert row[1:] == pytest.approx(expected[1:], rel=1e-12)
    assert short.per_query().columns == scores.per_query().columns
    for one, other in zip(short.seen(), seen_in(scores.coverage, systems), strict=True):
        assert one[:5] == other[:5]
        assert one.unjudged_share == pytest.approx(other.unjudged_share, abs=1e-12)


@pytest.mark.acceptance
def test_agrees_on_real_runs(data: Any) -> None:
    runs = [str(run) for run in sorted((data / "trec/dl19-passage/runs").iterdir())][:8]
    qrels = str(data / "trec/qrels/qrels.dl19-passage.txt.xz")
    measures = ["nDCG@10", "AP(rel=2)", "RR(rel=2)", "P@10", "Recall@1000", "RBP"]
    for ties in ("average", "docid"):
        assert_agree(fast_answer(qrels, runs, measures, ties=ties), qrels, runs, ties=ties)


@pytest.mark.parametrize(
    "options", [["-m", "all_trec"], ["--v9"], ["-J"], ["-m", "ndcg.1=3"], ["-m", "unj"], ["-l", "0"]]
)
def test_the_rest_of_trec_eval_takes_the_full_path(options: list[str], tmp_path: Path) -> None:
    qrels, runs = write_collection(tmp_path, random.Random(2))
    assert fast_reports(read_request(["-c", qrels, *runs])) is not None
    assert fast_reports(read_request(["-c", *options, qrels, *runs])) is None


def test_trec_eval_refuses_missing_queries_on_the_full_path(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a 1\n")
    (tmp_path / "run").write_text("q1 Q0 a 1 1 t\n")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    assert fast_reports(read_request(files)) is None
    assert fast_reports(read_request(["-c", *files])) is not None


UNUSUAL_MEASURES = ["ERR@10", "V2(nDCG@10)", "P", "P@0", "nDCG(discount=jk2)", "RBP(p=1)", "AP(rel=0)"]


@pytest.mark.parametrize("measure", [*UNUSUAL_MEASURES, "nDCG(gain={1:3})", "gm_map", "nosuch", "AP(rel=x)", "P("])
def test_other_measures_take_the_full_path(measure: str, tmp_path: Path) -> None:
    qrels, runs = write_collection(tmp_path, random.Random(0))
    assert fast_answer(qrels, runs, ["AP"]) is not None
    assert fast_answer(qrels, runs, ["AP", measure]) is None


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ("q1 0 a 0\nq1 0 b 0\n", "q1 Q0 a 1 1 t\n"),  # nothing relevant: what that counts is a policy
        ("q1 0 a 1\nq2 0 b 1\nq1 0 c 0\n", "q1 Q0 a 1 1 t\n"),  # judgments out of order
        ("q1 0 a 1\nq1 0 a 1\n", "q1 Q0 a 1 1 t\n"),  # judged twice
        ("q1 0 a 1\nq2 0 a 1\n", "q1 Q0 a 1 1 t\nq2 Q0 a 1 1 t\nq1 Q0 b 1 1 t\n"),  # scattered
        ("q1 0 a 1\n", "q2 Q0 a 1 1 t\n"),  # no query in common
        ("q1 0 a 1\n", "q1 Q0 a 1 1 t\nq1 Q0 a 1 1 t\n"),  # retrieved twice
        ("q1 0 a 1\n", "q1 Q0 a 1 x t\n"),
        ("q1 0 a 1\n", "q1 Q0 a 1 1 t\nq1 Q0 b 1\n"),
        ("q1 0 a one\n", "q1 Q0 a 1 1 t\n"),
        ("q1 0 a 1\n", ""),
        ("query document grade x\nq1 a 1 1\n", "q1 Q0 a 1 1 t\n"),  # a table with a header
        ('{"q1": {"a": 1}}\n', "q1 Q0 a 1 1 t\n"),
        ("2 qid:1 1:0.5 2\n", "q1 Q0 a 1 1 t\n"),
    ],
)
def test_what_is_unusual_takes_the_full_path(qrels: str, run: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(qrels)
    (tmp_path / "run").write_text(run)
    assert fast_answer(str(tmp_path / "qrels"), [str(tmp_path / "run")], ["AP"]) is None


def test_missing_files_take_the_full_path(tmp_path: Path) -> None:
    qrels, runs = write_collection(tmp_path, random.Random(0))
    assert fast_answer(qrels, [str(tmp_path / "none")], ["AP"]) is None
    assert fast_answer(str(tmp_path / "none"), runs, ["AP"]) is None
    assert fast_answer(qrels, runs, ["AP"], ties="best") is None


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate"],
        ["evaluate", "-m", "nDCG@{5,10} AP", "-q"],
        ["evaluate", "--measure", "P@5", "-m", "RR", "--format", "csv"],
        ["evaluate", "--per-query", "--format", "json", "-m", "RBP(p=0.5)"],
        ["evaluate", "--ties", "docid", "-m", "bpref"],
        ["trec_eval"],
        ["trec_eval", "-qc", "-m", "P.5", "-M", "20"],
        ["trec_eval", "-D", "1", "-l", "1e3"],  # with two notes
    ],
)
def test_what_needs_no_click_is_printed_alike(
    arguments: list[str], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    qrels, runs = write_collection(tmp_path, random.Random(7))
    call = [*arguments, qrels, *runs]
    assert answered(call)
    sys.stdout.flush()
    quick = capfdbinary.readouterr()
    assert commands.run(call) == 0
    sys.stdout.flush()
    assert capfdbinary.readouterr() == quick
    assert quick.out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--version"],
        ["demo"],
        ["evaluate"],
        ["evaluate", "--help"],
        ["evaluate", "QRELS"],
        ["evaluate", "QRELS", "RUN", "-m"],
        ["evaluate", "QRELS", "RUN", "-m", "none"],
        ["evaluate", "QRELS", "RUN", "-mAP"],
        ["evaluate", "QRELS", "RUN", "--format=csv"],
        ["evaluate", "QRELS", "RUN", "--format", "latex"],
        ["evaluate", "QRELS", "RUN", "--format", "none"],
        ["evaluate", "QRELS", "RUN", "--ties", "none"],
        ["evaluate", "QRELS", "--", "RUN"],
        ["evaluate", "QRELS", "-"],
        ["evaluate", "QRELS", "none"],
        ["evaluate", "RUN", "QRELS"],
        ["trec_eval"],
        ["trec_eval", "-h"],
        ["trec_eval", "-m", "none", "QRELS", "RUN"],
        ["trec_eval", "QRELS", "none"],
    ],
)
def test_what_needs_click_is_left_to_it(
    arguments: list[str], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Without a word: it will be said there."""
    qrels, runs = write_collection(tmp_path, random.Random(7))
    stand_for = {"QRELS": qrels, "RUN": runs[0]}
    assert not answered([stand_for.get(argument, argument) for argument in arguments])
    sys.stdout.flush()
    assert capfdbinary.readouterr() == (b"", b"")


def test_the_command_says_the_same_either_way(tmp_path: Path) -> None:
    qrels, runs = write_collection(tmp_path, random.Random(4))
    answers = []
    for measures in (["nDCG@10 AP"], ["nDCG@10 AP", "-m", "ERR"]):  # ERR is not among the short ones
        command = [sys.executable, "-m", "calipers", "evaluate", qrels, *runs, "--format", "json", "-m", *measures]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        answers.append((done.stdout, done.stderr))
    (short, short_notes), (long, long_notes) = answers
    assert short_notes == long_notes
    for one, other in zip(json.loads(short), json.loads(long), strict=True):
        assert one.pop("system") == other["system"]
        assert one == pytest.approx({name: other[name] for name in one}, rel=1e-12)
