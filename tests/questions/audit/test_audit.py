"""The audit: figures side by side, parts that add up to the differences, and what they mean for the systems."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from itertools import permutations, product
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings, strategies as st

import calipers as cal
from calipers.cli.commands import COMMANDS, root
from calipers.collection.simulate import simulate
from calipers.conventions import CONVENTIONS, TOOLS, Convention, LabelRange
from calipers.errors import CalipersError
from calipers.evaluation.inputs import as_runs
from calipers.evaluation.options import ScoringOptions
from calipers.evaluation.scoring import score_lists
from calipers.lists import Lists
from calipers.questions.audit.attribution import SWITCHES, shapley, turned
from calipers.questions.audit.explanation import Explanation
from calipers.questions.audit.matching_conventions import MeasureFigures, merged_choices
from calipers.questions.audit.rescoring import Rescorer
from calipers.questions.audit.terms import order_reach
from calipers.questions.audit.tool_audit import Audit
from calipers.support.plurals import counted

D3 = 1 / log2(3)


Qrels = dict[str, dict[str, int]]
Runs = dict[str, dict[str, dict[str, float]]]


def collection(seed: int = 1, most: int = 2) -> tuple[Qrels, Runs]:
    """Judgments and three systems, with everything that tools treat differently."""
    draw = random.Random(seed)
    qrels: Qrels = {}
    runs: Runs = {"one": {}, "two": {}, "three": {}}
    for number in range(24):
        query = f"q{number}"
        names = [f"d{i:02}" for i in range(draw.randint(2, 25))]
        qrels[query] = {name: draw.randint(0, most) if number % 4 else 0 for name in names}
        for system, run in runs.items():
            if draw.random() < 0.9:
                shown = draw.sample(names, draw.randint(1, len(names)))
                skill = {"one": 0.0, "two": 1.0, "three": 2.0}[system]
                run[query] = {d: round(skill * qrels[query][d] + draw.random() * 3) / 2 for d in shown} | {"x": 0.5}
    return qrels, runs


def audit(qrels: Any, runs: Any, measures: Any = "nDCG@10", **options: Any) -> Audit:
    return cal.Experiment(qrels, runs, measures).audit(**options)


def explain(qrels: Any, runs: Any, query: str, measure: str = "nDCG@10", **options: Any) -> Explanation:
    return cal.explain(cal.Experiment(qrels, runs, measure), query, **options)


def figures_of(qrels: Any, runs: Any, measure: str, number: str | float, run: str | None = None) -> MeasureFigures:
    return cal.Experiment(qrels, runs, measure, warn=False).audit(number=number, run=run).by_measure[measure]


# --- Shapley's value --------------------------------------------------------------------------------------


def by_orders(causes: list[str], value: dict[frozenset[str], float]) -> dict[str, float]:
    """The mean of what each cause adds, over all orders of turning the switches."""
    parts = dict.fromkeys(causes, 0.0)
    orders = list(permutations(causes))
    for order in orders:
        for place, cause in enumerate(order):
            before = frozenset(order[:place])
            parts[cause] += (value[before | {cause}] - value[before]) / len(orders)
    return parts


@given(st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=40)
def test_shapley(count: int, seed: int) -> None:
    causes = list("abcd"[:count])
    draw = random.Random(seed)
    sets = [frozenset(c for i, c in enumerate(causes) if mask >> i & 1) for mask in range(2**count)]
    value = {each: draw.uniform(-1, 1) for each in sets}
    parts = shapley(causes, lambda chosen: np.array([value[frozenset(chosen)]]))[:, 0]
    assert parts.sum() == pytest.approx(value[frozenset(causes)] - value[frozenset()])
    wanted = by_orders(causes, value)
    assert parts.tolist() == pytest.approx([wanted[cause] for cause in causes])


def test_turned_switches_lead_from_one_convention_to_the_other() -> None:
    """No choice of a convention is left out of the switches."""
    said = {field for fields in SWITCHES.values() for field in fields}
    about = {"name", "sentence", "edition", "labels", "measures"}
    assert said | about == set(Convention.__dataclass_fields__)
    for tool in CONVENTIONS.values():
        both = turned(CONVENTIONS["definition"], tool, list(SWITCHES))
        assert all(getattr(both, field) == getattr(tool, field) for field in said)


# --- figures and parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["nDCG@10", "nDCG", "P@5", "AP", "AP@10", "ERR@10", "V2(nDCG@10)"])
@pytest.mark.parametrize("seed", [1, 2])
def test_figures_are_those_of_evaluate_and_parts_add_up(measure: str, seed: int) -> None:
    qrels, runs = collection(seed, most=1 if measure in ("AP", "AP@10", "P@5") else 2)
    found = audit(qrels, runs, measure, like=list(CONVENTIONS))
    figures = found.figures()
    assert figures.columns[:2] == ("system", "calipers")
    available = [tool for tool in CONVENTIONS if (measure, tool) not in found.unavailable]
    assert len(available) > 5
    for tool in available:
        wanted = cal.evaluate(qrels, runs, measure, like=tool).mean()
        for system in runs:
            assert figures[system, tool] == pytest.approx(wanted[system, measure], abs=1e-12), tool
        parts = found.attribution(tool)
        assert parts.parts.shape == (len(parts.causes), 3)
        np.testing.assert_allclose(parts.parts.sum(axis=0), parts.difference, atol=1e-12)
        reference = [figures[system, "calipers"] for system in runs]
        np.testing.assert_allclose(parts.difference, np.array(figures[tool]) - reference, atol=1e-12)


def test_one_cause_alone_gets_the_whole_difference() -> None:
    qrels, runs = {"q1": {"a": 1, "b": 0}, "q2": {"c": 0}}, {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}}
    found = audit(qrels, runs, like=["yahoo:stated", "letor4:stated", "letor3:stated"])
    yahoo = found.attribution("yahoo:stated")
    assert (yahoo.causes[0], yahoo.parts[0, 0], yahoo.lists[0]) == ("no relevant document", 0.5, 1)
    assert yahoo.settings[0] == ("0", "1")
    letor = found.attribution("letor4:stated")
    part = dict(zip(letor.causes, letor.parts[:, 0].tolist(), strict=True))
    assert part["lists shorter than k"] == pytest.approx(-D3 / 2)
    assert found.attribution("letor3:stated").difference.tolist() == [0]
    rows = found.causes().rows
    assert ("yahoo:stated", "no relevant document", "0", "1", 1, 0.5, 0.5, 0.5) in rows
    assert [row[1] for row in rows if row[0] == "letor3:stated"] == ["difference"]
    assert found.parts()["cause"].count("difference") == 3


def test_switches_that_a_measure_fixes_are_no_causes() -> None:
    qrels, runs = collection()
    found = audit(qrels, runs, "nDCG(gain=exp,discount=log2,ideal=pool)@10", like=["letor4", "sklearn"])
    assert set(found.attribution("letor4").causes) == {"lists shorter than k", "tied scores", "missing queries"}
    assert np.abs(found.attribution("letor4").parts).max(axis=1).min() > 0
    assert set(found.attribution("sklearn").causes) == {"missing queries"}


def test_tools_that_cannot() -> None:
    qrels = {"q": {"a": 3, "b": 0}, "r": {"a": 1}}
    runs = {"q": {"a": 1.0, "b": 1.0}, "r": {"a": 1.0}}
    found = audit(qrels, runs, "nDCG@10 AP")
    assert found.figures("nDCG@10")["run", "letor4"] == "n/a"
    assert "label 3 of query 'q'" in found.unavailable["nDCG@10", "letor4"]
    assert found.unavailable["AP", "gdeval"] == "gdeval has no AP"
    assert "AP of 'xgboost'" in found.unavailable["AP", "xgboost"]
    assert isinstance(found.figures("nDCG@10")["run", "mslr"], float)
    with pytest.raises(CalipersError, match="letor4 has no figure"):
        found.attribution("letor4", "AP")
    with pytest.raises(CalipersError, match="was not audited"):
        found.attribution("letor9", "AP")
    with pytest.raises(CalipersError, match="which measure"):
        found.figures()
    with pytest.raises(CalipersError, match="letor4 cannot be the reference for nDCG@10: label 3"):
        audit(qrels, runs, reference="letor4")
    judgments = cal.Judgments.from_arrays([1, 0], group=[2])
    tied = audit(judgments, np.zeros(2), like=["trec_eval", "letor4"])
    assert "no ids" in tied.unavailable["nDCG@10", "trec_eval"]
    with pytest.raises(CalipersError, match="named twice"):
        audit(qrels, runs, like=["letor4", "letor4:observed"])
    with pytest.raises(CalipersError, match="no query in common"):
        audit(qrels, {"z": {"a": 1.0}})


def test_orders_and_significance() -> None:
    """Two systems change places where empty or short queries count."""
    pools = {f"long{i}": {f"d{j}": int(j == 0) for j in range(12)} for i in range(12)}
    pools |= {f"short{i}": {"a": 1, "b": 0} for i in range(12)}
    best = {d: -float(i) for i, d in enumerate(pools["long0"])}
    late = {d: float(i) for i, d in enumerate(pools["long0"])}
    runs = {
        "deep": {q: best if q.startswith("long") else {"b": 2.0, "a": 1.0} for q in pools},
        "flat": {q: late if q.startswith("long") else {"a": 2.0, "b": 1.0} for q in pools},
    }
    found = audit(pools, runs, "P@1", like=["letor4", "trec_eval"])
    assert found.groups() == [["calipers", "letor4", "trec_eval"]]
    assert found.summary.startswith("All tools agree on P@1 here")
    found = audit(pools, runs, "nDCG@10", like=["letor4", "trec_eval"])
    assert found.figures()["deep", "calipers"] == pytest.approx((1 + D3) / 2)
    found = audit(
        pools,
        {**runs, "deep": {q: late if q == "long0" else r for q, r in runs["deep"].items()}},
        "nDCG@10",
        like=["letor4"],
    )
    assert found.correlations()["calipers", "letor4"] == 1
    assert found.swaps().rows == ()
    # Short lists decide for "flat" under the definition; LETOR 4.0 does not see them.
    kept = {"long0", "long1", *(q for q in pools if q.startswith("short"))}
    mixed = {"deep": {q: r if q in kept else late for q, r in runs["deep"].items()}, "flat": runs["flat"]}
    found = audit(pools, mixed, "nDCG@10", like=["letor4"])
    assert found.correlations()["calipers", "letor4"] == -1
    assert [row[:4] for row in found.swaps().rows] == [("calipers", "letor4", "flat", "deep")]
    assert found.significance().columns == ("tools", "significant", "appear", "vanish", "turn")
    assert "1 pair of systems changes places between calipers and letor4" in found.summary
    changes = found.changes()
    assert {row[1] for row in changes.rows} <= {"appears", "vanishes", "turns"}
    assert repr(found).startswith("nDCG@10 of 2 systems under 2 tools\n")
    assert "<table>" in found._repr_html_()


def test_significant_differences_that_vanish() -> None:
    qrels, runs = collection(5)
    found = audit(qrels, runs, "nDCG@10")
    table = found.significance()
    assert table.rows[0][0].startswith("calipers")
    assert table.rows[0][2:] == (0, 0, 0)
    counts = {kind: sum(row[1] == kind for row in found.changes().rows) for kind in ("appears", "vanishes", "turns")}
    assert [sum(table[name]) for name in ("appear", "vanish", "turn")] == list(counts.values())


def test_one_query_and_one_system() -> None:
    found = audit({"q": {"a": 1}}, {"q": {"a": 1.0}})
    assert found.changes().rows == ()
    assert found.summary


# --- explanations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "P@5", "ERR@10", "MeanNDCG", "V2(nDCG@10)", "DCG", "RBP"])
def test_terms_add_up(measure: str) -> None:
    qrels, runs = collection(3, most=2)
    ours = CONVENTIONS["mslr"].with_(name="ours", measures=None)
    for query in list(qrels)[:12]:
        if query not in runs["two"]:
            continue
        found = explain(qrels, runs, query, measure, reference="definition", like=[ours], run="two")
        for like, rules in (("definition", "definition"), ("ours", ours)):
            wanted = cal.evaluate(qrels, runs["two"], measure, like=rules)
            score = wanted.values[0, 0, wanted.queries.index(query)]
            assert found.scores[measure, like] == pytest.approx(score, nan_ok=True)
            rows = found.terms[measure, like].rows
            total = next(row[-1] for row in rows if row[0] == "sum of the list")
            terms = [row[-1] for row in rows if row[0].startswith("list") and row[-1] is not None]
            assert sum(terms) == pytest.approx(total)
            assert rows[-1][0] == "score"


def test_explanation_says_why() -> None:
    labels, run = {"q": {"a": 2, "b": 0}, "r": {"c": 0}}, {"q": {"b": 2.0, "a": 1.0}, "r": {"c": 1.0}}
    found = explain(labels, run, "q", reference="definition", like="letor4")
    assert found.terms["nDCG@10", "letor4"].rows[-1][2] == "2 documents, fewer than 10: 0"
    assert found.terms["nDCG@10", "definition"].rows[1] == (
        "list",
        "2",
        "a",
        2.0,
        3.0,
        pytest.approx(D3),
        pytest.approx(3 * D3),
    )
    assert found.summary == "nDCG@10 like definition: 0.6309. nDCG@10 like letor4: 0.0000."
    found = explain(labels, run, "r", like=["yahoo"])
    assert found.terms["nDCG@10", "yahoo"].rows[-1][2] == "no relevant document: counts 1"
    tied = explain(labels, {"q": {"a": 1.0, "b": 1.0}}, "q", "AP", reference="definition")
    assert ("list, whole tie", "1-2") in [row[:2] for row in tied.terms["AP", "definition"].rows]
    with pytest.raises(CalipersError, match="query 'z' is not judged"):
        explain(labels, run, "z")
    with pytest.raises(CalipersError, match="unknown system 'z'; there are run"):
        explain(labels, run, "q", run="z")


# --- the command ------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    qrels, runs = collection()
    Path("qrels.txt").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q in qrels for d, g in qrels[q].items()), encoding="utf-8"
    )
    for name, run in runs.items():
        lines = (f"{q} Q0 {d} 1 {s} {name}\n" for q in run for d, s in run[q].items())
        Path(f"{name}.run").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(root, ["audit", "qrels.txt", "one.run", "two.run", "three.run", *arguments])


def test_the_command(files: Path) -> None:
    assert "audit" in COMMANDS
    done = run()
    assert done.exit_code == 0, done.exception
    lines = done.stdout.splitlines()
    assert lines[0] == "nDCG@10: figures"
    assert lines[1].split() == ["tools", "one", "two", "three"]
    printed = {tool.strip(","): line for line in lines[3:18] for tool in line.split() if tool.strip(",") in TOOLS}
    assert {"letor4", "elasticsearch", "quepid"} <= {*printed}
    assert "no relevant document" in done.stdout
    assert lines[-1].startswith("Report nDCG@10 as calipers evaluate prints it, with the linear gain, and say so: ")
    assert "queries without a relevant document" in done.stderr
    figures = audit("qrels.txt", ["one.run", "two.run", "three.run"]).figures()
    assert f"{figures['two', 'letor4']:.4f}" in printed["letor4"]


def test_the_advice_is_what_evaluate_prints(files: Path) -> None:
    """The reference's figures are those of the command that the advice names."""
    for like in ((), ("--like", "definition")):
        done = run(*(("--reference", *like[1:]) if like else ()), "--show", "figures", "--format", "csv")
        printed = CliRunner().invoke(
            root, ["evaluate", "qrels.txt", "two.run", "-m", "nDCG@10", "--format", "csv", *like]
        )
        assert done.stdout.splitlines()[2].split(",")[:2] == printed.stdout.splitlines()[1].split(",")
    assert "Report nDCG@10 as definition has it (like='definition'), with the exp gain" in done.stderr


