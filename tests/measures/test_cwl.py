"""Agreement with cwl_eval: every measure there in its five readings, on lists without ties."""

from __future__ import annotations

import inspect
import random
import re
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal

READINGS = ("EU", "ETU", "EC", "ETC", "ED")
GRADED = "gain=linear,max_grade=3"
# Their class and its parameters, and ours. K of their dynamic BPM does not move: they raise T a second time instead.
PAIRS: list[tuple[str, tuple[float, ...], str]] = [
    ("precision.PrecisionCWLMetric", (10,), "Weighted(discount=none,GRADED)@10"),
    ("rbp.RBPCWLMetric", (0.8,), "RBP(p=0.8,GRADED)"),
    ("dcg.NDCGCWLMetric", (5,), "Weighted(discount=log2,GRADED)@5"),
    ("insq.INSQCWLMetric", (2.0,), "INSQ(T=2,GRADED)"),
    ("inst.INSTCWLMetric", (1.0,), "INST(T=1,GRADED)"),
    ("inst.INSTCWLMetric", (2.5,), "INST(T=2.5,GRADED)"),
    ("bpm.BPMCWLMetric", (1.7, 8), "BPM(T=1.7,K=8,GRADED)"),
    ("bpm.BPMDCWLMetric", (1.5, 12, 0.7, 0.0, 0.4), "BPM(T=1.5,K=12,hb=0.7,median=0.4,GRADED)"),
    ("ift.IFTGoalCWLMetric", (1.8, 0.8, 3.0), "IFT-C1(T=1.8,b1=0.8,R1=3,GRADED)"),
    ("ift.IFTRateCWLMetric", (0.3, 0.7, 4.0), "IFT-C2(A=0.3,b2=0.7,R2=4,GRADED)"),
    (
        "ift.IFTGoalRateCWLMetric",
        (1.8, 0.8, 3.0, 0.3, 0.7, 4.0),
        "IFT-C1-C2(T=1.8,b1=0.8,R1=3,A=0.3,b2=0.7,R2=4,GRADED)",
    ),
    ("nerr.NERReq8CWLMetric", (6,), "NERR8(GRADED)@6"),
    ("nerr.NERReq9CWLMetric", (6,), "NERR9(GRADED)@6"),
    ("nerr.NERReq10CWLMetric", (0.85,), "NERR10(p=0.85,GRADED)"),
    ("nerr.NERReq11CWLMetric", (2.0,), "NERR11(T=2,GRADED)"),
    ("tbg.TBGCWLMetric", (20,), "TBG(halflife=20,GRADED)"),
    ("umeasure.UMeasureCWLMetric", (60,), "U-measure(L=60,GRADED)"),
    ("set.SETCWLMetric", (0.6, 7), "SET(beta=0.6,GRADED)@7"),
    ("npv.NPVCWLMetric", (0.25,), "NPV(rate=0.25,GRADED)"),
    ("rr.RRCWLMetric", (), "RR"),
    ("ap.APCWLMetric", (), "AP"),
]


def lists(seed: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]], dict[str, float]]:
    """Judgments, a run with unjudged documents, and what all documents cost."""
    draw = random.Random(seed)
    pools: dict[str, dict[str, float]] = {}
    run: dict[str, dict[str, float]] = {}
    for number in range(6):
        names = [f"d{number}-{row}" for row in range(30)]
        pools[f"q{number}"] = {name: draw.choice([0, 0, 1, 2, 3]) for name in draw.sample(names, 20)}
        pools[f"q{number}"][names[0]] = 3
        run[f"q{number}"] = {name: -place for place, name in enumerate(draw.sample(names, draw.randint(20, 30)))}
        run[f"q{number}"].setdefault(names[0], -99)
    return pools, run, {name: draw.choice([0.5, 1.0, 2.0, 7.5]) for ranked in run.values() for name in ranked}


