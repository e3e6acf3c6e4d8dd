"""The reader whom a measure models, and how it treats ties, in words: one rule per form.

A function of a user may name its reader in an attribute `reader`.
"""

from __future__ import annotations

from functools import singledispatch

from calipers.measures.forms import (
    BinaryPreference,
    Cascade,
    Complement,
    Counted,
    Denominator,
    Form,
    JudgedOnly,
    JudgedPairs,
    Linear,
    MeanOverCutoffs,
    Mixture,
    Paired,
    Peak,
    RelevantPrefix,
    SelfNormalisedGain,
    SelfNormalisedPrecision,
    Share,
    ZeroIfShort,
)
from calipers.measures.forms.blended import Blended, FirstBlended, Preferred, RankBiasedBlended
from calipers.measures.forms.browsing import Browsed
from calipers.measures.forms.free import OverOrders
from calipers.measures.forms.wrappers import WithoutZeroGains
from calipers.measures.information import PairInformation
from calipers.measures.normalisation import Normalised
from calipers.measures.weights import Flat

NO_READER = "None: the measure describes the list, not a reader."
COUNTS_PAIRS = "None: pairs of judged documents are counted, in the right or in the wrong order."
READS_PRECISIONS = (
    "Knows R, chooses at random how many of the R relevant documents to read, "
    "goes down until they are read, and asks for the precision there (Robertson 2008)."
)
TIES = {
    "exact": "averaged over all orders by a closed form, exact",
    "enumerated": "averaged over all possible top documents of a tie, enumerated",
    "sampled": "averaged over all orders if they are few, otherwise over sampled orders",
}


# -- readers -------------------------------------------------------------------------------------------------


@singledispatch
def reader(form: Form) -> str:
    """Return a sentence about the reader whom the form models."""
    return NO_READER


@reader.register(Linear)
def reader_of_linear(form: Linear) -> str:
    return form.weight.discount.reader


@reader.register(RelevantPrefix)
def reader_of_relevant_prefix(form: RelevantPrefix) -> str:
    return "Looks at as many documents as there are relevant ones, at most k."


@reader.register(Paired)
def reader_of_paired(form: Paired) -> str:
    return "Goes down to each relevant document of the top k in turn, and adds up the precisions met there."


@reader.register(Cascade)
def reader_of_cascade(form: Cascade) -> str:
    if form.stops_at_first_relevant:
        return "Goes down the list to the first relevant document, or to depth k."
    return "Goes down the list and stops at a document with a probability that grows with its grade."


@reader.register(Peak)
def reader_of_peak(form: Peak) -> str:
    return "Is satisfied by the best of the first k documents."


@reader.register(Counted)
def reader_of_counted(form: Counted) -> str:
    return "Takes all retrieved documents, in no order."


@reader.register(BinaryPreference)
@reader.register(JudgedPairs)
def reader_of_binary_preference(form: Form) -> str:
    return COUNTS_PAIRS


@reader.register(PairInformation)
def reader_of_pair_information(form: PairInformation) -> str:
    return "None: a pair of judged documents is drawn, and the list shows which one is better."


@reader.register(SelfNormalisedGain)
def reader_of_self_normalised_gain(form: SelfNormalisedGain) -> str:
    return "Looks at k documents, and compares their order with the best order of the same k."


@reader.register(SelfNormalisedPrecision)
def reader_of_self_normalised_precision(form: SelfNormalisedPrecision) -> str:
    return "Knows how many relevant documents are in the top k, and reads down to one of them."


@reader.register(Blended)
def reader_of_blended(form: Blended) -> str:
    how = "each with the same probability" if form.stop is None else "more often at better ones"
    return f"Stops at a relevant document, {how}, and asks for the blended ratio there (Sakai & Robertson 2008)."


@reader.register(RankBiasedBlended)
def reader_of_rank_biased_blended(form: RankBiasedBlended) -> str:
    return "Stops at a relevant document, more often at the first ones, and asks for the blended ratio there."


@reader.register(FirstBlended)
def reader_of_first_blended(form: FirstBlended) -> str:
    return "Goes down the list to the first relevant document."


@reader.register(Preferred)
def reader_of_preferred(form: Preferred) -> str:
    where = "one of the relevant documents down to " if form.mean else ""
    return f"Goes down the list to {where}the first document of the best grade there."


@reader.register(Browsed)
def reader_of_browsed(form: Browsed) -> str:
    return "Goes down the list, and goes on from rank i with probability C(i)."


@reader.register(OverOrders)
def reader_of_over_orders(form: OverOrders) -> str:
    return getattr(form.function, "reader", NO_READER)


@reader.register(Share)
def reader_of_share_2(form: Share) -> str:
    return reader_of_share(form.of, form.by)


@reader.register(Complement)
def reader_of_complement(form: Complement) -> str:
    return "None: it is the unknown part of another score."


@reader.register(JudgedOnly)
@reader.register(MeanOverCutoffs)
@reader.register(WithoutZeroGains)
@reader.register(ZeroIfShort)
def reader_of_judged_only(form: JudgedOnly | MeanOverCutoffs | WithoutZeroGains | ZeroIfShort) -> str:
    return reader(form.of)


@reader.register(Normalised)
def reader_of_normalised(form: Normalised) -> str:
    return f"{reader(form.base)} The score is put between the possible scores of the same documents."


@singledispatch
def reader_of_share(form: Form, by: Denominator) -> str:
    """Return a sentence about the reader of a form that is divided by something."""
    return reader(form)


@reader_of_share.register(Linear)
def reader_of_share_for_linear(form: Linear, by: Denominator) -> str:
    if form.weight.at != Flat():
        return reader(form)
    if by.counts_relevant:
        return "Looks at k documents, and knows the number of relevant documents."
    return "Looks at exactly k documents, with the same attention for each."


@reader_of_share.register(Mixture)
@reader_of_share.register(Paired)
def reader_of_share_for_mixture(form: Form, by: Denominator) -> str:
    return READS_PRECISIONS


# -- ties ----------------------------------------------------------------------------------------------------


@singledispatch
def tie_rule(form: Form) -> str:
    """Return how the form treats ties, in words."""
    return TIES[form.exactness().ties]


@tie_rule.register(PairInformation)
def tie_rule_of_pair_information(form: PairInformation) -> str:
    return "a tied pair counts half in the right and half in the wrong order; scores of random rankings are sampled"


@tie_rule.register(Normalised)
def tie_rule_of_normalised(form: Normalised) -> str:
    return f"the score inside is {tie_rule(form.base)}; then it is normalised"
