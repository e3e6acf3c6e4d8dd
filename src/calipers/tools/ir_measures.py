"""Our measures in ir_measures, and so in PyTerrier's experiments.

    import calipers.tools.ir_measures                                     # registers the provider `calipers`

    ir_measures.calc_aggregate([nDCG @ 10, AP(rel=2)], qrels, run)        # computed here
    ir_measures.parse_measure("V2(nDCG@10)")                              # also names that only Calipers knows
    pyterrier.Experiment(systems, topics, qrels, eval_metrics=["nDCG@10", "GAP", "AP[ties=average]"])

Measures of ir_measures keep their meaning: ties are broken by document id and scores are compared in single precision,
as in trec_eval 9. Measures of Calipers break ties in the same way by default, so that all measures in a table see the
same ranking. `python -m calipers.tools.ir_measures` is the command line of ir_measures with this provider.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Unpack, cast

import numpy as np

from calipers.conventions import convention
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import evaluate
from calipers.measures.grammar import parse, parse_all
from calipers.measures.registry import Measure
from calipers.results.scores import AVERAGES
from calipers.support.extras import load
from calipers.support.plurals import counted
from calipers.tools.predictions import ScoringKeywords, with_infinite_scores

NAME = "calipers"
RULES = "trec_eval-9"

_SUFFIX = re.compile(r"(.*)\[([^\[\]]*)\]\s*", re.DOTALL)


def measure(measure: str | Measure, **options: Unpack[ScoringKeywords]) -> Any:
    """Return a measure for ir_measures that Calipers computes. The options are those of `evaluate`.

    By default, ties are broken as in trec_eval 9. A query that Calipers skips (for example, V2 of a query without
    relevant documents) is NaN in ir_measures and left out of the mean.
    """
    library = _library()
    like = options.get("like")
    rules = convention(like)
    named = parse_all(measure, rules.defaults)
    if len(named) != 1:
        raise CalipersError(f"'{measure}' names {counted(len(named), 'measure')}; expected one")
    name, ours = named[0]
    base: Any = library.measures.Measure
    aggregate: Any = library.measures.base.Agg
    said = [rules.name] if like is not None else []
    said += [f"{key}={value}" for key, value in options.items() if key != "like" and value is not None]
    theirs = convention(RULES)
    ranked: ScoringKeywords = {} if like is not None else {"ties": theirs.ties, "precision": theirs.precision}
    used: ScoringKeywords = {**ranked, **options}

    class Average(aggregate):  # type: ignore[misc]  # the base class is known only if ir_measures is installed
        """Mean, geometric mean or sum over the queries for which the measure is defined."""

        def __init__(self) -> None:
            self.values: list[float] = []

        def add(self, value: float) -> None:
            if not math.isnan(value):
                self.values.append(value)

        def result(self) -> float:
            average = AVERAGES[ours.declaration.average]
            return float(average(np.array(self.values))) if self.values else math.nan

    class CalipersMeasure(base):  # type: ignore[misc]  # the base class is untyped
        NAME = __name__ = name + (f"[{','.join(said)}]" if said else "")
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
            scores = with_infinite_scores(
                lambda run: evaluate(known, run, ours, unmatched="warn", warn=False, **used), lists
            )
            for query, score in zip(scores.queries, scores.values[0, 0].tolist(), strict=True):
                yield library.Metric(query_id=query, measure=self, value=score)

        def aggregator(self) -> Any:
            return Average()

        def __matmul__(self, cutoff: Any) -> Any:
            return _again(ours @ cutoff, options)

        def __repr__(self) -> str:
            return str(self.NAME)

        def __reduce__(self) -> Any:
            return _again, (ours, options)

    return CalipersMeasure()


def _library() -> Any:
    return load("ir_measures", package="ir-measures", what="metrics of ir-measures")


def _again(ours: Measure, options: ScoringKeywords) -> Any:
    return measure(ours, **options)


def _nested(frame: Any, value: str) -> dict[str, dict[str, float]]:
    """Return {query: {document: value}} in the order of the rows."""
    found: dict[str, dict[str, float]] = {}
    columns = (frame[column].tolist() for column in ("query_id", "doc_id", value))
    for query, document, number in zip(*columns, strict=True):
        found.setdefault(str(query), {})[str(document)] = float(number)
    return found


# -- names ---------------------------------------------------------------------------------------------


def named(text: str) -> Any:
    """Return a measure by its name, with options in brackets: GAP, V2(nDCG@10), AP[ties=worst], nDCG@10[yahoo].

    A single word in brackets is the tool whose conventions hold.
    """
    match = _SUFFIX.fullmatch(text)
    options: dict[str, Any] = {}
    for part in match[2].split(",") if match else ():
        key, equals, value = part.strip().partition("=")
        key, value = (key.strip(), value.strip()) if equals else ("like", key.strip())
        if key not in ScoringKeywords.__annotations__:
            known = ", ".join(ScoringKeywords.__annotations__)
            raise CalipersError(f"unknown option '{key}' of '{text}'; expected one of {known}")
        options[key] = _value(value)
    return measure(match[1].strip() if match else text, **cast("ScoringKeywords", options))


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text


def _also(parse: Callable[[str], Any], otherwise: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a parser of ir_measures that also accepts other names."""

    def parse_either(measure: Any) -> Any:
        try:
            return parse(measure)
        except (ValueError, NameError, KeyError, AssertionError) as error:
            try:
                return otherwise(measure)
            except (CalipersError, ValueError, NameError):
                raise error from None

    parse_either.__doc__ = parse.__doc__
    parse_either.__name__ = parse.__name__
    return parse_either


