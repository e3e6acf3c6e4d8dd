"""What to judge: pools, next-best judging, and leave-out-uniques."""

from __future__ import annotations

import csv
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli import commands
from calipers.cli.commands import root
from calipers.collection.simulate import Simulation, simulate
from calipers.questions.pool import leave_out_uniques

QRELS = {"q": {"a": 2, "b": 0}, "p": {"c": 1}}
RUNS = {
    "x": {"q": {"a": 4, "u": 3, "b": 2, "v": 1}, "p": {"c": 3, "w": 2}},
    "y": {"q": {"v": 4, "b": 3, "a": 2, "t": 1}, "p": {"w": 3, "s": 2}},
    "z": {"q": {"u": 4, "a": 3}, "other": {"o": 1}},
}


@pytest.fixture(scope="module")
def made() -> Simulation:
    return simulate(topics=12, systems=8, pool=30, retrieved=25, ties=0.0, unjudged=0.0, seed=11)


def found(pool: cal.questions.pool.JudgingPool) -> list[tuple[str, str]]:
    return list(zip(pool.query, pool.document, strict=True))


def test_a_depth_pool_is_the_first_documents_of_all_systems() -> None:
    pool = cal.pool(RUNS, depth=2)
    assert pool.table().columns == ("query", "document", "value", "systems")
    assert set(found(pool)) == {("q", d) for d in "auvb"} | {("p", d) for d in "cws"} | {("other", "o")}
    first = {("q", "a"), ("q", "v"), ("q", "u"), ("p", "c"), ("p", "w"), ("other", "o")}
    assert set(found(pool)[:6]) == first  # rank 1 before rank 2
    systems = dict(zip(found(pool), pool.systems.tolist(), strict=True))
    assert (systems["q", "a"], systems["p", "s"]) == (3, 1)
    value = dict(zip(found(pool), pool.value.tolist(), strict=True))
    assert value["q", "a"] == pytest.approx(0.2 * (1 + 0.8**2 + 0.8) / 3)


def test_pools_by_weight_in_turn_within_a_budget_and_without_what_is_judged() -> None:
    weighted = cal.pool(RUNS, budget=5, method="rbp")
    assert len(weighted) == 5
    assert (np.diff(weighted.value) <= 0).all()
    turns = found(cal.pool(RUNS, depth=4, method="interleaved"))
    of_q = [d for q, d in turns if q == "q"]
    assert of_q == ["a", "v", "u", "b", "t"]  # rank 1 of x, y, z; rank 2 of y; rank 4 of y
    left = found(cal.Experiment(QRELS, RUNS).pool(depth=2))
    assert set(left) == {("q", "u"), ("q", "v"), ("p", "w"), ("p", "s")}


def test_the_covered_shares_add_up() -> None:
    whole = cal.pool(RUNS, depth=10)
    assert [row[2] for row in whole.shares.rows] == [1.0, 1.0, 1.0]
    first = cal.pool(RUNS, depth=1, measures="P@1")
    assert [row[2] for row in first.shares.rows] == [1.0, 1.0, 1.0]
    half = cal.pool({"x": {"q": {"a": 2, "b": 1}}}, depth=1, measures="P@2")
    assert half.shares.rows == (("x", "P@2", 0.5),)


@pytest.mark.parametrize("name", ["nDCG@3", "P@2"])
def test_next_best_is_what_open_pairs_gain(name: str) -> None:
    pool = cal.Experiment(QRELS, RUNS, name).pool(budget=10)
    ranges = cal.Experiment(QRELS, RUNS, name).ranges()
    table = ranges.pairs(name)
    is_open = {(a, b): verdict == "open" for a, b, *_, verdict, _ in table.rows}
    assert pool.open_pairs == sum(is_open.values())
    weight = (lambda r: 0.5 * (r <= 2)) if name == "P@2" else (lambda r: (r <= 3) / np.log2(r + 1))
    ideal = {"q": 2.0, "p": 1.0} if name.startswith("nDCG") else {"q": 0.5, "p": 0.5}  # over the gain of grade 2, or 1
    for query, document, value, systems in pool.table().rows:
        ranks = {
            s: list(run.get(query, ())).index(document) + 1 for s, run in RUNS.items() if document in run.get(query, ())
        }
        assert systems == len(ranks)
        w = {s: weight(ranks[s]) if s in ranks else 0.0 for s in RUNS}
        total = sum(abs(w[a] - w[b]) for a, b in combinations(RUNS, 2) if is_open[a, b])
        scale = 2 / max(ideal[query], 2.0) if name.startswith("nDCG") else 1.0
        assert value == pytest.approx(total * scale / 2), (query, document)
    assert (np.diff(pool.value) <= 0).all()


