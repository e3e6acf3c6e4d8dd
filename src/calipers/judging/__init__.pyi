from calipers.judging.judge_study import JudgeStudy as JudgeStudy
from calipers.judging.judge_study import judges as judges
from calipers.judging.score_repair import prediction_powered as prediction_powered
from calipers.judging.verdict_study import VerdictStudy as VerdictStudy
from calipers.judging.verdict_study import judge_verdicts as judge_verdicts
