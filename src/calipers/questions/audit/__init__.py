"""Comparison of scores under the conventions of other tools."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.audit.explanation import Explanation as Explanation, explain as explain
    from calipers.questions.audit.matching_conventions import MatchingConventions as MatchingConventions
    from calipers.questions.audit.tool_audit import Audit as Audit, audit as audit
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
