"""Conventions: what the profiles say, what users can write, and that they are what the tools do."""

from __future__ import annotations

import gzip
import importlib
import os
import random
import subprocess
from collections.abc import Iterator
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli.commands import root
from calipers.conventions import CONVENTIONS, PLAIN, TOOLS, Convention, LabelRange, convention
from calipers.errors import CalipersError
from calipers.measures.registry import known_names

Groups = list[tuple[np.ndarray, np.ndarray]]  # labels and scores of each query

OBSERVED = ("letor3", "letor4", "mslr", "yahoo", "ranklib", "trec_eval", "trec_eval-9")
STATED = ("letor3:stated", "letor4:stated", "mslr:stated", "yahoo:stated", "ranklib:stated", "trec:stated")
FURTHER = ("sklearn", "lightgbm", "xgboost", "xgboost-minus", "gdeval", "ranx", "definition")
SEARCH = ("elasticsearch", "opensearch", "quepid", "mlflow", "ragas")
RECOMMENDERS = ("rectools", "recbole", "torchmetrics")
BINARY = ("mlflow", "ragas", "rectools", "recbole")
BENCHMARKS = ("beir", "mteb")
SPECIAL = ("ndeval", "ntcireval")  # which no audit compares unasked


def ranked(labels: list[int], name: str, **options: Any) -> float:
    """The score of a list with these labels, the best score first."""
    judgments = cal.Judgments.from_arrays(labels, group=[len(labels)])
    return float(cal.evaluate(judgments, -np.arange(len(labels), dtype=float), [name], **options).values[0, 0, 0])


# --- profiles ---------------------------------------------------------------------------------------------


def test_all_profiles_are_there() -> None:
    assert set(CONVENTIONS) == {*OBSERVED, *STATED, *FURTHER, *SEARCH, *RECOMMENDERS, *BENCHMARKS, *SPECIAL}
    assert set(TOOLS) == {*OBSERVED, *FURTHER, *SEARCH, *RECOMMENDERS}
    assert all(profile.sentence for profile in CONVENTIONS.values())
    assert {name for name, profile in CONVENTIONS.items() if profile.edition == "stated"} == set(STATED)


def test_names() -> None:
    assert convention("letor4:observed") is CONVENTIONS["letor4"]
    assert convention("trec") is CONVENTIONS["trec_eval"]
    assert convention("trec_eval:stated") is CONVENTIONS["trec:stated"]
    assert convention(None) is PLAIN
    assert convention("calipers") is PLAIN
    assert convention(PLAIN) is PLAIN
    with pytest.raises(CalipersError, match=r"unknown convention 'letor5'; did you mean letor\d"):
        convention("letor5")


# Labels in ranked order, the cutoff, and what each tool makes of them. MATH.md 4.
D3 = 1 / log2(3)
ONE_IF_EMPTY = ("yahoo", "yahoo:stated", "lightgbm", "xgboost")
ZERO_IF_SHORT = ("letor3", "letor4", "mslr", "letor4:stated", "mslr:stated")
VECTORS: list[tuple[list[int], int, dict[str, float]]] = [
    ([0, 1, 0], 3, {"definition": D3, "letor3": 1, "letor4": 1, "mslr": 1, "yahoo": D3, "lightgbm": D3, "sklearn": D3}),
    (
        [1, 2, 0, 0],
        3,
        {
            "definition": (1 + 3 * D3) / (3 + D3),
            "letor4": 1,
            "trec_eval": (1 + 2 * D3) / (2 + D3),
            "sklearn": (1 + 2 * D3) / (2 + D3),
            "gdeval": (1 + 3 * D3) / (3 + D3),
        },
    ),
    (
        [2, 0, 1, 0, 2],
        5,
        {"definition": 0.864220, "letor4": 0.742424, "trec_eval": 0.870236, "letor4:stated": 0.864220},
    ),
    (
        [0, 0, 0, 0, 0],
        5,
        dict.fromkeys({*CONVENTIONS} - {"ntcireval", "rectools", "recbole"}, 0.0) | dict.fromkeys(ONE_IF_EMPTY, 1.0),
    ),
    ([2, 1, 0], 5, dict.fromkeys({*CONVENTIONS} - {*BINARY}, 1.0) | dict.fromkeys(ZERO_IF_SHORT, 0.0)),
    ([0, 1, 2], 10, {"definition": 0.586883, "letor3:stated": 0.586883} | dict.fromkeys(ZERO_IF_SHORT, 0.0)),
]


