"""The command `calipers information`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.choices import TieRule
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
from calipers.plurals import counted
from calipers.results.messages import some

if TYPE_CHECKING:
    from calipers.experiment import Experiment
    from calipers.information.ric_of_preferences import PreferenceRic
    from calipers.information.ric_scores import RicStudy
    from calipers.results.result import Result


@click.group("information", cls=GroupOfCommands)
def command() -> None:
    """What rankings tell about the judgments, in bits.

    \b
    calipers information ric qrels.txt runs/*                         RIC of each system beside AP and nDCG
    calipers information joint qrels.txt a.run b.run c.run            how much the systems know together
    calipers information difference qrels.txt runs/* --plot d.html    which systems are the same underneath
    calipers information tau scores.csv --x ERR --y nDCG --given AP   how alike measures are, given others
    """


@dataclass(frozen=True)
class RankingPolicies:
    """How lists are read, whether warnings are errors, and how many threads read."""

    rel: float
    cut: str
    ties: TieRule
    depth: int | None
    strict: bool
    jobs: int | None

    def experiment(self, inputs: Inputs, progress: Callable[[int], None] | None = None) -> Experiment:
        """Return the experiment of some inputs."""
        return inputs.experiment(ties=self.ties, depth=self.depth, jobs=self.jobs, progress=progress)


_lists = option_group(
    "lists", RankingPolicies,
    click.option("--rel", type=NUMBER, default=1.0, show_default=True,
                 help="The smallest grade that is relevant."),
    click.option("--cut", type=LibraryChoice("calipers.measures.information:CUTS"), default="relevant",
                 show_default=True, help="Cut each list after its last relevant document, or not at all (none)."),
    click.option("--ties", type=LibraryChoice("calipers.choices:TieRule"), default="average", show_default=True,
                 help="What documents of equal score count as; average takes a tied pair half each way."),
    depth_option,
    strict_option,
    jobs_option,
)  # fmt: skip


# -- RIC ---------------------------------------------------------------------------------------------


@command.command("ric")
@inputs(measures=False)
@_lists
@click.option("-q", "--per-query", is_flag=True, help="One row per system and query instead of means.")
@output
def ric(inputs: Inputs, lists: RankingPolicies, per_query: bool, output: Output) -> None:
    """Relevance information correlation of each system, beside AP and nDCG.

    Plain RIC rewards lists that are the wrong way round; signed counts them below 0. JUDGMENTS may be preferences
    (--judgments-as preferences: query document document, the better one first); then without AP and nDCG, and beside
    what shuffled lists would get.

    \b
    calipers information ric qrels.txt runs/* --format csv
    """  # fmt: skip
    from calipers.collection.preferences import Preferences
    from calipers.information.ric_of_preferences import preference_ric
    from calipers.information.ric_scores import RicStudy
    from calipers.information.ric_scores import ric as ric_of

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
            f"{wrong.sum()} of {wrong.size} lists have more pairs in the wrong order than in the right one (at most "
            f"{counts[most]} of {wrong.shape[1]}, {study.systems[most]}); RIC rewards that, signed counts it below 0"
        )


# -- joint RIC ---------------------------------------------------------------------------------------


@command.command("joint")
@inputs(measures=False)
@_lists
@click.option(
    "--draws", type=click.IntRange(2, 100_000), default=20, show_default=True, help="Draws of the null value."
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
    """How much some systems know together: their joint RIC.

    Beside it stands what the same systems get with their ranks shuffled among the judged documents. They then know
    nothing, so that value is chance, and part of the joint value is too. The corrected value is what is left above
    chance: 0 for systems that know nothing, the RIC of one system for copies of it; with its standard error.

    \b
    calipers information joint qrels.txt a.run b.run c.run
    """
    from calipers.information.joint_information import joint as joint_of

    given = lists.experiment(inputs)
    with progress(len(given.judgments.queries), "queries") as advance:
        found = joint_of(given.changed(progress=advance), rel=lists.rel, cut=lists.cut, draws=draws, seed=seed)
    warn(found.notes, lists.strict)
    _note_skipped(found.skipped, len(given.judgments.queries))
    note(f"null value: {draws} draws, seed {seed}")
    best = found.alone.mean(axis=1)
    note(f"the best system alone: {found.systems[int(best.argmax())]}, RIC {best.max():.4f}")
    _write(found, per_query, output)


# -- information difference --------------------------------------------------------------------------


@dataclass(frozen=True)
class Binning:
    """Bins of AP, whose pairs of systems are shown."""

    bins: int | None
    bin_kind: str


_binning = option_group(
    "binning", Binning,
    click.option("--bins", type=WholeNumber(1), metavar="N",
                 help="Only pairs of like AP: those in one of N bins of AP (Golbus & Aslam (2013) has 20)."),
    click.option("--bin-kind", type=LibraryChoice("calipers.information.information_difference:BIN_KINDS"),
                 default="size", show_default=True,
                 help="With --bins: the same number of systems in each bin (size), or the same range of AP (width)."),
)  # fmt: skip


@command.command("difference")
@inputs(measures=False)
@_lists
@_binning
@click.option("--limit", "top", type=WholeNumber(1), metavar="N", help="Only the N most alike pairs.")
@click.option(
    "--groups",
    metavar="FILE",
    help="CSV whose first two columns are systems and their groups: count pairs of one group.",
)
@click.option(
    "--linkage",
    type=LibraryChoice("calipers.information.information_difference:LINKAGES"),
    default="average",
    show_default=True,
    help="How clusters of the dendrogram are joined.",
)
@plot_option("dendrogram, heat map and scatter")
@output
def difference(
    inputs: Inputs,
    lists: RankingPolicies,
    binning: Binning,
    top: int | None,
    groups: str | None,
    linkage: str,
    plot: str | None,
    output: Output,
) -> None:
    """Which systems are the same underneath: the information difference of each two, the most alike first.

    \b
    calipers information difference qrels.txt runs/* --plot difference.html
    calipers information difference qrels.txt runs/* --bins 20 --groups teams.csv --format csv
    """  # fmt: skip
    from calipers.information.information_difference import difference as difference_of

    of_group = None if groups is None else read_system_groups(groups)
    given = lists.experiment(inputs)
    with progress(len(given.judgments.queries), "queries") as advance:
        found = difference_of(given.changed(progress=advance), rel=lists.rel, cut=lists.cut)
    warn(found.notes, lists.strict)
    _note_skipped(found.skipped, len(given.judgments.queries))
    table = found.table() if binning.bins is None else found.within_bins(binning.bins, binning.bin_kind)
    if of_group is not None:
        _note_groups(table, of_group, top or 27)
    draw(
        plot,
        lambda charts: charts.stacked(
            charts.dendrogram(found, linkage), charts.heat_map(found), charts.difference_scatter(found)
        ),
    )
    output.write_result(found, {"pairs": ("", table if top is None else table.changed(rows=table.rows[:top]))})


def _note_groups(table: Any, groups: dict[str, str], top: int) -> None:
    from calipers.information.information_difference import same_group_share

    shown = min(top, len(table.rows))
    by_bits, by_ap = (same_group_share(table, groups, top, by) for by in ("information_difference", "delta_ap"))
    note(f"of the {shown} most alike pairs {by_bits:.1%} are of one group; of the {shown} nearest in AP {by_ap:.1%}")
    unknown = {name for row in table.rows for name in row[:2]} - set(groups)
    if unknown:
        note(f"warning: {counted(len(unknown), 'system')} without a group: {some(sorted(map(str, unknown)))}")


# -- information tau ---------------------------------------------------------------------------------


@command.command("tau")
@score_files
@click.option("--x", metavar="MEASURE", help="One measure [default: all pairs of measures].")
@click.option("--y", metavar="MEASURE", help="The measure to compare it with.")
@click.option("--given", multiple=True, metavar="MEASURE", help="A measure that is taken as known; may be repeated.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAMES",
    help="The names of the measures, for matrices whose files do not tell.",
)
@click.option(
    "--ties",
    type=LibraryChoice("calipers.information.information_tau:TIES"),
    default="null",
    show_default=True,
    help="Systems that tie: a value of their own, or left out.",
)
@click.option("-q", "--per-query", is_flag=True, help="One row per query instead of means.")
@max_unpacked_option
@strict_option
@plot_option("each query without and with what is given")
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
    """How alike measures order the systems, in bits, also given other measures.

    SCORES are CSV files as evaluate --per-query writes them, or matrices of queries x systems, one measure per file.

    \b
    calipers information tau scores.csv --x ERR --y nDCG --given AP
    calipers information tau err.csv ndcg.csv ap.csv --given ap
    """  # fmt: skip
    from calipers.information.information_tau import tau as tau_of

    found = tau_of(scores.open(), x=x, y=y, given=given, ties=ties)
    undefined = int((found.values != found.values).any(axis=0).sum())
    if undefined:
        note(f"{undefined} of {len(found.queries)} queries have no pair of systems that counts; skipped")
    draw(plot, lambda charts: charts.tau_scatter(found))
    _write(found, per_query, output)


# -- what they share ---------------------------------------------------------------------------------


def _write(found: Result, per_query: bool, output: Output) -> None:
    """Write the means, or the values by query."""
    name = "queries" if per_query else "means"
    output.write_result(found, {name: ("", found.table(name))})


def _note_skipped(skipped: int, queries: int) -> None:
    if skipped:
        note(
            f"{skipped} of {counted(queries, 'query')}: judgments that tell no documents apart, or none relevant; "
            "skipped"
        )
