from calipers.stats.comparison import Comparison as Comparison
from calipers.stats.comparison import compare as compare
from calipers.stats.correction import holm as holm
from calipers.stats.correlation import kendall_b as kendall_b
from calipers.stats.correlation import rank_correlation as rank_correlation
