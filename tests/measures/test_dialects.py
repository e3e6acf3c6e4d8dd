"""Other tools' names: each means what it means there, or is refused by name with the reason."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.errors import CalipersError
from calipers.measures.dialects import NICKNAMES, REFUSED, ROOTS
from calipers.measures.grammar import parse_all

# Names with parameters as ir_measures prints them.
PRINTED = [
    "nDCG@10",
    "nDCG(dcg='exp-log2')@10",
    "nDCG(gains={1:5,2:3})@10",
    "nDCG(judged_only=True)@10",
    "AP(rel=2)@100",
    "P(rel=2)@5",
    "P(judged_only=True,rel=2)@5",
    "RR(judged_only=True)",
    "R(rel=2)@10",
    "Recall@10",
    "Rprec(rel=2)",
    "Bpref(rel=2)",
    "RBP(p=0.9,rel=1)",
    "SetP(relative=True)",
    "SetP(relative=True,rel=2)",
    "SetF(beta=0.5)",
    "SetAP(rel=2)",
    "NumRet(rel=1)",
    "NumRet(rel=2)",
    "NumRel(rel=2)",
    "NumQ",
    "IPrec@0.1",
    "IPrec(rel=2)@0.55",
    "infAP(rel=2)",
    "Judged@10",
    "Judged",
    "Compat(p=0.8,normalize=False)",
    "INST(T=2.0,max_rel=3)",
    "INST(max_rel=3,min_rel=1)",
    "BPM(T=2.0,max_rel=3)@20",
    "NERR8(max_rel=3)@10",
    "NERR10(p=0.8)",
    "NERR11(T=2.0)",
    "INSQ(max_rel=3)",
    "SDCG(max_rel=3)@10",
    "Accuracy(rel=2)@5",
    "Success(rel=2)@5",
    "ERR@20",
]

# A value for each of its parameters.
VALUES = {
    "cutoff": 5,
    "recall": 0.5,
    "rel": 2,
    "judged_only": True,
    "relative": True,
    "p": 0.5,
    "T": 2.0,
    "beta": 0.5,
    "normalize": False,
    "dcg": "'log2'",
    "gains": "{1:2}",
    "max_rel": 3,
    "min_rel": 0,
    "alpha": 0.3,
}
NOT_OFFERED = ["runid", "relstring"]


@pytest.mark.parametrize("name", PRINTED)
def test_ir_measures_names_parse(name: str) -> None:
    measure = cal.parse(name)
    assert cal.parse(repr(measure)) == measure


@pytest.mark.peers
def test_every_name_of_the_ir_measures_registry(require: Any) -> None:
    """It parses, or needs its cutoff (as there), or is refused by name with the reason."""
    ir_measures = require.module("ir_measures")
    for name, theirs in ir_measures.measures.registry.items():
        for text in (name, str(theirs)):
            if text.lower() in REFUSED:
                with pytest.raises(CalipersError, match="is not offered: it "):
                    cal.parse(text)
                continue
            takes = theirs.SUPPORTED_PARAMS
            needed = [key for key, info in takes.items() if info.required and key not in theirs.params]
            if "cutoff" in needed:
                text += "@10"
            if "recall" in needed:
                text += "@0.5"
            assert cal.parse(text)
            assert cal.parse(text.lower()) == cal.parse(text)
            for parameter in takes:
                given = {key: VALUES[key] for key in [*needed, parameter]}
                inside = ",".join(f"{key}={value}" for key, value in given.items())
                assert cal.parse(f"{name}({inside})"), inside


@pytest.mark.peers
def test_ir_measures_values(require: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ties, where one of its own providers is there, and takes such ids."""
    ir_measures = require.module("ir_measures")
    monkeypatch.chdir(tmp_path)  # where one of them writes a log
    own = [provider for provider in ir_measures.DefaultPipeline.providers if provider.NAME != "calipers"]
    pipeline = ir_measures.providers.FallbackProvider(own)
    draw = random.Random(5)
    pools, run = {}, {}
    for number in range(30):
        documents = [f"d{row}" for row in range(60)]
        pools[f"q{number}"] = {d: draw.choice([-1, 0, 0, 1, 2, 3]) for d in draw.sample(documents, 30)}
        run[f"q{number}"] = {d: draw.random() + 0.1 for d in draw.sample(documents, 40)}
    compared = 0
    for name in PRINTED:
        theirs = ir_measures.parse_measure(name)
        try:
            wanted = {row.query_id: row.value for row in pipeline.iter_calc([theirs], pools, run)}
        except Exception:  # no provider here: each of them has its own way to say so
            continue
        if name == "SetF(beta=0.5)":
            name = f"SetF(beta={0.5**0.5})"  # theirs is trec_eval's parameter, the square of beta
        if name.startswith("Compat"):
            name = "Compat(p=0.8,normalize=False,depth=0)"  # which ends with the list there, not at rank 1,000
        scores = cal.evaluate(pools, run, [name], like="trec_eval-9")
        within = 1e-3 if name.startswith("INS") else 1e-9  # they end at rank 1,000 there
        got = dict(zip(scores.queries, scores.values[0, 0].tolist(), strict=True))
        assert got == pytest.approx({query: wanted.get(query, 0.0) for query in got}, abs=within), name
        compared += 1
    assert compared >= 25


