"""Options that the commands of `calipers text` share: texts, measures, models, scoring."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from calipers.cli.option_groups import LibraryChoice, declared, together
from calipers.cli.options import FILE, WholeNumber, max_unpacked_option, note, progress, seed_option, warn, words
from calipers.collection.run_names import named_files, stem_of
from calipers.errors import CalipersError, place_of

if TYPE_CHECKING:
    from calipers.collection.judgments import Judgments
    from calipers.results.scores import Scores
    from calipers.text.bertscore import Matcher
    from calipers.text.measure_names import TextMeasure
    from calipers.text.options import TextOptions
    from calipers.text.scoring import TextScores
    from calipers.text.summaries import Summaries

ENDS = ("heterogeneous", "homogeneous")  # of the order of documents
ROUGES = "ROUGE-1 ROUGE-2 ROUGE-L V1(ROUGE-1) V2(ROUGE-1)"
BERT = "BERTScore V1(BERTScore) V2(BERTScore)"


def _length(context: click.Context, parameter: click.Parameter, value: str) -> int | str:
    try:
        return int(value)
    except ValueError:
        return value


@dataclass(frozen=True)
class SummaryFiles:
    """Files of summaries, and the selection of systems and references."""

    data: str | None
    candidates: tuple[str, ...]
    references: tuple[str, ...]
    source: str | None
    systems: str | None
    use_references: int | None
    judgments: str | None
    documents: str | None
    max_unpacked: int | None

    @property
    def name(self) -> str:
        return self.data or ", ".join(self.candidates)

    def files(self) -> dict[str, str]:
        """Return the files that are read, with their roles."""
        roles = {"texts": (self.data,), "candidates": self.candidates, "references": self.references,
                 "source": (self.source,), "judgments": (self.judgments,)}  # fmt: skip
        return {path: role for role, paths in roles.items() for path in paths if path is not None}

    def open(self, bert: Bert | None = None, options: TextOptions | None = None) -> Summaries:
        """Read the summaries that were asked for. The ends of algorithm 2's order of documents need a model."""
        found = self._read()
        if self.systems:
            found = found.of_systems(words(self.systems))
        if self.use_references:
            found = found.first_references(self.use_references)
        return found if self.documents is None else self.selected(found, self.documents, bert, options)

    @staticmethod
    def selected(found: Summaries, given: str, bert: Bert | None, options: TextOptions | None) -> Summaries:
        """Return the documents at one end of algorithm 2's order (heterogeneous:20), or those that a file names."""
        end, _, count = given.partition(":")
        if end not in ENDS or not count.isdecimal():
            from calipers.collection.files import text_lines

            return found.of_documents([id for line in text_lines(Path(given)) if (id := line.strip())])
        from calipers.text.order_sensitivity import document_profiles

        if bert is None:
            raise CalipersError(f"--documents {given} is for score, correlate and compare; name a file of ids here")
        matcher = bert.matcher(found, f"--documents {given} needs an encoder: --encoder MODEL")
        places = document_profiles(found, matcher, options).ends(int(count))[ENDS.index(end)]
        return found.of_documents([found.ids[place] for place in places.tolist()])

    def judged(self) -> Judgments | None:
        """Read the judgments of retrieved documents, if a file was given."""
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
    """Measures, options of ROUGE, and options of the expected summary of BERTScore."""

    rouge: TextOptions
    tokens: str
    k: int | str
    measures: tuple[str, ...] = ()

    def names(self, bert: Bert) -> list[str]:
        """Return the requested measures, or the default ones."""
        return list(self.measures) or [ROUGES, *([BERT] if bert.encoder else [])]

    @property
    def options(self) -> TextOptions:
        from calipers.text.options import Keywords

        keywords = Keywords(self.tokens, self.k, seed=self.rouge.seed)
        return replace(self.rouge, keywords=keywords)


