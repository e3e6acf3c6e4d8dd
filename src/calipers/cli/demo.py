"""calipers demo"""

from __future__ import annotations

from pathlib import Path

import click

from calipers.cli.options import note


@click.command("demo")
@click.option(
    "-o", "--output", default="calipers-demo", show_default=True, metavar="FOLDER", help="Where the files go."
)
@click.option("--seed", default=42, show_default=True)
@click.pass_context
def command(context: click.Context, output: str, seed: int) -> None:
    """Make a small test collection, evaluate it from its files, and print the table.

    \b
    calipers demo -o calipers-demo
    """
    from calipers.cli.evaluate import command as evaluate
    from calipers.collection.simulate import simulate

    quality = {"ideal": 1.0, "strong": 0.6, "fair": 0.4, "weak": 0.2, "random": 0.0}
    simulation = simulate(topics=50, systems=quality, retrieved=200, ties=0.1, unjudged=0.2, seed=seed)
    folder = Path(output)
    qrels, runs = simulation.write(folder)
    note(f"wrote a collection of 50 topics and {len(quality)} systems to {folder} (seed {seed})")
    measures = "nDCG@10 AP RR P@10 Recall@1000 RBP(p=0.8) V2(nDCG@10)"
    click.echo(f'$ calipers evaluate {qrels} {folder / "*.run"} -m "{measures}"')
    context.invoke(
        evaluate,
        judgments=str(qrels),
        systems=tuple(str(run) for run in runs),
        measures=(measures,),
        form="table",
        ties="average",
        depth=None,
        condensed=False,
        empty=None,
        missing=0.0,
        degenerate=None,
    )
