"""Evaluation of measures: how well they tell systems apart, and how stable their order of systems is."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.metaeval.consistency import (
        percentage_absolute_difference as percentage_absolute_difference,
        percentage_absolute_increase as percentage_absolute_increase,
        split_half_swap_rate as split_half_swap_rate,
        stability as stability,
        swap_rate as swap_rate,
    )
    from calipers.questions.metaeval.human_agreement import (
        DIGITS as DIGITS,
        LEVELS as LEVELS,
        HumanCorrelation as HumanCorrelation,
        both_defined as both_defined,
        correlations_under as correlations_under,
        drawn_documents as drawn_documents,
        human_correlation as human_correlation,
        interval as interval,
    )
    from calipers.questions.metaeval.measure_study import metaeval as metaeval
    from calipers.questions.metaeval.measure_tests import (
        MeasureTest as MeasureTest,
        permutation_test as permutation_test,
        williams as williams,
        williams_test as williams_test,
    )
    from calipers.questions.metaeval.meta_evaluation import MetaEvaluation as MetaEvaluation
    from calipers.questions.metaeval.power import (
        DiscriminativePower as DiscriminativePower,
        conflicts as conflicts,
        discriminative_power as discriminative_power,
    )
    from calipers.questions.metaeval.query_sets import SETS as SETS
    from calipers.questions.metaeval.text_preferences import (
        Preference as Preference,
        WinLostTie as WinLostTie,
        read_preferences as read_preferences,
        win_lost_tie as win_lost_tie,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
