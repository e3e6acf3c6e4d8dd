"""Missing judgments: what they could change, and which documents to judge next."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "score_ranges": ("Ranges", "ranges"),
    "judging_pools": ("JudgingPool", "pool", "pool_of"),
    "uniques": ("Uniques", "leave_out_uniques"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