@pytest.mark.parametrize(("labels", "k", "wanted"), VECTORS)
def test_vectors(labels: list[int], k: int, wanted: dict[str, float]) -> None:
    for like, score in wanted.items():
        assert ranked(labels, f"nDCG@{k}", like=like) == pytest.approx(score, abs=1e-6), like


def test_precision_of_short_lists() -> None:
    wanted = {"letor3": 0, "letor4": 2 / 5, "mslr": 1 / 5, "ranklib": 2 / 3, "trec_eval": 2 / 5}
    for like, score in wanted.items():
        assert ranked([1, 0, 2], "P@5", like=like) == pytest.approx(score), like
    assert ranked([1, 0, 1], "P@5", like="xgboost") == pytest.approx(2 / 3)


def test_err() -> None:
    seven = (2**3 - 1) / 2**3
    assert ranked([3, 0, 0], "ERR", like="yahoo") == pytest.approx(seven)  # the largest label is 3
    assert ranked([3, 0, 0], "ERR@10", like="ranklib") == pytest.approx((2**3 - 1) / 16)
    assert ranked([0, 0, 3], "ERR@2", like="gdeval") == 0
    with pytest.raises(CalipersError, match="above max_grade"):
        ranked([5, 0], "ERR@10", like="ranklib")


def test_relevance_level_and_average_precision() -> None:
    assert ranked([1, 2], "AP", like="mslr") == pytest.approx(1 / 2)
    assert ranked([1, 2], "AP", like="letor4") == 1
    assert ranked([1, 0, 1, 1], "AP@2", like="lightgbm") == pytest.approx(1 / 2)  # by min(R, k)
    assert ranked([1, 0, 1, 1], "AP@2", like="trec_eval") == pytest.approx(1 / 3)


def test_what_the_list_lacks() -> None:
    """Tools of learning to rank know nothing but the list."""
    labels, run = {"q": {"a": 1, "b": 2}, "r": {"c": 1}}, {"q": {"a": 2.0, "x": 1.0}}
    scores = cal.evaluate(labels, run, ["nDCG@10", "AP"], like="ranklib")
    assert scores.values[:, 0, 0].tolist() == [1, 1]
    assert np.isnan(scores.values[:, 0, 1]).all()
    of_pool = cal.evaluate(labels, run, ["nDCG@10", "AP"], like="definition").values[:, 0]
    np.testing.assert_allclose(of_pool, [[1 / (3 + D3), 0], [1 / 2, 0]])
    # A list without a relevant document is an empty query for such a tool, whatever else is judged.
    unlucky = {"q": {"x": 1.0}, "r": {"c": 1.0}}
    assert cal.evaluate(labels, unlucky, ["nDCG@10"], like="yahoo").values[0, 0].tolist() == [1, 1]
    assert cal.evaluate(labels, unlucky, ["nDCG@10"], like="xgboost-minus").values[0, 0].tolist() == [0, 1]
    assert cal.evaluate(labels, run, ["nDCG@10"], like="yahoo", missing=0.0).values[0, 0].tolist() == [1, 0]


