"""The command `calipers text`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.option_groups import LibraryChoice, together
from calipers.cli.options import FILE, LEVEL, WholeNumber, draw, note, plot_option, progress, strict_option, words
from calipers.cli.output import Output, output, several_outputs
from calipers.cli.text_options import (
    Bert,
    Scoring,
    SummaryFiles,
    all_scored,
    bert_options,
    data_options,
    details_of_measures,
    say_scored,
    scored,
    scoring_options,
    texts_and_measures,
)
from calipers.errors import CalipersError
from calipers.plurals import counted

if TYPE_CHECKING:
    from calipers.text.human_agreement import HumanCorrelation
    from calipers.text.scoring import TextScores

LATER = ("compare", "expected", "meta", "report")  # in files of their own


class _TextCommands(click.Group):
    """A command group that loads some commands when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*super().list_commands(context), *LATER})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in LATER:
            later: click.Command = import_module(f"calipers.cli.text_{name}").command
            return later
        return super().get_command(context, name)


@click.group("text", cls=_TextCommands)
def command() -> None:
    """Score summaries, translations and answers: ROUGE, BLEU, chrF, TER, BERTScore, and human judgments.

    \b
    calipers text score data.jsonl -m "ROUGE-1 ROUGE-L V2(ROUGE-1)"
    calipers text score data.jsonl -m "chrF BLEU V2(chrF) V2(BLEU)" --chance sentences
    calipers text score data.jsonl -m "BERTScore V2(BERTScore)" --encoder roberta-large
    calipers text compare data.jsonl -m "ROUGE-2 V2(ROUGE-2)" --baseline s0
    calipers text correlate data.jsonl --human coherence,relevance
    calipers text meta data.jsonl -m "ROUGE-1 ROUGE-L V2(ROUGE-1)"
    calipers text report data.jsonl -o summaries.html
    calipers text documents data.jsonl --encoder roberta-large --by heterogeneity
    calipers text expected data.jsonl

    DATA is a file of JSON lines, one object per document and system (id, system, summary, references, source, human),
    CSV with columns of these names, or has SummEval's layout. It may be compressed. Instead, --candidates, --references
    and --source name plain texts of one line per document.
    """


# -- score -----------------------------------------------------------------------------------------------


@command.command("score")
@texts_and_measures
@details_of_measures
@click.option("-q", "--per-document", is_flag=True, help="One row per system and document instead of means.")
@strict_option
@output
def score(data: SummaryFiles, scoring: Scoring, bert: Bert, per_document: bool, strict: bool, output: Output) -> None:
    """Score summaries or answers: a table of systems x measures.

    Measures of rankings (nDCG@10) are those of the documents that an answer was made from, its `retrieved` ones.

    \b
    calipers text score data.jsonl -m "ROUGE-1 ROUGE-2 ROUGE-L V2(ROUGE-1)"
    calipers text score data.jsonl -m "chrF V2(chrF)" --chance sentences
    calipers text score data.jsonl -m "BERTScore V2(BERTScore)" --encoder roberta-large --per-document --format csv
    calipers text score --candidates old.txt --candidates new.txt --references r.txt --source s.txt -m "rouge1"
    calipers text score answers.jsonl -m "EM F1 NuggetRecall CitationPrecision CitationRecall nDCG@10"
    """
    _, scores, _ = all_scored(data, scoring, bert, strict)
    output.write(scores.per_query() if per_document else scores.mean())


# -- correlate -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HumanScores:
    """Options for human judgments and correlations."""

    human: str | None
    level: str
    coefficient: str
    samples: int
    confidence: float
    preferences: str | None

    @property
    def levels(self) -> list[str]:
        return words(self.level)

    @property
    def coefficients(self) -> list[str]:
        return words(self.coefficient)


@command.command("correlate")
@texts_and_measures
@together("people", HumanScores)
@click.option("--human", metavar="A,B,...", help="Aspects of human judgment [default: all that DATA has].")
@click.option("--level", default="system,summary,pooled", show_default=True, metavar="A,B,...",
              help="Over means of systems, over systems for each document, or over all summaries.")  # fmt: skip
@click.option("--coefficient", default="tau-b", show_default=True, metavar="A,B,...", help="tau-b, spearman, pearson.")
@click.option("--samples", type=WholeNumber(0), default=1000, show_default=True,
              help="Resamples of documents for the intervals; 0 for none.")  # fmt: skip
@click.option("--confidence", type=LEVEL, default=0.95, show_default=True, help="Level of the intervals.")
@click.option("--preferences", metavar="FILE", type=FILE,
              help="Instead: win, lost and tie of normalised measures against pairwise human preferences "
                   "(CSV: id, first, second, preferred).")  # fmt: skip
