"""Judges: agreement against its peers, and the mathematics of repair and combination by brute force."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.optimize import brentq
from scipy.stats import kstat, kurtosis, linregress, rankdata, sem, t

import calipers as cal
from calipers.cli.commands import root
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError
from calipers.questions.judges.agreement import STATISTICS, Confusion, gwet, krippendorff_alpha
from calipers.questions.judges.combination import dawid_skene, expected, majority, maximised
from calipers.questions.judges.effects_on_systems import largest_drop
from calipers.questions.judges.grade_scales import on_one_scale
from calipers.questions.judges.judge_table import JudgeTable
from calipers.questions.judges.repaired_scores import helped
from calipers.questions.judges.score_repair import best_weight, cross_fitted, prediction_powered, skewed_interval

FIRST = "judge,labels,missing,agreement,kappa,kappa_linear,kappa_quadratic,alpha,bias"
SECOND = "judge,measure,tau,tau_ap,rho,rbo,largest_drop,dropped_system,agree,conflict,missed,false"

Graded = dict[str, dict[str, float]]


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(root, [str(argument) for argument in arguments])


def refused(*arguments: Any) -> str:
    """What a command says that stops at bad input."""
    result = run(*arguments)
    assert isinstance(result.exception, CalipersError), result.output
    return str(result.exception)


def rows_of(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def labelled(
    seed: int, grades: int, judges: int, gaps: float = 0.2, queries: int = 5, documents: int = 12
) -> list[Graded]:
    """Judgments of a human and some judges, each of which lacks some labels."""
    random = np.random.default_rng(seed)
    found: list[Graded] = []
    for _ in range(judges + 1):
        graded = {
            f"q{q}": {f"d{d}": float(random.integers(grades)) for d in range(documents) if random.random() >= gaps}
            for q in range(queries)
        }
        found.append({query: of for query, of in graded.items() if of})
    return found


def write(path: Path, graded: Graded) -> Path:
    cal.write_qrels(graded, path)
    return path


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files: human.qrels, llm-a.qrels (near it), llm-b.qrels (far from it), part.qrels (half of the queries), runs/."""
    folder = tmp_path_factory.mktemp("judges")
    made = simulate(topics=12, pool=30, systems=5, retrieved=25, unjudged=0.0, seed=3)
    human = {query: {d: float(g) for d, g in of.items()} for query, of in made.qrels.items()}
    random = np.random.default_rng(0)

    def noisy(share: float) -> Graded:
        return {
            q: {d: float(random.integers(4)) if random.random() < share else g for d, g in of.items()}
            for q, of in human.items()
        }

    write(folder / "human.qrels", human)
    near = noisy(0.15)
    near[next(iter(near))].popitem()
    write(folder / "llm-a.qrels", near)
    write(folder / "llm-b.qrels", noisy(0.7))
    write(folder / "part.qrels", dict(list(human.items())[:6]))
    (folder / "runs").mkdir()
    for name, ranked in made.runs.items():
        cal.write_run(ranked, folder / "runs" / f"{name}.run", name)
    return folder


# -- agreement ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_agreement_is_that_of_scikit_learn_statsmodels_and_krippendorff(seed: int, require: Any) -> None:
    metrics, rater = require.module("sklearn.metrics"), require.module("statsmodels.stats.inter_rater")
    peer, scipy = require.module("krippendorff"), require.module("scipy.stats")
    human, judge = labelled(seed, grades=2 + seed % 3, judges=1)
    found = cal.Experiment(human, None).judges({"j": judge})
    common = [(human[q][d], judge[q][d]) for q in human for d in human[q] if d in judge.get(q, {})]
    x, y = np.array(common).T
    row = dict(zip(found.statistics().columns, found.statistics().rows[0], strict=True))
    assert row["labels"] == len(common)
    assert row["missing"] == sum(map(len, human.values())) - len(common)
    table = rater.to_table(np.array(common, int))[0]
    for name, weights in (("kappa", None), ("kappa_linear", "linear"), ("kappa_quadratic", "quadratic")):
        assert row[name] == pytest.approx(metrics.cohen_kappa_score(x, y, weights=weights), abs=1e-12)
        wanted = rater.cohens_kappa(table, wt=weights, return_results=False)
        assert row[name] == pytest.approx(float(wanted), abs=1e-12)
    for name, level in (("alpha_nominal", "nominal"), ("alpha", "ordinal"), ("alpha_interval", "interval")):
        assert row[name] == pytest.approx(peer.alpha(np.array([x, y]), level_of_measurement=level), abs=1e-12)
    assert row["spearman"] == pytest.approx(scipy.spearmanr(x, y).statistic, abs=1e-12)
    assert row["agreement"] == pytest.approx(metrics.accuracy_score(x, y))
    assert row["mae"] == pytest.approx(np.abs(x - y).mean())
    assert row["bias"] == pytest.approx((y - x).mean())
    grades = np.union1d(x, y)
    assert found.confusion["j"].counts.tolist() == metrics.confusion_matrix(x, y, labels=grades).tolist()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_of_several_judges_with_gaps_is_krippendorffs(seed: int, level: str, require: Any) -> None:
    peer = require.module("krippendorff")
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, (2 + seed % 4, 15)).astype(float)
    labels[random.random(labels.shape) < 0.35] = np.nan
    wanted = peer.alpha(labels, level_of_measurement=level)
    assert krippendorff_alpha(labels, level) == pytest.approx(wanted, abs=1e-12)


