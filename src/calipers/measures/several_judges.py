"""Means over judges, where several gave grades of their own.

    MeanJudge(M) = the mean over judges of M by the grades of that judge

trec_eval calls three of them map_avgjg, P_avgjg and Rprec_mult_avgjg. Buckley's trec_eval 9 and 10.
"""

from __future__ import annotations

from calipers.errors import CalipersError
from calipers.measures.forms.base import Form
from calipers.measures.forms.judges import OverJudges
from calipers.measures.parameters import REL, TOP_K, Parameter
from calipers.measures.precision import average_precision, precision
from calipers.measures.registry import Measure, measure
from calipers.measures.trec import MULTIPLE, precision_at_multiple

OF_JUDGE = Parameter("The measure that is averaged over judges.", "measure").required


@measure("MeanJudge", of=OF_JUDGE, reads="judges", example="MeanJudge(nDCG@10)")
def mean_over_judges(of: Measure) -> Form:
    """A measure by the grades of each judge, averaged over the judges."""
    if of.reads != "grades" or of.declaration.average != "arithmetic":
        raise CalipersError(f"MeanJudge needs a measure of one grade per document, not {of!r}")
    return OverJudges(of.form)


@measure("map_avgjg", rel=REL, reads="judges")
def average_precision_over_judges(rel: float) -> Form:
    """AP by the grades of each judge, averaged over the judges."""
    return OverJudges(average_precision(rel=rel).form)


@measure("P_avgjg", cutoff=TOP_K.required, rel=REL, reads="judges")
def precision_over_judges(cutoff: int, rel: float) -> Form:
    """P by the grades of each judge, averaged over the judges."""
    return OverJudges(precision(cutoff=cutoff, rel=rel).form)


@measure("Rprec_mult_avgjg", multiple=MULTIPLE, rel=REL, at="multiple", reads="judges", example="Rprec_mult_avgjg@0.2")
def precision_at_multiple_over_judges(multiple: float, rel: float) -> Form:
    """Precision at a multiple of R by the grades of each judge, averaged over the judges."""
    return OverJudges(precision_at_multiple(multiple=multiple, rel=rel).form)
