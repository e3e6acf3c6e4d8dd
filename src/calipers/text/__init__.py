"""Measures of summaries, translations and answers, their bounds, and their agreement with human judgments.

Feng, Upper and expected value normalization for evaluating information retrieval and text generation systems,
Auburn University 2023, chapters 8 and 9.
"""

from calipers.lazy_names import lazy_names

_HOMES = {
    "evaluation": ("Evaluation", "evaluate_texts"),
    "rouge_scores": ("References", "Score", "rouge"),
    "random_summaries": ("RandomSummaries", "ExpectedRouge", "expected_rouge"),
    "collection": ("Document", "TextCollection"),
    "text_files": ("as_collection", "parallel_texts"),
    "answer_measures": ("citation_support", "exact_match", "nugget_recall", "token_f1"),
    "answer_retrieval": ("retrieval_scores",),
    "answer_judges": ("JudgesOfAnswers", "judges"),
    "answer_judgments": ("AnswerJudgments", "Citation", "Nugget", "Statement"),
    "options": ("CHANCES", "TextOptions", "UPPER"),
    "scoring": ("bounded",),
    "sacrebleu_measures": ("corpus_scores",),
    "registry": ("Context", "Expectation", "Scorer", "TextDeclaration", "TextTask", "import_text_measures", "measure"),
    "cards": ("text_measure_card",),
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
    "measure_tests": ("MeasureTest", "permutation_test", "williams", "williams_test"),
    "meta_evaluation": ("TextMetaEvaluation", "meta"),
    "preferences": ("Preference", "WinLostTie", "read_preferences", "win_lost_tie"),
    "report_page": ("write_text_report",),
    "bounded_scores": ("Progress",),
    "caches": ("ScoreCache",),
    "charts": ("correlation_chart", "profile_chart"),
    "measure_names": ("TextMeasure", "text_measures"),
    "random_texts": ("RandomTexts",),
    "synthetic_answers": ("write_answers",),
    "tokens": ("unicode_words",),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
