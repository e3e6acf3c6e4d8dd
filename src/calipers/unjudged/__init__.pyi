from calipers.unjudged.judging_pools import JudgingPool as JudgingPool
from calipers.unjudged.judging_pools import pool as pool
from calipers.unjudged.judging_pools import pool_of as pool_of
from calipers.unjudged.score_ranges import Ranges as Ranges
from calipers.unjudged.score_ranges import ranges as ranges
from calipers.unjudged.uniques import Uniques as Uniques
from calipers.unjudged.uniques import leave_out_uniques as leave_out_uniques
