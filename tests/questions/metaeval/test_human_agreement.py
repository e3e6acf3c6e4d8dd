"""Agreement of measures with people: tests between measures by brute force, and the question and its command."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy import stats

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.questions.metaeval import human_correlation, permutation_test, read_preferences, williams, win_lost_tie
from calipers.questions.metaeval.human_agreement import COEFFICIENTS
from calipers.questions.metaeval.measure_tests import EXCHANGES, agreement_of, table_of_tests, williams_test
from conftest import ROOT
from example_files import _summaries


def test_williams() -> None:
    """The example of the manual of R's psych (r.test), and p values that are uniform where measures are alike."""
    found = williams(0.4, 0.5, 0.1, 103)
    assert (round(found.statistic, 2), round(found.p, 2)) == (-0.89, 0.37)
    assert williams(0.5, 0.4, 0.1, 103).p == found.p
    random = np.random.default_rng(5)
    people = random.normal(size=(400, 30, 1))
    noise = random.normal(size=(2, 400, 30, 1))
    p = [williams_test(y + a, y + b, y).p for y, a, b in zip(people, *noise, strict=True)]
    assert stats.kstest(p, "uniform").pvalue > 0.01
    better = [williams_test(y + a / 4, y + b, y).p for y, a, b in zip(people, *noise, strict=True)]
    assert np.mean(np.array(better) < 0.05) > 0.9
    assert williams(0.3, 0.3, 1.0, 20).p == 1
    assert np.isnan(williams(0.3, 0.4, 0.1, 3).p)
    with pytest.raises(CalipersError, match="for the levels system and pooled"):
        williams_test(people[0], people[0], people[0], "summary")


def by_scipy(x: np.ndarray, y: np.ndarray, level: str, agreement: str) -> float:
    function = {"tau-b": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}[agreement]
    if level == "system":
        return float(function(x.mean(axis=1).round(12), y.mean(axis=1).round(12))[0])
    if level == "pooled":
        return float(function(x.ravel(), y.ravel())[0])
    return float(np.mean([function(a, b)[0] for a, b in zip(x.T, y.T, strict=True)]))


CASES = [(level, agreement) for level in ("system", "summary", "pooled") for agreement in COEFFICIENTS]


@pytest.mark.parametrize(("level", "agreement"), CASES)
def test_permutation_tests_are_those_of_all_exchanges(level: str, agreement: str) -> None:
    random = np.random.default_rng(3)
    people = random.permuted(np.tile(np.arange(3.0), (2, 1)), axis=1).T
    x, y = people + random.normal(size=(2, 3, 2))
    standard = [(each - each.mean()) / each.std() for each in (x, y)]
    observed = by_scipy(x, people, level, agreement) - by_scipy(y, people, level, agreement)
    for exchange, shape in zip(EXCHANGES, ((3, 2), (3, 1), (1, 2)), strict=True):
        hits = []
        for bits in product((False, True), repeat=shape[0] * shape[1]):
            mask = np.broadcast_to(np.reshape(bits, shape), (3, 2))
            one, other = np.where(mask, standard[1], standard[0]), np.where(mask, standard[0], standard[1])
            found = by_scipy(one, people, level, agreement) - by_scipy(other, people, level, agreement)
            hits.append(abs(found) >= abs(observed) - 1e-9)
        test = permutation_test(x, y, people, level, agreement, exchange=exchange)
        assert test.exact
        assert test.difference == pytest.approx(observed)
        assert test.p == pytest.approx(np.mean(hits))
    sampled = permutation_test(x, y, people, level, agreement, samples=50)
    assert not sampled.exact
    assert 1 / 51 <= sampled.p <= 1


def test_bad_tests() -> None:
    x = np.ones((3, 2))
    for arguments, message in (
        (("words", "pearson"), "unknown level 'words'"),
        (("system", "r"), "unknown agreement 'r'"),
    ):
        with pytest.raises(CalipersError, match=message):
            permutation_test(x, x, x, *arguments)
    with pytest.raises(CalipersError, match="unknown exchange 'words'"):
        permutation_test(x, x, x, exchange="words")
    assert np.isnan(permutation_test(x, x, x).p)  # a constant correlates with nothing


def test_correlations_are_those_of_correlate() -> None:
    random = np.random.default_rng(8)
    x, y = random.integers(0, 5, size=(2, 5, 7)).astype(float)
    x[1, 2] = np.nan
    y = np.where(np.isnan(x), np.nan, y)
    found = human_correlation(cal.as_scores(x, measure="m"), {"a": y}, samples=0)
    for level in ("system", "summary", "pooled"):
        for coefficient in COEFFICIENTS:
            assert agreement_of(x[None], y, level, coefficient)[0] == pytest.approx(
                found.value("m", "a", level, coefficient)
            )


