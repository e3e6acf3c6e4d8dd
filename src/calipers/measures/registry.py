"""Measures as declarations: a name, parameters, one sentence, one expression.

The parser, the `repr`, the card in the manual, the common tests and the bounds of a measure are made from declarations.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from importlib import import_module
from inspect import getdoc, getmodule, signature
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args

from calipers.errors import CalipersError
from calipers.lists import SAID_OF, Floats, Lists, Pool
from calipers.measures.dialects import from_rouge_score, refusal, shortened
from calipers.measures.forms import Form
from calipers.measures.forms.base import ComputationMethod
from calipers.measures.forms.free import Free, UnjudgedGrade
from calipers.measures.forms.shares import Denominator
from calipers.measures.parameters import JUDGED_ONLY, REQUIRED, parameter_of
from calipers.support.record import Record

Given = ParamSpec("Given")
Found = TypeVar("Found")

COMMON = {"judged_only": JUDGED_ONLY}  # parameters of every measure
Average = Literal["arithmetic", "geometric", "sum"]
Reads = Literal["grades", "subtopics", "samples", "texts"]
# The modules that declare measures of texts, by the names of the measures. They are loaded when a name is asked for.
TEXT_MODULES = {
    r"rouge.*": "calipers.texts.rouge_measures",
    r"bert[-_]?score.*": "calipers.texts.bertscore_measure",
    r"bleu|chrf(\+\+)?|ter": "calipers.texts.sacrebleu_measures",
    r"em|exact_?match|token_?f1|nuggetrecall|citation(precision|recall|f1)": "calipers.texts.answer_measures",
}
F1_OF_TEXTS = "TokenF1"  # what F1 means without a cutoff: the measure of texts


class Declaration(Record):
    """A measure whose parameters are still open. `AP(rel=2)` and `nDCG @ 10` are measures with parameters.

    >>> from calipers.measures import AP, V2, nDCG
    >>> nDCG @ 10, AP(rel=2), V2(nDCG(gain="exp") @ 5)
    (nDCG@10, AP(rel=2), V2(nDCG(gain=exp)@5))
    """

    name: str
    parameters: Mapping[str, Any]  # a Parameter for each name
    function: Callable[..., Any]  # as it was written
    example: str
    aliases: tuple[str, ...] = ()
    at: str = "cutoff"  # the parameter that follows the @
    average: Average = "arithmetic"  # how scores of queries are summarised
    reads: Reads = "grades"  # kind of judgments: a key of SAID_OF
    is_scorer: bool = False  # the function is a function of one ranking, not of parameters
    unjudged: UnjudgedGrade = "zero"  # the grade of unjudged documents for a function of one ranking
    source: str = ""  # what the docstring of the module says of other measures

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The default of each parameter."""
        return {name: parameter.default for name, parameter in self.parameters.items()}

    @cached_property
    def sentence(self) -> str:
        """The docstring of the function."""
        return getdoc(self.function) or ""

    @cached_property
    def citation(self) -> str:
        """The docstring of the module, which has formulas and references."""
        if self.reads == "texts" and self.source:
            return self.source
        return getdoc(getmodule(self.function)) or ""

    def build(self, judged_only: bool = False, **values: Any) -> Form:
        """Return the form of the measure for values of all its parameters."""
        result = self.function if self.is_scorer else self.function(**values)
        form = result if isinstance(result, Form) else Free(result, unjudged=self.unjudged)
        if not judged_only:
            return form
        from calipers.measures.judged_only import judged_only as without_unjudged  # knows forms of some families

        return without_unjudged(form)

    def __call__(self, of: str | Measure | Declaration | None = None, /, **parameters: Any) -> Measure:
        """Return the measure with these parameters. A measure such as V2 takes another measure first."""
        if of is not None:
            parameters = {"of": as_measure(of), **parameters}
        return Measure.of(self, parameters)

    def __matmul__(self, at: float | None) -> Measure:
        """Return the measure at this cutoff (or recall, ...)."""
        return Measure.of(self, {self.at: at})

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[..., Declaration], tuple[Any, ...]]:
        """Pickle a measure of this package by its name, and any other measure by value."""
        if _is_built_in(self):
            return _built_in, (self.name,)
        function = self.function
        if getattr(sys.modules.get(function.__module__), function.__qualname__, None) is self:
            # A decorator has replaced the function by this declaration: pickle finds the function as its attribute.
            function.__qualname__ += ".function"
        return Declaration, tuple(getattr(self, part) for part in self._names)


