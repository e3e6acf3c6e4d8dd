"""Calipers measures search rankings between their bounds, and judges the measures themselves.

For deeper use: `calipers.questions` has one module or package per question, and `calipers.measures`,
`calipers.statistics`, `calipers.texts` and `calipers.plot` are public as well.
"""

from typing import TYPE_CHECKING

from calipers._version import __version__ as __version__
from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers import (
        collection as collection,
        conventions as conventions,
        evaluation as evaluation,
        measures as measures,
        plot as plot,
        questions as questions,
        results as results,
        statistics as statistics,
        texts as texts,
    )
    from calipers.collection.judgments import Judgments as Judgments
    from calipers.collection.preferences import Preferences as Preferences, read_preferences as read_preferences
    from calipers.collection.repeated import Rollup as Rollup
    from calipers.collection.runs import Run as Run
    from calipers.collection.samples import SampledJudgments as SampledJudgments, read_samples as read_samples
    from calipers.collection.simulate import simulate as simulate
    from calipers.collection.sources import (
        JudgmentsLike as JudgmentsLike,
        RunLike as RunLike,
        RunsLike as RunsLike,
        read_judgments as read_judgments,
        read_letor as read_letor,
        read_qrels as read_qrels,
        read_run as read_run,
        read_runs as read_runs,
    )
    from calipers.collection.subtopics import SubtopicJudgments as SubtopicJudgments, read_subtopics as read_subtopics
    from calipers.collection.texts import read_titles as read_titles
    from calipers.collection.writing import write_qrels as write_qrels, write_run as write_run
    from calipers.conventions import Convention as Convention
    from calipers.errors import (
        CalipersError as CalipersError,
        CalipersWarning as CalipersWarning,
        CheckFailed as CheckFailed,
        UnknownName as UnknownName,
    )
    from calipers.evaluation.evaluation import evaluate as evaluate
    from calipers.experiment import Experiment as Experiment
    from calipers.lists import Lists as Lists
    from calipers.measures.browsing import user_model as user_model
    from calipers.measures.forms import (
        Cascade as Cascade,
        Form as Form,
        Linear as Linear,
        Paired as Paired,
        Peak as Peak,
    )
    from calipers.measures.gains import AtLeast as AtLeast
    from calipers.measures.grammar import parse as parse
    from calipers.measures.normalisation import V1 as V1, V2 as V2, U as U, V2s as V2s, W as W, Z as Z
    from calipers.measures.registry import Measure as Measure, measure as measure
    from calipers.measures.weights import Weights as Weights
    from calipers.questions.audit.explanation import explain as explain
    from calipers.questions.bounds import bounds as bounds
    from calipers.questions.compare.comparison import compare as compare
    from calipers.questions.compare.significance_marks import mark_significance as mark_significance
    from calipers.questions.fuse.combine import fuse as fuse
    from calipers.questions.judges.answer_study import judge_answers as judge_answers
    from calipers.questions.judges.verdict_study import judge_verdicts as judge_verdicts
    from calipers.questions.metaeval.measure_study import metaeval as metaeval
    from calipers.questions.plan.sample_size import plan as plan
    from calipers.questions.pool.judging_pools import pool as pool
    from calipers.questions.properties.cards import list_measures as list_measures, measure_card as measure_card
    from calipers.questions.properties.verdicts import properties as properties
    from calipers.questions.queries import query_types as query_types
    from calipers.questions.sampled.full_from_sampled import (
        candidate_ranks as candidate_ranks,
        estimate_full as estimate_full,
    )
    from calipers.questions.sampled.sampled_candidates import sampled as sampled
    from calipers.report.page import Report as Report
    from calipers.results.score_files import as_scores as as_scores, concat as concat, read_scores as read_scores
    from calipers.results.scores import Scores as Scores
    from calipers.results.tables import Table as Table
    from calipers.statistics.bounded_intervals import mean_intervals as mean_intervals
    from calipers.support.progress import progress_bar as progress_bar
    from calipers.texts.evaluation import read_texts as read_texts
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