@pytest.mark.peers
@pytest.mark.parametrize("costly", [False, True], ids=["each costs 1", "costs"])
def test_cwl_eval_agrees(costly: bool, require: Any) -> None:
    ranking = require.module("cwl.ruler.ranking")
    pools, run, costs = lists(7)
    ours = [f"{reading}({name.replace('GRADED', GRADED)})" for _, _, name in PAIRS for reading in READINGS]
    found = cal.evaluate(pools, run, ours, warn=False, **({"costs": costs} if costly else {}))
    assert found.measures == tuple(ours)
    values = found.values[:, 0].reshape(len(PAIRS), len(READINGS), -1)
    for (name, parameters, _), scores in zip(PAIRS, values, strict=True):
        module, _, metric = name.partition(".")
        theirs = getattr(require.module(f"cwl.ruler.measures.cwl_{module}"), metric)(*parameters)
        for query, got in zip(found.queries, scores.T, strict=True):
            ranked = sorted(run[query], key=run[query].__getitem__, reverse=True)
            share = 1.0 if module in ("rr", "ap") else 3.0
            gains = [min(pools[query][d] / share, 1.0) if d in pools[query] else np.nan for d in ranked]
            paid = [costs[d] if costly else np.nan for d in ranked]
            theirs.measure(ranking.Ranking(query, gains, paid))
            np.testing.assert_allclose(got, theirs.get_scores(), rtol=1e-9, atol=1e-9, err_msg=f"{name} {query}")


@pytest.mark.peers
def test_the_u_measure_of_cwl_eval_gives_its_last_rank_no_weight(require: Any) -> None:
    """It matters where L is more than the ranks above it cost: then theirs is ours with 999 ranks."""
    ranking = require.module("cwl.ruler.ranking")
    pools, run, _ = lists(7)
    names = [f"EU(U-measure(L=5000,{GRADED}), depth={depth})" for depth in (999, 1000)]
    to_999, to_1000 = cal.evaluate(pools, run, names, warn=False).values[:, 0]
    theirs = require.module("cwl.ruler.measures.cwl_umeasure").UMeasureCWLMetric(5000)
    for place, query in enumerate(pools):
        ranked = sorted(run[query], key=run[query].__getitem__, reverse=True)
        gains = [pools[query][d] / 3.0 if d in pools[query] else np.nan for d in ranked]
        theirs.measure(ranking.Ranking(query, gains, [np.nan] * len(ranked)))
        expected = theirs.get_scores()[0]
        assert to_999[place] == pytest.approx(expected, rel=1e-9)
        assert to_1000[place] != pytest.approx(expected, rel=1e-4)


@pytest.mark.peers
def test_trap_is_harmans_mean_precision_of_what_was_found(require: Any) -> None:
    """Their class stops with an error. Mended, it agrees in EU; its other readings rest on chances above 1."""
    ranking = require.module("cwl.ruler.ranking")
    pools, run, _ = lists(11)
    found = cal.evaluate(pools, run, ["TrAP", "EU(TrAP)", "EU(AP)"], warn=False).values[:, 0]
    gains = [
        [float(pools[query].get(d, 0) > 0) for d in sorted(run[query], key=run[query].get, reverse=True)]
        for query in sorted(pools)
    ]
    shown = [ranking.Ranking("q", each, [np.nan] * len(each)) for each in gains]
    theirs = require.module("cwl.ruler.measures.cwl_ap").TrAPCWLMetric()
    with pytest.raises(AttributeError, match="residuals"):
        theirs.measure(shown[0])
    theirs.residuals = False
    np.testing.assert_allclose(found, np.tile([theirs.measure(each) for each in shown], (3, 1)), rtol=1e-12)
    assert max(theirs.c_vector(each).max() for each in shown) > 1


def test_the_reader_of_trap_is_that_of_ap_and_its_gain_per_document_is_trap() -> None:
    pools, run = {"q": {"a": 1, "b": 0, "c": 1, "d": 1}}, {"q": {"x": 5, "a": 4, "b": 4, "c": 4, "d": 1}}
    names = ["TrAP", "EU(TrAP)", "EU(AP)", "TrAP@3", "EU(TrAP@3)", "EU(AP@3)"]
    got = cal.evaluate(pools, run, names, warn=False).values[:, 0, 0].reshape(2, 3)
    orders = [dict(zip("x" + "".join(order) + "d", range(5, 0, -1), strict=True)) for order in permutations("abc")]
    for cutoff, values in zip((5, 3), got, strict=True):
        exact = [harman([*order][:cutoff], pools["q"]) for order in orders]
        np.testing.assert_allclose(values, float(sum(exact) / len(exact)), rtol=1e-12)
    readings = [f"{reading}({name})" for name in ("TrAP@3", "AP@3") for reading in READINGS]
    of_trap, of_ap = cal.evaluate(pools, run, readings, warn=False).values[:, 0, 0].reshape(2, 5)
    np.testing.assert_array_equal(of_trap, of_ap)


