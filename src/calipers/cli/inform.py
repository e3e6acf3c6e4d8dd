"""The command `calipers inform`."""

from __future__ import annotations

from collections.abc import Sequence
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
from calipers.errors import CalipersError
from calipers.plurals import counted
from calipers.results.messages import some

if TYPE_CHECKING:
    from calipers.collection.judgments import Judgments
    from calipers.collection.runs import Run
    from calipers.information.rankings import Rankings
    from calipers.information.ric_scores import RicStudy


@click.group("inform", cls=GroupOfCommands)
def command() -> None:
    """What rankings tell about the judgments, in bits.

    \b
    calipers inform ric qrels.txt runs/*                         RIC of each system beside AP and nDCG
    calipers inform joint qrels.txt a.run b.run c.run            how much the systems know together
    calipers inform difference qrels.txt runs/* --plot d.html    which systems are the same underneath
    calipers inform tau scores.csv --x ERR --y nDCG --given AP   how alike measures are, given others
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
    calipers inform ric qrels.txt runs/* --format csv
    """  # fmt: skip
    from calipers.information.preference_ric import preference_ric_of
    from calipers.information.ric_scores import ric_study

    known, runs = inputs.open()
    if known.pool.kind == "preferences":
        found = preference_ric_of(_rankings(known, runs, lists), jobs=lists.jobs)
        warn(found.notes, lists.strict)
        _note_skipped(found.skipped, len(known.queries))
        output.write(found.per_query() if per_query else found.table())
        return
    with progress(len(runs), "runs") as advance:
        study = ric_study(
            known, runs, rel=lists.rel, cut=lists.cut, ties=lists.ties, depth=lists.depth, jobs=lists.jobs,
            progress=advance, warn=False,
        )  # fmt: skip
    warn(study.notes, lists.strict)
    _note_skipped(study.skipped, len(known.queries))
    _note_wrong_way_round(study)
    output.write(study.scores.per_query() if per_query else study.table())


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
    calipers inform joint qrels.txt a.run b.run c.run
    """
    from calipers.information.joint import joint_of
    from calipers.information.sign_patterns import check_number_of_lists

    known, runs = inputs.open()
    check_number_of_lists(len(runs))
    rankings = _rankings(known, runs, lists)
    with progress(len(known.queries), "queries") as advance:
        found = joint_of(rankings, draws, seed, advance, lists.jobs)
    warn(found.notes, lists.strict)
    _note_skipped(found.skipped, len(known.queries))
    note(f"null value: {draws} draws, seed {seed}")
    best = found.alone.mean(axis=1)
    note(f"the best of them alone: {found.systems[int(best.argmax())]}, RIC {best.max():.4f}")
    output.write(found.per_query() if per_query else found.table())


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
    click.option("--bin-kind", type=LibraryChoice("calipers.information.difference:BIN_KINDS"), default="size",
                 show_default=True,
                 help="With --bins: the same number of systems in each bin (size), or the same range of AP (width)."),
)  # fmt: skip


@command.command("difference")
@inputs(measures=False)
@_lists
@_binning
@click.option("--top", type=WholeNumber(1), metavar="N", help="Only the N most alike pairs.")
@click.option(
    "--groups",
    metavar="FILE",
    help="CSV whose first two columns are systems and their groups: count pairs of one group.",
)
@click.option(
    "--linkage",
    type=LibraryChoice("calipers.information.difference:LINKAGES"),
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
    calipers inform difference qrels.txt runs/* --plot difference.html
    calipers inform difference qrels.txt runs/* --bins 20 --groups teams.csv --format csv
    """  # fmt: skip
    from calipers.collection.preferences import Preferences
    from calipers.collection.runs import RememberedRun
    from calipers.evaluation.evaluation import evaluate
    from calipers.information.difference import difference_of
    from calipers.results.tables import Table

    of_group = None if groups is None else read_system_groups(groups)
    known, opened = inputs.open()
    runs = [RememberedRun(run) for run in opened]
    if len(runs) < 2:
        raise CalipersError(f"there is only one system ({runs[0].name}): nothing to compare it with")
    rankings = _rankings(known, runs, lists)
    graded = known.judgments if isinstance(known, Preferences) else known
    scores = evaluate(
        graded, runs, f"AP(rel={lists.rel:g})", ties=lists.ties, depth=lists.depth, empty="skip", jobs=lists.jobs,
        unmatched="warn", warn=False,
    )  # fmt: skip
    with progress(len(known.queries), "queries") as advance:
        found = difference_of(rankings, scores.values[0], advance, lists.jobs)
    warn(found.notes, lists.strict)
    _note_skipped(found.skipped, len(known.queries))
    table = found.table() if binning.bins is None else found.within_bins(binning.bins, binning.bin_kind)
    if of_group is not None:
        _note_groups(table, of_group, top or 27)
    draw(
        plot,
        lambda charts: charts.stacked(
            charts.dendrogram(found, linkage), charts.heat_map(found), charts.difference_scatter(found)
        ),
    )
    output.write(table if top is None else Table(table.columns, table.rows[:top]))


def _note_groups(table: Any, groups: dict[str, str], top: int) -> None:
    from calipers.information.difference import same_group_share

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
    type=LibraryChoice("calipers.information.tau:TIES"),
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
    calipers inform tau scores.csv --x ERR --y nDCG --given AP
    calipers inform tau err.csv ndcg.csv ap.csv --given ap
    """  # fmt: skip
    from calipers.information.tau import tau_of_measures

    found = tau_of_measures(scores.open(), x, y, given, ties=ties)
    undefined = int((found.values != found.values).any(axis=0).sum())
    if undefined:
        note(f"{undefined} of {len(found.queries)} queries have no pair of systems that counts; skipped")
    draw(plot, lambda charts: charts.tau_scatter(found))
    output.write(found.per_query() if per_query else found.table())


# -- what they share ---------------------------------------------------------------------------------


def _rankings(known: Judgments, runs: Sequence[Run], lists: RankingPolicies) -> Rankings:
    from calipers.information.rankings import Rankings

    with progress(len(runs), "runs") as advance:
        rankings = Rankings.of(known, list(runs), lists.rel, lists.ties, lists.depth, lists.jobs, advance, lists.cut)
    if len(rankings.finds_nothing) == len(rankings.systems):
        raise CalipersError(f"none of the runs retrieves a document that {known.name} judges")
    return rankings


def _note_skipped(skipped: int, queries: int) -> None:
    if skipped:
        note(
            f"{skipped} of {counted(queries, 'query')}: judgments that tell no documents apart, or none relevant; "
            "skipped"
        )
