"""Rankers that learn: nine of the papers', with one face. The libraries behind them (requirements/research.txt) are
loaded when they are used.

LambdaMART(metric="V2(nDCG@10)").fit(X, y, qid=qid, eval_set=(X2, y2, qid2)).predict(X_test)
"""

from research.rankers.adarank import AdaRank
from research.rankers.base import METRIC, NORMALIZATIONS, Ranker
from research.rankers.coordinate_ascent import CoordinateAscent
from research.rankers.folds import Fold, folds_of
from research.rankers.lambdamart import LambdaMART
from research.rankers.letor_data import LetorData, joined, read_letor_data, read_letor_file, sampled_queries
from research.rankers.logistic import Logistic
from research.rankers.model_files import load
from research.rankers.neural import ListNet, RankNet
from research.rankers.objective import Goal
from research.rankers.presets import PRESETS, ranker
from research.rankers.random_forest import RandomForest
from research.rankers.rankboost import RankBoost
from research.rankers.ranksvm import RankSVM
from research.rankers.score_lines import write_score_lines
from research.rankers.synthetic import synthetic_letor, write_letor

RANKERS: dict[str, type[Ranker]] = {
    kind.name: kind
    for kind in (
        LambdaMART,
        RandomForest,
        Logistic,
        RankSVM,
        RankNet,
        ListNet,
        AdaRank,
        RankBoost,
        CoordinateAscent,
    )
}

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
    "folds_of",
    "joined",
    "load",
    "ranker",
    "read_letor_data",
    "read_letor_file",
    "sampled_queries",
    "synthetic_letor",
    "write_letor",
    "write_score_lines",
]
