"""Plans against statsmodels, brute force and simulation: sample sizes, repeated runs."""

from __future__ import annotations

import csv
import io
import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.cli import main
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError
from calipers.questions.plan.repeats import components_by_anova, components_by_reml, groups_by_pattern
from calipers.questions.plan.sample_size import COLUMNS
from calipers.statistics.power import (
    deviation,
    power_anova,
    power_anova2,
    power_t,
    smallest_effect,
    smallest_n,
)
from conftest import ROOT, Require


def pilot(systems: int = 5, queries: int = 30, seed: int = 3, measures: tuple[str, ...] = ("AP", "RR")) -> cal.Scores:
    random = np.random.default_rng(seed)
    values = np.clip(0.4 + random.normal(0, 0.15, (len(measures), 1, queries)), 0.1, 0.9)
    values = values + random.normal(0, 0.1, (len(measures), systems, queries))
    return cal.as_scores(values, measure=list(measures))


# -- power in closed form ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effect", [0.1, 0.3, 0.8, 2.0])
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.05 / 45])
def test_the_power_of_the_t_test_is_statsmodels(effect: float, alpha: float, require: Require) -> None:
    peer = require.module("statsmodels.stats.power").TTestPower()

    def expected(effect: float, n: int) -> float:
        """Both tails; where the thin one is NaN the other alone, and where that is NaN too, all of it."""
        tails = (peer.power(effect, n, alpha), peer.power(effect, n, alpha / 2, alternative="larger"), 1.0)
        return float(next(power for power in tails if not math.isnan(power)))

    for n in (3, 10, 50, 400):
        assert power_t(effect, n, alpha) == pytest.approx(expected(effect, n), abs=1e-9)
    n = smallest_n(effect, 0.8, alpha)
    assert expected(effect, n) >= 0.8
    assert n == 2 or expected(effect, n - 1) < 0.8
    assert expected(smallest_effect(50, 0.9, alpha), 50) == pytest.approx(0.9, abs=1e-9)


@pytest.mark.parametrize("systems", [2, 3, 10])
def test_the_power_of_the_one_way_design_is_statsmodels(systems: int, require: Require) -> None:
    """Its effect size f is that of means of which one is D above another and all others midway: D / (s sqrt(2 m))."""
    peer = require.module("statsmodels.stats.power").FTestAnovaPower()
    for n, effect in itertools.product((3, 20, 100), (0.2, 0.5, 1.0)):
        f = effect / math.sqrt(2 * systems)
        expected = peer.power(effect_size=f, nobs=systems * n, alpha=0.05, k_groups=systems)
        assert power_anova(effect, n, 0.05, systems) == pytest.approx(float(expected), abs=1e-9)


def test_the_two_way_design_of_two_systems_is_the_paired_t_test() -> None:
    """F = t^2, and the variance of the paired differences is twice the residual one."""
    for n, effect in itertools.product((5, 20, 100), (0.1, 0.5, 1.0)):
        assert power_anova2(effect * math.sqrt(2), n, 0.05, 2) == pytest.approx(power_t(effect, n, 0.05), abs=1e-9)


@pytest.mark.filterwarnings("error")
def test_extreme_effects_have_a_power() -> None:
    """SciPy's series give NaN far in the tails."""
    for n, alpha in itertools.product((2, 3, 50, 10**6), (0.05, 1e-4, 4e-6)):
        powers = [power_t(effect, n, alpha) for effect in (0.0, 1e-6, 0.01, 1, 10, 1e3, 1e6)]
        assert powers[0] == pytest.approx(alpha, rel=1e-6)
        assert all(x <= y + 1e-12 for x, y in itertools.pairwise(powers))
        assert smallest_effect(n, 0.8, alpha) > 0
    assert smallest_n(1e-5, 0.8, 0.05) == pytest.approx(((1.959964 + 0.841621) / 1e-5) ** 2, rel=1e-5)
    with pytest.raises(CalipersError, match="the difference is too small"):
        smallest_n(1e-12, 0.8, 0.05)


