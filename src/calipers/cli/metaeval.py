"""The command `calipers metaeval`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import POSITIVE, draw, note, plot_option, population_option, progress, show, warn, words
from calipers.cli.output import Output, several_outputs
from calipers.cli.policies import ListPolicies, lists, significance_options
from calipers.errors import CalipersError
from calipers.plurals import counted

if TYPE_CHECKING:
    from calipers.metaevaluation.measure_study import Choices, MetaEvaluation
    from calipers.results.tables import Table

SHOWN = ("scores", "tau", "conflicts", "power", "pad", "swaps")


@dataclass(frozen=True)
class OtherCollection:
    """A second collection."""

    other_judgments: str | None
    other_systems: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.other_judgments is not None or bool(self.other_systems)


@grouped_command("metaeval")
@inputs(optional=True)
@option_group("choices", "calipers.metaevaluation.measure_study:Choices")
@click.option(
    "--sets",
    default="all",
    show_default=True,
    metavar="NAMES",
    help="all, uninformative, ideal, hard, easy, broad, focused, left, right; separated by commas.",
)
@click.option(
    "--set-size",
    "size",
    type=POSITIVE,
    default=0.25,
    show_default=True,
    metavar="N|SHARE",
    help="Queries in the uninformative and in the ideal set.",
)
@click.option("--absolute", is_flag=True, help="Choose these sets by the absolute difference to a random ranking.")
@population_option
@significance_options("none")
@click.option(
    "--correlation",
    default="tau-b",
    show_default=True,
    metavar="NAME",
    help="tau-a, tau-b, gamma, tau_AP, tau_AP-reversed, tau_AP-symmetric, spearman or weighted-tau.",
)
@click.option(
    "--pad",
    "denominator",
    type=LibraryChoice("calipers.metaevaluation.distance:DENOMINATORS"),
    default="absolute",
    show_default=True,
    help="The denominator of PAD: |max|, or max as printed.",
)
@click.option(
    "--table",
    "tables",
    default=",".join(SHOWN),
    metavar="NAMES",
    help=f"{', '.join(SHOWN)}; also split-half, stability and curve (of the achieved significance levels).",
)
@option_group("other", OtherCollection)
@click.option("--other-judgments", metavar="FILE", help="A second collection, for swap rates across the two.")
@click.option(
    "--other-system",
    "other_systems",
    multiple=True,
    metavar="FILE",
    help="A system of the second collection, of the same name as in the first; may be repeated.",
)
@plot_option("the curves of achieved significance levels and the systems' scores")
@lists
@several_outputs
def command(
    inputs: Inputs,
    sets: str,
    choices: Choices,
    tables: str,
    other: OtherCollection,
    plot: str | None,
    lists: ListPolicies,
    output: Output,
) -> None:
    """Judge the measures: how well they tell systems apart, and how stable the order is in which they put them.

    Measures that differ in the cutoff only are taken together. The inputs are judgments and runs as for evaluate, or
    one or more CSV files of scores, one measure per file (then on all queries only).

    \b
    calipers metaeval qrels.txt runs/* -m "nDCG@{5,10} V1(nDCG@{5,10}) V2(nDCG@{5,10})" --sets all,uninformative,ideal
    calipers metaeval qrels.txt runs/* -m "AP nDCG@10 RR" --table power --test bootstrap
    calipers metaeval ap.csv rr.csv --table power,tau,stability
    """  # fmt: skip
    from calipers.cli.evaluate import note_undefined
    from calipers.metaevaluation.measure_study import MetaEvaluation, meta_evaluate

    wanted_tables, of_sets = words(tables), words(sets)
    _check_tables(wanted_tables)
    if inputs.are_scores:
        if of_sets != ["all"]:
            raise CalipersError("a matrix of scores has no sets but all: the others need judgments and runs")
        if other:
            raise CalipersError("a second collection can only be compared with judgments and runs, not with scores")
        meta = MetaEvaluation.of_scores(inputs.score_files(lists.strict).open(), choices=choices)
    else:
        wanted = inputs.wanted()
        known, runs = inputs.open(wanted.values())
        with progress(len(runs), "runs") as advance:
            meta = meta_evaluate(
                known, runs, list(wanted), of_sets, choices, jobs=lists.jobs, progress=advance, warn=False,
                **lists.policies,
            )  # fmt: skip
        warn(meta.scores.notes, lists.strict)
        note_undefined(meta.scores)
    _say(meta)
    answers = meta.answers()
    shown = _tables(meta, wanted_tables)
    if other:
        if other.other_judgments is None or not other.other_systems:
            raise CalipersError("a second collection needs both --other-judgments and --other-system")
        second = replace(inputs, judgments=other.other_judgments, systems=other.other_systems)
        known, runs = second.open(wanted.values())
        across = meta_evaluate(
            known, runs, list(wanted), of_sets, choices, jobs=lists.jobs, warn=False, **lists.policies
        )
        warn(across.scores.notes, lists.strict)
        shown["across"] = ("swap rates between the orderings on two collections", meta.across(across))
    draw(plot, lambda charts: charts.stacked(charts.significance_curves(meta.power()), charts.system_scores(meta)))
    if output.format == "table" and output.file is None:
        show("".join(f"{sentence}.\n" for sentence in answers) + "\n")
    else:
        for sentence in answers:
            note(sentence)
    output.write_several(shown)


def _check_tables(names: list[str]) -> None:
    from calipers.metaevaluation.measure_study import TABLES

    known = (*TABLES, "curve")
    for name in names:
        if name not in known:
            raise CalipersError(f"unknown table '{name}'; there are {', '.join(known)}")


def _say(meta: MetaEvaluation) -> None:
    choices = meta.choices
    measures, systems = counted(len(meta.families), "measure"), counted(len(meta.systems), "system")
    note(f"{measures}, {systems}; {choices.test} test at alpha {choices.alpha:g}, seed {choices.seed}")
    for family in meta.families:
        if len(family.members) > 1:
            note(f"{family.name}: {', '.join(meta.scores.measures[m] for m in family.members)} together")
    for name, sizes in meta.sets_of_queries():
        note(f"set {name}: {sizes} of {counted(meta.metadata['queries'], 'query')}")


def _tables(meta: MetaEvaluation, names: list[str]) -> dict[str, tuple[str, Table]]:
    from calipers.metaevaluation.measure_study import TABLES

    found: dict[str, tuple[str, Table]] = {}
    for name in names:
        if name == "swaps" and len(meta.sets) < 2:
            continue
        if name in ("tau", "conflicts") and len(meta.families) < 2:
            continue
        if name == "curve":
            for of_set in meta.sets:
                if meta.compared[of_set] is not None:
                    title = f"achieved significance levels, {of_set}"
                    found[f"curve-{of_set}"] = (title, meta.power(of_set).curve())
            continue
        found[name] = (TABLES[name], meta.table(name))
    if not found:
        raise CalipersError("these tables need at least two measures or two sets")
    return found