def test_gwets_coefficients_are_their_definitions_in_fractions() -> None:
    counts = np.array([[7, 2, 1], [3, 5, 0], [0, 1, 4]])
    n, size = int(counts.sum()), 3
    share = [Fraction(int(counts[k].sum() + counts[:, k].sum()), 2 * n) for k in range(size)]
    for name in ("none", "quadratic"):
        far = Fraction((size - 1) ** 2)
        alike = [
            [Fraction(int(i == j)) if name == "none" else 1 - Fraction((i - j) ** 2) / far for j in range(size)]
            for i in range(size)
        ]
        agree = sum(alike[i][j] * int(counts[i, j]) for i in range(size) for j in range(size)) / n
        chance = sum(map(sum, alike)) / Fraction(size * (size - 1)) * sum(p * (1 - p) for p in share)
        assert float(gwet(counts.astype(float), name)) == pytest.approx(float((agree - chance) / (1 - chance)))


def test_statistics_per_query_and_in_resamples_are_those_of_the_labels_chosen() -> None:
    human, judge = labelled(5, grades=3, judges=1)
    confusion = Confusion.of(JudgeTable.of(human, {"j": judge}), "j")
    for q, query in enumerate(confusion.queries):
        alone = Confusion.of(JudgeTable.of({query: human[query]}, {"j": {query: judge[query]}}), "j")
        for name in ("agreement", "mae", "bias", "spearman", "alpha_nominal"):
            of_query = STATISTICS[name](confusion.by_query, confusion.grades)[q]
            assert of_query == pytest.approx(alone.statistics()[name], nan_ok=True)
    size = len(confusion.queries)
    drawn = np.random.default_rng(42).integers(0, size, (7, size))
    resampled = confusion.resampled(draws=7)
    for draw, chosen in enumerate(drawn):
        counts = confusion.by_query[chosen].sum(axis=0)
        for name, of in STATISTICS.items():
            assert resampled[name][draw] == pytest.approx(float(of(counts, confusion.grades)), nan_ok=True)
    table = cal.Experiment(human, None).judges({"j": judge}).intervals(draws=200)
    for _, _, value, low, high in table.rows:
        assert low <= value <= high