# -- the provider --------------------------------------------------------------------------------------

# Our name for each measure of ir_measures.
_PLAIN = {
    "P": "P",
    "RR": "RR",
    "Rprec": "RPrec",
    "AP": "AP",
    "nDCG": "nDCG",
    "R": "Recall",
    "Bpref": "bpref",
    "NumRet": "NumRet",
    "NumQ": "NumQ",
    "NumRel": "NumRel",
    "SetAP": "SetAP",
    "SetF": "SetF",
    "SetP": "SetP",
    "SetR": "SetR",
    "Success": "Success",
    "IPrec": "IPrec",
    "infAP": "infAP",
    "Judged": "Judged",
    "RBP": "RBP",
    "ERR": "ERR",
    "SDCG": "SDCG",
    "Compat": "Compat",
    "Accuracy": "Accuracy",
    "INST": "INST",
    "INSQ": "INSQ",
    "BPM": "BPM",
    "NERR8": "NERR8",
    "NERR9": "NERR9",
    "NERR10": "NERR10",
    "NERR11": "NERR11",
}
_OF_SUBTOPICS = {
    "ERR_IA": "ERR-IA",
    "nERR_IA": "nERR-IA",
    "alpha_DCG": "alpha-DCG",
    "alpha_nDCG": "alpha-nDCG",
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "AP_IA": "AP-IA",
    "P_IA": "P-IA",
    "StRecall": "StRecall",
}
_LEAVING_OUT = ("Accuracy",)  # measures that leave undefined queries out of the mean
_PERFECT = ("ERR_IA", "alpha_DCG")  # ndeval divides them by the score of perfect documents
GDEVAL_GRADE = 4  # the largest grade that gdeval knows
CWL_RANKS = 1000  # cwl_eval extends lists to this length


def translated(theirs: Any) -> Measure | None:
    """Return our measure for a measure of ir_measures, or None if no measure of ours has the same meaning."""
    name, given = theirs.NAME, dict(theirs.params)
    if (name not in _PLAIN and name not in _OF_SUBTOPICS) or given.get("min_rel", 0) < 0:
        return None
    if name == "SetF" and not theirs["beta"] > 0:
        return None
    parameters = {key: value for key, value in given.items() if key != "gains" and value is not None}
    match name:
        case "SetF":
            parameters["beta"] = math.sqrt(theirs["beta"])
        case "IPrec":
            parameters["recall"] = round(theirs["recall"], 2)
            parameters["rounding"] = "up"
        case "Compat":
            parameters["depth"] = 0
        case "ERR":
            parameters["max_grade"] = GDEVAL_GRADE
        case "RBP" if "rel" not in parameters:
            parameters["gain"] = "linear"
        case "INST" | "INSQ":
            parameters["ranks"] = CWL_RANKS
        case _ if name in _PERFECT:
            parameters["norm"] = "perfect"
    at = parameters.pop("recall" if name == "IPrec" else "cutoff", None)
    written = ", ".join(f"{key}={_written(value)}" for key, value in parameters.items())
    text = (_PLAIN | _OF_SUBTOPICS)[name] + (f"({written})" if written else "") + ("" if at is None else f"@{at}")
    try:
        return parse(text)
    except CalipersError:
        return None


