"""calipers study: experiments of the papers, on your own data."""

from __future__ import annotations

import click

from calipers.cli.options import judgments_and_systems, note, open_collection, output_options, progress, warn, write


@click.group("study")
def command() -> None:
    """The experiments of the papers, on any collection.

    \b
    calipers study fusion qrels.txt runs/* --samples 100 --size 10    joint RIC of systems against their fusions
    """


@command.command("fusion")
@judgments_and_systems
@click.option("--samples", type=click.IntRange(min=2), default=100, show_default=True, help="Groups to draw.")
@click.option("--size", type=click.IntRange(min=2, max=40), default=10, show_default=True, help="Systems of a group.")
@click.option(
    "--fusion",
    "fusions",
    multiple=True,
    metavar="NAME",
    help="A method or bound of `calipers fuse`; repeated [default: combanz, combmnz, condorcet, bounds].",
)
@click.option("--normalize", default="minmax", show_default=True, help="As for `calipers fuse`.")
@click.option("--rel", type=float, default=1.0, show_default=True, help="The smallest grade that is relevant.")
@click.option("--depth", type=click.IntRange(min=1), help="Cut every list after so many documents.")
@click.option(
    "--draws", type=click.IntRange(min=1), default=5, show_default=True, help="Of the null value, for each group."
)
@click.option("--seed", default=42, show_default=True)
@click.option("--per-sample", is_flag=True, help="One row a group instead of correlations.")
@click.option("--plot", metavar="FILE", help="Draw RIC of fusions against joint RIC, as .html, .svg or .png.")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option("--jobs", type=click.IntRange(min=1), help="Threads that read files [default: the cores].")
@output_options
def fusion(
    judgments: str,
    systems: tuple[str, ...],
    judgments_as: str | None,
    systems_as: str | None,
    max_unpacked: float | None,
    samples: int,
    size: int,
    fusions: tuple[str, ...],
    normalize: str,
    rel: float,
    depth: int | None,
    draws: int,
    seed: int,
    per_sample: bool,
    plot: str | None,
    strict: bool,
    jobs: int | None,
    form: str,
    output: str | None,
) -> None:
    """How far fusion gets of what systems know together (document 004, section 6).

    Draws groups of systems; compares the joint RIC of each with RIC of its fusions and of the upper bounds on them.

    \b
    calipers study fusion qrels.txt runs/* --samples 100 --size 10 --plot fusion.html
    """  # fmt: skip
    from calipers.fusion.study import FUSIONS, fusion_study

    known, runs = open_collection(judgments, systems, judgments_as, systems_as, max_unpacked)
    with progress(samples, "groups") as advance:
        study = fusion_study(
            known, runs, samples=samples, size=size, fusions=fusions or FUSIONS, normalize=normalize, rel=rel,
            depth=depth, draws=draws, seed=seed, jobs=jobs, progress=advance,
        )  # fmt: skip
    if study.skipped:
        note(f"{study.skipped} of {len(known.queries)} queries have judgments that tell no documents apart; skipped")
    joint, null = float(study.joint.mean()), float(study.null.mean())
    note(f"{samples} groups of {size} of {len(study.systems)} systems, seed {seed}; joint RIC {joint:.4f}, "
         f"of systems that know nothing {null:.4f}")  # fmt: skip
    if 2 * null > joint:
        warn(["the joint value is mostly bias: take smaller groups, or more judged documents"], strict)
    if plot:
        from calipers import plot as charts

        charts.save(charts.fusion_scatter(study), plot)
        note(f"wrote {plot}")
    write(study.per_sample() if per_sample else study.table(), form, output)
