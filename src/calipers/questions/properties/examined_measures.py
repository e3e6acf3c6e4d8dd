"""Measures under examination: the form at every cutoff, and the grades that a measure distinguishes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists, Pool
from calipers.measures.forms import Form, Free
from calipers.measures.gains import Gain
from calipers.measures.grammar import parse_all
from calipers.measures.parameters import REQUIRED
from calipers.measures.registry import Declaration, Measure
from calipers.questions.properties.proofs import Proofs, is_undefined_if_degenerate, proofs
from calipers.questions.properties.small_rankings import Space
from calipers.support.plurals import counted
from calipers.support.record import Record, values_of

Examined = str | Measure | Declaration | Form | Callable[[Floats], float]

SCALE = 2.0  # the largest grade, for a measure that takes it from the judgments


@dataclass(frozen=True)
class Subject:
    """A measure whose cutoff is left open; where it has none of its own, the list is cut instead."""

    name: str
    measure: Measure | Form
    fixed_cutoff: int | None = None  # given with the name, and left out of account

    @property
    def cuts(self) -> bool:
        """True if the measure takes a cutoff."""
        return isinstance(self.measure, Measure) and _takes_cutoff(self.measure)

    def form(self, k: int | None) -> Form:
        """Return the form at cutoff k, or for whole lists."""
        if not isinstance(self.measure, Measure):
            return self.measure
        return (self.measure @ k).form if self.cuts else self.measure.form

    @cached_property
    def whole(self) -> Form | None:
        """The form for whole lists; None where it must have a cutoff."""
        if isinstance(self.measure, Measure) and _needs_cutoff(self.measure):
            return None
        try:
            return self.form(None)
        except CalipersError:
            return None

    def scores(self, space: Space) -> Floats:
        """Return the score of each state, [k - 1, ranking]. NaN means that it is undefined or impossible."""
        result = np.empty((space.depth, len(space)))
        for k in range(1, space.depth + 1):
            result[k - 1] = self.score(space.lists if self.cuts else space.shown(k), k)
        result[~space.possible] = np.nan
        return result

    def score(self, lists: Lists, k: int | None) -> Floats:
        """Return the scores of lists at a cutoff. NaN means undefined, for example 0 / 0 in a normalisation."""
        form = self.form(k)
        try:
            with np.errstate(all="ignore"):
                scores = np.array(form.score(lists), np.float64)
        except CalipersError:
            raise
        except Exception as error:  # a user's function may fail in any way
            raise CalipersError(
                f"measure '{self.name}' fails on small rankings: {type(error).__name__}: {error}; "
                "it should return a number, NaN where it is undefined"
            ) from error
        if is_undefined_if_degenerate(form):
            scores[form.is_degenerate(lists)] = np.nan
        return scores

    def proofs(self) -> Proofs:
        """Return the proofs that follow from the form. A form with a fixed cutoff inside, which ignores k, has none."""
        form = self.form(1)
        if not self.cuts and any(getattr(part, "cutoff", None) is not None for part in walk(form)):
            return {}
        return dict(proofs(form))

    @cached_property
    def levels(self) -> tuple[float, ...]:
        """The grades above 0 that the measure itself names: relevance levels, the largest grade, a table of gains."""
        named = {float(grade) for grade in _named_grades(self.form(1)) if grade > 0}
        if not named and isinstance(self.measure, Measure):  # a function, which may use what it was declared with
            given = (self.measure.parameters.get(key) for key in ("rel", "max_grade"))
            named.update(float(grade) for grade in given if isinstance(grade, int | float) and grade > 0)
        return tuple(sorted(named))

    @cached_property
    def grades(self) -> tuple[float, ...]:
        """Nothing, half, everything: in the grades of this measure. Two grades where a table has no other."""
        if not self.levels:
            return (0.0, 0.5, 1.0)
        top = self.levels[-1]
        if len(self.levels) > 1:
            return (0.0, self.levels[0], top)
        return (0.0, top) if _has_table(self.form(1)) else (0.0, top / 2, top)


def subject_of(examined: Examined) -> Subject:
    """Return the measure that a name, an object or a function stands for."""
    if isinstance(examined, str):
        subjects = subjects_of([examined])
        if len(subjects) != 1:
            raise CalipersError(f"'{examined}' names {counted(len(subjects), 'measure')}; expected one")
        return subjects[0]
    if isinstance(examined, Measure):
        return Subject(repr(examined), _bound(examined), examined.cutoff)
    if isinstance(examined, Declaration):
        needed = {"cutoff": 1} if examined.defaults.get("cutoff") is REQUIRED else {}
        return Subject(examined.name, _bound(Measure.of(examined, needed)))
    if isinstance(examined, Form):
        return Subject(type(examined).__name__, examined)
    if callable(examined):
        return Subject(getattr(examined, "__name__", "function"), Free(examined))
    raise CalipersError(
        f"a measure cannot be of type {type(examined).__name__}; expected a name, a measure, a form or a function"
    )


# A name with its brackets. Names are separated by spaces and commas.
_WORD = re.compile(r"(?:[^\s,(){}]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\{[^{}]*\})+|[(){}]+")


def subjects_of(names: Iterable[str]) -> list[Subject]:
    """Return the measures that names stand for. A cutoff may be left out even if evaluation needs one."""
    found: dict[str, Subject] = {}
    for text in names:
        for word in words_of(text):
            for subject in _parsed(word):
                found[subject.name] = subject
    return list(found.values())


def words_of(text: str) -> list[str]:
    """Return the names in a text."""
    words = _WORD.findall(text)
    return [text] if not words or any(word[0] in "(){}" for word in words) else words  # refused with the reason


def _parsed(word: str) -> list[Subject]:
    try:
        return [Subject(typed, _bound(measure), measure.cutoff) for typed, measure in parse_all([word])]
    except CalipersError as error:
        # P, AP(norm=k) and V2(P) are no measures yet, but their properties hold over all cutoffs.
        for with_cutoff in (f"{word}@1", re.sub(r"\)$", "@1)", word)):
            try:
                measures = [measure for _, measure in parse_all([with_cutoff])]
            except CalipersError:
                continue
            if all(map(_takes_cutoff, measures)):  # what follows an @ may be something else
                return [Subject(word, _bound(measure)) for measure in measures]
        raise error


def _bound(measure: Measure) -> Measure:
    """Return the measure with the parameters that it takes from judgments."""
    return measure.bind(Pool(offsets=np.array([0, 1]), grade=np.array([SCALE])))


def _takes_cutoff(measure: Measure) -> bool:
    of = measure.parameters.get("of")
    return _takes_cutoff(of) if isinstance(of, Measure) else "cutoff" in measure.declaration.defaults


def _needs_cutoff(measure: Measure) -> bool:
    of = measure.parameters.get("of")
    return _needs_cutoff(of) if isinstance(of, Measure) else measure.declaration.defaults.get("cutoff") is not None


def walk(part: Any) -> Iterator[Any]:
    """Yield a form and all its parts."""
    yield part
    if isinstance(part, Record):
        for each in values_of(part):
            yield from walk(each)
    elif isinstance(part, tuple):
        for each in part:
            yield from walk(each)


def _named_grades(form: Form) -> Iterator[float]:
    for part in walk(form):
        if isinstance(part, Gain):
            yield from part.only_grades or ()
        for name in ("rel", "max_grade"):
            grade = getattr(part, name, None)
            if isinstance(grade, int | float):
                yield float(grade)


def _has_table(form: Form) -> bool:
    return any(isinstance(part, Gain) and part.only_grades is not None for part in walk(form))


def checked_grades(grades: Sequence[float]) -> tuple[float, ...]:
    """Grades that a user gives: 0 and at least one more, ascending."""
    given = tuple(float(grade) for grade in grades)
    if len(given) < 2 or given[0] != 0 or list(given) != sorted(set(given)) or len(given) > 6:
        shown = ", ".join(f"{grade:g}" for grade in given)
        raise CalipersError(f"grades {shown} are not 0 and one to five ascending grades above it, as 0, 1, 2")
    return given