@dataclass(frozen=True)
class Bert:
    """The model of BERTScore, and how it is used."""

    encoder: str | None
    layer: int | None
    idf: bool
    rescale: str | None
    device: str | None
    batch: int
    cache: str | None
    mixed: bool | None

    def matcher(self, summaries: Summaries, otherwise: str) -> Matcher:
        """Return the model fitted to these summaries. Raise an error with the given words if no encoder is named."""
        from calipers.text.bertscore import matcher
        from calipers.text.encoder import Encoder

        if self.encoder is None:
            raise CalipersError(otherwise)
        encoder = Encoder(
            self.encoder, self.layer, device=self.device, batch=self.batch, cache=self.cache, mixed=self.mixed
        )
        references = [text for document in summaries.documents for text in document.references]
        return matcher(encoder, references, idf=self.idf, baseline=self.rescale)

    def matcher_for(self, summaries: Summaries, measures: Iterable[TextMeasure]) -> Matcher | None:
        """Return the model fitted to these summaries, or None if no measure needs it."""
        if all(measure.base != "BERTScore" for measure in measures):
            return None
        return self.matcher(summaries, "BERTScore needs an encoder: --encoder MODEL, a name on the hub or a folder")


measures_options = click.option(
    "-m", "--measure", "measures", multiple=True, metavar="NAMES",
    help="Measures: ROUGE-1 to -9, -L, -Lsum (also ROUGE-2(part=recall)), BLEU, chrF, chrF++, TER, BERTScore; of "
         "answers EM, F1, NuggetRecall, CitationPrecision, CitationRecall, CitationF1; U(..) V1(..) V2(..) E(..) of "
         f"them [default: {ROUGES}, with --encoder BERTScore's].",
)  # fmt: skip
data_options = together(
    "data", SummaryFiles,
    click.argument("data", required=False, type=FILE),
    click.option("--candidates", multiple=True, metavar="[NAME=]FILE", type=FILE,
                 help="Instead of DATA: a system's summaries as plain text, one per line; may be repeated."),
    click.option("--references", multiple=True, metavar="FILE", type=FILE,
                 help="With --candidates: references, line by line; may be repeated for several of each."),
    click.option("--source", metavar="FILE", type=FILE, help="With --candidates: the sources, line by line."),
    click.option("--systems", metavar="A,B,...", help="Only these systems."),
    click.option("--documents", metavar="FILE|heterogeneous:N|homogeneous:N",
                 help="Only the documents whose ids a file has, one per line; or the N most heterogeneous or "
                      "homogeneous ones (algorithm 2; needs --encoder)."),
    click.option("--use-references", type=WholeNumber(1), metavar="N",
                 help="Only the first N references of each document."),
    click.option("--several", type=LibraryChoice("calipers.text.rouge_scores:SEVERAL"), default="max",
                 show_default=True, help="With several references: the best score, or the mean."),
    click.option("--judgments", metavar="FILE", type=FILE,
                 help="Judgments (qrels) of the documents that answers were made from, for measures of rankings."),
    max_unpacked_option,
)  # fmt: skip
rouge_options = declared(
    click.option("--tokenizer", type=LibraryChoice("calipers.text.tokens:TOKENIZERS"), default="unicode",
                 show_default=True, help="Words of any script, or those of the original ROUGE."),
    click.option("--stem", is_flag=True, help="Cut words to their stems (Porter, English)."),
    click.option("--length", default="candidate", show_default=True, callback=_length,
                 metavar="candidate|reference|N", help="Words of the random texts."),
    click.option("--chance", type=LibraryChoice("calipers.text.options:CHANCES"),
                 help="Random texts behind all expected scores: words or sentences of the source, its beginning, the "
                      "candidate's words shuffled, a reference of another document [default: words; for BERTScore the "
                      "source's key tokens]."),
    click.option("--texts", type=WholeNumber(2), default=10, show_default=True,
                 help="Random texts, where they are scored one by one."),
    click.option("--upper", type=LibraryChoice("calipers.text.options:UPPER"), default="1", show_default=True,
                 help="Upper bound: 1, what a summary of this length can reach (ROUGE), or what a person reaches: each "
                      "reference against the others."),
    click.option("--draws", type=click.IntRange(2, 100_000), default=1000, show_default=True,
                 help="Random summaries, where an expected ROUGE-N or ROUGE-L of words is sampled."),
    seed_option,
)  # fmt: skip
model_options = together(
    "bert", Bert,
    click.option("--encoder", metavar="MODEL", envvar="CALIPERS_ENCODER", show_envvar=True,
                 help="Model of BERTScore: its name on the Hugging Face hub, or a folder."),
    click.option("--layer", type=WholeNumber(0),
                 help="Layer of the model [default: the best known, else the last]."),
    click.option("--idf", is_flag=True, help="Weigh tokens by how few references have them."),
    click.option("--rescale", metavar="FILE", type=FILE,
                 help="Rescale by this file of bert-score's (LAYER,P,R,F)."),
    click.option("--device", help="cpu, cuda, cuda:1, mps [default: a GPU where there is one]."),
    click.option("--batch", type=WholeNumber(1), default=64, show_default=True,
                 help="Texts that are encoded together."),
    click.option("--cache", metavar="FOLDER", type=FILE,
                 help="Keep the vectors of texts, and the scores of random ones, there."),
    click.option("--mixed/--no-mixed", default=None,
                 help="Half precision inside the model [default: on a CUDA device only]."),
)  # fmt: skip
bert_options = declared(
    model_options,
    click.option("-k", "k", default="reference", show_default=True, callback=_length,
                 metavar="reference|candidate|N", help="Tokens of the expected summary of BERTScore."),
    click.option("--tokens", type=LibraryChoice("calipers.text.options:CHOICES"), default="most", show_default=True,
                 help="Tokens of that summary: by likeness to the document."),
)  # fmt: skip
scoring_options = declared(together("rouge", "calipers.text.options:TextOptions"), together("scoring", Scoring))
texts_and_measures = declared(scoring_options, data_options, measures_options)
details_of_measures = declared(rouge_options, bert_options)