# -- plans -----------------------------------------------------------------------------------------------------------


def test_the_columns_and_what_they_mean(require: Require) -> None:
    peer = require.module("statsmodels.stats.power").TTestPower()
    scores = pilot()
    table = cal.plan(scores, difference=0.05).table()
    assert table.to_csv().splitlines()[0] == "measure,difference,sd,power,alpha,pairs,queries,detectable"
    assert [row[0] for row in table.rows] == ["AP", "RR"]
    for m, row in enumerate(csv.DictReader(io.StringIO(table.to_csv()))):
        pairs = itertools.combinations(scores.values[m], 2)
        sd = math.sqrt(np.mean([np.var(x - y, ddof=1) for x, y in pairs]))
        assert float(row["sd"]) == pytest.approx(sd, rel=1e-12)
        assert (row["difference"], row["power"], row["alpha"], row["pairs"]) == ("0.05", "0.8", "0.05", "1")
        assert int(row["queries"]) == math.ceil(peer.solve_power(0.05 / sd, power=0.8, alpha=0.05))
        assert peer.power(float(row["detectable"]) / sd, 30, 0.05) == pytest.approx(0.8, abs=1e-9)


def test_all_pairs_share_alpha(require: Require) -> None:
    peer = require.module("statsmodels.stats.power").TTestPower()
    found = cal.plan(pilot(), difference=0.05, pairs="all", power=0.9, alpha=0.1)
    assert found.pairs == 10
    assert found.alpha == 0.1
    assert found.queries[0] == math.ceil(peer.solve_power(0.05 / found.sd[0], power=0.9, alpha=0.01))


def test_without_a_difference_it_is_what_the_queries_can_show() -> None:
    found = cal.plan(pilot(), queries=50)
    assert found.difference == found.detectable
    assert found.queries == (50, 50)
    assert found.power_at(0, 50) == pytest.approx(0.8)
    assert cal.plan(pilot()).queries == (30, 30)


def test_two_systems_undefined_scores_and_equal_ones() -> None:
    scores = pilot(systems=2, measures=("AP",))
    values = scores.values.copy()
    values[0, 0, :5] = np.nan
    holed = cal.as_scores(values[0], measure="AP")
    found = cal.plan(holed, difference=0.05)
    assert found.sd[0] == pytest.approx(np.std((values[0, 0] - values[0, 1])[5:], ddof=1))
    assert found.at_hand == (25,)
    same = cal.plan(cal.as_scores([[0.1, 0.2, 0.3]] * 2), difference=0.05)
    assert (same.sd, same.queries, same.detectable) == ((0.0,), (2,), (0.0,))


def test_the_deviation_of_each_design() -> None:
    values = pilot().values[0]
    between, freedom = deviation(values, "anova")
    assert between == pytest.approx(math.sqrt(np.mean([np.var(x, ddof=1) for x in values])))
    assert freedom == 5 * 29
    residual = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    assert deviation(values, "anova2") == (pytest.approx(math.sqrt((residual**2).sum() / (4 * 29))), 4 * 29)


def test_the_upper_limit_covers_the_true_deviation_as_often_as_it_says() -> None:
    random = np.random.default_rng(8)
    limits = [
        cal.plan(cal.as_scores(random.normal(0, 1, (2, 12))), difference=0.5, upper=0.8).sd[0] >= math.sqrt(2)
        for _ in range(800)
    ]
    assert np.mean(limits) == pytest.approx(0.8, abs=0.045)


