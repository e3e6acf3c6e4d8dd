"""Evaluation of measures: how well they tell systems apart, and how stable their order of systems is."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "consistency": ("split_half_swap_rate", "stability", "swap_rate"),
    "distance": ("percentage_absolute_difference", "percentage_absolute_increase"),
    "measure_study": ("MetaEvaluation", "metaeval"),
    "power": ("DiscriminativePower", "conflicts", "discriminative_power"),
    "query_sets": ("SETS",),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