def test_formats_and_choices(files: Path) -> None:
    done = run("--tool", "letor4", "--stated", "--show", "figures", "--format", "csv")
    stated = ("letor3:stated", "letor4:stated", "mslr:stated", "yahoo:stated", "ranklib:stated", "trec:stated")
    assert done.stdout.splitlines()[0] == ",".join(("system", "calipers", "letor4", *stated))
    assert "Report nDCG@10" in done.stderr
    tools = ("--tool", "yahoo", "--tool", "sklearn", "--reference", "trec_eval")
    done = run("-m", "nDCG@10 AP", *tools, "--format", "json")
    found = json.loads(done.stdout)
    assert [*found["figures-AP"][0]] == ["system", "trec_eval", "calipers", "yahoo", "sklearn"]  # evaluate's own too
    assert (found["figures-AP"][0]["yahoo"], found["figures-AP"][0]["sklearn"]) == ("n/a", "n/a")
    assert "no figure for yahoo (AP)" in done.stderr
    done = run("--show", "parts", "--tool", "letor4", "--format", "csv")
    parts: dict[str, float] = {}
    differences: dict[str, float] = {}
    for line in done.stdout.splitlines()[1:]:
        _, system, cause, part = line.split(",")
        if cause == "difference":
            differences[system] = float(part)
        else:
            parts[system] = parts.get(system, 0.0) + float(part)
    assert parts == pytest.approx(differences)


