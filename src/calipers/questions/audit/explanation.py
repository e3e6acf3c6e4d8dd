"""Arithmetic of one query's score, term by term, under several conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from calipers.conventions import PLAIN, TOOLS, Convention
from calipers.errors import CalipersError, UnknownName, place_of, suggestion, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Lists
from calipers.measures.forms import Form
from calipers.measures.forms.shares import numerator_and_denominator
from calipers.measures.registry import Measure
from calipers.questions.audit.rescoring import Rescorer
from calipers.questions.audit.terms import (
    best_lists,
    deepest_rank,
    gains_and_weights,
    inner_form,
    remark_on_terms,
)
from calipers.results.result import Result, Tables, in_short
from calipers.results.scores import Reason
from calipers.results.tables import Cell, Table
from calipers.support.checks import check_type

COLUMNS = ("part", "rank", "document", "grade", "gain", "weight", "term")
Row = tuple[Cell, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Terms of the score of one run for one query, per measure and convention."""

    system: str
    query: str
    scores: dict[tuple[str, str], float]  # by measure and convention
    terms: dict[tuple[str, str], Table]
    conventions: tuple[Convention, ...]
    reading_notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Title of the result."""
        names = ", ".join(dict.fromkeys(measure for measure, _ in self.scores))
        return f"{names} of {self.system} for query {self.query}"

    @property
    def summary(self) -> str:
        """Scores under the conventions."""
        return in_short([f"{measure} like {like}: {score:.4f}" for (measure, like), score in self.scores.items()], 6)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the input, and a sentence about each convention."""
        about = (f"{each.name}: {each.sentence}" for each in self.conventions)
        return (*self.reading_notes, *about, "ranks without a row hold unjudged documents")

    def tables(self) -> Tables:
        """Return the terms by measure and convention, such as `nDCG@10-letor4`."""
        return Tables(
            {f"{measure}-{like}": partial(self.terms.__getitem__, (measure, like)) for measure, like in self.terms}
        )


def explain(
    evaluation: Evaluation,
    query: str,
    *,
    run: str | None = None,
    like: str | Convention | Sequence[str | Convention] | None = None,
    reference: str | Convention = PLAIN,
) -> Explanation:
    """Return the terms that the score of one query is the sum of, under several conventions.

    run: the run that the score belongs to; by default the first.
    like: the tools to show; by default the tool whose score differs most from the reference.
    reference: the convention that is shown first.

    Ranks without a row hold unjudged documents. Tied documents that a convention averages over share their ranks.

    >>> import calipers as cal
    >>> exp = cal.Experiment({"q": {"a": 1, "b": 0}}, {"q": {"b": 2, "a": 1}}, "nDCG@10")
    >>> found = cal.explain(exp, "q", like="letor4")
    >>> found.scores
    {('nDCG@10', 'calipers'): 0.6309297535714575, ('nDCG@10', 'letor4'): 0.0}
    """
    check_type("evaluation", evaluation, Evaluation, "an Experiment")
    known = evaluation.judgments
    if query not in known.queries:
        raise UnknownName(f"query '{query}' is not judged; {suggestion(str(query), known.queries)}", file=known.name)
    rescorer = Rescorer.of(evaluation)
    notes = rescorer.notes(evaluation)
    warn_user(notes, evaluation.warn)
    system = rescorer.systems[0] if run is None else run
    place = place_of("system", system, rescorer.systems), place_of("query", query, rescorer.queries)
    base = rescorer.convention(reference)
    named = [like] if isinstance(like, str | Convention) else like
    terms, scores = {}, {}
    shown: dict[Convention, None] = {}
    for name in evaluation.measures:
        wanted = (
            _most_different(rescorer, name, base, place) if named is None else list(map(rescorer.convention, named))
        )
        able = [each for each in wanted if rescorer.refusal(name, each) is None]
        notes += [
            f"no figure for {each.name} ({name}): {rescorer.refusal(name, each)}" for each in wanted if each not in able
        ]
        if not able or rescorer.refusal(name, base):
            raise CalipersError(f"none of the tools has a figure for {name}", file=known.name)
        for each in dict.fromkeys([base, *able]):
            terms[name, each.name], scores[name, each.name] = _explained(rescorer, name, each, place)
            shown[each] = None
    return Explanation(system, query, scores, terms, tuple(shown), tuple(notes))


def _most_different(rescorer: Rescorer, name: str, base: Convention, place: tuple[int, int]) -> list[Convention]:
    """Return the tool whose score of one list differs most from the score under the reference."""
    tools = [rescorer.convention(tool) for tool in TOOLS if tool != base.name]
    able = [tool for tool in tools if rescorer.refusal(name, tool) is None]
    expected = float(rescorer.scores(name, base).values[0][place])

    def distance(tool: Convention) -> float:
        return _distance(float(rescorer.scores(name, tool).values[0][place]), expected)

    return [max(able, key=distance)] if able else []


def _distance(a: float, b: float) -> float:
    """Return the distance of two scores. A score that is left out is farther from a number than any score."""
    return abs(a - b) if a == a and b == b else 2.0 * (a == a or b == b)


def _explained(rescorer: Rescorer, name: str, like: Convention, place: tuple[int, int]) -> tuple[Table, float]:
    """Return the terms of one list under one convention, and the score."""
    found = rescorer.scores(name, like)
    score = float(found.values[0][place])
    lists = _only(rescorer.lists(like), place[0] * len(rescorer.queries) + place[1])
    reason = Reason(int(found.reasons[0][place]))
    rows = _rows(rescorer, rescorer.measure(name, like), lists, score, reason)
    return Table(COLUMNS, tuple(rows), {"like": like.name}), score


def _rows(rescorer: Rescorer, measure: Measure, lists: Lists, score: float, reason: Reason) -> list[Row]:
    form = measure.form
    rows: list[Row] = []
    why = []
    while (inside := inner_form(form, lists)) is not None:
        rows += [_result(what, value) for what, value in inside.values]
        why += [inside.remark] if inside.remark else []
        form, lists = inside.form, inside.lists
    core, by = numerator_and_denominator(form)
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
    """Return the term of each rank: the score of the list down to the rank, minus the score before it."""
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
            rows.append((f"{part}, whole tie", f"{first}-{last}", "", None, None, None, score - before))
        before = score
    return rows


def _only(lists: Lists, place: int) -> Lists:
    """Return one of the lists."""
    rows = slice(int(lists.offsets[place]), int(lists.offsets[place + 1]))
    return Lists(
        pool=lists.pool,
        query=lists.query[place : place + 1],
        length=lists.length[place : place + 1],
        offsets=np.array([0, rows.stop - rows.start]),
        document=lists.document[rows],
        first=lists.first[rows],
        last=lists.last[rows],
    )
