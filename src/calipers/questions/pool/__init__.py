"""Documents to judge first or next."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.pool.judging_pools import JudgingPool as JudgingPool, pool as pool, pool_of as pool_of
    from calipers.questions.pool.uniques import Uniques as Uniques, leave_out_uniques as leave_out_uniques
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
