"""A gate: is a new version of a system worse than the old one by more than may be lost?

With the mean m of the differences new - old over n queries, their standard error e and t = t_{1-alpha, n-1}:

    worse      m + t e < -max_drop     the upper one-sided limit is below what may be lost
    not worse  m - t e > -max_drop     the lower one-sided limit is above it (non-inferiority)
    undecided  otherwise

Each wrong verdict has a chance of at most alpha. Where all differences are equal the interval is a point, which always
decides: a drop of exactly max_drop is allowed. What would decide an undecided measure is the smallest number of queries
with which the same difference and deviation lead to a verdict with the power that is asked for:

    smallest N with Pr(T'_{N-1} > t_{1-alpha, N-1}) >= power,  T' noncentral by |m + max_drop| sqrt(N) / s

Schuirmann, A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of
average bioavailability, Journal of Pharmacokinetics and Biopharmaceutics 1987.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from calipers.changes.difference import beyond_rounding
from calipers.collection.judgments import digest_text
from calipers.errors import CalipersError, CheckFailed, UnknownName, warn_user
from calipers.lists import Floats
from calipers.measures.grammar import parse
from calipers.planning.closed_form_power import power_one_sided, smallest_n
from calipers.plurals import counted
from calipers.results.averages import mean
from calipers.results.messages import some
from calipers.results.score_files import as_scores
from calipers.results.scores import Scores
from calipers.results.tables import Table, four_digits, markdown_text, visible
from calipers.stats.differences import DIGITS, Differences
from calipers.stats.equivalence_tests import non_inferiority, non_inferiority_limits

OtherJudgments = Literal["error", "warn"]
OTHER_JUDGMENTS = get_args(OtherJudgments)
WORSE, NOT_WORSE, UNDECIDED = "worse", "not worse", "undecided"
WORST = 5  # queries with the largest loss that are named
COLUMNS = ("measure", "verdict", "old", "new", "difference", "low", "high", "max_drop", "queries", "needed")
WORST_COLUMNS = ("measure", "query", "old", "new", "difference")
OLD, NEW = np.array([0]), np.array([1])


@dataclass(frozen=True)
class Loss:
    """A query on which the new system is worse."""

    query: str
    old: float
    new: float
    difference: float


@dataclass(frozen=True)
class Decision:
    """The verdict under one measure."""

    measure: str
    verdict: str  # worse, not worse or undecided
    old: float  # means over the queries on which both systems have a score
    new: float
    difference: float
    low: float  # the lower one-sided limit of the difference
    high: float  # the upper one
    max_drop: float
    alpha: float
    queries: int
    needed: int | None = None  # queries that would decide what is undecided; None where no number would
    worst: tuple[Loss, ...] = ()  # largest loss first

    def __str__(self) -> str:
        change = f"{self.measure} {_signed(self.difference)}, from {four_digits(self.old)} to {four_digits(self.new)}"
        known = f"with {1 - self.alpha:.4g} confidence "
        if self.verdict == WORSE:
            known += f"below {_signed(self.high)}"
        elif self.verdict == NOT_WORSE:
            known += f"above {_signed(self.low)}"
        else:
            known = f"{1 - self.alpha:.4g} limits {_signed(self.low)} and {_signed(self.high)}"
        said = f"{self.verdict}: {change}; {known}, where {_signed(-self.max_drop)} is allowed"
        if self.verdict != UNDECIDED:
            return said
        if self.needed is None:
            return f"{said}; no number of queries would decide a difference so close to that"
        return f"{said}; about {counted(self.needed, 'query')} would decide it, and there are {self.queries}"


@dataclass(frozen=True)
class Check:
    """The verdict under each measure, and over all of them: worse if one is, else undecided if one is."""

    old: str
    new: str
    decisions: tuple[Decision, ...]
    max_drop: float
    alpha: float
    power: float
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # what is said beside, and is no warning

    @property
    def verdict(self) -> str:
        found = {each.verdict for each in self.decisions}
        return next((verdict for verdict in (WORSE, UNDECIDED) if verdict in found), NOT_WORSE)

    def fails(self, undecided: bool = False) -> bool:
        """Whether a job should stop: where the new system is worse, or, on request, where that is undecided."""
        return self.verdict == WORSE or (undecided and self.verdict == UNDECIDED)

    def sentence(self) -> str:
        """The verdict over all measures, and which of them it is about."""
        named = [each.measure for each in self.decisions if each.verdict == self.verdict]
        by = f"by more than {self.max_drop:g}" if self.max_drop else "at all"
        listed = f"({', '.join(named)})"
        if self.verdict == WORSE:
            return f"{self.new} is worse than {self.old} {by} {listed}"
        if self.verdict == NOT_WORSE:
            return f"{self.new} is not worse than {self.old} {by} {listed}"
        needed = [each.needed for each in self.decisions if each.verdict == UNDECIDED]
        most = None if None in needed else max(each for each in needed if each is not None)
        tell = "no number of queries would tell" if most is None else f"about {counted(most, 'query')} would tell"
        there = max(each.queries for each in self.decisions if each.verdict == UNDECIDED)
        return f"undecided whether {self.new} is worse than {self.old} {by} {listed}: {tell}, and there are {there}"

    # -- tables, and what other programs read ------------------------------------------------------

    def table(self) -> Table:
        """measure, verdict, old, new, difference, low, high, max_drop, queries, needed: one row per measure."""
        return Table(COLUMNS, tuple(tuple(getattr(each, name) for name in COLUMNS) for each in self.decisions))

    def worst(self) -> Table:
        """measure, query, old, new, difference: the largest losses under each measure."""
        rows = [
            (each.measure, loss.query, loss.old, loss.new, loss.difference)
            for each in self.decisions
            for loss in each.worst
        ]
        return Table(WORST_COLUMNS, tuple(rows))

    def text(self) -> str:
        """The verdict in a sentence, the measures, and the queries with the largest loss."""
        worst = self.worst()
        parts = [f"{visible(self.sentence())}\n", self.table().to_text()]
        return "\n".join([*parts, f"queries with the largest loss\n{worst.to_text()}"] if worst.rows else parts)

    def to_markdown(self) -> str:
        """The same for a pull request."""
        worst = self.worst()
        parts = [f"**{markdown_text(self.sentence())}**\n", self.table().to_markdown()]
        return "\n".join([*parts, "Queries with the largest loss:\n", worst.to_markdown()] if worst.rows else parts)

    def to_json(self) -> str:
        """One object: the verdict, the systems, and each measure with its limits and its worst queries."""
        made = {
            "verdict": self.verdict, "sentence": self.sentence(), "old": self.old, "new": self.new,
            "max_drop": self.max_drop, "alpha": self.alpha, "power": self.power,
            "measures": [
                {name: getattr(each, name) for name in COLUMNS} | {"worst": [vars(loss) for loss in each.worst]}
                for each in self.decisions
            ],
            "notes": [*self.notes, *self.remarks],
        }  # fmt: skip
        return json.dumps(made, ensure_ascii=False, indent=1) + "\n"

    def to_junit(self, fail_undecided: bool = False) -> str:
        """JUnit's XML: one test case per measure, failed where it is worse, skipped where it is undecided."""
        from xml.sax.saxutils import escape, quoteattr

        failing = {WORSE, UNDECIDED} if fail_undecided else {WORSE}
        failed = sum(each.verdict in failing for each in self.decisions)
        skipped = sum(each.verdict == UNDECIDED for each in self.decisions) if not fail_undecided else 0
        cases = []
        for each in self.decisions:
            message = quoteattr(_xml(str(each)))
            lost = "".join(f"{_xml(_loss(loss))}\n" for loss in each.worst)
            inside = ""
            if each.verdict in failing:
                inside = f"\n      <failure type={quoteattr(each.verdict)} message={message}>{escape(lost)}</failure>"
            elif each.verdict == UNDECIDED:
                inside = f"\n      <skipped message={message}/>"
            output = f"\n      <system-out>{escape(_xml(str(each)))}</system-out>\n    "
            name = quoteattr(_xml(each.measure))
            cases.append(f'    <testcase classname="calipers.check" name={name} time="0">{inside}{output}</testcase>')
        title = quoteattr(_xml(f"{self.new} against {self.old}"))
        counts = f'tests="{len(self.decisions)}" failures="{failed}" errors="0" skipped="{skipped}"'
        suite = f'  <testsuite name={title} {counts} time="0">\n' + "\n".join(cases) + "\n  </testsuite>\n"
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n{suite}</testsuites>\n'

    def annotations(self, fail_undecided: bool = False) -> list[str]:
        """Lines that GitHub shows beside a pull request: an error, a warning or a notice for each measure."""
        kinds = {WORSE: "error", UNDECIDED: "error" if fail_undecided else "warning", NOT_WORSE: "notice"}
        found = []
        for each in self.decisions:
            lost = "; ".join(map(_loss, each.worst)) if each.verdict != NOT_WORSE else ""
            text = f"{each}. Worst queries: {lost}" if lost else str(each)
            title = _workflow(f"{self.new} against {self.old}: {each.verdict}", ":,")
            found.append(f"::{kinds[each.verdict]} title={title}::{_workflow(text)}")
        return found

    def __repr__(self) -> str:
        return f"<Check: {self.sentence()}>\n{self.table()}"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_() + self.worst()._repr_html_()


