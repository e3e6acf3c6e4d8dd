"""Measures as declarations: a name, parameters with their defaults, one sentence, one expression.

The parser, the `repr`, the card in the manual, the common tests and the bounds of a measure all come from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from inspect import getdoc, getmodule, signature
from typing import Any, Literal, ParamSpec, TypeVar, cast

from calipers.errors import CalipersError
from calipers.lists import SAID_OF, Floats, Lists, Pool
from calipers.measures.dialects import refusal
from calipers.measures.forms import Form
from calipers.measures.forms.base import HowFound
from calipers.measures.forms.free import Free
from calipers.measures.name_lists import shortened
from calipers.record import Record

Given = ParamSpec("Given")
Found = TypeVar("Found")


class _Needed:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "needed"


NEEDED: Any = _Needed()
LARGEST: Any = None  # of max_grade: the largest grade of the judgments, filled in by `Measure.bind`
DEEPEST_CUTOFF = (1 << 31) - 1
_NUMBERS = frozenset({"max_grade", "recall", "multiple"})  # whatever their defaults
COMMON = {"judged_only": False}  # what every measure takes: to leave unjudged documents out of the lists
Average = Literal["arithmetic", "geometric", "sum"]
Reads = Literal["grades", "groups", "subtopics", "preferences", "judges", "samples"]


class Declaration(Record):
    """What is known of a measure before its parameters are."""

    name: str
    defaults: Mapping[str, Any]
    function: Callable[..., Any]  # as it was written
    build: Callable[..., Form]
    example: str
    aliases: tuple[str, ...] = ()
    at: str = "cutoff"  # the parameter that follows the @
    average: Average = "arithmetic"  # what stands for all queries
    reads: Reads = "grades"  # what judgments it needs: a key of SAID_OF; or grades, and groups of documents

    @cached_property
    def sentence(self) -> str:
        """What it is, as the docstring of its function says."""
        return getdoc(self.function) or ""

    @cached_property
    def citation(self) -> str:
        """Where it is from, as the docstring of its family says."""
        return getdoc(getmodule(self.function)) or ""

    def __call__(self, **parameters: Any) -> Form:
        """The form under these parameters: for building one measure from another."""
        return self.build(**{**self.defaults, **parameters})

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.defaults)


_DECLARED: dict[str, Declaration] = {}
_BY_NAME: dict[str, tuple[Declaration, Mapping[str, Any]]] = {}
_CACHED: list[Any] = []  # functions whose results depend on what is declared
LARGEST_CACHE = 1_000  # results: more than a command asks for, and few enough to be kept by a server


def measure(
    name: str,
    *,
    aliases: tuple[str, ...] = (),
    example: str = "",
    at: str = "cutoff",
    average: Average = "arithmetic",
    reads: Reads = "grades",
    as_written: bool = False,
    **defaults: Any,
) -> Callable[[Callable[..., Form]], Declaration]:
    """Declare a measure. The function takes the parameters and returns a form, or a number for a ranking.

    as_written: only this spelling of the name is meant, in these capital and small letters. A measure of your own can
    be declared anew, but it cannot take the name of a built-in one.

    >>> import calipers as cal
    >>> @cal.measure("FirstTwo", rel=1)
    ... def first2(rel):
    ...     '''Whether both of the first two documents are relevant.'''
    ...     return lambda ranking: float((ranking[:2] >= rel).sum() == 2)
    >>> cal.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "b": 1}}, ["FirstTwo"]).mean()["run", "FirstTwo"]
    1.0
    """

    def declare(function: Callable[..., Any]) -> Declaration:
        names, takes_others = _parameters(function)
        unknown = (set(defaults) - set(COMMON)) ^ names
        if unknown and not takes_others:
            raise CalipersError(f"measure '{name}' declares other parameters than its function takes: {unknown}")

        def build(judged_only: bool, **parameters: Any) -> Form:
            result = function(**parameters)
            form = result if isinstance(result, Form) else Free(result)
            if not judged_only:
                return form
            from calipers.measures.judged_only import judged_only as without_unjudged  # knows forms of some families

            return without_unjudged(form)

        declaration = Declaration(
            name=name,
            defaults={**defaults, **COMMON},
            function=function,
            build=build,
            example=example or name + ("@10" if defaults.get("cutoff") is NEEDED else ""),
            aliases=aliases,
            at=at,
            average=average,
            reads=reads,
        )
        keys = {known: known if as_written else known.lower() for known in (name, *aliases)}
        for known, key in keys.items():
            _refuse_taken(declaration, known, key)
        _DECLARED[name] = declaration
        _BY_NAME.update(dict.fromkeys(keys.values(), (declaration, {})))
        _forget_cached()
        return declaration

    return declare


def _refuse_taken(declaration: Declaration, name: str, key: str) -> None:
    """Stop where a name belongs to another measure, or where a user's measure has the name of a built-in one."""
    own = not _is_built_in(declaration)
    if own and (reason := refusal(name)):
        raise CalipersError(f"a measure cannot be called '{name}': {reason}")
    taken = _BY_NAME.get(name) or _BY_NAME.get(key)
    if taken is None:
        return
    if own and _is_built_in(taken[0]):
        raise CalipersError(f"the name '{name}' is taken by the built-in measure '{taken[0].name}': take another name")
    if taken[0].name != declaration.name:
        raise CalipersError(f"the name '{name}' is taken by the measure '{taken[0].name}'")


