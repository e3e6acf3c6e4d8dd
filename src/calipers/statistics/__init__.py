"""Comparison of systems: significance tests for all pairs at once, corrections and rank correlation."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.statistics.bounded_intervals import mean_intervals as mean_intervals
    from calipers.statistics.correction import holm as holm
    from calipers.statistics.correlation import kendall_b as kendall_b, rank_correlation as rank_correlation, rbo as rbo
    from calipers.statistics.equivalence_tests import (
        NonInferiority as NonInferiority,
        non_inferiority as non_inferiority,
    )
    from calipers.statistics.limits import (
        lower_limit as lower_limit,
        shown_above as shown_above,
        shown_below as shown_below,
        upper_limit as upper_limit,
    )
    from calipers.statistics.score_arrays import standardise as standardise
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
