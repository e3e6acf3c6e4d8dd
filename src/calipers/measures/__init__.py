"""Measures: declared in families, built from a few forms, named in several grammars.

Each measure is an object: `nDCG @ 10`, `AP(rel=2)`, `V2(nDCG @ 10)`. A measure with a name that Python does not allow,
such as alpha-nDCG, is `calipers.parse("alpha-nDCG")`, and so is every other measure by its name.

Each family declares its measures when it is imported, and importing this package imports all families.

>>> from calipers.measures import AP, P, nDCG
>>> nDCG @ 10, AP(rel=2), P(rel=2) @ 5
(nDCG@10, AP(rel=2), P(rel=2)@5)
"""

from calipers.measures.agreement import (
    accuracy as Accuracy,
    area_under_curve as AUC,
    bpref as bpref,
    compatibility as Compat,
)
from calipers.measures.browsing import (
    EC as EC,
    ED as ED,
    ETC as ETC,
    ETU as ETU,
    EU as EU,
    bejeweled_player as BPM,
    nearly_err as NERR9,
    nearly_err_flat as NERR8,
    nearly_err_patient as NERR11,
    nearly_err_persistent as NERR10,
    net_present_value as NPV,
    search_economics as SET,
    time_biased_gain as TBG,
)
from calipers.measures.cumulated_gain import (
    dcg as DCG,
    hit as HIT,
    ncg as NCG,
    ndcg as nDCG,
    sdcg as SDCG,
)
from calipers.measures.diversity import (
    nnrbp as nNRBP,
    nrbp as NRBP,
    subtopic_recall as StRecall,
)
from calipers.measures.inferred import (
    inferred_ndcg as infNDCG,
)
from calipers.measures.information import (
    order_information,
    relevance_information_correlation as RIC,
)
from calipers.measures.interpolated import (
    interpolated_precision as IPrec,
)
from calipers.measures.normalisation import (
    V1 as V1,
    V2 as V2,
    E as E,
    U as U,
    V2s as V2s,
    W as W,
    Z as Z,
)
from calipers.measures.ntcir import (
    normalised_cumulative_utility as NCU,
    normalised_err as nERR,
    q_measure as Q,
)
from calipers.measures.parameters import Parameter
from calipers.measures.precision import (
    average_precision as AP,
    f_measure as F,
    graded_average_precision as GAP,
    hits as Hits,
    judged as Judged,
    number_relevant as NumRel,
    number_relevant_retrieved as NumRelRet,
    number_retrieved as NumRet,
    precision as P,
    r_precision as RPrec,
    recall as Recall,
    set_f as SetF,
    set_precision as SetP,
    set_recall as SetR,
    success as Success,
    sum_of_precisions as SP,
)
from calipers.measures.registry import Declaration, declared
from calipers.measures.trec_eval import (
    binary_gain as binG,
    geometric_bpref as gm_bpref,
    geometric_map as gm_map,
    ideal_dcg as ideal_dcg,
    inferred_average_precision as infAP,
    ndcg_at_levels as Rndcg,
    ndcg_at_relevant as ndcg_rel,
    normalised_gain as G,
    number_judged_not_relevant as num_nonrel_judged_ret,
    number_of_queries as NumQ,
    precision_at_multiple as Rprec_mult,
    relative_precision as relative_P,
    set_average_precision as SetAP,
    set_relative_precision as SetRelP,
    unjudged as unj,
    utility as utility,
    yet_another_average_precision as yaap,
)
from calipers.measures.user_models import (
    expected_reciprocal_rank as ERR,
    inst as INST,
    inverse_squares as INSQ,
    rank_biased_precision as RBP,
    reciprocal_rank as RR,
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
    "E",
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