# -- scores -------------------------------------------------------------------------------------------------


def all_scored(
    data: SummaryFiles, scoring: Scoring, bert: Bert, strict: bool, baselines: Iterable[str] = ()
) -> tuple[Summaries, Scores, TextScores | None]:
    """Return the texts, their scores under all measures, and the text scores with their bounds.

    A baseline that is none of the systems is an error before anything takes long.
    """
    from calipers.text.answer_retrieval import retrieval_scores, side_by_side, split_measures

    summaries = data.open(bert, scoring.options)
    for baseline in baselines:
        place_of("baseline", baseline, summaries.systems)
    texts, rankings = split_measures(scoring.measures)
    found: list[Scores] = []
    of_texts = None
    if texts or not rankings:
        of_texts = scored(summaries, replace(scoring, measures=tuple(texts)), bert)
        say_scored(of_texts, strict)
        found.append(of_texts.scores)
    if rankings:
        found.append(retrieval_scores(summaries, rankings, data.judged()))
    scores = found[0] if len(found) == 1 else side_by_side(*found)
    for sentence in scores.notes:
        note(sentence)
    there = np.array([[text is not None for text in row] for row in summaries.texts])
    for name, lacking in zip(scores.measures, (np.isnan(scores.values) & there).sum(axis=(1, 2)).tolist(), strict=True):
        if lacking:
            note(f"{name}: {lacking} of {int(there.sum())} undefined; left out")
    return summaries, scores, of_texts


def scored(summaries: Summaries, scoring: Scoring, bert: Bert) -> TextScores:
    """Score the texts under the requested measures."""
    from calipers.text.measure_names import text_measures
    from calipers.text.scoring import evaluate_summaries, steps

    names = scoring.names(bert)
    matcher = bert.matcher_for(summaries, text_measures(names))
    with progress(steps(summaries, names), "texts") as advance:
        return evaluate_summaries(
            summaries, names, scoring.options, matcher, progress=advance, cache=bert.cache, warn=False
        )


def say_scored(found: TextScores, strict: bool, summary_level: bool = False) -> None:
    """Print what was left out, how expected scores were found, and what they cannot show."""
    warn(found.notes, strict)
    for sentence in found.remarks:
        note(sentence)
    for name in found.cannot_reorder:
        follows = "; tau-b and rho at the summary level are those of the measure itself" if summary_level else ""
        note(
            f"V1 and V2 of {name} cannot change the order of two summaries of one document: all of a document's "
            f"summaries have the same expected score and upper bound{follows}"
        )
