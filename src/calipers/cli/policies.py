"""Options for scoring lists and for testing differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from calipers.cli.option_groups import Command, LibraryChoice, declared, option_group
from calipers.cli.options import (
    POLICY,
    SAMPLES,
    alpha_option,
    costs_option,
    depth_option,
    jobs_option,
    like_option,
    relevant_option,
    seed_option,
    strict_option,
)
from calipers.support.checks import Policy, Samples


@dataclass(frozen=True)
class ListPolicies:
    """Scoring options of the command line. Their defaults are declared in `lists` below."""

    like: Any
    ties: str | None
    relevant: float | None
    depth: int | None
    condensed: bool
    empty: Policy | None
    missing: Policy | None
    degenerate: Policy | None
    costs: str | None
    unmatched: str
    strict: bool
    jobs: int | None

    @property
    def policies(self) -> dict[str, Any]:
        """The options that scores depend on, as keywords of `evaluate`."""
        return {name: value for name, value in vars(self).items() if name not in ("strict", "jobs")}


@dataclass(frozen=True)
class Significance:
    """Options of a significance test."""

    test: str
    correction: str
    alpha: float
    samples: Samples | None
    seed: int


# As `lists`.
lists = option_group(
    "lists",
    ListPolicies,
    like_option,
    click.option(
        "--ties",
        type=LibraryChoice("calipers.support.choices:TieRule"),
        help="Order of documents with equal scores: the average over all orders, or one order "
        "[default: average, or that of --like].",
    ),
    relevant_option,
    depth_option,
    click.option("--condensed", is_flag=True, help="Leave unjudged documents out (after --depth)."),
    click.option(
        "--empty",
        type=POLICY,
        metavar="NUMBER|skip|error",
        help="Score of a query without relevant documents [default: 0, or that of --like; normalised measures: skip].",
    ),
    click.option(
        "--missing",
        type=POLICY,
        metavar="NUMBER|skip|error",
        help="Score of a query that is missing from a run [default: 0, or that of --like; without "
        "either, compare and check refuse runs that lack most queries].",
    ),
    click.option(
        "--degenerate",
        type=POLICY,
        metavar="NUMBER|skip|error",
        help="Normalised score of a query on which all rankings score the same.",
    ),
    costs_option,
    click.option(
        "--unmatched",
        type=LibraryChoice("calipers.support.choices:Unmatched"),
        default="error",
        show_default=True,
        help="What to do if no document of a run is judged: refuse the run, or warn and score it.",
    ),
    strict_option,
    jobs_option,
)


def significance_options(
    correction: str, tests: str = "calipers.support.choices:TestName", others: str = "", seeded: bool = True
) -> Callable[[Command], Command]:
    """Return the options of a significance test.

    correction: the default. tests: the table of tests to choose from. others: more tests to name in the help.
    seeded: False if the command has an option --seed already.
    """
    return declared(
        click.option(
            "--test",
            type=LibraryChoice(tests),
            default="t",
            show_default=True,
            help="Paired t, Wilcoxon, sign test, sign-flip randomisation, Sakai's bootstrap, or randomised "
            f"Tukey HSD{others}.",
        ),
        click.option(
            "--correction",
            type=LibraryChoice("calipers.support.choices:Correction"),
            default=correction,
            show_default=True,
            help="Correction for many pairs, within each measure. Tukey's and Dunnett's tests need none.",
        ),
        alpha_option,
        click.option(
            "--samples",
            metavar="N|all",
            type=SAMPLES,
            help="Samples of resampling tests. 'all' enumerates all samples if there are few queries.",
        ),
        *([seed_option] if seeded else []),
    )


# As `significance`.
significance = option_group("significance", Significance, significance_options("holm"))
