"""The command `calipers pool`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import click

from calipers.cli.inputs import Runs
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    FILE,
    NUMBER,
    OUTPUT,
    SHARE,
    TABLES_OR_RUN,
    WholeNumber,
    columns_apart,
    columns_option,
    combine_option,
    document_texts_option,
    drop_own_ids_option,
    jobs_option,
    max_unpacked_option,
    measures_option,
    note,
    progress,
    query_ids_option,
    query_texts_option,
    read_system_groups,
    rollup_options,
    systems_as_option,
)
from calipers.cli.output import Output, safe_csv_option
from calipers.errors import CalipersError
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.experiment import Experiment
    from calipers.questions.pool.judging_pools import JudgingPool, PoolMethod
    from calipers.results.tables import Table


@dataclass(frozen=True)
class Pooling:
    """Options of the pool: method, depth, budget and judgments."""

    depth: int | None
    budget: int | None
    judged: str | None
    method: PoolMethod | None
    persistence: float
    unseen: int
    max_grade: float | None
    jobs: int | None


@dataclass(frozen=True)
class PoolOutput(Output):
    """Output formats of tables, and formats for assessors."""

    endings: ClassVar[Mapping[str, str]] = {**Output.endings, "qrels": "qrels", "jsonl": "jsonl", "csv": "ratings"}


@grouped_command("pool")
@option_group("runs", Runs)
@option_group("pooling", Pooling)
@option_group("output", PoolOutput)
@click.argument("systems", nargs=-1, required=True, metavar="SYSTEM...", type=FILE)
@click.option("--depth", type=WholeNumber(1), help="Only the first N documents of each list.")
@click.option("--budget", type=WholeNumber(1), help="Largest number of documents, over all queries.")
@click.option(
    "--judged",
    metavar="JUDGMENTS",
    type=FILE,
    help="Existing judgments. With measures, the documents that decide most come first.",
)
@click.option(
    "--method",
    type=LibraryChoice("calipers.questions.pool.judging_pools:METHODS"),
    help="By depth, by the weights of RBP, interleaved by system, or by what decides most "
    "(next) [default: next with --judged and -m, else depth with --depth, else rbp].",
)
@click.option("-p", "persistence", type=SHARE, default=0.8, show_default=True, help="The persistence of RBP.")
@measures_option
@click.option(
    "--unseen",
    type=WholeNumber(0),
    default=0,
    show_default=True,
    metavar="N",
    help="For the method next: number of documents per query that nobody retrieved.",
)
@click.option(
    "--max-grade", type=NUMBER, metavar="GRADE", help="For the method next: the largest grade that a document may get."
)
@click.option(
    "--leave-out",
    metavar="CSV",
    type=FILE,
    help="Show what each run and group loses if the documents that only it found are unjudged, instead. The "
    "first two columns of the CSV file are systems and groups. Needs --judged.",
)
@systems_as_option("SYSTEM", TABLES_OR_RUN)
@columns_option
@columns_apart
@combine_option
@rollup_options
@drop_own_ids_option
@query_ids_option
@max_unpacked_option
@jobs_option
@query_texts_option
@document_texts_option
@click.option(
    "--format",
    type=LibraryChoice("calipers.support.choices:TableFormat", after=("qrels", "jsonl", "ratings")),
    help="Table format, or for assessors: qrels without grades, JSON lines, or a CSV file of ratings to "
    "fill in [default: by the ending of -o, .csv for ratings; otherwise table].",
)
@safe_csv_option
@click.option("-o", "--output", "file", metavar="FILE", type=OUTPUT, help="Write to this file, not to the screen.")
def command(
    runs: Runs,
    pooling: Pooling,
    leave_out: str | None,
    query_texts: str | None,
    document_texts: str | None,
    output: Output,
) -> None:
    """List documents to judge, the most valuable first.

    \b
    calipers pool runs/* --depth 20
    calipers pool runs/* --budget 100 --method rbp --format qrels
    calipers pool runs/* --judged qrels.txt --budget 200 -m "nDCG@10"
    calipers pool runs/* --judged qrels.txt --depth 10 --query-texts queries.tsv -o to-rate.csv
    calipers pool runs/* --judged qrels.txt --leave-out groups.csv -m "AP nDCG@10"
    """
    if leave_out is not None:
        if output.format in ("qrels", "jsonl"):
            raise CalipersError(f"--format {output.format} is for pools")
        table = _without_uniques(runs, leave_out, pooling)
        (replace(output, format="csv") if output.format == "ratings" else output).write(table)
        return
    found = _pool(runs, pooling)
    _say(found)
    if output.format == "ratings":
        judged = None if pooling.judged is None else runs.read_judgments(pooling.judged)
        table = found.ratings(judged=judged, query_texts=query_texts, document_texts=document_texts)
        replace(output, format="csv").write(table)
    elif output.format in ("qrels", "jsonl"):
        output.write_text(found.to_qrels() if output.format == "qrels" else found.to_jsonl())
    else:
        output.write(found.table())


def _pool(runs: Runs, pooling: Pooling) -> JudgingPool:
    """Return the pool: of an experiment if there are judgments, otherwise of the runs alone."""
    from calipers.questions.pool.judging_pools import pool

    size: dict[str, Any] = {"depth": pooling.depth, "budget": pooling.budget, "p": pooling.persistence}
    opened = runs.runs()
    with progress(len(opened), "runs") as advance:
        if pooling.judged is None:
            if pooling.method == "next":
                raise CalipersError("--method next needs judgments: --judged FILE")
            return pool(
                opened,
                method=pooling.method,
                measures=runs.measures or None,
                jobs=pooling.jobs,
                progress=advance,
                **size,
            )
        method: PoolMethod = pooling.method or (
            "next" if runs.measures else "rbp" if pooling.depth is None else "depth"
        )
        default = "nDCG@10" if method == "next" else f"RBP(p={pooling.persistence:g})"
        given = _experiment(runs, pooling.judged, runs.typed(default), jobs=pooling.jobs, progress=advance)
        return given.pool(method=method, unseen=pooling.unseen, max_grade=pooling.max_grade, **size)


def _experiment(runs: Runs, judgments: str, measures: list[str], **options: Any) -> Experiment:
    """Return the experiment of a file of judgments that an option names."""
    from calipers.experiment import Experiment

    return Experiment(runs.read_judgments(judgments), runs.runs(), measures, warn=False, **options)


def _say(found: JudgingPool) -> None:
    for text in found.notes:
        note(text)
    if found.open_pairs is not None:
        note(f"judgments can still change the order of {counted(found.open_pairs, 'pair')} of systems")
        if not found.open_pairs:
            note("no judgment can change the order of any two systems: there is nothing to judge next")
    documents, queries = counted(len(found), "document"), counted(len(set(found.query)), "query")
    note(f"{documents} to judge, of {queries} (method {found.method})")
    rows: dict[str, list[tuple[float, str]]] = {}
    for system, measure, share in found.shares.rows:
        rows.setdefault(str(measure), []).append((float(share or 0.0), str(system)))
    for measure, covered in rows.items():
        mean = sum(share for share, _ in covered) / len(covered)
        least, system = min(covered)
        note(f"judged or in the pool is {mean:.1%} of the weight of {measure} (least {least:.1%}, {system})")


def _without_uniques(runs: Runs, groups: str, pooling: Pooling) -> Table:
    from calipers.questions.pool.uniques import leave_out_uniques

    if pooling.judged is None:
        raise CalipersError("--leave-out needs the judgments: --judged FILE")
    opened = runs.runs()
    of_groups = read_system_groups(groups, {run.name for run in opened})
    with progress(len(opened), "runs") as advance:
        given = _experiment(runs, pooling.judged, runs.typed(), jobs=pooling.jobs, progress=advance)
        found = leave_out_uniques(given, groups=of_groups, depth=pooling.depth)
    lost, several = found.score - found.without_group, len(found.systems)
    for name, of_measure in zip(found.measures, lost, strict=True):
        worst = int(abs(of_measure).argmax())
        said = f", tau {found.tau()[name]:.3f}" if several > 1 else ""
        note(f"{name}: {found.systems[worst]} changes most without its group, by {-of_measure[worst]:+.4f}{said}")
    return found.table()
