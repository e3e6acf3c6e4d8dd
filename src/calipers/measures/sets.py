"""Measures of the retrieved set, independent of its order.

    SetP = relevant retrieved / retrieved        SetR = relevant retrieved / R
    SetF = (1 + beta^2) SetP SetR / (beta^2 SetP + SetR)

van Rijsbergen, Information Retrieval, 1979.
"""

from __future__ import annotations

import numpy as np

from calipers.lists import Floats
from calipers.measures.forms import Counted, Form, Linear
from calipers.measures.gains import AtLeast
from calipers.measures.parameters import REL
from calipers.measures.precision import BETA
from calipers.measures.registry import measure
from calipers.measures.weights import FLAT
from calipers.support.record import Record


@measure("SetP", rel=REL, aliases=("set_P", "ContextPrecision"))
def set_precision(rel: float) -> Form:
    """The share of the retrieved documents that are relevant."""
    return Counted(_precision, rel)


@measure("SetR", rel=REL, aliases=("set_recall", "ContextRecall"))
def set_recall(rel: float) -> Form:
    """The share of the relevant documents that are retrieved."""
    return Counted(_recall, rel)


@measure("SetF", beta=BETA, rel=REL, aliases=("set_F",))
def set_f(beta: float, rel: float) -> Form:
    """The weighted harmonic mean of SetP and SetR."""
    return Counted(_HarmonicMean(beta), rel)


@measure("NumRet", aliases=("num_ret",), average="sum")
def number_retrieved() -> Form:
    """The number of retrieved documents."""
    return Counted(_retrieved)


@measure("NumRel", rel=REL, aliases=("num_rel",), average="sum")
def number_relevant(rel: float) -> Form:
    """The number of relevant documents."""
    return Counted(_relevant, rel)


@measure("NumRelRet", rel=REL, aliases=("num_rel_ret",), average="sum")
def number_relevant_retrieved(rel: float) -> Form:
    """The number of relevant documents that are retrieved."""
    return Linear(FLAT, AtLeast(rel))


def _precision(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return found / np.maximum(retrieved, 1.0)


def _recall(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return np.where(relevant > 0, found / relevant, np.nan)


def _retrieved(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return retrieved


def _relevant(retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
    return relevant


class _HarmonicMean(Record):
    beta: float

    def __call__(self, retrieved: Floats, found: Floats, relevant: Floats) -> Floats:
        share = found / np.maximum(retrieved, 1.0)
        recall = np.where(relevant > 0, found / relevant, np.nan)
        down = self.beta**2 * share + recall
        return np.where(down == 0, 0.0, (1 + self.beta**2) * share * recall / down)
