"""Missing judgments: what they could change, and which documents to judge next."""

from typing import TYPE_CHECKING

from calipers.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.unjudged.judging_pools import JudgingPool as JudgingPool, pool as pool, pool_of as pool_of
    from calipers.unjudged.score_ranges import Ranges as Ranges, ranges as ranges
    from calipers.unjudged.uniques import Uniques as Uniques, leave_out_uniques as leave_out_uniques

__getattr__, __dir__, __all__ = lazy_names(__name__)