@click.option("--wide", is_flag=True, help="A table of measures x aspects for each level and coefficient.")
@plot_option("the correlations and their intervals")
@details_of_measures
@strict_option
@several_outputs
def correlate(
    data: SummaryFiles,
    people: HumanScores,
    wide: bool,
    plot: str | None,
    scoring: Scoring,
    bert: Bert,
    strict: bool,
    output: Output,
) -> None:
    """Show how well measures agree with people, with intervals over documents.

    PAI is the increase of a normalised measure's correlation over that of the measure itself, in percent.

    \b
    calipers text correlate data.jsonl --human coherence,relevance --level system
    calipers text correlate data.jsonl -m "ROUGE-L V2(ROUGE-L)" --wide --format latex
    calipers text correlate data.jsonl -m "ROUGE-1 V2(ROUGE-1)" --preferences preferences.csv
    calipers text correlate data.jsonl -m "BERTScore V2(BERTScore)" --encoder roberta-large --documents heterogeneous:5
    """
    from calipers.text import charts
    from calipers.text.human_agreement import check_choices, human_correlation

    levels, coefficients, samples, seed = people.levels, people.coefficients, people.samples, scoring.rouge.seed
    check_choices(levels, coefficients, people.confidence)
    summaries = data.open(bert, scoring.options)
    if people.preferences is None:
        aspects = words(people.human) if people.human else list(summaries.human)
        if not aspects:
            raise CalipersError("has no human scores", file=data.name)
        judged = {aspect: summaries.judgments(aspect) for aspect in aspects}
    found = scored(summaries, scoring, bert)
    say_scored(found, strict, summary_level="summary" in levels)
    if people.preferences is not None:
        output.write_several(_preferences(found, people.preferences))
        return
    bases = {name: base for name in found.scores.measures if (base := found.base_of(name)) is not None}
    correlation = human_correlation(
        found.scores, judged, levels, coefficients, bases=bases, samples=samples, confidence=people.confidence,
        seed=seed,
    )  # fmt: skip
    note(
        f"{counted(len(summaries.systems), 'system')}, {counted(len(summaries.documents), 'document')}; intervals "
        f"from {counted(samples, 'sample')} of "
        f"documents, seed {seed}"
    )
    draw(plot, lambda _: charts.correlation_chart(correlation, levels[0], coefficients[0]))
    if wide:
        output.write_several(_wide(correlation, levels, coefficients))
    else:
        output.write(correlation.table())


def _wide(correlation: HumanCorrelation, levels: Sequence[str], coefficients: Sequence[str]) -> dict[str, Any]:
    return {
        f"{level}-{coefficient}": (f"{level} level, {coefficient}", correlation.matrix(level, coefficient))
        for level in levels
        for coefficient in coefficients
    }


def _preferences(found: TextScores, path: str) -> dict[str, Any]:
    from calipers.text.preferences import read_preferences, win_lost_tie

    given = read_preferences(path)
    pairs = [(base, name) for name in found.scores.measures if (base := found.base_of(name)) is not None]
    if not pairs:
        raise CalipersError('preferences compare a normalised measure with its base: -m "ROUGE-1 V2(ROUGE-1)"')
    shown = {}
    for base, new in pairs:
        result = win_lost_tie(found.scores, base, new, given)
        shown[new] = (f"{new} against {base}", result.table())
    if result.undecided:
        note(f"{result.undecided} items on which people prefer neither summary are left out")
    return shown


# -- documents -------------------------------------------------------------------------------------------


@command.command("documents")
@scoring_options
@data_options
@bert_options
@click.option("--by", type=LibraryChoice("calipers.text.order_sensitivity:ORDERS"), default="heterogeneity",
              show_default=True,
              help="Order: by the difference of algorithm 2, or by similarities of tokens.")  # fmt: skip
@click.option("--top", type=WholeNumber(1), metavar="N", help="Only N documents at either end.")
@plot_option("the profiles of both ends (figure 8.3)")
@output
def documents(
    data: SummaryFiles,
    scoring: Scoring,
    bert: Bert,
    by: str,
    top: int | None,
    plot: str | None,
    output: Output,
) -> None:
    """Order documents from heterogeneous to homogeneous.

    By how much the expected BERTScore changes when the tokens least like the document take the place of those most
    like it (algorithm 2); beside it the similarities of tokens to their document.

    \b
    calipers text documents data.jsonl --encoder roberta-large --top 20
    calipers text documents data.jsonl --encoder ./model --plot profiles.html
    """
    from calipers.text import charts
    from calipers.text.order_sensitivity import document_profiles, steps

    summaries = data.open()
    matcher = bert.matcher(summaries, "profiles of documents need an encoder: --encoder MODEL")
    with progress(steps(summaries), "texts") as advance:
        found = document_profiles(summaries, matcher, scoring.options, progress=advance)
    note(
        f"{counted(len(found.documents), 'document')}, {found.encoder}, expected summaries of "
        f"{_range(found.k.tolist())} tokens"
    )
    if found.cut:
        note(f"{found.cut} sources are longer than the {matcher.encoder.longest} tokens of the model; cut")
    size = min(20 if top is None else top, max(1, len(found.documents) // 2))
    draw(plot, lambda _: charts.profile_chart(found, size))
    output.write(found.table(by, top))


def _range(values: Sequence[int]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"
