"""The command `calipers text expected`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.cli.option_groups import grouped_command
from calipers.cli.options import note
from calipers.cli.output import Output, output
from calipers.cli.text_options import Bert, TextFiles, data_options, details_of_measures, scoring_options

if TYPE_CHECKING:
    from calipers.texts.options import TextOptions


@grouped_command("expected")
@scoring_options
@data_options
@details_of_measures
@output
def command(data: TextFiles, options: TextOptions, bert: Bert, output: Output) -> None:
    """Show the expected summary of each document: the text whose score is the expected one in V1 and V2.

    Without --encoder it is one draw from the words of the source, as for ROUGE; with it, the tokens nearest to the
    source, as for BERTScore. It is as long as the references, or --length words (-k tokens).

    \b
    calipers text expected data.jsonl
    calipers text expected data.jsonl --length 60 --seed 7 --format csv
    calipers text expected data.jsonl --encoder roberta-large -k 50
    """
    from calipers.results.tables import Table
    from calipers.texts.expected_text import expected_summary
    from calipers.texts.random_texts import needed_source

    collection = data.open()
    given = options.length if bert.encoder is None else options.k
    length = given if isinstance(given, int) else None
    encoder = None if bert.encoder is None else bert.matcher(collection).encoder
    rows = []
    for document in collection.documents:
        source = needed_source(document, "its expected summary needs")
        text = expected_summary(source, length=length, references=document.references, encoder=encoder, options=options)
        rows.append((document.id, text))
    drawn = f"one draw from the words of each source, seed {options.seed}"
    note(drawn if encoder is None else f"the tokens of each source nearest to it, {encoder.name}")
    output.write(Table(("document", "expected"), tuple(rows)))