@pytest.mark.parametrize("design", ["randomization", "bootstrap"])
def test_simulated_designs_agree_with_the_t_test_on_normal_differences(design: str) -> None:
    random = np.random.default_rng(5)
    scores = cal.as_scores(random.normal(0, 0.1, (6, 200)))
    closed, found = cal.plan(scores, difference=0.06), cal.plan(scores, difference=0.06, design=design)
    assert abs(found.queries[0] - closed.queries[0]) <= 3 * found.queries_error[0] + 2
    assert found.detectable[0] == pytest.approx(closed.detectable[0], abs=3 * found.detectable_error[0])
    assert 0 < found.queries_error[0] < 0.1 * found.queries[0]
    again = cal.plan(scores, difference=0.06, design=design)
    assert (again.queries, again.detectable) == (found.queries, found.detectable)
    assert found.table().notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"difference": 0}, "not a number above 0"),
        ({"power": 1.0}, "power 1 is not between"),
        ({"alpha": 0.0}, "alpha 0 is not between"),
        ({"pairs": 0}, "neither a whole number"),
        ({"queries": 1}, "queries 1 is not a whole number from 2 to"),
        ({"design": "z"}, "unknown design"),
        ({"upper": 2}, "not between 0 and 1"),
        ({"power": 0.04}, "not above alpha"),
        ({"design": "anova", "pairs": "all"}, "no pairs to correct for"),
        ({"design": "randomization", "pairs": 5000}, "samples in each experiment"),
    ],
)
def test_what_cannot_be_planned(options: dict[str, object], message: str) -> None:
    with pytest.raises(CalipersError, match=message):
        cal.plan(pilot(), **options)


# -- repeated runs ---------------------------------------------------------------------------------------------------


