"""Rankers that learn: nine of the papers', with one face. The libraries behind them are loaded when they are used.

LambdaMART(metric="V2(nDCG@10)").fit(X, y, qid=qid, eval_set=(X2, y2, qid2)).predict(X_test)
"""

from calipers.rankers.adarank import AdaRank
from calipers.rankers.base import Ranker
from calipers.rankers.coordinateascent import CoordinateAscent
from calipers.rankers.data import LetorData, read_letor_data, sampled_queries
from calipers.rankers.folds import Fold, folds_of
from calipers.rankers.lambdamart import LambdaMART
from calipers.rankers.listnet import ListNet
from calipers.rankers.logistic import Logistic
from calipers.rankers.presets import PRESETS, ranker
from calipers.rankers.randomforest import RandomForest
from calipers.rankers.rankboost import RankBoost
from calipers.rankers.ranknet import RankNet
from calipers.rankers.ranksvm import RankSVM
from calipers.rankers.saving import load
from calipers.rankers.synthetic import synthetic_letor, write_letor

RANKERS: dict[str, type[Ranker]] = {
    kind.name: kind
    for kind in (
        LambdaMART, RandomForest, Logistic, RankSVM, RankNet, ListNet, AdaRank, RankBoost, CoordinateAscent,
    )
}  # fmt: skip

__all__ = [
    "PRESETS",
    "RANKERS",
    "AdaRank",
    "CoordinateAscent",
    "Fold",
    "LambdaMART",
    "LetorData",
    "ListNet",
    "Logistic",
    "RandomForest",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "Ranker",
    "folds_of",
    "load",
    "ranker",
    "read_letor_data",
    "sampled_queries",
    "synthetic_letor",
    "write_letor",
]