def harman(ranked: list[str], grade: dict[str, int]) -> Fraction:
    """The mean precision at the relevant documents of a list."""
    places = [place for place, document in enumerate(ranked, start=1) if grade.get(document, 0) > 0]
    found = [Fraction(count, place) for count, place in enumerate(places, start=1)]
    return sum(found, Fraction(0)) / max(len(found), 1)


def test_costs_are_read_from_a_file_and_refused_where_they_are_none(tmp_path: Path) -> None:
    pools, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"x": 3.0, "a": 2.0, "c": 1.0}}
    file = tmp_path / "costs.txt"
    file.write_text("x 4\na 2\n")
    found = cal.evaluate(pools, run, ["TBG(halflife=2)", "P@2", "ETC(P@2)"], costs=file, warn=False)
    assert found["TBG(halflife=2)"][0, 0] == pytest.approx(2**-2 + 2**-3)  # after x, and after x and a
    assert found["P@2"][0, 0] == 0.5
    assert found["ETC(P@2)"][0, 0] == pytest.approx(4 + 2)
    assert "1 document of 3 that are retrieved have no cost: they count 1" in found.notes
    tied = {"q": dict.fromkeys(run["q"], 1.0)}
    orders = [{"q": dict(zip(order, (3, 2, 1), strict=True))} for order in permutations(run["q"])]
    mean = np.mean([cal.evaluate(pools, each, ["TBG(halflife=2)"], costs=file, warn=False).values for each in orders])
    assert cal.evaluate(pools, tied, ["TBG(halflife=2)"], costs=file, warn=False).values.item() == pytest.approx(mean)
    for text, said in (
        ("x 4 5", "expected 2 fields"),
        ("x -1", "not a number above 0"),
        ("x 1\nx 2", "second cost"),
        ("", "no"),
    ):
        file.write_text(text)
        with pytest.raises(cal.CalipersError, match=said):
            cal.evaluate(pools, run, ["TBG"], costs=file)
    with pytest.raises(cal.CalipersError, match="no measure depends on costs: P@2"):
        cal.evaluate(pools, run, ["P@2"], costs={"x": 1.0})
    with pytest.raises(cal.CalipersError, match="neither falling weights"):
        cal.parse("EU(ERR)")


def test_a_reader_of_one_list() -> None:
    model = cal.user_model("RBP(p=0.5)", [1, 0, 1], depth=60)
    assert model.W.sum() == pytest.approx(1)
    assert model.L[:2].tolist() == [0.5, 0.25]
    assert model.readings == pytest.approx({"EU": 0.625, "ETU": 1.25, "EC": 1, "ETC": 2, "ED": 2})
    paid = cal.user_model("U-measure(L=10)", [1, 1], costs=[4, 4])
    assert paid.readings["ETU"] == pytest.approx(1 + 0.6)
    with pytest.raises(cal.CalipersError, match="one for each grade"):
        cal.user_model("RBP", [1, 0], costs=[1])


@pytest.mark.peers
def test_the_table_of_coverage_has_every_measure_of_the_peers(require: Any) -> None:
    page = (Path(__file__).parents[2] / "docs/peers.md").read_text()
    table = {name for line in page.splitlines() if line.startswith("| ") for name in re.findall(r"\w+", line)}
    folder = Path(require.module("cwl.ruler.measures").__file__).parent
    texts = [file.read_text() for file in folder.glob("cwl_*.py")]
    theirs = {name for text in texts for name in re.findall(r"^class (\w+)\(CWLMetric", text, re.MULTILINE)}
    assert len(theirs) > 18
    assert theirs <= table
    assert {name.rsplit(".", 1)[1] for name, _, _ in PAIRS} == theirs - {"TrAPCWLMetric"}
    metrics = vars(require.module("pyNTCIREVAL.metrics")).values()
    assert {each.__name__ for each in metrics if inspect.isclass(each)} - {"Metric"} <= table
