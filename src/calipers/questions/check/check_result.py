"""The result of a check: its verdicts in sentences and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from calipers.questions.check.ci_reports import cases_of, github_annotations, junit
from calipers.questions.check.verdicts import (
    BELOW,
    DROPPED,
    NOT_BELOW,
    NOT_WORSE,
    UNDECIDED,
    WITHIN,
    WORSE,
    Decision,
    FailIf,
    Floor,
    Loss,
    MeanVerdict,
)
from calipers.results.result import Result, Tables
from calipers.results.tables import Table, four_digits, markdown_text, visible
from calipers.support.plurals import counted, plural_of, verb

COLUMNS = (
    "measure",
    "observed",
    "verdict",
    "limits",
    "old",
    "new",
    "difference",
    "max_drop",
    "low",
    "high",
    "queries",
    "needed",
)
FLOOR_COLUMNS = (
    "measure",
    "observed",
    "verdict",
    "limits",
    "mean",
    "floor",
    "low",
    "high",
    "queries",
    "needed",
)
LOSS_COLUMNS = ("measure", "query", "old", "new", "difference")


@dataclass(frozen=True, eq=False, repr=False)
class Check(Result):
    """The verdicts under each measure, and over all of them."""

    new: str
    old: str | None  # None if there is no baseline
    decisions: tuple[Decision, ...] = ()
    floors: tuple[Floor, ...] = ()
    query_drops: tuple[tuple[str, float, Loss], ...] = ()  # measure, limit and query, largest loss first
    problems: tuple[tuple[str, str], ...] = ()  # kind (see `fail_on`) and sentence, for each problem found in the data
    fail_if: FailIf = "drop"
    fail_on: tuple[str, ...] = ()
    max_query_drop: tuple[tuple[str, float], ...] = ()  # limits by measure
    alpha: float = 0.05
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # sentences that are not warnings
    unit: str = "query"  # document, for summaries

    @property
    def observed(self) -> str:
        """The observed fact: dropped, below the floor, or ok."""
        found = {each.observed for each in self.verdicts} | ({DROPPED} if self.query_drops else set())
        return next((fact for fact in (DROPPED, BELOW) if fact in found), WITHIN)

    @property
    def verdict(self) -> str:
        """The conclusion beyond these queries: worse, below the floor, undecided, not worse or not below the floor."""
        found = {each.verdict for each in self.verdicts}
        order = (WORSE, BELOW, UNDECIDED, NOT_WORSE, NOT_BELOW)
        return next((verdict for verdict in order if verdict in found), UNDECIDED)

    @property
    def failed(self) -> bool:
        """True if a job should stop."""
        broken = any(each.fails(self.fail_if) for each in self.verdicts)
        return broken or bool(self.query_drops) or bool(self._failing_problems)

    @property
    def verdicts(self) -> tuple[MeanVerdict, ...]:
        return (*self.decisions, *self.floors)

    @property
    def _failing_problems(self) -> list[tuple[str, str]]:
        return [(kind, text) for kind, text in self.problems if kind in self.fail_on]

    @property
    def title(self) -> str:
        """The systems that were checked."""
        return f"Check of {self._against}"

    @property
    def _against(self) -> str:
        return self.new if self.old is None else f"{self.new} against {self.old}"

    @property
    def summary(self) -> str:
        """The result of the check, the observed facts, and the conclusions beyond these queries."""
        rule = "" if self.fail_if == "drop" else f" (fail_if {self.fail_if})"
        parts = [*self._about_drops(), *self._about_queries(), *self._about_floors()]
        parts += [f"{text} (fail_on {kind})" for kind, text in self._failing_problems]
        return f"{'Failed' if self.failed else 'Passed'}{rule}: {'. '.join(parts)}."

    def _about_drops(self) -> Iterator[str]:
        if not self.decisions:
            return
        far = [
            f"{x.name} by {four_digits(-x.difference)} ({x.max_drop:.4g} allowed)" for x in self.decisions if x.exceeded
        ]
        if far:
            yield f"{self.new} drops by more than is allowed against {self.old}: {', '.join(far)}"
        else:
            names = ", ".join(each.name for each in self.decisions)
            yield f"{self.new} does not drop by more than is allowed against {self.old} ({names})"
        yield self._beyond(self.decisions)

    def _about_queries(self) -> Iterator[str]:
        if not self.max_query_drop:
            return
        if not self.query_drops:
            yield f"No {self.unit} of {self.new} loses more than is allowed per {self.unit}"
            return
        queries = {loss.query for _, _, loss in self.query_drops}
        measure, limit, loss = self.query_drops[0]
        more = f", and {len(queries) - 1} more" if len(queries) > 1 else ""
        lost = f"{counted(len(queries), self.unit)} {verb(len(queries), 'loses', 'lose')} more than is allowed"
        yield f"{lost} per {self.unit}: {loss} in {measure}, where {limit:g} is allowed{more}"

    def _about_floors(self) -> Iterator[str]:
        if not self.floors:
            return
        named = [each for each in self.floors if each.exceeded] or self.floors
        means = ", ".join(f"{each.name}: mean {four_digits(each.mean)}, floor {each.floor:.4g}" for each in named)
        yield f"{self.new} is {'below' if named[0].exceeded else 'not below'} the floor ({means})"
        yield self._beyond(self.floors)

    def _beyond(self, verdicts: Sequence[MeanVerdict]) -> str:
        """Return what is shown beyond the queries, with the measures of each verdict."""
        parts: dict[str, list[MeanVerdict]] = {}
        for verdict in (*verdicts[0].SHOWN, UNDECIDED):
            for each in sorted(verdicts, key=lambda each: each.approximate):
                if each.verdict == verdict:
                    how = ", approximately" if each.approximate and verdict != UNDECIDED else ""
                    parts.setdefault(f"{verdict}{how}", []).append(each)
        said = {verdict: ", ".join(each.name for each in part) for verdict, part in parts.items()}
        numbers = [each.needed for each in parts.get(UNDECIDED, ()) if each.needed is not None]
        if numbers and len(numbers) == len(parts[UNDECIDED]):
            said[UNDECIDED] += f"; about {counted(max(numbers), self.unit)} would tell"
        found = ", ".join(f"{verdict} ({names})" for verdict, names in said.items())
        return f"Beyond these {plural_of(self.unit)}: {found}"

    # -- tables ------------------------------------------------------------------------------------

    def tables(self) -> Tables:
        """Return the verdicts about drops and floors, queries that lost too much, and the largest losses."""
        makers: dict[str, tuple[Callable[[], Table], object]] = {
            "measures": (partial(_rows, COLUMNS, self.decisions), self.decisions),
            "floors": (partial(_rows, FLOOR_COLUMNS, self.floors), self.floors),
            "query_drops": (self._query_drops, self.max_query_drop),
            "worst": (self._worst, any(each.worst for each in self.decisions)),
        }
        return Tables({name: partial(self._in_words, make) for name, (make, wanted) in makers.items() if wanted})

    def _in_words(self, make: Callable[[], Table]) -> Table:
        """Return a table in which columns about queries have the names that fit the data (document, documents)."""
        table, names = make(), {"query": self.unit, "queries": plural_of(self.unit)}
        return table.changed(columns=tuple(names.get(column, column) for column in table.columns))

    def _query_drops(self) -> Table:
        rows = tuple((name, x.query, x.old, x.new, x.difference, limit) for name, limit, x in self.query_drops)
        return Table((*LOSS_COLUMNS, "max_query_drop"), rows)

    def _worst(self) -> Table:
        """Return the largest losses under each measure, over all queries."""
        found = [(each, loss) for each in self.decisions if not each.group for loss in each.worst]
        rows = tuple((each.measure, x.query, x.old, x.new, x.difference) for each, x in found)
        return Table(LOSS_COLUMNS, rows)

    def sections(self) -> list[tuple[str, str, Table]]:
        """Return name, title and table of everything that readers are shown."""
        titles = {
            "measures": "mean differences",
            "floors": "floors",
            "query_drops": f"{plural_of(self.unit)} that lose more than is allowed per {self.unit}",
            "worst": f"{plural_of(self.unit)} with the largest loss",
        }
        return [(name, titles[name], table) for name, table in self.tables().items() if table.rows]

    def text(self) -> str:
        """Return the facts and verdicts in sentences, and the tables below them."""
        sentences = "".join(f"- {visible(str(each))}\n" for each in self.verdicts)
        tables = [f"{title}\n{table.to_text()}" for _, title, table in self.sections()]
        return "\n".join([f"{visible(self.summary)}\n", *([sentences] if sentences else []), *tables])

    def for_pull_request(self) -> str:
        """Return Markdown for a comment: the facts and verdicts in sentences, and the tables below them."""
        sentences = "".join(f"- {markdown_text(str(each))}\n" for each in self.verdicts)
        tables = [f"{title[0].upper()}{title[1:]}:\n\n{table.to_markdown()}" for _, title, table in self.sections()]
        return "\n".join([f"**{markdown_text(self.summary)}**\n", *([sentences] if sentences else []), *tables])

    def _json(self) -> dict[str, Any]:
        """Return the facts, the verdict and settings as well as the summary."""
        about = {"failed": self.failed, "observed": self.observed, "verdict": self.verdict, "fail_if": self.fail_if}
        more = {"old": self.old, "new": self.new, "alpha": self.alpha, "problems": [text for _, text in self.problems]}
        found = super()._json()
        return {**about, **more, **found, "notes": [*self.notes, *self.remarks]}

    # -- for jobs ----------------------------------------------------------------------------------

    def to_junit(self) -> str:
        """Return JUnit's XML: a test case for everything that was checked, with the observed fact and what it shows."""
        return junit(self._against, cases_of(self))

    def annotations(self) -> list[str]:
        """Return lines that GitHub shows next to a pull request: an error, a warning or a notice for each case."""
        return github_annotations(self._against, cases_of(self))


def _rows(columns: tuple[str, ...], found: Sequence[MeanVerdict]) -> Table:
    """Return one row per verdict, with its group of queries if there are groups."""
    names = ("group", *columns) if any(each.group for each in found) else columns
    rows = tuple(tuple(getattr(each, name) for name in names) for each in found)
    return Table(names, tuple(tuple("(all)" if cell == "" else cell for cell in row) for row in rows))