def test_explicit_parameters_win() -> None:
    labels = [0, 2, 1]
    assert ranked(labels, "nDCG(short=pad)@5", like="letor4") > 0
    both = ranked(labels, "nDCG(gain=linear,discount=log2,short=pad)@5", like="letor4")
    assert both == pytest.approx(ranked(labels, "nDCG@5"))
    assert ranked([0, 0], "nDCG@5", like="yahoo", empty=0.25) == 0.25
    assert ranked(labels, "P(rel=1)@1", like="mslr") == 0
    assert ranked([1, 2], "P(rel=1)@1", like="mslr") == 1
    assert ranked(labels, "nDCG@5", like="letor4") == 0
    measure = cal.parse("nDCG@5")
    assert ranked(labels, measure, like="letor4") == ranked(labels, "nDCG@5")


def test_conventions_leave_other_measures_alone() -> None:
    for name in ("RBP", "Weighted@10", "RR", "Recall@10", "bpref"):
        assert ranked([0, 2, 1], name, like="letor4") == ranked([0, 2, 1], name)


def test_normalised_measures_follow_the_convention_inside() -> None:
    scores = cal.evaluate(
        {"q": {"a": 0, "b": 1, "c": 0}}, {"q": {"b": 2, "a": 1, "c": 0}}, ["V2(nDCG@3)"], like="letor4"
    )
    assert repr(scores.definitions[0]) == "V2(nDCG(gain=exp, discount=jk2, short=zero, ideal=list)@3)"
    assert scores.values[0, 0, 0] == 1
    assert scores.metadata["like"] == "letor4"
    # Empty queries stay out of V2, whatever a tool counts for them.
    assert np.isnan(ranked([0, 0, 0], "V2(nDCG@2)", like="yahoo"))


def test_bounds_like_a_tool() -> None:
    judgments = {"q": {"a": 1, "b": 2, "c": 0}}
    found = cal.bounds(judgments, "DCG@2", like="letor4")
    assert found.ideal["DCG@2"].tolist() == [4]  # ranks 1 and 2 weigh the same
    assert cal.bounds(judgments, "nDCG@10", like="letor4").ideal["nDCG@10"].tolist() == [0]


# --- labels that a profile cannot express -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("like", "label", "message"),
    [
        ("letor4", 3, "label 3 of query '2' .* 'letor4' .* whole numbers from 0 to 2"),
        ("letor3", -1, "label -1 .* 'letor3'"),
        ("mslr", 1.5, "label 1.5 .* 'mslr'"),
        ("gdeval", 5, "label 5 .* whole numbers up to 4"),
        ("lightgbm", 31, "label 31 .* from 0 to 30"),
        ("sklearn", -2, "label -2 .* numbers from 0 on"),
    ],
)
def test_labels_beyond_a_profile(like: str, label: float, message: str) -> None:
    judgments = cal.Judgments.from_arrays([0, 1, label], group=[2, 1])
    with pytest.raises(CalipersError, match=message):
        cal.evaluate(judgments, np.zeros(3), "nDCG@10", like=like)


def test_xgboosts_map_takes_binary_labels() -> None:
    assert ranked([2, 0], "nDCG@10", like="xgboost") == 1
    with pytest.raises(CalipersError, match=r"label 2 .* AP of 'xgboost'"):
        ranked([2, 0], "AP@10", like="xgboost")


# --- conventions of one's own -----------------------------------------------------------------------------


def test_own_in_python() -> None:
    ours = Convention("ours", gain={1: 1, 2: 5}, short={"P": "n"}, empty="skip")
    assert ranked([1, 2], "nDCG@5", like=ours) == pytest.approx((1 + 5 * D3) / (5 + D3))
    assert ranked([1], "P@5", like=ours) == 1
    assert np.isnan(ranked([0], "nDCG@5", like=ours))
    for wrong in ({"gain": "cubic"}, {"short": "long"}, {"empty": "maybe"}, {"ties": "first"}, {"discount": "jk"}):
        with pytest.raises(CalipersError, match=next(iter(wrong))):
            Convention("ours", **wrong)
    assert str(LabelRange(whole=True)) == "whole numbers"


def test_a_long_value_is_not_repeated_whole() -> None:
    with pytest.raises(CalipersError) as caught:
        Convention("x" * 3000, gain="y" * 3000)
    assert len(caught.value.message) < 400


