"""The command `calipers rank`."""

from __future__ import annotations

import click

from calipers.cli.option_groups import grouped_command
from calipers.cli.options import FILE, OUTPUT, max_unpacked_option, note, show


@grouped_command("rank")
@click.argument("model", metavar="MODEL", type=FILE)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FILE)
@click.option("--sparse", is_flag=True, help="Keep the features as a sparse matrix, for files with many zeros.")
@max_unpacked_option
@click.option("-o", "--output", metavar="FILE", type=OUTPUT, help="Write to this file instead of the screen.")
def command(model: str, files: tuple[str, ...], sparse: bool, max_unpacked: int | None, output: str | None) -> None:
    """Score the documents of LETOR (SVMlight) files with a trained model. Prints one number per line.

    \b
    calipers rank model.cal S5 -o scores.txt
    calipers evaluate S5 scores.txt -m "nDCG(gain=exp)@10 V2(nDCG@10)"
    """
    from calipers.rankers import load, read_letor_data
    from calipers.rankers.score_lines import score_lines, write_score_lines

    machine = load(model)
    data = read_letor_data(files, width=machine.features_, sparse=sparse, max_unpacked=max_unpacked)
    scores = machine.predict(data.X, qid=data.query)
    if output is None or output == "-":
        show(score_lines(scores))
        return
    write_score_lines(scores, output)
    note(f"wrote {len(scores):,} scores to {output}")