def test_explain_on_the_command_line(files: Path) -> None:
    done = run("--explain", "q1", "--tool", "letor4", "--run", "two")
    assert done.exit_code == 0, done.exception
    assert "nDCG@10 of two for query q1, like calipers" in done.stdout
    assert "like letor4" in done.stdout
    assert run("--explain", "q1").exit_code == 0
    assert "query 'q99' is not judged" in str(run("--explain", "q99").exception)
    assert "none of the tools" in str(run("--explain", "q1", "-m", "AP", "--tool", "gdeval").exception)


def test_bad_input(files: Path) -> None:
    Path("qrels.txt").write_text("q1 0 d00 7\n", encoding="utf-8")
    done = run("--show", "figures")
    assert "letor4" not in done.stdout.partition("Report")[0]
    assert "label 7 of query 'q1' is beyond what the profile 'letor4' can express" in done.stderr
    assert "unknown convention 'letor' in" not in done.stderr
    assert "unknown convention 'nothing'" in str(run("--tool", "nothing").exception)
    assert "unknown measure" in str(run("-m", "nonsense").exception)


# --- real data --------------------------------------------------------------------------------------------


@pytest.mark.data
def test_document_002_figure_1(data: Path) -> None:
    """MQ2008, fold 1: LETOR's figures collapse from k = 8 on, Yahoo's are shifted by a constant."""
    scores = sorted((data / "letor" / "oracle-output").glob("*.scores"))
    measures = [f"nDCG@{k}" for k in range(1, 11)]
    judgments = cal.read_letor(data / "letor" / "MQ2008" / "S5.txt.xz")
    tools = ["letor4", "yahoo", "letor4:stated", "yahoo:stated"]
    found = audit(judgments, scores, measures, like=tools, reference="definition")
    empty = found.facts["queries without a relevant document"] / found.facts["queries"]
    assert empty > 0.25
    short = {}
    for name in measures:
        for tool in ("letor4", "yahoo", "letor4:stated", "yahoo:stated"):
            parts = found.attribution(tool, name)
            np.testing.assert_allclose(parts.parts.sum(axis=0), parts.difference, atol=1e-12)
        yahoo = found.attribution("yahoo:stated", name)
        np.testing.assert_allclose(yahoo.parts[yahoo.causes.index("no relevant document")], empty, atol=1e-12)
        assert np.abs(yahoo.difference - empty).max() < 0.01  # all but the ties
        letor = found.attribution("letor4", name)
        part = dict(zip(letor.causes, letor.parts, strict=True)).get("lists shorter than k", np.zeros(3))
        short[int(name.partition("@")[2])] = float(part.mean())
    assert all(abs(short[k]) < 0.02 for k in range(1, 8))
    assert short[8] < -0.05
    assert all(short[k] < -0.2 for k in (9, 10))
    by_letor, by_definition = (
        [float(np.mean(found.figures(name)[tool])) for name in measures] for tool in ("letor4", "definition")
    )
    assert by_letor[9] < by_letor[6] / 1.5
    assert by_definition == sorted(by_definition)


