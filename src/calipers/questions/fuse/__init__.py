"""Fusion of several runs into one run, and upper bounds on the score that a fusion can reach.

Montague, Metasearch: data fusion for document retrieval, PhD thesis, Dartmouth College 2002.
"""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.fuse.combine import FusedRun as FusedRun, fuse as fuse, judged_part as judged_part
    from calipers.questions.fuse.methods import (
        METHODS as METHODS,
        NOISE as NOISE,
        Votes as Votes,
        scaled as scaled,
        sort_by_votes as sort_by_votes,
    )
    from calipers.questions.fuse.oracles import (
        BOUNDS as BOUNDS,
        RULES as RULES,
        UNJUDGED as UNJUDGED,
        VOTES as VOTES,
        fusion_bound as fusion_bound,
        judged as judged,
        oracle_score as oracle_score,
        rule_of_votes as rule_of_votes,
        sorted_score as sorted_score,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
