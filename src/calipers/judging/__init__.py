"""Judges: agreement of people and language models, and effects of their disagreement on systems."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "judge_study": ("JudgeStudy", "judges"),
    "verdict_study": ("VerdictStudy", "judge_verdicts"),
    "score_repair": ("prediction_powered",),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
