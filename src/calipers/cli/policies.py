"""How lists are scored, and how differences are tested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from calipers.checks import Policy, Samples
from calipers.cli.option_groups import Command, LibraryChoice, declared, option_group
from calipers.cli.options import (
    POLICY,
    SAMPLES,
    alpha_option,
    costs_option,
    depth_option,
    document_groups_option,
    jobs_option,
    like_option,
    seed_option,
    strict_option,
)


@dataclass(frozen=True)
class ListPolicies:
    """Options of `evaluate` on the command line. Their defaults are those of the options below."""

    like: Any
    ties: str | None
    depth: int | None
    condensed: bool
    empty: Policy | None
    missing: Policy | None
    degenerate: Policy | None
    costs: str | None
    document_groups: str | None
    unmatched: str
    strict: bool
    jobs: int | None

    @property
    def policies(self) -> dict[str, Any]:
        """The options that scores depend on, as keywords of `evaluate`."""
        return {name: value for name, value in vars(self).items() if name not in ("strict", "jobs")}


@dataclass(frozen=True)
class Significance:
    """Which test, corrected how."""

    test: str
    correction: str
    alpha: float
    samples: Samples | None
    seed: int


# As `lists`.
lists = option_group(
    "lists", ListPolicies,
    like_option,
    click.option("--ties", type=LibraryChoice("calipers.lists:TIE_RULES"),
                 help="What documents of equal score count as: the average over all their orders, or one order "
                      "[default: average, or what --like says]."),
    depth_option,
    click.option("--condensed", is_flag=True, help="Leave unjudged documents out (after --depth)."),
    click.option("--empty", type=POLICY, metavar="NUMBER|skip|error",
                 help="What a query without relevant documents counts [default: 0, or what --like says; normalised: "
                      "skip]."),
    click.option("--missing", type=POLICY, metavar="NUMBER|skip|error",
                 help="What a query that a run lacks counts [default: 0, or what --like says]."),
    click.option("--degenerate", type=POLICY, metavar="NUMBER|skip|error",
                 help="What a normalised score counts where all rankings score the same."),
    costs_option,
    document_groups_option,
    click.option("--unmatched", type=LibraryChoice("calipers.collection.mismatch:UNMATCHED"), default="error",
                 show_default=True,
                 help="What to do if none of the documents of a run is judged: refuse the run, or warn and score it."),
    strict_option,
    jobs_option,
)  # fmt: skip


def significance_options(
    correction: str, tests: str = "calipers.stats.significance:TESTS", others: str = "", seeded: bool = True
) -> Callable[[Command], Command]:
    """Which of the tests, corrected how: with this correction where none is named. Others are what help says more.

    Without a seed where the command has one for other things as well.
    """
    return declared(
        click.option("--test", type=LibraryChoice(tests), default="t", show_default=True,
                     help="Paired t, Wilcoxon, sign test, sign-flip randomisation, Sakai's bootstrap, or randomised "
                          f"Tukey HSD{others}."),
        click.option("--correction", type=LibraryChoice("calipers.stats.correction:CORRECTIONS"), default=correction,
                     show_default=True,
                     help="For the number of pairs, within each measure. Tukey's and Dunnett's need none."),
        alpha_option,
        click.option("--samples", metavar="N|all", type=SAMPLES,
                     help="Samples of tests that draw; all enumerates, where few queries allow it."),
        *([seed_option] if seeded else []),
    )  # fmt: skip


def significance(correction: str) -> Callable[[Command], Command]:
    """The same as `significance`."""
    return option_group("significance", Significance, significance_options(correction))
