"""The command `calipers fuse`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.inputs import Runs
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    FILE,
    NOT_NEGATIVE,
    NUMBER,
    OUTPUT,
    TABLES_OR_RUN,
    WholeNumber,
    columns_apart,
    columns_option,
    combine_option,
    drop_own_ids_option,
    jobs_option,
    max_unpacked_option,
    note,
    progress,
    query_ids_option,
    rollup_options,
    show,
    strict_option,
    systems_as_option,
    warn,
)
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.questions.fuse.combine import FusedRun


@dataclass(frozen=True)
class Fusion:
    """Options of the fusion method."""

    method: str | None
    normalize: str
    weights: tuple[str, ...]
    constant: float
    persistence: float


@dataclass(frozen=True)
class Bound:
    """Bound of fusions to compute instead, and its judgments."""

    rule: str | None
    qrels: str | None
    by: str
    votes: str


@dataclass(frozen=True)
class Kept:
    """Number of documents to read and to keep, and the name of the fused run."""

    depth: int | None
    keep: int | None
    name: str | None


@grouped_command("fuse")
@option_group("runs", Runs)
@option_group("fusion", Fusion)
@option_group("bound", Bound)
@option_group("kept", Kept)
@click.argument("systems", nargs=-1, required=True, metavar="RUN...", type=FILE)
@click.option(
    "--method",
    type=LibraryChoice("calipers.support.choices:FusionMethod", case_sensitive=False),
    help="Method of fusion [default: combmnz].",
)
@click.option(
    "--normalize",
    type=LibraryChoice("calipers.support.choices:ScoreScaling"),
    default="minmax",
    show_default=True,
    help="Normalisation of the scores of each list, for the comb methods.",
)
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NUMBER|NAME=NUMBER",
    help="Weight of a run, in the order of the runs or by name. Repeat the option for each run.",
)
@click.option("-k", "constant", type=NUMBER, default=60.0, show_default=True, help="The constant of rrf.")
@click.option("-p", "persistence", type=NOT_NEGATIVE, default=0.8, show_default=True, help="The persistence of rbc.")
@click.option(
    "--bound",
    "rule",
    type=LibraryChoice("calipers.support.choices:FusionBound"),
    help="Write the best fusion for a user who knows the judgments instead. naive is an upper bound on every fusion. "
    "pareto and majoritarian have the largest AP among orders that respect unanimity or the majority of the runs. "
    "Needs --qrels.",
)
@click.option("--qrels", metavar="JUDGMENTS", type=FILE, help="Judgments for --bound.")
@click.option(
    "--by",
    type=LibraryChoice("calipers.questions.fuse.oracles:BY"),
    default="search",
    show_default=True,
    help="For --bound pareto or majoritarian: search for the best order, or sort with Montague's comparator.",
)
@click.option(
    "--votes",
    type=LibraryChoice("calipers.questions.fuse.oracles:VOTES"),
    default="all",
    show_default=True,
    help="For --by sort: count the votes of all runs (all), or of the runs that retrieve one of the two documents "
    "(cast). half is like cast, but equal votes keep the order instead of comparing grades.",
)
@click.option("--depth", type=WholeNumber(1), help="Fuse only the first N documents of each list.")
@click.option("--keep", type=WholeNumber(1), help="Keep only the first N documents of each fused list.")
@click.option("--name", help="Name (tag) of the fused run [default: the method or bound].")
@systems_as_option("RUN", TABLES_OR_RUN)
@columns_option
@columns_apart
@combine_option
@rollup_options
@drop_own_ids_option
@query_ids_option
@max_unpacked_option
@strict_option
@jobs_option
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OUTPUT,
    help="Write to this file, in TREC's format or the format of the ending (.json, .parquet, .run.gz ...).",
)
def command(
    runs: Runs,
    fusion: Fusion,
    bound: Bound,
    kept: Kept,
    strict: bool,
    jobs: int | None,
    output: str | None,
) -> None:
    """Fuse several runs into one, or compute an upper bound on the score of their fusions.

    \b
    calipers fuse runs/* --method combmnz --normalize minmax -o fused.run
    calipers fuse a.run b.run --method rrf --weight 2 --weight 1
    calipers fuse runs/* --bound naive --qrels qrels.txt -o ceiling.run
    """
    if bound.rule is None and bound.qrels is not None:
        raise CalipersError("--qrels needs --bound: a fusion does not use judgments")
    if bound.rule is None and (bound.by, bound.votes) != ("search", "all"):
        raise CalipersError("--by and --votes need --bound")
    if bound.by == "search" and bound.votes != "all":
        raise CalipersError("--votes needs --by sort")
    if bound.rule is not None and (fusion.method is not None or fusion.weights):
        raise CalipersError("--bound cannot be combined with --method or --weight")
    if bound.rule is not None and bound.qrels is None:
        raise CalipersError("--bound needs judgments: add --qrels FILE")
    opened = runs.runs()
    from calipers.questions.fuse.combine import fuse
    from calipers.questions.fuse.oracles import fusion_bound, oracle_note

    with progress(len(opened), "runs") as advance:
        if bound.rule is not None and bound.qrels is not None:
            known = runs.read_judgments(bound.qrels)
            made = fusion_bound(
                known,
                opened,
                bound.rule,
                by=bound.by,
                votes=bound.votes,
                **vars(kept),
                jobs=jobs,
                progress=advance,
                warn=False,
            )
        else:
            made = fuse(
                opened,
                fusion.method or "combmnz",
                normalize=fusion.normalize,
                weights=_weights(fusion.weights),
                k=fusion.constant,
                p=fusion.persistence,
                **vars(kept),
                jobs=jobs,
                progress=advance,
                warn=False,
            )
    if bound.rule is not None:
        note(oracle_note(bound.rule, made))
    warn(made.fusion_notes, strict)
    _write(made, output)


def _weights(given: tuple[str, ...]) -> list[float] | dict[str, float] | None:
    if not given:
        return None
    named = [text.rpartition("=") for text in given]
    try:
        numbers = [float(number) for _, _, number in named]
    except ValueError:
        raise CalipersError(f"--weight {' '.join(given)}: expected numbers, or NAME=NUMBER") from None
    if all(equals for _, equals, _ in named):
        return dict(zip((name for name, _, _ in named), numbers, strict=True))
    if any(equals for _, equals, _ in named):
        raise CalipersError("--weight: give all weights by name, or all in the order of the runs")
    return numbers


def _write(made: FusedRun, output: str | None) -> None:
    from calipers.collection.writing import write_run

    if output is not None and output != "-":
        write_run(made, output)
        note(f"wrote {output}: {made.name} of {made.size}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fused.run"
        write_run(made, path)
        show(path.read_bytes().decode("utf-8", "surrogateescape"))
