"""Comparison of systems: significance tests for all pairs at once, corrections and rank correlation."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "bounded_intervals": ("mean_intervals",),
    "comparison": ("Comparison", "compare"),
    "correction": ("holm",),
    "correlation": ("kendall_b", "rank_correlation"),
    "equivalence_tests": ("NonInferiority", "non_inferiority"),
    "leave_one_out": ("influence",),
    "limits": ("lower_limit", "shown_above", "shown_below", "upper_limit"),
    "rank_biased_overlap": ("rbo",),
    "significance_marks": ("mark_significance",),
    "standardisation": ("standardise",),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
