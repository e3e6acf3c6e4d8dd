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
    from calipers.questions.metaeval.measure_study import MetaEvaluation as MetaEvaluation, metaeval as metaeval
    from calipers.questions.metaeval.power import (
        DiscriminativePower as DiscriminativePower,
        conflicts as conflicts,
        discriminative_power as discriminative_power,
    )
    from calipers.questions.metaeval.query_sets import SETS as SETS
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
