"""The command `calipers text`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from calipers.cli.option_groups import GroupOfCommands, LibraryChoice
from calipers.cli.options import WholeNumber, draw, note, plot_option, progress
from calipers.cli.output import Output, output
from calipers.cli.text_options import (
    Bert,
    TextFiles,
    bert_options,
    data_options,
    scoring_options,
)
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.texts.options import TextOptions

IN_OTHER_FILES = ("expected",)


class _TextCommands(GroupOfCommands):
    """A command group that loads some commands when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*super().list_commands(context), *IN_OTHER_FILES})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in IN_OTHER_FILES:
            loaded: click.Command = import_module(f"calipers.cli.text_{name}").command
            return loaded
        return super().get_command(context, name)


@click.group("text", cls=_TextCommands)
def command() -> None:
    """Show expected texts, and order documents from heterogeneous to homogeneous. `calipers evaluate` scores texts.

    \b
    calipers text documents data.jsonl --encoder roberta-large --by heterogeneity
    calipers text expected data.jsonl

    DATA is a file of JSON lines, one object per document and system (id, system, summary or answer, references, source,
    human, scores), CSV or Parquet with columns of these names, or has SummEval's layout. It may be compressed. Instead,
    --candidates, --references and --source name plain texts of one line per document.
    """


@command.command("documents")
@scoring_options
@data_options
@bert_options
@click.option(
    "--by",
    type=LibraryChoice("calipers.texts.order_sensitivity:ORDERS"),
    default="heterogeneity",
    show_default=True,
    help="Order by the difference of algorithm 2, by similarities of tokens, or by id.",
)
@click.option(
    "--limit",
    "top",
    type=WholeNumber(1),
    metavar="N",
    help="Only the first and the last N documents, as groups for `metaeval --query-groups`.",
)
@plot_option("the profiles of both ends (figure 8.3)")
@output
def documents(
    data: TextFiles,
    options: TextOptions,
    bert: Bert,
    by: str,
    top: int | None,
    plot: str | None,
    output: Output,
) -> None:
    """Order documents from heterogeneous to homogeneous.

    The order is by the difference between the expected BERTScore of the tokens most similar to the document and of the
    tokens least similar to it (algorithm 2). The table also has the similarities of tokens to their document.

    \b
    calipers text documents data.jsonl --encoder roberta-large --limit 20
    calipers text documents data.jsonl --encoder ./model --plot profiles.html
    """
    from calipers.texts.order_sensitivity import document_profiles, steps

    collection = data.open()
    matcher = bert.matcher(collection, "profiles of documents need an encoder: --encoder MODEL")
    with progress(steps(collection), "texts") as advance:
        found = document_profiles(collection, matcher, options, progress=advance)
    note(
        f"{counted(len(found.documents), 'document')}, {found.encoder}, expected summaries of "
        f"{_range(found.k.tolist())} tokens"
    )
    for sentence in found.notes:
        note(sentence)
    size = min(20 if top is None else top, max(1, len(found.documents) // 2))
    draw(plot, lambda charts: charts.profile_chart(found, size))
    output.write(found.ordered(by, top))


def _range(values: Sequence[int]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"
