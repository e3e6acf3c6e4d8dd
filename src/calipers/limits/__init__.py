"""Limits of scores: bounds of measures, types of queries, and scores with sampled candidates."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "pool_bounds": ("Bounds", "bounds", "bounds_of", "depth_for_residual"),
    "query_types": ("QueryTypes", "Thresholds", "queries", "query_types"),
    "sampled_candidates": ("SampledScores", "sampled"),
    "full_from_sampled": ("FullEstimates", "candidate_ranks", "estimate_full"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
