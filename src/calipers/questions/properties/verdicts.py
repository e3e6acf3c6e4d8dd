"""Verdicts: no, with the smallest counterexample; yes as far as was searched; or yes, proved from the form."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calipers.errors import CalipersError, UnknownName
from calipers.measures.forms.base import number
from calipers.measures.gains import as_gain
from calipers.questions.properties.counterexamples import (
    EXTRA,
    PROPERTIES,
    Finding,
    Ranking,
    Scored,
    State,
    attained,
    beyond,
    ever_falls,
    only_across_the_cutoff,
    scored,
    tells_apart,
)
from calipers.questions.properties.examined_measures import Examined, Subject, checked_grades, subject_of
from calipers.questions.properties.proofs import has_residual, stops_at_first_relevant
from calipers.questions.properties.small_rankings import MORE_RANKINGS, space

SEVEN = tuple(PROPERTIES)
NINE = (*SEVEN, *EXTRA)
WHOLE_GRADES = (0.0, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class Counterexample:
    """Rankings, as grades from rank 1 on (None is an unjudged document), and their scores: before, and after.

    `str` says it in words. 10;1 is a ranking whose top two are 1 and 0, with a 1 outside; h is half.
    """

    name: str  # of the property
    before: Ranking
    k_before: int | None
    score_before: float
    after: Ranking | None
    k_after: int | None
    score_after: float
    words: str

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Verdict:
    """The answer to the question if a measure has a property, with its proof or counterexample. It is true or false."""

    name: str  # of the property
    holds: bool
    searched: str  # how far
    proof: str = ""
    counterexample: Counterexample | None = None
    note: str = ""  # a letter of the notes below the table

    def __bool__(self) -> bool:
        return self.holds

    @property
    def how(self) -> str:
        """`refuted`, `proved`, or `searched` without finding a counterexample."""
        return "refuted" if not self.holds else "proved" if self.proof else "searched"

    @property
    def word(self) -> str:
        return "yes" if self.holds else "no"

    @property
    def words(self) -> str:
        """The word and, of a yes that was searched and not proved, up to what size."""
        return f"yes up to {self.searched}" if self.how == "searched" else self.word

    def __str__(self) -> str:
        if self.counterexample is not None:
            return f"No: {self.counterexample}"
        return f"Yes, proved: {self.proof}" if self.proof else f"Yes up to {self.searched}"


@dataclass(frozen=True)
class Properties:
    """The seven properties of a measure, and two more."""

    measure: str
    bounded: Verdict
    monotone: Verdict
    convergent: Verdict
    top_weighted: Verdict
    localized: Verdict
    complete: Verdict
    realizable: Verdict
    tie_invariant: Verdict
    insensitive_to_unjudged: Verdict
    grades: tuple[float, ...]  # that were tried
    smallest: float  # score of all that were tried
    largest: float
    bound: float
    fixed_cutoff: int | None = None  # given with the name; the properties hold over all cutoffs

    def __getitem__(self, name: str) -> Verdict:
        verdict = getattr(self, name.replace("-", "_"), None) if name in NINE else None
        if not isinstance(verdict, Verdict):
            raise UnknownName.among("property", name, NINE)
        return verdict

    def __iter__(self) -> Iterator[Verdict]:
        return (self[name] for name in NINE)

    def has(self, names: Sequence[str]) -> bool:
        return all(self[name].holds for name in names)

    def _repr_html_(self) -> str:
        from html import escape

        from calipers.results.tables import Table

        rows = tuple((name, self[name].word, str(self[name])) for name in NINE)
        return f"<p><b>{escape(self.measure)}</b></p>{Table(('property', '', 'why'), rows)._repr_html_()}"

    def __str__(self) -> str:
        width = max(len(name) for name in NINE)
        return "\n".join([self.measure, *(f"  {name:{width}}  {self[name]}" for name in NINE)])


def properties(measure: Examined, *, grades: Sequence[float] | None = None, bound: float | None = None) -> Properties:
    """Decide the seven numeric properties of a measure, over all cutoffs: search, counterexamples and proofs.

    measure: a name, a measure, what `@measure` returns, a form, or a function of an array of grades.
    grades: the grades of the documents that are tried, from 0 up; otherwise three that suit the measure.
    bound: what no score may exceed for the measure to be bounded; 1 unless a single perfect document scores more.

    >>> p = properties("V2(nDCG@10)")
    >>> bool(p.monotone), bool(p.realizable)
    (False, True)
    >>> print(properties("nDCG").monotone)
    No: 101 scores 1 at k = 1 and 0.6131 at k = 2
    >>> print(properties("RBP(p=0.8)").bounded)
    Yes, proved: the weights of all ranks sum to 1, and no document has a gain above 1
    """
    return examine(subject_of(measure), grades=grades, bound=bound)


def examine(subject: Subject, *, grades: Sequence[float] | None = None, bound: float | None = None) -> Properties:
    """Return the properties of a measure."""
    tried = subject.grades if grades is None else checked_grades(grades)
    if bound is not None and not (math.isfinite(bound) and bound > 0):
        raise CalipersError(f"bound {bound:g} is not a number above 0")
    many = _scored(subject, tried)
    if all(np.isnan(each.scores).all() for each in many):
        raise CalipersError(f"measure '{subject.name}' is undefined for every small ranking, so it has no properties")
    usual = _bound(subject, many[0])
    limit = usual if bound is None else bound
    proved = subject.proofs()
    if limit < usual:
        proved.pop("bounded", None)  # which is proved of values, and so scores, of the usual size
    findings = {name: _found(name, many, limit) for name in NINE}
    searched = dict.fromkeys(NINE, _how_far(many))
    if grades is None and len(many) > 1:
        for name in ("convergent", "top-weighted"):
            if findings[name] is None and name not in proved:
                wider = _wider(subject, many)
                findings[name] = next(filter(None, (PROPERTIES[name](each, limit) for each in wider)), None)
                searched[name] = _how_far([many[0], *wider])
    unlimited = _found("bounded", many, max(limit, usual))
    if unlimited is not None and unlimited.before.score > 0:
        findings["realizable"] = unlimited  # there is no largest score that could be attained
    holds = {name: _holds(subject, name, findings[name], proved) for name in NINE}
    letters = note_letters(subject, many[0], holds)
    scores = np.concatenate([each.scores.ravel() for each in many] + [many[0].perfect])
    verdicts = {
        name.replace("-", "_"): Verdict(
            name=name,
            holds=holds[name],
            searched=searched[name],
            proof=proved.get(name, ""),
            counterexample=None if holds[name] else _counterexample(name, findings[name], limit),
            note=letters.get(name, ""),
        )
        for name in NINE
    }
    return Properties(
        measure=subject.name,
        **verdicts,
        grades=many[-1].space.grades,
        smallest=float(np.nanmin(scores)),
        largest=float(np.nanmax(scores)),
        bound=limit,
        fixed_cutoff=subject.fixed_cutoff,
    )


def _scored(subject: Subject, grades: tuple[float, ...]) -> list[Scored]:
    """Return scores on two kinds of documents, and on three kinds if the measure distinguishes them."""
    binary = scored(subject, space((grades[0], grades[-1])))
    if len(grades) == 2:
        return [binary]
    graded = scored(subject, space(grades), binary.perfect)
    return [binary, graded] if tells_apart(graded) else [binary]


def _wider(subject: Subject, many: Sequence[Scored]) -> list[Scored]:
    """Return scores on more documents, and on whole grades. Gains above 1 and grades above 1 may break a property."""
    grades = many[1].space.grades
    spaces = [space(grades, MORE_RANKINGS), *([space(WHOLE_GRADES)] if grades == (0.0, 0.5, 1.0) else [])]
    return [scored(subject, each, many[0].perfect) for each in spaces]


def _how_far(many: Sequence[Scored]) -> str:
    """Return the number of documents that were tried, for two kinds, three kinds, and whole grades."""
    graded = ", ".join(
        (f"grades 0 to {each.space.grades[-1]:g}: " if each.space.grades == WHOLE_GRADES else "graded: ")
        + f"{each.space.depth}"
        for each in many[1:]
    )
    return f"n = {many[0].space.depth}" + (f" ({graded})" if graded else "")


def _bound(subject: Subject, binary: Scored) -> float:
    """Return the default bound: 1, or a larger score or gain of one perfect document."""
    top = np.array([binary.space.grades[-1]])
    worth = subject.form(1).gain
    value = float(worth(top)[0]) if as_gain(worth).adds else 0.0
    alone = float(binary.perfect[0])
    return max(1.0, value, 0.0 if math.isnan(alone) else abs(alone))


def _found(name: str, many: Sequence[Scored], bound: float) -> Finding | None:
    """Return the smallest counterexample, preferably on two kinds of documents, and for a bound preferably above it."""
    search = PROPERTIES.get(name) or EXTRA[name]
    found = filter(None, (search(each, bound) for each in many))
    if name != "bounded":
        return next(found, None)
    either = [*found, *filter(None, [beyond(many[0], bound)])]
    return next((each for each in either if each.before.score > 0), either[0] if either else None)


def _holds(subject: Subject, name: str, finding: Finding | None, proved: dict[str, str]) -> bool:
    if finding is None:
        return True
    if name not in proved:
        return False
    if finding.same:  # a rise that is proved, but smaller than what floating-point numbers can tell apart
        return True
    raise AssertionError(f"{name} of {subject.name} is proved ({proved[name]}) and refuted ({finding})")


# -- in words ----------------------------------------------------------------------------------------


def _counterexample(name: str, finding: Finding | None, bound: float) -> Counterexample:
    assert finding is not None
    before, after = finding.before, finding.after
    if name == "realizable" and after is None:
        words = f"there is no largest score: {_scores(before)}"
    else:
        words = _WORDS[name](before, before if after is None else after, bound)
    nothing = replace(before, ranking=(), k=None, score=math.nan)
    return Counterexample(
        name=name,
        before=before.ranking,
        k_before=before.k,
        score_before=before.score,
        after=None if after is None else after.ranking,
        k_after=(after or nothing).k,
        score_after=(after or nothing).score,
        words=words,
    )


def _scores(state: State) -> str:
    return f"{written(state.ranking)} scores {number(state.score)}{_at(state)}"


def _at(state: State) -> str:
    return "" if state.k is None else f" at k = {state.k}"


def _swapped(before: State, after: State, bound: float) -> str:
    ranks = [rank for rank, pair in enumerate(zip(before.ranking, after.ranking, strict=True), 1) if pair[0] != pair[1]]
    same = math.isclose(before.score, after.score, rel_tol=1e-12, abs_tol=1e-12)
    return (
        f"{_state(before)} scores {number(before.score)}{_at(before)}, and with ranks {ranks[0]} and {ranks[-1]} "
        f"swapped, {_state(after)}, {'still' if same else 'only'} {number(after.score)}"
    )


def _state(state: State) -> str:
    """Return a state as text: the top k, a semicolon, and the rest."""
    if state.k is None or state.k >= len(state.ranking):
        return written(state.ranking)
    return f"{written(state.ranking[: state.k])};{written(state.ranking[state.k :])}"


_WORDS: dict[str, Callable[[State, State, float], str]] = {
    "bounded": lambda before, after, bound: f"{_scores(before)}, beyond {number(math.copysign(bound, before.score))}",
    "monotone": lambda before, after, bound: f"{_scores(before)} and {number(after.score)}{_at(after)}",
    "convergent": _swapped,
    "top-weighted": _swapped,
    "localized": lambda before, after, bound: (
        f"the same top {before.k}, but {_state(before)} scores {number(before.score)} and {_state(after)} "
        + ("has no score" if math.isnan(after.score) else f"scores {number(after.score)}")
    ),
    "complete": lambda before, after, bound: f"{written(before.ranking)} has no score{_at(before)}",
    "realizable": lambda before, after, bound: (
        f"no order of {written(before.ranking)} scores more than {number(before.score)}{_at(before)}, "
        f"but {_scores(after)}"
    ),
    "tie-invariant": lambda before, after, bound: (
        f"a tie may be read as {_state(before)}, which scores {number(before.score)}{_at(before)}, "
        f"or as {_state(after)}, which scores {number(after.score)}"
    ),
    "insensitive-to-unjudged": lambda before, after, bound: (
        f"{_state(before)} scores {number(before.score)}{_at(before)}; without the unjudged document "
        f"{number(after.score)}"
    ),
}


def written(ranking: Ranking) -> str:
    """Return a ranking in few characters: 1h0 for grades 1, 0.5 and 0, and ? for an unjudged document.

    >>> written((1.0, 0.5, None)), written((1.0,) * 64), written((0.25, 2.0))
    ('1h?', '1 x 64', '0.25 2')
    """
    if len(ranking) > 16 and len(set(ranking)) == 1:
        return f"{written(ranking[:1])} x {len(ranking)}"
    symbols = ["?" if grade is None else "h" if grade == 0.5 else f"{grade:g}" for grade in ranking]
    return ("" if all(len(symbol) == 1 for symbol in symbols) else " ").join(symbols)


NOTES = {
    "a": "The score is the lower end of a range: documents beyond k could still add to it. The lower end is meant.",
    "b": "One document settles the score: swapping relevant documents upwards never lowers it, but need not raise it.",
    "c": "The score is taken to be 0 where no relevant document is among the top k.",
    "d": "Undefined wherever no relevant document is among the top k, even if there are some.",
    "e": "Realizes its largest value only if k <= R.",
    "f": "Realizes its largest value only if k >= R.",
    "g": "Only ties that the cutoff cuts change the score.",
}


def note_letters(subject: Subject, many: Scored, holds: Mapping[str, bool]) -> dict[str, str]:
    """Return the letter of the note for each property that has one, from the states over two kinds of documents."""
    letters: dict[str, str] = {}
    form = subject.form(1)
    if has_residual(form):
        letters.update({name: "a" for name in ("monotone", "convergent", "localized") if holds[name]})
    scores = many.scores[many.space.possible]
    settled = not holds["convergent"] and not holds["top-weighted"] and holds["monotone"] and holds["bounded"]
    if settled and not np.isnan(scores).any() and np.ptp(scores) > 0 and not ever_falls(many):
        letters.update({"convergent": "b", "top-weighted": "b"})
    if stops_at_first_relevant(form):
        letters.update({"localized": "c", "complete": "c"})
    if not holds["complete"] and _needs_something_found(many):
        letters["complete"] = "d"
    if holds["bounded"] and not holds["realizable"]:
        reached, k, relevant = attained(many)
        if (reached == (k <= relevant)).all():
            letters["realizable"] = "e"
        elif (reached == (k >= relevant)).all():
            letters["realizable"] = "f"
    if not holds["tie-invariant"] and only_across_the_cutoff(many):
        letters["tie-invariant"] = "g"
    return letters


def _needs_something_found(many: Scored) -> bool:
    """Return True if the measure is undefined exactly for rankings without a gain in the top k."""
    found = np.cumsum(many.space.level > 0, axis=1).T > 0  # [k - 1, ranking]
    possible = many.space.possible
    return bool((np.isnan(many.scores) == ~found)[possible].all())
