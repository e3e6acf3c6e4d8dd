"""One query's arithmetic, term by term, as each of some conventions has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calipers.auditing.rescoring import Rescorer
from calipers.auditing.terms import (
    best_lists,
    deepest_rank,
    gains_and_weights,
    inner_form,
    remark_on_terms,
)
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.conventions import Convention, convention
from calipers.errors import UnknownName, place_of, suggestion, warn_user
from calipers.evaluation.inputs import as_judgments, as_runs, notes_on_reading
from calipers.lists import Lists
from calipers.measures.forms import Form
from calipers.measures.forms.shares import numerator_and_divisor
from calipers.measures.grammar import parse_all
from calipers.measures.registry import Measure
from calipers.results.scores import Reason
from calipers.results.tables import Cell, Table

COLUMNS = ("part", "rank", "document", "grade", "gain", "weight", "term")
Row = tuple[Cell, ...]


@dataclass(frozen=True, eq=False)
class Explanation:
    """How some conventions come to the score of one system for one query."""

    measure: str
    system: str
    query: str
    scores: dict[str, float]  # of each convention
    tables: dict[str, Table]

    def table(self, like: str) -> Table:
        """The terms under one convention."""
        return self.tables[like]

    def __str__(self) -> str:
        head = f"{self.measure} of {self.system} for query {self.query}\n"
        return head + "\n".join(f"{name}: {self.scores[name]:.4f}\n{table}" for name, table in self.tables.items())


def explain(
    judgments: JudgmentsLike,
    runs: RunsLike,
    query: str,
    measure: str | Measure = "nDCG@10",
    *,
    like: Sequence[str | Convention] = ("definition", "letor4"),
    system: str | None = None,
    depth: int | None = None,
    warn: bool = True,
) -> Explanation:
    """The terms that a score is the sum of, under each of some conventions.

    Ranks without a line hold unjudged documents. Tied documents that a convention averages over share their ranks.

    >>> found = explain({"q": {"a": 1, "b": 0}}, {"q": {"b": 2, "a": 1}}, "q", "nDCG@10", like=["definition", "letor4"])
    >>> found.scores
    {'definition': 0.6309297535714575, 'letor4': 0.0}
    """
    known = as_judgments(judgments)
    [(name, _)] = parse_all(measure)
    if query not in known.queries:
        raise UnknownName(f"query '{query}' is not judged; {suggestion(query, known.queries)}", file=known.name)
    read = as_runs(runs)
    warn_user(notes_on_reading(known, read), warn)
    rescorer = Rescorer(known, read, depth)
    return explained(rescorer, name, query, [convention(each) for each in like], system)


def explained(
    rescorer: Rescorer, name: str, query: str, conventions: Sequence[Convention], system: str | None = None
) -> Explanation:
    """The same for lists that were read already."""
    system = rescorer.systems[0] if system is None else system
    row, column = place_of("system", system, rescorer.systems), place_of("query", query, rescorer.queries)
    tables, scores = {}, {}
    for each in conventions:
        each.check(rescorer.judgments, [rescorer.measure(name, each)])
        found = rescorer.scores(name, each)
        scores[each.name] = float(found.values[0, row, column])
        lists = _only(rescorer.lists(each), row * len(rescorer.queries) + column)
        reason = Reason(int(found.reasons[0, row, column]))
        rows = _rows(rescorer, rescorer.measure(name, each), lists, scores[each.name], reason)
        tables[each.name] = Table(COLUMNS, tuple(rows), {"like": each.name})
    return Explanation(name, system, query, scores, tables)


def _rows(rescorer: Rescorer, measure: Measure, lists: Lists, score: float, reason: Reason) -> list[Row]:
    form = measure.form
    rows: list[Row] = []
    why = []
    while (inside := inner_form(form, lists)) is not None:
        rows += [_result(what, value) for what, value in inside.values]
        why += [inside.remark] if inside.remark else []
        form, lists = inside.form, inside.lists
    core, by = numerator_and_divisor(form)
    lines = _terms(rescorer, "list", core, lists)
    lines.append(_result("sum of the list", float(np.nan_to_num(core.score(lists)[0]))))
    if by is not None:
        best = best_lists(by, core, lists)
        lines += [] if best is None else _terms(rescorer, "ideal", core, best)
        lines.append(_result("divided by", float(np.ravel(by(core, lists))[0])))
    if remark := remark_on_terms(core):
        why.append(remark)
    if reason in (Reason.NO_RELEVANT, Reason.NOTHING_FOUND, Reason.MISSING):
        counted = "left out" if np.isnan(score) else f"counts {score:g}"
        why.append(f"{reason}: {counted}")
    return [*lines, *rows, ("score", None, "; ".join(why), None, None, None, score)]


def _result(what: str, value: float) -> Row:
    return (what, None, "", None, None, None, value)


def _terms(rescorer: Rescorer, part: str, form: Form, lists: Lists) -> list[Row]:
    """What each rank adds: the score of the list down to it less that of the list before it."""
    cutoff = deepest_rank(form)
    names = rescorer.judgments.document_names if rescorer.judgments.names is not None else None
    rows: list[Row] = []
    before = 0.0
    weighed = gains_and_weights(form, lists)
    for first in np.unique(lists.first).tolist():
        if cutoff is not None and first > cutoff:
            break
        score = 0.0 if weighed else float(np.nan_to_num(form.score(lists.where(lists.first <= first))[0]))
        here = np.flatnonzero(lists.first == first)
        last = int(lists.last[here[0]])
        for place in here.tolist():
            document = int(lists.document[place])
            gain = weight = None
            term: float | None = score - before if len(here) == 1 else None
            if weighed:
                gain, weight = float(weighed[0][place]), float(weighed[1][place])
                term = gain * weight
            rows.append(
                (
                    part,
                    str(first) if first == last else f"{first}-{last}",
                    names[document] if names else f"row {document + 1}",
                    float(lists.grade[place]),
                    gain,
                    weight,
                    term,
                )
            )
        if len(here) > 1 and not weighed:
            rows.append((f"{part}, the tie together", f"{first}-{last}", "", None, None, None, score - before))
        before = score
    return rows


def _only(lists: Lists, place: int) -> Lists:
    """One of the lists, alone."""
    rows = slice(int(lists.offsets[place]), int(lists.offsets[place + 1]))
    return Lists(
        pool=lists.pool,
        query=lists.query[place : place + 1],
        length=lists.length[place : place + 1],
        offsets=np.array([0, rows.stop - rows.start]),
        document=lists.document[rows],
        first=lists.first[rows],
        last=lists.last[rows],
        all_ties=None if lists.all_ties is None else lists.all_ties.take(np.array([place])),
    )
