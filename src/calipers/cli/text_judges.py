"""The command `calipers text judges`."""

from __future__ import annotations

import click

from calipers.cli.options import FILE, LEVEL, note, seed_option, strict_option, warn
from calipers.cli.output import Output, several_outputs
from calipers.collection.run_names import named_files, stem_of

TABLES = {
    "agreement": "agreement with people",
    "systems": "scores of systems by the labels of people and of the judge",
    "confusion": "how often each pair of labels was given",
    "labels": "all labels that both gave",
}


@click.command("judges")
@click.argument("human", metavar="HUMAN", type=FILE)
@click.argument("judges", nargs=-1, required=True, metavar="JUDGE...", type=FILE)
@click.option(
    "--show",
    type=click.Choice(list(TABLES)),
    multiple=True,
    help="Tables to print; may be repeated [default: agreement and systems].",
)
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="Level of the intervals.")
@click.option(
    "--draws",
    type=click.IntRange(1, 100_000),
    default=1000,
    show_default=True,
    help="Resamples of queries for the intervals.",
)
@seed_option
@strict_option
@several_outputs
def command(
    human: str,
    judges: tuple[str, ...],
    show: tuple[str, ...],
    level: float,
    draws: int,
    seed: int,
    strict: bool,
    output: Output,
) -> None:
    """Measure how far judges of nuggets and citations (such as language models) agree with people.

    HUMAN and each JUDGE are files of the same answers, with the nuggets and statements as people or the judge labelled
    them. Judges are named after their files, or given as name=file.

    \b
    calipers text judges people.jsonl llm.jsonl
    calipers text judges people.jsonl gpt=gpt.jsonl llama=llama.jsonl --show confusion
    calipers text judges people.jsonl llm.jsonl --show labels -o labels.csv
    """
    from calipers.questions.judges.answer_study import judge_answers

    named = {name or stem_of(file): file for given in judges for name, file in named_files(given)}
    found = judge_answers(human, named, draws=draws, level=level, seed=seed)
    warn(found.notes, strict)
    note(found.summary)
    note(f"intervals of the weighted kappa: {draws:,} resamples of queries, seed {seed}")
    names = show or (("agreement", "systems") if output.format in ("table", "markdown") else ("agreement",))
    output.write_several({name: (TABLES[name], found.table(name)) for name in names})