@pytest.mark.data
def test_the_37_runs_of_dl19(data: Path) -> None:
    qrels = data / "trec" / "qrels" / "qrels.dl19-passage.txt.xz"
    runs = sorted((data / "trec" / "dl19-passage" / "runs").iterdir())
    assert len(runs) == 37
    found = audit(qrels, runs, "nDCG@10")
    found.causes(), found.correlations(), found.swaps(), found.significance()
    wanted: Any = cal.evaluate(qrels, runs[:3], "nDCG@10", like="trec_eval-9").mean()
    for system, figure in wanted.rows:
        assert found.figures()[system, "trec_eval-9"] == pytest.approx(figure, abs=1e-12)


# --- labels below 0, and printed numbers --------------------------------------------------------------------


def test_labels_below_0_count_as_0_where_a_tool_has_none() -> None:
    """One -1 used to leave nine columns without a figure. bpref and RIC read -1 otherwise than 0, nDCG does not."""
    qrels = {"q1": {"a": 2, "b": -1, "c": 1}, "q2": {"d": 1, "e": 0}}
    runs = {"one": {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"e": 2.0, "d": 1.0}}}
    clamped = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 1, "e": 0}}
    found = audit(qrels, runs, "nDCG@10")
    without_grades = {"mlflow", "ragas", "rectools", "recbole"}
    assert {tool for _, tool in found.unavailable} == without_grades
    for tool in CONVENTIONS.values():
        if tool.name in {*TOOLS} - without_grades:
            assert (tool.name in found.raised) == (tool.labels.lowest is not None)
            expected = cal.evaluate(clamped, runs, "nDCG@10", like=tool).mean()["one", "nDCG@10"]
            assert found.figures()["one", tool.name] == pytest.approx(expected, abs=1e-12)
    assert {*found.raised.values()} == {1}
    ours = Convention("ours", labels=LabelRange(lowest=0))
    parts = audit(qrels, runs, "num_nonrel_judged_ret", like=[ours]).attribution("ours")
    assert (parts.causes, parts.settings) == (("grades below 0",), (("as they are", "as 0"),))
    assert parts.parts[0, 0] == parts.difference[0] == 1  # b is a judged document that is not relevant, for them


