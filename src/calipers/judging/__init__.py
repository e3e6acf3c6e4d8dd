"""Judges: agreement of people and language models, and effects of their disagreement on systems."""

from typing import TYPE_CHECKING

from calipers.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.judging.judge_study import JudgeStudy as JudgeStudy, judges as judges
    from calipers.judging.score_repair import prediction_powered as prediction_powered
    from calipers.judging.verdict_study import VerdictStudy as VerdictStudy, judge_verdicts as judge_verdicts

__getattr__, __dir__, __all__ = lazy_names(__name__)
