"""Drop-in replacement for pytrec_eval: change the import, keep the code.

    from calipers.tools.pytrec_eval import RelevanceEvaluator

For code that imports pytrec_eval itself, first run:

    import calipers.tools.pytrec_eval

    calipers.tools.pytrec_eval.install()

By default, scores are compared as float32 and all rules are those of trec_eval 9, as in pytrec_eval. `version=10`
selects the rules and the measures of trec_eval 10.
"""

from __future__ import annotations

import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, cast

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.runs import DictRun
from calipers.conventions import CONVENTIONS, Convention
from calipers.errors import CalipersError
from calipers.lists import Floats, Lists
from calipers.measures.dialects import ALL_TREC_9, NICKNAMES, NICKNAMES_9, ROOTS
from calipers.native.columns import Retrieved
from calipers.tools.predictions import with_infinite_scores
from calipers.tools.trec_eval.report import FLOOR, ReportedMeasure
from calipers.tools.trec_eval.request import Request

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "install",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

__version__ = "0.5.11"  # of pytrec_eval-terrier, which this module replaces

_MEASURES = {9: frozenset(ALL_TREC_9), 10: frozenset(ROOTS)}
_NICKNAMES = {9: NICKNAMES_9, 10: NICKNAMES}
_RULES = {9: CONVENTIONS["trec_eval-9"], 10: CONVENTIONS["trec_eval"]}
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_PARAMETERS = re.compile(rf"[._]({_NUMBER}(?:,{_NUMBER})*)")

supported_measures: set[str] = set(_MEASURES[9])
supported_nicknames: dict[str, set[str]] = {name: set(measures) for name, measures in NICKNAMES_9.items()}


