"""Measures of summaries and answers, their bounds, and their agreement with human judgments.

Feng, Upper and expected value normalization for evaluating information retrieval and text generation systems,
Auburn University 2023, chapters 8 and 9.
"""

from importlib import import_module as _import

_HOMES = {
    "rouge_scores": ("References", "Score", "rouge"),
    "random_summaries": ("Chances", "ExpectedRouge", "expected_rouge"),
    "summaries": ("Document", "Summaries"),
    "summary_files": ("read_parallel_summaries", "read_summaries"),
    "answer_measures": ("citation_support", "exact_match", "nugget_recall", "token_f1"),
    "answer_retrieval": ("retrieval_scores",),
    "answer_judgments": ("AnswerJudgments", "Citation", "Nugget", "Statement"),
    "options": ("CHANCES", "Keywords", "TextOptions", "UPPER"),
    "scoring": ("TextScores", "bounded", "evaluate_summaries"),
    "registry": ("Context", "Expectation", "Scorer", "TextDeclaration", "TextTask", "measure"),
    "encoder": ("Encoder",),
    "expected_text": ("expected_summary",),
    "bertscore": ("Matcher", "bert_score", "matcher"),
    "order_sensitivity": ("Profiles", "document_profiles"),
    "human_agreement": (
        "DIGITS",
        "HumanCorrelation",
        "LEVELS",
        "both_defined",
        "correlations_under",
        "drawn_documents",
        "human_correlation",
        "interval",
    ),
    "tie_calibration": ("PairwiseAccuracy", "pairwise_accuracy", "soft_pairwise_accuracy"),
    "measure_tests": ("MeasureTest", "permutation_test", "williams", "williams_test"),
    "meta_evaluation": ("TextMetaEvaluation",),
    "preferences": ("Preference", "WinLostTie", "read_preferences", "win_lost_tie"),
    "bounded_scores": ("Progress",),
    "caches": ("ScoreCache",),
    "charts": ("correlation_chart", "profile_chart"),
    "measure_names": ("TextMeasure", "text_measures"),
    "random_texts": ("RandomTexts",),
    "tokens": ("unicode_words",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    """Load a name when it is first used, so that ROUGE does not load torch."""
    if name not in _HOME:
        raise AttributeError(f"module 'calipers.text' has no attribute '{name}'")
    value = getattr(_import(f"calipers.text.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
