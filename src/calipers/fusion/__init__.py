"""Fusion of several runs into one run, and upper bounds on the score that a fusion can reach.

Montague, Metasearch: data fusion for document retrieval, PhD thesis, Dartmouth College 2002.
"""

from calipers.lazy_names import lazy_names

_HOMES = {
    "candidates": ("ScoredCandidates",),
    "combine": ("FusedRun", "fuse", "judged_part"),
    "methods": ("METHODS", "Votes"),
    "oracles": (
        "BOUNDS",
        "RULES",
        "UNJUDGED",
        "VOTES",
        "fusion_bound",
        "judged",
        "oracle_score",
        "rule_of_votes",
        "sorted_score",
    ),
    "pairwise": ("NOISE", "sort_by_votes"),
    "scaling": ("scaled",),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