def test_the_tools_own_default_is_a_column_whatever_the_reference() -> None:
    qrels, run = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    found = audit(qrels, run, "nDCG@10", like=["yahoo"], reference="letor4")
    assert found.figures().columns == ("system", "letor4", "calipers", "yahoo")
    assert found.figures()["run", "calipers"] == cal.evaluate(qrels, run, "nDCG@10").mean()["run", "nDCG@10"]
    linear = audit(qrels, run, "nDCG(gain=linear)@10", like=["yahoo", "definition"])
    assert len({*linear.figures().rows[0][1:]}) == 1  # what was asked for is asked of all
    assert "gain" not in linear.attribution("yahoo").causes


@pytest.mark.slow
def test_the_multiverse_has_every_tool_and_every_combination() -> None:
    chances: dict[str, Any] = {"ties": 0.5, "missing": 0.1, "empty": 0.2, "unjudged": 0.3, "grades": (0.6, 0.25, 0.15)}
    simulation = simulate(topics=8, systems=3, pool=8, retrieved=12, **chances, seed=4)
    system = [*simulation.runs][1]
    found = figures_of(simulation.qrels, simulation.runs, "nDCG@5", "0.5", run=system)
    able = {*TOOLS} - {*found.unavailable}
    assert {"mlflow", "ragas", "letor3"} & {*TOOLS} - able == {"mlflow", "ragas"}
    for tool in sorted(able):
        scores = cal.evaluate(simulation.qrels, simulation.runs, "nDCG@5", like=tool, warn=False)
        figure = float(scores.mean()[system, "nDCG@5"])
        printed = replace(found, number=f"{figure:.6f}")
        assert tool in {name for c, _ in printed.matches for name in printed.tools[c]}
        assert {s for _, s in printed.matches} == {1}
        assert replace(found, number=f"{100 * figure:.4f}").matches == printed.matches  # as a percentage
        assert tool in printed.matches_table().rows[0][2] + printed.sentences()[0]
    for c, convention in enumerate(found.conventions[::41]):  # each figure is what evaluate says
        expected = cal.evaluate(simulation.qrels, simulation.runs, "nDCG@5", like=convention, warn=False).mean()
        assert found.figures[41 * c].tolist() == pytest.approx(expected["nDCG@5"], abs=1e-12)
    named = [name for tools in found.tools for name in tools]
    assert len(named) == len({*named})
    assert {"calipers", *able} <= {*named}
    assert sum(row[1] for row in found.orders().rows) == len(found.conventions)


