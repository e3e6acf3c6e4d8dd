"""Preferences between judged documents, for incomplete judgments.

    AUC   = the share of pairs of a relevant and another judged document that stand in the right order; of a document
            that is not retrieved, below all that are; of two that are not, half
    bpref = (1 / R) * sum over retrieved relevant documents of 1 - min(non-relevant above, R) / min(N, R)

Buckley & Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004, in trec_eval's form (bpref).
Hanley & McNeil, The meaning and use of the area under a receiver operating characteristic (ROC) curve, Radiology 1982
    (AUC).
"""

from __future__ import annotations

from calipers.measures.forms import RELEVANT, BinaryPreference, Form, JudgedPairs
from calipers.measures.parameters import REL, TOP_K
from calipers.measures.registry import measure


@measure("bpref", cutoff=TOP_K, rel=REL)
def bpref(cutoff: int | None, rel: float) -> Form:
    """The degree to which relevant documents rank above judged non-relevant ones."""
    return BinaryPreference(rel, cutoff) / RELEVANT(rel)


@measure("AUC", rel=REL, aliases=("ROC-AUC", "roc_auc", "AUROC"))
def area_under_curve(rel: float) -> Form:
    """The probability that a relevant document ranks above another judged one: the area under the ROC curve."""
    return JudgedPairs(rel)
