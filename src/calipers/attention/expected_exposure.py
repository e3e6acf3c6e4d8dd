"""Expected exposure: whether documents of the same grade get the same attention, and groups their share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calipers.collection.document_facts import DocumentFacts, GroupsLike, with_retrieved
from calipers.collection.judgments import Judgments
from calipers.collection.mismatch import notes_on_matching
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import DictRun, Run
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Evaluation, check_evaluation
from calipers.lists import Floats, Lists
from calipers.measures.exposure import checked, readers_of
from calipers.measures.forms.exposure import SUMS, TERMS, ExposureSum, Readers, Sum, seen, targets
from calipers.measures.forms.group_exposure import GroupExposure, groups_of, shares, wanted_shares
from calipers.native.columns import Retrieved
from calipers.plurals import counted, verb
from calipers.results.averages import known_mean
from calipers.results.result import Result, Tables
from calipers.results.tables import Table


@dataclass(frozen=True, eq=False, repr=False)
class Exposure(Result):
    """Expected exposure per system and query. Groups are None if no groups were given.

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

    @property
    def title(self) -> str:
        """The subject of the result, with numbers of systems and queries."""
        return f"Exposure of {counted(len(self.systems), 'system')} on {counted(len(self.queries), 'query')}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        loss = known_mean(self.loss, axis=1)
        if np.isnan(loss).all():
            return "No query has a defined exposure."
        best = int(np.nanargmin(loss))
        return f"{self.systems[best]} is nearest to the exposure that documents deserve: EE-L {loss[best]:.4f}."

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables(
            {"means": self._means, "queries": self.per_query} | ({"groups": self.group_table} if self.groups else {})
        )

    def _means(self) -> Table:
        """system, EE-L, EE-D, EE-R, and AWRF where there are groups: means over queries."""
        columns = self._columns()
        rows = zip(self.systems, *(known_mean(values, axis=1).tolist() for values in columns.values()), strict=True)
        return Table(("system", *columns), tuple(rows))

    def per_query(self) -> Table:
        """Return one row per system and query, with the columns of the means."""
        columns = self._columns()
        names = ((system, query) for system in self.systems for query in self.queries)
        rows = zip(names, *(values.ravel().tolist() for values in columns.values()), strict=True)
        return Table(("system", "query", *columns), tuple((*name, *cells) for name, *cells in rows))

    def group_table(self) -> Table:
        """system, group, exposure (its share of the attention), target (the share it should have), ratio of the two."""
        if self.attention is None or self.wanted is None:
            raise CalipersError("there are no groups of documents: give `groups`")
        known = np.asarray(np.isfinite(self.attention).all(axis=2) & np.isfinite(self.wanted).all(axis=1))
        rows = []
        for s, system in enumerate(self.systems):
            queries = np.count_nonzero(known[s])
            with np.errstate(divide="ignore", invalid="ignore"):  # undefined without a query, or without a target
                got = self.attention[s, known[s]].sum(axis=0) / queries
                wanted = self.wanted[known[s]].sum(axis=0) / queries
                ratio = got / wanted
            of_groups = zip(self.groups, got.tolist(), wanted.tolist(), ratio.tolist(), strict=True)
            rows += [(system, *cells) for cells in of_groups]
        return Table(("system", "group", "exposure", "target", "ratio"), tuple(rows))

    def _columns(self) -> dict[str, Floats]:
        found = {"EE-L": self.loss, "EE-D": self.disparity, "EE-R": self.relevance}
        return found if self.awrf is None else found | {"AWRF": self.awrf}


