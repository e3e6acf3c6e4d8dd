"""Planning of experiments: how many queries or repeated runs a comparison needs."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "repeats": ("RepeatedRuns", "repeated_runs"),
    "sample_size": ("SampleSizePlan", "plan"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
