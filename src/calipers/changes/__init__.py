"""A new version of a system against the old one: what changed, whether it is worse, and how scores moved over time."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "difference": ("Difference", "DocumentChange", "MeanChange", "QueryChange", "diff", "diff_of_scores"),
    "gate": ("Check", "check"),
    "verdicts": ("Decision", "Floor", "Loss", "p_of_drop"),
    "history": ("History", "HistoryEntry", "HistoryPoint", "append_history", "read_history"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