class RelevanceEvaluator:
    """An evaluator for any number of runs, with the measures of trec_eval. Threads may share it.

    Grades may have fractions. version: version of trec_eval whose rules hold, 9 or 10.

    >>> evaluator = RelevanceEvaluator({"q1": {"d1": 1, "d2": 0}}, {"map", "ndcg_cut.5,10"})
    >>> evaluator.evaluate({"q1": {"d1": 0.5, "d2": 1.5}})["q1"]["map"]
    0.5
    >>> evaluator.aggregated({"q1": {"d1": 0.5, "d2": 1.5}})["map"]
    0.5
    """

    VERSION = 9

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, float]],
        measures: Iterable[str],
        relevance_level: float | np.number[Any] = 1,
        judged_docs_only_flag: bool = False,
        version: int | None = None,
    ) -> None:
        version = self.VERSION if version is None else version
        if version not in _RULES:
            raise ValueError(f"unsupported version {version!r} of trec_eval; expected 9 or 10")
        if isinstance(relevance_level, np.number):
            relevance_level = cast("float", relevance_level.item())
        if isinstance(relevance_level, bool) or not isinstance(relevance_level, int | float) or not relevance_level > 0:
            raise TypeError("Argument relevance_level should be positive.")
        measures = [*measures]
        self._given = (query_relevance, measures, relevance_level, bool(judged_docs_only_flag), version)
        judged = {query: graded for query, graded in query_relevance.items() if len(graded)}
        self.rules = _RULES[version]
        request = Request(level=relevance_level, judged_only=bool(judged_docs_only_flag), version_9=version == 9)
        self.columns = _columns(measures, request, self.rules, version)
        self.judged_only = request.judged_only
        self.judgments = _judgments(judged) if judged else None

    def __reduce__(self) -> Any:
        return type(self), self._given

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Return {query: {measure: value}} for the queries that the run and the judgments share."""
        if not scores or self.judgments is None:
            return {}
        try:
            found = with_infinite_scores(self._retrieved, scores)
        except CalipersError as error:
            raise TypeError(f"Unable to extract query/object scores: {error.message}") from None
        lists = Lists.of(self.judgments.pool, [found])
        if self.judged_only:
            lists = lists.where(lists.grade >= 0).condensed()
        ranked = lists.under(self.rules.ties)
        by_measure = [self._values(column, ranked) for column in self.columns]
        names = self._names()
        by_query = np.array(by_measure).reshape(len(names), len(ranked)).T.tolist()
        rows = dict(zip(self.judgments.queries, by_query, strict=True))
        return {query: dict(zip(names, rows[query], strict=True)) for query in scores if query in rows}

    def _retrieved(self, scores: Mapping[str, Mapping[str, float]]) -> Retrieved:
        assert self.judgments is not None
        return DictRun(scores).retrieved(self.judgments, precision=self.rules.precision)

    def aggregated(self, scores: Mapping[str, Mapping[str, float]], complete: bool = False) -> dict[str, float]:
        """Return {measure: value for all queries}: sums of counts, geometric means of gm_ measures, means of others.

        complete: judged queries that the run lacks count as if nothing was retrieved for them, as with -c of trec_eval.
        """
        if complete and self.judgments is not None:
            scores = {query: scores.get(query, {}) for query in self.judgments.queries}
        found = [*self.evaluate(scores).values()]
        return {
            name: compute_aggregated_measure(name, [values[name] for values in found]) if found else math.nan
            for name in self._names()
        }

    def _names(self) -> list[str]:
        return [column.name if column.root.family else column.root.name for column in self.columns]

    def _values(self, column: ReportedMeasure, lists: Lists) -> Floats:
        assert self.judgments is not None
        form = column.form(self.judgments)
        if form is None:
            return np.zeros(len(lists))  # pytrec_eval returns 0 for text
        values = np.nan_to_num(form.score(lists), nan=0.0)
        # The geometric mean is left to `compute_aggregated_measure`, which expects logarithms.
        return np.log(np.maximum(values, FLOOR)) if column.root.name.startswith("gm_") else values


class RelevanceEvaluator10(RelevanceEvaluator):
    """A RelevanceEvaluator whose default version is 10. `install(version=10)` installs it."""

    VERSION = 10


def install(version: int = 9) -> ModuleType:
    """Let `import pytrec_eval` find this module, even if pytrec_eval is installed.

    version: version of trec_eval whose rules hold. Modules that have imported pytrec_eval before keep it.
    """
    if version not in _RULES:
        raise ValueError(f"unsupported version {version!r} of trec_eval; expected 9 or 10")
    module = ModuleType("pytrec_eval", __doc__)
    here = sys.modules[__name__]
    for name in (*__all__, "__all__", "__version__"):
        setattr(module, name, getattr(here, name))
    if version == 10:
        vars(module).update(
            RelevanceEvaluator=RelevanceEvaluator10,
            supported_measures=set(_MEASURES[10]),
            supported_nicknames={name: set(of) for name, of in NICKNAMES.items()},
        )
    sys.modules["pytrec_eval"] = module
    return module


def _columns(measures: Iterable[str], request: Request, rules: Convention, version: int) -> list[ReportedMeasure]:
    """Return the columns in the order of trec_eval. Parameters of one measure are joined."""
    asked: dict[str, set[str]] = {}
    for name in measures:
        for root, parameters in _named(name, version):
            asked.setdefault(root, set()).update(parameters)
    try:
        return [
            column
            for name, root in ROOTS.items()
            if name in asked
            for column in ReportedMeasure.all_of(root, ",".join(sorted(asked[name])), request, rules)
        ]
    except CalipersError as error:
        raise ValueError(error.message) from None


def _named(name: str, version: int) -> list[tuple[str, list[str]]]:
    nicknames, known = _NICKNAMES[version], _MEASURES[version]
    if name in nicknames:
        return [(root, []) for root in nicknames[name]]
    if name in known:
        return [(name, [])]
    for root in known:
        if name.startswith(root) and (match := _PARAMETERS.match(name, len(root))):
            return [(root, match.group(1).split(","))]
    raise ValueError(f"unsupported measure {name}")


def _judgments(judged: dict[str, Any]) -> Judgments:
    if any(isinstance(grade, str) for graded in judged.values() for grade in graded.values()):
        raise TypeError("Expected relevance to be a number, not text.")
    try:
        return Judgments.from_dict(judged)
    except CalipersError as error:
        raise TypeError(f"Expected relevance to be a number: {error.message}") from None


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return a run from its lines: query Q0 document rank score tag."""
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for line in f_run:
        query, _, document, _, score, _ = line.strip().split()
        _put(run, query, document, float(score))
    return run


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return judgments from their lines: query iteration document grade."""
    judgments: dict[str, dict[str, int]] = defaultdict(dict)
    for line in f_qrel:
        query, _, document, grade = line.strip().split()
        _put(judgments, query, document, int(grade))
    return judgments


def _put(of: dict[str, dict[str, Any]], query: str, document: str, value: Any) -> None:
    documents = of[query]
    if document in documents:
        raise AssertionError(f"document '{document}' appears twice for query '{query}'")
    documents[document] = value


def compute_aggregated_measure(measure: str, values: list[float]) -> float:
    """Return the value for all queries: a sum of counts, a geometric mean of gm_ measures, or a mean."""
    if measure.startswith("num_"):
        return float(np.sum(values))
    if measure.startswith("gm_"):
        return math.exp(float(np.sum(values)) / len(values))
    return float(np.mean(values))
