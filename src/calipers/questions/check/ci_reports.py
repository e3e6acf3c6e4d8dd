"""Reports of a check for CI servers: JUnit's XML, and annotations of GitHub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from calipers.questions.check.verdicts import DROPPED, WITHIN, WORST, Decision, Floor, Loss
from calipers.results.tables import visible
from calipers.support.plurals import counted, verb

if TYPE_CHECKING:
    from calipers.questions.check.check_result import Check

_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
KINDS = {"failed": "error", "undecided": "warning", "passed": "notice"}  # of annotations


class Case(NamedTuple):
    """One thing that was checked."""

    name: str
    outcome: str  # failed, undecided (a broken limit that does not fail) or passed
    kind: str  # the observed fact and what it shows
    text: str
    losses: tuple[Loss, ...] = ()


def cases_of(check: Check) -> list[Case]:
    """Return everything that was checked."""
    cases = []
    for each in check.verdicts:
        outcome = "failed" if each.fails(check.fail_if) else "undecided" if each.exceeded else "passed"
        losses = each.worst if isinstance(each, Decision) else ()
        name = f"{each.name}, floor" if isinstance(each, Floor) else each.name
        cases.append(Case(name, outcome, f"{each.observed}; shown: {each.verdict}", str(each), losses))
    for measure, limit in check.max_query_drop:
        losses = tuple(loss for name, _, loss in check.query_drops if name == measure)
        lost = f"{counted(len(losses), check.unit)} {verb(len(losses), 'loses', 'lose')} more than {limit:g}"
        outcome, kind = ("failed", DROPPED) if losses else ("passed", WITHIN)
        cases.append(Case(f"{measure}, drop per {check.unit}", outcome, kind, f"{measure}: {lost}", losses[:WORST]))
    for kind in check.fail_on:
        texts = [text for each, text in check.problems if each == kind]
        outcome = "failed" if texts else "passed"
        cases.append(Case(f"fail_on {kind}", outcome, kind, f"{kind}: {'; '.join(texts) or 'nothing found'}"))
    return cases


def junit(title: str, cases: Sequence[Case]) -> str:
    """Return JUnit's XML: a test case for everything that was checked, skipped if it is undecided."""
    from xml.sax.saxutils import escape, quoteattr

    written = []
    for case in cases:
        message = quoteattr(_xml(case.text))
        inside = ""
        if case.outcome == "failed":
            lost = "".join(f"{_xml(str(loss))}\n" for loss in case.losses)
            inside = f"\n      <failure type={quoteattr(case.kind)} message={message}>{escape(lost)}</failure>"
        elif case.outcome == "undecided":
            inside = f"\n      <skipped message={message}/>"
        output = f"\n      <system-out>{escape(_xml(case.text))}</system-out>\n    "
        name = quoteattr(_xml(case.name))
        written.append(f'    <testcase classname="calipers.check" name={name} time="0">{inside}{output}</testcase>')
    outcomes = [case.outcome for case in cases]
    counts = (
        f'tests="{len(cases)}" failures="{outcomes.count("failed")}" errors="0" skipped="{outcomes.count("undecided")}"'
    )
    start = f'  <testsuite name={quoteattr(_xml(title))} {counts} time="0">\n'
    suite = start + "\n".join(written) + "\n  </testsuite>\n"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n{suite}</testsuites>\n'


def github_annotations(title: str, cases: Sequence[Case]) -> list[str]:
    """Return lines that GitHub shows next to a pull request: an error, a warning or a notice for each case."""
    found = []
    for case in cases:
        lost = "; ".join(map(str, case.losses)) if case.outcome != "passed" else ""
        text = f"{case.text}. Worst queries: {lost}" if lost else case.text
        heading = _workflow(f"{title}: {case.kind}", ":,")
        found.append(f"::{KINDS[case.outcome]} title={heading}::{_workflow(text)}")
    return found


def _xml(text: str) -> str:
    """Return text that XML can hold: control characters, and bytes that are not UTF-8, are escaped."""
    return _NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", visible(text))


def _workflow(text: str, more: str = "") -> str:
    """Return text as GitHub's workflow commands take it: on one line, with the ends of properties escaped."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return visible(text)