@pytest.mark.data
def test_the_table_of_figures(data: Path) -> None:
    """Every number of the table in research/text_figures.md is what `calipers metaeval` prints."""
    names = ["ROUGE-1", "ROUGE-2", "ROUGE-L", "V2(ROUGE-1)"]
    experiment = cal.Experiment(cal.read_texts(data / "summaries/SummEval.json.xz"), measures=names)
    found = experiment.metaeval(human="relevance", level=["system", "summary"], samples=10)
    agreement, power = found.agreement["all"], found.power()
    page = (ROOT / "research/text_figures.md").read_text()
    for name in names:
        taus = (agreement.value(name, "relevance", level) for level in ("system", "summary"))
        cells = [name, *(f"{tau:.4f}" for tau in taus), f"{power[name]:.0%}"]
        assert f"| {' | '.join(cells)} |" in page


# -- the question ----------------------------------------------------------------------------------------------------


def experiment(folder: Path, measures: str = "ROUGE-1 ROUGE-2 V2(ROUGE-1)") -> cal.Experiment:
    _summaries(folder)
    return cal.Experiment(cal.read_texts(folder / "data.jsonl"), measures=measures, warn=False)


def test_people_come_first(tmp_path: Path) -> None:
    exp = experiment(tmp_path)
    found = exp.metaeval(human="coherence, relevance", samples=50)
    tables = list(found.tables())
    assert tables[:5] == ["agreement", "tests", "wide-system", "wide-summary", "wide-pooled"]
    assert {"power", "scores", "tau", "stability"} < {*tables}
    human = {aspect: exp.texts.collection.judgments(aspect) for aspect in ("coherence", "relevance")}
    alone = human_correlation(exp.scores, human, coefficients=["tau-b"], bases={"V2(ROUGE-1)": "ROUGE-1"}, samples=50)
    assert str(found.table()) == str(alone.table())
    assert found.table("wide-summary").rows == alone.matrix("summary", "tau-b").rows
    assert found.summary.startswith(alone.summary)
    of_scores = cal.metaeval(exp.scores, human=human, samples=50)
    assert str(of_scores.table()) == str(alone.table())
    assert str(of_scores.table("tests")) == str(found.table("tests"))
    tested = table_of_tests(exp.scores, human, "summary", "spearman", samples=50)
    other = exp.metaeval(human="coherence, relevance", level="summary", correlation="spearman", samples=50)
    assert str(other.table("tests")) == str(tested)
    assert [row[2] for row in other.table().rows] == ["summary"] * 6
    assert list(exp.metaeval(human=[*human]).agreement) == ["all"]


def test_errors_are_negated(tmp_path: Path) -> None:
    exp = experiment(tmp_path, "TER ROUGE-1")
    found = exp.metaeval(samples=5)
    (aspect,) = {row[1] for row in found.table().rows} & {"relevance"}
    raw = human_correlation(exp.scores, {aspect: exp.texts.collection.judgments(aspect)}, samples=0)
    assert found.agreement["all"].value("-TER", aspect) == -raw.value("TER", aspect)


def test_sets_of_documents(tmp_path: Path) -> None:
    exp = experiment(tmp_path)
    ids = exp.scores.queries
    found = exp.metaeval(human="relevance", sets={"long": ids[:4], "short": ids[4:]}, samples=5)
    table = found.table("agreement")
    assert table.columns[:3] == ("set", "measure", "human")
    assert [row[0] for row in table.rows[::9]] == ["all", "long", "short"]
    part = exp.metaeval(human={"r": exp.texts.collection.judgments("relevance")}, sets={"long": ids[:4]}, samples=5)
    one = exp.scores.of_queries(ids[:4])
    alone = human_correlation(one, {"r": exp.texts.collection.judgments("relevance")[:, :4]}, samples=0)
    assert part.agreement["long"].value("ROUGE-2", "r") == alone.value("ROUGE-2", "r")