def check(
    new: Scores,
    old: Scores,
    max_drop: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    worst: int = WORST,
    other_judgments: OtherJudgments = "error",
    warn: bool = True,
) -> Check:
    """Is a new version of a system worse than the old one by more than `max_drop`, under each measure?

    new, old: scores of one system each, from `evaluate` or `read_scores`. Queries that only one of them has are left
        out, and counted in the notes; the measures are those of the new one.
    alpha: the chance of each wrong verdict. power: with which the queries that are needed would decide.
    worst: how many of the largest losses are named.
    other_judgments: `error` fails if the two scores were made with different judgments, `warn` compares them. Scores
        from files in JSON know their judgments, scores from CSV do not.
    warn: give the notes as one CalipersWarning.

    Scores of a system with hardly any judged document (see `unmatched` of `evaluate`) never pass.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.50, 0.31, 0.60, 0.42], [0.51, 0.30, 0.60, 0.41]], systems=["new", "old"])
    >>> found = cal.check(scores.of_systems(["new"]), scores.of_systems(["old"]), 0.02)
    >>> found.verdict, round(found.decisions[0].low, 4), found.decisions[0].worst[0].query
    ('not worse', -0.0088, '1')
    """
    if not (math.isfinite(max_drop) and max_drop >= 0):
        raise CalipersError(f"the largest drop allowed, {max_drop:g}, is not a number of at least 0")
    if not 0 < alpha < 0.5:
        raise CalipersError(f"alpha {alpha:g} is not between 0 and 0.5")
    if not alpha < power < 1:
        raise CalipersError(f"power {power:g} is not between alpha and 1")
    for what, scores in (("new", new), ("old", old)):
        if len(scores.systems) != 1:
            raise CalipersError(f"the {what} scores are of {len(scores.systems)} systems: expected one")
    if other_judgments not in OTHER_JUDGMENTS:
        raise CalipersError(f"other_judgments '{other_judgments}' is unknown; expected {' or '.join(OTHER_JUDGMENTS)}")
    _refuse_unmatched(new, old)
    changed, remarks = _judgments_of_both(new, old, other_judgments)
    places = [_measure(old, name) for name in new.measures]
    place = {query: q for q, query in enumerate(old.queries)}
    shared = [q for q, query in enumerate(new.queries) if query in place]
    if not shared:
        raise CalipersError(f"{new.systems[0]} and {old.systems[0]} have no query in common")
    queries = tuple(new.queries[q] for q in shared)
    before = old.values[places, 0][:, [place[query] for query in queries]]
    values = np.stack([before, new.values[:, 0][:, shared]], axis=1)
    decisions = tuple(
        _decision(name, of, queries, max_drop, alpha, power, worst)
        for name, of in zip(new.measures, values, strict=True)
    )
    notes = (*changed, *_notes(new, old, len(shared)))
    warn_user(notes, warn)
    return Check(old.systems[0], new.systems[0], decisions, max_drop, alpha, power, notes, remarks)


