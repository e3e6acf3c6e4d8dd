"""Parameters of measures as data: their meaning, their default and the values that they take.

A declaration names one `Parameter` for each parameter of its function. Checks, cards and help are made from them. This
module has the parameters that several families share; a parameter of one family is declared in the file of that family.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, Self

from calipers.errors import CalipersError
from calipers.measures.dialects import shortened
from calipers.measures.populations import DEFAULT_POPULATION, NAMED, check_population
from calipers.support.record import Record

ParameterType = Literal[
    "whole number",
    "number",
    "word",
    "flag",
    "list",
    "table",
    "gain",
    "discount",
    "measure",
    "population",
    "size",
    "model",
    "file",
    "any",
]
DEEPEST_CUTOFF = (1 << 31) - 1


class _Required:
    """The default of a parameter that must be given."""

    def __repr__(self) -> str:
        return "required"

    def __reduce__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()
TABLE = "a table such as {1:3,2:9}"
DESCRIPTIONS = {
    "whole number": "a whole number",
    "number": "a number",
    "word": "a word",
    "flag": "True or False",
    "list": "a list of numbers",
    "table": TABLE,
    "gain": TABLE,
    "discount": "another base such as jk10, a list of weights such as [0.5,0.3]",
    "measure": "a measure such as nDCG@10",
    "population": "collection(N)",
    "size": "a whole number",
    "file": "a file",
    "model": "the name of a model, or a folder",
    "any": "any value",
}


class Parameter(Record):
    """A parameter of a measure.

    >>> PERSISTENCE.takes
    'a number of at least 0 and below 1'
    >>> PERSISTENCE.check("RBP", "p", 1.5)
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: p=1.5 of 'RBP' is not a number of at least 0 and below 1
    """

    meaning: str  # one sentence
    type: ParameterType
    default: Any = None  # None also means that the parameter may be left open
    choices: tuple[Any, ...] = ()
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    length: int | None = None  # of a list
    open: str = "none"  # the default in words, if it is None

    def by_default(self, default: Any) -> Self:
        """Return the same parameter with another default."""
        return self.changed(default=default)

    @property
    def required(self) -> Self:
        """A copy of the parameter without a default."""
        return self.changed(default=REQUIRED)

    @property
    def takes(self) -> str:
        """The accepted values, in words."""
        words = [str(choice) for choice in self.choices]
        if self.type in ("gain", "discount", "population", "size"):
            return ", ".join([*words, DESCRIPTIONS[self.type]])
        if words:
            return ", ".join(words)
        length = f"a list of {self.length} numbers" if self.length is not None else DESCRIPTIONS[self.type]
        return " ".join(filter(None, [length, self._range()]))

    @property
    def default_in_words(self) -> str:
        """The default as cards show it."""
        if self.default is None:
            return self.open
        if isinstance(self.default, list):
            return "[" + ",".join(f"{value:g}" for value in self.default) + "]"
        return str(self.default)

    def check(self, measure: str, name: str, value: Any) -> None:
        """Raise an error if the parameter of this name does not take the value. A default is always taken."""
        if value is self.default:
            return
        if self.type == "population":
            check_population(value)
        elif not self._fits(value):
            refused = f"{name}={shortened(_shown(value))} of '{measure}' is"
            if self.type == "flag":
                raise CalipersError(f"{refused} neither True nor False")
            raise CalipersError(f"{refused} not {'one of ' if self.choices else ''}{self.takes}")

    def _fits(self, value: Any) -> bool:
        if self.type == "size":
            return value in self.choices or (isinstance(value, int) and not isinstance(value, bool) and value >= 1)
        if self.choices and self.type not in ("gain", "discount"):
            return not isinstance(value, bool) and value in self.choices
        match self.type:
            case "whole number":
                return isinstance(value, int) and not isinstance(value, bool) and self._in_range(value)
            case "number":
                return is_finite(value) and self._in_range(value)
            case "flag":
                return isinstance(value, bool)
            case "word":
                return isinstance(value, str)
            case "list":
                return self._fits_list(value)
            case "table":
                return isinstance(value, Mapping)
        return True  # gains and discounts are checked where they are made, measures by the registry

    def _fits_list(self, value: Any) -> bool:
        if not isinstance(value, list | tuple) or not value:
            return False
        return (self.length or len(value)) == len(value) and all(is_finite(v) and self._in_range(v) for v in value)

    def _in_range(self, value: float) -> bool:
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )

    def _range(self) -> str:
        if self.least is not None and self.most is not None:
            return f"from {_number(self.least)} to {_number(self.most)}"
        if self.above is not None and self.most is not None:
            return f"above {_number(self.above)} and at most {_number(self.most)}"
        limits = {"of at least": self.least, "above": self.above, "of at most": self.most, "below": self.below}
        return " and ".join(f"{words} {_number(limit)}" for words, limit in limits.items() if limit is not None)


def parameter_of(name: str, given: Any) -> Parameter:
    """Return the parameter that a declaration gives by its default. The type is that of the default.

    >>> parameter_of("rel", 2).meaning, parameter_of("size", 0.5).type
    ('The lowest grade that is relevant.', 'number')
    """
    if isinstance(given, Parameter):
        return given
    if name in SHARED:
        return SHARED[name].by_default(given)
    for kind, kinds in _PYTHON_TYPES.items():
        if isinstance(given, kinds):
            return Parameter("", kind, given)
    return Parameter("", "any", given)


def is_finite(value: Any) -> bool:
    """Return True for a number that a float can hold."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that is larger than any float
        return False


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:g}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


