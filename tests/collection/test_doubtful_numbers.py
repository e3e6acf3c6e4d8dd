"""Numbers that are not what they look like: ranks and distances as scores, ids as grades, queries among results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.errors import CalipersError
from calipers.evaluation import as_judgments
from run_calipers import calipers

Nested = dict[str, dict[str, float]]
QUERIES = [f"q{number}" for number in range(4)]
QRELS: Nested = {query: {f"d{place}": int(place < 2) for place in range(5)} for query in QUERIES}
RANKS: Nested = {query: {f"d{place}": place + 1 for place in range(5)} for query in QUERIES}
OWN: Nested = {query: {query: 9.5, **{f"d{place}": 5.5 - place for place in range(5)}} for query in QUERIES}
OPPOSITE = "ranks and scores order most lists in opposite ways"
OWN_IDS = "most queries have their own id among their results"


def rows(nested: Nested, number: str, change: Callable[[float], float] = float) -> list[dict[str, Any]]:
    return [
        {"query": query, "doc": document, "rank": rank, number: change(value)}
        for query, inner in nested.items()
        for rank, (document, value) in enumerate(inner.items(), 1)
    ]


def records(nested: Nested, number: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "rank"} for row in rows(nested, number)]


def frame(nested: Nested, number: str) -> Any:
    return pytest.importorskip("pandas").DataFrame(records(nested, number))


def written(path: Path, of: list[dict[str, Any]]) -> str:
    lines = [",".join(of[0]), *(",".join(map(str, row.values())) for row in of)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def csv(path: Path, nested: Nested, number: str) -> str:
    return written(path, records(nested, number))


def run_lines(path: Path, nested: Nested, change: Callable[[float], float] = float) -> str:
    lines = [f"{r['query']} Q0 {r['doc']} {r['rank']} {r['score']} t\n" for r in rows(nested, "score", change)]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def warned(judgments: Any, run: Any, **options: Any) -> str:
    return "\n".join(cal.evaluate(judgments, run, "AP", warn=False, **options).notes)


def score(run: Any, **options: Any) -> float:
    return float(cal.evaluate(QRELS, run, "AP", warn=False, **options)["AP"].mean())


# -- ranks or distances as scores ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "records", "jsonl"])
def test_ranks_as_scores_are_refused(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"a.{kind}"
    source: Any = str(file)
    if kind == "csv":
        csv(file, RANKS, "score")
    elif kind == "parquet":
        frame(RANKS, "score").to_parquet(source)
    elif kind == "jsonl":
        file.write_text("\n".join(map(json.dumps, records(RANKS, "score"))), encoding="utf-8")
    else:
        source = frame(RANKS, "score") if kind == "frame" else records(RANKS, "score")
    with pytest.raises(CalipersError, match=r"1, 2, ..., n down every list.*rank=score.*score=score"):
        cal.evaluate(QRELS, source, "AP")
    best_first = score({query: [*ranked] for query, ranked in RANKS.items()})
    assert score(cal.read_runs(source, columns={"rank": "score"})) == best_first
    assert score(cal.read_runs(source, columns={"score": "score"})) == score(RANKS) != best_first


def trec(path: Path, nested: Nested, rank: Callable[[int, int], object]) -> str:
    lists = [(query, [*inner.items()]) for query, inner in nested.items()]
    lines = [f"{q} Q0 {d} {rank(i, len(of))} {score} t" for q, of in lists for i, (d, score) in enumerate(of, 1)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


RANKS_OF_TREC: list[Callable[[int, int], object]] = [lambda place, n: place, lambda place, n: 0, lambda place, n: "-"]


@pytest.mark.parametrize("rank", RANKS_OF_TREC)
def test_ranks_as_scores_of_a_trec_run_are_refused(rank: Callable[[int, int], object], tmp_path: Path) -> None:
    file = trec(tmp_path / "a.run", RANKS, rank)
    with pytest.raises(CalipersError, match=r"1, 2, ..., n down the lists.*name the format 'run'"):
        cal.evaluate(QRELS, file, "AP")
    assert score(cal.read_runs(file, format="run")) == score(RANKS)
    words = ["evaluate", str(tmp_path / "qrels"), file, "-m", "AP"]
    (tmp_path / "qrels").write_text(
        "".join(f"{q} 0 {d} {grade}\n" for q, of in QRELS.items() for d, grade in of.items())
    )
    refused, insisted = calipers(*words), calipers(*words, "--systems-as", "run")
    assert (refused.returncode, "(option --systems-as)" in refused.stderr, insisted.returncode) == (2, True, 0)
    assert calipers("trec_eval", tmp_path / "qrels", file).returncode == 0


def test_other_scores_of_a_trec_run_are_accepted(tmp_path: Path) -> None:
    rising = trec(tmp_path / "rising", RANKS, lambda place, n: n + 1 - place)  # the last line is the best document
    assert score(rising) == score(RANKS)
    others = [
        {query: RANKS[query] for query in QUERIES[:2]},
        {**RANKS, "q2": {"d0": 2, "d1": 1, "d2": 3}},
        {query: dict([*ranked.items()][:2]) for query, ranked in RANKS.items()},
    ]
    for number, other in enumerate(others):
        assert score(trec(tmp_path / str(number), other, lambda place, n: 0)) == score(other)


@pytest.mark.parametrize(
    "accepted",
    [
        {query: RANKS[query] for query in QUERIES[:2]},  # two lists only
        {query: {document: 6 - rank for document, rank in ranked.items()} for query, ranked in RANKS.items()},
        {**RANKS, "q3": {"d0": 2, "d1": 1, "d2": 3}},
        {query: dict([*ranked.items()][:2]) for query, ranked in RANKS.items()},
    ],
)
def test_other_scores_are_accepted(accepted: Nested) -> None:
    assert score(records(accepted, "score")) == score(accepted)


def test_ranks_in_dicts_and_arrays_are_scores() -> None:
    assert score(RANKS) == score({query: [*reversed(ranked)] for query, ranked in RANKS.items()})
    documents = np.arange(5)[None].repeat(4, axis=0)
    cal.evaluate({str(q): {"1": 1} for q in range(4)}, (documents, documents + 1.0), "AP", warn=False)


def test_an_unknown_heading_may_be_of_ranks(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("query,doc,place\nq0,d0,1\n")
    with pytest.raises(CalipersError, match=r"score=NAME, or rank=NAME if its numbers are ranks or distances"):
        cal.read_runs(str(file))


def responses(path: Path, change: Callable[[float], float]) -> str:
    lines = [
        {"query_id": query, "hits": {"hits": [{"_id": d, "_score": change(value)} for d, value in ranked.items()]}}
        for query, ranked in RANKS.items()
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(path)


def table(path: Path, change: Callable[[float], float]) -> str:
    return written(path, rows(RANKS, "score", change))


WRITERS = [lambda path, change: run_lines(path, RANKS, change), table, responses]


@pytest.mark.parametrize("write", WRITERS, ids=["TREC", "CSV", "responses"])
def test_ranks_and_scores_in_opposite_orders(write: Any, tmp_path: Path) -> None:
    distances = write(tmp_path / "distances", lambda rank: 0.25 * rank)
    scores = write(tmp_path / "scores", lambda rank: 9.5 - rank)
    assert OPPOSITE in warned(QRELS, distances)
    assert OPPOSITE not in warned(QRELS, scores)
    first = cal.Experiment(QRELS, distances, "AP", warn=False).inspect().findings[0]
    assert first.level == "warning"
    assert first.text.startswith(OPPOSITE)


def test_ranks_that_are_no_numbers_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.run"
    file.write_text("".join(f"q0 Q0 d{place} - {place} t\n" for place in range(5)))
    assert OPPOSITE not in warned(QRELS, str(file))


# -- ids as grades -------------------------------------------------------------------------------------


def test_ids_as_grades_are_refused(tmp_path: Path) -> None:
    ids = {query: {f"d{p}": 184_900.0 + 10 * q + p for p in range(5)} for q, query in enumerate(QUERIES)}
    file = csv(tmp_path / "ids.csv", ids, "grade")
    qrels = tmp_path / "ids.txt"
    qrels.write_text("".join(f"{q} 0 {d} {grade:.0f}\n" for q, of in ids.items() for d, grade in of.items()))
    for source in (file, str(qrels), records(ids, "grade")):
        with pytest.raises(CalipersError, match="grades look like ids: 20 different whole numbers above 1,000"):
            cal.read_judgments(source)
    assert cal.read_judgments(file, columns={"grade": "grade"}).to_dict() == ids
    assert cal.read_judgments(qrels, format="qrels").to_dict() == ids
    assert as_judgments(ids).to_dict() == ids
    done = calipers("evaluate", file, run_lines(tmp_path / "a.run", OWN), "-m", "AP")
    assert (done.returncode, "look like ids" in done.stderr, "--columns" in done.stderr) == (2, True, True)


@pytest.mark.parametrize("clicks", [lambda q, p: p * 1500, lambda q, p: 2000 + p % 2, lambda q, p: 1500.5 + 5 * q + p])
def test_large_counts_are_noted(clicks: Callable[[int, int], float], tmp_path: Path) -> None:
    counts = {query: {f"d{p}": float(clicks(q, p)) for p in range(5)} for q, query in enumerate(QUERIES)}
    judgments = cal.read_judgments(csv(tmp_path / "clicks.csv", counts, "grade"))
    assert judgments.to_dict() == counts
    assert len(judgments.notes) == 1
    assert "grades go up to" in judgments.notes[0]


def test_points_that_may_separate_thousands(tmp_path: Path) -> None:
    said = "'1.065' next to '922': the point is read as a decimal point"
    file = tmp_path / "a.csv"
    file.write_text("query;doc;grade\nq0;d0;1.065\nq0;d1;922\n")
    assert said in cal.read_judgments(file).notes[0]
    file.write_text("query;doc;score\nq0;d0;1.065\nq0;d1;922\n")
    assert said in warned(QRELS, str(file))
    for cells in ("1.065;0.922", "1.065;9.22", "1.065;1065", "1,065;922"):
        file.write_text("query;doc;score\nq0;d0;{}\nq0;d1;{}\n".format(*cells.split(";")))
        assert "next to" not in warned(QRELS, str(file))


# -- queries among their own results -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dict", "TREC", "CSV", "frame"])
def test_own_ids_among_results(kind: str, tmp_path: Path) -> None:
    def made(nested: Nested) -> Any:
        if kind == "TREC":
            return run_lines(tmp_path / "a.run", nested)
        if kind == "CSV":
            return csv(tmp_path / "a.csv", nested, "score")
        return frame(nested, "score") if kind == "frame" else nested

    assert OWN_IDS in warned(QRELS, made(OWN))
    findings = cal.Experiment(QRELS, made(OWN), "AP", warn=False).inspect().findings
    assert OWN_IDS in findings[0].text
    judged = {query: {**of, query: 1} for query, of in QRELS.items()}
    assert OWN_IDS not in warned(judged, made(OWN))
    assert OWN_IDS not in warned(QRELS, made(dict.fromkeys(QUERIES, OWN["q0"])))
    assert OWN_IDS not in warned(QRELS, made(OWN), like="beir")


def test_own_ids_are_dropped(tmp_path: Path) -> None:
    file = run_lines(tmp_path / "a.run", OWN)
    dropped = cal.read_run(file, drop_own_ids=True)
    assert dropped.to_dict() == {q: {d: s for d, s in of.items() if d != q} for q, of in OWN.items()}
    assert OWN_IDS not in warned(QRELS, dropped)
    assert score(dropped) == score(file, like="beir") != score(file)
    assert score(dropped, depth=2) == score(dropped.to_dict(), depth=2)
    for command in (["evaluate"], ["inspect"], ["compare", "--baseline", "a"]):
        words = [command[0], str(tmp_path / "qrels.txt"), f"a={file}", f"b={run_lines(tmp_path / 'b.run', OWN)}"]
        qrels = [f"{q} 0 {d} {grade}\n" for q, of in QRELS.items() for d, grade in of.items()]
        (tmp_path / "qrels.txt").write_text("".join(qrels))
        one, other = (calipers(*words, *command[1:], *option) for option in ([], ["--drop-own-ids"]))
        assert (one.returncode, other.returncode) == (0, 0)
        assert "drop-own-ids" in " ".join((one.stdout + one.stderr).split())
        assert "own id" not in " ".join((other.stdout + other.stderr).split())