@pytest.mark.data
def test_the_33_judges_of_llmjudge_agree_with_the_published_figures(data: Path) -> None:
    folder = data / "judges/llmjudge"
    rows = {
        row["judge"]: row for row in rows_of(run("judges", folder / "qrels.txt", folder / "labels", "--format", "csv"))
    }
    assert len(rows) == 33
    with open(folder / "published.csv", encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    assert len(published) == 21
    for judge in published:
        ours = rows[judge["judge"]]
        assert (f"{float(ours['kappa']):.4f}", f"{float(ours['alpha']):.4f}") == (judge["kappa"], judge["alpha"])


# -- scales ------------------------------------------------------------------------------------------


def test_other_scales_are_refused_with_both_shown_or_mapped(tmp_path: Path) -> None:
    human, judge = labelled(1, grades=4, judges=1, gaps=0)
    binary = {q: {d: float(g >= 2) for d, g in of.items()} for q, of in judge.items()}
    halves = {q: {d: g / 2 for d, g in of.items()} for q, of in judge.items()}
    files = [
        write(tmp_path / name, graded) for name, graded in (("h.txt", human), ("b.txt", binary), ("f.txt", halves))
    ]
    for file, shown in ((files[1], "0, 1"), (files[2], "0, 0.5, 1, 1.5")):
        assert f"are {shown}, those of the human 0, 1, 2, 3: these are different scales" in refused(
            "judges", files[0], file
        )
    mapped = cal.Experiment(files[0], None).judges(files[1], map="human:>=2").table()
    by_hand = cal.Experiment({q: {d: float(g >= 2) for d, g in of.items()} for q, of in human.items()}, None).judges(
        {"b": binary}
    )
    assert mapped.rows[0][1:] == by_hand.table().rows[0][1:]
    tabled = cal.Experiment(files[0], None).judges(files[1], map={"human": {0: 0, 1: 0, 2: 1, 3: 1}}).table()
    assert tabled.rows == mapped.rows
    steps = cal.Experiment(files[0], None).judges(files[2], map="f:>=0.5,1,1.5").confusion["f"]
    assert steps.counts.tolist() == cal.Experiment(human, None).judges({"j": judge}).confusion["j"].counts.tolist()
    same = rows_of(run("judges", files[0], files[1], "--map", "same", "--format", "csv"))
    agree = np.mean([human[q][d] == binary[q][d] for q in human for d in human[q]])
    assert float(same[0]["agreement"]) == pytest.approx(agree)
    for wrong, said in (
        ("human:two", "cannot read the map"),
        ("human:>=nan", "cannot read the map"),
        ("human:0=0,1=1,2=inf,3=3", "cannot read the map"),
        ("human:0=0,0=1,1=1,2=2,3=3", "changes the same grade twice"),
        ("nobody:>=2", "nobody"),
        ("human:0=0,1=1", "grade 2 of human"),
    ):
        with pytest.raises(CalipersError, match=said):
            cal.Experiment(files[0], None).judges(files[1], map=wrong)


def test_a_stray_label_and_a_judge_that_spares_a_grade_are_on_the_scale() -> None:
    scale = np.tile(np.arange(4.0), 300)
    assert on_one_scale(scale, np.append(scale, 10.0))
    assert on_one_scale(scale, scale[scale != 3])
    assert on_one_scale(scale, scale[scale != 2])
    assert on_one_scale(scale, np.zeros(9))
    assert not on_one_scale(scale, np.tile(np.arange(6.0), 50))
    assert not on_one_scale(scale, np.array([0.0, 1.0]))


# -- input -------------------------------------------------------------------------------------------


def test_the_columns_are_those_promised_and_judges_go_by_their_files(collection: Path) -> None:
    result = run(
        "judges", collection / "human.qrels", collection / "llm-a.qrels", collection / "llm-b.qrels", "--format", "csv"
    )
    assert result.stdout.splitlines()[0] == FIRST
    rows = rows_of(result)
    assert [row["judge"] for row in rows] == ["llm-a", "llm-b"]
    assert [row["missing"] for row in rows] == ["1", "0"]
    assert "lacks labels of the human" in result.stderr
    for systems in (collection / "runs", f"{collection}/runs/*"):
        result = run(
            "judges",
            collection / "human.qrels",
            f"{collection}/llm-*.qrels",
            "--systems",
            systems,
            "-m",
            "nDCG@10 AP",
            "--format",
            "csv",
        )
        assert result.stdout.splitlines()[0] == SECOND
        assert [(row["judge"], row["measure"]) for row in rows_of(result)] == [
            (judge, measure) for judge in ("llm-a", "llm-b") for measure in ("nDCG@10", "AP")
        ]


def test_bad_input_is_answered_by_one_clear_line(tmp_path: Path) -> None:
    human = {"1": {"a": 1.0, "b": 0.0}, "2": {"c": 2.0, "d": 0.0}}
    first = write(tmp_path / "human.qrels", human)
    cases = {
        "have no query in common": {"q1": {"a": 1.0, "b": 0.0}},
        "judged no document in common": {"1": {"x": 1.0, "y": 0.0}},
    }
    for said, graded in cases.items():
        assert said in refused("judges", first, write(tmp_path / "llm.qrels", graded))
    (tmp_path / "twice.qrels").write_text("1 0 a 1\n1 0 a 1\n1 0 b 0\n2 0 c 2\n")
    result = run("judges", first, tmp_path / "twice.qrels")
    assert result.exit_code == 0
    assert "1 label given twice" in result.stderr
    (tmp_path / "torn.qrels").write_text("1 0 a 1\n1 0 b 0\n1 0 a 2\n")
    with pytest.raises(CalipersError, match=r"torn.qrels:3: .*judged 2 here and 1 before"):
        cal.Experiment(first, None).judges(tmp_path / "torn.qrels")
    assert "; calipers convert --combine makes one grade" in refused("judges", first, tmp_path / "torn.qrels")
    assert "; --combine makes one grade" in refused("evaluate", tmp_path / "torn.qrels", tmp_path / "torn.qrels")
    (tmp_path / "a.run").write_text("1 Q0 a 1 2.5 x\n")  # as the shell expands a pattern without quotes
    assert "looks like a run; runs follow --systems" in refused("judges", first, tmp_path / "a.run")
    with pytest.raises(CalipersError, match="named twice"):
        cal.Experiment(first, None).judges([tmp_path / "twice.qrels", tmp_path / "twice.qrels"])
    assert "expected judges after the judgments of people" in refused("judges", first)
    assert "needs runs" in refused("judges", first, tmp_path / "twice.qrels", "--correct")


def test_a_file_beside_itself_agrees_in_everything(collection: Path) -> None:
    human = collection / "human.qrels"
    (row,) = rows_of(run("judges", human, human, "--format", "csv"))
    assert (row["judge"], row["kappa"], row["alpha"], row["bias"]) == ("human", "1.0", "1.0", "0.0")
    for row in rows_of(run("judges", human, human, "--systems", collection / "runs", "-m", "AP", "--format", "csv")):
        assert (row["tau"], row["largest_drop"], row["dropped_system"]) == ("1.0", "0", "")
        assert (row["conflict"], row["missed"], row["false"]) == ("0", "0", "0")
    assert cal.Experiment(human, None).judges(human, map="human:>=1").judge_table.scale("human").grades == (0.0, 1.0)
    with pytest.raises(TypeError, match="depht"):
        cal.Experiment(human, None).judges(human, depht=3)  # type: ignore[call-arg]  # as somebody may type it


def test_one_grade_only_is_said(tmp_path: Path) -> None:
    same = {"1": {"a": 1.0, "b": 1.0}, "2": {"c": 1.0}}
    result = run("judges", write(tmp_path / "h.qrels", same), write(tmp_path / "j.qrels", same), "--format", "csv")
    (row,) = rows_of(result)
    assert (row["kappa"], row["kappa_linear"], row["alpha"], row["agreement"]) == ("", "", "", "1.0")
    assert "kappa is undefined: the human and the judge gave one grade only (1)" in result.stderr
    human = {"1": {"a": 3.0, "b": 0.0}, "2": {"c": 1.0}}
    result = run("judges", write(tmp_path / "h.qrels", human), write(tmp_path / "j.qrels", same), "--format", "csv")
    assert rows_of(result)[0]["kappa"] == "0.0"
    assert "gave one grade only" in result.stderr


# -- systems -----------------------------------------------------------------------------------------


def test_effects_are_those_of_evaluating_under_either(collection: Path) -> None:
    judged = {name: cal.read_qrels(collection / f"{name}.qrels") for name in ("human", "llm-b")}
    runs = cal.read_runs(str(collection / "runs"))
    found = cal.Experiment(judged["human"], runs, ["nDCG@10", "P@5"]).judges({"llm-b": judged["llm-b"]})
    scores = {name: cal.evaluate(known, runs, ["nDCG@10", "P@5"]) for name, known in judged.items()}
    tested = {name: cal.compare(each) for name, each in scores.items()}
    for row in found.effects().rows:
        cells = dict(zip(found.effects().columns, row, strict=True))
        m = scores["human"].measures.index(str(row[1]))
        ours, theirs = (scores[name].values[m].mean(axis=1) for name in ("human", "llm-b"))
        for column, kind in (("tau", "tau-b"), ("tau_ap", "tau_AP"), ("rho", "spearman")):
            assert cells[column] == pytest.approx(cal.statistics.rank_correlation(ours, theirs, kind))
        names = scores["human"].systems
        assert cells["rbo"] == pytest.approx(
            cal.statistics.rbo(dict(zip(names, ours, strict=True)), dict(zip(names, theirs, strict=True))).value
        )
        four = {"agree": 0, "conflict": 0, "missed": 0, "false": 0}
        for p in range(len(tested["human"].a)):
            yes = [bool(tested[name].significant[m, p]) for name in ("human", "llm-b")]
            sign = [np.sign(tested[name].outcomes[m].difference[p]) for name in ("human", "llm-b")]
            group = {(True, False): "missed", (False, True): "false"}.get((yes[0], yes[1]))
            if all(yes):
                group = "agree" if sign[0] == sign[1] else "conflict"
            if group:
                four[group] += 1
        assert {name: cells[name] for name in four} == four
        ranks = [rankdata(-of) for of in (ours, theirs)]
        assert cells["largest_drop"] == (ranks[1] - ranks[0]).max()
        assert cells["dropped_system"] in [
            names[s] for s in np.flatnonzero(ranks[1] - ranks[0] == cells["largest_drop"])
        ]


def test_only_queries_of_both_count_and_conflicts_are_found() -> None:
    human = {f"q{i}": {"a": 1.0, "b": 0.0} for i in range(6)}
    judge = {f"q{i}": {"a": 0.0, "b": 1.0} for i in range(3, 9)}
    runs = {
        name: {f"q{i}": {"a": 2.0 * better, "b": 1.0} for i in range(9)} for name, better in (("up", 1), ("down", 0))
    }
    runs["up"]["q4"] = runs["down"]["q4"] = {"c": 2.0}  # so that the differences vary
    (row,) = cal.Experiment(human, runs, "P@1").judges({"j": judge}, alpha=0.4).effects().rows
    assert row[2:6] == (-1.0, -1.0, -1.0, cal.statistics.rbo(["up", "down"], ["down", "up"]).value)
    assert row[6:] == (1, "up", 0, 1, 0, 0)
    assert largest_drop(np.array([3.0, 2.0, 1.0]), np.array([3.0, 2.0, 1.0])) == (0, None)


def test_families_gain_what_their_systems_gain(collection: Path, tmp_path: Path) -> None:
    found = cal.Experiment(collection / "human.qrels", str(collection / "runs"), "nDCG@10").judges(
        collection / "llm-b.qrels"
    )
    systems = found.effect.systems
    gained = {row[2]: row[7] for row in found.ranks().rows}
    groups = {system: "ours" if s < 2 else "theirs" for s, system in enumerate(systems)}
    ours, theirs = ([gained[s] for s in systems if groups[s] == name] for name in ("ours", "theirs"))
    table = found.families(groups, draws=100)
    assert table.rows[0][4] == pytest.approx(np.mean(ours) - np.mean(theirs))
    assert sum(float(gain) for gain in gained.values()) == pytest.approx(0)
    path = tmp_path / "groups.csv"
    path.write_text("system,group\n" + "".join(f"{s},{g}\n" for s, g in groups.items()))
    rows = rows_of(
        run(
            "judges",
            collection / "human.qrels",
            collection / "llm-b.qrels",
            "--systems",
            collection / "runs",
            "-m",
            "nDCG@10",
            "--groups",
            path,
            "--draws",
            "100",
            "--format",
            "csv",
        )
    )
    assert [row["group"] for row in rows] == ["ours", "theirs"]
    assert float(rows[0]["gained"]) == pytest.approx(table.rows[0][4])


# -- repair ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("within", [None, (-2.0, 8.0)])
def test_the_repaired_mean_is_its_formula(within: tuple[float, float] | None) -> None:
    random = np.random.default_rng(4)
    y, f, others = random.random((3, 9)), random.random((3, 9)), random.random((3, 14))
    f = (y + f) / 2
    y[2] = y[2] ** 8  # skewed
    others[1, 0] = 7.0  # a query on which only the judge sees anything: heavy tails
    found = prediction_powered(y, f, others, within=within)
    weight = cross_fitted(y, f, others)
    for row in range(3):
        every = np.array([*f[row], *others[row]])  # the judge labelled them all
        assert len(set(np.round(weight[row], 12))) == 2  # a weight for either half, from the other one
        for value in set(weight[row]):
            outside = weight[row] != value
            covariance = np.cov(y[row, outside], f[row, outside])[0, 1]
            assert value == pytest.approx(np.clip(covariance / ((1 + 9 / 14) * np.var(every, ddof=1)), 0, 1))
        theta = np.mean(y[row] - weight[row] * f[row]) + weight[row].mean() * others[row].mean()
        assert found.value[row] == pytest.approx(theta)
        corrected = y[row] - weight[row] * (f[row] - others[row].mean())
        spread = np.var(corrected, ddof=1)
        spread += linregress(f[row], corrected).slope ** 2 * (np.var(every, ddof=1) - np.var(f[row], ddof=1))
        own, judges = (kstat(x, 3) / np.var(x, ddof=1) ** 1.5 for x in (corrected, every))
        used = weight[row].mean()
        error = math.sqrt(spread / 9 + used**2 * np.var(others[row], ddof=1) / 14)
        third = (9 * own + 23 * judges) / 32 * spread**1.5 / 9**2 + used**3 * kstat(others[row], 3) / 14**2
        excess = max(kurtosis(every) - judges**2, 0)
        ends = _hall(theta, error, third, 2 / (excess / 9 + 2 / 8))
        carrying = min(1 / max(kurtosis(y[row], fisher=False, bias=False), 1), 1 / kurtosis(every, fisher=False))
        if found.sparse[row]:
            query = spread, (9 * own + 23 * judges) / 32
            if within is None:  # one query more, as far out as any of the human's or the judge's
                part, farthest = 1.0, max(np.abs(x - x.mean()).max() for x in (corrected, every))
                away = -farthest, farthest
            else:  # part of one, at the end of the range: as much as the chance that nine queries miss it
                part, away = max((1 - carrying) ** 9, 0.05), (within[0] - theta, within[1] - theta)
            lower, upper = (_more(theta, query, used, others[row], excess, side, part) for side in away)
            ends = lower[0], upper[1]
        assert (found.low[row], found.high[row]) == pytest.approx(ends, abs=1e-9)
        by_hand = _hall(y[row].mean(), sem(y[row]), kstat(y[row], 3) / 9**2, 8)
        assert (found.human_low[row], found.human_high[row]) == pytest.approx(by_hand)
        assert found.carried_by[row] == pytest.approx(9 * carrying)
        assert found.sparse[row] == ((1 - carrying) ** 9 > 0.05 or carrying < 1 / 6)
    assert found.sparse.tolist() == [False, True, True]
    assert best_weight(y, -f, 9, 14).tolist() == [0.0] * 3
    useless = prediction_powered(y, np.ones_like(y), np.ones_like(others), within=within)
    assert np.allclose(useless.value, y.mean(axis=1))
    assert useless.sparse.tolist() == [False, False, True]
    assert np.allclose((useless.high - useless.low)[:2], (useless.human_high - useless.human_low)[:2])
    assert np.allclose(useless.worth, 0)
    even = np.array([[0.1, 0.2, 0.3, 0.4, 0.5]])  # no skewness: Student's interval
    plain = prediction_powered(even, even * 0, np.zeros((1, 2)))
    assert (plain.low[0], plain.high[0]) == pytest.approx(t.interval(0.95, 4, loc=0.3, scale=sem(even[0])))


def _more(
    theta: float, query: tuple[float, float], used: float, others: np.ndarray, excess: float, away: float, part: float
) -> tuple[float, float]:
    """Hall's interval of nine queries of this variance and skewness, and part of one so far away from their mean."""
    spread, skewness = query
    size = 9 + part
    variance = ((8 * spread + part * away**2) / size - (part * away / size) ** 2) * size / (size - 1)
    error = math.sqrt(variance / size + used**2 * np.var(others, ddof=1) / 14)
    third = skewness * spread**1.5 / size**2 + used**3 * kstat(others, 3) / 14**2
    return _hall(theta + part * away / size, error, third, 2 / (excess / size + 2 / (size - 1)))


def _hall(mean: float, error: float, third: float, degrees: float) -> tuple[float, float]:
    """Where g(T) meets Student's quantiles, found by bisection."""
    a = third / error**3

    def solved(wanted: float) -> float:
        return float(brentq(lambda x: x + a * x**2 / 3 + a**2 * x**3 / 27 + a / 6 - wanted, -999, 999))

    reach = t.ppf(0.975, degrees)
    return mean - error * solved(reach), mean - error * solved(-reach)


def test_a_judge_that_saw_more_variance_elsewhere_widens_the_interval() -> None:
    """Two systems differ on three queries of thirty, none of which people judged: only the judge knows of them."""
    random = np.random.default_rng(8)
    f, others = random.normal(0, 0.01, (1, 12)), random.normal(0, 0.01, (1, 18))
    y = f + random.normal(0, 0.002, (1, 12))
    before = prediction_powered(y, f, others)
    others[0, :3] = 0.5, -0.4, 0.6
    after = prediction_powered(y, f, others)
    assert not before.sparse[0]
    assert after.sparse[0]
    assert after.high[0] - after.low[0] > 5 * (before.high[0] - before.low[0])


def test_the_number_of_queries_that_halves_the_interval() -> None:
    random = np.random.default_rng(1)
    y = random.random((1, 20))
    useless = random.random((1, 20)) * 0
    found = prediction_powered(y, useless, np.zeros((1, 30)))

    def width(n: int) -> float:
        low, high = skewed_interval(np.zeros(1), y.var(ddof=1) / n, kstat(y[0], 3) / n**2, n - 1)
        return float(high[0] - low[0])

    more = int(found.to_halve[0])
    assert width(20) == pytest.approx(found.high[0] - found.low[0])
    assert width(20 + more) <= width(20) / 2 < width(20 + more - 1)


def test_where_all_human_scores_are_the_same_the_range_of_the_measure_makes_the_interval() -> None:
    """On 15 draws of 43 queries of which 41 score 1, half have nothing but 1: a point would miss the truth there."""
    y = np.array([[1.0] * 15, [0.3] * 14 + [0.4]])
    nothing = np.zeros((2, 9))
    unknown = prediction_powered(y, y * 0, nothing)
    assert np.isnan([unknown.low[0], unknown.high[0], unknown.human_low[0], unknown.to_halve[0]]).all()
    assert unknown.low[1] < unknown.value[1] < unknown.high[1]
    known = prediction_powered(y, y * 0, nothing, within=(0, 1))
    assert known.sparse.all()
    assert known.high[0] == 1
    assert known.low[0] == pytest.approx(t.interval(0.95, 15, loc=15 / 16, scale=sem([1] * 15 + [0]))[0])
    assert known.low[0] ** 15 < 0.05  # a truth below is as rare as promised where 15 queries are all 1
    assert known.to_halve[0] > 0
    queries = [f"q{i}" for i in range(12)]
    judged = {q: {"a": 1.0, "b": float(i % 2)} for i, q in enumerate(queries)}
    runs = {"one": {q: {"a": 2.0, "b": 1.0} for q in queries}, "two": {q: {"a": 1.0, "b": 2.0} for q in queries}}
    found = cal.Experiment({q: judged[q] for q in queries[:6]}, runs, ["RR", "DCG@1"]).judges({"llm": judged})
    for table in (found.correct(), found.correct_differences()):
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        bound = 0 if "system" in table.columns else -1
        assert all(
            bound <= row["low"] <= row["corrected"] <= row["high"] <= 1 for row in rows if row["measure"] == "RR"
        )
    (one, _) = (row for row in found.correct().rows if row[1] == "DCG@1")
    assert one[6:8] == (None, None)  # the range of DCG is not known
    assert any("DCG@1: 1 of 2 rows have the same score on all queries" in line for line in helped(found.correct()))


def test_correct_repairs_scores_from_part_of_the_judgments(collection: Path) -> None:
    common = ("--systems", collection / "runs", "-m", "nDCG@10", "--correct", "--format", "csv")
    result = run("judges", collection / "part.qrels", collection / "llm-a.qrels", *common)
    rows = rows_of(result)
    assert {(row["n"], row["others"]) for row in rows} == {("6", "6")}
    assert "would halve the interval" in result.stderr
    runs = cal.read_runs(str(collection / "runs"))
    human = cal.evaluate(collection / "part.qrels", runs, "nDCG@10").values[0].mean(axis=1)
    judged = cal.evaluate(collection / "llm-a.qrels", runs, "nDCG@10").values[0].mean(axis=1)
    for row, ours, theirs in zip(rows, human, judged, strict=True):
        assert float(row["human"]) == pytest.approx(ours)
        assert float(row["judged"]) == pytest.approx(theirs)
        assert float(row["low"]) <= float(row["corrected"]) <= float(row["high"])
    pairs = rows_of(
        run(
            "judges",
            collection / "part.qrels",
            collection / "llm-a.qrels",
            *common[:4],
            "--show",
            "differences",
            "--format",
            "csv",
        )
    )
    assert float(pairs[0]["human"]) == pytest.approx(human[0] - human[1])
    table = (
        cal.Experiment(collection / "part.qrels", runs, "nDCG@10")
        .judges(collection / "llm-a.qrels")
        .correct_differences()
    )
    sparse = sum(row["sparse"] == "yes" for row in pairs)
    assert sparse
    assert any(f"differences of nDCG@10: in {sparse} of {len(pairs)} rows 6 queries" in line for line in helped(table))
    assert "nothing to correct" in refused("judges", collection / "human.qrels", collection / "llm-a.qrels", *common)


@pytest.mark.data
def test_repaired_intervals_cover_the_truth_on_resampled_queries_of_dl19(data: Path) -> None:
    """2,000 draws of 43 queries with replacement, of which people judged 15 or 30: every other system, every 24th pair.

    Over rows and draws, the intervals of means, and of differences, hold the truth in 92% to 98% of draws, under every
    measure. So does each row that is hardly ever called sparse; of all rows fewer than 1 in 100 are below 92%.
    """
    qrels, runs = data / "trec/qrels/qrels.dl19-passage.txt.xz", str(data / "trec/dl19-passage/runs")
    found = cal.Experiment(qrels, runs, "nDCG@10 AP P@10 ERR@10 RR").judges(data / "judges/dl19")
    random = np.random.default_rng(42)
    systems = range(len(found.effect.systems))
    both = [found.effect.common(judge) for judge in found.judges]
    kinds = [(s, None) for s in systems[::2]], list(combinations(systems, 2))[::24]
    every = []
    for m, n, rows in product(range(len(found.effect.measures)), (15, 30), kinds):
        shares, said = np.zeros(len(rows)), np.zeros(len(rows))
        for i, (a, b) in enumerate(rows):
            y, f = (x.values[m][a] - (0 if b is None else x.values[m][b]) for x in both[i % len(both)])
            drawn = random.integers(0, len(y), (2000, len(y)))
            known, rest = drawn[:, :n], drawn[:, n:]
            within = (0 if b is None else -1, 1)
            estimate = prediction_powered(y[known], f[known], f[rest], ahead=0, within=within)
            shares[i] = ((estimate.low <= y.mean()) & (y.mean() <= estimate.high)).mean()
            said[i] = estimate.sparse.mean()
        where = found.effect.measures[m], n
        assert 0.92 <= shares.mean() <= 0.98, (*where, shares.mean())
        dense = shares[said < 0.05]
        assert ((dense >= 0.92) & (dense <= 0.98)).all(), (*where, dense.min(), dense.max())
        every.append(shares)
    assert (np.concatenate(every) < 0.92).mean() < 0.01


# -- combination -------------------------------------------------------------------------------------


def _likelihood(labels: np.ndarray, prior: np.ndarray, confusion: np.ndarray) -> float:
    """The log likelihood, summing over every assignment of true grades to all documents."""
    judges, documents = labels.shape
    total = 0.0
    for truth in product(range(len(prior)), repeat=documents):
        chance = 1.0
        for i, k in enumerate(truth):
            chance *= prior[k]
            for j in range(judges):
                if not np.isnan(labels[j, i]):
                    chance *= confusion[j, k, int(labels[j, i])]
        total += chance
    return math.log(total)


@pytest.mark.parametrize("seed", range(4))
def test_dawid_and_skenes_em_agrees_with_the_likelihood_by_brute_force(seed: int) -> None:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, 6)
    labels = np.where(random.random((3, 6)) < 0.75, truth, 1 - truth).astype(float)
    labels[0, 2] = labels[1, 5] = np.nan
    found = dawid_skene(labels)
    assert found.grades.tolist() == [0.0, 1.0]
    assert np.all(np.diff(found.log_likelihood) >= -1e-9)
    assert found.log_likelihood[-1] == pytest.approx(_likelihood(labels, found.prior, found.confusion), abs=1e-6)
    given = (labels[:, :, None] == found.grades).astype(float)
    posterior, _ = expected(given, found.prior, found.confusion)
    for i in range(6):  # Bayes, document by document
        chance = [
            found.prior[k] * math.prod(found.confusion[j, k, int(x)] for j, x in enumerate(labels[:, i]) if x == x)
            for k in range(2)
        ]
        assert posterior[i] == pytest.approx(np.array(chance) / sum(chance))
    best = _likelihood(labels, *maximised(given, posterior))
    for _ in range(30):  # no neighbour is better: EM stands on a maximum
        prior = np.abs(found.prior + random.normal(0, 0.02, 2))
        confusion = np.abs(found.confusion + random.normal(0, 0.02, found.confusion.shape))
        near = _likelihood(labels, prior / prior.sum(), confusion / confusion.sum(axis=2, keepdims=True))
        assert near <= best + 1e-4


