"""The command `calipers plan`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from calipers.checks import Pairs
from calipers.choices import Design as DesignName
from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    LEVEL,
    PAIRS,
    POSITIVE,
    SHARE,
    WholeNumber,
    alpha_option,
    draw,
    note,
    plot_option,
    progress,
    repeats_option,
    seed_option,
    show,
    warn,
)
from calipers.cli.output import Output, output
from calipers.cli.policies import ListPolicies, lists
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.planning.budget import BudgetPlan
    from calipers.planning.sample_size import SampleSizePlan
    from calipers.results.scores import Scores

ANSWERS = 10  # largest number of measures that get a sentence


def _depths(context: click.Context, parameter: click.Parameter, value: str | None) -> list[int] | None:
    if value is None:
        return None
    words = value.replace(",", " ").split()
    if not words or not all(word.isdigit() and int(word) > 0 for word in words):
        raise CalipersError(f"--depths '{value}': expected whole numbers of at least 1, as 5,10,20")
    return [int(word) for word in words]


@dataclass(frozen=True)
class Design:
    """The options of `calipers.plan`."""

    difference: float | None
    power: float
    alpha: float
    pairs: Pairs
    queries: int | None
    design: DesignName
    over: int | None
    upper: float | None
    samples: int | None
    seed: int

    def plan(self, scores: Scores) -> SampleSizePlan:
        from calipers.planning.sample_size import plan

        return plan(
            scores, difference=self.difference, power=self.power, alpha=self.alpha, pairs=self.pairs,
            queries=self.queries, design=self.design, upper=self.upper, over=self.over, samples=self.samples,
            seed=self.seed,
        )  # fmt: skip


@dataclass(frozen=True)
class Budget:
    """The options of `calipers.planning.plan_budget`: number of judgments, and depths of pools."""

    budget: int | None
    depths: list[int] | None
    frontier: bool


@grouped_command("plan")
@inputs(optional=True)
@option_group("design", Design)
@click.option("--difference", type=POSITIVE, metavar="D",
              help="Difference between two systems [default: the smallest that these queries can detect].")  # fmt: skip
@click.option("--power", type=SHARE, default=0.8, show_default=True, help="Probability of detecting the difference.")
@alpha_option
@click.option("--pairs", default=1, show_default=True, metavar="N|all", type=PAIRS,
              help="Number of pairs that will be tested, or all. Alpha is divided by it (Bonferroni).")  # fmt: skip
@click.option("--queries", type=WholeNumber(2), metavar="N",
              help="Number of available queries [default: the queries of the pilot].")  # fmt: skip
@click.option("--design", type=LibraryChoice("calipers.choices:Design"), default="t",
              show_default=True,
              help="Paired t test; one-way or two-way (queries as blocks) analysis of variance, for the difference of "
                   "the best and the worst mean; or a randomisation or bootstrap test, simulated.")  # fmt: skip
@click.option("--over", type=WholeNumber(2), metavar="M",
              help="Number of systems that anova and anova2 will compare [default: that of the pilot].")  # fmt: skip
@click.option("--upper", type=LEVEL, metavar="LEVEL",
              help="Plan for the upper limit of the standard deviation at this confidence, such as 0.8.")  # fmt: skip
@option_group("budget", Budget)
@click.option("--budget", type=WholeNumber(1), metavar="N",
              help="Number of judgments: plan the number of queries, the depth and the measure.")  # fmt: skip
@click.option("--depths", metavar="NUMBERS", callback=_depths,
              help="With --budget: depths of the pools, such as 5,10,20 [default: the measures' cutoffs].")  # fmt: skip
@click.option("--frontier", is_flag=True, help="With --budget: show the plans that no cheaper plan beats.")
@repeats_option
@click.option(
    "--samples", type=WholeNumber(1), help="Samples of each simulated test [default: 1000, or what alpha needs]."
)
@seed_option
@plot_option("the power curves, or the budget's frontier")
@lists
@output
def command(
    inputs: Inputs,
    design: Design,
    budget: Budget,
    repeats: str | None,
    plot: str | None,
    lists: ListPolicies,
    output: Output,
) -> None:
    """Compute how many queries an experiment needs, from the scores of a pilot.

    The pilot is a file of scores, or judgments and runs, as for compare. One row per measure: the standard deviation of
    the paired differences (over pairs, the root of their mean square), the queries that the difference needs, and the
    difference that the available queries can detect, both with the same power.

    \b
    calipers plan scores.csv --difference 0.02 --power 0.8
    calipers plan qrels.txt runs/* -m "nDCG@10 AP RR" --queries 50
    calipers plan qrels.txt runs/* -m "nDCG@10 AP" --difference 0.05 --pairs all --plot power.html
    calipers plan qrels.txt runs/* -m "AP" --difference 0.05 --design randomization
    calipers plan qrels.txt runs/* -m "nDCG@{2,3,5} AP@{2,5}" --budget 500
    calipers plan qrels.txt runs/* -m "nDCG@10" --repeats "{system}0*"
    """
    if budget.budget is not None:
        if (design.design, design.upper, repeats, design.queries) != ("t", None, None, None):
            raise CalipersError(
                "--budget tests by the paired t test: leave out --design, --upper, --repeats and --queries"
            )
        spent = _spent(inputs, design, budget.budget, budget.depths, lists)
        _draw(spent, plot)
        shown = "frontier" if budget.frontier else "plans"
        output.write_result(spent, {shown: ("", spent.table(shown))})
        return
    if budget.depths is not None or budget.frontier:
        raise CalipersError("--depths and --frontier are for --budget")
    scores = inputs.scores(lists)
    if repeats is not None:
        from calipers.cli.compare import say_repeats
        from calipers.planning.repeats import repeated_runs

        if plot is not None:
            raise CalipersError("--plot draws power curves, and --repeats has none")
        found = repeated_runs(scores, repeats=repeats, alpha=design.alpha)
        say_repeats(found)
        output.write_result(found, {"variance": ("", found.variance())})
        return
    made = design.plan(scores)
    _say(made, output)
    _draw(made, plot)
    output.write_result(made, {"plan": ("", made.table())})


def _spent(inputs: Inputs, design: Design, budget: int, depths: list[int] | None, lists: ListPolicies) -> BudgetPlan:
    from calipers.planning.budget import plan_budget, pool_depths

    if inputs.are_scores:
        raise CalipersError(
            "--budget needs judgments and runs: scores do not say what a pool holds", file=inputs.judgments
        )
    pilot = inputs.experiment(jobs=lists.jobs, **lists.policies)
    of_pools = pool_depths(depths, [*pilot.measures.values()])
    with progress(len(of_pools), "depths") as advance:
        found = plan_budget(
            pilot.changed(progress=advance), budget=budget, depths=of_pools, difference=design.difference,
            alpha=design.alpha, pairs=design.pairs, seed=design.seed,
        )  # fmt: skip
    note(found.title)
    warn(found.notes, lists.strict)
    note(found.summary)
    return found


def _say(made: SampleSizePlan, output: Output) -> None:
    """Print the answer, above the table on a screen and to stderr otherwise. Then print what was planned."""
    answers = [f"{sentence}." for sentence in made.conclusions()[:ANSWERS]]
    if output.format == "table" and output.file is None:
        show("\n".join(answers) + "\n\n")
    else:
        for answer in answers:
            note(answer)
    for text in (made.title, *made.notes):
        note(text)


def _draw(found: SampleSizePlan | BudgetPlan, path: str | None) -> None:
    from calipers.planning.sample_size import SampleSizePlan

    curves = isinstance(found, SampleSizePlan)
    draw(path, lambda charts: charts.power_curves(found) if curves else charts.budget_frontier(found))
