"""Figures of other tools for the same rankings, and why they differ."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.audit.explanation import Explanation as Explanation, explain as explain
    from calipers.questions.audit.matching_conventions import MatchingConventions as MatchingConventions
    from calipers.questions.audit.tool_audit import Audit as Audit, audit as audit

__getattr__, __dir__, __all__ = lazy_names(__name__)
