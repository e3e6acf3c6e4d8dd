"""Commands whose options are drawn from click's own metadata: every option of every command, with odd values.

A value is drawn by the option's type: a choice, a number at or beyond the ends of its range, a measure, a file, or a
word of the option's own help.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache

import click

from calipers.cli.commands import root

# A command with a syntax of its own, which has templates.
LEFT_OUT = ("calipers trec_eval",)
NOT_DRAWN = ("--engine", "--master", "--help")  # a Spark session takes longer than all other commands together

NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "10",
    "-1",
    "0.5",
    "0.05",
    "1e-50",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "-inf",
    "1e-320",
    "4294967296",
    "9" * 30,
    "",
    "x",
]
WORDS = [
    "a",
    "b",
    "all",
    "x",
    "",
    " ",
    "0",
    "1",
    "-1",
    "nan",
    "2,3",
    "a,b",
    "a=1",
    "a=b",
    "1=2",
    "é",
    "\x1b[31m",
    "skip",
    "error",
    "pool",
    "retrieved",
    "union",
    "collection(50)",
    "collection(0)",
    "hard",
    "easy",
    "AP",
    "P@5",
    "query=qid",
    "=",
    "a=",
    "__proto__",
    "rounds=1",
    "../x",
    "9" * 30,
]
ENDINGS = [".csv", ".json", ".txt", ".html", ".md", ".tex", ".run", ".parquet", ".svg", ""]
TEXTS = ("summaries.jsonl", "answers.jsonl")
LABELS = ("S3.svm",)
MODELS = ("model.cal", "trees.cal")
SCORES = ("table.csv", "stored.json")
# Files by the name of a parameter.
FILES: dict[str, Sequence[str]] = {
    "data": TEXTS,
    "preferences": TEXTS,
    "model": MODELS,
    "train_files": LABELS,
    "valid_files": LABELS,
    "files": (*LABELS, "table.csv"),
    "costs": ("costs.txt",),
    "baseline": ("b.run", *SCORES),
    "query_ids": ("run.tsv", "passages.tsv"),
    "rollup_by": ("passages.tsv",),
}
OF_JUDGMENTS = ("judgments", "human", "judges", "judge", "judged", "qrels", "source")
OF_RUNS = ("systems", "new", "old", "leave_out", "runs", "source")
# Values that options without choices are meant for, by the name of the option. Others have the words of their help.
POLICIES = ("0", "1", "0.5", "skip", "error")
MEANT: dict[str, Sequence[str]] = {
    "empty": POLICIES,
    "missing": POLICIES,
    "degenerate": POLICIES,
    "population": ("pool", "retrieved", "union", "collection(50)"),
    "samples": ("all", "1", "10", "100"),
    "number": ("0.5", "0.25", "1"),
    "sets": ("hard", "easy", "informative", "all"),
    "baseline": ("a", "b", "s0", "s1"),
    "ranking": ("0,1,0,2", "1", "0"),
    "like": ("trec_eval", "letor4", "yahoo", "ranx"),
}
# How files are read has laws of its own: such options are drawn less often.
OF_READING = (
    "judgments_as",
    "systems_as",
    "columns",
    "judgments_columns",
    "systems_columns",
    "rollup",
    "rollup_by",
    "drop_own_ids",
    "query_ids",
    "max_unpacked",
    "combine_grades",
    "rename_grades",
    "jobs",
    "progress",
    "safe_csv",
)
WHOLE = ["1", "2", "3", "5", "10", "50"]
FRACTIONS = ["0.05", "0.1", "0.5", "0.8", "1", "2"]
TEXT_MEASURES = ["rouge1", "rougeL", "V2(rouge1)", "bleu", "EM", "F1", "NuggetRecall", "x"]


@cache
def all_commands() -> tuple[tuple[tuple[str, ...], click.Command], ...]:
    """Return every command that is no group, with the words that call it."""

    def found(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
        if any(" ".join(("calipers", *words)).startswith(name) for name in LEFT_OUT):
            return
        if not isinstance(command, click.Group):
            yield words, command
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from found(inner, (*words, name))

    return tuple(found(root, ()))


class Drawer:
    """Draws arguments of commands."""

    def __init__(
        self,
        pick: random.Random,
        judgments: Sequence[str],
        runs: Sequence[str],
        files: Sequence[str],
        measures: Sequence[str],
    ) -> None:
        self.pick = pick
        self.judgments, self.runs, self.files, self.measures = judgments, runs, files, measures
        self.is_text = False

    def call(self) -> list[str]:
        """Return a command with its arguments. Names of files stand for files; {out} begins those to be written."""
        words, command = self.pick.choice(all_commands())
        takes_texts = any(each.name == "relevant_documents" for each in command.params)
        self.is_text = words[0] == "text" or (takes_texts and self.pick.random() < 0.3)
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        options = [each for each in command.params if isinstance(each, click.Option) and each.opts[0] not in NOT_DRAWN]
        chosen = [each for each in options if each.required]
        others = [each for each in options if not each.required]
        others = [each for each in others if each.name not in OF_READING or self.pick.random() < 0.05]
        chosen += self.pick.sample(others, min(len(others), self.pick.choice([0, 1, 1, 2, 2, 3, 5])))
        call = [*words]
        for argument in arguments:
            call += [self.value(argument) for _ in range(self.times(argument))]
        for option in chosen:
            call += self.given(option)
        return call

    def times(self, argument: click.Argument) -> int:
        """Draw how often an argument is given."""
        if argument.nargs > 0:
            return argument.nargs if argument.required or self.pick.random() < 0.9 else 0
        return self.pick.choice([1, 2, 2, 2, 3])

    def given(self, option: click.Option) -> list[str]:
        """Draw an option with its value."""
        name = self.pick.choice([*option.opts, *option.secondary_opts])
        if option.is_flag or option.count:
            return [name]
        return [
            word
            for _ in range(2 if option.multiple and self.pick.random() < 0.3 else 1)
            for word in (name, self.value(option))
        ]

    def value(self, parameter: click.Parameter) -> str:
        """Draw a value of a parameter."""
        pick, kind, name = self.pick, parameter.type, parameter.name or ""
        if pick.random() < 0.03:
            return pick.choice(WORDS)
        match type(kind).__name__:
            case "OutputFile" | "OutputFolder":
                return "{out}" + pick.choice(ENDINGS)
            case "ChartFile":
                return "{out}" + pick.choice([".html", ".json", ".svg", ".png"])
            case "FileName":
                return self.file(name)
        if type(kind).__name__ == "MeasureNames" or name in ("measures", "metric"):
            return pick.choice(TEXT_MEASURES if self.is_text else self.measures)
        if isinstance(kind, click.Choice):
            return str(pick.choice(list(kind.choices)))
        meant = MEANT.get(name, ())
        if isinstance(kind, click.types.IntParamType):
            meant = WHOLE
        elif isinstance(kind, click.types.FloatParamType):
            meant = FRACTIONS
        if meant and pick.random() < 0.75:
            return pick.choice(meant)
        if isinstance(kind, click.IntRange | click.FloatRange):
            ends = [each for each in (kind.min, kind.max) if each is not None]
            return pick.choice([*(f"{end + step:g}" for end in ends for step in (-1, 0, 1)), *NUMBERS])
        said = re.findall(r"[A-Za-z][\w@*()-]*", getattr(parameter, "help", None) or "")
        return pick.choice([pick.choice(WORDS), pick.choice(NUMBERS), *(2 * [pick.choice(said or WORDS)])])

    def file(self, name: str) -> str:
        """Draw a file for a parameter."""
        pick = self.pick
        if self.is_text and name in ("judgments", *OF_RUNS) and pick.random() < 0.9:
            return pick.choice(TEXTS if name == "judgments" else ("a", "b", "x"))
        fitting = [*FILES.get(name, ())]
        fitting += self.judgments if name in OF_JUDGMENTS else ()
        fitting += self.runs if name in OF_RUNS else ()
        if not fitting or pick.random() < 0.04:
            fitting = [*self.files, "no-such-file"]
        elif name in OF_RUNS and pick.random() < 0.8:
            fitting = ["a.run", "b.run"]
        elif name in OF_JUDGMENTS and pick.random() < 0.8:
            fitting = ["qrels"]
        return pick.choice(fitting)