def test_the_order_of_the_systems_survives_or_does_not() -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2, "d": 1, "e": 0}}
    better = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 3.0, "d": 2.0, "e": 1.0}}
    worse = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"e": 3.0, "d": 2.0, "c": 1.0}}
    found = figures_of(qrels, {"better": better, "worse": worse}, "RR", "1.0")
    assert found.sentences()[0].startswith("1.0 is the RR of better under ")
    assert "the order of the 2 systems is the same under all" in found.sentences()[1]
    assert figures_of(qrels, {"better": better}, "RR", "0.77").sentences() == [
        f"none of {counted(len(found.conventions), 'known convention')} prints 0.77; the nearest is 1.0000, better "
        "like calipers"
    ]
    short = {"q1": {"a": 1.0}, "q2": {"c": 1.0}}  # perfect, but shorter than k: 0 for LETOR's scripts
    deep = {"q1": {"b": 4.0, "a": 3.0, "x": 2.0}, "q2": {"e": 4.0, "c": 3.0, "x": 2.0}}
    turned = figures_of(qrels, {"short": short, "deep": deep}, "nDCG@2", "0.5")
    assert re.search(
        r"depends on the convention: it is another under \d+ of [\d,]+ known conventions", turned.sentences()[-1]
    )
    assert re.search(r"at most (1 pair changes|[2-9]\d* pairs change) places", turned.sentences()[-1])
    with pytest.raises(cal.CalipersError, match="'seven' is not a number"):
        figures_of(qrels, {"better": better}, "RR", "seven")


