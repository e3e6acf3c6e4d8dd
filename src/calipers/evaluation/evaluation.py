"""From judgments and runs to scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

import numpy as np

from calipers.collection.document_facts import Costs, DocumentFacts, GroupsLike, whole_runs, with_retrieved
from calipers.collection.judgments import Judgments, JudgmentsDigest
from calipers.collection.mismatch import (
    MatchedQueries,
    Unmatched,
    check_unmatched,
    no_query_in_common,
    unmatched_notes,
)
from calipers.collection.run_names import ambiguous_names, distinct_names
from calipers.collection.runs import FileRun, Run, within_reach
from calipers.collection.sources import ColumnNames, JudgmentsLike, RunsLike
from calipers.conventions import Convention, convention
from calipers.errors import warn_user
from calipers.evaluation.inputs import (
    SwappedFiles,
    as_judgments,
    as_runs,
    depending_on,
    in_batches,
    kind_read,
    notes_on_reading,
)
from calipers.evaluation.possible_gain import PossibleGains
from calipers.evaluation.scoring import (
    DESCRIBED,
    Counting,
    Policy,
    check_depth,
    compared_in,
    refuse,
    refuse_infinite,
)
from calipers.measures.exactness import inexact_measures
from calipers.measures.forms.base import deepest
from calipers.measures.grammar import DEFAULT_MEASURES, parse_all
from calipers.measures.registry import Measure
from calipers.native.columns import Precision
from calipers.results.notes import notes_about, seen_in
from calipers.results.scores import Coverage, Scores

Measures = str | Measure | Iterable[str | Measure]


class Policies(TypedDict, total=False):
    """How lists are read and undefined scores counted: the options of `evaluate` that other functions hand on to it."""

    like: str | Convention | None
    ties: str | None
    depth: int | None
    condensed: bool
    empty: Policy | None
    missing: Policy | None
    degenerate: Policy | None
    precision: Precision | None
    costs: Costs | None
    document_groups: GroupsLike | None
    unmatched: Unmatched
    jobs: int | None


def evaluate(
    judgments: JudgmentsLike,
    runs: RunsLike,
    measures: Measures = DEFAULT_MEASURES,
    *,
    like: str | Convention | None = None,
    ties: str | None = None,
    depth: int | None = None,
    condensed: bool = False,
    empty: Policy | None = None,
    missing: Policy | None = None,
    degenerate: Policy | None = None,
    precision: Precision | None = None,
    columns: ColumnNames | None = None,
    costs: Costs | None = None,
    document_groups: GroupsLike | None = None,
    unmatched: Unmatched = "error",
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> Scores:
    """Score runs on judgments under measures.

    judgments: from `read_qrels` and the like, a path, `irds:DATASET_ID`, a frame, or {query: {document: grade}};
        for measures of diversity from `read_subtopics`, a path, or {query: {subtopic: {document: grade}}}; for those of
        preferences or of several judges from `read_preferences` or `read_several_judges`, with judges for subtopics.
    runs: from `read_runs`, paths, frames, {query: {document: score}}, {name: that}, or arrays of one score per label.
    like: the tool whose conventions hold where nothing is given, as `trec_eval` (10.0), `letor4`, `lightgbm` (see
        `calipers.conventions`), a TOML file, or a Convention. What is given here, or in the name of a measure, wins.
    ties: what documents of equal score count as: `average` over all their orders, or one order: by document
        id (`docid`, trec_eval's), as in the `input`, `best` or `worst`.
    depth: only the first so many documents of each list. condensed: without unjudged documents.
    empty: what a query counts for which a measure is undefined whatever the ranking (mostly: no relevant
        document); without it 0, or what `like` says, for plain measures, while normalised ones skip the query.
        missing: what the measure counts where only this list makes it undefined, and, as `skip`, also the queries
        that a run lacks; without it 0, or what `like` says. degenerate: what a normalised score counts where all
        rankings score the same; without it, what the formula gives. All three: a number, `skip` or `error`.
    columns: the columns of tables, as {"query": "topic_id"}, in judgments and runs alike; where they differ, read them
        with `read_judgments` and `read_runs`.
    precision: in which scores are compared: `double`, or `single` as in trec_eval before 10.0, where scores beyond
        3.4e38 are infinite, and tie: a note says so.
    costs: what documents cost to read, a file of lines `document cost` or {document: cost}, for the measures that ask
        (TBG, U-measure, BPM, IFT-C2, EC, ETC); 1 where nothing is given. Random rankings shuffle all documents that are
        judged or retrieved by some run for these measures.
    document_groups: the groups that documents belong to, a file of lines `document group` or {document: group}, which
        AWRF and ExposureRatio need; documents without a group count for none. Random rankings as with costs.
    unmatched: `error` refuses a run none of whose documents is judged, which mostly means that judgments and runs write
        ids in different ways; `warn` scores it all the same.
    warn: give one CalipersWarning with what `calipers evaluate` warns of, in its words: judged queries that a run
        lacks, ties, unjudged documents, judgments and runs that seem to be exchanged. `Scores.notes` has it in any
        case, `Scores.remarks` what is said beside: conventions, undefined queries, what is sampled.

    >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
    >>> run = {"q1": {"d2": 1.5, "d1": 1.5}, "q2": {"d3": 0.5}}
    >>> evaluate(qrels, run, ["RR", "nDCG@10"])["RR"]         # d1 is first in half of the orders
    array([[0.75, 1.  ]])
    >>> evaluate(qrels, run, ["RR"], ties="worst")["RR"]
    array([[0.5, 1. ]])
    """
    rules = convention(like)
    compared = compared_in(rules, precision)
    counting = Counting.under(rules, ties, condensed, empty, missing, degenerate)
    check_depth(depth)
    check_unmatched(unmatched)
    named = parse_all(measures, rules.defaults)
    given = as_judgments(judgments, kind_read(measure for _, measure in named), columns)
    known = rules.judgments(given)
    systems = [*rules.runs(as_runs(runs, columns=columns))]
    facts = DocumentFacts.read(costs, document_groups)
    if facts is not None:
        asked: Policies = {
            "like": like, "ties": ties, "depth": depth, "condensed": condensed, "empty": empty, "missing": missing,
            "degenerate": degenerate, "precision": precision, "unmatched": unmatched, "jobs": jobs,
        }  # fmt: skip
        return _by_document(known, systems, dict(named), facts, warn, asked)
    bound = {name: measure.bind(known.pool) for name, measure in named}
    rules.check(known, bound.values())
    values = np.empty((len(bound), len(systems), len(known.queries)))
    reasons = np.zeros(values.shape, np.uint8)
    coverage = Coverage.blank(len(systems), len(known.queries))
    infinite: list[bool] = []
    matched: list[MatchedQueries] = []
    swapped = SwappedFiles(known.pool.grade)
    possible = PossibleGains(bound)
    start = 0
    reach = deepest(measure.form for measure in bound.values())
    if reach is None or compared == "single" or condensed or swapped.looking:  # which ask about whole lists
        read = systems
    else:
        read = [within_reach(system, max(reach, DESCRIBED)) for system in systems]
    for batch in in_batches(read, known, depth or 0, compared, jobs):
        part = slice(start, start + len(batch))
        values[:, part], reasons[:, part] = counting.scores(known.pool, batch, bound.values(), coverage, part, possible)
        infinite += [compared == "single" and bool(np.isinf(run.score).any()) for run in batch]
        matched += [MatchedQueries.of(known, run) for run in batch]
        swapped.look([run for run, system in zip(batch, systems[part], strict=True) if not isinstance(system, FileRun)])
        start += len(batch)
        if progress:
            progress(len(batch))
    refuse_infinite(values, list(bound), known.queries)
    refuse(reasons, bound, known, counting)
    if depth:  # a run may have judged documents below the cut only
        matched = [
            MatchedQueries.of(known, system.retrieved(known)) if seen.few else seen
            for system, seen in zip(systems, matched, strict=True)
        ]
    if coverage.missing.all():
        raise no_query_in_common(known, (each.unjudged for each in matched))
    names = tuple(name for name, _ in distinct_names(systems))
    notes = [
        *notes_on_reading(known, systems),
        *unmatched_notes(known, dict(zip(names, systems, strict=True)), matched, unmatched),
        *swapped.notes(known, systems),
        *notes_about(
            seen_in(coverage, systems, infinite, known.queries, [each.unjudged for each in matched]),
            counting.ties,
            possible.measure,
            possible.means,
        ),
    ]
    warn_user(notes, warn)
    return Scores(
        measures=tuple(bound),
        systems=names,
        queries=known.queries,
        values=values,
        reasons=reasons,
        definitions=tuple(bound.values()),
        coverage=coverage,
        metadata={
            "like": None if like is None else rules.name,
            "like_sentence": rules.sentence,
            "ties": counting.ties,
            "depth": depth,
            "condensed": condensed,
            "empty": empty,
            "empty_plain": rules.empty,
            "missing": counting.missing,
            "degenerate": degenerate,
            "judgments": JudgmentsDigest(given),
            "unmatched": tuple(name for name, seen in zip(names, matched, strict=True) if seen.few),
            "exactness": inexact_measures(bound, coverage.sampled),
            "standard_error": {name: coverage.sampled[m] for m, name in enumerate(bound) if m in coverage.sampled},
        },
        notes=tuple(notes),
        ambiguous=ambiguous_names(systems),
    )


def _by_document(
    known: Judgments,
    systems: Sequence[Run],
    named: Mapping[str, Measure],
    facts: DocumentFacts,
    warn: bool,
    policies: Policies,
) -> Scores:
    """The scores where documents have costs or groups, for which unjudged ones are looked at one by one."""
    asking = depending_on(facts, named)
    runs = whole_runs(systems)
    whole = facts.added_to(known if policies["condensed"] else with_retrieved(known, runs), known)
    lacking = facts.notes(d for run in runs for query in known.queries for d in run.scores.get(query, ()))
    plain = [name for name in named if name not in asking] or ["NumRet"]  # for what is to be said of the runs
    rest = evaluate(known.with_notes(lacking), runs, plain, warn=warn, **policies)
    read = evaluate(whole, runs, list(asking), warn=False, **policies)
    homes = [(read if name in asking else rest, name) for name in named]
    place = [home.measures.index(name) for home, name in homes]
    assert rest.coverage is not None
    assert read.coverage is not None
    errors = {True: read.coverage.sampled, False: dict(rest.coverage.sampled)}
    drawn = [errors[name in asking].get(old) for (_, name), old in zip(homes, place, strict=True)]
    rest.coverage.sampled.clear()
    rest.coverage.sampled.update({new: error for new, error in enumerate(drawn) if error is not None})
    return replace(
        rest,
        measures=tuple(named),
        values=np.stack([home.values[old] for (home, _), old in zip(homes, place, strict=True)]),
        reasons=np.stack([home.reasons[old] for (home, _), old in zip(homes, place, strict=True)]),
        definitions=tuple(home.definitions[old] for (home, _), old in zip(homes, place, strict=True)),
        metadata={
            **rest.metadata,
            **{key: {**rest.metadata[key], **read.metadata[key]} for key in ("exactness", "standard_error")},
        },
    )
