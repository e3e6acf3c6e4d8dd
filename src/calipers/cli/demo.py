"""The command `calipers demo`."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import click

from calipers.cli.option_groups import grouped_command
from calipers.cli.options import TYPED, OutputFolder, note, seed_option, show
from calipers.support.plurals import counted

MEASURES = "nDCG@10 AP RR P@10 Recall@1000 RBP(p=0.8) V2(AP)"
QUALITY = {"ideal": 1.0, "strong": 0.6, "fair": 0.4, "weak": 0.2, "random": 0.0}
EXTRA = ("jinja2", "vl_convert")


@grouped_command("demo")
@click.option(
    "-o",
    "--output",
    default="calipers-demo",
    show_default=True,
    metavar="FOLDER",
    type=OutputFolder(),
    help="Where the files go.",
)
@click.option(
    "--rag",
    is_flag=True,
    help="Answers of four systems instead: passages, nuggets, citations, and a language model as judge.",
)
@seed_option
@click.pass_context
def command(context: click.Context, output: str, rag: bool, seed: int) -> None:
    """Make a small test collection, evaluate it from its files, and write a report on it.

    \b
    calipers demo -o calipers-demo
    calipers demo --rag
    """
    if rag:
        _rag(context, Path(output), seed)
        return
    from calipers.cli.evaluate import command as evaluate
    from calipers.cli.report import command as report
    from calipers.collection.simulate import simulate

    simulation = simulate(topics=50, systems=QUALITY, retrieved=200, ties=0.1, unjudged=0.2, seed=seed)
    folder = Path(output)
    qrels, runs = simulation.write(folder)
    # The random system permutes the judged documents, as the random rankings behind V2 do.
    replace(simulation, systems={"random": QUALITY["random"]}, unjudged=0.0).write(folder)
    note(f"wrote a collection of 50 queries and {counted(len(QUALITY), 'system')} to {folder} (seed {seed})")
    collection = [str(qrels), *map(str, runs)]
    _call(context, evaluate, [*collection, "-m", MEASURES], f'{qrels} {folder / "*.run"} -m "{MEASURES}"')
    if not _report_is_possible():
        return
    page = str(folder / "report.html")
    few = MEASURES.replace(" Recall@1000", "")  # which is 1 for all: they retrieve every judged document
    chosen = ["-m", few, "--title", "Five simulated systems", "-o", page]
    _call(context, report, [*collection, *chosen], f'{qrels} {folder / "*.run"} -m "{few}" -o {page}')


def _report_is_possible() -> bool:
    """Return True if the packages of reports are installed, and say so otherwise."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        note(f"no report: {', '.join(missing)} missing; pip install 'calipers[report]'")
    return not missing


def _call(context: click.Context, command: click.Command, arguments: list[str], shown: str) -> None:
    """Show what a user would type, and do it."""
    typed = f"calipers {command.name} {shown}"
    show(f"$ {typed}\n")
    context.meta[TYPED] = typed
    with command.make_context(str(command.name), arguments, parent=context) as own:
        command.invoke(own)


def _rag(context: click.Context, folder: Path, seed: int) -> None:
    """Score answers, compare systems, judge the judge, and write a report."""
    from calipers.cli.compare import command as compare
    from calipers.cli.evaluate import command as evaluate
    from calipers.cli.judges import command as judges
    from calipers.cli.metaeval import command as metaeval
    from calipers.cli.report import command as report
    from calipers.texts.synthetic_answers import SYSTEMS, write_answers

    people, model = (str(path) for path in write_answers(folder, questions=40, seed=seed))
    note(f"wrote answers of {counted(len(SYSTEMS), 'system')} to 40 questions to {folder} (seed {seed})")
    measures = "NuggetRecall CitationPrecision CitationRecall F1 ContextPrecision ContextRecall nDCG@10 faithfulness"
    page = str(folder / "report.html")
    for command, arguments in (
        (evaluate, [people, "-m", measures]),
        (compare, [people, "-m", "NuggetRecall", "--show", "wins"]),
        (metaeval, [people, "-m", "NuggetRecall F1 faithfulness", "--table", "agreement", "--level", "system"]),
        (judges, [people, model]),
        *([(report, [people, "-m", measures, "-o", page])] if _report_is_possible() else []),
    ):
        _call(context, command, arguments, " ".join(f'"{word}"' if " " in word else word for word in arguments))
