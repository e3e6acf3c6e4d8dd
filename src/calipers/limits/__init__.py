"""Limits of scores: bounds of measures, types of queries, and scores with sampled candidates."""

from typing import TYPE_CHECKING

from calipers.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.limits.full_from_sampled import (
        FullEstimates as FullEstimates,
        candidate_ranks as candidate_ranks,
        estimate_full as estimate_full,
    )
    from calipers.limits.pool_bounds import (
        Bounds as Bounds,
        bounds as bounds,
        bounds_of as bounds_of,
        depth_for_residual as depth_for_residual,
    )
    from calipers.limits.query_types import (
        QueryTypes as QueryTypes,
        Thresholds as Thresholds,
        queries as queries,
        query_types as query_types,
    )
    from calipers.limits.sampled_candidates import SampledScores as SampledScores, sampled as sampled

__getattr__, __dir__, __all__ = lazy_names(__name__)
