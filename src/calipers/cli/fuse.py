"""calipers fuse"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.options import (
    FILE,
    OUTPUT,
    TABLES,
    columns_option,
    jobs_option,
    max_unpacked_option,
    note,
    open_judgments,
    open_systems,
    progress,
    show,
    strict_option,
    systems_as_option,
    warn,
)
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.fusion.combine import FusedRun

# fusion.methods.METHODS, fusion.scaling.SCALINGS and fusion.ceiling.BOUNDS, which would load NumPy
METHODS = (
    "combsum", "combmnz", "combanz", "combmin", "combmax", "combmed", "borda", "condorcet", "copeland", "rrf", "rbc",
    "isr",
)  # fmt: skip
SCALINGS = ("minmax", "z", "rank", "sum", "none")
BOUNDS = ("naive", "pareto", "majoritarian")


@click.command("fuse")
@click.argument("systems", nargs=-1, required=True, metavar="RUN...", type=FILE)
@click.option("--method", type=click.Choice(METHODS, case_sensitive=False), help="How to fuse [default: combmnz].")
@click.option(
    "--normalize",
    type=click.Choice(SCALINGS),
    default="minmax",
    show_default=True,
    help="What the comb methods do to the scores of each list first.",
)
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NUMBER|NAME=NUMBER",
    help="Of the runs, in their order or by name; repeated.",
)
@click.option("-k", "constant", type=float, default=60.0, show_default=True, help="The constant of rrf.")
@click.option("-p", "persistence", type=float, default=0.8, show_default=True, help="The persistence of rbc.")
@click.option(
    "--bound",
    type=click.Choice(BOUNDS),
    help="Instead: the most that any fusion could reach (naive), or that one by a rule does, found greedily (pareto, "
    "majoritarian), for one who knows the judgments; needs --qrels.",
)
@click.option("--qrels", metavar="JUDGMENTS", type=FILE, help="The judgments that --bound sorts by.")
@click.option("--depth", type=click.IntRange(min=1), help="Only the first N documents of each list take part.")
@click.option("--keep", type=click.IntRange(min=1), help="Only the first N documents of each fused list.")
@click.option("--name", help="The name (tag) of the fused run [default: the method or bound].")
@systems_as_option("RUN", "run", *TABLES)
@columns_option
@max_unpacked_option
@strict_option
@jobs_option
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OUTPUT,
    help="Write there: TREC's format, or what the ending says (.json, .parquet, .run.gz ...).",
)
def command(
    systems: tuple[str, ...],
    method: str | None,
    normalize: str,
    weights: tuple[str, ...],
    constant: float,
    persistence: float,
    bound: str | None,
    qrels: str | None,
    depth: int | None,
    keep: int | None,
    name: str | None,
    strict: bool,
    jobs: int | None,
    output: str | None,
) -> None:
    """Several runs as one, or what one who knows the judgments could make of them.

    \b
    calipers fuse runs/* --method combmnz --normalize minmax -o fused.run
    calipers fuse a.run b.run --method rrf --weight 2 --weight 1
    calipers fuse runs/* --bound naive --qrels qrels.txt -o ceiling.run
    """  # fmt: skip
    if bound is None and qrels is not None:
        raise CalipersError("--qrels is for --bound: a fusion does not see the judgments")
    if bound is not None and (method is not None or weights):
        raise CalipersError("choose either --bound or a --method (with its --weight)")
    if bound is not None and qrels is None:
        raise CalipersError("--bound needs the judgments: --qrels FILE")
    runs = open_systems(systems)
    from calipers.fusion.combine import fuse
    from calipers.fusion.oracles import GREEDY, fusion_bound

    with progress(len(runs), "runs") as advance:
        if bound is not None and qrels is not None:
            known = open_judgments(qrels)
            made = fusion_bound(known, runs, bound, depth=depth, keep=keep, name=name, jobs=jobs, progress=advance)
        else:
            made = fuse(
                runs, method or "combmnz", normalize=normalize, weights=_weights(weights), depth=depth, keep=keep,
                k=constant, p=persistence, name=name, jobs=jobs, progress=advance,
            )  # fmt: skip
    if bound in GREEDY:
        note(f"{bound}: {GREEDY[bound]}")
    warn(_warnings(made, method or "combmnz", normalize, bound), strict)
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
        raise CalipersError("--weight: either all by name or all in the order of the runs")
    return numbers


def _warnings(made: FusedRun, method: str, normalize: str, bound: str | None) -> list[str]:
    found = []
    reads_scores = method.startswith("comb") and normalize in ("minmax", "z", "sum") and bound is None
    if made.constant and reads_scores:
        found.append(f"{made.constant} lists have one score for all their documents; normalised to 1")
    if made.alone:
        found.append(f"{made.alone} queries are answered by one run alone; they have nothing to be fused with")
    return found


def _write(made: FusedRun, output: str | None) -> None:
    from calipers.collection.writing import write_run

    if output is not None and output != "-":
        write_run(made, output)
        note(f"wrote {output}: {made!r}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fused.run"
        write_run(made, path)
        show(path.read_bytes().decode("utf-8", "surrogateescape"))
