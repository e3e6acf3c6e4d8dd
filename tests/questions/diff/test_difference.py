"""What changed between two systems: against a plain reading of both rankings, and as the command shows it."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.cli import commands
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError, CalipersWarning
from calipers.statistics.differences import Differences

SIMULATED = simulate(topics=12, systems={"old": 0.3, "new": 0.5}, retrieved=30, ties=0.2, unjudged=0.3, seed=3)
QRELS, OLD, NEW = SIMULATED.qrels, SIMULATED.runs["old"], SIMULATED.runs["new"]


def diff(qrels: Any, old: Any, new: Any, measures: str, **options: Any) -> cal.questions.diff.Difference:
    return cal.Experiment(qrels, {"old": old, "new": new}, measures, **options).diff("old", "new")


def found(depth: int | None = None, **more: Any) -> cal.questions.diff.Difference:
    return cal.Experiment(QRELS, {"old": OLD, "new": NEW}, "nDCG@5 RR AP", depth=depth).diff("old", "new", **more)


def first(ranked: dict[str, float], top: int) -> list[str]:
    return sorted(ranked, key=lambda document: (ranked[document], document), reverse=True)[:top]


def test_documents_are_those_of_a_plain_reading() -> None:
    for depth, top in ((None, 5), (3, 3)):
        seen = found(depth=depth)
        assert seen.top == top
        for each in seen.queries:
            old, new = first(OLD[each.query], top), first(NEW[each.query], top)
            expected = {
                (
                    document,
                    QRELS[each.query].get(document),
                    *(o.index(document) + 1 if document in o else None for o in (old, new)),
                )
                for document in {*old, *new}
                if document not in old or document not in new or old.index(document) != new.index(document)
            }
            assert {(d.document, d.grade, d.old_rank, d.new_rank) for d in each.documents} == expected
            assert len(each.documents) == len(expected)
            assert [d.document for d in each.changed("entered")] == [d for d in new if d not in old]
            assert [d.document for d in each.changed("left")] == [d for d in old if d not in new]


def test_means_and_order_are_those_of_the_scores() -> None:
    from scipy.stats import ttest_rel

    seen = found()
    scores = cal.evaluate(QRELS, {"old": OLD, "new": NEW}, "nDCG@5 RR AP")
    for mean, values in zip(seen.means, scores.values, strict=True):
        test = ttest_rel(values[1], values[0])
        interval = test.confidence_interval(0.95)
        assert (mean.old, mean.new) == pytest.approx(values.mean(axis=1).tolist())
        assert (mean.low, mean.high, mean.p) == pytest.approx((interval.low, interval.high, test.pvalue))
        gained = np.round(values[1] - values[0], 12)
        assert (mean.wins, mean.losses, mean.ties) == tuple(
            int(n) for n in ((gained > 0).sum(), (gained < 0).sum(), (gained == 0).sum())
        )
    differences = [each.difference[0] for each in seen.queries]
    assert differences == sorted(differences)
    assert [each.query for each in seen.losses + seen.gains[::-1]] == [
        each.query for each in seen.queries if each.difference[0]
    ]
    by_query = dict(zip(scores.queries, scores["nDCG@5"].T.tolist(), strict=True))
    assert all([each.old[0], each.new[0]] == by_query[each.query] for each in seen.queries)


def test_differences_of_rounding_are_none() -> None:
    scores = np.array([[0.1 + 0.2, 0.5], [0.3, 0.25]])
    assert Differences.of(scores, np.array([0]), np.array([1])).value.tolist() == [[0.0, 0.25]]


def test_undefined_queries_are_last() -> None:
    qrels = {"a": {"x": 1}, "b": {"x": 0}, "c": {"x": 1, "y": 1}}
    run = {"a": {"x": 1.0}, "b": {"x": 1.0}, "c": {"x": 1.0}}
    seen = diff(qrels, run, {**run, "c": {"y": 1.0}}, "AP", empty="skip")
    assert (seen.means[0].ties, seen.means[0].queries) == (2, 2)
    assert seen.queries[-1].query == "b"
    assert math.isnan(seen.queries[-1].difference[0])
    assert not seen.gains
    assert not seen.losses
    assert [str(d) for d in seen.queries[1].documents] == ["y (1) at 1", "x (1) from 1"]


def test_labels_and_subtopics_have_documents_too(tmp_path: Path) -> None:
    labels, scores = simulate(topics=4, systems=2, retrieved=10, unjudged=0.0, seed=3).write_letor(tmp_path)
    seen = diff(labels, scores[0], scores[1], "nDCG@50")
    assert {d.change for each in seen.queries for d in each.documents} == {"entered", "left", "moved"}
    assert all(d.document and d.grade is not None for each in seen.queries for d in each.documents)
    nested = {"q": {"1": {"d1": 1, "d2": 1}, "2": {"d1": 2}}}
    (query,) = diff(nested, {"q": {"d2": 1.0}}, {"q": {"d1": 1.0}}, "StRecall@5").queries
    assert [str(d) for d in query.documents] == ["d1 (2) at 1", "d2 (1) from 1"]


def test_what_is_wrong_is_one_line_and_what_misleads_is_a_warning(tmp_path: Path) -> None:
    for wrong, message in (
        ({"top": -1}, "top -1"),
        ({"level": 1.0}, "confidence level 1 is not"),
        ({"depth": 0}, "depth 0"),
    ):
        with pytest.raises(CalipersError, match=message):
            found(**wrong)
    exp = cal.Experiment(QRELS, {"old": OLD, "new": NEW}, "AP")
    with pytest.raises(CalipersError, match="unknown system 'odl'; did you mean old"):
        exp.diff("odl", "new")
    with pytest.raises(CalipersError, match="the old and the new system are the same, old"):
        exp.diff("old", "old")
    part = dict(list(NEW.items())[1:])
    with pytest.warns(CalipersWarning, match="1 of 2 runs lacks judged queries"):
        seen = diff(QRELS, OLD, part, "AP")
    assert any("lacks judged queries" in note for note in seen.notes)


def test_the_chart_has_a_bar_for_each_query() -> None:
    from calipers import plot

    rows = plot.gains_and_losses(found(), "RR").to_dict()["data"]["values"]
    assert [row["difference"] for row in rows] == sorted((q.difference[1] for q in found().queries), reverse=True)
    assert {row["side"] for row in rows} <= {"better", "the same", "worse"}


# -- the command -------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    SIMULATED.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert commands.run(["diff", "qrels.txt", "old.run", "new.run", "-m", "nDCG@5 RR AP", *arguments]) == code
    out, err = capfd.readouterr()
    return out, err


def test_the_command_shows_means_gains_and_losses(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen = found()
    out, err = run(capfd, "--limit", "2")
    assert out.startswith("means\nmeasure ")
    assert f"the 2 largest gains of {len(seen.gains)}, nDCG@5; documents of the top 5" in out
    assert str(seen.gains[0].documents[0]) in out
    assert out.index("largest loss") < out.index("largest gains")
    assert f"calipers: new against old: {seen.means[0]} (Student's 0.95 interval)." in err


def test_csv_json_and_markdown(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen = found()
    rows = [*csv.DictReader(io.StringIO(run(capfd, "--format", "csv")[0]))]
    assert [row["query"] for row in rows] == [each.query for each in seen.queries]
    assert [*rows[0]] == [
        "query",
        *(f"{m} {what}" for m in seen.measures for what in ("old", "new", "difference")),
        "entered",
        "left",
        "moved",
    ]
    rows = [*csv.DictReader(io.StringIO(run(capfd, "--format", "csv", "--show", "documents")[0]))]
    assert [*rows[0]] == ["query", "document", "grade", "change", "old_rank", "new_rank"]
    assert len(rows) == sum(len(each.documents) for each in seen.queries)
    made = json.loads(run(capfd, "--format", "json")[0])
    assert (made["old"], made["new"], made["top"], made["level"]) == ("old", "new", 5, 0.95)
    made = made["tables"]
    assert made["means"][1]["difference"] == seen.means[1].difference
    assert [each["query"] for each in made["queries"]] == [each.query for each in seen.queries]
    assert made["documents"][0] == {
        "query": seen.queries[0].query,
        "document": seen.queries[0].documents[0].document,
        "grade": seen.queries[0].documents[0].grade,
        "change": seen.queries[0].documents[0].change,
        "old_rank": seen.queries[0].documents[0].old_rank,
        "new_rank": seen.queries[0].documents[0].new_rank,
    }
    text, _ = run(capfd, "--format", "markdown")
    assert text.startswith("**new** against **old**: nDCG@5 ")
    assert text.count("<details>") == text.count("</details>") == 2
    run(capfd, "--format", "csv", "-o", "tables/")
    assert sorted(file.name for file in (files / "tables").iterdir()) == ["documents.csv", "means.csv", "queries.csv"]


def test_one_run_each(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert commands.run(["diff", "qrels.txt", "old.run", "*.run"]) == 2
    assert "the new system is 2 runs (new, old): expected one" in capfd.readouterr().err


def test_one_query_side_by_side(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen = found()
    for query in QRELS:
        table = seen.side_by_side(query)
        assert [each for each in table["old"] if each] == first(OLD[query], 5)
        assert [each for each in table["new"] if each] == first(NEW[query], 5)
        for row in table:
            old, new = first(OLD[query], 5), first(NEW[query], 5)
            assert row["now"] == (new.index(row["old"]) + 1 if row["old"] in new else None)
            assert row["was"] == (old.index(row["new"]) + 1 if row["new"] in old else None)
            assert row["old_grade"] == QRELS[query].get(row["old"])
    worst = seen.queries[0]
    out, err = run(capfd, "--query", worst.query, "--format", "csv")
    assert out == seen.side_by_side(worst.query).to_csv()
    assert f"query {worst.query}: nDCG@5 {worst.old[0]:.4f} (old), {worst.new[0]:.4f} (new)" in err
    assert "unknown query 'nothing'" in run(capfd, "--query", "nothing", code=2)[1]


def test_a_query_is_found_by_a_part_of_its_text() -> None:
    qrels = {"red shoes": {"a": 1}, "blue shoes": {"a": 1}, "hat": {"a": 1}}
    seen = diff(qrels, {q: ["a"] for q in qrels}, {q: ["b", "a"] for q in qrels}, "RR")
    assert seen.query("RED").query == "red shoes"
    assert seen.query("hat").query == "hat"
    with pytest.raises(CalipersError, match="'shoes' is part of 2 queries: red shoes, blue shoes"):
        seen.query("shoes")


def test_groups_have_means_and_corrected_p_values(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from scipy.stats import ttest_rel

    groups = {query: "odd" if int(query) % 2 else "even" for query in QRELS}
    seen = found(query_groups=groups)
    scores = cal.evaluate(QRELS, {"old": OLD, "new": NEW}, "nDCG@5 RR AP").by(groups)
    for group, part in scores.items():
        for mean, values in zip(seen.groups[group], part.values, strict=True):
            assert mean.p == pytest.approx(ttest_rel(values[1], values[0]).pvalue)
    for m in range(3):
        small, large = sorted(seen.groups, key=lambda group: seen.groups[group][m].p)
        assert seen.p_adjusted[small][m] == pytest.approx(min(1, 2 * seen.groups[small][m].p))
        assert seen.p_adjusted[large][m] == pytest.approx(max(seen.p_adjusted[small][m], seen.groups[large][m].p))
    assert seen.table("groups")["group"] == [group for group in seen.groups for _ in range(3)]
    (files / "groups.csv").write_text("query,group\n" + "".join(f"{q},{g}\n" for q, g in groups.items()))
    assert "\ngroups\ngroup " in run(capfd, "--query-groups", "groups.csv")[0]


@pytest.mark.parametrize("width", [72, 80, 100])
def test_tables_fit_the_terminal(
    width: int, files: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert commands.run(["diff", "qrels.txt", "old.run", "new.run", "-m", "nDCG@5"]) == 0
    out = capfd.readouterr().out
    lines = [line for line in out.splitlines() if "top 5" not in line]
    assert max(map(len, lines)) <= width
    assert "…" in out
    monkeypatch.delenv("COLUMNS")
    assert "…" not in run(capfd)[0]  # not a terminal: nothing is cut
