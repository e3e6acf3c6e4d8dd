"""Missing judgments: what they could change, what to expect of them, and which documents to judge next."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "score_ranges": ("Ranges", "ranges"),
    "judging_pools": ("JudgingPool", "pool", "pool_of"),
    "judging_simulation": ("JudgingSimulation", "simulate_judging"),
    "uniques": ("Uniques", "leave_out_uniques"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