def test_combined_judges_are_judges(collection: Path) -> None:
    labels = np.array([[0, 1, np.nan, 3], [0, 2, np.nan, 0], [1, 2, np.nan, 0], [2, 1, np.nan, np.nan]])
    assert majority(labels).tolist()[:2] == [0.0, 1.0]
    assert np.isnan(majority(labels)[2])
    files = [collection / f"llm-{x}.qrels" for x in "ab"]
    given = cal.Experiment(collection / "human.qrels", str(collection / "runs"), "nDCG@10")
    found = given.judges(files, combine=["majority", "mean", "dawid-skene"])
    assert found.judges == ("llm-a", "llm-b", "majority", "mean", "dawid-skene")
    assert [row[0] for row in found.effects().rows] == list(found.judges)
    assert not any(math.isnan(float(row[4])) for row in found.table().rows)
    known = cal.read_qrels(files[0]).to_dict(), cal.read_qrels(files[1]).to_dict()
    query, of = next(iter(known[1].items()))
    mean = found.judge_table.judgments("mean").to_dict()[query]
    for document, grade in of.items():
        other = known[0][query].get(document)
        assert mean[document] == (grade if other is None else (grade + other) / 2)
    accuracy = dict(zip(found.reliability()["judge"], found.reliability()["accuracy"], strict=True))
    assert set(accuracy) == {"llm-a", "llm-b"}


