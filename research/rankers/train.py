"""The command `python -m research train`."""

from __future__ import annotations

from typing import Any

import click

from calipers import CalipersError, progress_bar
from calipers.support.plurals import counted
from research.command_line import checked_file, note, options, seed_option
from research.rankers.base import METRIC, NORMALIZATIONS, Ranker
from research.rankers.letor_data import read_letor_data, sampled_queries
from research.rankers.presets import PRESETS, ranker

FIXED = ("metric", "like", "tune", "normalize", "seed")  # parameters that --set does not set

preset_and_normalize = options(
    click.option(
        "--preset",
        type=click.Choice([*PRESETS]),
        default="quick",
        show_default=True,
        help="Settings of the rankers: quick ones, or those of the papers.",
    ),
    click.option(
        "--normalize",
        type=click.Choice(NORMALIZATIONS),
        default="none",
        show_default=True,
        help="query: scale every feature to 0 .. 1 inside each query.",
    ),
)
sparse_option = click.option(
    "--sparse", is_flag=True, help="Keep the features as a sparse matrix, for files with many zeros."
)


@click.command("train")
@click.argument("name", metavar="RANKER")
@click.option(
    "--train",
    "train_files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="File with training data. May be repeated.",
)
@click.option(
    "--valid", "valid_files", multiple=True, metavar="FILE", help="File with validation data. May be repeated."
)
@click.option(
    "--metric",
    default=METRIC,
    show_default=True,
    metavar="MEASURE",
    help="Measure to optimise, or to choose by on validation data.",
)
@click.option("--like", metavar="PROFILE", help="Conventions of that measure, for example yahoo or letor4.")
@preset_and_normalize
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the ranker. May be repeated."
)
@click.option("--queries", type=click.IntRange(min=1), help="Train on this number of queries, drawn at random.")
@sparse_option
@seed_option
@click.option("-o", "--output", required=True, metavar="FILE", callback=checked_file, help="File for the model.")
def train(
    name: str,
    train_files: tuple[str, ...],
    valid_files: tuple[str, ...],
    preset: str,
    settings: tuple[str, ...],
    queries: int | None,
    sparse: bool,
    output: str,
    **parameters: Any,
) -> None:
    """Train a ranker on LETOR (SVMlight) files and write it to a file.

    \b
    RANKER is one of
      lambdamart randomforest              LightGBM
      logistic ranksvm                     scikit-learn
      ranknet listnet                      PyTorch
      adarank rankboost coordinateascent   need nothing more

    adarank and coordinateascent optimise --metric, which can be any measure, under the conventions of --like. The other
    rankers use it on validation data, to stop training or to choose settings.

    \b
    python -m research train lambdamart --train S1 --train S2 --train S3 --valid S4 -o model.cal
    python -m research train coordinateascent --train S1 --valid S2 --metric "V2(nDCG@10)" -o model.cal
    python -m research train adarank --train S1 --valid S2 --metric nDCG@10 --like yahoo --set rounds=100 -o model.cal
    """
    machine = ranker(name, preset, **parameters)
    machine.set_params(**dict(_parameter(machine, text) for text in settings))
    if machine.tune and not valid_files:
        note(f"without --valid nothing can be tuned: {', '.join(machine.tune)} keeps its default")
        machine.set_params(tune=None)
    machine.goal  # noqa: B018  # a wrong measure is found before the files are read
    data = read_letor_data(train_files, sparse=sparse)
    if queries is not None:
        data = sampled_queries(data, queries, machine.seed)
    valid = read_letor_data(valid_files, width=data.width, sparse=sparse) if valid_files else None
    labels = f"labels up to {data.y.max():g}"
    note(
        f"{counted(len(data), 'document')} of {counted(len(data.queries), 'query')}, "
        f"{counted(data.width, 'feature')}, {labels}"
    )
    with progress_bar(machine.steps * len(machine.combinations()), name) as advance:
        machine.fit(
            data.X,
            data.y,
            qid=data.query,
            eval_set=None if valid is None else (valid.X, valid.y, valid.query),
            progress=advance,
        )
    machine.save(output)
    for each in machine.notes_:
        note(each)
    if machine.chosen_:
        note("kept " + ", ".join(f"{key}={value}" for key, value in machine.chosen_.items()))
    if machine.validation_ is not None:
        note(f"{machine.goal.label} on the validation data: {machine.validation_:.4f}")
    note(f"wrote {output} (seed {machine.seed})")


def _parameter(machine: Ranker, text: str) -> tuple[str, Any]:
    """Return a parameter and its value. The value has the type of the default."""
    key, equals, written = text.partition("=")
    known = machine.get_params()
    if not equals or key not in known or key in FIXED:
        settable = ", ".join(k for k in known if k not in FIXED)
        raise CalipersError(f"--set '{text}': expected NAME=VALUE, with one of {settable}")
    default = known[key]
    if written == "none":
        return key, None
    try:
        if isinstance(default, tuple):
            return key, tuple(int(part) for part in written.split(",") if part)
        return key, (float if isinstance(default, float) else int)(written)
    except ValueError:
        kind = "whole numbers, such as 10,10" if isinstance(default, tuple) else f"a number like {default}"
        raise CalipersError(f"--set '{text}': expected {kind}") from None
