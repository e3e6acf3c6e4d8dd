"""A new version of a system against the old one: what changed, and whether it is worse."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "difference": ("Difference", "DocumentChange", "MeanChange", "QueryChange", "diff", "diff_of_scores"),
    "gate": ("Check", "check"),
    "verdicts": ("Decision", "Floor", "Loss", "p_of_drop"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