def _built_in(name: str) -> Declaration:
    if (found := look_up(name, with_cutoff=False)) is not None and found[0].name == name:
        return found[0]
    return _DECLARED[name]


_DECLARED: dict[str, Declaration] = {}
_BY_NAME: dict[str, tuple[Declaration, Mapping[str, Any]]] = {}
_CACHED: list[Any] = []  # functions with results that depend on the declared measures
LARGEST_CACHE = 1_000  # results: more than a command asks for, and few enough for a server to keep


def measure(
    name: str,
    *,
    aliases: tuple[str, ...] = (),
    example: str = "",
    at: str = "cutoff",
    average: Average = "arithmetic",
    reads: Reads = "grades",
    as_written: bool = False,
    unjudged: UnjudgedGrade = "zero",
    **parameters: Any,
) -> Callable[[Callable[..., Any]], Declaration]:
    """Declare a measure. The decorated function takes the parameters and returns a form or a function of one ranking.

    parameters: a default for each parameter of the function, or a `Parameter` with a type, a range and a sentence.
    as_written: other spellings of the name (in capital and small letters) belong to another measure.
    unjudged: a function of one ranking gets 0 ("zero") or NaN ("nan") as the grade of an unjudged document.

    You can declare your own measure again, but it cannot have the name of a built-in one.

    >>> import calipers as cal
    >>> @cal.measure("FirstTwo", rel=1)
    ... def first2(rel):
    ...     '''Whether both of the first two documents are relevant.'''
    ...     return lambda ranking: float((ranking[:2] >= rel).sum() == 2)
    >>> cal.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "b": 1}}, [first2]).mean()["run", "FirstTwo"]
    1.0
    """
    declared = {parameter: parameter_of(parameter, given) for parameter, given in (parameters | COMMON).items()}

    def declare(function: Callable[..., Any]) -> Declaration:
        names, takes_others = _parameters(function)
        unknown = (set(declared) - set(COMMON)) ^ names
        if unknown and not takes_others:
            raise CalipersError(f"measure '{name}' declares other parameters than its function takes: {unknown}")
        needs_cutoff = "cutoff" in declared and declared["cutoff"].default is REQUIRED
        declaration = Declaration(
            name=name,
            parameters=declared,
            function=function,
            example=example or name + ("@10" if needs_cutoff else ""),
            aliases=aliases,
            at=at,
            average=average,
            reads=reads,
            unjudged=unjudged,
        )
        return register(declaration, as_written)

    return declare


def register(declaration: Declaration, as_written: bool = False) -> Declaration:
    """Make a measure known under its names."""
    keys = {known: known if as_written else known.lower() for known in (declaration.name, *declaration.aliases)}
    if declaration.reads == "texts" and _is_built_in(declaration):
        keys.pop("F1", None)  # of rankings; see `look_up`
    for known, key in keys.items():
        _refuse_taken(declaration, known, key)
    _DECLARED[declaration.name] = declaration
    _BY_NAME.update(dict.fromkeys(keys.values(), (declaration, {})))
    _forget_cached()
    return declaration


def of_function(function: Callable[..., Any]) -> Measure:
    """Return the measure that a plain function of one ranking is. It has the name of the function.

    >>> def first(ranking): return ranking[0]
    >>> of_function(first)
    first
    """
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise CalipersError(
            "a function without a name cannot be a measure: define it with `def`, or declare it with "
            "calipers.measure('NAME')"
        )
    declaration = Declaration(name, COMMON, function, name, is_scorer=True)
    _refuse_taken(declaration, name, name.lower())
    return Measure(declaration, ())


def as_measure(given: str | Measure | Declaration) -> Measure:
    """Return the measure that a name or a declaration stands for."""
    if isinstance(given, Declaration):
        return given()
    if isinstance(given, str):
        from calipers.measures.grammar import parse

        return parse(given)
    return given


def _refuse_taken(declaration: Declaration, name: str, key: str) -> None:
    """Raise an error if a name belongs to another measure, or if a user's measure has the name of a built-in one."""
    own = not _is_built_in(declaration)
    taken = look_up(name) if own else _BY_NAME.get(name) or _BY_NAME.get(key)
    if taken is None:
        if own and (reason := refusal(name)):
            raise CalipersError(f"a measure cannot be called '{name}': {reason}")
        return
    if own and _is_built_in(taken[0]):
        raise CalipersError(f"the name '{name}' is taken by the built-in measure '{taken[0].name}': take another name")
    if taken[0].name != declaration.name:
        raise CalipersError(f"the name '{name}' is taken by the measure '{taken[0].name}'")


