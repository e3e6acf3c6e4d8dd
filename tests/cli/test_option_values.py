"""Values of options and arguments: every number and choice is checked, with one wording, before any work is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli import options
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.statistics.bounded_intervals import mean_intervals
from calipers.support.checks import LARGEST_COUNT, LARGEST_SEED
from example_files import all_commands

OPTIONS = [
    (name, option)
    for name, command in all_commands()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag
]
BY_NAME = {"--seed": options.SEED, "--alpha": options.ALPHA, "--interval": options.LEVEL, "--power": options.SHARE}


def test_no_option_takes_numbers_unchecked() -> None:
    """A plain float takes nan and inf, and a plain int takes -1 as a seed."""
    unchecked = (type(click.FLOAT), click.FloatRange)  # a range lets nan pass
    plain = [
        (name, option.opts)
        for name, option in OPTIONS
        if option.type is click.INT or isinstance(option.type, unchecked)
    ]
    assert not plain


def test_no_option_takes_numbers_without_end() -> None:
    """Numbers that do not fit into 64 bits overflow far inside, and counts of billions never end."""
    ranges = [option for _, option in OPTIONS if isinstance(option.type, click.IntRange)]
    assert len(ranges) > 30
    for option in ranges:
        for number in (10**30, 2**63 - 1, LARGEST_COUNT + 1):
            with pytest.raises(click.BadParameter, match=str(number)):
                option.type.convert(str(number), option, None)


def test_options_of_one_name_have_one_type() -> None:
    for name, option in OPTIONS:
        for spelling, of_name in BY_NAME.items():
            if spelling in option.opts:
                assert option.type is of_name, (name, spelling)


@pytest.mark.parametrize(
    "kind",
    [value for value in vars(options).values() if isinstance(value, options.Checked)],
    ids=lambda kind: kind.name,
)
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "x", "", "1e999", "9" * 5000])
def test_checked_types_refuse_what_is_no_number(kind: options.Checked, value: str) -> None:
    with pytest.raises(click.BadParameter):
        kind.convert(value, None, None)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "qrels").write_text("".join(f"q{q} 0 d{d} {(q + d) % 2}\n" for q in range(5) for d in range(4)))
    for name in "ab":
        lines = (f"q{q} Q0 d{d} 0 {(ord(name) * q * (d + 2)) % 7} {name}\n" for q in range(5) for d in range(4))
        (tmp_path / name).write_text("".join(lines))
    return [str(tmp_path / name) for name in ("qrels", "a", "b")]


@pytest.mark.parametrize(
    ("command", "given", "message"),
    [
        ("compare", ("--test", "tukey", "--seed", "-1"), "seed -1 is not a whole number from 0"),
        ("compare", ("--alpha", "1e-50"), "alpha 1e-50 is too small"),
        ("compare", ("--missing", "drop"), "is not a number, skip or error"),
        ("plan", ("--alpha", "1e-50"), "alpha 1e-50 is too small"),
        ("plan", ("--power", "nan"), "is not between 0 and 1"),
        ("plan", ("--pairs", "0"), "is neither a whole number"),
        ("audit", ("--number", "nan"), "'nan' is not a number"),
        ("audit", ("--number", "inf"), "'inf' is not a number"),
    ],
)
def test_bad_values_are_refused(files: list[str], command: str, given: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(root, [command, *files, "-m", "AP", *given])
    assert message in str(done.exception) + done.stderr
    assert isinstance(done.exception, CalipersError | SystemExit)


def test_a_limit_of_check_is_a_number(files: list[str]) -> None:
    done = CliRunner().invoke(root, ["check", *files[:2], "-m", "AP", "--baseline", files[-1], "--max-drop", "nan"])
    assert "is not a number" in str(done.exception) + done.stderr


@pytest.mark.parametrize("test", ["randomization", "bootstrap"])
def test_all_samples_are_a_number_of_samples(files: list[str], test: str) -> None:
    done = CliRunner().invoke(root, ["compare", *files, "-m", "AP", "--test", test, "--samples", "all"])
    assert done.exit_code == 0, done.exception
    assert "all samples enumerated" in done.stderr


SCORES = cal.as_scores([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]], systems=["a", "b"], measure="AP")
JUDGED = {"q1": {"d1": 1, "d2": 0}}
RUN = {"q1": {"d2": 2.0, "d1": 1.0}}


def evaluated(**given: Any) -> cal.Scores:
    return cal.evaluate(JUDGED, RUN, "V2(AP)", warn=False, **given)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (lambda name=name, policy=policy: evaluated(**{name: policy}), f"{name} '{policy}' is not a number")
            for name in ("empty", "missing", "degenerate")
            for policy in ("drop", "foo", float("nan"))
        ),
        (lambda: evaluated(ties="random"), "unknown tie rule 'random'"),
        (lambda: evaluated(depth=0), "depth 0 is not a whole number from 1 to"),
        *(
            (call, "is not a whole number from . to 1,000,000,000")
            for call in (
                lambda: evaluated(depth=10**30),
                lambda: cal.fuse({"a": RUN, "b": RUN}, depth=10**30),
                lambda: cal.Experiment(JUDGED, RUN, "AP").ranges(unseen=10**30),
            )
        ),
        (lambda: evaluated(precision="half"), "precision"),
        (lambda: cal.compare(SCORES, test="tukey", seed=-1), "seed -1 is not a whole number from 0"),
        (lambda: cal.compare(SCORES, test="t", seed=1.5), "seed 1.5 is not a whole number from 0"),
        (lambda: cal.compare(SCORES, samples="some"), "samples 'some' is neither a whole number"),
        (lambda: cal.compare(SCORES, effect="x"), "unknown effect size 'x'"),
        (lambda: cal.plan(SCORES, seed=LARGEST_SEED + 1), f"seed {LARGEST_SEED + 1} is not a whole number"),
        (lambda: cal.plan(SCORES, alpha=1e-50), "alpha 1e-50 is too small"),
        (lambda: mean_intervals(SCORES, seed=-1), "seed -1"),
        (lambda: mean_intervals(SCORES, samples=0), "samples 0 is not a whole number from 1 to"),
        (lambda: mean_intervals(SCORES, method="x"), "unknown interval 'x'"),
    ],
)
def test_bad_arguments_are_refused_at_the_call(call: Callable[[], object], message: str) -> None:
    with pytest.raises(CalipersError, match=message):
        call()
