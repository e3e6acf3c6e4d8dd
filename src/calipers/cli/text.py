"""The command `calipers text`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.option_groups import LibraryChoice, declared, together
from calipers.cli.options import (
    FILE,
    draw,
    max_unpacked_option,
    note,
    plot_option,
    progress,
    strict_option,
    warn,
    words,
)
from calipers.cli.output import Output, output, several_outputs
from calipers.collection.run_names import named_files, stem_of
from calipers.errors import CalipersError
from calipers.plurals import counted

if TYPE_CHECKING:
    from calipers.collection.model import Judgments
    from calipers.results.scores import Scores
    from calipers.text.bertscore import Matcher
    from calipers.text.human_agreement import HumanCorrelation
    from calipers.text.likelihood import Generator
    from calipers.text.options import TextOptions
    from calipers.text.scoring import TextScores
    from calipers.text.summaries import Summaries

ROUGES = "ROUGE-1 ROUGE-2 ROUGE-L V1(ROUGE-1) V2(ROUGE-1)"
BERT = "BERTScore V1(BERTScore) V2(BERTScore)"


LATER = ("compare", "meta", "report")  # in files of their own


class _TextCommands(click.Group):
    """Loads some of its commands when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*super().list_commands(context), *LATER})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in LATER:
            later: click.Command = import_module(f"calipers.cli.text_{name}").command
            return later
        return super().get_command(context, name)


@click.group("text", cls=_TextCommands)
def command() -> None:
    """Summaries and translations between their bounds: ROUGE, BLEU, chrF, TER, METEOR, BERTScore, and people.

    \b
    calipers text score data.jsonl -m "ROUGE-1 ROUGE-L V2(ROUGE-1)"
    calipers text score data.jsonl -m "chrF BLEU V2(chrF) V2(BLEU) METEOR" --chance sentences
    calipers text score data.jsonl -m "BERTScore V2(BERTScore)" --encoder roberta-large
    calipers text compare data.jsonl -m "ROUGE-2 V2(ROUGE-2)" --baseline s0
    calipers text correlate data.jsonl --human coherence,relevance
    calipers text meta data.jsonl -m "ROUGE-1 ROUGE-L V2(ROUGE-1)"
    calipers text report data.jsonl -o summaries.html
    calipers text documents data.jsonl --encoder roberta-large --by heterogeneity

    DATA is a file of JSON lines, one object per document and system (id, system, summary, references, source, human),
    CSV with columns of these names, or has SummEval's layout. It may be compressed. Instead, --candidates, --references
    and --source name plain texts of one line per document.
    """