def _is_built_in(declaration: Declaration) -> bool:
    module = getattr(declaration.function, "__module__", None) or ""  # code that `exec` runs has no module
    return module.startswith(("calipers.measures.", "calipers.texts."))


def _parameters(function: Callable[..., Any]) -> tuple[set[str], bool]:
    """Return the names of a function's parameters, and True if it also takes other keywords."""
    found = signature(function).parameters
    return set(found), any(each.kind is each.VAR_KEYWORD for each in found.values())


def alias(name: str, of: str, **parameters: Any) -> None:
    """Declare another name for a measure, with some parameters."""
    _BY_NAME[name.lower()] = (_DECLARED[of], parameters)
    _forget_cached()


def cached_until_declared(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Cache the results of a function until a measure is declared, or declared again."""
    cached = lru_cache(LARGEST_CACHE)(function)
    _CACHED.append(cached)
    return cast("Callable[Given, Found]", cached)


def _forget_cached() -> None:
    for cached in _CACHED:
        cached.cache_clear()


def all_declared() -> list[Declaration]:
    """Return every declared measure: those of one grade per document first, each kind in alphabetical order."""
    load_measures_of_texts()
    kinds = get_args(Reads)
    return sorted(_DECLARED.values(), key=lambda each: (kinds.index(each.reads), each.name.lower()))


def declared(reads: Reads = "grades") -> Iterator[Declaration]:
    """Yield every declared measure of such judgments."""
    if reads == "texts":
        load_measures_of_texts()
    yield from [declaration for declaration in _DECLARED.values() if declaration.reads == reads]


def examples(reads: Reads = "grades") -> list[str]:
    """Return an example name for every declared measure of a kind of judgments."""
    return [declaration.example for declaration in declared(reads)]


def known_names() -> list[str]:
    load_measures_of_texts()
    return sorted(_BY_NAME)


def load_measures_of_texts(name: str | None = None) -> None:
    """Load the module that declares a measure of texts, or all of them."""
    for pattern, module in TEXT_MODULES.items():
        if name is None or re.fullmatch(pattern, name, re.IGNORECASE):
            import_module(module)


def other_names(declaration: Declaration) -> list[str]:
    """Return the other names of a measure, with the parameters that they set, such as `ndcg_burges (gain=exp)`."""
    found = []
    for name, (of, fixed) in _BY_NAME.items():
        if of is declaration and name not in (declaration.name, declaration.name.lower()):
            sets = ", ".join(f"{key}={written_value(value)}" for key, value in fixed.items())
            found.append(f"{name} ({sets})" if sets else name)
    return found


def look_up(name: str, with_cutoff: bool = True) -> tuple[Declaration, Mapping[str, Any]] | None:
    """Return the declaration for a name or alias, and the parameters that the alias sets.

    with_cutoff: without a cutoff, F1 is the measure of texts.

    >>> look_up("F1"), look_up("F1", with_cutoff=False)
    ((F, {'beta': 1}), (F1, {}))
    """
    if not with_cutoff and name.lower() == "f1":
        name = F1_OF_TEXTS
    if (found := _BY_NAME.get(name) or _BY_NAME.get(name.lower())) is None:
        load_measures_of_texts(name)
        ours, given = from_rouge_score(name) or (name.lower(), {})
        found = _BY_NAME.get(ours)
        if found is not None and given:
            found = found[0], given
    return found


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
        if self.missing is None:
            self.form  # noqa: B018  a wrong parameter is refused here, not in the middle of a computation

    @property
    def missing(self) -> str | None:
        """The first required parameter that is not given, for example the cutoff of `P(rel=2)`."""
        given = dict(self.given)
        defaults = self.declaration.defaults.items()
        return next((name for name, default in defaults if default is REQUIRED and name not in given), None)

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
            if parameter == "of" and not isinstance(value, Measure) and value is not REQUIRED:
                raise CalipersError(
                    f"of={shortened(repr(value))} of '{declaration.name}' is not a measure, as in "
                    f"{declaration.name}(nDCG@10)"
                )
            declaration.parameters[parameter].check(declaration.name, parameter, value)
        given = {k: v for k, v in parameters.items() if v != declaration.defaults[k]}
        ordered = tuple((k, _frozen(given[k])) for k in declaration.defaults if k in given)
        return cls(declaration, ordered)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        return {**self.declaration.defaults, **{k: _thawed(v) for k, v in self.given}}

    @cached_property
    def form(self) -> Form:
        """The formula of the measure with its parameters."""
        if (missing := self.missing) is not None:
            what = "a cutoff" if missing == "cutoff" else missing
            raise CalipersError(f"measure '{self.name}' needs {what}, as in {self.declaration.example}")
        return self.declaration.build(**self.parameters)

    @property
    def cutoff(self) -> int | None:
        if isinstance(of := self.parameters.get("of"), Measure):
            return of.cutoff
        cutoff: int | None = self.parameters.get("cutoff")
        return cutoff

    @property
    def reads(self) -> Reads:
        """The kind of judgments that the measure needs."""
        of = self.parameters.get("of")
        return of.reads if isinstance(of, Measure) else self.declaration.reads

    @property
    def exactness(self) -> ComputationMethod:
        """The method for averages over ties, and so for expected scores: exact, enumerated or sampled."""
        return self.form.exactness().expected

    def score(self, lists: Lists) -> Floats:
        """Return the score of each list, NaN where the measure is undefined."""
        return self.form.score(lists)

    def bind(self, pool: Pool) -> Measure:
        """Return the measure with the parameter that it takes from the judgments: max_grade."""
        if isinstance(of := self.parameters.get("of"), Measure):
            return self.with_(of=of.bind(pool))
        if self.reads != pool.kind:
            raise CalipersError(_unlike(self, pool.kind))
        if "max_grade" in self.declaration.defaults and self.parameters["max_grade"] is None:
            return self.with_(max_grade=pool.largest_grade)
        return self

    def with_(self, **parameters: Any) -> Measure:
        return Measure.of(self.declaration, {**self.parameters, **parameters})

    def __matmul__(self, at: float | None) -> Measure:
        """Return the measure at this cutoff (or recall, ...). A measure such as V2 gives it to the measure inside."""
        if isinstance(of := self.parameters.get("of"), Measure):
            return self.with_(of=of @ at)
        return self.with_(**{self.declaration.at: at})

    def __call__(self, **parameters: Any) -> Measure:
        """Return the measure with other values of these parameters."""
        return self.with_(**parameters)

    def __truediv__(self, by: Denominator) -> Form:
        """Return the form of the measure divided by a denominator."""
        return self.form / by

    def __reduce__(self) -> tuple[type[Measure], tuple[Any, ...]]:
        return Measure, (self.declaration, self.given)

    def __repr__(self) -> str:
        at = self.declaration.at
        inner = ", ".join(
            repr(v) if k == "of" else f"{k}={written_value(_thawed(v))}" for k, v in self.given if k != at
        )
        at = f"@{written_value(dict(self.given)[at])}" if at in dict(self.given) else ""
        return f"{self.name}({inner}){at}" if inner else f"{self.name}{at}"


FOR_WHAT = {
    "subtopics": "ERR-IA, alpha-nDCG, D#-nDCG and similar measures",
    "preferences": "calipers information",
    "samples": "infNDCG",
}


def _unlike(measure: Measure, kind: str) -> str:
    """Return the error message for a measure with judgments of another kind."""
    if measure.reads == "texts":
        return f"{measure!r} scores texts, not rankings: see calipers.read_texts"
    needed = "one grade per document" if measure.reads == "grades" else SAID_OF[measure.reads]
    hint = f"; they are for {FOR_WHAT[kind]}" if kind in FOR_WHAT else ""
    return f"{measure!r} needs {needed}, but these look like {SAID_OF[kind]}{hint}"


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ("table", tuple(sorted(value.items())))
    return ("list", tuple(value)) if isinstance(value, list | tuple) else value


def _thawed(value: Any) -> Any:
    if isinstance(value, tuple) and value[0] == "table":
        return dict(value[1])
    return list(value[1]) if isinstance(value, tuple) and value[0] == "list" else value


WORD = re.compile(r"[\w.+~/\\:-]+(\(\d+\))?")  # a value that needs no quotes


def written_value(value: Any) -> str:
    """Return the value of a parameter as names of measures have it."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{written_value(k)}:{written_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written_value(v) for v in value) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    text = str(value)
    return text if not isinstance(value, str) or WORD.fullmatch(text) else f'"{text}"'
