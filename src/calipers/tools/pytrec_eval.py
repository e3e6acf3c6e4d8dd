"""pytrec_eval's face: change the import, keep the code.

    from calipers.tools.pytrec_eval import RelevanceEvaluator

Scores are compared as float32 and all rules are those of trec_eval 9, as in pytrec_eval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from calipers.collection.model import DictRun, Judgments
from calipers.conventions import CONVENTIONS
from calipers.errors import CalipersError
from calipers.lists import Floats, Lists
from calipers.measures.dialects import ALL_TREC_9, NICKNAMES_9, ROOTS
from calipers.tools.trec_eval.lines import FLOOR
from calipers.tools.trec_eval.report import ReportedMeasure
from calipers.tools.trec_eval.request import Request

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

supported_measures: set[str] = set(ALL_TREC_9)
supported_nicknames: dict[str, set[str]] = {name: set(measures) for name, measures in NICKNAMES_9.items()}

_RULES = CONVENTIONS["trec_eval-9"]
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_PARAMETERS = re.compile(rf"[._]({_NUMBER}(?:,{_NUMBER})*)")


class RelevanceEvaluator:
    """Scores runs on judgments under trec_eval's measures; made once, used for any number of runs.

    >>> evaluator = RelevanceEvaluator({"q1": {"d1": 1, "d2": 0}}, {"map", "ndcg_cut.5,10"})
    >>> evaluator.evaluate({"q1": {"d1": 0.5, "d2": 1.5}})["q1"]["map"]
    0.5
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        if not isinstance(relevance_level, int) or relevance_level < 1:
            raise TypeError("Argument relevance_level should be positive.")
        judged = {query: graded for query, graded in query_relevance.items() if len(graded)}
        request = Request(level=relevance_level, judged_only=bool(judged_docs_only_flag), version_9=True)
        self.columns = _columns(measures, request)
        self.judged_only = request.judged_only
        self.judgments = _judgments(judged) if judged else None

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """{query: {measure: value}} for the queries that the run and the judgments share."""
        if not scores or self.judgments is None:
            return {}
        try:
            found = DictRun(scores).retrieved(self.judgments, precision=_RULES.precision)
        except CalipersError as error:
            raise TypeError(f"Unable to extract query/object scores: {error.message}") from None
        lists = Lists.of(self.judgments.pool, [found])
        if self.judged_only:
            lists = lists.where(lists.grade >= 0).condensed()
        ranked = lists.under(_RULES.ties)
        by_measure = [self._values(column, ranked) for column in self.columns]
        names = [column.name if column.root.family else column.root.name for column in self.columns]
        by_query = np.array(by_measure).reshape(len(names), len(ranked)).T.tolist()
        rows = dict(zip(self.judgments.queries, by_query, strict=True))
        return {query: dict(zip(names, rows[query], strict=True)) for query in scores if query in rows}

    def _values(self, column: ReportedMeasure, lists: Lists) -> Floats:
        if column.measure is None:
            return np.zeros(len(lists))  # text is 0 there
        values = np.nan_to_num(column.measure.score(lists), nan=0.0)
        # The geometric mean is left to `compute_aggregated_measure`, which expects logarithms.
        return np.log(np.maximum(values, FLOOR)) if column.root.name.startswith("gm_") else values


def _columns(measures: Iterable[str], request: Request) -> list[ReportedMeasure]:
    """The columns in trec_eval's order; parameters of one measure that come apart are put together."""
    asked: dict[str, set[str]] = {}
    for name in measures:
        for root, parameters in _named(name):
            asked.setdefault(root, set()).update(parameters)
    try:
        return [
            column
            for name, root in ROOTS.items()
            if name in asked
            for column in ReportedMeasure.all_of(root, ",".join(sorted(asked[name])), request, _RULES)
        ]
    except CalipersError as error:
        raise ValueError(error.message) from None


def _named(name: str) -> list[tuple[str, list[str]]]:
    if name in supported_nicknames:
        return [(root, []) for root in supported_nicknames[name]]
    if name in supported_measures:
        return [(name, [])]
    for root in supported_measures:
        if name.startswith(root) and (match := _PARAMETERS.match(name, len(root))):
            return [(root, match.group(1).split(","))]
    raise ValueError(f"unsupported measure {name}")


def _judgments(judged: dict[str, Any]) -> Judgments:
    try:
        judgments = Judgments.from_dict(judged)
    except CalipersError as error:
        raise TypeError(f"Expected relevance to be integer: {error.message}") from None
    texts = any(isinstance(grade, str) for graded in judged.values() for grade in graded.values())
    if texts or not (judgments.pool.grade == np.trunc(judgments.pool.grade)).all():
        raise TypeError("Expected relevance to be integer. (calipers.evaluate takes fractions.)")
    return judgments


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """A run from its lines: query Q0 document rank score tag."""
    run: dict[str, dict[str, float]] = {}
    for line in f_run:
        query, _, document, _, score, _ = line.strip().split()
        _put(run, query, document, float(score))
    return run


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Judgments from their lines: query iteration document grade."""
    judgments: dict[str, dict[str, int]] = {}
    for line in f_qrel:
        query, _, document, grade = line.strip().split()
        _put(judgments, query, document, int(grade))
    return judgments


def _put(of: dict[str, dict[str, Any]], query: str, document: str, value: Any) -> None:
    documents = of.setdefault(query, {})
    if document in documents:
        raise AssertionError(f"document '{document}' appears twice for query '{query}'")
    documents[document] = value


def compute_aggregated_measure(measure: str, values: list[float]) -> float:
    """One number for all queries: a sum of counts, the geometric mean of gm_ measures, the mean of others."""
    if measure.startswith("num_"):
        return float(np.sum(values))
    if measure.startswith("gm_"):
        return math.exp(float(np.sum(values)) / len(values))
    return float(np.mean(values))
