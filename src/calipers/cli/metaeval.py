"""The command `calipers metaeval`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import POSITIVE, draw, note, plot_option, population_option, progress, show, warn, words
from calipers.cli.output import Output, several_outputs
from calipers.cli.policies import ListPolicies, lists, significance_options
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.questions.metaeval.measure_study import MetaEvaluation, MetaEvaluationOptions
    from calipers.results.tables import Table

SHOWN = ("scores", "tau", "conflicts", "power", "pad", "swaps")


@grouped_command("metaeval")
@inputs(optional=True)
@option_group("method", "calipers.questions.metaeval.measure_study:MetaEvaluationOptions")
@click.option(
    "--sets",
    default="all",
    show_default=True,
    metavar="NAMES",
    help="Sets of queries, separated by commas: all, uninformative, ideal, hard, easy, broad, focused, left, right.",
)
@click.option(
    "--set-size",
    type=POSITIVE,
    default=0.25,
    show_default=True,
    metavar="N|SHARE",
    help="Number or share of the queries in the uninformative set and in the ideal set.",
)
@population_option
@significance_options("none")
@click.option(
    "--correlation",
    default="tau-b",
    show_default=True,
    metavar="NAME",
    help="Rank correlation: tau-a, tau-b, gamma, tau_AP, tau_AP-reversed, tau_AP-symmetric, spearman, weighted-tau.",
)
@click.option(
    "--pad",
    type=LibraryChoice("calipers.questions.metaeval.consistency:DENOMINATORS"),
    default="absolute",
    show_default=True,
    help="Denominator of the percentage absolute difference: |max| (absolute), or max as printed (literal).",
)
@click.option(
    "--table",
    "tables",
    default=",".join(SHOWN),
    metavar="NAMES",
    help=f"{', '.join(SHOWN)}; also split-half, stability and curve (of the achieved significance levels).",
)
@plot_option("the curves of achieved significance levels and the systems' scores")
@lists
@several_outputs
def command(
    inputs: Inputs,
    sets: str,
    method: MetaEvaluationOptions,
    tables: str,
    plot: str | None,
    lists: ListPolicies,
    output: Output,
) -> None:
    """Evaluate measures: how well they tell systems apart, and how stable their order of systems is.

    Measures that differ in the cutoff only are taken together. The inputs are judgments and runs as for evaluate, or
    one or more CSV files of scores, one measure per file (then on all queries only).

    \b
    calipers metaeval qrels.txt runs/* -m "nDCG@{5,10} V1(nDCG@{5,10}) V2(nDCG@{5,10})" --sets all,uninformative,ideal
    calipers metaeval qrels.txt runs/* -m "AP nDCG@10 RR" --table power --test bootstrap
    calipers metaeval ap.csv rr.csv --table power,tau,stability
    """
    wanted = words(tables)
    _check_tables(wanted)
    meta = _evaluated(inputs, words(sets), method, lists)
    note(meta.title)
    for text in meta.notes[len(meta.scores.notes) :]:
        note(text)
    shown = _tables(meta, wanted)
    draw(plot, lambda charts: charts.stacked(charts.significance_curves(meta.power()), charts.system_scores(meta)))
    conclusions = meta.conclusions()
    if output.format == "table" and output.file is None:
        show("".join(f"{sentence}.\n" for sentence in conclusions) + "\n")
    else:
        for sentence in conclusions:
            note(sentence)
    output.write_result(meta, shown)


def _evaluated(inputs: Inputs, sets: list[str], method: MetaEvaluationOptions, lists: ListPolicies) -> MetaEvaluation:
    """Evaluate the measures on one collection, or by files of scores."""
    from calipers.cli.evaluate import note_undefined
    from calipers.questions.metaeval.measure_study import metaeval

    if inputs.are_scores:
        return metaeval(inputs.score_files(lists.strict).open(), sets=sets, **vars(method))
    with progress(len(inputs.runs()), "runs") as advance:
        found = inputs.experiment(jobs=lists.jobs, progress=advance, **lists.policies).metaeval(
            sets=sets, **vars(method)
        )
    warn(found.scores.notes, lists.strict)
    note_undefined(found.scores)
    return found


def _check_tables(names: list[str]) -> None:
    from calipers.questions.metaeval.measure_study import TABLES

    known = (*TABLES, "curve")
    for name in names:
        if name not in known:
            raise CalipersError(f"unknown table '{name}'; there are {', '.join(known)}")


def _tables(meta: MetaEvaluation, names: list[str]) -> dict[str, tuple[str, Table]]:
    """Return those of the named tables that exist, with their titles."""
    from calipers.questions.metaeval.measure_study import TABLES

    found: dict[str, tuple[str, Table]] = {}
    known = meta.tables()
    for name in names:
        for key in known:
            if key == name:
                found[key] = (TABLES[name], known[key])
            elif name == "curve" and key.startswith("curve-"):
                found[key] = (f"achieved significance levels, {key.removeprefix('curve-')}", known[key])
    if not found:
        raise CalipersError("these tables need at least two measures or two sets")
    return found
