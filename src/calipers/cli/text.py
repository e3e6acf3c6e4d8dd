"""The command `calipers text`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from calipers.cli.option_groups import GroupOfCommands, LibraryChoice
from calipers.cli.options import WholeNumber, draw, note, plot_option, progress, strict_option
from calipers.cli.output import Output, output
from calipers.cli.text_options import (
    Bert,
    TextFiles,
    TextRequest,
    bert_options,
    data_options,
    details_of_measures,
    in_words,
    scoring_options,
    text_request,
    texts_and_measures,
)
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.texts.options import TextOptions

IN_OTHER_FILES = ("check", "compare", "diff", "expected")


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
    """Score summaries, translations and answers: ROUGE, BLEU, chrF, TER, BERTScore, nuggets, citations, human scores.

    \b
    calipers text score data.jsonl -m "ROUGE-1 ROUGE-L V2(ROUGE-1)"
    calipers text score answers.jsonl -m "F1 NuggetRecall CitationPrecision ContextRecall"
    calipers text compare data.jsonl -m "ROUGE-2 V2(ROUGE-2)" --baseline s0
    calipers text check data.jsonl s0 --baseline s1 -m "ROUGE-2" --max-drop 0.2
    calipers text diff data.jsonl s0 s1 -m "ROUGE-2"
    calipers text documents data.jsonl --encoder roberta-large --by heterogeneity
    calipers text expected data.jsonl

    DATA is a file of JSON lines, one object per document and system (id, system, summary or answer, references, source,
    human, scores), CSV or Parquet with columns of these names, or has SummEval's layout. It may be compressed. Instead,
    --candidates, --references and --source name plain texts of one line per document.
    """


# -- score -----------------------------------------------------------------------------------------------


@command.command("score")
@texts_and_measures
@details_of_measures
@click.option("-q", "--per-document", is_flag=True, help="One row per system and document instead of means.")
@click.option(
    "--corpus", is_flag=True, help="Corpus scores of BLEU, chrF, chrF++ and TER, which pool counts over all texts."
)
@strict_option
@text_request
@output
def score(request: TextRequest, per_document: bool, corpus: bool, output: Output) -> None:
    """Score summaries, translations or answers: a table of systems x measures.

    Measures of rankings, such as nDCG@10, score the `retrieved` documents of answers.

    \b
    calipers text score data.jsonl -m "ROUGE-1 ROUGE-2 ROUGE-L V2(ROUGE-1)"
    calipers text score data.jsonl -m "chrF V2(chrF)" --chance sentences
    calipers text score data.jsonl -m "BERTScore V2(BERTScore)" --encoder roberta-large --per-document --format csv
    calipers text score --candidates old.txt --candidates new.txt --references r.txt --source s.txt -m "rouge1"
    calipers text score data.jsonl -m "BLEU chrF" --corpus
    calipers text score answers.jsonl -m "EM F1 NuggetRecall CitationPrecision CitationRecall nDCG@10"
    """
    if corpus:
        from calipers.texts.sacrebleu_measures import corpus_scores

        table = corpus_scores(request.data.open(), request.measures or ["BLEU chrF"], request.options)
        for sentence in table.notes:
            note(sentence)
        output.write(table.changed(notes=()))
        return
    evaluation = request.evaluate()
    scores = evaluation.scores
    output.write(in_words(scores.per_query(), evaluation.collection.kind.unit) if per_document else scores.mean())


# -- documents -------------------------------------------------------------------------------------------


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
