"""Judging systems: significance tests over all pairs at once, corrections, rank correlation."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "comparison": ("Comparison", "compare"),
    "correction": ("holm",),
    "correlation": ("kendall_b", "rank_correlation"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
