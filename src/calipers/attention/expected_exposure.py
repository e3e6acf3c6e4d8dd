"""Expected exposure: whether documents of the same grade get the same attention, and groups their share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calipers.attention.of_documents import MODELS, attention
from calipers.collection.document_facts import read_document_groups
from calipers.collection.model import Run
from calipers.collection.run_names import distinct_names
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.errors import CalipersError, UnknownName, warn_user
from calipers.evaluation import as_judgments, as_runs
from calipers.lists import Floats, Ints
from calipers.plurals import counted, verb
from calipers.results.tables import Table

TARGETS = ("relevant", "exposure", "equal")


@dataclass(frozen=True, eq=False)
class Exposure:
    """Of each system and query; the group part is there where groups were given.

    attention[s, q, g] is the share of attention that group g gets, wanted[q, g] the share that it should get;
    both are NaN where a query has nothing to share.
    """

    systems: tuple[str, ...]
    queries: tuple[str, ...]
    loss: Floats
    disparity: Floats
    relevance: Floats
    groups: tuple[str, ...] = ()
    attention: Floats | None = None
    wanted: Floats | None = None
    awrf: Floats | None = None
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """system, EE-L, EE-D, EE-R, and AWRF where there are groups: means over queries."""
        columns = self._columns()
        rows = zip(self.systems, *(np.nanmean(values, axis=1).tolist() for values in columns.values()), strict=True)
        return Table(("system", *columns), tuple(rows))

    def per_query(self) -> Table:
        """The same, one row per system and query."""
        columns = self._columns()
        names = ((system, query) for system in self.systems for query in self.queries)
        rows = zip(names, *(values.ravel().tolist() for values in columns.values()), strict=True)
        return Table(("system", "query", *columns), tuple((*name, *cells) for name, *cells in rows))

    def group_table(self) -> Table:
        """system, group, exposure (its share of the attention), target (the share it should have), ratio of the two."""
        if self.attention is None or self.wanted is None:
            raise CalipersError("there are no groups: --document-groups, or groups=, says which document is in which")
        known = np.asarray(np.isfinite(self.attention).all(axis=2) & np.isfinite(self.wanted).all(axis=1))
        rows = []
        for s, system in enumerate(self.systems):
            got, wanted = self.attention[s, known[s]].mean(axis=0), self.wanted[known[s]].mean(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = got / wanted
            of_groups = zip(self.groups, got.tolist(), wanted.tolist(), ratio.tolist(), strict=True)
            rows += [(system, *cells) for cells in of_groups]
        return Table(("system", "group", "exposure", "target", "ratio"), tuple(rows))

    def _columns(self) -> dict[str, Floats]:
        found = {"EE-L": self.loss, "EE-D": self.disparity, "EE-R": self.relevance}
        return found if self.awrf is None else found | {"AWRF": self.awrf}

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.systems), 'system')}, {counted(len(self.queries), 'query')}"
        return f"<Exposure: {sizes}>\n{self.table()}"


def exposure(
    judgments: JudgmentsLike,
    runs: RunsLike,
    *,
    model: str = "rbp",
    patience: float = 0.5,
    groups: str | os.PathLike[str] | Mapping[str, str] | None = None,
    target: str = "relevant",
    stochastic: bool = False,
    max_grade: float | None = None,
    warn: bool = True,
) -> Exposure:
    """Expected exposure of documents and of groups of documents (Diaz et al., CIKM 2020).

    judgments, runs: as for `evaluate`.
    model: how readers go down a list. rbp: rank i is seen by patience^(i - 1) of them. cascade: by those of them whom
        no document above has satisfied; a document of grade g satisfies (2^g - 1) / 2^max_grade.
    groups: {document: group}, or a file of lines `document group`; documents without one are left out of the groups.
    target: what share of attention a group should have: that of the relevant documents which it has, that which its
        documents have under the target exposure, or the same as every other.
    stochastic: runs of one name (tag) are samples of one stochastic ranking.
    max_grade: the largest grade that there could be; otherwise the largest of the judgments.

    With e the expected attention of each judged or retrieved document and e* its target, which is that of the ranking
    where documents of one grade are tied and better grades come first:

        EE-L = sum of (e - e*)^2 = EE-D - 2 EE-R + sum of e*^2,   EE-D = sum of e^2,   EE-R = sum of e e*

    AWRF = 1 - the Jensen-Shannon divergence (in bits) of the groups' shares of attention from those wanted.

    Diaz, Mitra, Ekstrand, Biega & Carterette, Evaluating stochastic rankings with expected exposure, CIKM 2020;
    Sapiezynski, Zeng, Robertson, Mislove & Wilson, Quantifying the impact of user attention on fair group
    representation in ranked lists, WWW 2019 companion (AWRF; its distance is the one of TREC Fair Ranking 2021).

    >>> qrels = {"q": {"a": 1, "b": 1, "c": 0}}
    >>> fixed, fair = {"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 2, "b": 2, "c": 1}}
    >>> print(exposure(qrels, {"fixed": fixed, "fair": fair}).table())
    system    EE-L    EE-D    EE-R
    ------  ------  ------  ------
    fixed   0.1250  1.3125  1.1875
    fair    0.0000  1.1875  1.1875
    <BLANKLINE>
    """
    if model not in MODELS:
        raise UnknownName.among("model", model, MODELS)
    if target not in TARGETS:
        raise UnknownName.among("target", target, TARGETS)
    if not 0.0 < patience < 1.0:
        raise CalipersError(f"patience {patience:g} is not between 0 and 1")
    known = as_judgments(judgments).to_dict()
    systems = _systems(as_runs(runs), stochastic)
    top = max((grade for graded in known.values() for grade in graded.values()), default=0.0)
    if max_grade is not None and max_grade < top:
        raise CalipersError(f"max_grade {max_grade:g} is below the grade {top:g} of a document")
    largest = top if max_grade is None else max_grade
    if largest > 1000.0:  # 2^1024 is no number
        raise CalipersError(f"grade {largest:g} is too large: 2^grade must be a number")
    of_group = None if groups is None else read_document_groups(groups)
    names = tuple(sorted(set(of_group.values()))) if of_group is not None else ()
    parts = [_of_query(query, known[query], systems, model, patience, largest) for query in known]
    values = np.array([[part.values(row) for part in parts] for row in range(len(systems))])
    missing = [name for name, samples in systems.items() if any(q not in run for run in samples for q in known)]
    notes = []
    if missing:
        have = verb(len(missing), "lacks", "lack")
        notes.append(f"{len(missing)} of {counted(len(systems), 'system')} {have} judged queries: no document is seen")
    shares = wanted = awrf = None
    if of_group is not None:
        shares, wanted = _by_group(parts, of_group, names, target)
        awrf = 1.0 - _divergence(shares, wanted[None])
        outside = len({document for part in parts for document in part.documents} - of_group.keys())
        if outside:
            notes.append(f"{counted(outside, 'document')} {verb(outside, 'has', 'have')} no group")
    warn_user(notes, warn)
    loss, disparity, relevance = np.moveaxis(values, 2, 0)
    return Exposure(tuple(systems), tuple(known), loss, disparity, relevance, names, shares, wanted, awrf, tuple(notes))


@dataclass(frozen=True, eq=False)
class _Part:
    """One query: its documents, their grades, target exposure, and expected attention under each system."""

    documents: list[str]
    grade: Floats
    target: Floats
    seen: Floats  # system x document

    def values(self, system: int) -> tuple[float, float, float]:
        seen = self.seen[system]
        return float(((seen - self.target) ** 2).sum()), float((seen**2).sum()), float((seen * self.target).sum())


Samples = list[Mapping[str, Mapping[str, float]]]


def _systems(runs: Sequence[Run], stochastic: bool) -> dict[str, Samples]:
    found: dict[str, Samples] = {}
    for run, (name, _) in zip(runs, distinct_names(runs), strict=True):
        found.setdefault(run.name if stochastic else name, []).append(run.documents())
    return found


def _of_query(
    query: str, graded: Mapping[str, float], systems: Mapping[str, Samples], model: str, patience: float, largest: float
) -> _Part:
    retrieved = (document for samples in systems.values() for run in samples for document in run.get(query, ()))
    documents = list(dict.fromkeys((*graded, *retrieved)))
    place = {document: row for row, document in enumerate(documents)}
    grade = np.zeros(len(documents))
    grade[: len(graded)] = np.maximum(np.fromiter(graded.values(), np.float64, len(graded)), 0.0)
    stop = (2.0**grade - 1.0) / 2.0**largest
    seen = np.zeros((len(systems), len(documents)))
    for row, samples in enumerate(systems.values()):
        for run in samples:
            ranked = run.get(query)
            if ranked:
                rows = np.array([place[document] for document in ranked])
                score = np.fromiter(ranked.values(), np.float64, len(ranked))
                seen[row, rows] += attention(score, stop[rows], patience, model) / len(samples)
    return _Part(documents, grade, attention(grade, stop, patience, model), seen)


def _by_group(
    parts: Sequence[_Part], of_group: Mapping[str, str], names: Sequence[str], target: str
) -> tuple[Floats, Floats]:
    number = {name: place for place, name in enumerate(names)}
    got, wanted = [], []
    for part in parts:
        group = np.array([number.get(of_group.get(document, ""), -1) for document in part.documents], np.intp)
        weights = {"relevant": (part.grade > 0).astype(np.float64), "exposure": part.target}.get(target)
        wanted.append(_share(np.ones(len(names)) if weights is None else _sums(group, weights, len(names))))
        got.append([_share(_sums(group, seen, len(names))) for seen in part.seen])
    return np.moveaxis(np.array(got), 0, 1), np.array(wanted)


def _sums(group: Ints, values: Floats, groups: int) -> Floats:
    inside = group >= 0
    return np.bincount(group[inside], values[inside], groups).astype(np.float64)


def _share(values: Floats) -> Floats:
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), np.nan)


def _divergence(a: Floats, b: Floats) -> Floats:
    """Jensen and Shannon's, in bits."""
    middle = (a + b) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(x > 0, x * np.log2(x / middle), np.where(np.isnan(x), np.nan, 0.0)) for x in (a, b)]
    return np.asarray(np.maximum(sum(part.sum(axis=-1) for part in parts) / 2, 0.0))
