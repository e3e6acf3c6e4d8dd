"""A convention: one tool's choices, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.choices import TieRule
from calipers.errors import CalipersError
from calipers.lists import TIE_RULES

if TYPE_CHECKING:
    from calipers.collection.judgments import Judgments
    from calipers.collection.runs import Run
    from calipers.measures.registry import Measure
    from calipers.native.columns import Precision

Policy = float | str  # what something undefined counts: a number, or skip

BY_GAIN = ("DCG", "nDCG", "SDCG", "SN-DCG")  # measures that a gain and a discount of a tool are meant for
BY_IDEAL = ("nDCG", "AP")
IDEALS = ("pool", "list", "whole", "k")
BY_CUTOFF = ("nDCG", "P")  # measures for which a list shorter than k is a case of its own
CHOICES = {
    "discount": "log2, jk2 (or another base), zipf or none",
    "short": "pad, n or zero",
    "ties": "average, docid, docid-ascending, input, best or worst",
    "precision": "double or single",
    "ideal": "pool, list, whole or k",
    "averaged": "no or cutoffs",
    "norm": "R, k or min",
}


NO_TABLES = attrgetter(
    "name", "edition", "discount", "empty", "missing", "ties", "precision", "rel", "ideal", "norm", "averaged",
    "max_grade", "whole_grades", "drops_query", "labels", "measures",
)  # fmt: skip


class WrongChoice(CalipersError):
    """A value that a convention cannot have."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class LabelRange:
    """The labels that a tool can read."""

    lowest: float | None = None
    highest: float | None = None
    whole: bool = False
    binary: tuple[str, ...] = ()  # measures that take 0 and 1 only

    def of(self, measure: str | None) -> LabelRange:
        """Those for one measure."""
        return LabelRange(0, 1, True) if measure in self.binary else self

    def __str__(self) -> str:
        kind = "whole numbers" if self.whole else "numbers"
        if self.lowest is not None and self.highest is not None:
            return f"{kind} from {self.lowest:g} to {self.highest:g}"
        if self.highest is not None:
            return f"{kind} up to {self.highest:g}"
        return kind if self.lowest is None else f"{kind} from {self.lowest:g} on"


