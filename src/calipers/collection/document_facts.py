"""Costs of reading documents, and weights of items."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import DictRun, Run
from calipers.errors import CalipersError
from calipers.lists import UNJUDGED, Floats, Pool
from calipers.support.plurals import counted

Source = str | os.PathLike[str]
Costs = Source | Mapping[str, float]  # a file of lines `document cost`, or {document: cost}
Popularity = Source | Mapping[str, float]  # a file of lines `item weight`, or {item: weight}


def read_costs(source: Costs) -> dict[str, float]:
    """Return {document: cost} from a file of lines `document cost` or a mapping. Costs may be seconds or characters.

    >>> read_costs({"a": 12, "b": 3.5})
    {'a': 12.0, 'b': 3.5}
    """
    if isinstance(source, Mapping):
        return {str(document): _cost(cost, "the costs", None) for document, cost in source.items()}
    found: dict[str, float] = {}
    for number, document, text in _pairs(source, "cost"):
        if document in found:
            raise CalipersError(f"document '{document}' has a second cost", file=str(source), line=number)
        found[document] = _cost(text, str(source), number)
    if not found:
        raise CalipersError("there are no costs", file=str(source))
    return found


def read_popularity(source: Popularity) -> dict[str, float]:
    """Return {item: weight} from lines `item weight`, or from a mapping. Weights are at least 0, and one is above 0.

    >>> read_popularity({"a": 12, "b": 0})
    {'a': 12.0, 'b': 0.0}
    """
    file = None if isinstance(source, Mapping) else str(source)
    rows = (
        enumerate(source.items())
        if isinstance(source, Mapping)
        else ((number, (item, text)) for number, item, text in _pairs(source, "weight"))
    )
    found: dict[str, float] = {}
    for number, (item, given) in rows:
        line = None if file is None else number
        try:
            weight = float(given)
        except (TypeError, ValueError, OverflowError):
            weight = math.nan
        if not (math.isfinite(weight) and weight >= 0):
            raise CalipersError(
                f"the weight '{given}' of item '{item}' is not a number of at least 0", file=file, line=line
            )
        if str(item) in found:
            raise CalipersError(f"item '{item}' has a second weight", file=file, line=line)
        found[str(item)] = weight
    if not any(found.values()):
        raise CalipersError("popularity must give some item a weight above 0", file=file)
    return found


def _pairs(source: Source, what: str) -> Iterator[tuple[int, str, str]]:
    """Lines of two fields; tabs separate them where there are any, else spaces."""
    from calipers.collection.files import FileErrors, regular

    with FileErrors(source), open(regular(source), encoding="utf-8-sig", errors="surrogateescape") as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
            if not "".join(fields).strip():
                continue
            if len(fields) != 2:
                raise CalipersError(
                    f"expected 2 fields (document {what}), found {len(fields)}", file=str(source), line=number
                )
            yield number, fields[0].strip(), fields[1].strip()


def _cost(given: Any, file: str, line: int | None) -> float:
    try:
        cost = float(given)
    except (TypeError, ValueError, OverflowError):
        cost = math.nan
    if not (math.isfinite(cost) and cost > 0):
        raise CalipersError(f"cost '{given}' is not a number above 0", file=file, line=line)
    return cost


def whole_runs(runs: Sequence[Run]) -> list[DictRun]:
    """Read runs whole and return them under their names."""
    return [DictRun(run.to_dict(), name) for run, (name, _) in zip(runs, distinct_names(runs), strict=True)]


def with_retrieved(judgments: Judgments, runs: Sequence[DictRun]) -> Judgments:
    """Return judgments with all documents that runs retrieve. Unjudged documents get a grade below 0."""
    known = judgments.to_dict()
    for run in runs:
        for query, graded in known.items():
            for document in run.scores.get(query, ()):
                graded.setdefault(document, UNJUDGED)
    return Judgments.from_dict(known, judgments.name)


def costs_of(costs: Mapping[str, float], documents: Iterable[str]) -> Floats:
    """Return the cost of each document, or 1 if it is not known."""
    return np.array([costs.get(document, 1.0) for document in documents])


def with_costs(judgments: Judgments, costs: Mapping[str, float]) -> Judgments:
    """Return the judgments with the costs of their documents."""
    pool = judgments.pool
    return replace(judgments, pool=Pool(pool.offsets, pool.grade, cost=costs_of(costs, judgments.document_names)))


def notes_on_costs(costs: Mapping[str, float], retrieved: Iterable[str]) -> tuple[str, ...]:
    """Return a note if some retrieved documents have no cost."""
    shown = {*retrieved}
    lacking = len(shown) - sum(document in costs for document in shown)
    if not lacking:
        return ()
    return (f"{counted(lacking, 'document')} of {len(shown):,} that are retrieved have no cost: they count 1",)