def test_where_nothing_is_open_nothing_is_to_be_judged() -> None:
    runs = {"x": {"q": {"a": 2, "b": 1}}, "y": {"q": {"b": 2, "a": 1}}}
    pool = cal.Experiment({"q": {"a": 1, "b": 0}}, runs, "nDCG@10").pool(budget=5)
    assert (len(pool), pool.open_pairs) == (0, 0)


def test_what_is_written_can_be_filled_in() -> None:
    pool = cal.pool(RUNS, depth=1)
    query, document = found(pool)[0]
    assert pool.to_qrels().splitlines()[0].split(" ") == [query, "0", document, ""]
    assert pool.to_jsonl().splitlines()[0].startswith(f'{{"query": "{query}", "document": "{document}", "grade": null')


@pytest.mark.parametrize("runs", [{"x": {"q": {"bosch rasierer": 1}}}, {"x": {"a query": {"d": 1}}}])
def test_ids_with_spaces_are_not_written_as_qrels(runs: dict[str, dict[str, dict[str, int]]]) -> None:
    pool = cal.pool(runs, depth=1)
    with pytest.raises(cal.CalipersError, match=r"ids must not contain spaces\. Write JSON lines instead\."):
        pool.to_qrels()
    assert [json.loads(line)["query"] for line in pool.to_jsonl().splitlines()] == [*runs["x"]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "give a depth or a budget"),
        ({"depth": 0}, "depth 0 is not"),
        ({"budget": 5, "method": "best"}, "unknown method 'best'"),
        ({"budget": 5, "method": "next"}, "needs judgments"),
        ({"depth": 5, "p": 1.0}, "p=1.0 is not between 0 and 1"),
        ({"depth": 5, "measures": "AP"}, "AP has no weight for each rank"),
    ],
)
def test_what_cannot_be_pooled_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(cal.CalipersError, match=said):
        cal.pool(RUNS, **options)


def test_measures_without_a_weight_per_rank_are_left_out_of_what_to_judge_next() -> None:
    found = cal.Experiment(QRELS, RUNS, "AP nDCG@3 RR", warn=False).pool()
    assert found.notes == ("AP, RR have no weight for each rank: left out",)
    assert found.document == cal.Experiment(QRELS, RUNS, "nDCG@3", warn=False).pool().document
    with pytest.raises(cal.CalipersError, match="known for nDCG and linear measures"):
        cal.Experiment(QRELS, RUNS, "AP").pool()


# -- leave-out-uniques ----------------------------------------------------------------------------------------


def test_leaving_out_uniques_is_judging_without_them() -> None:
    groups = {"x": "one", "z": "one"}
    table = leave_out_uniques(cal.Experiment(QRELS, RUNS, ["nDCG@3", "AP"]), groups=groups)
    names = {"x": ("x", "z"), "y": ("y",), "z": ("x", "z")}
    for system in RUNS:
        for column, members in ((table.without_run, (system,)), (table.without_group, names[system])):
            others = {
                (q, d) for s, run in RUNS.items() if s not in members for q, ranked in run.items() for d in ranked
            }
            mine = {(q, d) for s in members for q, ranked in RUNS[s].items() for d in ranked}
            left = {
                q: {d: g for d, g in graded.items() if (q, d) not in mine - others} | {"filler": 0}
                for q, graded in QRELS.items()
            }
            again = cal.evaluate(left, {system: RUNS[system]}, ["nDCG@3", "AP"], warn=False).mean()
            for m, measure in enumerate(("nDCG@3", "AP")):
                assert column[m, table.systems.index(system)] == pytest.approx(again[system, measure])
    assert table.groups == ("one", "y", "one")
    with pytest.raises(cal.CalipersError, match="name none of the systems"):
        leave_out_uniques(cal.Experiment(QRELS, RUNS), groups={"bm25": "us"})


