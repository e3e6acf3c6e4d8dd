"""What is known of documents beside their grades: what they cost to read, and the groups that they belong to."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import DictRun, Run
from calipers.errors import CalipersError
from calipers.lists import Pool
from calipers.plurals import counted

Source = str | os.PathLike[str]
Costs = Source | Mapping[str, float]  # a file of lines `document cost`, or {document: cost}
UNJUDGED = -1.0  # the grade of documents that are in a pool only because a run retrieves them


def read_costs(source: Costs) -> dict[str, float]:
    """{document: cost} from lines `document cost`, as seconds or characters; or the same as a mapping.

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


def read_document_groups(source: Source | Mapping[str, str]) -> dict[str, str]:
    """{document: group} from lines `document group`; or the same as a mapping."""
    if isinstance(source, Mapping):
        return {str(document): str(group) for document, group in source.items()}
    found: dict[str, str] = {}
    for number, document, group in _pairs(source, "group"):
        if found.setdefault(document, group) != group:
            raise CalipersError(f"document '{document}' has a second group", file=str(source), line=number)
    if not found:
        raise CalipersError("there are no groups", file=str(source))
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


def notes_on_costs(costs: Mapping[str, float], retrieved: Iterable[str]) -> tuple[str, ...]:
    """How many of the documents that are retrieved have no cost."""
    shown = {*retrieved}
    unpaid = len(shown) - sum(document in costs for document in shown)
    if not unpaid:
        return ()
    return (f"{counted(unpaid, 'document')} of {len(shown):,} that are retrieved have no cost: they count 1",)


def whole_runs(runs: Sequence[Run]) -> list[DictRun]:
    """The runs read whole, each under the name that it goes by."""
    return [DictRun(run.documents(), name) for run, (name, _) in zip(runs, distinct_names(runs), strict=True)]


def with_retrieved(judgments: Judgments, runs: Sequence[DictRun]) -> Judgments:
    """The judgments with every document that some run retrieves, those that are not judged at a grade below 0."""
    known = judgments.to_dict()
    for run in runs:
        for query, graded in known.items():
            for document in run.scores.get(query, ()):
                graded.setdefault(document, UNJUDGED)
    return Judgments.from_dict(known, judgments.name)


def with_costs(judgments: Judgments, costs: Mapping[str, float]) -> Judgments:
    """The judgments with the cost of each of their documents, 1 where there is none."""
    from dataclasses import replace

    cost = np.array([costs.get(document, 1.0) for document in judgments.document_names])
    pool = judgments.pool
    return replace(judgments, pool=Pool(pool.offsets, pool.grade, cost=cost))