@dataclass(frozen=True)
class Convention:
    """One tool's choices.

    gain, discount: of DCG and nDCG: `exp`, `linear` or a table {grade: gain}; `log2`, `jk2` ...
    empty: what a query without a relevant document counts. missing: what one that the run lacks counts. A number or
        `skip`.
    short: what becomes of a list of n < k documents: it goes on with nothing (`pad`), k is n for it (`n`), or it
        counts 0 (`zero`). One word, or one for each of nDCG and P.
    ties, precision: as in `evaluate`: by default scores are compared in `double` precision.
    rel: the lowest grade that is relevant. norm: what AP@k divides by.
    ideal: the documents of nDCG's ideal ranking: the k best judged ones (`pool`), the k best retrieved ones (`list`),
        all judged ones without a cutoff (`whole`), or k documents of gain 1 (`k`). R of AP counts judged documents, or
        with `list` retrieved ones.
    averaged: `cutoffs` where nDCG without a cutoff is the mean over all cutoffs.
    max_grade: of ERR, where it is not the largest of the judgments.

    >>> Convention("ours", gain="exp", empty=1.0).defaults("nDCG", {"cutoff": 10})
    {'gain': 'exp'}
    """

    name: str
    sentence: str = ""
    edition: str = "own"  # observed in the tool, stated by Busa-Fekete et al. (2012), or own
    gain: str | Mapping[float, float] = "linear"
    discount: str = "log2"
    empty: Policy = 0.0
    missing: Policy = 0.0
    short: str | Mapping[str, str] = "pad"
    ties: TieRule = "average"
    precision: Precision = "double"
    rel: float = 1
    ideal: str = "pool"
    norm: str = "R"
    averaged: str = "no"
    max_grade: float | None = None
    whole_grades: bool = False  # grades lose their fraction
    drops_query: bool = False  # a document with the id of its query is left out of its list
    labels: LabelRange = LabelRange()
    measures: tuple[str, ...] | None = None  # that the tool has; None where that is no question
    parameters: Mapping[str, Any] = field(default_factory=dict)  # further ones, of all measures; `RBP.p`: of one

    def __post_init__(self) -> None:
        for key, value, wrong in (
            ("gain", self.gain, isinstance(self.gain, str) and self.gain not in ("linear", "exp")),
            ("discount", self.discount, not _is_discount(self.discount)),
            ("empty", self.empty, not _is_policy(self.empty)),
            ("missing", self.missing, not _is_policy(self.missing)),
            ("short", self.short, not _are_rules(self.short)),
            ("ties", self.ties, self.ties not in TIE_RULES),
            ("precision", self.precision, self.precision not in ("double", "single")),
            ("rel", self.rel, not _is_number(self.rel)),
            ("ideal", self.ideal, self.ideal not in IDEALS),
            ("norm", self.norm, self.norm not in ("R", "k", "min")),
            ("averaged", self.averaged, self.averaged not in ("no", "cutoffs")),
            ("max_grade", self.max_grade, self.max_grade is not None and not _is_number(self.max_grade)),
        ):
            if wrong:
                expected = CHOICES.get(key, "exp, linear or a table {grade: gain}" if key == "gain" else "a number")
                if key in ("empty", "missing"):
                    expected = "a number or skip"
                raise WrongChoice(key, f"{key}={shown(value)} of the convention {shown(self.name)} is not {expected}")

    def __hash__(self) -> int:
        """Of all but what may be a table: most variants of one tool are told apart."""
        return hash(NO_TABLES(self))

    def with_(self, **changes: Any) -> Convention:
        return replace(self, **changes)

    def short_for(self, measure: str) -> str:
        return self.short if isinstance(self.short, str) else self.short.get(measure, "pad")

    def defaults(self, measure: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """What the convention says of parameters that a measure's name leaves open, where it departs from our own."""
        said: dict[str, Any] = {key: value for key, value in self.parameters.items() if "." not in key}
        start = f"{measure}."
        of_this = {key.removeprefix(start): value for key, value in self.parameters.items() if key.startswith(start)}
        if self.rel != 1:
            said["rel"] = self.rel
        if measure in BY_GAIN:
            said |= {"gain": self.gain, "discount": self.discount}
        if measure in BY_IDEAL:
            said["ideal"] = self.ideal if measure == "nDCG" or self.ideal == "list" else "pool"
        if measure in BY_CUTOFF:
            said["short"] = self.short_for(measure)
        if measure == "AP" and given.get("cutoff") is not None:
            said["norm"] = self.norm
        if measure == "nDCG" and given.get("cutoff") is None:
            said["averaged"] = self.averaged
        if measure == "ERR":
            said["max_grade"] = self.max_grade
        return {key: value for key, value in said.items() if value != _OWN.get(key, _NOTHING)} | of_this

    def judgments(self, judgments: Judgments) -> Judgments:
        """The judgments as the tool reads them."""
        if not self.whole_grades or (pool := judgments.pool.of_whole_grades()) is judgments.pool:
            return judgments
        pool.name_queries(judgments.queries)
        return replace(judgments, pool=pool)

    def runs(self, runs: Sequence[Run]) -> Sequence[Run]:
        """The runs as the tool reads them."""
        if not self.drops_query:
            return runs
        from calipers.collection.runs import without_query

        return [without_query(run) for run in runs]

    def refusal(self, judgments: Judgments, measures: Iterable[Measure]) -> str | None:
        """Why the tool cannot read these judgments, or None."""
        grade = judgments.pool.grade
        for labels, of in {self.labels.of(base(measure)): base(measure) for measure in measures}.items():
            strange = np.zeros(len(grade), bool)
            if labels.lowest is not None:
                strange |= grade < labels.lowest
            if labels.highest is not None:
                strange |= grade > labels.highest
            if labels.whole:
                strange |= grade != np.trunc(grade)
            if strange.any():
                row = int(np.argmax(strange))
                query = judgments.queries[int(judgments.pool.query[row])]
                what = f"{of} of '{self.name}'" if of in self.labels.binary else f"'{self.name}'"
                return (
                    f"label {grade[row]:g} of query '{query}' is beyond what the profile {what} can express: {labels}"
                )
        return None

    def check(self, judgments: Judgments, measures: Iterable[Measure]) -> None:
        """Refuse judgments that the tool could not read."""
        if reason := self.refusal(judgments, measures):
            raise CalipersError(reason, file=judgments.name)

    def offers(self, measure: Measure) -> bool:
        """Whether the tool has this measure at all."""
        return self.measures is None or base(measure) in self.measures


def base(measure: Measure) -> str:
    """The name of a measure, or of the one that it is made from."""
    while (of := measure.parameters.get("of")) is not None:
        measure = of
    return measure.name


_NOTHING = object()
# What our measures say where nobody says anything.
_OWN = {
    "gain": "linear",
    "discount": "log2",
    "ideal": "pool",
    "short": "pad",
    "norm": "R",
    "averaged": "no",
    "max_grade": None,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_policy(value: Any) -> bool:
    return _is_number(value) or value == "skip"


def _is_discount(value: Any) -> bool:
    if not isinstance(value, str):
        return callable(value)
    if value in ("log2", "zipf", "none", "telescoping"):
        return True
    base = value.removeprefix("jk")
    return base != value and base.replace(".", "", 1).isdigit() and float(base) > 1


def _are_rules(value: Any) -> bool:
    rules = ("pad", "n", "zero")
    if isinstance(value, Mapping):
        return all(key in BY_CUTOFF and rule in rules for key, rule in value.items())
    return value in rules


def shown(value: object) -> str:
    """A value of somebody's convention as messages show it."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return "..."
    return text if len(text) <= 80 else f"{text[:80]}..."