def test_unknown_parameters_are_refused() -> None:
    for name, message in [
        ("nDCG(dcg='ln')@10", "neither log2 nor exp-log2"),
        ("AP(judged_only=1)", "neither True nor False"),
        ("INST(max_rel=0)", "growing whole numbers"),
        ("AP(dcg='log2')", "no parameter 'dcg'"),
        ("IPrec@1.5", "recall=1.5 of 'IPrec' is not a number from 0 to 1"),
        ("Rprec_mult@-1", "not a number of at least 0"),
        ("INST(T=0.2)", "not a number from 0.5 to 1e+100"),
        ("Compat(p=1)", "not a number above 0 and below 1"),
        ("nDCG(gains={1:-1})", "at least 0"),
        ("rbp.95", "RBP(p=0.95)"),
        ("map.5", "takes no parameters"),
    ]:
        with pytest.raises(CalipersError) as caught:
            cal.parse(name)
        assert message in str(caught.value), name


@pytest.mark.parametrize("name", NOT_OFFERED)
def test_refused_by_name(name: str) -> None:
    with pytest.raises(CalipersError, match=f"measure '{name}' is not offered: it "):
        cal.parse(name)


@pytest.mark.parametrize("root", [root for root in ROOTS.values() if root.measure])
def test_trec_eval_names_parse(root: Any) -> None:
    for name, _ in root.columns():
        assert cal.parse(name) == cal.parse(name.upper()), name


def test_trec_eval_lists_of_parameters() -> None:
    assert [name for name, _ in parse_all("P.5,7,3 map")] == ["P_3", "P_5", "P_7", "map"]
    assert parse_all("ndcg.1=3,2=9,AP")[0][1] == cal.parse("nDCG(gains={1:3,2:9})")
    assert parse_all("utility.2,-1,0,0")[0][1] == cal.parse("utility(weights=[2,-1,0,0])")
    assert parse_all("iprec_at_recall..10,.20,RR")[1][1] == cal.parse("IPrec@0.2")
    assert len(parse_all("iprec_at_recall ndcg_cut map_cut")) == 11 + 9 + 9
    assert parse_all("p_5")[0][0] == "p_5", "as it was typed"


def test_nicknames_name_roots() -> None:
    for names in NICKNAMES.values():
        assert set(names) <= set(ROOTS)


def test_judged_only_is_condensing_for_one_measure() -> None:
    """Side by side with the plain measure; a grade below 0 counts as unjudged."""
    pools = {"q": {"a": 1, "b": 0, "n": -1}}
    run = {"q": {"x": 4.0, "n": 3.0, "b": 2.0, "a": 2.0}}
    scores = cal.evaluate(pools, run, ["RR", "RR(judged_only=True)"])
    np.testing.assert_allclose(scores.values[:, 0, 0], [(1 / 3 + 1 / 4) / 2, (1 + 1 / 2) / 2])


def test_gains_are_exceptions_to_the_gain() -> None:
    pools, run = {"q": {"a": 1, "b": 3}}, {"q": {"a": 2.0, "b": 1.0}}
    assert cal.evaluate(pools, run, ["DCG(gains={1:5})"]).values[0, 0, 0] == pytest.approx(5 + 3 / np.log2(3))
    assert cal.evaluate(pools, run, ["DCG(gain=exp,gains={1:5})"]).values[0, 0, 0] == pytest.approx(5 + 7 / np.log2(3))