# --- means over cutoffs, and the other parameters of measures ---------------------------------------------


@pytest.mark.parametrize("ideal", ["pool", "list"])
@pytest.mark.parametrize("ties", ["average", "input"])
def test_mean_ndcg_is_the_mean_over_the_cutoffs(ideal: str, ties: str) -> None:
    draw = random.Random(3)
    for _ in range(40):
        pool = {f"d{i}": draw.choice([0, 0, 1, 2]) for i in range(draw.randint(1, 9))}
        run = {d: float(draw.randint(0, 4)) for d in pool if draw.random() < 0.8} | {"x": 2.0}
        n = len(run) if ideal == "list" else len(pool)

        def score(name: str, pool: Any = pool, run: Any = run) -> float:
            options: dict[str, Any] = {"ties": ties, "empty": "skip", "missing": "skip", "unmatched": "warn"}
            return float(cal.evaluate({"q": pool}, {"q": run}, [name], **options).values[0, 0, 0])

        cuts = [score(f"nDCG(ideal={ideal})@{k}") for k in range(1, n + 1)]
        assert score(f"MeanNDCG(ideal={ideal})") == pytest.approx(np.mean(cuts), nan_ok=True)
        few = min(3, n)
        assert score(f"MeanNDCG(ideal={ideal})@3") == pytest.approx(np.mean(cuts[:few]), nan_ok=True)


def test_short_lists() -> None:
    pool, run = {"q": {"a": 1, "b": 1, "c": 2}}, {"q": {"a": 2.0, "x": 1.0}}

    def score(name: str) -> float:
        return float(cal.evaluate(pool, run, [name]).values[0, 0, 0])

    assert score("nDCG(short=pad)@3") == pytest.approx(1 / (2 + D3 + 1 / 2))
    assert score("nDCG(short=n)@3") == pytest.approx(1 / (2 + D3))
    assert score("nDCG(short=zero)@3") == 0
    assert score("nDCG(short=zero)@2") == score("nDCG@2")
    assert [score(f"P(short={rule})@4") for rule in ("pad", "n", "zero")] == [1 / 4, 1 / 2, 0]
    for wrong in ("nDCG(short=x)", "nDCG(ideal=x)", "nDCG(averaged=x)", "P(short=x)@3", "AP(ideal=x)"):
        with pytest.raises(CalipersError, match="is not one of"):
            cal.parse(wrong)


# --- the option -------------------------------------------------------------------------------------------