def test_the_ideal_of_a_list_reads_all_of_it_where_only_unjudged_documents_tie() -> None:
    qrels = {"q": {"a": 1, "b": 1, "z": 0}}
    run = {"q": {"a": 9.0, "x": 5.0, "y": 5.0, "b": 1.0, "z": 0.5}}
    for like in ("yahoo", "ranklib", "lightgbm"):
        expected = cal.evaluate(qrels, run, "nDCG@2", like=like).mean()["run", "nDCG@2"]
        assert expected == pytest.approx(1 / (1 + D3))
        assert audit(qrels, run, "nDCG@2", like=[like]).figures()["run", like] == pytest.approx(expected)


@given(st.sets(st.tuples(*[st.sampled_from("abc")] * 3)))
@settings(max_examples=60)
def test_merged_choices_hold_the_same_rows(rows: set[tuple[str, ...]]) -> None:
    blocks = merged_choices([*rows])
    unfolded = [row for block in blocks for row in product(*block)]
    assert len(unfolded) == len({*unfolded})
    assert {*unfolded} == rows
    assert merged_choices([*product("abc", "abc", "abc")]) == [(("a", "b", "c"),) * 3]


def test_switches_that_change_nothing_share_a_row() -> None:
    """The ties of this run are of equal grades, so that no tie rule changes a figure."""
    qrels = {"q1": {"a": 2, "b": 1, "c": 1, "d": 0}, "q2": {"e": 0}}
    runs = {"one": {"q1": {"b": 2.0, "c": 2.0, "a": 1.0, "d": 0.5}, "q2": {"e": 1.0}}}
    exp = cal.Experiment(qrels, runs, "nDCG@10", warn=False)
    figure = exp.with_(like="yahoo").scores.mean()["one", "nDCG@10"]
    found = exp.audit(number=f"{figure:.4f}")
    table = found.table()
    assert "tied scores" not in table.columns
    assert any("every choice prints" in note and "tied scores" in note for note in found.notes)
    assert len(found.by_measure["nDCG@10"].matches) > len(table)
    assert "yahoo" in table.rows[0][2]
    assert {"yahoo", "lightgbm", "xgboost"} <= {*found.tools_that_match()}


