"""calipers compare"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.options import (
    how_to_read,
    judgments_argument,
    list_options,
    measures_option,
    note,
    open_collection,
    optional_systems,
    progress,
    several_output_options,
    significance_options,
    warn,
)
from calipers.cli.score_inputs import are_matrices, open_matrices, write_several

if TYPE_CHECKING:
    from calipers.results.scores import Scores
    from calipers.results.tables import Table
    from calipers.stats.comparison import Comparison

SHOWN = ("pairs", "wins", "matrix")
MANY_PAIRS = 200  # more than this are not shown on a terminal unless asked for


@click.command("compare")
@judgments_argument
@optional_systems
@how_to_read
@measures_option
@significance_options("holm")
@click.option("--baseline", metavar="SYSTEM", help="Compare the other systems with this one only.")
@click.option("--level", type=float, help="Of the confidence intervals [default: 1 - alpha].")
@click.option(
    "--show",
    type=click.Choice(SHOWN),
    multiple=True,
    help="pairs, wins (with letters: systems that share one do not differ) or matrix; may be repeated "
    "[default: pairs and wins as a table, wins alone for many pairs; pairs in the other formats].",
)
@list_options
@several_output_options
def command(
    judgments: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    test: str,
    correction: str,
    baseline: str | None,
    alpha: float,
    level: float | None,
    samples: Any,
    seed: int,
    show: tuple[str, ...],
    strict: bool,
    jobs: int | None,
    form: str,
    output: str | None,
    **policies: Any,
) -> None:
    """Which systems really differ: differences, intervals, p values, effect sizes, who beats whom.

    The inputs are judgments and runs as for evaluate, or one or more CSV files of scores: a row a query and a column a
    system, or system, query and measures as evaluate -q writes them.

    \b
    calipers compare qrels.txt runs/* -m "nDCG@10 AP" --baseline bm25 --correction holm
    calipers compare qrels.txt runs/* -m "AP" --test tukey --show matrix
    calipers compare matrix.csv -m "AP" --test randomization --format csv
    """  # fmt: skip
    from calipers.stats.comparison import compare

    scores = _scores(judgments, systems, measures, strict=strict, jobs=jobs, **policies)
    compared = compare(scores, test, correction, baseline, alpha=alpha, level=level, samples=samples, seed=seed)
    _say(compared, strict)
    write_several(_tables(compared, show, form), form, output)


def _scores(
    judgments: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    *,
    strict: bool,
    jobs: int | None,
    **policies: Any,
) -> Scores:
    from calipers.cli.evaluate import note_undefined
    from calipers.evaluation import evaluate
    from calipers.measures.grammar import DEFAULT_MEASURES, parse_all

    if are_matrices(judgments, systems):
        return open_matrices([judgments, *systems], measures, strict)
    wanted = parse_all(measures or DEFAULT_MEASURES)
    known, runs = open_collection(judgments, systems, (measure for _, measure in wanted))
    with progress(len(runs), "runs") as advance:
        names = [name for name, _ in wanted]
        scores = evaluate(known, runs, names, jobs=jobs, progress=advance, warn=False, **policies)
    warn(scores.notes, strict)
    note_undefined(scores)
    return scores


def _say(compared: Comparison, strict: bool) -> None:
    """What was done, and what was left out."""
    about = compared.metadata
    sampled = f", {about['samples']} samples, seed {about['seed']}" if "samples" in about else ""
    corrected = "" if about["correction"] == "none" else f", corrected by {about['correction']}"
    note(f"{len(compared.a)} pairs, {about['test']} test{sampled}{corrected}, alpha {compared.alpha:g}")
    warnings = [
        f"{incomplete} of {pairs} pairs miss queries under {measure}, which are undefined for one of the systems "
        f"(the fewest have {fewest} of {about['queries']}); left out pairwise"
        for measure, incomplete, fewest, pairs in compared.incomplete().rows
        if incomplete
    ]
    warn(warnings, strict)


def _tables(compared: Comparison, show: tuple[str, ...], form: str) -> dict[str, tuple[str, Table]]:
    if not show:
        show = ("pairs",)
        if form == "table":
            many = len(compared.a) * len(compared.measures) > MANY_PAIRS
            show = ("wins",) if many else ("pairs", "wins")
            if many:
                note(f"the {len(compared.a)} pairs are not shown; --show pairs or another --format shows them")
    tables: dict[str, tuple[str, Table]] = {}
    for what in dict.fromkeys(show):
        if what == "pairs":
            tables["pairs"] = ("differences", compared.table())
            continue
        for measure in compared.measures:
            table = compared.wins(measure) if what == "wins" else compared.matrix(measure)
            title = "who beats how many" if what == "wins" else "who beats whom"
            tables[f"{what}-{measure}"] = (f"{title}, {measure}", table)
    return tables
