"""Measures: declared in families, built from a few forms, named in several grammars.

Each family declares its measures when it is imported, and importing this package imports them all.
"""

from calipers.measures import (
    adaptive,
    agreement,
    browsing,
    cumulated_gain,
    diversity,
    exposure,
    information,
    interpolated,
    normalisation,
    ntcir,
    precision,
    preference,
    preference_pairs,
    sampled,
    sets,
    several_judges,
    trec,
    user_models,
)
from calipers.measures.information import order_information
from calipers.measures.registry import Declaration, declared

__all__ = ["FAMILIES", "Declaration", "declared", "order_information"]

FAMILIES = (
    normalisation,
    cumulated_gain,
    precision,
    preference,
    sets,
    user_models,
    adaptive,
    agreement,
    browsing,
    diversity,
    exposure,
    information,
    interpolated,
    ntcir,
    preference_pairs,
    sampled,
    several_judges,
    trec,
)
