"""Attention that rankings give to documents and to groups of documents."""

from calipers.lazy_names import lazy_names

_HOMES = {"expected_exposure": ("Exposure", "exposure")}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
