"""The command `calipers train`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.option_groups import LibraryChoice, grouped_command, option_group
from calipers.cli.options import (
    FILE,
    OUTPUT,
    WholeNumber,
    like_option,
    max_unpacked_option,
    note,
    progress,
    seed_option,
)
from calipers.errors import CalipersError
from calipers.plurals import counted

if TYPE_CHECKING:
    from calipers.rankers.base import Ranker
    from calipers.rankers.letor_data import LetorData


def _names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from calipers.rankers import RANKERS

    return [name for name in RANKERS if name.startswith(incomplete)]


@dataclass(frozen=True)
class TrainingFiles:
    """Training and validation files, and how to read them."""

    train_files: tuple[str, ...]
    valid_files: tuple[str, ...]
    queries: int | None
    sparse: bool
    max_unpacked: int | None
    seed: int

    def open(self) -> tuple[LetorData, LetorData | None]:
        """Return the training and the validation data."""
        from calipers.rankers import read_letor_data, sampled_queries

        read = partial(read_letor_data, sparse=self.sparse, max_unpacked=self.max_unpacked)
        train = read(self.train_files)
        if self.queries is not None:
            train = sampled_queries(train, self.queries, self.seed)
        valid = read(self.valid_files, width=train.width) if self.valid_files else None
        return train, valid


@dataclass(frozen=True)
class RankerSettings:
    """Settings of the ranker."""

    metric: str
    like: Any
    preset: str
    settings: tuple[str, ...]
    normalize: str

    def make(self, name: str, seed: int) -> Ranker:
        """Return the ranker with these settings."""
        from calipers.rankers import ranker

        machine = ranker(name, self.preset)
        machine.set_params(metric=self.metric, like=self.like, normalize=self.normalize, seed=seed)
        machine.set_params(**dict(_parameter(machine, text) for text in self.settings))
        return machine


@grouped_command("train")
@click.argument("ranker", metavar="RANKER", shell_complete=_names)
@option_group("data", TrainingFiles)
@option_group("settings", RankerSettings)
@click.option("--train", "train_files", multiple=True, required=True, metavar="FILE", type=FILE,
              help="File with training data. May be repeated.")  # fmt: skip
@click.option("--valid", "valid_files", multiple=True, metavar="FILE", type=FILE,
              help="File with validation data. May be repeated.")  # fmt: skip
@click.option(
    "--metric", default="nDCG(gain=exp)@10", show_default=True, metavar="MEASURE",
    help="Measure to optimise, or to choose by on validation data.",
)  # fmt: skip
@like_option
@click.option(
    "--preset", type=LibraryChoice("calipers.rankers.presets:PRESETS"), default="quick", show_default=True,
    help="Quick settings, or the settings of the papers.",
)  # fmt: skip
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the ranker. May be repeated."
)
@click.option(
    "--normalize", type=LibraryChoice("calipers.rankers.base:NORMALIZATIONS"), default="none", show_default=True,
    help="query: scale every feature to 0 .. 1 inside each query, in training and in ranking.",
)  # fmt: skip
@click.option("--queries", type=WholeNumber(1), help="Train on this number of queries, drawn at random.")
@click.option("--sparse", is_flag=True, help="Keep the features as a sparse matrix, for files with many zeros.")
@seed_option
@max_unpacked_option
@click.option("-o", "--output", required=True, metavar="FILE", type=OUTPUT, help="File for the model.")
def command(ranker: str, data: TrainingFiles, settings: RankerSettings, output: str) -> None:
    """Train a ranker on LETOR (SVMlight) files and write it to a file.

    \b
    RANKER is one of
      lambdamart randomforest              extra rankers (LightGBM)
      logistic ranksvm                     extra rankers (scikit-learn)
      ranknet listnet                      extra neural (PyTorch)
      adarank rankboost coordinateascent   need nothing more

    adarank and coordinateascent optimise --metric, which can be any measure, under the conventions of --like. The other
    rankers use it on validation data, to stop training or to choose settings.

    \b
    calipers train lambdamart --train S1 --train S2 --train S3 --valid S4 -o model.cal
    calipers train coordinateascent --train S1 --valid S2 --metric "V2(nDCG@10)" -o model.cal
    calipers train adarank --train S1 --valid S2 --metric nDCG@10 --like yahoo --set rounds=100 -o model.cal
    """
    machine = settings.make(ranker, data.seed)
    if machine.tune and not data.valid_files:
        note(f"without --valid nothing can be tuned: {', '.join(machine.tune)} keeps its default")
        machine.set_params(tune=None)
    machine.goal  # noqa: B018  # a wrong measure is found before the files are read
    train, valid = data.open()
    labels = f"labels up to {train.y.max():g}"
    note(
        f"{counted(len(train), 'document')} of {counted(len(train.queries), 'query')}, "
        f"{counted(train.width, 'feature')}, {labels}"
    )
    with progress(machine.steps * len(machine._combinations()), ranker) as advance:
        machine.fit(
            train.X,
            train.y,
            qid=train.query,
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
    note(f"wrote {output} (seed {data.seed})")


def _parameter(machine: Ranker, text: str) -> tuple[str, Any]:
    """Return a parameter and its value. The value has the type of the default."""
    key, equals, written = text.partition("=")
    known = machine.get_params()
    if not equals or key not in known or key in ("metric", "like", "tune", "normalize", "seed"):
        settable = ", ".join(k for k in known if k not in ("metric", "like", "tune", "normalize", "seed"))
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
