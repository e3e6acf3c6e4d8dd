"""The command `calipers plan`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

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
    repeats_option,
    seed_option,
    show,
)
from calipers.cli.output import Output, output
from calipers.cli.policies import ListPolicies, lists
from calipers.errors import CalipersError
from calipers.support.checks import Pairs
from calipers.support.choices import Design as DesignName

if TYPE_CHECKING:
    from calipers.questions.plan.sample_size import SampleSizePlan
    from calipers.results.scores import Scores

ANSWERS = 10  # largest number of measures that get a sentence


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
        from calipers.questions.plan.sample_size import plan

        return plan(
            scores,
            difference=self.difference,
            power=self.power,
            alpha=self.alpha,
            pairs=self.pairs,
            queries=self.queries,
            design=self.design,
            upper=self.upper,
            over=self.over,
            samples=self.samples,
            seed=self.seed,
        )


@grouped_command("plan")
@inputs(texts=True)
@option_group("design", Design)
@click.option(
    "--difference",
    type=POSITIVE,
    metavar="D",
    help="Difference between two systems [default: the smallest that these queries can detect].",
)
@click.option("--power", type=SHARE, default=0.8, show_default=True, help="Probability of detecting the difference.")
@alpha_option
@click.option(
    "--pairs",
    default=1,
    show_default=True,
    metavar="N|all",
    type=PAIRS,
    help="Number of pairs that will be tested, or all. Alpha is divided by it (Bonferroni).",
)
@click.option(
    "--queries",
    type=WholeNumber(2),
    metavar="N",
    help="Number of available queries [default: the queries of the pilot].",
)
@click.option(
    "--design",
    type=LibraryChoice("calipers.support.choices:Design"),
    default="t",
    show_default=True,
    help="Paired t test; one-way or two-way (queries as blocks) analysis of variance, for the difference of "
    "the best and the worst mean; or a randomisation or bootstrap test, simulated.",
)
@click.option(
    "--over",
    type=WholeNumber(2),
    metavar="M",
    help="Number of systems that anova and anova2 will compare [default: that of the pilot].",
)
@click.option(
    "--upper",
    type=LEVEL,
    metavar="LEVEL",
    help="Plan for the upper limit of the standard deviation at this confidence, such as 0.8.",
)
@repeats_option
@click.option(
    "--samples", type=WholeNumber(1), help="Samples of each simulated test [default: 1000, or what alpha needs]."
)
@seed_option
@plot_option("the power curves")
@lists
@output
def command(
    inputs: Inputs,
    design: Design,
    repeats: str | None,
    plot: str | None,
    lists: ListPolicies,
    output: Output,
) -> None:
    """Compute how many queries an experiment needs, from the scores of a pilot.

    The pilot is a file of scores, judgments and runs, or texts, as for compare. One row per measure: the standard
    deviation of the paired differences (over pairs, the root of their mean square), the queries that the difference
    needs, and the difference that the available queries can detect, both with the same power.

    \b
    calipers plan scores.csv --difference 0.02 --power 0.8
    calipers plan qrels.txt runs/* -m "nDCG@10 AP RR" --queries 50
    calipers plan qrels.txt runs/* -m "nDCG@10 AP" --difference 0.05 --pairs all --plot power.html
    calipers plan qrels.txt runs/* -m "AP" --difference 0.05 --design randomization
    calipers plan qrels.txt runs/* -m "nDCG@10" --repeats "{system}0{repeat}"
    calipers plan data.jsonl -m "ROUGE-1" --difference 0.02
    """
    scores = inputs.scores(lists)
    if repeats is not None:
        from calipers.cli.compare import say_repeats
        from calipers.questions.plan.repeats import repeated_runs

        if plot is not None:
            raise CalipersError("--plot draws power curves, and --repeats has none")
        found = repeated_runs(scores, repeats=repeats, alpha=design.alpha)
        say_repeats(found)
        output.write_result(found, {"variance": ("", found.variance())})
        return
    made = design.plan(scores)
    _say(made, output)
    draw(plot, lambda charts: charts.power_curves(made))
    output.write_result(made, {"plan": ("", made.table())})


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
