"""Comparison of scores under the conventions of other tools."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "tool_audit": ("Audit", "audit"),
    "explanation": ("Explanation", "explain"),
    "matching_conventions": ("MatchingConventions",),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
