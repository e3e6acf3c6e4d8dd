"""Preferences between judged documents, for incomplete judgments.

    bpref = (1 / R) * sum over retrieved relevant documents of 1 - min(non-relevant above, R) / min(N, R)

Buckley & Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004, in trec_eval's form.
"""

from __future__ import annotations

from calipers.measures.forms import RELEVANT, BinaryPreference, Form
from calipers.measures.registry import measure


@measure("bpref", cutoff=None, rel=1)
def bpref(cutoff: int | None, rel: float) -> Form:
    """How seldom judged non-relevant documents stand above relevant ones."""
    return BinaryPreference(rel, cutoff) / RELEVANT(rel)
