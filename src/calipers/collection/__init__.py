"""Judgments and runs: model, reader, formats, writing, simulation."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "reader": ("processors",),
    "runs": ("ArrayRun", "RememberedRun"),
    "subtopics": ("SubtopicPool",),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
