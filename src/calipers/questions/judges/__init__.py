"""Judges: agreement of people and language models, and effects of their disagreement on systems."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.judges.answer_study import AnswerStudy as AnswerStudy, judge_answers as judge_answers
    from calipers.questions.judges.judge_study import JudgeStudy as JudgeStudy, judges as judges
    from calipers.questions.judges.score_repair import prediction_powered as prediction_powered
    from calipers.questions.judges.verdict_study import VerdictStudy as VerdictStudy, judge_verdicts as judge_verdicts
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