def _not(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    return not value


def _length(context: click.Context, parameter: click.Parameter, value: str) -> int | str:
    try:
        return int(value)
    except ValueError:
        return value


@dataclass(frozen=True)
class SummaryFiles:
    """The summaries, and which of them are taken."""

    data: str | None
    candidates: tuple[str, ...]
    references: tuple[str, ...]
    source: str | None
    systems: str | None
    use_references: int | None
    judgments: str | None
    max_unpacked: int | None

    @property
    def name(self) -> str:
        return self.data or ", ".join(self.candidates)

    def files(self) -> dict[str, str]:
        """What is read, each with its role."""
        roles = {"texts": (self.data,), "candidates": self.candidates, "references": self.references,
                 "source": (self.source,), "judgments": (self.judgments,)}  # fmt: skip
        return {path: role for role, paths in roles.items() for path in paths if path is not None}

    def open(self) -> Summaries:
        found = self._read()
        if self.systems:
            found = found.of_systems(words(self.systems))
        return found.first_references(self.use_references) if self.use_references else found

    def judged(self) -> Judgments | None:
        """The judgments of the documents that answers were made from, where a file has them."""
        from calipers.collection.sources import read_judgments

        return None if self.judgments is None else read_judgments(self.judgments, max_unpacked=self.max_unpacked)

    def _read(self) -> Summaries:
        from calipers.text.summary_files import read_parallel_summaries, read_summaries

        parallel = self.candidates or self.references or self.source is not None
        if self.data is not None and not parallel:
            return read_summaries(self.data, max_unpacked=self.max_unpacked)
        for given in self.references:
            if given in ("max", "mean") and not os.path.exists(given):
                raise CalipersError(f"--references names files; how several are combined is --several {given}")
        if self.data is not None:
            raise CalipersError("give either a file of summaries, or parallel texts by --candidates and --references")
        if not self.candidates or not self.references:
            raise CalipersError(
                "which summaries? Give a file of them (JSON lines, CSV, SummEval), or parallel texts: --candidates "
                "a.txt --references r.txt"
            )
        systems: dict[str, str] = {}
        for given in self.candidates:
            for named, path in named_files(given):
                name = named or stem_of(path)
                if name in systems:
                    raise CalipersError(f"two systems have the name '{name}': give one another, as other={path}")
                systems[name] = path
        return read_parallel_summaries(systems, self.references, self.source, max_unpacked=self.max_unpacked)


@dataclass(frozen=True)
class Scoring:
    """Which measures, how ROUGE is worked out, and how the expected summary of BERTScore is made."""

    rouge: TextOptions
    tokens: str
    k: int | str
    repeated: bool
    measures: tuple[str, ...] = ()

    @property
    def options(self) -> TextOptions:
        from calipers.text.options import Keywords

        keywords = Keywords(self.tokens, self.k, self.repeated, seed=self.rouge.seed)
        return replace(self.rouge, keywords=keywords)


@dataclass(frozen=True)
class Bert:
    """The encoder of BERTScore, and what it is made to do."""

    encoder: str | None
    layer: int | None
    idf: bool
    rescale: str | None
    device: str | None
    batch: int
    cache: str | None
    mixed: bool | None
    generator: str | None

    def matcher(self, summaries: Summaries, otherwise: str) -> Matcher:
        """It, fitted to these summaries; an error in these words where no encoder is named."""
        from calipers.text.bertscore import matcher
        from calipers.text.encoder import Encoder

        if self.encoder is None:
            raise CalipersError(otherwise)
        encoder = Encoder(
            self.encoder, self.layer, device=self.device, batch=self.batch, cache=self.cache, mixed=self.mixed
        )
        references = [text for document in summaries.documents for text in document.references]
        return matcher(encoder, references, idf=self.idf, baseline=self.rescale)

    def likelihoods(self) -> Generator:
        """The model of BARTScore."""
        from calipers.text.likelihood import BATCH, Generator

        if self.generator is None:
            raise CalipersError("BARTScore needs an encoder-decoder model: --generator MODEL, on the hub or a folder")
        return Generator(self.generator, device=self.device, batch=min(self.batch, BATCH), mixed=self.mixed)


_measures = click.option(
    "-m", "--measure", "measures", multiple=True, metavar="NAMES",
    help="Measures: ROUGE-1 to -9, -L, -Lsum, -W, -S4, -SU4 (also ROUGE-2(part=recall)), BLEU, chrF, chrF++, TER, "
         f"METEOR, BERTScore; U(..) V1(..) V2(..) E(..) of them [default: {ROUGES}, with --encoder BERTScore's].",
)  # fmt: skip
_data = together(
    "data", SummaryFiles,
    click.argument("data", required=False, type=FILE),
    click.option("--candidates", multiple=True, metavar="[NAME=]FILE", type=FILE,
                 help="Instead of DATA: a system's summaries as plain text, one per line; may be repeated."),
    click.option("--references", multiple=True, metavar="FILE", type=FILE,
                 help="With --candidates: references, line by line; may be repeated for several of each."),
    click.option("--source", metavar="FILE", type=FILE, help="With --candidates: the sources, line by line."),
    click.option("--systems", metavar="A,B,...", help="Only these systems."),
    click.option("--use-references", type=click.IntRange(min=1), metavar="N",
                 help="Only the first N references of each document."),
    click.option("--several", type=LibraryChoice("calipers.text.rouge_scores:SEVERAL"), default="max",
                 show_default=True, help="With several references: the best score, or the mean."),
    click.option("--judgments", metavar="FILE", type=FILE,
                 help="Judgments (qrels) of the documents that answers were made from, for measures of rankings."),
    max_unpacked_option,
)  # fmt: skip
_rouge = declared(
    click.option("--tokenizer", type=LibraryChoice("calipers.text.tokens:TOKENIZERS"), default="unicode",
                 show_default=True, help="Words of any script, or those of the original ROUGE."),
    click.option("--stem", is_flag=True, help="Cut words to their stems (Porter, English)."),
    click.option("--length", default="candidate", show_default=True, callback=_length,
                 metavar="candidate|reference|N", help="Words of the random texts."),
    click.option("--without-replacement", "replacement", is_flag=True, callback=_not,
                 help="Draw each word of the source at most once."),
    click.option("--chance", type=LibraryChoice("calipers.text.options:CHANCES"),
                 help="Random texts behind all expected scores: words or sentences of the source, its beginning, the "
                      "candidate's words shuffled, a reference of another document [default: words; for BERTScore the "
                      "source's key tokens]."),
    click.option("--texts", type=click.IntRange(min=2), default=10, show_default=True,
                 help="Random texts, where they are scored one by one."),
    click.option("--upper", type=LibraryChoice("calipers.text.options:UPPER"), default="1", show_default=True,
                 help="Upper bound: 1, what a summary of this length can reach (ROUGE), or what a person reaches: each "
                      "reference against the others."),
    click.option("--draws", type=click.IntRange(min=2), default=1000, show_default=True,
                 help="Random summaries, where an expected ROUGE-N or ROUGE-L of words is sampled."),
    click.option("--seed", type=click.IntRange(min=0), default=42, show_default=True),
)  # fmt: skip
_bert = together(
    "bert", Bert,
    click.option("--encoder", metavar="MODEL", envvar="CALIPERS_ENCODER", show_envvar=True,
                 help="Model of BERTScore: its name on the Hugging Face hub, or a folder."),
    click.option("--layer", type=click.IntRange(min=0),
                 help="Layer of the model [default: the best known, else the last]."),
    click.option("--idf", is_flag=True, help="Weigh tokens by how few references have them."),
    click.option("--rescale", metavar="FILE", type=FILE,
                 help="Rescale by this file of bert-score's (LAYER,P,R,F)."),
    click.option("-k", "k", default="reference", show_default=True, callback=_length,
                 metavar="reference|candidate|N", help="Tokens of the expected summary of BERTScore."),
    click.option("--tokens", type=LibraryChoice("calipers.text.options:CHOICES"), default="most", show_default=True,
                 help="Tokens of that summary: by likeness to the document."),
    click.option("--repeated", is_flag=True, help="Let it repeat tokens as often as the source does."),
    click.option("--device", help="cpu, cuda, cuda:1, mps [default: a GPU where there is one]."),
    click.option("--batch", type=click.IntRange(min=1), default=64, show_default=True,
                 help="Texts that are encoded together."),
    click.option("--cache", metavar="FOLDER", type=FILE,
                 help="Keep the vectors of texts, and the scores of random ones, there."),
    click.option("--mixed/--no-mixed", default=None,
                 help="Half precision inside the model [default: on a CUDA device only]."),
    click.option("--generator", metavar="MODEL", help="Encoder-decoder model of BARTScore: as for --encoder."),
)  # fmt: skip
_scoring = declared(together("rouge", "calipers.text.options:TextOptions"), together("scoring", Scoring))


# -- score -----------------------------------------------------------------------------------------------


@command.command("score")
@_scoring
@_data
@_measures
@_rouge
@_bert
@click.option("-q", "--per-document", is_flag=True, help="One row per system and document instead of means.")
@strict_option
@output
def score(data: SummaryFiles, scoring: Scoring, bert: Bert, per_document: bool, strict: bool, output: Output) -> None:
    """Score summaries or answers: a table of systems x measures.

    Measures of rankings (nDCG@10) are those of the documents that an answer was made from, its `retrieved` ones.

    \b
    calipers text score data.jsonl -m "ROUGE-1 ROUGE-2 ROUGE-L V2(ROUGE-1)"
    calipers text score data.jsonl -m "METEOR V2(METEOR)" --chance sentences
    calipers text score data.jsonl -m "BERTScore V2(BERTScore)" --encoder roberta-large --per-document --format csv
    calipers text score --candidates old.txt --candidates new.txt --references r.txt --source s.txt -m "rouge1"
    calipers text score answers.jsonl -m "EM F1 NuggetRecall CitationPrecision CitationRecall nDCG@10"
    """
    _, scores, _ = _all_scored(data, scoring, bert, strict)
    output.write(scores.per_query() if per_document else scores.mean())


# -- correlate -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HumanScores:
    """What people said, and how measures are correlated with it."""

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
@_scoring
@_data
@_measures
@together("people", HumanScores)
@click.option("--human", metavar="A,B,...", help="Aspects of human judgment [default: all that DATA has].")
@click.option("--level", default="system,summary,pooled", show_default=True, metavar="A,B,...",
              help="Over means of systems, over systems for each document, or over all summaries.")  # fmt: skip
@click.option("--coefficient", default="tau-b", show_default=True, metavar="A,B,...", help="tau-b, spearman, pearson.")
@click.option("--samples", type=click.IntRange(min=0), default=1000, show_default=True,
              help="Resamples of documents for the intervals; 0 for none.")  # fmt: skip
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the intervals.")
@click.option("--preferences", metavar="FILE", type=FILE,
              help="Instead: win, lost and tie of normalised measures against pairwise human preferences "
                   "(CSV: id, first, second, preferred).")  # fmt: skip
@click.option("--wide", is_flag=True, help="A table of measures x aspects for each level and coefficient.")
@plot_option("the correlations and their intervals")
@_rouge
@_bert
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
    """How well measures agree with people, with intervals over documents.

    PAI is the increase of a normalised measure's correlation over that of the measure itself, in percent.

    \b
    calipers text correlate data.jsonl --human coherence,relevance --level system
    calipers text correlate data.jsonl -m "ROUGE-L V2(ROUGE-L)" --wide --format latex
    calipers text correlate data.jsonl -m "ROUGE-1 V2(ROUGE-1)" --preferences preferences.csv
    """
    from calipers.text import charts
    from calipers.text.human_agreement import check_choices, human_correlation

    levels, coefficients, samples, seed = people.levels, people.coefficients, people.samples, scoring.rouge.seed
    check_choices(levels, coefficients, people.confidence)
    summaries = data.open()
    if people.preferences is None:
        aspects = words(people.human) if people.human else list(summaries.human)
        if not aspects:
            raise CalipersError("has no human scores", file=data.name)
        judged = {aspect: summaries.judgments(aspect) for aspect in aspects}
    found = _scored(summaries, scoring, bert)
    _say(found, strict, summary_level="summary" in levels)
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
@_scoring
@_data
@_bert
@click.option("--by", type=LibraryChoice("calipers.text.order_sensitivity:ORDERS"), default="heterogeneity",
              show_default=True,
              help="Order: by the difference of algorithm 2, or by similarities of tokens.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Only N documents at either end.")
@click.option("--attention", is_flag=True, help="Also how tokens attend to the document, in the last layer.")
@plot_option("the profiles of both ends (figure 8.3)")
@output
def documents(
    data: SummaryFiles,
    scoring: Scoring,
    bert: Bert,
    by: str,
    top: int | None,
    attention: bool,
    plot: str | None,
    output: Output,
) -> None:
    """Documents from order-insensitive (heterogeneous) to order-sensitive (homogeneous).

    By how much the expected BERTScore changes when the tokens least like the document take the place of those most
    like it (algorithm 2); beside it the similarities of tokens to their document.

    \b
    calipers text documents data.jsonl --encoder roberta-large --top 20
    calipers text documents data.jsonl --encoder ./model --attention --plot profiles.html
    """
    from calipers.text import charts
    from calipers.text.order_sensitivity import document_profiles, steps

    summaries = data.open()
    matcher = bert.matcher(summaries, "profiles of documents need an encoder: --encoder MODEL")
    attention = attention or plot is not None
    with progress(steps(summaries, attention), "texts") as advance:
        found = document_profiles(summaries, matcher, scoring.options, attention=attention, progress=advance)
    note(
        f"{counted(len(found.documents), 'document')}, {found.encoder}, expected summaries of "
        f"{_range(found.k.tolist())} tokens"
    )
    if found.cut:
        note(f"{found.cut} sources are longer than the {matcher.encoder.longest} tokens of the model; cut")
    size = min(20 if top is None else top, max(1, len(found.documents) // 2))
    draw(plot, lambda _: charts.profile_chart(found, size))
    output.write(found.table(by, top))


# -- what they share -------------------------------------------------------------------------------------


def _range(values: Sequence[int]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"


def _all_scored(
    data: SummaryFiles, scoring: Scoring, bert: Bert, strict: bool
) -> tuple[Summaries, Scores, TextScores | None]:
    """The texts, their scores under all measures, and those of texts with their bounds."""
    import numpy as np

    from calipers.text.answer_retrieval import retrieval_scores, side_by_side, split_measures

    summaries = data.open()
    texts, rankings = split_measures(scoring.measures)
    found: list[Scores] = []
    scored = None
    if texts or not rankings:
        scored = _scored(summaries, replace(scoring, measures=tuple(texts)), bert)
        _say(scored, strict)
        found.append(scored.scores)
    if rankings:
        found.append(retrieval_scores(summaries, rankings, data.judged()))
    scores = found[0] if len(found) == 1 else side_by_side(*found)
    there = np.array([[text is not None for text in row] for row in summaries.texts])
    for name, lacking in zip(scores.measures, (np.isnan(scores.values) & there).sum(axis=(1, 2)).tolist(), strict=True):
        if lacking:
            note(f"{name}: {lacking} of {int(there.sum())} undefined; left out")
    return summaries, scores, scored


def _scored(summaries: Summaries, scoring: Scoring, bert: Bert) -> TextScores:
    from calipers.text.measure_names import text_measures
    from calipers.text.scoring import evaluate_summaries, steps

    names = list(scoring.measures) or [ROUGES, *([BERT] if bert.encoder else [])]
    matcher = None
    bases = {measure.base for measure in text_measures(names)}
    if "BERTScore" in bases:
        no_encoder = "BERTScore needs an encoder: --encoder MODEL, a name on the hub or a folder"
        matcher = bert.matcher(summaries, no_encoder)
    generator = bert.likelihoods() if "BARTScore" in bases else None
    with progress(steps(summaries, names), "texts") as advance:
        return evaluate_summaries(
            summaries, names, scoring.options, matcher, advance, generator=generator, cache=bert.cache, warn=False
        )


def _say(found: TextScores, strict: bool, summary_level: bool = False) -> None:
    """What was left out, how expected scores were found, and what they cannot show."""
    warn(found.notes, strict)
    for measured in found.measured.values():
        if measured.signature:
            note(f"{measured.name}: sacrebleu {measured.signature}")
        if measured.expected is not None and measured.exactness == "sampled":
            one_by_one = measured.drawn is None
            draws = f"{found.options.texts} texts" if one_by_one else f"{measured.drawn} draws"
            note(
                f"expected {measured.name} ({measured.chance}): sampled, {draws}, seed {found.options.seed}, standard "
                f"error at most {measured.error:.4f} for a summary, {measured.error_of_mean:.4f} for a system"
            )
        if measured.unknown_upper:
            note(f"upper bound of {measured.name}: 1, as what a text of its length could reach is not known")
        if measured.clamped:
            note(f"expected {measured.name}: above the upper bound of {measured.clamped} summaries; lowered to it")
    for name in found.cannot_reorder:
        follows = "; tau-b and rho at the summary level are those of the measure itself" if summary_level else ""
        note(
            f"V1 and V2 of {name} cannot change the order of two summaries of one document: all of a document's "
            f"summaries have the same expected score and upper bound{follows}"
        )
