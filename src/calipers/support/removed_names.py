"""Names that left Calipers in 0.4, and what to use instead. This module goes with 0.5.

It is the only place that knows them: commands, options, measures and names in Python ask `farewell`.
"""

from __future__ import annotations

import re
import sys
from typing import Literal

Kind = Literal["command", "option", "measure", "name"]

_NO_EXPECTATION = "use the range, or `evaluate --condensed` where judgments are missing at random"
_NO_ACCURACY = "use a correlation (`metaeval --human`), or the package mt-metrics-eval"
_NO_BUDGET = "plan the number of queries with `plan`, and choose documents with `pool`"
_OWN_CONVENTION = "use `like=cal.conventions.convention(NAME).with_(...)` in Python"
_NO_EXPOSURE = "use the evaluation scripts of TREC Fair Ranking"
_TREC_EVAL = "use trec_eval 10"
_NO_TRAINING = "LightGBM, XGBoost and RankLib train, with measures of `calipers.tools` as their metrics"
_NO_CHART = "draw a table of your own"
_NO_SIMULATION = "score a part of the judgments in a loop of your own"

# What to do instead, for each name. Options that only some commands lose are written "COMMAND --option", and names that
# only some packages lose "PACKAGE name".
_REMOVED: dict[Kind, dict[str, str]] = {
    "command": {
        "text check": "use `check DATA NEW`, which takes texts; options of measures are their parameters",
        "text compare": "use `compare DATA`, which takes texts; options of measures are their parameters",
        "text diff": "use `diff DATA OLD NEW`, which takes texts; options of measures are their parameters",
        "text score": "use `evaluate DATA`, which takes texts; options of measures are their parameters",
        "text judges": "use `judges`, which reads nuggets and citations",
        "text report": "use `report`, which takes texts",
        "history": "keep the scores of every run (evaluate -q -o FILE.json) and compare them with check --baseline",
        "exposure": _NO_EXPOSURE,
        "text correlate": "use `metaeval DATA --human ASPECTS`, with --table agreement or wide",
        "text meta": "use `metaeval DATA --human ASPECTS`",
        "rank": "the library that trained a model ranks with it, and `evaluate` reads its scores, one per line",
        "train": _NO_TRAINING,
    },
    "option": {
        "demo --letor": "`evaluate LABELS SCORES` reads LETOR files and scores of any ranker",
        "--memory": "sort a run that does not fit into memory by query (`LC_ALL=C sort -s -k1,1 RUN > SORTED`)",
        "--document-groups": _NO_EXPOSURE,
        "--like FILE.toml": _OWN_CONVENTION,
        "information difference --bin-kind": "use `within_bins` in Python, with bins of equal size",
        "information difference --bins": "use `within_bins` in Python",
        "information difference --linkage": "use average linkage, or SciPy on `matrix` in Python",
        **dict.fromkeys(("trec_eval -R prefs", "trec_eval -R qrels_prefs", "trec_eval -R qrels_jg"), _TREC_EVAL),
        "metaeval --absolute": "use `exp.metaeval(absolute=True)` in Python",
        "metaeval --other-judgments": "use `meta.across(other)` in Python",
        "metaeval --other-system": "use `meta.across(other)` in Python",
        "plan --budget": _NO_BUDGET,
        "plan --depths": "only --budget used it",
        "plan --frontier": "only --budget used it",
        "--min-mean": "use --min, which is now about the observed mean",
        **dict.fromkeys(
            (f"text {command} {option}" for command in ("documents", "expected") for option in ("--device", "--cache")),
            "set CALIPERS_DEVICE and CALIPERS_CACHE",
        ),
        **dict.fromkeys(("text documents -k", "text expected -k"), "use --length"),
        "check --power": "check names the number of queries with power 0.8",
        "compare --original": "use the package repro_eval",
        "compare --reproduced": "use the package repro_eval",
        "--history": "keep the scores of every run (evaluate -q -o FILE.json) and compare them with check --baseline",
        "ranges --certificate": "use `Ranges.certificate` in Python",
        "pool --shares": "use the table `shares` of a pool in Python",
        "judges --fill": "score under people's judgments, with the judge's where these lack",
        "judges --pair": "use the intervals of --correct and --show differences",
        "ranges --prior": _NO_EXPECTATION,
        "ranges --draws": "only --prior used it",
        "ranges --seed": "only --prior used it",
        "report --prior": _NO_EXPECTATION,
        "pool --simulate": _NO_SIMULATION,
        "pool --steps": "only --simulate used it",
        "pool --plot": "it drew the curves of --simulate",
    },
    "measure": {
        **dict.fromkeys(
            ("awrf", "ee-d", "ee_d", "eed", "ee-l", "ee_l", "eel", "ee-r", "ee_r", "eer", "exposureratio"), _NO_EXPOSURE
        ),
        **dict.fromkeys(
            (
                "prefs_num",
                "prefs_num_prefs_poss",
                "prefs_num_prefs_ful",
                "prefs_num_prefs_ful_ret",
                "prefs_simp",
                "prefs_simp_ret",
                "prefs_simp_imp",
                "prefs_pair",
                "prefs_pair_ret",
                "prefs_pair_imp",
                "prefs_avgjg",
                "prefs_avgjg_ret",
                "prefs_avgjg_imp",
                "prefs_avgjg_rnonrel",
                "prefs_avgjg_rnonrel_ret",
                "map_avgjg",
                "p_avgjg",
                "rprec_mult_avgjg",
                "meanjudge",
                "all_prefs",
                "prefs",
                "qrels_jg",
            ),
            _TREC_EVAL,
        ),
        **dict.fromkeys(
            (
                "d-nerr",
                "d#-nerr",
                "d-o-measure",
                "d#-o-measure",
                "d-p-measure",
                "d#-p-measure",
                "d-p-plus",
                "d#-p-plus",
                "d-ncu",
                "d#-ncu",
            ),
            "use D-nDCG, D#-nDCG, D-Q or D#-Q",
        ),
        "statap": "use infNDCG, or NIST's sample_eval.pl",
        "xinfap": "use infNDCG, or NIST's sample_eval.pl",
    },
    "name": {
        "limits": "its names are in calipers.questions.bounds, queries and sampled",
        "unjudged": "its names are in calipers.questions.ranges and pool",
        "axioms": "its names are in calipers.questions.properties",
        "changes": "its names are in calipers.questions.diff and check",
        "auditing": "its names are in calipers.questions.audit",
        "judging": "its names are in calipers.questions.judges",
        "planning": "its names are in calipers.questions.plan",
        "metaevaluation": "its names are in calipers.questions.metaeval",
        "information": "its names are in calipers.questions.information",
        "fusion": "its names are in calipers.questions.fuse",
        "stats": "its names are in calipers.statistics; compare is in calipers.questions.compare",
        "text": "its names are in calipers.texts",
        "FeatureFile": "use `sklearn.datasets.load_svmlight_file`",
        "read_features": "use `sklearn.datasets.load_svmlight_file`",
        "rankers": _NO_TRAINING,
        "plan_budget": _NO_BUDGET,
        "BudgetPlan": _NO_BUDGET,
        "budget_frontier": _NO_CHART,
        "PairwiseAccuracy": _NO_ACCURACY,
        "pairwise_accuracy": _NO_ACCURACY,
        "soft_pairwise_accuracy": _NO_ACCURACY,
        "Reproducibility": "use the package repro_eval",
        "reproducibility": "use the package repro_eval",
        **dict.fromkeys(
            ("append_history", "read_history", "History", "HistoryEntry", "HistoryPoint"),
            "write scores.per_query().to_json() to a file, and read it with cal.read_scores",
        ),
        "calipers.texts JudgesOfAnswers": "it is calipers.questions.judges.AnswerStudy",
        "calipers.texts judges": "use `cal.judge_answers`",
        **dict.fromkeys(
            (
                "calipers.texts HumanCorrelation",
                "calipers.texts human_correlation",
                "calipers.texts permutation_test",
                "calipers.texts williams_test",
                "calipers.texts Preference",
                "calipers.texts read_preferences",
                "calipers.texts win_lost_tie",
            ),
            "agreement with people is in calipers.questions.metaeval",
        ),
        **dict.fromkeys(("calipers.texts correlation_chart", "calipers.texts profile_chart"), "it is in calipers.plot"),
        "evaluate_texts": "use `cal.Experiment(cal.read_texts(data), measures=...).scores`",
        "calipers.texts evaluate_texts": "use `cal.Experiment(cal.read_texts(data), measures=...).scores`",
        "calipers.texts import_text_measures": "use `calipers.measures.grammar.import_measures`",
        "calipers.texts text_measure_card": "use `cal.measure_card`",
        "calipers.texts TextDeclaration": "it is calipers.measures.registry.Declaration",
        **dict.fromkeys(
            ("calipers.texts meta", "calipers.texts TextMetaEvaluation"), "use `cal.metaeval(scores, human=...)`"
        ),
        "calipers.texts write_text_report": "use `cal.Experiment(cal.read_texts(DATA), measures=NAMES).report(FILE)`",
        "information_of_judges": "use `cal.questions.information.ric` with each judge's labels as judgments",
        "simulate_judging": _NO_SIMULATION,
        "JudgingSimulation": _NO_SIMULATION,
        "judging_curves": _NO_CHART,
        "survival": _NO_CHART,
        "trend": _NO_CHART,
        "tools.scikit_learn_estimator": _NO_TRAINING,
        **dict.fromkeys(
            ("calipers.spark compare", "calipers.spark discriminative_power", "calipers.spark summarise"),
            "use `spark.collect`, and the local function on its scores",
        ),
        "SeveralJudges": "evaluate each judge's labels as judgments of their own",
        "read_several_judges": "evaluate each judge's labels as judgments of their own",
        "read_convention": _OWN_CONVENTION,
        "attention": _NO_EXPOSURE,
        "exposure": _NO_EXPOSURE,
    },
}


def farewell(kind: str, name: str, place: str = "") -> str | None:
    """Return the sentence about a name that left Calipers, or None for a name that it never had or still has.

    kind: "command", "option", "measure" (case does not matter, parameters are ignored) or "name" (of Python).
    place: the command that an option was given to, or the package that was asked for a name.
    """
    table = next((names for known, names in _REMOVED.items() if known == kind), {})
    key = re.split(r"[(@.]|_(?=\d)", name)[0].lower() if kind == "measure" else name
    instead = table.get(f"{place} {key}") or table.get(key)
    return None if instead is None else f"`{name}` left Calipers in 0.4: {instead}; see CHANGELOG"


class _OldPackages:
    """Finder of packages that were moved: importing one is an error that says where its names are."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        parent, dot, package = name.partition(".")
        if dot and parent == "calipers" and (instead := _REMOVED["name"].get(package)):
            raise ModuleNotFoundError(f"`{name}` left Calipers in 0.4: {instead}; see CHANGELOG", name=name)


sys.meta_path.insert(0, _OldPackages)  # before empty folders of an older checkout are taken for packages
