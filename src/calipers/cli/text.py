"""The commands `calipers text expected` and `calipers text documents`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from calipers.cli.option_groups import GroupOfCommands, LibraryChoice, declared, option_group
from calipers.cli.options import FILE, WholeNumber, draw, max_unpacked_option, note, plot_option, progress, seed_option
from calipers.cli.output import Output, output
from calipers.errors import CalipersError
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.texts.collection import TextCollection
    from calipers.texts.encoder import Encoder


@dataclass(frozen=True)
class Given:
    """Texts, and a model of BERTScore."""

    data: str
    encoder: str | None
    layer: int | None
    length: int | None
    max_unpacked: int | None

    def texts(self) -> TextCollection:
        from calipers.texts.text_files import as_collection

        return as_collection(self.data, max_unpacked=self.max_unpacked)

    def open_encoder(self) -> Encoder | None:
        from calipers.texts.bertscore_measure import open_encoder

        return None if self.encoder is None else open_encoder(self.encoder, self.layer)


given = option_group(
    "given",
    Given,
    declared(
        click.argument("data", metavar="DATA", type=FILE),
        click.option(
            "--encoder",
            metavar="MODEL",
            envvar="CALIPERS_ENCODER",
            show_envvar=True,
            help="Model of BERTScore: its name on the Hugging Face hub, or a folder.",
        ),
        click.option(
            "--layer", type=WholeNumber(0), help="Layer of the model [default: the best known, else the last]."
        ),
        click.option(
            "--length",
            type=WholeNumber(1),
            metavar="N",
            help="Words of an expected text, or tokens with --encoder [default: as many as the references have].",
        ),
        max_unpacked_option,
    ),
)


@click.group("text", cls=GroupOfCommands)
def command() -> None:
    """Show expected texts, and order documents from heterogeneous to homogeneous. `calipers evaluate` scores texts.

    \b
    calipers text expected data.jsonl
    calipers text documents data.jsonl --encoder roberta-large --by heterogeneity
    """


@command.command("expected")
@given
@click.option(
    "--tokens",
    type=LibraryChoice("calipers.texts.options:CHOICES"),
    default="most",
    show_default=True,
    help="With --encoder: the tokens most or least similar to the document, or random ones.",
)
@seed_option
@output
def expected(given: Given, tokens: str, seed: int, output: Output) -> None:
    """Show the expected summary of each document: the text whose score is the expected one in V1 and V2.

    Without --encoder it is one draw from the words of the source, as for ROUGE; with it, the tokens nearest to the
    source, as for BERTScore.

    \b
    calipers text expected data.jsonl
    calipers text expected data.jsonl --length 60 --seed 7 --format csv
    calipers text expected data.jsonl --encoder roberta-large --length 50
    """
    from calipers.results.tables import Table
    from calipers.texts.expected_text import expected_summary
    from calipers.texts.options import TextOptions
    from calipers.texts.random_texts import needed_source

    encoder, options = given.open_encoder(), TextOptions(tokens=tokens, seed=seed)
    rows = []
    for each in given.texts().documents:
        source = needed_source(each, "its expected summary needs")
        text = expected_summary(
            source, length=given.length, references=each.references, encoder=encoder, options=options
        )
        rows.append((each.id, text))
    drawn = f"one draw from the words of each source, seed {seed}"
    note(drawn if encoder is None else f"the tokens of each source nearest to it, {encoder.name}")
    output.write(Table(("document", "expected"), tuple(rows)))


@command.command("documents")
@given
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
def documents(given: Given, by: str, top: int | None, plot: str | None, output: Output) -> None:
    """Order documents from heterogeneous to homogeneous.

    The order is by the difference between the expected BERTScore of the tokens most similar to the document and of the
    tokens least similar to it (algorithm 2). The table also has the similarities of tokens to their document.

    \b
    calipers text documents data.jsonl --encoder roberta-large --limit 20
    calipers text documents data.jsonl --encoder ./model --plot profiles.html
    """
    from calipers.texts.bertscore import matcher
    from calipers.texts.options import TextOptions
    from calipers.texts.order_sensitivity import document_profiles, steps

    encoder, collection = given.open_encoder(), given.texts()
    if encoder is None:
        raise CalipersError("profiles of documents need an encoder: --encoder MODEL")
    known = matcher(encoder, [text for document in collection.documents for text in document.references])
    with progress(steps(collection), "texts") as advance:
        options = TextOptions(k=given.length or "reference")
        found = document_profiles(collection, known, options, progress=advance)
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
