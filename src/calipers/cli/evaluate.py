"""The command `calipers evaluate`, on this machine or on Spark."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import LEVEL, draw, note, plot_option, query_groups_option, query_weights_option, warn
from calipers.cli.output import Output, several_outputs
from calipers.cli.policies import ListPolicies, lists
from calipers.cli.reading_progress import progress_option, reading
from calipers.errors import CalipersError
from calipers.support.choices import ComparisonTest, IntervalMethod

if TYPE_CHECKING:
    from calipers.collection.judgments import Judgments
    from calipers.results.scores import Scores
    from calipers.results.tables import Table


@dataclass(frozen=True)
class Engine:
    """Engine that computes scores, and its address."""

    name: str = "local"
    master: str | None = None


# Options of tables that only the local engine has.
LOCAL_TABLES = ("query_groups", "query_weights", "baseline", "test", "plot")

# Options for reading files that only the local engine has.
LOCAL = (
    "judgments_columns",
    "systems_columns",
    "combine_grades",
    "rename_grades",
    "rollup",
    "rollup_by",
    "drop_own_ids",
    "query_ids",
)

engine_options = option_group(
    "engine",
    Engine,
    click.option(
        "--engine",
        "name",
        type=click.Choice(("local", "spark")),
        default="local",
        show_default=True,
        help="Compute on this machine, or on Spark for data that does not fit on one machine.",
    ),
    click.option("--master", metavar="URL", help="Address of Spark, such as local[2], spark://host:7077 or yarn."),
)


@dataclass(frozen=True)
class ScoreTables:
    """Options for the output: scores per query, or means with intervals or marks of significance, and a chart."""

    per_query: bool
    interval: float | None
    interval_by: IntervalMethod
    baseline: tuple[str, ...]
    test: ComparisonTest | None
    plot: str | None
    query_groups: str | None
    query_weights: str | None

    @property
    def marks(self) -> bool:
        """True for a table of means with marks of significance."""
        return bool(self.baseline) or self.test is not None

    def check(self, format: str) -> None:
        """Refuse marks that have no place, before anything is read."""
        if self.marks and (self.per_query or self.interval is not None):
            raise CalipersError("--baseline and --test mark means: leave out --per-query and --interval")
        if self.query_groups or self.query_weights:
            if self.per_query:
                raise CalipersError("--query-groups and --query-weights are about means: leave out --per-query")
            if self.marks:
                raise CalipersError("--baseline and --test with groups or weights of queries: use calipers compare")
        if self.test is not None and not self.baseline and format not in FOR_PAPERS:
            raise CalipersError("--test needs --baseline SYSTEM, which the other systems are tested against")


FOR_PAPERS = ("markdown", "latex", "html")
FOR_PROGRAMS = ("csv", "json")


@grouped_command("evaluate")
@inputs(texts=True)
@option_group("shown", ScoreTables)
@click.option("-q", "--per-query", is_flag=True, help="One row per system and query instead of means.")
@click.option(
    "--interval", type=LEVEL, metavar="LEVEL", help="Add confidence intervals of the means, for example 0.95."
)
@click.option(
    "--interval-by",
    type=LibraryChoice("calipers.support.choices:IntervalMethod"),
    default="auto",
    show_default=True,
    help="Student's interval, Student's on the logit scale, or the BCa bootstrap. auto is Student's, or "
    "logit if Student's would leave the range of the measure.",
)
@click.option(
    "--baseline",
    metavar="SYSTEM",
    multiple=True,
    help="Mark means that differ significantly from the mean of this system (name, tag, file or path). May "
    "be repeated.",
)
@click.option(
    "--test",
    type=LibraryChoice("calipers.support.choices:TestName"),
    help="Test for the marks, with Holm's correction [default: t].",
)
@plot_option("the mean of each system with its confidence interval")
@query_groups_option
@query_weights_option
@click.option(
    "--intents",
    metavar="FILE",
    help="For measures of diversity: lines of query, subtopic and the probability of the subtopic.",
)
@lists
@engine_options
@progress_option
@several_outputs
def command(
    inputs: Inputs,
    shown: ScoreTables,
    intents: str | None,
    lists: ListPolicies,
    engine: Engine,
    show: bool | None,
    output: Output,
) -> None:
    """Score runs, or texts, under measures.

    DATA is judgments of runs, texts (rows with answers, summaries or translations), or a table of scores: its content
    decides. Of texts, a SYSTEM is a name in DATA or a further file, and NAME=FILE is a file of one system. Measures of
    rankings score the documents that answers were made from. Corpus scores of BLEU, chrF and TER are a second table; as
    CSV and JSON, only if -o is a folder.

    Judgments may be TREC qrels, CSV, TSV, JSON, JSON lines, Parquet, labels of LETOR or SVMlight, a judgment list of
    OpenSearch, a request of _rank_eval, a RAGAS dataset, or irds:DATASET. A run may be a TREC run, CSV, TSV, JSON,
    JSON lines, Parquet, responses of Elasticsearch, OpenSearch or Solr, a response of _rank_eval, predictions of MTEB,
    a RAGAS dataset, OpenInference spans, or, with LETOR labels, one score per line. Files may be compressed. A
    directory or glob stands for the files in it, and - for standard input.

    \b
    calipers evaluate qrels.txt runs/*.gz -m "nDCG@{5,10} AP RR P@10 Recall@1000 RBP(p=0.8)"
    calipers evaluate qrels.txt run.txt -q --format csv
    calipers evaluate qrels.txt run.txt --like trec_eval-9 -m "map ndcg_cut_10 P_5"
    calipers evaluate qrels.txt new=run.txt runs/*.gz -m "nDCG@10 AP" --baseline bm25 --test wilcoxon
    calipers evaluate qrels.txt runs/*.gz -m "nDCG@10 AP" --baseline runs/bm25.gz -o table.tex
    calipers evaluate qrels.txt run.txt --query-groups queries.csv:intent --query-weights queries.csv:searches
    calipers evaluate test.svm model-a.txt model-b.txt -m "nDCG(gain=exp)@10"
    calipers evaluate test.svm model-a.txt -m "nDCG@10" --like letor4
    calipers evaluate diversity.qrels runs/* -m "ERR-IA@20 alpha-nDCG@20 D#-nDCG@10"
    calipers evaluate qrels.txt run.txt -m "TBG(halflife=60) EU(BPM@100) ETC(BPM@100)" --costs seconds.txt
    calipers evaluate qrels.parquet runs/*.parquet -m "nDCG@10" --engine spark --master "local[2]"
    calipers evaluate answers.jsonl -m "EM F1 NuggetRecall CitationPrecision nDCG@10"
    calipers evaluate data.jsonl s0 s1 -m "ROUGE-1 ROUGE-L V2(ROUGE-1) BLEU" -q --format csv
    calipers evaluate v1=old.csv v2=new.csv -m "F1 chrF"
    """
    if engine.name == "spark":
        from calipers.texts.recognition import refuse_texts

        refuse_texts(inputs.judgments)
        scores = scores_on_spark(inputs, shown, intents, lists, engine)
        note_undefined(scores)
        output.write(scores.per_query() if shown.per_query else _means(scores, shown))
        return
    shown.check(output.format)
    baselines = inputs.baselines(shown.baseline)
    scores = inputs.scores(lists) if inputs.are_texts or inputs.are_scores else _of_runs(inputs, intents, lists, show)
    tables = {"scores": ("means of the scores of texts", _table(scores, shown, baselines, lists.strict, output.format))}
    if inputs.are_texts and not shown.per_query and (output.is_folder or output.format not in FOR_PROGRAMS):
        tables |= _corpus_scores(inputs, scores)
    output.write_several(tables)
    draw(shown.plot, lambda charts: charts.stacked(*(charts.means(scores, name) for name in scores.measures)))


def _of_runs(inputs: Inputs, intents: str | None, lists: ListPolicies, show: bool | None) -> Scores:
    from calipers.evaluation.evaluation import evaluate

    wanted = inputs.wanted()
    known, runs = inputs.open(wanted.values())
    if intents is not None:
        known = _with_intents(known, intents)
    with reading(inputs.systems, show):
        scores = evaluate(known, runs, inputs.typed(), jobs=lists.jobs, warn=False, **lists.policies)
    warn(scores.notes, lists.strict)
    note_undefined(scores)
    return scores


def _table(scores: Scores, shown: ScoreTables, baselines: Sequence[str], strict: bool, format: str) -> Table:
    """Return scores by query or means, as the options want them."""
    if shown.per_query:
        return scores.per_query()
    means_alone = shown.interval is None and not (shown.query_groups or shown.query_weights)
    if baselines or (format in FOR_PAPERS and means_alone):
        from calipers.results.messages import without_ambiguous_names

        return _marked(without_ambiguous_names(scores), baselines, shown.test or "t", format)
    if shown.query_groups is None:
        return _means(scores, shown)
    groups = scores.by(shown.query_groups)
    warn(groups.notes, strict)
    return groups.stacked(lambda group: _means(group, shown))


def _corpus_scores(inputs: Inputs, scores: Scores) -> dict[str, tuple[str, Table]]:
    """Return the corpus scores of measures that have some. They pool counts over all texts."""
    from calipers.texts.options import TextOptions
    from calipers.texts.sacrebleu_measures import METRICS, corpus_scores

    names = [name for name in scores.measures if name.partition("(")[0] in METRICS]
    if not names:
        return {}
    table = corpus_scores(inputs.texts, names, TextOptions())
    return {"corpus": ("corpus scores, which pool counts over all texts", table)}


def _marked(scores: Scores, baselines: Sequence[str], test: ComparisonTest, format: str) -> Table:
    """Return means with marks for people, or with p values for other programs."""
    from calipers.questions.compare.significance_marks import mark_significance, means_with_p

    if not baselines or format in FOR_PAPERS:
        return mark_significance(scores, baseline=baselines, test=test)
    if format == "table":
        return mark_significance(scores, baseline=baselines, test=test, stars=True)
    return means_with_p(scores, baseline=baselines, test=test)


def _with_intents(known: Judgments, path: str) -> Judgments:
    from calipers.collection.subtopics import SubtopicJudgments, read_probabilities

    if not isinstance(known, SubtopicJudgments):
        raise CalipersError("--intents is for measures of diversity, as ERR-IA@20", file=path)
    return known.with_probabilities(read_probabilities(path))


def _means(scores: Scores, shown: ScoreTables) -> Table:
    """Return means, weighted where there are weights, with intervals where they are asked for."""
    mean = scores.mean(shown.query_weights)
    return mean if shown.interval is None else _with_intervals(scores, mean, shown)


def _with_intervals(scores: Scores, mean: Table, shown: ScoreTables) -> Table:
    from calipers.results.tables import Table
    from calipers.statistics.bounded_intervals import mean_intervals

    low, high = mean_intervals(
        scores, level=shown.interval or 0.95, method=shown.interval_by, query_weights=shown.query_weights
    )
    for sentence in low.notes:
        note(sentence)
    columns = ["system", *(f"{name}{end}" for name in scores.measures for end in ("", " low", " high"))]
    rows = [
        (m[0], *(cell for triple in zip(m[1:], lo[1:], hi[1:], strict=True) for cell in triple))
        for m, lo, hi in zip(mean.rows, low.rows, high.rows, strict=True)
    ]
    return Table(tuple(columns), tuple(rows), scores.metadata)


def note_undefined(scores: Scores) -> None:
    """Print sentences about conventions, undefined queries and sampling."""
    for sentence in scores.remarks:
        note(sentence)


def scores_on_spark(
    inputs: Inputs, shown: ScoreTables, intents: str | None, lists: ListPolicies, engine: Engine
) -> Scores:
    """Return the scores that the local engine would return. Prints the notes about them."""
    from calipers.conventions import convention
    from calipers.support.extras import load

    if other := [name for name in LOCAL_TABLES if getattr(shown, name)]:
        raise CalipersError(
            f"--{other[0].replace('_', '-')} does not work with --engine spark. Write scores per query (-q) first"
        )
    if other := [name for name in LOCAL if getattr(inputs, name) not in (None, False)]:
        option = "combine" if other[0] == "combine_grades" else other[0].replace("_", "-")
        raise CalipersError(f"--{option} does not work with --engine spark")
    if lists.costs is not None:
        raise CalipersError("--costs does not work with --engine spark", file=lists.costs)
    for path in (inputs.judgments, *inputs.systems):
        if path == "-" or stat.S_ISFIFO(os.stat(path).st_mode if os.path.exists(path) else 0):
            what = "standard input" if path == "-" else f"the pipe {path}"
            raise CalipersError(f"--engine spark reads files, not {what}")
    load("pyspark", extra="spark", what="--engine spark")
    from calipers import spark
    from calipers.spark.session import sql as spark_sql

    wanted = inputs.wanted()
    subtopics = inputs.judgments_format(wanted.values()) == "subtopics"
    ties = lists.ties or convention(lists.like).ties
    probabilities = _probabilities(intents, subtopics)
    session = spark.session(engine.master, {"spark.log.level": "OFF"})  # we report errors ourselves
    known = spark.read_judgments(session, inputs.judgments, format=_format(inputs.judgments_as), subtopics=subtopics)
    runs = spark.read_runs(session, _files(inputs.systems), format=_format(inputs.systems_as), ordered=ties == "input")
    observed = {name: spark_sql().Observation() for name in ("runs", "judged")}
    unknown = ("costs", "unmatched")
    policies = {name: value for name, value in lists.policies.items() if name not in unknown}
    scores = spark.evaluate(
        known, runs, inputs.typed(), columns=inputs.columns, intents=probabilities, observed=observed, **policies
    )
    found = spark.collect(scores, warn=False)
    _refuse_flat(found, known, inputs.columns)
    warn([*_dropped(observed), *found.notes], lists.strict)
    return found


def _format(given: str | None) -> str | None:
    """Return the format that the Spark engine reads for a value of --judgments-as or --systems-as."""
    if given in (None, "subtopics"):
        return None
    if given not in ("qrels", "run", "parquet"):
        raise CalipersError(f"--engine spark reads TREC text and Parquet, not {given}")
    return given


def _files(systems: Sequence[str]) -> list[str]:
    """Return the files of globs and directories. A directory of Parquet files is one table; URLs are left to Spark."""
    from pathlib import Path

    from calipers.collection.run_names import named_files

    found: list[str] = []
    for system in systems:
        whole = "://" in system or (Path(system).is_dir() and any(Path(system).glob("*.parquet")))
        named = [(None, system)] if whole else named_files(system)
        if given := [name for name, _ in named if name]:
            raise CalipersError(f"the Spark engine names systems after their files: leave out '{given[0]}='")
        found += [file for _, file in named]
    return found


def _probabilities(path: str | None, subtopics: bool) -> dict[str, dict[str, float]] | None:
    from calipers.collection.subtopics import read_probabilities

    if path is None:
        return None
    if not subtopics:
        raise CalipersError("--intents needs a measure of diversity, such as ERR-IA@20", file=path)
    return read_probabilities(path)


def _refuse_flat(scores: Scores, judgments: Any, columns: Any) -> None:
    """Refuse normalised measures that the local engine refuses after scoring."""
    from calipers.evaluation.scoring import refuse_flat
    from calipers.measures.grammar import parse
    from calipers.results.scores import Reason
    from calipers.spark.evaluation import largest_pool

    queries = len(scores.queries)
    for name, reasons in zip(scores.measures, scores.reasons, strict=True):
        flat = int((reasons == Reason.DEGENERATE).any(axis=0).sum())
        if 2 * flat > queries:
            refuse_flat(name, parse(name), flat, queries, largest_pool(judgments, columns))


def _dropped(observed: dict[str, Any]) -> list[str]:
    rows = {name: int(each.get.get("rows", 0)) for name, each in observed.items()}
    dropped = rows["runs"] - rows["judged"]
    return (
        [f"{dropped:,} of {rows['runs']:,} rows belong to queries without judgments and are ignored"] if dropped else []
    )