def _is_built_in(declaration: Declaration) -> bool:
    return declaration.function.__module__.startswith("calipers.measures.")


def _parameters(function: Callable[..., Any]) -> tuple[set[str], bool]:
    """Return the names of a function's parameters, and whether it takes others."""
    found = signature(function).parameters
    return set(found), any(each.kind is each.VAR_KEYWORD for each in found.values())


def alias(name: str, of: str, **parameters: Any) -> None:
    """Another name for a declared measure under some parameters."""
    _BY_NAME[name.lower()] = (_DECLARED[of], parameters)
    _forget_cached()


def cached_until_declared(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Keep the results of a function until a measure is declared, or declared anew."""
    cached = lru_cache(LARGEST_CACHE)(function)
    _CACHED.append(cached)
    return cast("Callable[Given, Found]", cached)


def _forget_cached() -> None:
    for cached in _CACHED:
        cached.cache_clear()


def declared(reads: Reads = "grades") -> Iterator[Declaration]:
    """Every declared measure of such judgments."""
    yield from [declaration for declaration in _DECLARED.values() if declaration.reads == reads]


def examples(reads: Reads = "grades") -> list[str]:
    """A name that parses for every declared measure of such judgments."""
    return [declaration.example for declaration in declared(reads)]


def known_names() -> list[str]:
    return sorted(_BY_NAME)


def other_names(declaration: Declaration) -> list[str]:
    """What else a measure goes by, with the parameters that such a name sets, as `ndcg_burges (gain=exp)`."""
    found = []
    for name, (of, fixed) in _BY_NAME.items():
        if of is declaration and name not in (declaration.name, declaration.name.lower()):
            sets = ", ".join(f"{key}={_written(value)}" for key, value in fixed.items())
            found.append(f"{name} ({sets})" if sets else name)
    return found


def look_up(name: str) -> tuple[Declaration, Mapping[str, Any]] | None:
    """The declaration that a name or alias stands for, and the parameters that the alias sets."""
    return _BY_NAME.get(name) or _BY_NAME.get(name.lower())


class Measure(Record):
    """A measure with its parameters. `repr` parses back; `measure @ 10` sets the cutoff.

    >>> import calipers as cal
    >>> cal.parse("ndcg(gain=exp)@10"), cal.parse("AP") @ 100
    (nDCG(gain=exp)@10, AP@100)
    """

    declaration: Declaration
    given: tuple[tuple[str, Any], ...]

    def __init__(self, declaration: Declaration, given: tuple[tuple[str, Any], ...]) -> None:
        super().__init__(declaration, given)
        for parameter, default in self.declaration.defaults.items():
            if default is NEEDED and parameter not in dict(self.given):
                what = "a cutoff, as in " if parameter == "cutoff" else f"{parameter}, as in "
                raise CalipersError(f"measure '{self.name}' needs {what}{self.declaration.example}")
        self.form  # noqa: B018  a wrong parameter is refused here, not in the middle of a computation

    @property
    def name(self) -> str:
        return self.declaration.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and (self.name, self.given) == (other.name, other.given)

    def __hash__(self) -> int:
        return hash((self.name, self.given))

    @classmethod
    def of(cls, declaration: Declaration, parameters: Mapping[str, Any]) -> Measure:
        for parameter, value in parameters.items():
            if parameter not in declaration.defaults:
                takes = ", ".join(p for p in declaration.defaults if p not in ("cutoff", *COMMON)) or "none"
                if parameter == "cutoff":
                    raise CalipersError(f"measure '{declaration.name}' takes no cutoff")
                raise CalipersError(
                    f"measure '{declaration.name}' has no parameter '{parameter}'; its parameters: {takes}"
                )
            _check(declaration.name, parameter, value, declaration.defaults[parameter])
        given = {k: v for k, v in parameters.items() if v != declaration.defaults[k]}
        ordered = tuple((k, _frozen(given[k])) for k in declaration.defaults if k in given)
        return cls(declaration, ordered)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        return {**self.declaration.defaults, **{k: _thawed(v) for k, v in self.given}}

    @cached_property
    def form(self) -> Form:
        return self.declaration.build(**self.parameters)

    @property
    def cutoff(self) -> int | None:
        if isinstance(of := self.parameters.get("of"), Measure):
            return of.cutoff
        cutoff: int | None = self.parameters.get("cutoff")
        return cutoff

    @property
    def reads(self) -> Reads:
        """What judgments it needs: one grade per document, one for each subtopic or judge, or preferences."""
        of = self.parameters.get("of")
        return of.reads if isinstance(of, Measure) and self.declaration.reads == "grades" else self.declaration.reads

    @property
    def judgments(self) -> str:
        """The kind of judgments that it needs, a key of SAID_OF: groups of documents are no part of them."""
        return "grades" if self.reads == "groups" else self.reads

    @property
    def exactness(self) -> HowFound:
        """Whether averages over ties, and so expected values, are exact, enumerated or sampled."""
        return self.form.exactness().expected

    def score(self, lists: Lists) -> Floats:
        """The score of each list, NaN where the measure is undefined."""
        return self.form.score(lists)

    def bind(self, pool: Pool) -> Measure:
        """The measure with what it takes from the judgments filled in: max_grade."""
        of = self.parameters.get("of")
        if self.judgments != pool.kind and not (isinstance(of, Measure) and self.declaration.reads == "grades"):
            raise CalipersError(_unlike(self, pool.kind))
        if isinstance(of, Measure):
            return self.with_(of=of.bind(pool.inner if self.declaration.reads == "judges" else pool))
        if "max_grade" in self.declaration.defaults and self.parameters["max_grade"] is LARGEST:
            return self.with_(max_grade=pool.largest_grade)
        return self

    def with_(self, **parameters: Any) -> Measure:
        return Measure.of(self.declaration, {**self.parameters, **parameters})

    def __matmul__(self, at: float | None) -> Measure:
        """The measure at this cutoff (or recall, ...); a measure made from another passes it on."""
        if isinstance(of := self.parameters.get("of"), Measure):
            return self.with_(of=of @ at)
        return self.with_(**{self.declaration.at: at})

    def __reduce__(self) -> tuple[Callable[[str], Measure], tuple[str]]:
        from calipers.measures.grammar import parse

        return parse, (repr(self),)

    def __repr__(self) -> str:
        at = self.declaration.at
        inner = ", ".join(repr(v) if k == "of" else f"{k}={_written(_thawed(v))}" for k, v in self.given if k != at)
        at = f"@{_written(dict(self.given)[at])}" if at in dict(self.given) else ""
        return f"{self.name}({inner}){at}" if inner else f"{self.name}{at}"


FOR_WHAT = {
    "subtopics": "ERR-IA, alpha-nDCG, D#-nDCG and the like",
    "preferences": "prefs_simp, prefs_pair, prefs_avgjg and the like",
    "judges": "map_avgjg, P_avgjg and the like",
    "samples": "xinfAP, infNDCG and statAP",
}


def _unlike(measure: Measure, kind: str) -> str:
    """What is wrong where a measure meets judgments of another kind."""
    needed = "one grade per document" if measure.judgments == "grades" else SAID_OF[measure.judgments]
    hint = f"; they are for {FOR_WHAT[kind]}" if kind in FOR_WHAT else ""
    return f"{measure!r} needs {needed}, but these look like {SAID_OF[kind]}{hint}"


def _check(name: str, parameter: str, value: Any, default: Any) -> None:
    """What holds for a parameter in every measure: its value is of the kind that its default has."""
    if parameter == "cutoff" and value is not None:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise CalipersError(f"cutoff {shortened(repr(value))} of '{name}' is not a whole number of at least 1")
        if value > DEEPEST_CUTOFF:
            raise CalipersError(f"a cutoff of '{name}' is above {DEEPEST_CUTOFF:,}")
    if parameter == "of" and not isinstance(value, Measure):
        raise CalipersError(f"of={shortened(repr(value))} of '{name}' is not a measure, as in {name}(nDCG@10)")
    if value is default or parameter in ("cutoff", "of", "gain", "discount"):
        return
    if isinstance(default, bool):
        kind, fits = "neither True nor False", isinstance(value, bool)
    elif is_finite(default) or parameter in _NUMBERS:
        kind, fits = "not a number", is_finite(value)
    elif isinstance(default, str):
        kind, fits = "not a word", isinstance(value, str)
    elif isinstance(default, list):
        kind, fits = "not a list of numbers", isinstance(value, list) and all(map(is_finite, value))
    else:
        return
    if not fits:
        raise CalipersError(f"{parameter}={shortened(repr(value))} of '{name}' is {kind}")


def is_finite(value: Any) -> bool:
    """Whether it is a number that a float can hold."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that is larger than any float
        return False


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ("table", tuple(sorted(value.items())))
    return ("list", tuple(value)) if isinstance(value, list | tuple) else value


def _thawed(value: Any) -> Any:
    if isinstance(value, tuple) and value[0] == "table":
        return dict(value[1])
    return list(value[1]) if isinstance(value, tuple) and value[0] == "list" else value


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_written(k)}:{_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_written(v) for v in value) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)