def test_what_people_cannot_be_asked(tmp_path: Path) -> None:
    exp = experiment(tmp_path)
    for wrong, message in (
        ({"human": "style"}, "no human scores for 'style'"),
        ({"human": ()}, "no aspect of human judgment is named"),
        ({"level": "topic"}, "unknown level 'topic'"),
        ({"correlation": "tau-a"}, "unknown coefficient 'tau-a'; there are tau-b, spearman, pearson"),
        ({"sets": "ideal"}, "scores and texts have no sets but all"),
    ):
        with pytest.raises(CalipersError, match=message):
            exp.metaeval(**wrong)
    with pytest.raises(CalipersError, match="only texts bring scores of people along"):
        cal.metaeval(exp.scores, human="relevance")
    with pytest.raises(CalipersError, match="the human scores"):
        cal.metaeval(exp.scores, human={"r": np.zeros((1, len(exp.scores.queries)))}).table()


# -- the command -----------------------------------------------------------------------------------------------------


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(root, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit | CalipersError):
        raise result.exception
    return result


def test_command(tmp_path: Path) -> None:
    _summaries(tmp_path)
    file = tmp_path / "data.jsonl"
    measures = ("-m", "ROUGE-1 ROUGE-2 V2(ROUGE-1)")
    people = ("--human", "coherence,relevance", "--samples", "50")
    shown = run("metaeval", file, *measures, *people, "--format", "json")
    tables = json.loads(shown.stdout)["tables"]
    assert list(tables) == ["agreement", "tests", "power"]
    assert len(tables["agreement"]) == 3 * 2 * 3
    assert len(tables["tests"]) == 3 * 2
    adjusted = [row["p_adjusted"] for row in tables["tests"]]
    assert all(row["p"] <= p for row, p in zip(tables["tests"], adjusted, strict=True))
    meta = experiment(tmp_path).metaeval(human="coherence,relevance", samples=50)
    assert json.loads(meta.table("tests").to_json()) == tables["tests"]
    wide = run("metaeval", file, *measures, "--table", "wide", "--level", "system,pooled", "--format", "markdown")
    assert "### agreement with people, by what they judged, pooled" in wide.stdout
    chart = tmp_path / "c.svg"
    run("metaeval", file, *measures, *people, "--plot", chart)
    assert "Agreement with people" in chart.read_text()
    groups = tmp_path / "groups.csv"
    ids = experiment(tmp_path).scores.queries
    groups.write_text("document,place,group\n" + "".join(f"{id},{i},{'ab'[i % 2]}\n" for i, id in enumerate(ids)))
    grouped = run(
        "metaeval", file, *measures, *people, "--query-groups", groups, "--table", "agreement", "--format", "csv"
    )
    assert {line.split(",")[0] for line in grouped.stdout.splitlines()} == {"set", "all", "a", "b"}
    bare = tmp_path / "bare.jsonl"
    lines = [{k: v for k, v in json.loads(line).items() if k != "human"} for line in file.read_text().splitlines()]
    bare.write_text("\n".join(map(json.dumps, lines)))
    assert "discriminative power" in run("metaeval", bare, *measures).stdout
    for arguments, message in (
        ((bare, "--human", "coherence"), "has no human scores"),
        ((bare, "--table", "tests"), "these tables need scores of people"),
        ((file, "--table", "powr"), "unknown table 'powr'; did you mean power?"),
        ((file, "--table", "tests", "-m", "ROUGE-1"), "these tables need"),
        ((file, "--sets", "ideal", "--query-groups", groups), "give either --sets or --query-groups"),
    ):
        assert message in str(run("metaeval", *arguments).exception)
    assert "use `metaeval DATA --human ASPECTS`" in str(run("text", "meta", file).exception)


def test_preferences(tmp_path: Path) -> None:
    exp = experiment(tmp_path)
    a, b = exp.scores.systems[:2]
    first, second = exp.scores.queries[:2]
    votes = tmp_path / "votes.csv"
    votes.write_text(f"id,first,second,preferred\n{first},{a},{b},first\n{second},{a},{b},{a}\n{second},{b},{a},tie\n")
    found = exp.metaeval(preferences=votes)
    alone = win_lost_tie(exp.scores, "ROUGE-1", "V2(ROUGE-1)", read_preferences(votes))
    assert found.table("preferences").rows == tuple(("V2(ROUGE-1)", "ROUGE-1", *row) for row in alone.table().rows)
    shown = run("metaeval", tmp_path / "data.jsonl", "-m", "ROUGE-1 V2(ROUGE-1)", "--preferences", votes)
    assert "which measure prefers the texts that people prefer" in shown.stdout
    assert "1 item on which people prefer neither text is left out" in shown.output
    refused = run("metaeval", tmp_path / "data.jsonl", "-m", "ROUGE-1", "--preferences", votes)
    assert "compare a normalised measure" in str(refused.exception)
