"""Options with a fixed set of values. Signatures, checks and the command line take the values from here."""

from __future__ import annotations

from typing import Literal

__all__ = [
    "ComparisonTest",
    "Correction",
    "Design",
    "DeviationOfRandom",
    "EffectSize",
    "ExpectedOfRandom",
    "FusionBound",
    "FusionMethod",
    "IdealRanking",
    "IntervalMethod",
    "PadDenominator",
    "Precision",
    "RankCorrelation",
    "ScoreScaling",
    "TableFormat",
    "TestName",
    "TieRule",
    "Unmatched",
]

TieRule = Literal["average", "docid", "docid-ascending", "input", "best", "worst"]
Precision = Literal["double", "single"]  # in which document scores are compared
Unmatched = Literal["error", "warn"]  # what to do about a run without judged documents

TestName = Literal["t", "wilcoxon", "sign", "randomization", "bootstrap", "tukey"]
ComparisonTest = Literal[TestName, "dunnett", "bayes"]  # `compare` has two tests more than other functions
Correction = Literal["none", "bonferroni", "holm", "bh"]
EffectSize = Literal["d", "cliff", "rank-biserial"]
IntervalMethod = Literal["auto", "t", "logit", "bca"]
RankCorrelation = Literal[
    "tau-a",
    "tau-b",
    "gamma",
    "tau_AP",
    "tau_AP-reversed",
    "tau_AP-symmetric",
    "spearman",
    "weighted-tau",
    "pearson",
]
PadDenominator = Literal["absolute", "literal"]  # denominator of the percentage absolute difference
Design = Literal["t", "anova", "anova2", "randomization", "bootstrap"]

DeviationOfRandom = Literal["exact", "sampled"]  # standard deviation of a random ranking's score
ExpectedOfRandom = Literal["exact", "paper"]  # expected score of a random ranking
IdealRanking = Literal["exact", "k", "greedy"]

FusionMethod = Literal[
    "combsum",
    "combmnz",
    "combanz",
    "combmin",
    "combmax",
    "combmed",
    "borda",
    "condorcet",
    "copeland",
    "rrf",
    "rbc",
    "isr",
]
ScoreScaling = Literal["minmax", "z", "rank", "sum", "none"]
FusionBound = Literal["naive", "pareto", "majoritarian"]

TableFormat = Literal["table", "csv", "json", "markdown", "latex", "html"]