@pytest.fixture
def letor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [(2, 1), (0, 1), (0, 2), (0, 2), (3, 3), (1, 3)]
    Path("test.svm").write_text(
        "".join(f"{label} qid:{q} 1:0.5 #docid = D{i}\n" for i, (label, q) in enumerate(rows)), encoding="utf-8"
    )
    Path("small.svm").write_text("".join(f"{min(label, 2)} qid:{q} 1:0.5\n" for label, q in rows), encoding="utf-8")
    Path("a.txt").write_text("0.1\n0.2\n0.3\n0.4\n0.5\n0.6\n", encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(root, list(arguments))


def test_like_on_the_command_line(letor: Path) -> None:
    done = run("evaluate", "small.svm", "a.txt", "-m", "nDCG@2", "--like", "yahoo", "--format", "csv")
    assert "like yahoo: " + CONVENTIONS["yahoo"].sentence in done.stderr
    assert "1 of 3 queries for nDCG@2: no relevant document; counted as 1" in done.stderr
    assert done.stdout.splitlines()[0] == "system,nDCG@2"
    assert "yahoo" not in done.stdout
    done = run("evaluate", "small.svm", "a.txt", "-m", "nDCG@2", "--like", "yahoo", "--format", "json")
    assert '"like": "yahoo"' in done.stdout
    assert '"like"' not in run("evaluate", "small.svm", "a.txt", "-m", "nDCG@2", "--format", "json").stdout
    assert run("bounds", "small.svm", "-m", "nDCG@2", "--like", "letor4").exit_code == 0
    assert run("queries", "small.svm", "a.txt", "-m", "nDCG@2", "--like", "letor4").exit_code == 0


def test_like_refuses_labels_and_profiles(letor: Path) -> None:
    done = run("evaluate", "test.svm", "a.txt", "-m", "nDCG@2", "--like", "letor4")
    assert isinstance(done.exception, CalipersError)
    assert str(done.exception).startswith("test.svm: label 3 of query '3'")
    done = run("evaluate", "small.svm", "a.txt", "--like", "ours.toml")
    assert "left Calipers in 0.4: use `like=cal.conventions.convention" in str(done.exception)
    done = run("evaluate", "small.svm", "a.txt", "--like", "letor9")
    assert "unknown convention 'letor9'" in str(done.exception)


# --- parity with the scripts ------------------------------------------------------------------------------


def printed(path: Path) -> dict[tuple[str, str], str]:
    """{(query, column): figure} of a script's output."""
    figures = {}
    for block in gzip.decompress(path.read_bytes()).decode().strip().split("\n\n"):
        head, *rows = (line.split("\t") for line in block.splitlines())
        for row in rows:
            figures.update({(row[0], column): cell for column, cell in zip(head[1:], row[1:], strict=True)})
    return figures


@pytest.mark.data
@pytest.mark.parametrize("feature", [11, 25, 39])
@pytest.mark.parametrize(("like", "script"), [("letor4", "4.0"), ("mslr", "MSLR")])
def test_the_scripts_digit_for_digit(feature: int, like: str, script: str, data: Path) -> None:
    folder = data / "letor" / "oracle-output"
    wanted = printed(folder / f"Fold1_test.feature{feature}.Eval-Score-{script}.out.gz")
    columns = list(dict.fromkeys(column for _, column in wanted))
    assert columns == [*(f"P@{k}" for k in range(1, 11)), "MAP", *(f"NDCG@{k}" for k in range(1, 11)), "MeanNDCG"]
    judgments = cal.read_letor(data / "letor" / "MQ2008" / "S5.txt.xz")
    scores = cal.evaluate(judgments, folder / f"Fold1_test.feature{feature}.scores", columns, like=like)
    got = {
        (query, column): f"{value:.4f}"
        for column in columns
        for query, value in zip(scores.queries, scores[column][0].tolist(), strict=True)
    }
    mean = scores.mean()
    got.update({("Average", column): f"{mean.rows[0][1 + i]:.4f}" for i, column in enumerate(columns)})
    assert got == wanted


# --- parity with libraries --------------------------------------------------------------------------------


def groups(seed: int, *, most: int = 25, labels: int = 5, least: int = 1) -> Groups:
    """Queries of all sizes, some full of ties, some without a relevant document. Scores are exact in float32."""
    draw = np.random.default_rng(seed)
    found: Groups = []
    for number in range(40):
        size = int(draw.integers(least, most + 1))
        label = draw.integers(0, labels, size) if number % 5 else np.zeros(size, int)
        score = draw.integers(0, 4 if number % 2 else 10_000, size) / 8
        found.append((label.astype(float), score))
    return found


def ours(data: Groups, name: str, like: str) -> np.ndarray:
    """Our score of each query."""
    sizes = [len(label) for label, _ in data]
    judgments = cal.Judgments.from_arrays(np.concatenate([label for label, _ in data]), group=sizes)
    return cal.evaluate(judgments, np.concatenate([score for _, score in data]), [name], like=like).values[0, 0]


@pytest.mark.peers
@pytest.mark.parametrize("k", [1, 3, 10, None])
def test_sklearn(k: int | None, require: Any) -> None:
    ndcg_score = require.module("sklearn.metrics").ndcg_score
    data = groups(1, least=2)
    wanted = [ndcg_score([label], [score], k=k) for label, score in data]
    np.testing.assert_allclose(ours(data, "nDCG" if k is None else f"nDCG@{k}", "sklearn"), wanted, atol=1e-12)


def in_parts(data: Groups) -> Iterator[Groups]:
    """Figures of libraries are means: small parts show more than the whole."""
    for start in range(0, len(data), 4):
        yield data[start : start + 4]


def lightgbm_figure(lightgbm: Any, data: Groups, metric: str, k: int) -> float:
    """What LightGBM prints for these scores: they are where training starts, and no tree can grow."""
    label, score = (np.concatenate(column) for column in zip(*data, strict=True))
    parameters = {
        "objective": "lambdarank",
        "metric": metric,
        "eval_at": [k],
        "verbose": -1,
        "num_threads": 1,
        "min_data_in_leaf": 10_000,
    }
    features = np.arange(len(label), dtype=float)[:, None]
    made = {"label": label, "init_score": score, "group": [len(each) for each, _ in data], "params": parameters}
    train = lightgbm.Dataset(features, **made)
    valid = lightgbm.Dataset(features, reference=train, **made)
    result: dict[str, Any] = {}
    lightgbm.train(parameters, train, 1, valid_sets=[valid], callbacks=[lightgbm.record_evaluation(result)])
    return float(result["valid_0"][f"{metric}@{k}"][0])


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", [1, 5, 20])
def test_lightgbm(k: int, require: Any) -> None:
    lightgbm = require.module("lightgbm")
    for part in in_parts(groups(2)):
        for metric, name in (("ndcg", "nDCG"), ("map", "AP")):
            wanted = lightgbm_figure(lightgbm, part, metric, k)
            assert ours(part, f"{name}@{k}", "lightgbm").mean() == pytest.approx(wanted, abs=1e-9), (metric, k)


def xgboost_figure(xgboost: Any, data: Groups, metric: str) -> float:
    label, score = (np.concatenate(column) for column in zip(*data, strict=True))
    matrix = xgboost.DMatrix(np.zeros((len(label), 1)), label=label, base_margin=score.astype(np.float32))
    matrix.set_group([len(each) for each, _ in data])
    booster = xgboost.Booster({"objective": "rank:ndcg", "eval_metric": metric, "nthread": 1}, [matrix])
    return float(booster.eval(matrix).rpartition(":")[2])


@pytest.mark.peers
@pytest.mark.parametrize("k", [1, 5, 20])
def test_xgboost(k: int, require: Any) -> None:
    xgboost = require.module("xgboost")
    for part in in_parts(groups(3)):
        for like, minus in (("xgboost", ""), ("xgboost-minus", "-")):
            wanted = xgboost_figure(xgboost, part, f"ndcg@{k}{minus}")
            assert ours(part, f"nDCG@{k}", like).mean() == pytest.approx(wanted, abs=1e-6), (like, k)
    for part in in_parts(groups(4, labels=2)):
        for like, metric, name in (
            ("xgboost", "map@{}", "AP"),
            ("xgboost-minus", "map@{}-", "AP"),
            ("xgboost", "pre@{}", "P"),
        ):
            wanted = xgboost_figure(xgboost, part, metric.format(k))
            assert ours(part, f"{name}@{k}", like).mean() == pytest.approx(wanted, abs=1e-6), (like, metric, k)


@pytest.mark.peers
def test_gdeval(require: Any, tmp_path: Path) -> None:
    perl = require.tool("perl")
    script = Path(require.module("ir_measures").__file__).parent / "bin" / "gdeval.pl"
    draw = random.Random(5)
    qrels, runs = {}, {}
    for query in map(str, range(1, 21)):
        names = [f"D{draw.randint(0, 10**6)}" for _ in range(30)]
        qrels[query] = {d: draw.choice([-2, 0, 0, 1, 2, 3, 4]) for d in names[:15]} | {names[0]: 1}
        runs[query] = {d: draw.randint(0, 5) / 4 for d in draw.sample(names, draw.randint(1, 25))}
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q in qrels for d, g in qrels[q].items()))
    (tmp_path / "run").write_text("".join(f"{q} Q0 {d} 1 {s} tag\n" for q in runs for d, s in runs[q].items()))
    command = [perl, str(script), str(tmp_path / "qrels"), str(tmp_path / "run"), "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    scores = cal.evaluate(qrels, runs, ["nDCG@10", "ERR@10"], like="gdeval")
    wanted = {fields[1]: tuple(fields[2:]) for fields in (line.split(",") for line in done.stdout.splitlines()[1:])}
    assert wanted == {
        query: (f"{scores['nDCG@10'][0, q]:.5f}", f"{scores['ERR@10'][0, q]:.5f}")
        for q, query in enumerate(scores.queries)
    }


@pytest.mark.slow
@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
def test_ranx(require: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """ranx sorts lists of up to 15 documents stably; what becomes of longer ties is up to chance.

    Its compiled sort of so few is one by insertion; NumPy's, which stands in for it where it runs uncompiled, is not.
    """
    ranx = require.module("ranx")
    if os.environ["NUMBA_DISABLE_JIT"] == "1":
        common = importlib.import_module("ranx.data_structures.common")
        monkeypatch.setattr(common, "typed_list_argosrt", lambda values: np.argsort(values, kind="stable"))
    qrels: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, float]] = {}
    for number, (label, score) in enumerate(groups(6, most=14)):
        query = f"q{number:02}"
        qrels[query] = {f"d{i}": int(grade) for i, grade in enumerate(label)} | {"unseen": number % 3}
        runs[query] = {f"d{i}": float(value) for i, value in enumerate(score)} | {"unjudged": 1.0}
    names = {
        "ndcg@5": "nDCG@5",
        "ndcg_burges@5": "nDCG(gain=exp)@5",
        "map@5": "AP@5",
        "precision@5": "P@5",
        "hits@5": "Hits@5",
        "f1@5": "F@5",
    }
    measured = ranx.Run(runs)
    ranx.evaluate(ranx.Qrels(qrels), measured, list(names), save_results_in_run=True, return_mean=False)
    scores = cal.evaluate(qrels, runs, list(names.values()), like="ranx")
    for theirs, name in names.items():
        wanted = [measured.scores[theirs][query] for query in scores.queries]
        np.testing.assert_allclose(scores[name][0], wanted, atol=1e-9, err_msg=name)
    # RBP adds up grades as they are; bpref is 0 / 0 there without a judged document of each kind.
    others = {
        "rbp.80": "RBP(p=0.8)",
        "bpref": "bpref",
        "mrr@4": "RR@4",
        "hit_rate@2": "Success@2",
        "r-precision": "RPrec",
        "recall@3": "Recall@3",
        "f1": "SetF",
        "rbp.50-l2": "RBP(p=0.5,rel=2)",
    }
    if "hits" in known_names():
        others["hits@3"] = "Hits@3"
    ranx.evaluate(ranx.Qrels(qrels), measured, list(others), save_results_in_run=True, return_mean=False)
    more = cal.evaluate(qrels, runs, list(others.values()), like="ranx")
    assert more["RBP(p=0.8)"].max() > 1
    for theirs, name in others.items():
        found = np.array([measured.scores[theirs][query] for query in scores.queries])
        defined = ~np.isnan(found)
        assert theirs == "bpref" or defined.all()
        np.testing.assert_allclose(more[name][0][defined], found[defined], atol=1e-9, err_msg=name)
    # Its objects are read as they are.
    measured.name = "bm25"
    again = cal.evaluate(ranx.Qrels(qrels), measured, list(names.values()), like="ranx")
    assert again.systems == ("bm25",)
    assert again["nDCG@5"].tolist() == scores["nDCG@5"].tolist()
    assert cal.evaluate(ranx.Qrels(qrels), {"x": measured, "y": runs}, ["RR"]).systems == ("x", "y")