def exposure(
    evaluation: Evaluation,
    *,
    model: str = "rbp",
    patience: float = 0.5,
    groups: GroupsLike | None = None,
    target: str = "relevant",
    stochastic: bool = False,
    max_grade: float | None = None,
) -> Exposure:
    """Return the expected exposure of documents and of groups of documents (Diaz et al., CIKM 2020).

    Ties are averaged over their orders. The measures and scoring options of the experiment are not used.

    model: how readers go down a list. rbp: rank i is seen by patience^(i - 1) of them. cascade: by those of them whom
        no document above has satisfied; a document of grade g satisfies (2^g - 1) / 2^max_grade.
    groups: {document: group}, or a file of lines `document group`; documents without one are left out of the groups.
    target: what share of attention a group should have: that of the relevant documents which it has, that which its
        documents have under the target exposure of all judged ones, or the same as every other.
    stochastic: runs of one name (tag) are samples of one stochastic ranking.
    max_grade: the largest grade that there could be; otherwise the largest of the judgments.

    With e the expected attention of each document that is judged or that the system retrieves, and e* its target, which
    is that of the ranking where documents of one grade are tied and better grades come first:

        EE-L = sum of (e - e*)^2 = EE-D - 2 EE-R + sum of e*^2,   EE-D = sum of e^2,   EE-R = sum of e e*

    AWRF = 1 - the Jensen-Shannon divergence (in bits) of the groups' shares of attention from those wanted.
    Without `stochastic` these are the measures EE-L, EE-D, EE-R and AWRF, which `evaluate` takes by these names.

    Diaz, Mitra, Ekstrand, Biega & Carterette, Evaluating stochastic rankings with expected exposure, CIKM 2020;
    Sapiezynski, Zeng, Robertson, Mislove & Wilson, Quantifying the impact of user attention on fair group
    representation in ranked lists, WWW 2019 companion (AWRF; its distance is the one of TREC Fair Ranking 2021).

    >>> qrels = {"q": {"a": 1, "b": 1, "c": 0}}
    >>> fixed, fair = {"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 2, "b": 2, "c": 1}}
    >>> import calipers as cal
    >>> print(cal.exposure(cal.Experiment(qrels, {"fixed": fixed, "fair": fair})).table())
    system    EE-L    EE-D    EE-R
    ------  ------  ------  ------
    fixed   0.1250  1.3125  1.1875
    fair    0.0000  1.1875  1.1875
    <BLANKLINE>
    """
    check_evaluation(evaluation)
    aim = checked(target)
    known = evaluation.known
    if not evaluation.runs:
        raise CalipersError("there is no run to evaluate")
    top = known.pool.largest_grade
    if max_grade is not None and max_grade < top:
        raise CalipersError(f"max_grade {max_grade:g} is below the grade {top:g} of a document")
    readers = readers_of(model, patience, top if max_grade is None else max_grade)
    facts = DocumentFacts.read(None, groups)
    names = () if facts is None else facts.group_names
    systems = _systems(evaluation.runs, stochastic)
    found = {name: [run.retrieved(known) for run in samples] for name, samples in systems.items()}
    notes = _notes_on_missing(known, found)
    for name, samples in systems.items():
        notes += notes_on_matching(known, {name: samples[0]}, found[name][:1])
    parts: list[_Part] = []
    got = wanted = awrf = None
    if stochastic or facts is not None:
        parts = [_part(known, samples, readers, facts) for samples in systems.values()]
    if stochastic:
        loss, disparity, relevance = (np.array([part.sums(term) for part in parts]) for term in SUMS)
    else:
        lists = Lists.of(known.pool, [run for (run,) in found.values()])
        shape = (len(systems), len(known.queries))
        loss, disparity, relevance = (ExposureSum(term, readers).score(lists).reshape(shape) for term in SUMS)
    if facts is not None and facts.groups is not None:
        form = GroupExposure("divergence", readers, aim)
        of_parts = [(part, part.shares(len(names))) for part in parts]
        got = np.array([each for _, each in of_parts])
        wanted = wanted_shares(parts[0].known.pool, readers, aim)
        awrf = np.array([form.compared(each, part.known.pool, np.arange(len(each))) for part, each in of_parts])
        outside = len({document for part in parts for document in part.known.document_names} - facts.groups.keys())
        if outside:
            notes.append(f"{counted(outside, 'document')} {verb(outside, 'has', 'have')} no group")
    warn_user(notes, evaluation.warn)
    return Exposure(tuple(systems), known.queries, loss, disparity, relevance, names, got, wanted, awrf, tuple(notes))


def _systems(runs: Sequence[Run], stochastic: bool) -> dict[str, list[Run]]:
    """Return the runs of each system. A system has several runs if they are samples of one ranking."""
    if not stochastic:
        return {name: [run] for run, (name, _) in zip(runs, distinct_names(runs), strict=True)}
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.name, []).append(run)
    return found


def _notes_on_missing(known: Judgments, found: Mapping[str, Sequence[Retrieved]]) -> list[str]:
    missing = sum(any(len(run.query) < len(known.queries) for run in samples) for samples in found.values())
    if not missing:
        return []
    have = verb(missing, "lacks", "lack")
    return [f"{missing} of {counted(len(found), 'system')} {have} judged queries: no document is seen"]


@dataclass(frozen=True, eq=False)
class _Part:
    """Judged and retrieved documents of one system, with their attention and their target."""

    known: Judgments
    seen: Floats
    target: Floats

    def sums(self, term: Sum) -> Floats:
        return self.known.pool.sum(TERMS[term](self.seen, self.target))

    def shares(self, groups: int) -> Floats:
        """Return the share of each group in the attention, [query, group]."""
        pool = self.known.pool
        return shares(self.seen, pool.query, groups_of(pool).of, pool.queries, groups)


def _part(known: Judgments, samples: Sequence[Run], readers: Readers, facts: DocumentFacts | None) -> _Part:
    runs = [DictRun(run.to_dict(), run.name) for run in samples]
    whole = with_retrieved(known, runs)
    whole = whole if facts is None else facts.added_to(whole, known)
    lists = Lists.of(whole.pool, [run.retrieved(whole) for run in runs])
    attention = np.bincount(lists.document, seen(lists, readers).row, len(whole.pool.grade)) / len(runs)
    return _Part(whole, attention, targets(whole.pool, readers))
