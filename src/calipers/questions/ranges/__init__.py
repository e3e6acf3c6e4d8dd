"""Ranges of scores and differences that missing judgments leave open."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.ranges.score_ranges import Ranges as Ranges, ranges as ranges
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
