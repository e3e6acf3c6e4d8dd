"""Costs of reading documents, and groups of documents."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import DictRun, Run
from calipers.errors import CalipersError
from calipers.lists import UNJUDGED, DocumentGroups, Floats, Ints, Pool
from calipers.plurals import counted

Source = str | os.PathLike[str]
Costs = Source | Mapping[str, float]  # a file of lines `document cost`, or {document: cost}
Popularity = Source | Mapping[str, float]  # a file of lines `item weight`, or {item: weight}
GroupsLike = Source | Mapping[str, str]  # a file of lines `document group`, or {document: group}


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
    rows = enumerate(source.items()) if isinstance(source, Mapping) else (
        (number, (item, text)) for number, item, text in _pairs(source, "weight")
    )  # fmt: skip
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


def read_document_groups(source: GroupsLike) -> dict[str, str]:
    """Return {document: group} from a file of lines `document group` or from a mapping."""
    if isinstance(source, Mapping):
        if not source:
            raise CalipersError("there are no groups of documents")
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


@dataclass(frozen=True)
class DocumentFacts:
    """Costs and groups of documents. Either may be None."""

    costs: Mapping[str, float] | None
    groups: Mapping[str, str] | None

    @classmethod
    def read(cls, costs: Costs | None, groups: GroupsLike | None) -> DocumentFacts | None:
        """Read costs and groups from files or mappings. Return None if neither is given."""
        if costs is None and groups is None:
            return None
        return cls(
            None if costs is None else read_costs(costs), None if groups is None else read_document_groups(groups)
        )

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        return tuple(sorted(set((self.groups or {}).values())))

    def costs_of(self, documents: Iterable[str]) -> Floats | None:
        """Return the cost of each document, or 1 if it is not known."""
        costs = self.costs
        return None if costs is None else np.array([costs.get(document, 1.0) for document in documents])

    def groups_of(self, documents: Iterable[str]) -> Ints | None:
        """Return the place of each document's group, or -1 if it has no group."""
        if self.groups is None:
            return None
        place = {group: number for number, group in enumerate(self.group_names)}
        place_of = {document: place[group] for document, group in self.groups.items()}
        return np.array([place_of.get(document, -1) for document in documents], np.int64)

    def added_to(self, judgments: Judgments, judged: Judgments | None = None) -> Judgments:
        """Return the judgments with costs and groups of their documents.

        judged: what of them is judged, where documents were added that some run retrieves.
        """
        pool, names = judgments.pool, judgments.document_names
        groups, place = None, self.groups_of(names)
        if place is not None:
            known = np.ones(len(place), bool)
            if judged is not None and judged is not judgments:
                rows = [*judged.to_dict().values()]
                known = np.array([name in rows[query] for name, query in zip(names, pool.query.tolist(), strict=True)])
            groups = DocumentGroups(self.group_names, place, known)
        return replace(judgments, pool=Pool(pool.offsets, pool.grade, cost=self.costs_of(names), groups=groups))

    def notes(self, retrieved: Iterable[str]) -> tuple[str, ...]:
        """Return notes about retrieved documents without a cost or a group."""
        shown = {*retrieved}
        told = (("cost", "they count 1", self.costs), ("group", "they count for none", self.groups))
        return tuple(
            f"{counted(lacking, 'document')} of {len(shown):,} that are retrieved have no {what}: {so}"
            for what, so, known in told
            if known is not None and (lacking := len(shown) - sum(document in known for document in shown))
        )