def repeated(systems: int = 3, repeats: int = 4, queries: int = 20, seed: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    return (
        random.normal(0.5, 0.2, queries)
        + random.normal(0, 0.1, (systems, 1, 1))
        + random.normal(0, 0.1, (systems, 1, queries))
        + random.normal(0, 0.05, (systems, repeats, 1))
        + random.normal(0, 0.08, (systems, repeats, queries))
    )


def named(values: np.ndarray) -> cal.Scores:
    systems, repeats, queries = values.shape
    names = [f"{'abcdef'[s]}-seed{r}" for s in range(systems) for r in range(repeats)]
    return cal.as_scores(values.reshape(-1, queries), systems=names, measure="AP")


def test_one_run_a_system_is_the_paired_t_test() -> None:
    """Only the third system has repeats; between the other two they play no part."""
    values = repeated(repeats=2)
    scores = cal.as_scores(
        np.array([values[0, 0], values[1, 0], *values[2]]), systems=["a", "b", "c-seed1", "c-seed2"], measure="AP"
    )
    found = cal.questions.plan.repeated_runs(scores, repeats="{system}-seed{repeat}", correction=None)
    assert found.systems == ("a", "b", "c")
    assert found.repeats == (1, 1, 2)
    expected = stats.ttest_rel(values[0, 0], values[1, 0])
    assert found.comparison.p[0, 0] == pytest.approx(expected.pvalue, rel=1e-9)
    low, high = expected.confidence_interval()
    assert (found.comparison.outcomes[0].low[0], found.comparison.outcomes[0].high[0]) == pytest.approx((low, high))


def test_the_test_of_balanced_repeats_is_that_of_the_mean_squares() -> None:
    values = repeated(systems=2)
    found = cal.questions.plan.repeated_runs(named(values), repeats="{system}-seed{repeat}")
    s, r, q = values.shape
    cell, run, system = values.mean(axis=1), values.mean(axis=2), values.mean(axis=(1, 2))
    query, whole = values.mean(axis=(0, 1)), values.mean()
    interaction = r * ((cell - system[:, None] - query + whole) ** 2).sum() / (q - 1)
    repeat = q * ((run - system[:, None]) ** 2).sum() / (s * (r - 1))
    left = values - cell[:, None] - run[:, :, None] + system[:, None, None]
    residual = (left**2).sum() / (s * (r - 1) * (q - 1))
    assert repeat > residual
    error = math.sqrt(2 * (interaction + repeat - residual) / (q * r))
    freedom = (interaction + repeat - residual) ** 2 / (
        interaction**2 / (q - 1) + repeat**2 / (s * (r - 1)) + residual**2 / (s * (r - 1) * (q - 1))
    )
    t = (system[0] - system[1]) / error
    assert found.comparison.p[0, 0] == pytest.approx(2 * stats.t.sf(abs(t), freedom), rel=1e-9)


def test_restricted_likelihood_is_the_analysis_of_variance_where_balanced() -> None:
    values = repeated()
    by_hand = components_by_anova(values)
    assert min(by_hand.values()) > 0
    runs = [range(4 * s, 4 * s + 4) for s in range(3)]
    found = components_by_reml(values.reshape(12, -1), runs)
    assert found == pytest.approx(by_hand, rel=1e-3)


@pytest.mark.slow
def test_restricted_likelihood_is_statsmodels_where_not(require: Require) -> None:
    mixed = require.module("statsmodels.regression.mixed_linear_model")
    values = repeated(queries=10, seed=11)
    kept = [0, 1, 2, 3, 4, 5, 8, 9, 10]
    runs = [(0, 1, 2, 3), (4, 5), (6, 7, 8)]
    flat = values.reshape(12, -1)[kept]
    found = components_by_reml(flat, runs)
    system = np.repeat([0, 1, 2], [4, 2, 3])
    of_run, of_query = np.repeat(np.arange(9), 10), np.tile(np.arange(10), 9)
    codes = {
        "query": of_query,
        "system": system[of_run],
        "repeat": of_run,
        "interaction": system[of_run] * 10 + of_query,
    }
    columns = [np.eye(code.max() + 1)[code] for code in codes.values()]
    parts = mixed.VCSpec(list(codes), [[[str(i) for i in range(c.shape[1])]] for c in columns], [[c] for c in columns])
    model = mixed.MixedLM(flat.ravel() * 10, np.ones((90, 1)), np.ones(90), exog_vc=parts)
    fitted = model.fit(reml=True, method=["lbfgs"], do_cg=True)
    peer = dict(zip(model.exog_vc.names, fitted.vcomp / 100, strict=True))
    for name, value in peer.items():
        assert found[name] == pytest.approx(value, rel=0.02, abs=2e-5), name
    assert found["residual"] == pytest.approx(fitted.scale / 100, rel=0.02)


def test_what_to_buy() -> None:
    """Where runs of a system differ much, more runs help; where queries and systems interact, more queries."""
    random = np.random.default_rng(2)
    luck = repeated(queries=30) + random.normal(0, 0.3, (3, 4, 1))
    taste = repeated(queries=30) + random.normal(0, 0.5, (3, 1, 30))
    for values, wanted in ((luck, "repeats"), (taste, "queries")):
        table = cal.questions.plan.repeated_runs(named(values), repeats="{system}-seed{repeat}").variance()
        row = dict(zip(table.columns, table.rows[0], strict=True))
        assert row["buy"] == wanted
        assert row["error"] > max(row["error_2x_queries"], row["error_2x_repeats"])
        assert (row["queries"], row["repeats"]) == (30, 4)


def test_patterns_of_repeats() -> None:
    runs = ["bert-s1", "bert-s2", "bm25"]
    expected = {"bert-s1": ("bert", "1"), "bert-s2": ("bert", "2"), "bm25": ("bm25", "")}
    assert groups_by_pattern(runs, "{system}-s{repeat}") == expected
    assert groups_by_pattern(["1.s.a", "2.s.a", "1xsxb"], "{repeat}.s.{system}")["2.s.a"] == ("a", "2")
    for pattern, message in (
        ("{system}x{repeat}", "no system has more"),
        ("bert", "does not say where"),
        ("{system}-s*", "does not say where"),
        ("{system}{system}{repeat}", "does not say where"),
    ):
        with pytest.raises(CalipersError, match=message):
            groups_by_pattern(runs, pattern)


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("plan")
    simulation = simulate(topics=25, systems=5, pool=30, retrieved=30, seed=9)
    qrels, runs = simulation.write(where)
    (where / "runs").mkdir()
    for run in runs:
        run.rename(where / "runs" / run.name)
    scores = cal.evaluate(simulation.qrels, simulation.runs, ["nDCG@10", "AP"])
    (where / "scores.csv").write_text(scores.per_query().to_csv())
    assert qrels == where / "qrels.txt"
    return where


def called(
    arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["calipers", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capfd.readouterr()
    return int(ended.value.code or 0), out, err


def test_plan_on_the_command_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    runs = sorted(str(path.relative_to(folder)) for path in (folder / "runs").iterdir())
    asked = ["--difference", "0.02", "--power", "0.8", "--format", "csv"]
    code, by_scores, _ = called(["plan", "scores.csv", *asked], folder, monkeypatch, capfd)
    assert code == 0
    code, by_runs, err = called(["plan", "qrels.txt", *runs, "-m", "nDCG@10 AP", *asked], folder, monkeypatch, capfd)
    assert code == 0
    assert by_runs == by_scores
    assert by_runs.splitlines()[0] == ",".join(COLUMNS)
    assert "two-sided paired t test" in err
    (folder / "seeds.csv").write_text(named(repeated()).per_query().to_csv())
    repeats = ["--repeats", "{system}-seed{repeat}", "--format", "csv"]
    code, out, _ = called(["plan", "seeds.csv", *repeats], folder, monkeypatch, capfd)
    assert code == 0
    assert out.startswith("measure,query,system,repeat,interaction,residual,queries,")
    for wrong, message in (
        (["plan", "scores.csv", "--pairs", "some"], "pairs 'some'"),
        (["plan", "qrels.txt", runs[0]], "only one system"),
    ):
        code, out, err = called(wrong, folder, monkeypatch, capfd)
        assert (code, out) == (2, "")
        assert message in err.splitlines()[-1]


def test_pictures_of_plans(require: Require, tmp_path: Path) -> None:
    require.module("vl_convert")
    simulation = simulate(topics=12, systems=4, pool=30, retrieved=30, seed=9)
    plan = cal.plan(cal.evaluate(simulation.qrels, simulation.runs, ["nDCG@10", "AP"]), difference=0.1)
    chart = cal.plot.power_curves(plan)
    assert chart.to_dict()["layer"]
    cal.plot.save(chart, str(tmp_path / "chart.svg"))
    rows = plan.curve().rows
    assert all(y[2] >= x[2] for x, y in itertools.pairwise(rows) if x[0] == y[0])


# -- real data ------------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_planning_with_trec_8(data: Path, require: Require) -> None:
    """The matrix as NumPy reads it, and statsmodels' answer."""
    peer = require.module("statsmodels.stats.power").TTestPower()
    path = data / "scores/adhoc8_ap.csv"
    matrix = np.genfromtxt(path, delimiter=",", skip_header=1)
    found = cal.plan(cal.read_scores(path), difference=0.05, pairs="all")
    matrix = matrix[:, ~np.isnan(matrix).any(axis=0)][:, -len(cal.read_scores(path).systems) :]
    sd = math.sqrt(np.mean([np.var(x - y, ddof=1) for x, y in itertools.combinations(matrix.T, 2)]))
    assert found.sd[0] == pytest.approx(sd, rel=1e-9)
    assert found.pairs == 129 * 128 // 2
    # Both tails together are NaN to it with so small an alpha, and its solver then finds any number.
    below, enough = (
        peer.power(0.05 / sd, n, 0.05 / found.pairs / 2, alternative="larger")
        for n in (found.queries[0] - 1, found.queries[0])
    )
    assert below < 0.8 <= enough


# -- how often the tests err -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_type_one_errors_and_power(monkeypatch: pytest.MonkeyPatch) -> None:
    """On 10,000 collections: 5% false alarms where a test claims so, and the power that was planned for."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.error_rates import EFFECT, QUERIES, rates

    found = {rate.test: rate for rate in rates(10_000)}
    for rate in found.values():
        if rate.claimed:
            assert 0.04 <= rate.error <= 0.06, rate
    assert found["sign"].error <= 0.05
    assert found["t"].power == pytest.approx(power_t(EFFECT, QUERIES, 0.05), abs=0.02)
    assert found["equivalence"].power > 0.9
    assert found["repeated runs"].error <= 0.06
    assert found["t on means of repeated runs"].error > 0.2, "what the test of repeated runs is for"
