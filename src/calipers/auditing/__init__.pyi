from calipers.auditing.explanation import Explanation as Explanation
from calipers.auditing.explanation import explain as explain
from calipers.auditing.matching_conventions import MatchingConventions as MatchingConventions
from calipers.auditing.tool_audit import Audit as Audit
from calipers.auditing.tool_audit import audit as audit
