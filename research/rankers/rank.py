"""The command `python -m research rank`."""

from __future__ import annotations

import click

from research.command_line import checked_file, note
from research.rankers.letor_data import read_letor_data
from research.rankers.model_files import load
from research.rankers.score_lines import score_lines, write_score_lines
from research.rankers.train import sparse_option


@click.command("rank")
@click.argument("model", metavar="MODEL")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@sparse_option
@click.option("-o", "--output", metavar="FILE", callback=checked_file, help="Write to this file instead of the screen.")
def rank(model: str, files: tuple[str, ...], sparse: bool, output: str | None) -> None:
    """Score the documents of LETOR (SVMlight) files with a trained model. Prints one number per line.

    \b
    python -m research rank model.cal S5 -o scores.txt
    calipers evaluate S5 scores.txt -m "nDCG(gain=exp)@10 V2(nDCG@10)"
    """
    machine = load(model)
    data = read_letor_data(files, width=machine.features_, sparse=sparse)
    scores = machine.predict(data.X, qid=data.query)
    if output is None:
        click.echo(score_lines(scores), nl=False)
        return
    write_score_lines(scores, output)
    note(f"wrote {len(scores):,} scores to {output}")
