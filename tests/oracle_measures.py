"""The measures by name, each with its definition in the oracle: whatever is tested exactly goes through this table."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import Any

import oracle

# The largest grade of the generated judgments, by which ERR and graded RBP divide.
LARGEST = 4


def cutoffs(name: str, function: Callable[..., Any], cuts: tuple[int | None, ...], **given: Any) -> dict[str, Any]:
    """The measure at several cutoffs, None being the whole list and 50 beyond every list."""
    return {
        name if k is None else f"{name}@{k}": partial(function, **given, **({} if k is None else {"k": k}))
        for k in cuts
    }


def moffat(rank: int) -> Fraction:
    """1 / (i (i + 1)), which sums to 1 over all ranks."""
    return Fraction(1, rank * (rank + 1))


ALL: tuple[int | None, ...] = (None, 1, 3, 50)
CUT: tuple[int | None, ...] = (1, 3, 50)
TABLE = {0: 0, 1: 1, 2: Fraction(5, 2), 3: 7, 4: 10}
TABLE_NAME = "{0:0,1:1,2:2.5,3:7,4:10}"
GAP_T = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
GAP_NAME = "GAP(t=[0.5,0.25,0.25])"
graded: dict[str, Any] = {"max_grade": LARGEST}

HALF = Fraction(1, 2)
linear: dict[str, Any] = {"gain": "linear", "max_grade": LARGEST}
LINEAR = f"gain=linear,max_grade={LARGEST}"
READ: dict[str, oracle.Measure] = {
    **{
        f"{what}(RBP(p=0.5),depth=6)": partial(oracle.reading, what=what, goes_on=lambda *_: HALF, depth=6)
        for what in ("EU", "ETU", "ETC", "ED")
    },
    **{
        f"{what}(Weighted(discount=zipf,{LINEAR})@3)": partial(
            oracle.reading, what=what, goes_on=lambda i, *_: Fraction(i, i + 1) if i < 3 else 0, depth=3, **linear
        )
        for what in ("EU", "ETU", "ETC", "ED")
    },
    f"NERR8({LINEAR})@4": partial(
        oracle.reading, what="EU", goes_on=lambda i, g, _: (1 - g) if i < 4 else 0, depth=4, **linear
    ),
    f"NERR9({LINEAR})@4": partial(
        oracle.reading,
        what="EU",
        goes_on=lambda i, g, _: (1 - g) * Fraction(i, i + 1) if i < 4 else 0,
        depth=4,
        **linear,
    ),
    f"ETU(NERR9({LINEAR})@4)": partial(
        oracle.reading,
        what="ETU",
        goes_on=lambda i, g, _: (1 - g) * Fraction(i, i + 1) if i < 4 else 0,
        depth=4,
        **linear,
    ),
    f"EU(NERR10(p=0.5,{LINEAR}),depth=7)": partial(
        oracle.reading, what="EU", goes_on=lambda i, g, _: HALF * (1 - g), depth=7, **linear
    ),
    f"EU(INST(T=2,{LINEAR}),depth=8)": partial(
        oracle.reading,
        what="EU",
        goes_on=lambda i, g, gained: ((i + 3 - gained) / (i + 4 - gained)) ** 2,
        depth=8,
        **linear,
    ),
    f"BPM(T=1.5,{LINEAR})@4": partial(
        oracle.reading,
        what="EU",
        goes_on=lambda i, g, gained: int(gained < Fraction(3, 2) and i < 4),
        depth=5,
        **linear,
    ),
    "ED(BPM(T=2)@5)": partial(
        oracle.reading, what="ED", goes_on=lambda i, g, gained: int(gained < 2 and i < 5), depth=6
    ),
    "SET@3": partial(
        oracle.reading,
        what="EU",
        depth=3,
        goes_on=lambda i, *_: (sqrt(i + 2) - sqrt(i + 1)) / (sqrt(i + 1) - sqrt(i)) if i < 3 else 0,
    ),
    "SET(beta=1)@3": partial(oracle.precision, k=3),
    "ED(RR,depth=6)": partial(oracle.reading, what="ED", goes_on=lambda i, g, _: 1 - g, depth=6),
}

MEASURES: dict[str, oracle.Measure] = {
    **READ,
    **cutoffs("Q", oracle.q_measure, ALL),
    **cutoffs("Q(rel=2,beta=0.5,gain=exp,norm=R)", oracle.q_measure, (None, 3), rel=2, beta=0.5, gain="exp", norm="R"),
    "O-measure": oracle.o_measure,
    "O-measure(rel=2,beta=3)": partial(oracle.o_measure, rel=2, beta=3),
    "P-measure": oracle.p_measure,
    "P-measure(beta=2,gain=exp)": partial(oracle.p_measure, beta=2, gain="exp"),
    "P-plus": partial(oracle.p_measure, mean=True),
    "P-plus(rel=2,beta=0)": partial(oracle.p_measure, rel=2, beta=0, mean=True),
    "NCU(stop=rank,gamma=0.75)": partial(oracle.ncu_rank, gamma=Fraction(3, 4)),
    "NCU(beta=0,stop=rank,gamma=1)": partial(oracle.ncu_rank, gamma=1, beta=0),
    **cutoffs("ERR(gain=linear)", oracle.stops, (None, 3), gain="linear", **{"max_grade": LARGEST}),
    **cutoffs("nERR", oracle.stops, ALL, share=True, **{"max_grade": LARGEST}),
    **cutoffs("nERR(gain=linear)", oracle.stops, (3,), share=True, gain="linear", **{"max_grade": LARGEST}),
    **cutoffs("P", oracle.precision, CUT),
    **cutoffs("P(rel=2)", oracle.precision, CUT, rel=2),
    **cutoffs("Recall", oracle.recall, ALL),
    **cutoffs("Recall(rel=2)", oracle.recall, (3,), rel=2),
    **cutoffs("F", oracle.f_measure, CUT),
    **cutoffs("F(beta=2,rel=2)", oracle.f_measure, (1, 3), beta=2, rel=2),
    **cutoffs("F(beta=0.5)", oracle.f_measure, (3,), beta=Fraction(1, 2)),
    **cutoffs("Hits", oracle.hits, ALL),
    **cutoffs("Hits(rel=2)", oracle.hits, (3,), rel=2),
    **cutoffs("NCG", oracle.ndcg, ALL, discount="none"),
    **cutoffs("NCG(gain=exp)", oracle.ndcg, (3,), gain="exp", discount="none"),
    "AUC": oracle.auc,
    "AUC(rel=2)": partial(oracle.auc, rel=2),
    **cutoffs("RPrec", oracle.r_precision, ALL),
    **cutoffs("RPrec(rel=2)", oracle.r_precision, (None, 3), rel=2),
    **cutoffs("Success", oracle.success, ALL),
    **cutoffs("Success(rel=2)", oracle.success, (1, 3), rel=2),
    **cutoffs("HIT", oracle.hit, ALL),
    **cutoffs("HIT(gain=exp)", oracle.hit, (1, 3), gain="exp"),
    **cutoffs("RR", oracle.reciprocal_rank, ALL),
    **cutoffs("RR(rel=2)", oracle.reciprocal_rank, (None, 3), rel=2),
    **cutoffs("AP", oracle.average_precision, ALL),
    **cutoffs("AP(rel=2)", oracle.average_precision, ALL, rel=2),
    **cutoffs("AP(norm=k)", oracle.average_precision, CUT, norm="k"),
    **cutoffs("AP(norm=min)", oracle.average_precision, CUT, norm="min"),
    **cutoffs("AP(rel=2,norm=min)", oracle.average_precision, (3,), rel=2, norm="min"),
    **cutoffs("SP", oracle.sum_precision, ALL),
    **cutoffs("SP(rel=2)", oracle.sum_precision, (3,), rel=2),
    **cutoffs("SN-AP", oracle.sn_ap, ALL),
    **cutoffs("SN-AP(rel=2)", oracle.sn_ap, (3,), rel=2),
    **cutoffs("DCG", oracle.dcg, ALL),
    **cutoffs("DCG(gain=exp)", oracle.dcg, (None, 3), gain="exp"),
    **cutoffs("DCG(discount=jk2)", oracle.dcg, ALL, discount="jk2"),
    **cutoffs("DCG(discount=zipf)", oracle.dcg, (None, 3), discount="zipf"),
    **cutoffs("DCG(discount=none)", oracle.dcg, (3,), discount="none"),
    **cutoffs("nDCG", oracle.ndcg, ALL),
    **cutoffs("nDCG(gain=exp)", oracle.ndcg, ALL, gain="exp"),
    **cutoffs("nDCG(gain=exp,discount=jk2)", oracle.ndcg, (None, 3), gain="exp", discount="jk2"),
    **cutoffs("SDCG", oracle.sdcg, CUT),
    **cutoffs("SDCG(gain=exp)", oracle.sdcg, (3,), gain="exp"),
    **cutoffs("SN-DCG", oracle.sn_dcg, ALL),
    **cutoffs("SN-DCG(gain=exp)", oracle.sn_dcg, (3,), gain="exp"),
    **cutoffs("RBP", oracle.rbp, ALL),
    **cutoffs("RBP(p=0.5)", oracle.rbp, (None, 3), p="0.5"),
    **cutoffs("RBP(p=0.95,rel=2)", oracle.rbp, (None, 3), p="0.95", rel=2),
    **cutoffs("RBP(p=0.8,gain=linear)", oracle.rbp, (None, 3), gain="linear", **graded),
    **cutoffs("RBP(p=0.8,gain=exp)", oracle.rbp, (None, 3), gain="exp", **graded),
    **cutoffs("RBP-residual", oracle.rbp_residual, ALL),
    **cutoffs("RBP-residual(p=0.5)", oracle.rbp_residual, (None, 3), p="0.5"),
    **cutoffs("NPV(rate=0.25)", oracle.rbp, (None, 3), p="0.8"),
    **cutoffs("INSQ", oracle.insq, ALL),
    **cutoffs("INSQ(T=2)", oracle.insq, (None, 3), T=2),
    **cutoffs("INSQ(T=1.5,rel=2)", oracle.insq, (3,), T=1.5, rel=2),
    **cutoffs("INSQ(ranks=2)", oracle.insq, (None,), ranks=2),
    **cutoffs("INSQ(gain=exp)", oracle.insq, (3,), gain="exp", **graded),
    **cutoffs("Weighted(discount=zipf)", oracle.weighted, (None, 3), discount="zipf"),
    **cutoffs("Weighted(discount=telescoping)", oracle.weighted, (None, 3), discount=moffat),
    **cutoffs("Weighted(discount=log2,rel=2)", oracle.weighted, (None, 3), discount="log2", rel=2),
    **cutoffs("Weighted(discount=zipf,gain=exp)", oracle.weighted, (3,), discount="zipf", gain="exp", **graded),
    **cutoffs("ERR", oracle.err, ALL, max_grade=LARGEST),
    **cutoffs("ERR(max_grade=5)", oracle.err, (None, 3), max_grade=5),
    **cutoffs(GAP_NAME, oracle.gap, ALL, t=GAP_T),
    **cutoffs("bpref", oracle.bpref, ALL),
    **cutoffs("bpref(rel=2)", oracle.bpref, (None, 3), rel=2),
    **cutoffs("Judged", oracle.judged, CUT),
    "SetP": oracle.set_precision,
    "SetP(rel=2)": partial(oracle.set_precision, rel=2),
    "SetR": oracle.set_recall,
    "SetR(rel=2)": partial(oracle.set_recall, rel=2),
    "SetF": oracle.set_f,
    "SetF(beta=2)": partial(oracle.set_f, beta=2),
    "SetF(beta=0.5,rel=2)": partial(oracle.set_f, beta=Fraction(1, 2), rel=2),
    "NumRet": oracle.num_ret,
    "NumRel": oracle.num_rel,
    "NumRel(rel=2)": partial(oracle.num_rel, rel=2),
    "NumRelRet": oracle.num_rel_ret,
    "NumRelRet(rel=2)": partial(oracle.num_rel_ret, rel=2),
}
# A table names the grades that it knows, so these run on whole grades only.
WITH_TABLE: dict[str, oracle.Measure] = {
    **cutoffs(f"DCG(gain={TABLE_NAME})", oracle.dcg, (None, 3), gain=TABLE),
    **cutoffs(f"nDCG(gain={TABLE_NAME})", oracle.ndcg, (None, 3), gain=TABLE),
    **cutoffs(f"SN-DCG(gain={TABLE_NAME})", oracle.sn_dcg, (3,), gain=TABLE),
    **cutoffs(f"HIT(gain={TABLE_NAME})", oracle.hit, (3,), gain=TABLE),
    **cutoffs(f"RBP(p=0.8,gain={TABLE_NAME})", oracle.rbp, (3,), gain=TABLE, **graded),
}
# A relevance level that is not whole, on grades that are not.
WITH_LEVEL: dict[str, oracle.Measure] = {
    "AP(rel=0.5)": partial(oracle.average_precision, rel=0.5),
    "P(rel=0.5)@3": partial(oracle.precision, k=3, rel=0.5),
    "RR(rel=0.5)": partial(oracle.reciprocal_rank, rel=0.5),
    "bpref(rel=0.5)": partial(oracle.bpref, rel=0.5),
}
