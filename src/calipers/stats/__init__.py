"""Comparison of systems: significance tests for all pairs at once, corrections and rank correlation."""

from typing import TYPE_CHECKING

from calipers.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.stats.bounded_intervals import mean_intervals as mean_intervals
    from calipers.stats.comparison import Comparison as Comparison, compare as compare
    from calipers.stats.correction import holm as holm
    from calipers.stats.correlation import kendall_b as kendall_b, rank_correlation as rank_correlation
    from calipers.stats.equivalence_tests import NonInferiority as NonInferiority, non_inferiority as non_inferiority
    from calipers.stats.leave_one_out import influence as influence
    from calipers.stats.limits import (
        lower_limit as lower_limit,
        shown_above as shown_above,
        shown_below as shown_below,
        upper_limit as upper_limit,
    )
    from calipers.stats.rank_biased_overlap import rbo as rbo
    from calipers.stats.significance_marks import mark_significance as mark_significance
    from calipers.stats.standardisation import standardise as standardise

__getattr__, __dir__, __all__ = lazy_names(__name__)
