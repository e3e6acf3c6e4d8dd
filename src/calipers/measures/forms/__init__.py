"""The few shapes that measures have. A measure is written once, as one of them; its value under ties, its ideal
and its expected value are then derived, never written again.
"""

from calipers.measures.forms.base import Form
from calipers.measures.forms.cascade import Cascade
from calipers.measures.forms.cutoffs import IDEAL_TO_THE_END, MeanOverCutoffs, ZeroIfShort
from calipers.measures.forms.denominators import (
    CUTOFF,
    FOUND,
    IDEAL,
    RELEVANT,
    TOTAL_WEIGHT,
    WHOLE_IDEAL,
    OwnIdeal,
    OwnRelevant,
    Smaller,
    TotalValue,
    WeightedDepth,
)
from calipers.measures.forms.free import Deterministic, Free
from calipers.measures.forms.judged_pairs import BinaryPreference, JudgedPairs
from calipers.measures.forms.linear import Counted, Linear, Peak, RelevantPrefix
from calipers.measures.forms.paired import Paired
from calipers.measures.forms.self_normalised import SelfNormalisedGain, SelfNormalisedPrecision
from calipers.measures.forms.shares import Denominator, Share
from calipers.measures.forms.wrappers import Complement, JudgedOnly, Mixture

__all__ = [
    "CUTOFF",
    "FOUND",
    "IDEAL",
    "IDEAL_TO_THE_END",
    "RELEVANT",
    "TOTAL_WEIGHT",
    "WHOLE_IDEAL",
    "BinaryPreference",
    "Cascade",
    "Complement",
    "Counted",
    "Denominator",
    "Deterministic",
    "Form",
    "Free",
    "JudgedOnly",
    "JudgedPairs",
    "Linear",
    "MeanOverCutoffs",
    "Mixture",
    "OwnIdeal",
    "OwnRelevant",
    "Paired",
    "Peak",
    "RelevantPrefix",
    "SelfNormalisedGain",
    "SelfNormalisedPrecision",
    "Share",
    "Smaller",
    "TotalValue",
    "WeightedDepth",
    "ZeroIfShort",
]
