"""One experiment: judgments and runs or texts, measures and scoring options. Its methods are the questions."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from calipers.collection.document_facts import Costs
from calipers.collection.mismatch import Unmatched
from calipers.collection.query_facts import QueryGroups, QueryWeights
from calipers.collection.runs import remembered
from calipers.collection.sources import ColumnNames, JudgmentsLike, RunsLike
from calipers.conventions import TOOLS, Convention
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import Evaluation, Measures
from calipers.evaluation.options import ScoringOptions
from calipers.measures.grammar import DEFAULT_MEASURES
from calipers.measures.populations import DEFAULT_POPULATION
from calipers.native.columns import Precision
from calipers.statistics.significance import SEED
from calipers.support.checks import Pairs, Policy, Samples
from calipers.support.choices import (
    ComparisonTest,
    Correction,
    Design,
    DeviationOfRandom,
    EffectSize,
    ExpectedOfRandom,
    IdealRanking,
    PadDenominator,
    RankCorrelation,
    TestName,
    TieRule,
)
from calipers.texts.collection import TextCollection

if TYPE_CHECKING:
    from calipers.questions.audit.matching_conventions import MatchingConventions
    from calipers.questions.audit.tool_audit import Audit
    from calipers.questions.bounds import Bounds
    from calipers.questions.check.check_result import Check
    from calipers.questions.check.checking import FailOn, OtherJudgments
    from calipers.questions.check.limits import LimitsLike
    from calipers.questions.check.verdicts import FailIf
    from calipers.questions.compare.comparison import Comparison
    from calipers.questions.diff.difference import Difference
    from calipers.questions.inspect import Inspection, TextInspection
    from calipers.questions.judges.grade_scales import Map
    from calipers.questions.judges.judge_study import JudgeStudy
    from calipers.questions.metaeval.meta_evaluation import MetaEvaluation
    from calipers.questions.metaeval.people import Human
    from calipers.questions.metaeval.text_preferences import Preference
    from calipers.questions.plan.sample_size import SampleSizePlan
    from calipers.questions.pool.judging_pools import JudgingPool, PoolMethod
    from calipers.questions.queries import QueryTypes, Thresholds
    from calipers.questions.ranges.score_ranges import Ranges
    from calipers.report.page import Report
    from calipers.results.scores import Scores


class Experiment(Evaluation):
    """Everything that can be asked about some runs, or about texts.

    data: judgments, or texts from `read_texts`. runs: None for texts, and for questions about judgments alone.
    measures: the defaults of `evaluate`, or for texts those that fit the data. judgments: relevant documents of
    questions, for measures of the documents that answers were made from, if the texts do not name them. The other
    parameters are those of `evaluate`.

    Files are opened here and read when a question needs them; the scores, and where judged documents rank, are kept.
    No question changes the experiment: `with_` returns another one.

    >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
    >>> runs = {"old": {"q1": {"d2": 2, "d1": 1}, "q2": {"d3": 1}}, "new": {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}}}
    >>> exp = Experiment(qrels, runs, "RR AP")
    >>> exp
    <Experiment: 2 runs, 2 queries, RR, AP>
    >>> exp.scores["RR"]
    array([[0.5, 1. ],
           [1. , 1. ]])
    >>> from calipers import read_texts
    >>> rows = [{"id": "q1", "system": system, "answer": text, "references": "in Ulm"}
    ...         for system, text in (("old", "in Bern"), ("new", "Ulm"))]
    >>> texts = Experiment(read_texts(rows), measures="F1")
    >>> texts, texts.scores["F1"].round(2).tolist()
    (<Experiment: 2 systems, 1 query, F1>, [[0.5], [0.67]])
    """

    def __init__(
        self,
        data: JudgmentsLike | TextCollection | None = None,
        runs: RunsLike | None = None,
        measures: Measures | None = None,
        *,
        judgments: JudgmentsLike | None = None,
        like: str | Convention | None = None,
        ties: TieRule | None = None,
        relevant: float | None = None,
        depth: int | None = None,
        condensed: bool = False,
        empty: Policy | None = None,
        missing: Policy | None = None,
        degenerate: Policy | None = None,
        precision: Precision | None = None,
        columns: ColumnNames | None = None,
        costs: Costs | None = None,
        unmatched: Unmatched = "error",
        jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
        warn: bool = True,
    ) -> None:
        scoring: dict[str, Any] = {
            "like": like,
            "ties": ties,
            "relevant": relevant,
            "depth": depth,
            "condensed": condensed,
            "empty": empty,
            "missing": missing,
            "degenerate": degenerate,
            "precision": precision,
        }
        reading: dict[str, Any] = {
            "columns": columns,
            "costs": costs,
            "unmatched": unmatched,
            "jobs": jobs,
            "progress": progress,
            "warn": warn,
        }
        given = {"measures": measures, **scoring, **reading}
        if isinstance(data, TextCollection):
            if runs is not None:
                raise CalipersError("texts have no runs: name judgments of the same questions with judgments=")
            from calipers.texts.evaluation import Evaluation as Texts

            names: Any = measures
            made = Texts(data, names, judgments=judgments, progress=progress, scoring=scoring)
            self.__dict__.update(texts=made, warn=warn)
            self.__dict__["_given"] = {"data": data, "judgments": judgments, **given}
            return
        if (data is None) == (judgments is None):
            raise CalipersError("an experiment needs either judgments or texts")
        known: Any = judgments if data is None else data
        asked = DEFAULT_MEASURES if measures is None else measures
        opened = Evaluation.of(known, runs, asked, ScoringOptions(**scoring), **reading)
        self.__dict__.update(opened.__dict__)
        self.__dict__["runs"] = tuple(map(remembered, opened.runs))
        self.__dict__["_given"] = {"judgments": known, **given}

    def with_(self, **changes: Any) -> Experiment:
        """Return an experiment that differs in some of the parameters. All other parameters stay as they were given.

        >>> exp = Experiment({"q": {"a": 1}}, {"q": {"b": 1, "a": 1}}, "RR")
        >>> exp.scores["RR"], exp.with_(ties="worst").scores["RR"]
        (array([[0.75]]), array([[0.5]]))
        """
        given: dict[str, Any] = dict(self.__dict__["_given"])
        if self.texts is not None:
            return Experiment(**given | changes)
        given["runs"] = self.runs or None
        if "measures" not in changes:  # others may read another kind of judgments
            given["judgments"] = self.judgments
        return Experiment(**given | changes)

    def inspect(self) -> Inspection | TextInspection:
        """Check judgments and runs, or texts, before any score. See `calipers.questions.inspect.inspect`.

        >>> Experiment({"q": {"a": 1}}, {"q": ["b", "a"]}).inspect().summary
        'Nothing makes scores meaningless.'
        """
        from calipers.questions.inspect import inspect

        return inspect(self)

    def compare(
        self,
        *,
        baseline: str | Sequence[str] | None = None,
        test: ComparisonTest = "t",
        correction: Correction | None = "holm",
        alpha: float = 0.05,
        level: float | None = None,
        samples: Samples | None = None,
        seed: int = SEED,
        effect: EffectSize = "d",
        equivalence: float | None = None,
        rope: float | None = None,
        query_groups: QueryGroups | None = None,
        query_weights: QueryWeights | None = None,
        warn: bool = True,
    ) -> Comparison:
        """Test which systems differ. See `calipers.compare`.

        >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
        >>> runs = {"old": {"q1": ["d2", "d1"], "q2": ["d3"]}, "new": {"q1": ["d1", "d2"], "q2": ["d3", "d5"]}}
        >>> Experiment(qrels, runs, "RR").compare(baseline="old").table()["difference"]
        [0.25]
        """
        from calipers.questions.compare.comparison import compare

        return compare(
            self.scores,
            baseline=baseline,
            test=test,
            correction=correction,
            alpha=alpha,
            level=level,
            samples=samples,
            seed=seed,
            effect=effect,
            equivalence=equivalence,
            rope=rope,
            query_groups=query_groups,
            query_weights=query_weights,
            warn=warn,
        )

    def diff(
        self,
        old: str,
        new: str,
        *,
        top: int | None = None,
        level: float = 0.95,
        query_groups: QueryGroups | None = None,
    ) -> Difference:
        """Return what changed between two systems. See `calipers.questions.diff.diff`.

        >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
        >>> runs = {"old": {"q1": ["d2", "d1"], "q2": ["d3"]}, "new": {"q1": ["d1", "d2"], "q2": ["d3", "d5"]}}
        >>> Experiment(qrels, runs, "RR").diff("old", "new").table()["difference"]
        [0.25]
        """
        from calipers.questions.diff.difference import diff

        return diff(self, old, new, top=top, level=level, query_groups=query_groups)

    def check(
        self,
        new: str,
        *,
        baseline: str | Scores | None = None,
        max_drop: LimitsLike | None = None,
        max_query_drop: LimitsLike | None = None,
        min: LimitsLike | None = None,
        fail_if: FailIf = "drop",
        query_groups: QueryGroups | None = None,
        fail_on: Collection[FailOn] = (),
        alpha: float = 0.05,
        worst: int = 5,
        other_judgments: OtherJudgments = "error",
        warn: bool = True,
    ) -> Check:
        """Check that a system does not drop against a baseline, or reaches a floor. See `questions.check`.

        >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
        >>> runs = {"old": {"q1": ["d2", "d1"], "q2": ["d3"]}, "new": {"q1": ["d1", "d2"], "q2": ["d3", "d5"]}}
        >>> Experiment(qrels, runs, "RR").check("new", baseline="old", max_drop=0.1).table()["verdict"]
        ['undecided']
        """
        from calipers.questions.check.checking import check

        return check(
            self,
            new,
            baseline=baseline,
            max_drop=max_drop,
            max_query_drop=max_query_drop,
            min=min,
            fail_if=fail_if,
            query_groups=query_groups,
            fail_on=fail_on,
            alpha=alpha,
            worst=worst,
            other_judgments=other_judgments,
            warn=warn,
        )

    def bounds(
        self,
        *,
        population: str = DEFAULT_POPULATION,
        sd: DeviationOfRandom = "exact",
        expected: ExpectedOfRandom = "exact",
        ideal: IdealRanking = "exact",
    ) -> Bounds:
        """Return the ideal, worst and expected score for each query. See `calipers.bounds`.

        >>> Experiment({"q": {"a": 1, "b": 0}}, None, "RR").bounds().table()["expected"]
        [0.75]
        """
        from calipers.questions.bounds import bounds_of

        return bounds_of(self, population=population, sd=sd, expected=expected, ideal=ideal)

    def ranges(
        self,
        *,
        unseen: int = 0,
        max_grade: float | None = None,
    ) -> Ranges:
        """Return what the missing judgments could change. See `calipers.questions.ranges.ranges`.

        >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
        >>> runs = {"old": {"q1": ["d2", "d1"], "q2": ["d3"]}, "new": {"q1": ["d1", "d2"], "q2": ["d3", "d5"]}}
        >>> Experiment(qrels, runs, "P@2").ranges().table().row("new")["high"]
        0.75
        """
        from calipers.questions.ranges.score_ranges import ranges

        return ranges(self, unseen=unseen, max_grade=max_grade)

    def pool(
        self,
        *,
        depth: int | None = None,
        budget: int | None = None,
        method: PoolMethod = "next",
        p: float = 0.8,
        unseen: int = 0,
        max_grade: float | None = None,
    ) -> JudgingPool:
        """Return the unjudged documents to judge next. See `calipers.questions.pool.pool_of`.

        >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
        >>> runs = {"old": {"q1": ["d2", "d1"], "q2": ["d3"]}, "new": {"q1": ["d1", "d2"], "q2": ["d3", "d5"]}}
        >>> Experiment(qrels, runs, "P@2").pool().table()["document"]
        ['d5']
        """
        from calipers.questions.pool.judging_pools import pool_of

        return pool_of(self, depth=depth, budget=budget, method=method, p=p, unseen=unseen, max_grade=max_grade)

    def judges(
        self,
        judges: JudgmentsLike | Iterable[JudgmentsLike] | Mapping[str, JudgmentsLike],
        *,
        map: Map | None = None,
        combine: str | Iterable[str] = (),
        test: TestName = "t",
        correction: Correction | None = "holm",
        alpha: float = 0.05,
        samples: Samples | None = None,
        seed: int = SEED,
    ) -> JudgeStudy:
        """Return how well judges agree with the judgments, and what that does to systems. See `questions.judges`.

        >>> exp = Experiment({"q": {"a": 1, "b": 0, "c": 1}}, None)
        >>> exp.judges({"llm": {"q": {"a": 1, "b": 1, "c": 1}}}).table()["agreement"]
        [0.6666666666666666]
        """
        from calipers.questions.judges.judge_study import judges as study

        return study(
            self,
            judges,
            map=map,
            combine=combine,
            test=test,
            correction=correction,
            alpha=alpha,
            samples=samples,
            seed=seed,
        )

    def queries(self, *, population: str = DEFAULT_POPULATION, thresholds: Thresholds | None = None) -> QueryTypes:
        """Return the type of each query, such as easy or hard. See `calipers.questions.queries.queries`.

        >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
        >>> runs = {"old": {"q1": ["d2", "d1"], "q2": ["d3"]}, "new": {"q1": ["d1", "d2"], "q2": ["d3", "d5"]}}
        >>> Experiment(qrels, runs, "RR").queries().types
        ('easy', 'informative')
        """
        from calipers.questions.queries import queries

        return queries(self, population=population, thresholds=thresholds)

    def metaeval(
        self,
        *,
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
        """Return how well measures tell systems apart and agree with people, and how stable their order is.

        >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
        >>> runs = {"old": {"q1": ["d2", "d1"], "q2": ["d3"]}, "new": {"q1": ["d1", "d2"], "q2": ["d3", "d5"]}}
        >>> Experiment(qrels, runs, "RR AP").metaeval().table()["measure"]
        ['RR', 'AP']
        """
        from calipers.questions.metaeval.measure_study import metaeval

        return metaeval(
            self,
            human=human,
            level=level,
            preferences=preferences,
            sets=sets,
            test=test,
            correction=correction,
            alpha=alpha,
            samples=samples,
            seed=seed,
            correlation=correlation,
            pad=pad,
            set_size=set_size,
            absolute=absolute,
            population=population,
        )

    def plan(
        self,
        *,
        difference: float | None = None,
        power: float = 0.8,
        alpha: float = 0.05,
        pairs: Pairs = 1,
        queries: int | None = None,
        design: Design = "t",
        upper: float | None = None,
        over: int | None = None,
        samples: int | None = None,
        seed: int = SEED,
    ) -> SampleSizePlan:
        """Return how many queries are needed to detect a difference. See `calipers.plan`.

        >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
        >>> runs = {"old": {"q1": ["d2", "d1"], "q2": ["d3"]}, "new": {"q1": ["d1", "d2"], "q2": ["d3", "d5"]}}
        >>> Experiment(qrels, runs, "RR").plan(difference=0.2).table()["queries"]
        [27]
        """
        from calipers.questions.plan.sample_size import plan

        return plan(
            self.scores,
            difference=difference,
            power=power,
            alpha=alpha,
            pairs=pairs,
            queries=queries,
            design=design,
            upper=upper,
            over=over,
            samples=samples,
            seed=seed,
        )

    def report(
        self,
        output: str | Path = "report.html",
        *,
        title: str = "",
        baseline: str | None = None,
        sections: Iterable[str] = (),
        top: int = 10,
        query_texts: str | Path | Mapping[str, str] | None = None,
        document_texts: str | Path | Mapping[str, str] | None = None,
        query_groups: QueryGroups | None = None,
        judges: Any = None,
        test: TestName = "t",
        correction: Correction | None = "holm",
        alpha: float = 0.05,
        samples: Samples | None = None,
        seed: int = SEED,
        population: str = DEFAULT_POPULATION,
        command: str = "",
        progress: Callable[[int], None] | None = None,
        warn: bool = True,
    ) -> Report:
        """Write everything about the runs, or the texts, to one HTML page. See `calipers.report.page.write_report`."""
        from calipers.report.page import write_report

        return write_report(
            self,
            output,
            title=title,
            baseline=baseline,
            sections=sections,
            top=top,
            query_texts=query_texts,
            document_texts=document_texts,
            query_groups=query_groups,
            judges=judges,
            test=test,
            correction=correction,
            alpha=alpha,
            samples=samples,
            seed=seed,
            population=population,
            command=command,
            progress=progress,
            warn=warn,
        )

    @overload
    def audit(
        self,
        *,
        like: Sequence[str | Convention] = TOOLS,
        reference: str | Convention | None = None,
        alpha: float = 0.05,
        number: None = None,
        run: str | None = None,
    ) -> Audit: ...
    @overload
    def audit(
        self,
        *,
        like: Sequence[str | Convention] = TOOLS,
        reference: str | Convention | None = None,
        alpha: float = 0.05,
        number: str | float,
        run: str | None = None,
    ) -> MatchingConventions: ...
    def audit(
        self,
        *,
        like: Sequence[str | Convention] = TOOLS,
        reference: str | Convention | None = None,
        alpha: float = 0.05,
        number: str | float | None = None,
        run: str | None = None,
    ) -> Audit | MatchingConventions:
        """Return the figures of other tools for the same rankings, and why they differ. See `questions.audit`.

        >>> exp = Experiment({"q": {"a": 1, "b": 0}}, {"q": {"b": 2, "a": 1}}, "nDCG@10")
        >>> sorted(exp.audit(number="0.0000").tools_that_match())
        ['letor3', 'letor4', 'letor4:stated', 'mslr', 'mslr:stated']
        """
        from calipers.questions.audit.tool_audit import audit

        return audit(self, like=like, reference=reference, alpha=alpha, number=number, run=run)
