"""Measures of texts judged by people: pairwise accuracy, tests between measures; each by brute force."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.metaevaluation.power import discriminative_power
from calipers.text import (
    Evaluation,
    as_collection,
    human_correlation,
    pairwise_accuracy,
    permutation_test,
    soft_pairwise_accuracy,
    williams,
)
from calipers.text import meta as meta_evaluation
from calipers.text.human_agreement import drawn_documents, interval
from calipers.text.measure_tests import AGREEMENTS, EXCHANGES, agreement_of, williams_test
from calipers.text.tie_calibration import accuracies_under, soft_accuracies_under
from conftest import ROOT
from example_files import _summaries

GRID = st.sampled_from([0, 1, 2, 3, 5, 8, None])  # eighths, or no summary


@st.composite
def judged(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Scores and what people said, with ties and gaps; sums of eighths are exact."""
    shape = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    found = []
    for _ in range(2):
        cells = draw(st.lists(GRID, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
        found.append(np.array([np.nan if c is None else c / 8 for c in cells]).reshape(shape))
    return found[0], found[1]


def groups(x: np.ndarray, y: np.ndarray, level: str) -> list[list[tuple[Fraction, Fraction]]]:
    there = ~(np.isnan(x) | np.isnan(y))
    cells = {(s, d): (Fraction(x[s, d]), Fraction(y[s, d])) for s, d in np.argwhere(there).tolist()}
    if level == "pooled":
        return [list(cells.values())]
    if level == "summary":
        return [[cells[s, d] for s in range(len(x)) if (s, d) in cells] for d in range(x.shape[1])]
    of = [[cells[s, d] for d in range(x.shape[1]) if (s, d) in cells] for s in range(len(x))]
    return [[tuple(sum(each[i] for each in own) / len(own) for i in (0, 1)) for own in of if own]]


def accuracy(of: list[list[tuple[Fraction, Fraction]]], epsilon: Fraction) -> Fraction | None:
    shares = []
    for group in of:
        pairs = list(combinations(group, 2))
        right = 0
        for (x1, y1), (x2, y2) in pairs:
            said = 0 if abs(x1 - x2) <= epsilon else (x1 > x2) - (x1 < x2)
            right += said == (y1 > y2) - (y1 < y2)
        if pairs:
            shares.append(Fraction(right, len(pairs)))
    return sum(shares, Fraction(0)) / len(shares) if shares else None


@given(judged(), st.sampled_from(["summary", "pooled"]))
@settings(max_examples=150, deadline=None)
def test_tie_calibration_is_the_best_of_all_epsilons(case: tuple[np.ndarray, np.ndarray], level: str) -> None:
    found, of = pairwise_accuracy(*case, level), groups(*case, level)
    if accuracy(of, Fraction(0)) is None:
        assert np.isnan(found.accuracy)
        return
    epsilons = sorted({Fraction(0), *(abs(a[0] - b[0]) for group in of for a, b in combinations(group, 2))})
    every = [accuracy(of, epsilon) for epsilon in epsilons]
    best = max(each for each in every if each is not None)
    assert found.accuracy == pytest.approx(float(best))
    assert found.at_zero == pytest.approx(float(every[0] or 0))
    assert found.epsilon == epsilons[every.index(best)]
    assert found.pairs == sum(len(group) * (len(group) - 1) // 2 for group in of)


def resampled(
    x: np.ndarray, y: np.ndarray, times: list[int], level: str
) -> list[list[tuple[tuple[int, int], Fraction, Fraction]]]:
    """What is there where documents are drawn so many times: groups of texts, each with who wrote it about what."""
    copies = [d for d, count in enumerate(times) for _ in range(count)]
    there = ~(np.isnan(x) | np.isnan(y))
    cells = [[((s, d), Fraction(x[s, d]), Fraction(y[s, d])) for s in range(len(x)) if there[s, d]] for d in copies]
    if level == "summary":
        return cells
    every = [each for group in cells for each in group]
    if level == "pooled":
        return [every]
    found = []
    for s in range(len(x)):
        own = [each for each in every if each[0][0] == s]
        if own:
            found.append(((s, -1), *(sum(each[i] for each in own) / Fraction(len(own)) for i in (1, 2))))
    return [found]


@given(judged(), st.lists(st.integers(0, 3), min_size=3, max_size=3), st.sampled_from(["system", "summary", "pooled"]))
@settings(max_examples=150, deadline=None)
def test_accuracies_of_resampled_documents(case: tuple[np.ndarray, np.ndarray], times: list[int], level: str) -> None:
    """By going through all pairs of all copies, under every epsilon; a text is in no pair with itself."""
    times = times[: case[0].shape[1]]
    found = float(accuracies_under(*case, np.array([times], dtype=float), level)[0])
    pairs = [
        [(a[1] - b[1], a[2] - b[2]) for a, b in combinations(group, 2) if a[0] != b[0]]
        for group in resampled(*case, times, level)
    ]
    pairs = [each for each in pairs if each]
    if not pairs:
        assert np.isnan(found)
        return
    sizes = {Fraction(0), *(abs(x) for group in pairs for x, _ in group)}
    best = max(
        sum(Fraction(sum(sign(x, epsilon) == sign(y) for x, y in group), len(group)) for group in pairs) / len(pairs)
        for epsilon in sizes
    )
    assert found == pytest.approx(float(best))


def sign(value: Fraction, epsilon: Fraction = Fraction(0)) -> int:
    return 0 if abs(value) <= epsilon else 1 if value > 0 else -1


def test_soft_accuracies_of_resampled_documents() -> None:
    random = np.random.default_rng(2)
    x, y = random.normal(size=(2, 3, 5))
    found = soft_accuracies_under(x[None], {"a": y}, np.array([[1, 1, 1, 1, 1], [2, 0, 1, 0, 2]]))["a"][0]
    assert found[0] == soft_pairwise_accuracy(x, y)
    drawn = [0, 0, 2, 4, 4]
    pairs = list(combinations(range(3), 2))
    expected = [1 - abs(one_sided(x[i, drawn], x[j, drawn]) - one_sided(y[i, drawn], y[j, drawn])) for i, j in pairs]
    assert found[1] == pytest.approx(np.mean(expected))


def test_intervals_hold_the_accuracies_of_new_documents() -> None:
    """Of 60 collections of documents, about 95% of intervals hold the accuracy over a great many documents."""
    random = np.random.default_rng(4)
    good = np.linspace(0, 1, 5)[:, None]

    def drawn(documents: int) -> tuple[np.ndarray, np.ndarray]:
        return good + random.normal(size=(5, documents)), good + random.normal(size=(5, documents))

    truth = pairwise_accuracy(*drawn(20_000), "summary").accuracy
    held = 0
    for seed in range(60):
        x, y = drawn(60)
        weights = drawn_documents(np.random.default_rng(seed), 60, 200)
        low, high = interval(accuracies_under(x, y, weights, "summary"))
        held += low <= truth <= high
    assert 50 <= held <= 60


def test_systems_by_their_means() -> None:
    x = np.array([[1, 2], [2, 3], [2, np.nan], [0, 0.5]])
    y = np.array([[2, 2], [1, 3], [4, 4], [0, 0]])
    # means over what both define: 1.5, 2.5, 2, 0.25 and 2, 2, 4, 0
    assert pairwise_accuracy(x, y, "system").at_zero == pytest.approx(4 / 6)
    assert pairwise_accuracy(x, y, "system").accuracy == pytest.approx(4 / 6)
    with pytest.raises(CalipersError, match="unknown level 'words'"):
        pairwise_accuracy(x, y, "words")


def one_sided(a: np.ndarray, b: np.ndarray) -> float:
    found = stats.permutation_test(
        (a, b), lambda x, y: np.sum(x - y), permutation_type="samples", alternative="greater", n_resamples=np.inf
    )
    return float(found.pvalue)


@pytest.mark.parametrize("seed", range(4))
def test_soft_accuracy_is_that_of_scipys_permutation_tests(seed: int) -> None:
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(4, 6)), random.integers(1, 4, size=(4, 6)).astype(float)
    pairs = list(combinations(range(4), 2))
    expected = np.mean([1 - abs(one_sided(x[i], x[j]) - one_sided(y[i], y[j])) for i, j in pairs])
    assert soft_pairwise_accuracy(x, y) == pytest.approx(expected)
    sampled = soft_pairwise_accuracy(x, y, samples=63)  # not all of the 64
    assert sampled == pytest.approx(expected, abs=0.2)
    assert soft_pairwise_accuracy(x, x) == 1


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
    if agreement == "accuracy":
        return pairwise_accuracy(x, y, level).accuracy
    if agreement == "soft":
        return soft_pairwise_accuracy(x, y)
    function = {"tau-b": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}[agreement]
    if level == "system":
        return float(function(x.mean(axis=1).round(12), y.mean(axis=1).round(12))[0])
    if level == "pooled":
        return float(function(x.ravel(), y.ravel())[0])
    return float(np.mean([function(a, b)[0] for a, b in zip(x.T, y.T, strict=True)]))


CASES = [(level, agreement) for level in ("system", "summary", "pooled") for agreement in AGREEMENTS]


@pytest.mark.parametrize(("level", "agreement"), [case for case in CASES if case[1] != "soft" or case[0] == "system"])
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
        (("pooled", "soft"), "take the level system"),
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
        for coefficient in AGREEMENTS[:3]:
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
    accuracy, soft = columns.index("accuracy"), columns.index("soft accuracy")
    power = discriminative_power(found.scores, "t", 0.05)
    page = (ROOT / "research/text_figures.md").read_text()
    for name in names:
        system, summary = agreement[name, "system"], agreement[name, "summary"]
        figures = (system[accuracy], system[soft], summary[accuracy])
        # 0.49125 lies between two printed figures, and its last bit depends on the machine: it is rounded up.
        cells = [name, *(f"{float(str(each)) + 1e-12:.4f}" for each in figures), f"{power[name]:.0%}"]
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
    shown = run("text", "meta", file, "-m", "ROUGE-1 ROUGE-2 V2(ROUGE-L)", "--human", "coherence,relevance",
                "--samples", "50", "--resamples", "40", "--format", "json")  # fmt: skip
    tables = json.loads(shown.stdout)
    assert list(tables) == ["agreement", "tests", "power"]
    assert len(tables["agreement"]) == 3 * 2 * 3
    assert len(tables["tests"]) == 3 * 2
    for row in tables["agreement"]:
        assert 0 <= row["low"] <= row["accuracy"] + 0.2
        assert row["low"] <= row["high"] <= 1
        assert (row["soft low"] is None) == (row["level"] != "system")
    assert "95%, from 40 resamples of document sets, each with an epsilon of its own" in shown.stderr
    assert "6 tests of pearson at the level system, corrected together by Holm" in shown.stderr
    given = as_collection(file)
    meta = meta_evaluation(
        Evaluation(given, "ROUGE-1 ROUGE-2 V2(ROUGE-L)").scores,
        {aspect: given.judgments(aspect) for aspect in ("coherence", "relevance")}, samples=50,
    )  # fmt: skip
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
        ((file, "--level", "pooled", "--agreement", "soft"), "take the level system"),
    ):
        assert message in str(run("text", "meta", *arguments).exception)
