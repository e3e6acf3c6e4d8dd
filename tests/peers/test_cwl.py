"""Agreement with cwl_eval: every measure there in its five readings, on lists without ties."""

from __future__ import annotations

import random
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
    ("ift.IFTGoalRateCWLMetric", (1.8, 0.8, 3.0, 0.3, 0.7, 4.0),
     "IFT-C1-C2(T=1.8,b1=0.8,R1=3,A=0.3,b2=0.7,R2=4,GRADED)"),
    ("nerr.NERReq8CWLMetric", (6,), "NERR8(GRADED)@6"),
    ("nerr.NERReq9CWLMetric", (6,), "NERR9(GRADED)@6"),
    ("nerr.NERReq10CWLMetric", (0.85,), "NERR10(p=0.85,GRADED)"),
    ("nerr.NERReq11CWLMetric", (2.0,), "NERR11(T=2,GRADED)"),
    ("tbg.TBGCWLMetric", (20,), "TBG(halflife=20,GRADED)"),
    ("umeasure.UMeasureCWLMetric", (60,), "U-measure(L=60,GRADED)"),
    ("rr.RRCWLMetric", (), "RR"),
    ("ap.APCWLMetric", (), "AP"),
]  # fmt: skip


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
