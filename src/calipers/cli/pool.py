"""calipers pool"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.options import (
    FILE,
    FORMATS,
    OUTPUT,
    columns_option,
    jobs_option,
    max_unpacked_option,
    measures_option,
    memory_option,
    note,
    open_judgments,
    open_systems,
    plot_option,
    progress,
    read_groups,
    safe_csv_option,
    systems_as_option,
    write,
)
from calipers.cli.options import TABLES as TABLE_FORMS
from calipers.cli.printing import write_text
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.collection.model import Run
    from calipers.unjudged.judging_pools import JudgingPool

METHODS = ("depth", "rbp", "interleaved", "next")  # unjudged.judging_pools.METHODS, which would load NumPy


@click.command("pool")
@click.argument("systems", nargs=-1, required=True, metavar="SYSTEM...", type=FILE)
@click.option("--depth", type=click.IntRange(min=1), help="Only the first so many documents of each list.")
@click.option("--budget", type=click.IntRange(min=1), help="At most so many documents, over all queries.")
@click.option("--judged", metavar="JUDGMENTS", type=FILE,
              help="What is judged already; with measures: judge next what decides most.")  # fmt: skip
@click.option("--method", type=click.Choice(METHODS),
              help="By depth, by the weights of RBP, interleaved by system, or what decides most next [default: next "
                   "with --judged and -m, else depth with --depth, else rbp].")  # fmt: skip
@click.option("-p", "persistence", type=float, default=0.8, show_default=True, help="The persistence of RBP.")
@measures_option
@click.option("--unseen", type=click.IntRange(min=0), default=0, show_default=True, metavar="N",
              help="Of the method next: documents that nobody retrieved.")  # fmt: skip
@click.option("--max-grade", type=float, metavar="GRADE",
              help="Of the method next: the largest grade that a document may get.")  # fmt: skip
@click.option("--shares", is_flag=True, help="Instead: the share of each system's score that the pool covers.")
@click.option("--simulate", metavar="JUDGMENTS", type=FILE,
              help="Instead: hide these judgments, and see how fast ways of judging settle the order.")  # fmt: skip
@click.option("--steps", type=click.IntRange(min=2), default=20, show_default=True,
              help="Of --simulate: how often it is looked at.")  # fmt: skip
@click.option("--leave-out", metavar="CSV", type=FILE,
              help="Instead: what each run and group loses where documents that it alone found are unjudged; CSV "
                   "whose first two columns are systems and their groups. Needs --judged.")  # fmt: skip
@plot_option("the curves of --simulate")
@systems_as_option("SYSTEM", "run", *TABLE_FORMS)
@columns_option
@max_unpacked_option
@memory_option
@jobs_option
@click.option("--format", type=click.Choice((*FORMATS, "qrels", "jsonl")), default="table", show_default=True,
              help="For a terminal, other programs or papers; for judging, qrels with an empty grade or JSON "
                   "lines.")  # fmt: skip
@safe_csv_option
@click.option("-o", "--output", metavar="FILE", type=OUTPUT, help="Write there instead of to the screen.")
def command(
    systems: tuple[str, ...],
    depth: int | None,
    budget: int | None,
    judged: str | None,
    method: str | None,
    persistence: float,
    measures: tuple[str, ...],
    unseen: int,
    max_grade: float | None,
    shares: bool,
    simulate: str | None,
    steps: int,
    leave_out: str | None,
    plot: str | None,
    jobs: int | None,
    format: str,
    output: str | None,
) -> None:
    """Which documents to judge, what is worth most first.

    \b
    calipers pool runs/* --depth 20
    calipers pool runs/* --budget 100 --method rbp --format qrels
    calipers pool runs/* --judged qrels.txt --budget 200 -m "nDCG@10"
    calipers pool runs/* --simulate qrels.txt -m "nDCG@10" --steps 5
    calipers pool runs/* --judged qrels.txt --leave-out groups.csv -m "AP nDCG@10"
    """
    if simulate is not None and leave_out is not None:
        raise CalipersError("choose either --simulate or --leave-out")
    if plot is not None and simulate is None:
        raise CalipersError("--plot draws the curves of --simulate")
    runs = open_systems(systems)
    if (simulate is not None or leave_out is not None) and format in ("qrels", "jsonl"):
        raise CalipersError(f"--format {format} is for pools")
    if simulate is not None:
        _simulate(simulate, runs, measures, steps, budget, jobs, plot, format, output)
        return
    if leave_out is not None:
        _leave_out(leave_out, judged, runs, measures, depth, jobs, format, output)
        return
    from calipers.unjudged.judging_pools import pool

    known = None if judged is None else open_judgments(judged)
    with progress(len(runs), "runs") as advance:
        found = pool(
            runs, depth, judged=known, budget=budget, measures=measures or None, method=method, p=persistence,
            unseen=unseen, max_grade=max_grade, jobs=jobs, progress=advance,
        )  # fmt: skip
    _say(found)
    if shares:
        write(found.shares, "table" if format in ("qrels", "jsonl") else format, output)
    elif format == "qrels":
        write_text(found.to_qrels(), output)
    elif format == "jsonl":
        write_text(found.to_jsonl(), output)
    else:
        write(found.table(), format, output)


def _say(found: JudgingPool) -> None:
    if found.open_pairs is not None:
        note(f"{found.open_pairs} {'pair is' if found.open_pairs == 1 else 'pairs are'} open")
        if not found.open_pairs:
            note("no judgment can change the order of any two systems: there is nothing to judge next")
    note(f"{len(found):,} documents to judge, of {len(set(found.query))} queries (method {found.method})")
    rows: dict[str, list[tuple[float, str]]] = {}
    for system, measure, share in found.shares.rows:
        rows.setdefault(str(measure), []).append((float(share or 0.0), str(system)))
    for measure, covered in rows.items():
        mean = sum(share for share, _ in covered) / len(covered)
        least, system = min(covered)
        note(f"judged or in the pool is {mean:.1%} of the weight of {measure} (least {least:.1%}, {system})")


def _simulate(
    judgments: str, runs: list[Run], measures: tuple[str, ...], steps: int, budget: int | None, jobs: int | None,
    plot: str | None, format: str, output: str | None,
) -> None:  # fmt: skip
    from calipers.measures.grammar import parse_all
    from calipers.unjudged.simulation import WAYS, simulate_judging

    named = [name for name, _ in parse_all(measures or "nDCG@10")]
    if len(named) > 1:
        raise CalipersError(f"--simulate is of one measure, not of {', '.join(named)}")
    known = open_judgments(judgments)
    with progress(len(WAYS) * (steps + 1), "steps") as advance:
        found = simulate_judging(known, runs, named[0], steps=steps, budget=budget, jobs=jobs, progress=advance)
    for way, needed in found.needed().items():
        said = f"after {needed:,} of {found.documents:,} judgments" if needed is not None else "is not reached"
        note(f"{way}: tau of 0.9 with the order under all judgments {said}")
    write(found.table(), format, output)
    if plot is not None:
        from calipers import plot as charts

        charts.save(charts.judging_curves(found), plot)


def _leave_out(
    groups: str, judged: str | None, runs: list[Run], measures: tuple[str, ...], depth: int | None, jobs: int | None,
    format: str, output: str | None,
) -> None:  # fmt: skip
    from calipers.measures.grammar import DEFAULT_MEASURES
    from calipers.unjudged.uniques import leave_out_uniques

    if judged is None:
        raise CalipersError("--leave-out needs the judgments: --judged FILE")
    named: Any = measures or DEFAULT_MEASURES
    known = open_judgments(judged)
    of_groups = read_groups(groups, {run.name for run in runs})
    with progress(len(runs), "runs") as advance:
        found = leave_out_uniques(
            known, runs, named, groups=of_groups, depth=depth, jobs=jobs, progress=advance
        )  # fmt: skip
    lost, several = found.score - found.without_group, len(found.systems)
    for name, of_measure in zip(found.measures, lost, strict=True):
        worst = int(abs(of_measure).argmax())
        said = f", tau {found.tau()[name]:.3f}" if several > 1 else ""
        note(f"{name}: {found.systems[worst]} changes most without its group, by {-of_measure[worst]:+.4f}{said}")
    write(found.table(), format, output)
