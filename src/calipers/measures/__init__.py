"""Measures: declared in families, built from a few forms, named in several grammars.

Each measure is an object: `nDCG @ 10`, `AP(rel=2)`, `V2(nDCG @ 10)`. A measure with a name that Python does not allow,
such as alpha-nDCG, is `calipers.parse("alpha-nDCG")`, and so is every other measure by its name.

Each family declares its measures when it is imported, and importing this package imports all families.

>>> from calipers.measures import AP, P, nDCG
>>> nDCG @ 10, AP(rel=2), P(rel=2) @ 5
(nDCG@10, AP(rel=2), P(rel=2)@5)
"""

from calipers.measures.adaptive import (
    inst as INST,
)
from calipers.measures.agreement import (
    accuracy as Accuracy,
)
from calipers.measures.agreement import (
    compatibility as Compat,
)
from calipers.measures.browsing import (
    EC as EC,
)
from calipers.measures.browsing import (
    ED as ED,
)
from calipers.measures.browsing import (
    ETC as ETC,
)
from calipers.measures.browsing import (
    ETU as ETU,
)
from calipers.measures.browsing import (
    EU as EU,
)
from calipers.measures.browsing import (
    bejeweled_player as BPM,
)
from calipers.measures.browsing import (
    nearly_err as NERR9,
)
from calipers.measures.browsing import (
    nearly_err_flat as NERR8,
)
from calipers.measures.browsing import (
    nearly_err_patient as NERR11,
)
from calipers.measures.browsing import (
    nearly_err_persistent as NERR10,
)
from calipers.measures.browsing import (
    net_present_value as NPV,
)
from calipers.measures.browsing import (
    search_economics as SET,
)
from calipers.measures.browsing import (
    time_biased_gain as TBG,
)
from calipers.measures.cumulated_gain import (
    dcg as DCG,
)
from calipers.measures.cumulated_gain import (
    hit as HIT,
)
from calipers.measures.cumulated_gain import (
    ncg as NCG,
)
from calipers.measures.cumulated_gain import (
    ndcg as nDCG,
)
from calipers.measures.cumulated_gain import (
    sdcg as SDCG,
)
from calipers.measures.diversity import (
    nnrbp as nNRBP,
)
from calipers.measures.diversity import (
    nrbp as NRBP,
)
from calipers.measures.diversity import (
    subtopic_recall as StRecall,
)
from calipers.measures.information import order_information
from calipers.measures.information import (
    relevance_information_correlation as RIC,
)
from calipers.measures.interpolated import (
    interpolated_precision as IPrec,
)
from calipers.measures.normalisation import (
    V1 as V1,
)
from calipers.measures.normalisation import (
    V2 as V2,
)
from calipers.measures.normalisation import (
    U as U,
)
from calipers.measures.normalisation import (
    V2s as V2s,
)
from calipers.measures.normalisation import (
    W as W,
)
from calipers.measures.normalisation import (
    Z as Z,
)
from calipers.measures.ntcir import (
    normalised_cumulative_utility as NCU,
)
from calipers.measures.ntcir import (
    normalised_err as nERR,
)
from calipers.measures.ntcir import (
    q_measure as Q,
)
from calipers.measures.parameters import Parameter
from calipers.measures.precision import (
    average_precision as AP,
)
from calipers.measures.precision import (
    f_measure as F,
)
from calipers.measures.precision import (
    graded_average_precision as GAP,
)
from calipers.measures.precision import (
    hits as Hits,
)
from calipers.measures.precision import (
    judged as Judged,
)
from calipers.measures.precision import (
    precision as P,
)
from calipers.measures.precision import (
    r_precision as RPrec,
)
from calipers.measures.precision import (
    recall as Recall,
)
from calipers.measures.precision import (
    success as Success,
)
from calipers.measures.precision import (
    sum_of_precisions as SP,
)
from calipers.measures.preference import (
    area_under_curve as AUC,
)
from calipers.measures.preference import (
    bpref as bpref,
)
from calipers.measures.registry import Declaration, declared
from calipers.measures.sampled import (
    inferred_ndcg as infNDCG,
)
from calipers.measures.sets import (
    number_relevant as NumRel,
)
from calipers.measures.sets import (
    number_relevant_retrieved as NumRelRet,
)
from calipers.measures.sets import (
    number_retrieved as NumRet,
)
from calipers.measures.sets import (
    set_f as SetF,
)
from calipers.measures.sets import (
    set_precision as SetP,
)
from calipers.measures.sets import (
    set_recall as SetR,
)
from calipers.measures.trec import (
    binary_gain as binG,
)
from calipers.measures.trec import (
    geometric_bpref as gm_bpref,
)
from calipers.measures.trec import (
    geometric_map as gm_map,
)
from calipers.measures.trec import (
    ideal_dcg as ideal_dcg,
)
from calipers.measures.trec import (
    inferred_average_precision as infAP,
)
from calipers.measures.trec import (
    ndcg_at_levels as Rndcg,
)
from calipers.measures.trec import (
    ndcg_at_relevant as ndcg_rel,
)
from calipers.measures.trec import (
    normalised_gain as G,
)
from calipers.measures.trec import (
    number_judged_not_relevant as num_nonrel_judged_ret,
)
from calipers.measures.trec import (
    number_of_queries as NumQ,
)
from calipers.measures.trec import (
    precision_at_multiple as Rprec_mult,
)
from calipers.measures.trec import (
    relative_precision as relative_P,
)
from calipers.measures.trec import (
    set_average_precision as SetAP,
)
from calipers.measures.trec import (
    set_relative_precision as SetRelP,
)
from calipers.measures.trec import (
    unjudged as unj,
)
from calipers.measures.trec import (
    utility as utility,
)
from calipers.measures.trec import (
    yet_another_average_precision as yaap,
)
from calipers.measures.user_models import (
    expected_reciprocal_rank as ERR,
)
from calipers.measures.user_models import (
    inverse_squares as INSQ,
)
from calipers.measures.user_models import (
    rank_biased_precision as RBP,
)
from calipers.measures.user_models import (
    reciprocal_rank as RR,
)
from calipers.measures.user_models import (
    weighted as Weighted,
)

__all__ = [
    "AP",
    "AUC",
    "BPM",
    "DCG",
    "EC",
    "ED",
    "ERR",
    "ETC",
    "ETU",
    "EU",
    "GAP",
    "HIT",
    "INSQ",
    "INST",
    "NCG",
    "NCU",
    "NERR8",
    "NERR9",
    "NERR10",
    "NERR11",
    "NPV",
    "NRBP",
    "RBP",
    "RIC",
    "RR",
    "SDCG",
    "SET",
    "SP",
    "TBG",
    "V1",
    "V2",
    "Accuracy",
    "Compat",
    "Declaration",
    "F",
    "G",
    "Hits",
    "IPrec",
    "Judged",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "Parameter",
    "Q",
    "RPrec",
    "Recall",
    "Rndcg",
    "Rprec_mult",
    "SetAP",
    "SetF",
    "SetP",
    "SetR",
    "SetRelP",
    "StRecall",
    "Success",
    "U",
    "V2s",
    "W",
    "Weighted",
    "Z",
    "binG",
    "bpref",
    "declared",
    "gm_bpref",
    "gm_map",
    "ideal_dcg",
    "infAP",
    "infNDCG",
    "nDCG",
    "nERR",
    "nNRBP",
    "ndcg_rel",
    "num_nonrel_judged_ret",
    "order_information",
    "relative_P",
    "unj",
    "utility",
    "yaap",
]