def _refuse_unmatched(*both: Scores) -> None:
    """Fail if a system has hardly any judged document: its scores say nothing."""
    for scores in both:
        if scores.systems[0] in scores.metadata.get("unmatched", ()):
            raise CheckFailed(
                f"{scores.systems[0]}: hardly any query has a judged document, so that the scores cannot be compared. "
                "Do judgments and runs write document ids in the same way?"
            )


def _judgments_of_both(
    new: Scores, old: Scores, other_judgments: OtherJudgments
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return warnings and remarks about the judgments of both scores. Fail if they differ and that is not allowed."""
    known = [digest_text(scores.metadata.get("judgments")) for scores in (new, old)]
    if known[0] is not None and known[1] is None:
        return (), (
            "the scores of the baseline do not say which judgments they were made with: if the judgments have changed "
            "since, the comparison is wrong; scores by query in JSON say it",
        )
    if None in known or known[0] == known[1]:
        return (), ()
    text = (
        f"{new.systems[0]} and {old.systems[0]} were scored with different judgments "
        f"(digests {known[0]} and {known[1]})"
    )
    if other_judgments == "error":
        raise CheckFailed(
            f"{text}: compute the scores of the baseline again, or set other_judgments to 'warn' to compare them anyway"
        )
    return (text,), ()


def _decision(
    measure: str, values: Floats, queries: Sequence[str], max_drop: float, alpha: float, power: float, worst: int
) -> Decision:
    differences = Differences.of(values, NEW, OLD)
    both = differences.shared[0]
    if int(both.sum()) < 2:
        raise CalipersError(f"fewer than two queries have a score of both systems under {measure}: no limit is known")
    scores = as_scores(values, ("old", "new"), queries, measure)
    (found,) = non_inferiority(scores, "new", "old", max_drop, alpha=alpha).tests
    high = -float(non_inferiority_limits(values, OLD, NEW, alpha)[0])
    verdict, needed = _verdict(found.difference, found.low, high, max_drop), None
    if verdict == UNDECIDED:
        away = abs(found.difference + max_drop) / float(differences.deviation[0])
        try:
            needed = smallest_n(away, power, alpha, power_one_sided) if away else None
        except CalipersError:  # more than can be counted
            needed = None
    gained = beyond_rounding(differences)  # 0 where one of the two has no score
    lost = [q for q in np.argsort(gained, kind="stable")[:worst].tolist() if gained[q] < 0]
    old, new = (mean(row[both].tolist()) for row in values)
    return Decision(
        measure, verdict, old, new, found.difference, found.low, high, max_drop, alpha, found.n, needed,
        tuple(Loss(queries[q], float(values[0, q]), float(values[1, q]), float(gained[q])) for q in lost),
    )  # fmt: skip


def _verdict(difference: float, low: float, high: float, max_drop: float) -> str:
    if low == high:  # all differences are equal
        return NOT_WORSE if round(difference + max_drop, DIGITS) >= 0 else WORSE
    return WORSE if high < -max_drop else NOT_WORSE if low > -max_drop else UNDECIDED


def _measure(scores: Scores, name: str) -> int:
    """The place of a measure: by its name, or by what another name of the same measure stands for."""
    if name in scores.measures:
        return scores.measures.index(name)
    wanted = _meant(name)
    for place, each in enumerate(scores.measures):
        if wanted is not None and _meant(each) == wanted:
            return place
    raise UnknownName.among("measure of the baseline", name, scores.measures)


def _meant(name: str) -> str | None:
    try:
        return repr(parse(name))
    except CalipersError:
        return None


def _notes(new: Scores, old: Scores, shared: int) -> list[str]:
    found = [
        f"{count} {'query' if count == 1 else 'queries'} of {one.systems[0]} {'is' if count == 1 else 'are'} not in "
        f"{other.systems[0]} ({some([query for query in one.queries if query not in set(other.queries)])}); left out"
        for one, other in ((new, old), (old, new))
        if (count := len(one.queries) - shared)
    ]
    likes = [scores.metadata.get("like") for scores in (new, old)]
    if "like" in old.metadata and likes[0] != likes[1]:
        by = [like or "Calipers' own" for like in likes]
        found.append(f"the scores follow different conventions: {by[0]} (new) and {by[1]} (old)")
    return found


def _loss(loss: Loss) -> str:
    return f"{loss.query} {_signed(loss.difference)} ({four_digits(loss.old)} to {four_digits(loss.new)})"


def _signed(value: float) -> str:
    return four_digits(value, "+.4f")


_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


def _xml(text: str) -> str:
    """Text that XML can hold: control characters, and bytes that are no UTF-8, are written out."""
    return _NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", visible(text))


def _workflow(text: str, more: str = "") -> str:
    """Text as GitHub's workflow commands take it: on one line, and with what ends a property written out."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return visible(text)
