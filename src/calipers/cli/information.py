"""The command `calipers information`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, ScoreFiles, inputs, score_files
from calipers.cli.option_groups import GroupOfCommands, LibraryChoice, option_group
from calipers.cli.options import (
    NUMBER,
    WholeNumber,
    depth_option,
    draw,
    jobs_option,
    max_unpacked_option,
    note,
    plot_option,
    progress,
    read_system_groups,
    seed_option,
    strict_option,
    warn,
)
from calipers.cli.output import Output, output
from calipers.results.messages import some
from calipers.support.choices import TieRule
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.experiment import Experiment
    from calipers.questions.information.ric_scores import PreferenceRic, RicStudy
    from calipers.results.result import Result


@click.group("information", cls=GroupOfCommands)
def command() -> None:
    """Measure the information of rankings about the judgments, in bits.

    \b
    calipers information ric qrels.txt runs/*                         RIC of each system, with AP and nDCG
    calipers information joint qrels.txt a.run b.run c.run            joint information of several systems
    calipers information difference qrels.txt runs/* --plot d.html    pairs of systems with similar information
    calipers information tau scores.csv --x ERR --y nDCG --given AP   similarity of measures, given other measures
    """


@dataclass(frozen=True)
class RankingPolicies:
    """Options for reading lists: relevance, cut, ties, depth, strictness and threads."""

    rel: float
    cut: str
    ties: TieRule
    depth: int | None
    strict: bool
    jobs: int | None

    def experiment(self, inputs: Inputs, progress: Callable[[int], None] | None = None) -> Experiment:
        """Return the experiment with these inputs and options."""
        return inputs.experiment(ties=self.ties, depth=self.depth, jobs=self.jobs, progress=progress)


_lists = option_group(
    "lists",
    RankingPolicies,
    click.option("--rel", type=NUMBER, default=1.0, show_default=True, help="The smallest grade that is relevant."),
    click.option(
        "--cut",
        type=LibraryChoice("calipers.measures.information:CUTS"),
        default="relevant",
        show_default=True,
        help="Cut each list after its last relevant document, or not at all (none).",
    ),
    click.option(
        "--ties",
        type=LibraryChoice("calipers.support.choices:TieRule"),
        default="average",
        show_default=True,
        help="Order of documents with equal scores. average counts a tied pair half in each order.",
    ),
    depth_option,
    strict_option,
    jobs_option,
)


# -- RIC ---------------------------------------------------------------------------------------------


@command.command("ric")
@inputs(measures=False)
@_lists
@click.option("-q", "--per-query", is_flag=True, help="One row per system and query instead of means.")
@output
def ric(inputs: Inputs, lists: RankingPolicies, per_query: bool, output: Output) -> None:
    """Show the relevance information correlation (RIC) of each system, with AP and nDCG.

    RIC also rewards lists in reverse order. The column signed counts them below 0. JUDGMENTS may be preferences
    (--judgments-as preferences, with lines: query document document, the better document first). The table then has
    the RIC of shuffled lists instead of AP and nDCG.

    \b
    calipers information ric qrels.txt runs/* --format csv
    """
    from calipers.collection.preferences import Preferences
    from calipers.questions.information.ric_scores import RicStudy, preference_ric, ric as ric_of

    with progress(len(inputs.runs()), "runs") as advance:
        given = lists.experiment(inputs, advance)
        found: PreferenceRic | RicStudy
        if isinstance(given.judgments, Preferences):
            found = preference_ric(given, cut=lists.cut)
        else:
            found = ric_of(given, rel=lists.rel, cut=lists.cut)
    warn(found.notes, lists.strict)
    _note_skipped(found.skipped, len(given.judgments.queries))
    if isinstance(found, RicStudy):
        _note_wrong_way_round(found)
    _write(found, per_query, output)


def _note_wrong_way_round(study: RicStudy) -> None:
    wrong = study.wrong_way_round
    if wrong.any():
        counts = wrong.sum(axis=1)
        most = int(counts.argmax())
        note(
            f"{wrong.sum()} of {wrong.size} lists have more pairs in the wrong order than in the right order (at most "
            f"{counts[most]} of {wrong.shape[1]}, {study.systems[most]}); RIC rewards them, the column signed "
            "counts them below 0"
        )


# -- joint RIC ---------------------------------------------------------------------------------------


@command.command("joint")
@inputs(measures=False)
@_lists
@click.option(
    "--draws",
    type=click.IntRange(2, 100_000),
    default=20,
    show_default=True,
    help="Number of times the ranks are shuffled for the null value.",
)
@seed_option
@click.option("-q", "--per-query", is_flag=True, help="One row per query instead of means.")
@output
def joint(
    inputs: Inputs,
    lists: RankingPolicies,
    draws: int,
    seed: int,
    per_query: bool,
    output: Output,
) -> None:
    """Show the joint RIC of several systems: their information about the judgments together.

    The null value is the joint RIC of the systems with their ranks shuffled among the judged documents. It shows how
    much of the joint value is chance. The corrected value is the information beyond chance, with its standard error. It
    is 0 for systems without information, and for copies of one system it is the RIC of that system.

    \b
    calipers information joint qrels.txt a.run b.run c.run
    """
    from calipers.questions.information.joint_information import joint as joint_of

    given = lists.experiment(inputs)
    with progress(len(given.judgments.queries), "queries") as advance:
        found = joint_of(given.changed(progress=advance), rel=lists.rel, cut=lists.cut, draws=draws, seed=seed)
    warn(found.notes, lists.strict)
    _note_skipped(found.skipped, len(given.judgments.queries))
    note(f"null value: {draws} draws, seed {seed}")
    best = found.alone.mean(axis=1)
    note(f"best single system: {found.systems[int(best.argmax())]}, RIC {best.max():.4f}")
    _write(found, per_query, output)


# -- information difference --------------------------------------------------------------------------


@command.command("difference")
@inputs(measures=False)
@_lists
@click.option("--limit", "top", type=WholeNumber(1), metavar="N", help="Show only the N most similar pairs.")
@click.option(
    "--groups",
    metavar="FILE",
    help="CSV file whose first two columns are systems and groups: count the pairs within a group.",
)
@plot_option("dendrogram, heat map and scatter")
@output
def difference(
    inputs: Inputs,
    lists: RankingPolicies,
    top: int | None,
    groups: str | None,
    plot: str | None,
    output: Output,
) -> None:
    """Show the information difference of each pair of systems, most similar pairs first.

    \b
    calipers information difference qrels.txt runs/* --plot difference.html
    calipers information difference qrels.txt runs/* --groups teams.csv --format csv
    """
    from calipers.questions.information.information_difference import difference as difference_of

    of_group = None if groups is None else read_system_groups(groups)
    given = lists.experiment(inputs)
    with progress(len(given.judgments.queries), "queries") as advance:
        found = difference_of(given.changed(progress=advance), rel=lists.rel, cut=lists.cut)
    warn(found.notes, lists.strict)
    _note_skipped(found.skipped, len(given.judgments.queries))
    table = found.table()
    if of_group is not None:
        _note_groups(table, of_group, top or 27)
    draw(
        plot,
        lambda charts: charts.stacked(
            charts.dendrogram(found), charts.heat_map(found), charts.difference_scatter(found)
        ),
    )
    output.write_result(found, {"pairs": ("", table if top is None else table.changed(rows=table.rows[:top]))})


def _note_groups(table: Any, groups: dict[str, str], top: int) -> None:
    from calipers.questions.information.information_difference import same_group_share

    shown = min(top, len(table.rows))
    by_bits, by_ap = (same_group_share(table, groups, top, by) for by in ("information_difference", "delta_ap"))
    note(f"same group: {by_bits:.1%} of the {shown} most similar pairs, {by_ap:.1%} of the {shown} pairs nearest in AP")
    unknown = {name for row in table.rows for name in row[:2]} - set(groups)
    if unknown:
        note(f"warning: {counted(len(unknown), 'system')} without a group: {some(sorted(map(str, unknown)))}")


# -- information tau ---------------------------------------------------------------------------------


@command.command("tau")
@score_files
@click.option("--x", metavar="MEASURE", help="One measure [default: all pairs of measures].")
@click.option("--y", metavar="MEASURE", help="The measure to compare it with.")
@click.option("--given", multiple=True, metavar="MEASURE", help="A measure that is taken as known. May be repeated.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAMES",
    help="Names of the measures, for matrices without names.",
)
@click.option(
    "--ties",
    type=LibraryChoice("calipers.questions.information.information_tau:TIES"),
    default="null",
    show_default=True,
    help="Tied systems: a third outcome (null), or left out (drop).",
)
@click.option("-q", "--per-query", is_flag=True, help="One row per query instead of means.")
@max_unpacked_option
@strict_option
@plot_option("the value of each query with and without the given measures")
@output
def tau(
    scores: ScoreFiles,
    x: str | None,
    y: str | None,
    given: tuple[str, ...],
    ties: str,
    per_query: bool,
    plot: str | None,
    output: Output,
) -> None:
    """Show how similarly measures order the systems, in bits, also given other measures.

    SCORES are CSV files from evaluate --per-query, or matrices of queries x systems, one measure per file.

    \b
    calipers information tau scores.csv --x ERR --y nDCG --given AP
    calipers information tau err.csv ndcg.csv ap.csv --given ap
    """
    from calipers.questions.information.information_tau import tau as tau_of

    found = tau_of(scores.open(), x=x, y=y, given=given, ties=ties)
    undefined = int((found.values != found.values).any(axis=0).sum())
    if undefined:
        note(f"{undefined} of {len(found.queries)} queries have no pair of systems that counts; they are skipped")
    draw(plot, lambda charts: charts.tau_scatter(found))
    _write(found, per_query, output)


# -- shared functions --------------------------------------------------------------------------------


def _write(found: Result, per_query: bool, output: Output) -> None:
    """Write the means, or the values per query."""
    name = "queries" if per_query else "means"
    output.write_result(found, {name: ("", found.table(name))})


def _note_skipped(skipped: int, queries: int) -> None:
    if skipped:
        note(
            f"{skipped} of {counted(queries, 'query')} skipped: all judged documents have the same grade, or none is "
            "relevant"
        )
