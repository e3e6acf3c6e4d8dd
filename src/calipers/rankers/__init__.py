"""Rankers that learn: nine of the papers', with one face. The libraries behind them are loaded when they are used.

LambdaMART(metric="V2(nDCG@10)").fit(X, y, qid=qid, eval_set=(X2, y2, qid2)).predict(X_test)
"""

from calipers.rankers.adarank import AdaRank
from calipers.rankers.base import METRIC, NORMALIZATIONS, Ranker
from calipers.rankers.coordinate_ascent import CoordinateAscent
from calipers.rankers.folds import Fold, folds_of
from calipers.rankers.lambdamart import LambdaMART
from calipers.rankers.letor_data import LetorData, data_of, joined, read_letor_data, sampled_queries
from calipers.rankers.logistic import Logistic
from calipers.rankers.model_files import load
from calipers.rankers.neural import ListNet, RankNet
from calipers.rankers.objective import Goal
from calipers.rankers.presets import PRESETS, ranker
from calipers.rankers.random_forest import RandomForest
from calipers.rankers.rankboost import RankBoost
from calipers.rankers.ranksvm import RankSVM
from calipers.rankers.score_lines import write_score_lines
from calipers.rankers.synthetic import synthetic_letor, write_letor

RANKERS: dict[str, type[Ranker]] = {
    kind.name: kind
    for kind in (
        LambdaMART, RandomForest, Logistic, RankSVM, RankNet, ListNet, AdaRank, RankBoost, CoordinateAscent,
    )
}  # fmt: skip

__all__ = [
    "METRIC",
    "NORMALIZATIONS",
    "PRESETS",
    "RANKERS",
    "AdaRank",
    "CoordinateAscent",
    "Fold",
    "Goal",
    "LambdaMART",
    "LetorData",
    "ListNet",
    "Logistic",
    "RandomForest",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "Ranker",
    "data_of",
    "folds_of",
    "joined",
    "load",
    "ranker",
    "read_letor_data",
    "sampled_queries",
    "synthetic_letor",
    "write_letor",
    "write_score_lines",
]