# -- on the screen -----------------------------------------------------------------------------------


SHOWN = ("agreement", "confusion", "effects", "circularity")


def test_every_table_is_written_and_drawn(collection: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    shown: Sequence[str] = [part for name in SHOWN for part in ("--show", name)]
    result = run(
        "judges",
        collection / "human.qrels",
        f"{collection}/llm-*",
        "--systems",
        collection / "runs",
        "-m",
        "P@5",
        *shown,
        "--format",
        "csv",
        "-o",
        f"{tmp_path}/",
    )
    assert result.exit_code == 0, result.output
    written = {path.stem for path in tmp_path.iterdir()}
    assert written == {*SHOWN, "confusion-llm-a", "confusion-llm-b"} - {"confusion"}
    for arguments in ((), ("--systems", collection / "runs", "-m", "P@5")):
        chart = tmp_path / "chart.svg"
        result = run("judges", collection / "human.qrels", collection / "llm-a.qrels", *arguments, "--plot", chart)
        assert result.exit_code == 0, result.output
        assert "<svg" in chart.read_text(encoding="utf-8")
        chart.unlink()


def test_several_systems_follow_one_option_as_the_shell_expands_them(collection: Path) -> None:
    runs = sorted((collection / "runs").iterdir())[:3]
    given = ["judges", collection / "human.qrels", collection / "llm-a.qrels"]
    options = ["-m", "AP", "--format", "csv"]
    once = run(*given, "--systems", *runs, *options)
    repeated = run(*given, *(word for each in runs for word in ("--systems", each)), *options)
    assert once.exit_code == 0, once.output
    assert once.stdout == repeated.stdout
    mixed = run(*given, "--systems", runs[0], runs[1], "--systems", runs[2], *options)
    assert mixed.stdout == once.stdout


def test_a_report_on_several_judgments_has_a_section_on_them(collection: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    page = tmp_path / "report.html"
    result = run(
        "report",
        collection / "human.qrels",
        *sorted((collection / "runs").iterdir()),
        "--judge",
        collection / "llm-b.qrels",
        "-m",
        "nDCG@10 AP",
        "-o",
        page,
    )
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    section = text[text.index('<section id="judges">') : text.index('<section id="queries">')]
    effects = cal.Experiment(collection / "human.qrels", str(collection / "runs"), ["nDCG@10", "AP"]).judges(
        collection / "llm-b.qrels"
    )
    assert "Nothing to show here" not in section
    assert "1 judges" not in section
    for row in effects.effects().rows:
        assert f'data-value="{row[2]!r}"' in section
    cal.Experiment(collection / "human.qrels", str(collection / "runs"), "nDCG@10").report(page)
    assert 'id="judges"' not in page.read_text(encoding="utf-8")
