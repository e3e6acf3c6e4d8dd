"""The command `calipers compare`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import Decorator, LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    LEVEL,
    NOT_NEGATIVE,
    POSITIVE,
    draw,
    note,
    plot_option,
    query_groups_option,
    query_weights_option,
    repeats_option,
    warn,
)
from calipers.cli.output import Output, several_outputs
from calipers.cli.policies import ListPolicies, lists, significance_options
from calipers.errors import CalipersError
from calipers.support.checks import Samples
from calipers.support.choices import ComparisonTest, Correction, EffectSize

if TYPE_CHECKING:
    from calipers.questions.compare.comparison import Comparison
    from calipers.questions.plan.repeats import RepeatedRuns
    from calipers.results.scores import Scores
    from calipers.results.tables import Table

SHOWN = ("pairs", "groups", "wins", "matrix", "influence")
MANY_PAIRS = 200  # more than this are not shown on a terminal unless asked for


@dataclass(frozen=True, kw_only=True)
class ComparisonMethod:
    """The options of `calipers.compare`."""

    test: ComparisonTest
    correction: Correction
    baseline: tuple[str, ...]
    alpha: float
    level: float | None
    samples: Samples | None
    seed: int = 42
    effect: EffectSize
    equivalence: float | None
    rope: float | None
    query_groups: str | None
    query_weights: str | None


def method_options(seeded: bool = True) -> Decorator:
    """Return the options of a comparison, as `method`. seeded: False if the command already has --seed."""
    return option_group(
        "method",
        ComparisonMethod,
        significance_options(
            "holm",
            "calipers.questions.compare.comparison:TESTS",
            others=", Dunnett's against --baseline, or posterior probabilities (bayes)",
            seeded=seeded,
        ),
        click.option(
            "--baseline",
            metavar="SYSTEM",
            multiple=True,
            help="Compare all other systems with this system only (its name, tag, file or path); may be repeated.",
        ),
        click.option(
            "--level",
            type=LEVEL,
            help="Level of the confidence intervals [default: 1 - alpha; --equivalence: 1 - 2 alpha].",
        ),
        click.option(
            "--effect",
            type=LibraryChoice("calipers.support.choices:EffectSize"),
            default="d",
            show_default=True,
            help="Effect size: mean / sd of the differences, Cliff's delta, or the matched-pairs "
            "rank-biserial correlation.",
        ),
        click.option(
            "--equivalence",
            type=POSITIVE,
            metavar="MARGIN",
            help="Say which pairs are different, equal within this margin (two one-sided t tests), or undecided.",
        ),
        click.option(
            "--rope",
            type=NOT_NEGATIVE,
            metavar="WIDTH",
            help="For --test bayes: differences up to this size count as equal [default: 0.01].",
        ),
        query_groups_option,
        query_weights_option,
    )


@grouped_command("compare")
@inputs(texts=True)
@method_options()
@repeats_option
@click.option(
    "--show",
    type=click.Choice(SHOWN),
    multiple=True,
    help="pairs, groups (pairs for each of --query-groups), wins (with letters: systems that share one do not differ), "
    "matrix, or influence (pairs that one query decides); may be repeated [default: pairs, groups and wins as a table, "
    "no pairs if there are many; pairs and groups in the other formats].",
)
@plot_option("who differs from whom")
@lists
@several_outputs
def command(
    inputs: Inputs,
    method: ComparisonMethod,
    repeats: str | None,
    show: tuple[str, ...],
    plot: str | None,
    lists: ListPolicies,
    output: Output,
) -> None:
    """Test which systems differ: differences, confidence intervals, p values and effect sizes.

    The inputs are judgments and runs, or texts, as for evaluate, or CSV files of scores. A file of scores has one row
    per query and one column per system, or the columns system, query and measures that evaluate -q writes. Documents
    that texts are about take the role of queries.

    \b
    calipers compare qrels.txt runs/* -m "nDCG@10 AP" --baseline bm25 --correction holm
    calipers compare qrels.txt old=a.run new=b.run -m "nDCG@10" --baseline old
    calipers compare qrels.txt runs/* -m "AP" --test tukey --show matrix
    calipers compare matrix.csv -m "AP" --test randomization --format csv
    calipers compare qrels.txt runs/* -m "nDCG@10" --equivalence 0.01
    calipers compare qrels.txt runs/* -m "nDCG@10" --test bayes
    calipers compare qrels.txt runs/* -m "nDCG@10" --repeats "{system}0{repeat}"
    calipers compare qrels.txt runs/* -m "nDCG@10" --query-groups queries.csv:intent
    calipers compare data.jsonl -m "ROUGE-2 V2(ROUGE-2)" --baseline s0
    """
    # With --repeats, a baseline is a system with several runs. Its name is known only after the runs were read.
    baselines = method.baseline if repeats is not None else inputs.baselines(method.baseline)
    method = replace(method, baseline=baselines)
    scores = inputs.scores(lists)
    if repeats is not None:
        if (method.test, method.effect) != ("t", "d") or method.equivalence is not None:
            raise CalipersError("--repeats has its own t test: leave out --test, --effect and --equivalence")
        if method.query_groups or method.query_weights:
            raise CalipersError("--repeats takes neither --query-groups nor --query-weights")
        from calipers.questions.plan.repeats import repeated_runs

        if len(baselines) > 1:
            raise CalipersError("--repeats takes one --baseline")
        of = repeated_runs(
            scores,
            repeats=repeats,
            correction=method.correction,
            baseline=baselines[0] if baselines else None,
            alpha=method.alpha,
            level=method.level,
        )
        say_repeats(of)
        output.write_result(of, compared_tables(of.comparison, of.scores, show, output.format))
        conclude(of.comparison, plot)
        return
    from calipers.questions.compare.comparison import compare
    from calipers.results.messages import without_ambiguous_names

    compared = compare(without_ambiguous_names(scores), **vars(method), warn=False)
    say_compared(compared, lists.strict)
    output.write_result(compared, compared_tables(compared, scores, show, output.format))
    conclude(compared, plot)


def conclude(compared: Comparison, plot: str | None) -> None:
    """Print the conclusions, and draw the chart."""
    for sentence in compared.conclusions():
        note(sentence)
    draw(plot, lambda charts: charts.stacked(*(charts.differences(compared, name) for name in compared.measures)))


def say_compared(compared: Comparison, strict: bool) -> None:
    """Print the title and the notes of a comparison."""
    note(compared.title)
    warn(compared.notes, strict)


def say_repeats(found: RepeatedRuns) -> None:
    """Print the title and the notes of repeated runs."""
    note(found.title)
    for sentence in found.notes:
        note(sentence)


def compared_tables(
    compared: Comparison, scores: Scores, show: tuple[str, ...], format: str
) -> dict[str, tuple[str, Table]]:
    """Return the tables to show, by name, each with its title."""
    if not show:
        show = ("pairs", "groups") if compared.groups else ("pairs",)
        if format == "table":
            many = len(compared.a) * len(compared.measures) > MANY_PAIRS
            show = (*(() if many else show), "wins")
            if many:
                note(f"the {len(compared.a):,} pairs are not shown; --show pairs or another --format shows them")
    tables: dict[str, tuple[str, Table]] = {}
    for what in dict.fromkeys(show):
        if what == "pairs":
            tables["pairs"] = ("differences", compared.table())
        elif what == "groups":
            tables["groups"] = ("differences in groups of queries, p adjusted over all groups", compared.group_table())
        elif what == "influence":
            from calipers.questions.compare.leave_one_out import influence

            tables["influence"] = (f"pairs that one {scores.unit} decides", influence(scores, compared))
        else:
            for measure in compared.measures:
                table = compared.wins(measure) if what == "wins" else compared.matrix(measure)
                title = "who beats how many" if what == "wins" else "who beats whom"
                tables[f"{what}-{measure}"] = (f"{title}, {measure}", table)
    return tables
