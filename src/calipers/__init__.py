"""Calipers measures search rankings between their bounds, and judges the measures themselves."""

from importlib import import_module as _import

from calipers._version import __version__

_HOMES = {
    "errors": ("CalipersError", "CalipersWarning", "CheckFailed", "UnknownName"),
    "lists": ("Lists", "Pool"),
    "collection.judgments": ("Judgments",),
    "collection.runs": ("Run",),
    "collection.sources": (
        "JudgmentsLike",
        "RunLike",
        "RunsLike",
        "read_judgments",
        "read_qrels",
        "read_letor",
        "read_run",
        "read_runs",
    ),
    "collection.writing": ("write_qrels", "write_run"),
    "collection.texts": ("read_texts",),
    "collection.repeated": ("Rollup",),
    "text.evaluation": ("evaluate_texts",),
    "collection.simulate": ("simulate",),
    "measures.registry": ("Measure", "measure"),
    "measures.grammar": ("parse",),
    "measures.readers": ("UserModel", "user_model"),
    "measures.forms": ("Cascade", "Form", "Linear", "Paired", "Peak"),
    "measures.levels": ("AtLeast",),
    "measures.weights": ("Weights",),
    "conventions": ("Convention", "LabelRange", "read_convention"),
    "evaluation.evaluation": ("evaluate",),
    "evaluation.inspection": ("Inspection",),
    "experiment": ("Experiment",),
    "results.scores": ("Scores",),
    "limits.pool_bounds": ("Bounds", "bounds"),
    "limits.sampled_candidates": ("SampledScores", "sampled"),
    "limits.full_from_sampled": ("FullEstimates", "candidate_ranks", "estimate_full"),
    "limits.query_types": ("QueryTypes", "Thresholds", "query_types"),
    "measures.normalisation": ("U", "V1", "V2", "V2s", "W", "Z"),
    "results.score_files": ("as_scores", "concat", "read_scores"),
    "stats.comparison": ("Comparison", "compare"),
    "stats.bounded_intervals": ("mean_intervals",),
    "planning.sample_size": ("plan",),
    "changes.difference": ("Difference",),
    "attention.expected_exposure": ("Exposure", "exposure"),
    "changes.gate": ("Check",),
    "changes.history": ("History", "append_history", "read_history"),
    "metaevaluation.measure_study": ("metaeval",),
    "collection.samples": ("SampledJudgments", "read_samples"),
    "collection.several_judges": ("SeveralJudges", "read_several_judges"),
    "collection.subtopics": ("SubtopicJudgments", "read_subtopics"),
    "collection.preferences": ("Preferences", "read_preferences"),
    "fusion.combine": ("FusedRun", "fuse"),
    "judging.judge_study": ("JudgeStudy",),
    "judging.verdict_study": ("VerdictStudy", "judge_verdicts"),
    "unjudged.score_ranges": ("Ranges",),
    "unjudged.judging_pools": ("JudgingPool", "pool"),
    "auditing.audit": ("Audit",),
    "auditing.matching_conventions": ("MatchingConventions",),
    "auditing.explanation": ("Explanation", "explain"),
    "axioms.verdicts": ("Counterexample", "Properties", "Verdict", "properties"),
    "axioms.cards": ("Card", "measure_card"),
    "axioms.measure_list": ("list_measures",),
    "results.tables": ("Table",),
    "stats.significance_marks": ("mark_significance",),
    "progress": ("progress_bar",),
    "report.page": ("Report",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = (
    "fusion",
    "information",
    "metaevaluation",
    "planning",
    "plot",
    "stats",
    "text",
)  # that are named by their users: cal.plot.means(scores)

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> object:
    """Public names are loaded when they are first used, so that `import calipers` costs next to nothing."""
    if name in _MODULES:
        return _import(f"calipers.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'calipers' has no attribute '{name}'")
    value = getattr(_import(f"calipers.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
