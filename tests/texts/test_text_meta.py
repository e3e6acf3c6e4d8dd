"""Measures of texts judged by people: tests between measures, by brute force."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy import stats

from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.questions.metaeval import human_correlation, meta as meta_evaluation, permutation_test, williams
from calipers.questions.metaeval.human_agreement import COEFFICIENTS
from calipers.questions.metaeval.measure_tests import EXCHANGES, agreement_of, williams_test
from calipers.questions.metaeval.power import discriminative_power
from calipers.texts import Evaluation, as_collection
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
    from calipers import as_scores

    random = np.random.default_rng(8)
    x, y = random.integers(0, 5, size=(2, 5, 7)).astype(float)
    x[1, 2] = np.nan
    y = np.where(np.isnan(x), np.nan, y)
    found = human_correlation(as_scores(x, measure="m"), {"a": y}, samples=0)
    for level in ("system", "summary", "pooled"):
        for coefficient in COEFFICIENTS:
            assert agreement_of(x[None], y, level, coefficient)[0] == pytest.approx(
                found.value("m", "a", level, coefficient)
            )


@pytest.mark.data
def test_the_table_of_figures(data: Path) -> None:
    """Every number of the table in research/text_figures.md is what `calipers text meta` prints."""
    given = as_collection(data / "summaries/SummEval.json.xz")
    names = ["ROUGE-1", "ROUGE-2", "ROUGE-L", "V2(ROUGE-1)"]
    found = Evaluation(given, names)
    meta = meta_evaluation(found.scores, {"relevance": given.judgments("relevance")})
    agreement = {(row[0], row[2]): row for row in meta.agreement(["system", "summary"]).rows}
    columns = meta.agreement(["system"]).columns
    tau = columns.index("tau-b")
    power = discriminative_power(found.scores, "t", 0.05)
    page = (ROOT / "research/text_figures.md").read_text()
    for name in names:
        system, summary = agreement[name, "system"], agreement[name, "summary"]
        cells = [name, f"{system[tau]:.4f}", f"{summary[tau]:.4f}", f"{power[name]:.0%}"]
        assert f"| {' | '.join(cells)} |" in page


# -- the command ---------------------------------------------------------------------------------------------


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(root, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit | CalipersError):
        raise result.exception
    return result


def test_meta_command(tmp_path: Path) -> None:
    _summaries(tmp_path)
    file = tmp_path / "data.jsonl"
    shown = run(
        "text",
        "meta",
        file,
        "-m",
        "ROUGE-1 ROUGE-2 V2(ROUGE-L)",
        "--human",
        "coherence,relevance",
        "--samples",
        "50",
        "--format",
        "json",
    )
    tables = json.loads(shown.stdout)
    assert list(tables) == ["agreement", "tests", "power"]
    assert len(tables["agreement"]) == 3 * 2 * 3
    assert len(tables["tests"]) == 3 * 2
    assert "6 tests of pearson at the level system, corrected together by Holm" in shown.stderr
    given = as_collection(file)
    meta = meta_evaluation(
        Evaluation(given, "ROUGE-1 ROUGE-2 V2(ROUGE-L)").scores,
        {aspect: given.judgments(aspect) for aspect in ("coherence", "relevance")},
        samples=50,
    )
    assert json.loads(meta.tests().to_json()) == tables["tests"]
    adjusted = [row["p_adjusted"] for row in tables["tests"]]
    assert all(row["p"] <= p for row, p in zip(tables["tests"], adjusted, strict=True))
    bare = tmp_path / "bare.jsonl"
    lines = [{k: v for k, v in json.loads(line).items() if k != "human"} for line in file.read_text().splitlines()]
    bare.write_text("\n".join(map(json.dumps, lines)))
    assert run("text", "meta", bare, "-m", "ROUGE-1").stdout.startswith("measure")  # power alone
    for arguments, message in (
        ((bare, "--table", "tests"), "has no human scores; --table power needs none"),
        ((file, "--table", "powr"), "unknown table 'powr'; did you mean power?"),
        ((file, "--table", "tests", "-m", "ROUGE-1"), "there is only one measure (ROUGE-1)"),
    ):
        assert message in str(run("text", "meta", *arguments).exception)
