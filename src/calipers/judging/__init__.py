"""Judging the judges: how people and language models agree, and what their disagreement does to systems."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "score_repair": ("prediction_powered",),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