_PYTHON_TYPES: dict[ParameterType, Any] = {
    "flag": bool,
    "number": (int, float),
    "word": str,
    "list": (list, tuple),
    "table": Mapping,
}

# -- parameters that several families share ----------------------------------------------------------

TOP_K = Parameter(
    "The number of ranks that are read, written after the @.",
    "whole number",
    least=1,
    most=DEEPEST_CUTOFF,
    open="the whole list",
)
REL = Parameter("The lowest grade that is relevant.", "number", 1)
POSITIVE_REL = REL.changed(above=0)
JUDGED_ONLY = Parameter("Leave unjudged documents out of the lists.", "flag", False)
MAX_GRADE = Parameter("The largest possible grade.", "number", open="the largest grade of the judgments")
GAIN = Parameter(
    "The gain of a grade: the grade itself or 2^grade - 1. rel4 is 1 for grades of 4 and more, and 0 for others.",
    "gain",
    "linear",
    ("linear", "exp"),
)
GAIN_OR_BINARY = Parameter(
    "Without a gain, a document is relevant or not. With linear, exp or a table, its value is its gain divided by the "
    "gain of the largest grade. With grade, its value is the grade, as in ranx.",
    "gain",
    choices=("linear", "exp", "grade"),
)
GAINS = Parameter("Gains of single grades, as in trec_eval's ndcg.1=3,2=9.", "table")
DISCOUNT = Parameter("The weight of a rank.", "discount", "log2", ("log2", "jk2", "zipf", "none", "telescoping"))
SHORT = Parameter(
    "A list shorter than k is padded with documents that are not relevant (pad), divided by its own length (n), or "
    "scores 0 (zero).",
    "word",
    "pad",
    ("pad", "n", "zero"),
)
PERSISTENCE = Parameter("The probability that a reader goes on to the next document.", "number", 0.8, least=0, below=1)
SHARED = {
    "cutoff": TOP_K,
    "rel": REL,
    "judged_only": JUDGED_ONLY,
    "max_grade": MAX_GRADE,
    "gain": GAIN,
    "gains": GAINS,
    "discount": DISCOUNT,
}
POPULATION = Parameter(
    "The documents that a random ranking shuffles: the judged ones (pool), those that the run returned (retrieved), "
    "the judged ones and the unjudged ones ranked above them (union), or N documents.",
    "population",
    DEFAULT_POPULATION,
    NAMED,
)
