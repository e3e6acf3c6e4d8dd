"""The evaluation of measures on judgments and runs, on texts, or on scores, and on sets of queries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Never

import numpy as np

from calipers.collection.runs import remembered
from calipers.errors import CalipersError, UnknownName
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Ints
from calipers.measures.populations import DEFAULT_POPULATION
from calipers.questions.bounds import bounds_of
from calipers.questions.metaeval.meta_evaluation import MetaEvaluation, MetaEvaluationOptions
from calipers.questions.metaeval.people import Human, People, people_of
from calipers.questions.metaeval.power import (
    Family,
    base_measure,
    families,
)
from calipers.questions.metaeval.query_sets import (
    BY_DIFFERENCE,
    BY_GRADES,
    HALVES,
    SETS,
    broad_and_focused,
    by_difference,
    document_halves,
)
from calipers.questions.metaeval.text_preferences import Preference
from calipers.questions.queries import QueryTypes, query_types
from calipers.results.score_files import ScoresLike, as_scores, only_scores
from calipers.results.scores import Scores
from calipers.statistics.correlation import correlation_name
from calipers.statistics.significance import SEED, Samples
from calipers.support.checks import check_choice, check_type
from calipers.support.choices import Correction, PadDenominator, RankCorrelation, TestName


def metaeval(
    evaluation: Evaluation | ScoresLike,
    *others: Never,
    human: Human | None = None,
    level: str | Iterable[str] | None = None,
    preferences: str | os.PathLike[str] | Iterable[Preference] | None = None,
    sets: str | Iterable[str] | Mapping[str, Sequence[str]] = "all",
    test: TestName = "t",
    correction: Correction | None = None,
    alpha: float = 0.05,
    samples: Samples | None = None,
    seed: int = SEED,
    correlation: RankCorrelation = "tau-b",
    pad: PadDenominator = "absolute",
    set_size: float = 0.25,
    absolute: bool = False,
    population: str = DEFAULT_POPULATION,
) -> MetaEvaluation:
    """Evaluate measures by the scores that they give to systems, and by how well they agree with people.

    Measures that differ in the cutoff only are one family: their tests are counted together and their scores averaged.

    evaluation: an experiment, or scores.
    human: what people judged, for example "coherence, relevance"; for texts by default all that they bring along. With
        scores, {aspect: array of system x query}.
    level: levels of agreement with people: system, summary, pooled. By default all; tests are made at the first.
    preferences: people's choices between two texts, read by `read_preferences`, or the path of such a table.
    sets: sets of queries: `all`, `uninformative`, `ideal`, `hard`, `easy`, `broad`, `focused`, `left`, `right`, or a
        list of these. Scores and texts have the set `all`, and sets of your own as {name: queries}.
    test, correction, alpha, samples, seed: as for `compare`. samples are also those of intervals of agreement (1000).
    correlation: correlation between the orders of systems, as for `calipers.statistics.rank_correlation`. With people
        it is tau-b, spearman or pearson.
    pad: the denominator of the percentage absolute difference: the absolute value of the larger mean (`absolute`), or
        the larger mean itself (`literal`).
    set_size: size of the sets `uninformative` and `ideal`, a number or a share of the queries.
    absolute: choose these sets by the absolute difference between systems and a random ranking.
    population: the documents that random rankings shuffle when these sets are chosen, as for `bounds`.

    >>> import calipers as cal
    >>> found = metaeval(cal.as_scores([[[0.9, 0.8], [0.2, 0.0]], [[0.5, 0.4], [0.6, 0.1]]], measure=["AP", "RR"]))
    >>> print(found.table("power"))
    measure  tests  all  all share
    -------  -----  ---  ---------
    AP           1    1     1.0000
    RR           1    0     0.0000
    <BLANKLINE>
    """
    only_scores("metaeval", others)
    check_type("sets", sets, Iterable, f"names of sets among {', '.join(SETS)}")
    how = MetaEvaluationOptions(
        test, correction, alpha, samples, seed, correlation, pad, set_size, absolute, population
    )
    texts = evaluation.texts if isinstance(evaluation, Evaluation) else None
    people = people_of(
        texts,
        human,
        level,
        preferences,
        correlation=correlation_name(correlation),
        samples=samples,
        seed=seed,
        alpha=alpha,
    )
    if not isinstance(evaluation, Evaluation):
        return _of_scores(as_scores(evaluation), sets, how, people)
    if texts is not None or people is not None or isinstance(sets, Mapping):
        return _of_scores(evaluation.scores, sets, how, people)
    return _of_evaluation(evaluation, [sets] if isinstance(sets, str) else list(dict.fromkeys(sets)), how)


def _of_scores(
    scores: Scores,
    sets: str | Iterable[str] | Mapping[str, Sequence[str]],
    how: MetaEvaluationOptions,
    people: People | None,
) -> MetaEvaluation:
    """Evaluate measures on all queries of some scores, and on sets that are given."""
    scores = scores.larger_is_better
    if not isinstance(sets, Mapping):
        named = [sets] if isinstance(sets, str) else list(sets)
        if named != ["all"]:
            raise CalipersError("scores and texts have no sets but all: the other sets need judgments and runs")
        sets = {}
    place = {query: i for i, query in enumerate(scores.queries)}
    found = families(scores)
    chosen: dict[str, list[int]] = {"all": list(range(len(scores.queries)))}
    for name, queries in sets.items():
        if unknown := [query for query in queries if query not in place]:
            raise UnknownName(f"the set '{name}' has the query '{unknown[0]}', which has no scores")
        chosen[name] = [place[query] for query in queries]
    views = {
        name: tuple(_view(scores, family, np.array(places, dtype=np.int64)) for family in found)
        for name, places in chosen.items()
    }
    return MetaEvaluation(views, found, how, scores, people)


def _of_evaluation(evaluation: Evaluation, sets: Sequence[str], how: MetaEvaluationOptions) -> MetaEvaluation:
    """Evaluate measures on the known sets of these names."""
    for name in sets:
        check_choice("set", name, SETS)
    if not sets:
        raise CalipersError(f"name at least one set; there are {', '.join(SETS)}")
    given = evaluation.changed(runs=tuple(map(remembered, evaluation.runs)))
    known, names = given.judgments, list(given.measures)
    wide = given
    if set(sets) & set(BY_DIFFERENCE):
        exact = {repr(measure.bind(known.pool)) for measure in given.measures.values()}
        bases = [base_measure(measure) for measure in given.measures.values()]
        extra = {repr(base): base for base in bases if repr(base.bind(known.pool)) not in exact}
        wide = given.changed(measures={**given.measures, **extra})
    scores = evaluation.scores if wide is given else wide.scores
    found = families(scores, only=names)
    everything: Ints = np.arange(len(scores.queries))
    by_grades = broad_and_focused(known, seed=how.seed) if set(sets) & set(BY_GRADES) else {}
    halves = document_halves(known, how.seed) if set(sets) & set(HALVES) else {}
    types = _types_of_bases(wide, found, how.population) if set(sets) & set(BY_DIFFERENCE) else {}
    views: dict[str, tuple[Scores, ...]] = {}
    for name in sets:
        source, places = scores, everything
        if name in HALVES:
            half = halves[name]
            source = given.changed(
                judgments=half.judgments,
                runs=tuple(half.run(run) for run in given.runs),
                options=given.options.changed(condensed=True),
                unmatched="warn",
                warn=False,
            ).scores
        elif name in BY_GRADES:
            places = by_grades[name]
        views[name] = tuple(
            _view(
                source,
                family,
                by_difference(types[family.name], name, how.set_size, how.absolute)
                if name in BY_DIFFERENCE
                else places,
            )
            for family in found
        )
    return MetaEvaluation(views, found, how, scores)


def _types_of_bases(evaluation: Evaluation, of: Sequence[Family], population: str) -> dict[str, QueryTypes]:
    """Return the types of the queries for each family, by the measures that it normalises."""
    scores = evaluation.scores
    exact = [repr(measure) for measure in scores.definitions]
    found: dict[tuple[str, ...], QueryTypes] = {}
    result = {}
    for family in of:
        measures = [base_measure(scores.definitions[m]) for m in family.members]
        bases = tuple(map(repr, measures))
        if bases not in found:
            places = [exact.index(base) for base in bases]
            part = Scores(bases, scores.systems, scores.queries, scores.values[places], scores.reasons[places])
            found[bases] = query_types(part, bounds_of(evaluation.of_measures(measures), population=population))
        result[family.name] = found[bases]
    return result


def _view(scores: Scores, family: Family, places: Any) -> Scores:
    """Return the scores of a family on some queries."""
    members = list(family.members)
    return Scores(
        tuple(scores.measures[m] for m in members),
        scores.systems,
        tuple(scores.queries[q] for q in places),
        scores.values[members][:, :, places],
        scores.reasons[members][:, :, places],
        tuple(scores.definitions[m] for m in members) if scores.definitions else (),
        None,
        scores.metadata,
    )
