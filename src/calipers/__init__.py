"""Calipers measures search rankings between their bounds, and judges the measures themselves."""

from importlib import import_module as _import

from calipers._version import __version__
from calipers.removed_names import farewell as _farewell

_HOMES = {
    "errors": ("CalipersError", "CalipersWarning", "CheckFailed", "UnknownName"),
    "lists": ("Lists",),
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
    "measures.readers": ("user_model",),
    "measures.forms": ("Cascade", "Form", "Linear", "Paired", "Peak"),
    "measures.gains": ("AtLeast",),
    "measures.weights": ("Weights",),
    "conventions": ("Convention",),
    "evaluation.evaluation": ("evaluate",),
    "experiment": ("Experiment",),
    "results.scores": ("Scores",),
    "limits.pool_bounds": ("bounds",),
    "limits.sampled_candidates": ("sampled",),
    "limits.full_from_sampled": ("candidate_ranks", "estimate_full"),
    "limits.query_types": ("query_types",),
    "measures.normalisation": ("U", "V1", "V2", "V2s", "W", "Z"),
    "results.score_files": ("as_scores", "concat", "read_scores"),
    "stats.comparison": ("compare",),
    "stats.bounded_intervals": ("mean_intervals",),
    "planning.sample_size": ("plan",),
    "metaevaluation.measure_study": ("metaeval",),
    "collection.samples": ("SampledJudgments", "read_samples"),
    "collection.subtopics": ("SubtopicJudgments", "read_subtopics"),
    "collection.preferences": ("Preferences", "read_preferences"),
    "fusion.combine": ("fuse",),
    "judging.verdict_study": ("judge_verdicts",),
    "unjudged.judging_pools": ("pool",),
    "auditing.explanation": ("explain",),
    "axioms.verdicts": ("properties",),
    "axioms.cards": ("measure_card",),
    "axioms.measure_list": ("list_measures",),
    "results.tables": ("Table",),
    "stats.significance_marks": ("mark_significance",),
    "progress": ("progress_bar",),
    "report.page": ("Report",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
# Packages with more public names, such as `cal.plot.means` and `cal.stats.holm`.
_MODULES = (
    "auditing",
    "axioms",
    "changes",
    "collection",
    "conventions",
    "evaluation",
    "fusion",
    "information",
    "judging",
    "limits",
    "measures",
    "metaevaluation",
    "planning",
    "plot",
    "results",
    "stats",
    "text",
    "unjudged",
)

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> object:
    """Public names are loaded when they are first used, so that `import calipers` costs next to nothing."""
    if name in _MODULES:
        return _import(f"calipers.{name}")
    if name not in _HOME:
        raise AttributeError(_farewell("name", name) or f"module 'calipers' has no attribute '{name}'")
    value = getattr(_import(f"calipers.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
