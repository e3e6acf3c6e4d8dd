"""Scoring: options, requests, and the one function that turns lists into scores."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "inspection": ("Inspection",),
    "inputs": ("as_judgments", "as_runs"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