def test_tools_that_cannot_read_the_data_are_skipped_with_a_note() -> None:
    found = cal.Experiment({"q": {"a": 3, "b": 0}}, {"q": {"a": 1.0, "b": 0.5}}, "nDCG@10").audit(number=1.0)
    assert any("skipped for nDCG@10: letor3 (label 3 of query 'q'" in note for note in found.notes)
    assert "trec_eval" in found.tools_that_match()
    with pytest.raises(CalipersError, match="condensed"):
        cal.Experiment({"q": {"a": 1}}, {"q": {"a": 1.0}}, condensed=True).audit()


def test_a_number_of_a_measure_without_any_known_convention_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    exp = cal.Experiment({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 0.5}}, "nDCG@10", warn=False)
    monkeypatch.setattr(Rescorer, "refusal", lambda *_: "it needs groups")
    with pytest.raises(CalipersError, match="no known convention has a figure for nDCG@10: it needs groups"):
        exp.audit(number="0.5")


def test_the_reference_is_the_experiment() -> None:
    qrels, runs = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}
    exp = cal.Experiment(qrels, runs, "RR", ties="worst")
    found = exp.audit(like=["trec_eval"])
    assert found.figures().columns == ("system", "experiment", "calipers", "trec_eval")
    assert found.figures()["run", "experiment"] == exp.scores["RR"][0, 0] == 0.5
    assert exp.with_(ties=None, like="trec_eval").audit(like=["ranx"]).reference.name == "trec_eval"


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("ties", ["average", "docid", "docid-ascending", "input", "best", "worst"])
def test_lists_are_scored_the_same_where_their_top_is_enough(ties: str, precision: Any) -> None:
    """The ideal of what a list retrieved reads all of it, though not in which order."""
    qrels, runs = collection(3)
    rescorer = Rescorer(cal.Judgments.from_dict(qrels), as_runs(runs))
    rescorer.scores("nDCG@3", Convention("other", ideal="list"))  # whose sorted lists are shared
    for short in ("pad", "zero"):
        rules = Convention("one", ideal="list", ties=ties, precision=precision, short=short)
        measure = rescorer.measure("nDCG@3", rules)
        assert (measure.form.reach, order_reach(measure.form)) == (None, 3)
        whole = Lists.of(rescorer.known(rules).pool, rescorer.retrieved(rules))
        wanted = score_lists(whole, [measure], ScoringOptions(like=rules)).values[0]
        np.testing.assert_array_equal(rescorer.scores("nDCG@3", rules).values[0].ravel(), wanted)
