"""Conventions that come with the package.

*Observed* conventions follow the output or the source of a tool. *Stated* conventions, such as `letor4:stated`, follow
the description of the tool in Busa-Fekete et al. (2012). The two differ: the LETOR scripts use another discount than
the paper says, and the script of LETOR 3.0 counts 0 for short lists.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calipers.conventions.profile import Convention, LabelRange
from calipers.errors import UnknownName, suggestion
from calipers.support.removed_names import farewell

PLAIN = Convention("calipers", "ties averaged over all their orders")

# Tools of learning to rank get lists with one label per document. They know no other documents and no other queries.
_OF_LISTS: dict[str, Any] = {"edition": "observed", "ideal": "list", "missing": "skip", "ties": "input"}
_PERL: dict[str, Any] = {**_OF_LISTS, "gain": "exp", "discount": "jk2"}
_STATED: dict[str, Any] = {"edition": "stated", "gain": "exp", "ideal": "list", "missing": "skip", "ties": "input"}

_BINARY = LabelRange(0, 1, True)
_OF_RANX = (
    "nDCG",
    "AP",
    "P",
    "DCG",
    "RR",
    "Recall",
    "RPrec",
    "HIT",
    "Hits",
    "Success",
    "bpref",
    "RBP",
    "SetF",
    "F",
)
_XGBOOST = Convention(
    "xgboost",
    "XGBoost: as LightGBM, with scores in single precision and precision divided by min(k, n)",
    **_OF_LISTS,
    gain="exp",
    empty=1.0,
    norm="min",
    short={"P": "n"},
    precision="single",
    labels=LabelRange(0, 31, True, binary=("AP", "P")),
    measures=("nDCG", "AP", "P"),
)
_OBSERVED = (
    Convention(
        "letor3",
        "the LETOR 3.0 script: gain 2^label - 1, ranks 1 and 2 weigh the same, lists shorter than k count 0",
        **_PERL,
        short="zero",
        labels=LabelRange(0, 2, True),
        measures=("nDCG", "P", "AP"),
    ),
    Convention(
        "letor4",
        "the LETOR 4.0 script: gain 2^label - 1, ranks 1 and 2 weigh the same, nDCG@k of lists shorter than k is 0",
        **_PERL,
        short={"nDCG": "zero"},
        averaged="cutoffs",
        labels=LabelRange(0, 2, True),
        measures=("nDCG", "P", "AP"),
    ),
    Convention(
        "mslr",
        "the MSLR script: as LETOR 4.0, with labels 0 to 4, of which 2 and more are relevant",
        **_PERL,
        short={"nDCG": "zero"},
        averaged="cutoffs",
        rel=2,
        labels=LabelRange(0, 4, True),
        measures=("nDCG", "P", "AP"),
    ),
    Convention(
        "yahoo",
        "the script of Yahoo's challenge: gain 2^label - 1, a query without a relevant document counts 1",
        **_OF_LISTS,
        gain="exp",
        empty=1.0,
        labels=LabelRange(0, None, True),
        measures=("nDCG", "ERR"),
    ),
    Convention(
        "ranklib",
        "RankLib: gain 2^label - 1, k is n for lists of n < k documents, ERR of labels up to 4",
        **_OF_LISTS,
        gain="exp",
        short="n",
        max_grade=4,
        labels=LabelRange(0, None, True),
        measures=("nDCG", "P", "AP", "ERR", "DCG", "RR"),
    ),
    Convention(
        "trec_eval",
        "trec_eval 10.0 -c: ties by document id, descending; grades without their fraction",
        edition="observed",
        ties="docid",
        whole_grades=True,
        parameters={"rounding": "nearest", "as_printed": True},
    ),
    Convention(
        "trec_eval-9",
        "trec_eval 9.x -c and pytrec_eval: as trec_eval, with scores compared in single precision",
        edition="observed",
        ties="docid",
        precision="single",
        whole_grades=True,
        parameters={"rounding": "up", "as_printed": True},
    ),
    Convention(
        "sklearn",
        "scikit-learn's ndcg_score: gain is the label, ties averaged",
        **{**_OF_LISTS, "ties": "average"},
        labels=LabelRange(lowest=0),
        measures=("nDCG", "DCG"),
    ),
    Convention(
        "lightgbm",
        "LightGBM: gain 2^label - 1, a query without a relevant document counts 1, AP@k divides by min(R, k)",
        **_OF_LISTS,
        gain="exp",
        empty=1.0,
        norm="min",
        labels=LabelRange(0, 30, True),
        measures=("nDCG", "AP"),
    ),
    _XGBOOST,
    replace(
        _XGBOOST,
        name="xgboost-minus",
        sentence="XGBoost with a minus, as in ndcg@10-: a query without a relevant document counts 0",
        empty=0.0,
    ),
    Convention(
        "gdeval",
        "gdeval.pl of the TREC Web tracks: gain 2^grade - 1, ties by document id, descending, ERR of grades up to 4",
        edition="observed",
        gain="exp",
        ties="docid",
        max_grade=4,
        labels=LabelRange(None, 4, True),
        measures=("nDCG", "ERR"),
    ),
    Convention(
        "ranx",
        "ranx: gain is the grade, in RBP too; ties in the order of the input (where a list is short enough to be "
        "sorted stably)",
        edition="observed",
        ties="input",
        measures=_OF_RANX,
        parameters={"RBP.gain": "grade"},
    ),
    Convention(
        "definition",
        "the definition that Busa-Fekete et al. (2012) recommend: gain 2^grade - 1, log2 discount, nothing added and "
        "nothing taken away; ties averaged",
        edition="recommended",
        gain="exp",
    ),
)
# Tools of search engines and RAG. They are given the documents in the order of the engine.
_SEARCH = (
    Convention(
        "elasticsearch",
        "Elasticsearch _rank_eval, also that of OpenSearch: gain 2^rating - 1; nDCG@k and P@k of a list of n < k "
        "documents are nDCG@n and P@n, so that a short list scores too high (elasticsearch#154362)",
        edition="observed",
        gain="exp",
        short="n",
        ties="input",
        labels=LabelRange(0, None, True),
        measures=("nDCG", "DCG", "P", "Recall", "RR", "ERR"),
    ),
    Convention(
        "opensearch",
        "OpenSearch search-relevance (2026): gain 2^rating - 1, ideal of the k best judged documents. It rounds the "
        "score of each query to two digits, which is not repeated here. In 2025 it cut the ideal where the list ends",
        edition="observed",
        gain="exp",
        ties="input",
        measures=("nDCG", "DCG"),
    ),
    Convention(
        "quepid",
        "Quepid: gain 2^rating - 1; nDCG@k divides by the ideal of all rated documents without a cutoff, so that a "
        "perfect list scores less than 1 if more than k documents are relevant; P@k of n < k documents is P@n",
        edition="observed",
        gain="exp",
        ideal="whole",
        short={"P": "n"},
        ties="input",
        labels=LabelRange(lowest=0),
        measures=("nDCG", "DCG", "P", "AP"),
    ),
    Convention(
        "mlflow",
        "MLflow: relevant or not; nDCG@k and P@k of a list of n < k documents are nDCG@n and P@n, so that a short list "
        "scores too high (mlflow#24541)",
        edition="observed",
        short="n",
        ties="input",
        labels=_BINARY,
        measures=("nDCG", "P", "Recall"),
    ),
    Convention(
        "ragas",
        "RAGAS context precision: relevant or not; AP divides by the relevant documents in the list, not by all "
        "relevant documents",
        edition="observed",
        ideal="list",
        ties="input",
        labels=_BINARY,
        measures=("AP",),
    ),
)
# Tools of recommenders: an item is relevant or not, and users without a relevant item are not evaluated.
_RECOMMENDERS = (
    Convention(
        "rectools",
        "RecTools: nDCG@k divides by the ideal of k relevant items for every user, so that a perfect list of a user "
        "with fewer items scores less than 1",
        edition="observed",
        ideal="k",
        empty="skip",
        ties="input",
        labels=_BINARY,
        measures=("nDCG", "AP", "P", "Recall", "RR", "Success"),
    ),
    Convention(
        "recbole",
        "RecBole: relevant or not; AP@k divides by min(R, k)",
        edition="observed",
        norm="min",
        empty="skip",
        ties="input",
        labels=_BINARY,
        measures=("nDCG", "AP", "P", "Recall", "RR", "Success"),
    ),
    Convention(
        "torchmetrics",
        "torchmetrics: gain is the label, ties averaged, ideal of the given documents",
        **{**_OF_LISTS, "ties": "average"},
        labels=LabelRange(0, None, True),
        measures=("nDCG",),
    ),
)
# Benchmarks of embedding models. They score with pytrec_eval and average over the queries that a run answers.
_BENCHMARK: dict[str, Any] = {
    "edition": "observed",
    "ties": "docid",
    "precision": "single",
    "whole_grades": True,
    "missing": "skip",
    "measures": ("nDCG", "AP", "Recall", "P"),
}
_BENCHMARKS = (
    Convention(
        "beir",
        "BEIR: pytrec_eval over the queries that a run answers, without documents that have the id of their query",
        **_BENCHMARK,
        drops_query=True,
    ),
    Convention("mteb", "MTEB: pytrec_eval over the queries that a run answers", **_BENCHMARK),
)
# Tools for other kinds of judgments or with gains of their own. An audit compares them only on request.
_SPECIAL = (
    Convention(
        "ndeval",
        "ndeval of the TREC Web tracks and pyndeval: ties by document id, ascending; ERR-IA and alpha-DCG as a share "
        "of what documents that answer every intent would give",
        edition="observed",
        ties="docid-ascending",
        labels=LabelRange(whole=True),
        measures=("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG", "NRBP", "nNRBP", "P-IA", "AP-IA", "StRecall"),
        parameters={"ERR-IA.norm": "perfect", "alpha-DCG.norm": "perfect"},
    ),
    Convention(
        "ntcireval",
        "NTCIREVAL and pyNTCIREVAL: nDCG discounts by log2(rank) from rank 2 on, ERR stops with "
        "gain / (largest gain + 1), RBP goes on with 0.95, AP@k divides by min(R, k); ties in the order of the input",
        edition="observed",
        discount="jk2",
        ties="input",
        norm="min",
        empty="skip",
        labels=LabelRange(0, None, True),
        measures=("RR", "O-measure", "P-measure", "P+", "AP", "Q", "NCU", "RBP", "ERR", "nERR", "nDCG", "P", "Success"),
        parameters={"ERR.gain": "linear", "nERR.gain": "linear", "RBP.gain": "linear", "RBP.p": 0.95},
    ),
)
_AS_STATED = (
    Convention("letor3:stated", "LETOR 3.0 as Busa-Fekete et al. (2012) states it: the definition", **_STATED),
    Convention(
        "letor4:stated",
        "LETOR 4.0 as Busa-Fekete et al. (2012) states it: the definition, but nDCG@k of lists shorter than k is 0",
        **_STATED,
        short={"nDCG": "zero"},
        labels=LabelRange(0, 2, True),
    ),
    Convention(
        "mslr:stated",
        "the MS script as Busa-Fekete et al. (2012) states it: as LETOR 4.0, for up to five labels",
        **_STATED,
        short={"nDCG": "zero"},
        labels=LabelRange(0, 4, True),
    ),
    Convention(
        "yahoo:stated",
        "Yahoo's script as Busa-Fekete et al. (2012) states it: a query without a relevant document counts 1",
        **_STATED,
        empty=1.0,
    ),
    Convention("ranklib:stated", "RankLib as Busa-Fekete et al. (2012) states it: the definition", **_STATED),
    Convention(
        "trec:stated",
        "trec_eval as Busa-Fekete et al. (2012) states it: gain is the grade, ties by document id",
        edition="stated",
        ties="docid",
    ),
)
CONVENTIONS = {
    profile.name: profile for profile in (*_OBSERVED, *_SEARCH, *_RECOMMENDERS, *_BENCHMARKS, *_SPECIAL, *_AS_STATED)
}
TOOLS = tuple(
    profile.name for profile in (*_OBSERVED, *_SEARCH, *_RECOMMENDERS)
)  # tools that an audit compares by default
_OTHER_NAMES = {"trec": "trec_eval", "trec_eval:stated": "trec:stated", "scikit-learn": "sklearn"}


def convention(like: str | Convention | None) -> Convention:
    """Return the convention of this name. None stands for our own convention.

    >>> convention("letor4").discount, convention("letor4:stated").discount
    ('jk2', 'log2')
    """
    if like is None:
        return PLAIN
    if isinstance(like, Convention):
        return like
    name = like.removesuffix(":observed")
    name = _OTHER_NAMES.get(name, name)
    if name in CONVENTIONS:
        return CONVENTIONS[name]
    if name == PLAIN.name:
        return PLAIN
    left = farewell("option", "--like FILE.toml") if like.endswith(".toml") else None
    raise UnknownName(left or f"unknown convention '{like}'; {suggestion(like, CONVENTIONS)}")
