"""A convention: the choices of one tool, as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import TIE_RULES
from calipers.measures.gains import RELEVANT
from calipers.support.choices import TieRule

if TYPE_CHECKING:
    from calipers.collection.judgments import Judgments
    from calipers.collection.runs import Run
    from calipers.measures.registry import Measure
    from calipers.native.columns import Precision

Policy = float | str  # the value of an undefined score: a number, or skip

BY_GAIN = ("DCG", "nDCG", "SDCG", "SN-DCG")  # measures that take the gain and the discount of a tool
BY_IDEAL = ("nDCG", "AP")
IDEALS = ("pool", "list", "whole", "k")
BY_CUTOFF = ("nDCG", "P")  # measures that treat lists shorter than k in a special way
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
    "name",
    "edition",
    "discount",
    "empty",
    "missing",
    "ties",
    "precision",
    "rel",
    "ideal",
    "norm",
    "averaged",
    "max_grade",
    "whole_grades",
    "drops_query",
    "labels",
    "measures",
)


@dataclass(frozen=True)
class LabelRange:
    """Labels that a tool can read."""

    lowest: float | None = None
    highest: float | None = None
    whole: bool = False
    binary: tuple[str, ...] = ()  # measures that read only the labels 0 and 1

    def of(self, measure: str | None) -> LabelRange:
        """Return the labels that one measure of the tool can read."""
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
    """Choices of one tool.

    gain: gain of DCG and nDCG: `exp`, `linear`, `rel4` (1 for grades of 4 and more) or a table {grade: gain}.
    discount: discount of DCG and nDCG, such as `log2` or `jk2`.
    empty: score of a query without a relevant document: a number or `skip`.
    missing: score of a query that the run lacks: a number or `skip`.
    short: rule for a list of n < k documents: the missing ranks hold nothing (`pad`), k becomes n (`n`), or the score
        is 0 (`zero`). One word, or one word each for nDCG and P.
    ties, precision: as in `evaluate`.
    rel: the lowest grade that is relevant.
    norm: divisor of AP@k.
    ideal: the documents of nDCG's ideal ranking: the k best judged ones (`pool`), the k best retrieved ones (`list`),
        all judged ones without a cutoff (`whole`), or k documents of gain 1 (`k`). R of AP counts judged documents, or
        with `list` retrieved ones.
    averaged: `cutoffs` if nDCG without a cutoff is the mean over all cutoffs.
    max_grade: largest grade of ERR; by default the largest grade in the judgments.

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
    whole_grades: bool = False  # fractions of grades are cut off
    drops_query: bool = False  # a document that has the id of its query is left out
    labels: LabelRange = LabelRange()
    measures: tuple[str, ...] | None = None  # measures that the tool has; None: any measure
    parameters: Mapping[str, Any] = field(
        default_factory=dict
    )  # further parameters of all measures, or of one (`RBP.p`)

    def __post_init__(self) -> None:
        for key, value, wrong in (
            ("gain", self.gain, isinstance(self.gain, str) and not re.fullmatch(f"exp|linear|{RELEVANT}", self.gain)),
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
                expected = CHOICES.get(
                    key, "exp, linear, rel4 or a table {grade: gain}" if key == "gain" else "a number"
                )
                if key in ("empty", "missing"):
                    expected = "a number or skip"
                raise CalipersError(f"{key}={value!r:.80} of the convention {self.name!r:.80} is not {expected}")

    def __hash__(self) -> int:
        """Return a hash of all fields that cannot be tables."""
        return hash(NO_TABLES(self))

    def with_(self, **changes: Any) -> Convention:
        """Return the convention with other values for some fields."""
        return replace(self, **changes)

    def with_relevant(self, rel: float | None) -> Convention:
        """Return the convention with another smallest relevant grade. None leaves it unchanged.

        A tool that reads only the labels 0 and 1 is given 1 for relevant grades, and 0 for others.

        >>> Convention("binary", labels=LabelRange(0, 1)).with_relevant(4).defaults("nDCG", {"cutoff": 10})
        {'rel': 4, 'gain': 'rel4'}
        """
        if rel is None:
            return self
        if self.labels.highest != 1:
            return self.with_(rel=rel, labels=replace(self.labels, binary=()))
        return self.with_(rel=rel, gain=f"rel{rel!r}".removesuffix(".0"), labels=LabelRange())

    def short_for(self, measure: str) -> str:
        """Return the rule for short lists that holds for one measure."""
        return self.short if isinstance(self.short, str) else self.short.get(measure, "pad")

    def defaults(self, measure: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that the convention sets for a measure, as far as they differ from our defaults.

        given: parameters in the name of the measure.
        """
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
        """Return the judgments as the tool reads them."""
        if not self.whole_grades or (pool := judgments.pool.of_whole_grades()) is judgments.pool:
            return judgments
        pool.name_queries(judgments.queries)
        return replace(judgments, pool=pool)

    def runs(self, runs: Sequence[Run]) -> Sequence[Run]:
        """Return the runs as the tool reads them."""
        if not self.drops_query:
            return runs
        from calipers.collection.runs import without_query

        return [without_query(run) for run in runs]

    def refusal(self, judgments: Judgments, measures: Iterable[Measure]) -> str | None:
        """Return the reason why the tool cannot read these judgments, or None."""
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
                advice = (
                    "; the option relevant says from which grade on labels count as 1" if labels.highest == 1 else ""
                )
                return (
                    f"label {grade[row]:g} of query '{query}' is beyond what the profile {what} can express: {labels}"
                    f"{advice}"
                )
        return None

    def check(self, judgments: Judgments, measures: Iterable[Measure]) -> None:
        """Refuse judgments that the tool could not read."""
        if reason := self.refusal(judgments, measures):
            raise CalipersError(reason, file=judgments.name)

    def offers(self, measure: Measure) -> bool:
        """Return True if the tool has this measure."""
        return self.measures is None or base(measure) in self.measures


def base(measure: Measure) -> str:
    """Return the name of a measure. For a normalised measure, return the name of the measure inside."""
    while (of := measure.parameters.get("of")) is not None:
        measure = of
    return measure.name


_NOTHING = object()
# Defaults of our measures.
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