# -- the command --------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path) -> None:
    cal.write_qrels(QRELS, tmp_path / "qrels.txt")
    paths = [str(tmp_path / f"{name}.run") for name in RUNS]
    for path, (name, run) in zip(paths, RUNS.items(), strict=True):
        cal.write_run(run, path, name)
    (tmp_path / "groups.csv").write_text("run,group\nx,one\ny,two\nz,one\n")
    qrels, groups = str(tmp_path / "qrels.txt"), str(tmp_path / "groups.csv")

    def lines(*options: str) -> list[str]:
        done = CliRunner().invoke(root, ["pool", *paths, *options])
        assert done.exit_code == 0, done.output
        return done.stdout.splitlines()

    assert lines("--depth", "20", "--format", "csv")[0] == "query,document,value,systems"
    assert (
        lines("--judged", qrels, "--budget", "200", "-m", "nDCG@10", "--format", "csv")[0]
        == "query,document,value,systems"
    )
    assert lines("--depth", "1", "--format", "qrels")[0].split(" ")[1::2] == ["0", ""]
    assert len(lines("--leave-out", groups, "--judged", qrels, "-m", "AP", "--format", "csv")) == 4


def test_ratings_are_filled_in_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The round trip of a rater: pool, fill in, evaluate; with the ratings that there were before."""
    monkeypatch.chdir(tmp_path)
    Path("new.run").write_text("q1 Q0 d1 1 2 new\nq1 Q0 d2 2 1 new\nq2 Q0 d3 1 2 new\n", encoding="utf-8")
    Path("ratings.csv").write_text("query,document,rating\nq1,d1,2\nq2,d9,0\n", encoding="utf-8")
    Path("queries.tsv").write_text("q1\tred shoes, cheap\nq2\that\n", encoding="utf-8")
    titles = '{"_id": "d2", "title": "A \\"good\\"\\nshoe"}\n{"_id": "d3", "title": "=Hat"}\n'
    Path("titles.jsonl").write_text(titles, encoding="utf-8")
    texts = ["--query-texts", "queries.tsv", "--document-texts", "titles.jsonl"]
    assert commands.run(["pool", "new.run", "--judged", "ratings.csv", "--depth", "5", *texts, "-o", "rate.csv"]) == 0
    rows = [*csv.reader(Path("rate.csv").read_text(encoding="utf-8").splitlines())]
    assert rows == [
        ["query_id", "query", "document_id", "title", "rating"],
        ["q2", "hat", "d3", "=Hat", ""],
        ["q1", "red shoes, cheap", "d2", 'A "good" shoe', ""],
        ["q1", "red shoes, cheap", "d1", "", "2.0"],
        ["q2", "hat", "d9", "", "0.0"],
    ]
    with Path("rate.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([rows[0], [*rows[1][:4], "1"], [*rows[2][:4], "0"], *rows[3:]])
    assert cal.read_judgments("rate.csv").to_dict() == {"q2": {"d3": 1.0, "d9": 0.0}, "q1": {"d2": 0.0, "d1": 2.0}}
    for command in ("evaluate", "bounds", "queries", "ranges"):
        assert commands.run([command, "rate.csv", "new.run", "-m", "nDCG@10"]) == 0, capfd.readouterr().err
    assert commands.run(["pool", "new.run", "--depth", "5", "-o", "table.csv", "--format", "csv"]) == 0
    assert Path("table.csv").read_text(encoding="utf-8").startswith("query,document,value,systems\n")