def _written(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def _provider(library: Any) -> Any:
    base: Any = library.providers.Provider
    evaluators: Any = library.providers.Evaluator

    class CalipersProvider(base):  # type: ignore[misc]  # the base class is untyped
        """Provider of all measures that have the same meaning in Calipers."""

        NAME = NAME

        def supports(self, measure: Any) -> bool:
            measure.validate_params()
            return hasattr(measure, "runtime_impl") or translated(measure) is not None

        def _evaluator(self, measures: Any, qrels: Any) -> Any:
            return CalipersEvaluator([*measures], qrels)

        def qrel_inputs(self, measures: Any) -> list[str]:
            diverse = any(measure.NAME in _OF_SUBTOPICS for measure in measures)
            return ["query_id", "doc_id", "relevance", *(["iteration"] if diverse else [])]

    class CalipersEvaluator(evaluators):  # type: ignore[misc]  # the base class is untyped
        def __init__(self, measures: list[Any], qrels: Any) -> None:
            rows = [*library.util.QrelsConverter(qrels).as_namedtuple_iter()]
            named = (
                qrels if isinstance(qrels, Mapping) else (row.query_id for row in rows)
            )  # some queries may have no row
            super().__init__(measures, list(dict.fromkeys(named)))
            own = [measure for measure in measures if hasattr(measure, "runtime_impl")]
            self.own = library.runtime.evaluator(own, rows) if own else None
            self.parts = [*_parts([measure for measure in measures if measure not in own], rows)]

        def _iter_calc(self, run: Any) -> Iterator[Any]:
            lists = library.util.RunConverter(run).as_dict_of_dict()
            if self.own is not None:
                yield from self.own.iter_calc(lists)
            for part in self.parts:
                for measure, query, value in part.scored(lists):
                    yield library.Metric(query_id=query, measure=measure, value=value)

        def iter_calc(self, run: Any) -> Iterator[Any]:
            """Yield all scores except those of queries that a measure leaves out."""
            for metric in super().iter_calc(run):
                if metric.measure.NAME not in _LEAVING_OUT or not math.isnan(metric.value):
                    yield metric

    return CalipersProvider()


class _Part(NamedTuple):
    """Measures that are computed together."""

    judged: dict[str, Any]
    theirs: list[Any]
    ours: list[Measure]

    def scored(self, lists: Mapping[str, Any]) -> Iterator[tuple[Any, str, float]]:
        """Yield the score of each measure for each query with judgments and results. Queries left out get NaN."""
        shared = {query: lists[query] for query in self.judged if lists.get(query)}
        leaves_out, graded = (test(self.theirs[0]) for test in (_leaves_out, _is_graded_rbp))
        if leaves_out:
            yield from ((each, query, math.nan) for each in self.theirs for query in self.judged if query not in shared)
        if not shared:
            return
        known = {query: self.judged[query] for query in shared}
        options: ScoringKeywords = {"like": RULES}
        if leaves_out:
            options |= {"empty": "skip", "missing": "skip"}
        if graded:
            options["ties"] = "average"
        scores = with_infinite_scores(
            lambda run: evaluate(known, run, self.ours, unmatched="warn", warn=False, **options), shared
        )
        values = scores.values[:, 0]
        if graded:  # our RBP divides grades by the largest grade
            values = values * max(0, *(grade for of_query in known.values() for grade in of_query.values()))
        for each, by_query in zip(self.theirs, values.tolist(), strict=True):
            yield from ((each, query, value) for query, value in zip(known, by_query, strict=True))


def _leaves_out(theirs: Any) -> bool:
    return theirs.NAME in _LEAVING_OUT


def _is_graded_rbp(theirs: Any) -> bool:
    """Return True if grades are the gains. trectools computes this RBP for ir_measures, and averages over ties."""
    return theirs.NAME == "RBP" and theirs.params.get("rel") is None


def _parts(measures: list[Any], rows: list[Any]) -> Iterator[_Part]:
    """Yield groups of measures that read the same judgments and have the same options.

    A table of gains or a largest grade changes the judgments that a measure reads.
    """
    by_gains: dict[Any, list[Any]] = {}
    for each in measures:
        gains = each.params.get("gains") or {}
        read = each.NAME in _OF_SUBTOPICS, tuple(sorted(gains.items())), each.params.get("max_rel", math.inf)
        by_gains.setdefault((*read, _leaves_out(each), _is_graded_rbp(each)), []).append(each)
    for (diverse, gains, largest, _, _), theirs in by_gains.items():
        table: Mapping[Any, Any] = dict(gains)
        judged: dict[str, Any] = {}
        for row in rows:
            of_query = judged.setdefault(row.query_id, {})
            if diverse:
                of_query = of_query.setdefault(getattr(row, "iteration", "0"), {})
            of_query[row.doc_id] = min(table.get(row.relevance, row.relevance), largest)
        by_measure: dict[Measure, Any] = {}
        again: list[Any] = []  # measures with the same meaning as an earlier one
        for each in theirs:
            ours = translated(each)
            assert ours is not None
            again.append(each) if ours in by_measure else by_measure.update({ours: each})
        yield _Part(judged, [*by_measure.values()], [*by_measure])
        for each in again:
            yield _Part(judged, [each], [cast("Measure", translated(each))])


def register() -> Any:
    """Register the provider as the first one, and let the parsers accept our names. Importing this module does it."""
    library = _library()
    if NAME in library.providers.registry:
        return library.providers.registry[NAME]
    provider = library.providers.register(_provider(library))
    library.calipers = provider
    pipeline = library.DefaultPipeline.providers
    pipeline.insert(pipeline.index(library.runtime) + 1, provider)
    one = _also(library.util.parse_measure, named)
    some = _also(library.util.parse_trec_measure, lambda text: [one(text)])
    library.parse_measure = library.util.parse_measure = one
    library.parse_trec_measure = library.util.parse_trec_measure = some
    return provider


with suppress(CalipersError):  # if ir_measures is not installed, `measure` reports it
    register()

if __name__ == "__main__":
    _library()
    load("ir_measures.__main__", package="ir-measures", what="metrics of ir-measures").main_cli()
