"""Our measures in ir_measures, and so in PyTerrier's experiments.

measure = calipers.tools.ir_measures.measure("V2(nDCG@10)")
ir_measures.calc_aggregate([measure, ir_measures.AP], qrels, run)
pyterrier.Experiment(systems, topics, qrels, eval_metrics=[measure])
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Unpack

from calipers.conventions import convention
from calipers.errors import CalipersError
from calipers.evaluation import Policies, evaluate
from calipers.extras import load
from calipers.measures.grammar import parse_all
from calipers.measures.registry import Measure


def measure(measure: str | Measure, **policies: Unpack[Policies]) -> Any:
    """A measure that ir_measures computes by asking us. The policies are those of `evaluate`.

    A query that we skip, as V2 does where no document is relevant, is NaN there and left out of the mean.
    """
    library = load("ir_measures", package="ir-measures", what="metrics of ir-measures")
    like = policies.get("like")
    rules = convention(like)
    named = parse_all(measure, rules.defaults)
    if len(named) != 1:
        raise CalipersError(f"'{measure}' names {len(named)} measures; expected one")
    name, ours = named[0]
    base: Any = library.measures.Measure
    aggregate: Any = library.measures.base.Agg

    class Mean(aggregate):  # type: ignore[misc]  # a class that is known only when it is installed
        """The mean of what is defined."""

        def __init__(self) -> None:
            self.values: list[float] = []

        def add(self, value: float) -> None:
            if not math.isnan(value):
                self.values.append(value)

        def result(self) -> float:
            return sum(self.values) / len(self.values) if self.values else math.nan

    class CalipersMeasure(base):  # type: ignore[misc]  # the base class is untyped
        NAME = __name__ = name if like is None else f"{name}[{rules.name}]"
        PRETTY_NAME = NAME
        SHORT_DESC = ours.declaration.sentence
        RUN_INPUTS = ("query_id", "doc_id", "score")
        QREL_INPUTS = ("query_id", "doc_id", "relevance")

        def runtime_impl(self, qrels: Any, run: Any) -> Iterator[Any]:
            known = _nested(qrels, "relevance")
            lists = _nested(run, "score")
            lists = {query: lists.get(query, {}) for query in known}
            if not any(lists.values()):
                return
            scores = evaluate(known, lists, ours, warn=False, **policies)
            for query, score in zip(scores.queries, scores.values[0, 0].tolist(), strict=True):
                yield library.Metric(query_id=query, measure=self, value=score)

        def aggregator(self) -> Any:
            return Mean()

        def __matmul__(self, cutoff: Any) -> Any:
            return _again(ours @ cutoff, policies)

        def __repr__(self) -> str:
            return str(self.NAME)

        def __reduce__(self) -> Any:
            return _again, (ours, policies)

    return CalipersMeasure()


def _again(ours: Measure, policies: Policies) -> Any:
    return measure(ours, **policies)


def _nested(frame: Any, value: str) -> dict[str, dict[str, float]]:
    """{query: {document: value}}, in the order of the rows."""
    found: dict[str, dict[str, float]] = {}
    columns = (frame[column].tolist() for column in ("query_id", "doc_id", value))
    for query, document, number in zip(*columns, strict=True):
        found.setdefault(str(query), {})[str(document)] = float(number)
    return found
