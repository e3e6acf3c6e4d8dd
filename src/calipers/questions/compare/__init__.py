"""Tests of all pairs of systems: p values, intervals, effects, and marks of significance."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.compare.comparison import Comparison as Comparison, compare as compare
    from calipers.questions.compare.leave_one_out import influence as influence
    from calipers.questions.compare.significance_marks import mark_significance as mark_significance
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
