"""The command `calipers metaeval`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, inputs, say_scores
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    FILE,
    POSITIVE,
    draw,
    note,
    plot_option,
    population_option,
    query_groups_option,
    show,
    warn,
    words,
)
from calipers.cli.output import Output, several_outputs
from calipers.cli.policies import ListPolicies, lists, significance_options
from calipers.errors import CalipersError
from calipers.support.checks import check_choice

if TYPE_CHECKING:
    from calipers.questions.metaeval.meta_evaluation import MetaEvaluation, MetaEvaluationOptions
    from calipers.results.tables import Table

SHOWN = ("scores", "tau", "conflicts", "power", "pad", "swaps")
SHOWN_OF_PEOPLE = ("agreement", "tests", "preferences", "power")


@dataclass(frozen=True)
class PeopleAndSets:
    """Scores and preferences of people, and sets of queries."""

    human: str | None
    level: str | None
    preferences: str | None
    sets: str
    query_groups: str | None

    def keywords(self) -> dict[str, Any]:
        """Return keywords of `metaeval`. The groups of a table are sets of one's own."""
        from calipers.collection.query_facts import read_query_groups

        people = {"human": self.human, "level": self.level, "preferences": self.preferences}
        if self.query_groups is None:
            return {**people, "sets": words(self.sets)}
        if words(self.sets) != ["all"]:
            raise CalipersError("give either --sets or --query-groups")
        return {**people, "sets": read_query_groups(self.query_groups)}


@grouped_command("metaeval")
@inputs(texts=True)
@option_group(
    "asked",
    PeopleAndSets,
    click.option("--human", metavar="A,B,...", help="What people judged about texts [default: all that DATA has]."),
    click.option(
        "--level",
        metavar="A,B,...",
        help="Levels of agreement with people: over means of systems (system), over systems for each document "
        "(summary), over all texts (pooled) [default: all]. Tests are made at the first.",
    ),
    click.option(
        "--preferences",
        metavar="FILE",
        type=FILE,
        help="People's choices between two texts (CSV: id, first, second, preferred): count wins, losses and ties of "
        "normalised measures against their bases.",
    ),
    click.option(
        "--sets",
        default="all",
        show_default=True,
        metavar="NAMES",
        help="Sets of queries, with commas: all, uninformative, ideal, hard, easy, broad, focused, left, right.",
    ),
    query_groups_option,
)
@option_group("method", "calipers.questions.metaeval.meta_evaluation:MetaEvaluationOptions")
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
    help="Correlation: tau-a, tau-b, gamma, tau_AP, tau_AP-reversed, tau_AP-symmetric, spearman, weighted-tau, "
    "pearson. With people: tau-b, spearman, pearson.",
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
    metavar="NAMES",
    help=f"{', '.join(SHOWN)}; also split-half, stability and curve (of the achieved significance levels). With people "
    f"{', '.join(SHOWN_OF_PEOPLE)}; also wide (measures x what people judged).",
)
@plot_option("the curves of achieved significance levels and the systems' scores")
@lists
@several_outputs
def command(
    inputs: Inputs,
    asked: PeopleAndSets,
    method: MetaEvaluationOptions,
    tables: str | None,
    plot: str | None,
    lists: ListPolicies,
    output: Output,
) -> None:
    """Evaluate measures: do they tell systems apart, is their order of systems stable, do they agree with people?

    Measures that differ in the cutoff only are taken together. The inputs are judgments and runs, or texts, as for
    evaluate, or one or more CSV files of scores, one measure per file. Texts and scores have no sets of queries but
    all, and the groups of --query-groups.

    Where people judged texts, the agreement of measures with them comes first, with intervals over documents. PAI is
    the increase of a normalised measure's correlation over that of the measure itself, in percent. Errors of texts,
    such as TER, are negated.

    \b
    calipers metaeval qrels.txt runs/* -m "nDCG@{5,10} V1(nDCG@{5,10}) V2(nDCG@{5,10})" --sets all,uninformative,ideal
    calipers metaeval qrels.txt runs/* -m "AP nDCG@10 RR" --table power --test bootstrap
    calipers metaeval ap.csv rr.csv --table power,tau,stability
    calipers metaeval data.jsonl -m "ROUGE-1 V2(ROUGE-1)" --human coherence
    calipers metaeval data.jsonl -m "ROUGE-1 V2(ROUGE-1)" --table wide --level system --correlation spearman
    calipers metaeval data.jsonl -m "ROUGE-1 V2(ROUGE-1)" --preferences preferences.csv
    """
    for name in words(tables or ""):
        check_choice("table", name, _titles())
    meta = _evaluated(inputs, asked, method, lists)
    wanted = words(tables) if tables is not None else SHOWN if meta.people is None else SHOWN_OF_PEOPLE
    note(meta.title)
    for text in meta.notes[len(meta.scores.notes) :]:
        note(text)
    shown = _tables(meta, wanted)
    draw(plot, lambda charts: charts.stacked(*_charts(charts, meta)))
    conclusions = meta.conclusions()
    if output.format == "table" and output.file is None:
        show("".join(f"{sentence}.\n" for sentence in conclusions) + "\n")
    else:
        for sentence in conclusions:
            note(sentence)
    output.write_result(meta, shown)


def _evaluated(
    inputs: Inputs, asked: PeopleAndSets, method: MetaEvaluationOptions, lists: ListPolicies
) -> MetaEvaluation:
    """Evaluate the measures on one collection, or by files of scores."""
    from calipers.cli.evaluate import note_undefined
    from calipers.questions.metaeval.measure_study import metaeval

    options = {**asked.keywords(), **vars(method)}
    if not inputs.are_texts and inputs.are_scores:
        return metaeval(inputs.score_files(lists.strict).open(), **options)
    with inputs.scored(lists) as experiment:
        found = experiment.metaeval(**options)
    if experiment.texts is not None:
        say_scores(experiment, lists.strict)
    else:
        warn(found.scores.notes, lists.strict)
        note_undefined(found.scores)
    return found


def _charts(charts: Any, meta: MetaEvaluation) -> list[Any]:
    """Return the charts of agreement with people, or of significance levels and scores."""
    people = meta.people
    if people is not None and people.scores:
        return [charts.correlation_chart(meta.agreement[meta.main_set], people.levels[0], people.coefficient)]
    return [charts.significance_curves(meta.power()), charts.system_scores(meta)]


def _titles() -> dict[str, str]:
    """Return the tables that can be named, and their titles."""
    from calipers.questions.metaeval.meta_evaluation import OF_PEOPLE, TABLES

    return {**OF_PEOPLE, **TABLES, "curve": "achieved significance levels"}


def _tables(meta: MetaEvaluation, names: Sequence[str]) -> dict[str, tuple[str, Table]]:
    """Return those of the named tables that exist, with their titles."""
    titles, known = _titles(), meta.tables()
    found: dict[str, tuple[str, Table]] = {}
    for name in names:
        for key in known:
            kind, dash, part = key.partition("-")  # wide-system, curve-all
            if key == name:
                found[key] = (titles[name], known[key])
            elif dash and kind == name:
                found[key] = (f"{titles[name]}, {part}", known[key])
    if not found:
        raise CalipersError("these tables need scores of people, two measures or two sets")
    return found
