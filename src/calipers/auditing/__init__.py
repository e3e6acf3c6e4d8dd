"""Comparison of scores under the conventions of other tools."""

from typing import TYPE_CHECKING

from calipers.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.auditing.explanation import Explanation as Explanation, explain as explain
    from calipers.auditing.matching_conventions import MatchingConventions as MatchingConventions
    from calipers.auditing.tool_audit import Audit as Audit, audit as audit

__getattr__, __dir__, __all__ = lazy_names(__name__)
