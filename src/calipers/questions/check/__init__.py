"""Decisions about a new system: limits, verdicts, and reports for CI jobs."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.check.check_result import Check as Check
    from calipers.questions.check.checking import check as check
    from calipers.questions.check.verdicts import (
        Decision as Decision,
        Floor as Floor,
        Loss as Loss,
        p_of_drop as p_of_drop,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
